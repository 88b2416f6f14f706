"""Over a slow link: a refresh that changes nothing writes the age of what is shown, and no row."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from support.tui_pilot import Driver
from support.tui_scenes import site, tasks
from textual.drivers.headless_driver import HeadlessDriver

from ibkit.tui.app import IbkitApp
from ibkit.tui.snapshot import Reading

#: A line of 120 columns with its colours: the banner with the age.
LINE_BYTES = 700


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is written to the terminal."""
    texts: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "write", lambda self, data: texts.append(data))
    monkeypatch.setattr(HeadlessDriver, "is_headless", False)  # else textual does not even paint
    yield texts


@pytest.mark.parametrize("page", ["overview", "host", "links"])
async def test_a_refresh_without_news_writes_one_line(page: str, written: list[str]) -> None:
    app = IbkitApp(site("live"), page=page, tasks=tasks(), interval_seconds=0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        tui = Driver(app, pilot)
        while app.snapshot.waiting:
            await pilot.pause(0.01)
        for _ in range(20):
            await pilot.pause()
        assert len("".join(written)) > 2_000, "the first frame"
        before = {part: reading.taken for part, reading in app.snapshot.readings.items()}
        written.clear()
        await tui.press("r")
        while any(app.snapshot.readings[part].taken == taken for part, taken in before.items()):
            await pilot.pause(0.01)
        for _ in range(20):
            await pilot.pause()
        text = "".join(written)
        assert len(text) <= len(before) * LINE_BYTES, text
        assert "mlx5" not in text, "no row is written again"
    app.collecting.stop()


async def test_the_clock_alone_writes_one_line_a_second(written: list[str]) -> None:
    app = IbkitApp(site("live"), page="links", tasks=tasks(), interval_seconds=0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        while app.snapshot.waiting:
            await pilot.pause(0.01)
        for part, reading in app.snapshot.readings.items():  # an age that stays the same for minutes
            app.snapshot.readings[part] = Reading(reading.value, None, (reading.taken or 0.0) - 7_230.0)
        await asyncio.sleep(1.3)
        written.clear()
        await asyncio.sleep(2.2)
        assert "".join(written) == "", "nothing changed, nothing is written"
    app.collecting.stop()
