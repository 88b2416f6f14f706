"""The screen in the SoftRoCE guest: a port goes down, and one refresh shows it."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import pytest
from support.guest_links import down

pytestmark = [
    pytest.mark.rxe,
    pytest.mark.skipif(socket.gethostname() != "rxe-guest", reason="takes a link of the guest down"),
]


def state_of(app: object, device: str) -> str:
    """What the host page says of a device's port."""
    table = app.screen.table.table  # type: ignore[attr-defined]
    rows = [table.texts(row) for row in table.rows]
    (found,) = [row for row in rows if any(cell.startswith(device) for cell in row)]
    return " ".join(found)


async def drive() -> None:
    from ibkit.sources.opening import open_site
    from ibkit.tui.app import IbkitApp
    from ibkit.tui.collecting import Collecting

    collecting = Collecting()
    app = IbkitApp(open_site(None, tick=collecting.tick), collecting, page="host", interval_seconds=0.0)
    async with app.run_test(size=(140, 40)) as pilot:

        async def read(since: dict[object, float | None]) -> None:
            for _ in range(3000):
                hosts = {part: r.taken for part, r in app.snapshot.readings.items() if part.kind == "host"}
                if all(taken is not None and taken != since.get(part) for part, taken in hosts.items()):
                    await pilot.pause()
                    return
                await pilot.pause(0.02)
            raise AssertionError("the host is not read")

        await read({})
        assert "Active" in state_of(app, "rxe1")
        with down("ve1"):
            before: dict[object, float | None] = {part: r.taken for part, r in app.snapshot.readings.items()}
            await pilot.press("r")
            await read(before)
            assert "Down" in state_of(app, "rxe1"), state_of(app, "rxe1")
            assert "Active" not in state_of(app, "rxe1")
    collecting.stop()


def test_a_port_that_goes_down_is_seen_after_one_refresh() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    asyncio.run(drive())
