"""The application live: on a fabric that ibsim runs a port counts errors, and the next refresh shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fattree import HCA_BASE, SWITCH_BASE, two_levels
from support.ibsim import simulation
from support.tui_pilot import Driver

from ibkit.model.fabric import End
from ibkit.model.ids import Guid
from ibkit.sources.opening import open_site
from ibkit.tui.app import IbkitApp
from ibkit.tui.collecting import Collecting

#: 8 HCAs on 2 leaves, 2 spines.
TREE = two_levels(8, 2)
PORT = End(Guid(SWITCH_BASE), 1)


async def until_read(tui: Driver) -> None:
    """Until each collector has answered once more."""
    before = {part: reading.taken for part, reading in tui.app.snapshot.readings.items()}
    await tui.press("r")
    await tui.wait_for(
        lambda: all(tui.app.snapshot.readings[part].taken != taken for part, taken in before.items()),
        lambda: "the refresh does not end",
    )
    await tui.quiet()


@pytest.mark.live
async def test_an_error_is_seen_after_one_refresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with simulation(TREE.netlist(), tmp_path, attach_to=f"H-{HCA_BASE:016x}") as fabric:
        for name, value in fabric.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        collecting = Collecting()
        app = IbkitApp(open_site(None, tick=collecting.tick), collecting, page="findings", interval_seconds=0.0)
        async with app.run_test(size=(160, 50)) as pilot:
            tui = Driver(app, pilot)
            await tui.until("LIVE")
            await tui.settled()
            await until_read(tui)  # the second sample: from here on growth is seen
            assert "SymbolErrorCounter" not in tui.screen
            fabric.console(f'PerformanceSet "S-{SWITCH_BASE:016x}"[1] PortCounters.SymbolErrorCounter=4000')
            await until_read(tui)
            assert "SymbolErrorCounter" in tui.screen, tui.screen
            await tui.press("3")
            app.screen.table.go_to(PORT)  # type: ignore[attr-defined]
            await tui.quiet()
            assert app.screen.table.key == PORT, tui.screen  # type: ignore[attr-defined]
            assert "4000" in tui.screen or "4,000" in tui.screen, tui.screen
    collecting.stop()
