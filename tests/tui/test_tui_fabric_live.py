"""The application live: on a fabric that ibsim runs and OpenSM manages, a link goes down and slows down."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fattree import HCA_BASE, SWITCH_BASE, two_levels
from support.ibsim import simulation
from support.tui_pilot import Driver

from ibkit.sources.opening import open_site
from ibkit.tui.app import IbkitApp
from ibkit.tui.collecting import Collecting

#: 16 HCAs on four leaves, two spines, 32 cables.
TREE = two_levels(8, 4)
HOST = f"H-{HCA_BASE:016x}"


@pytest.mark.live
async def test_a_link_that_goes_down_is_gone_after_a_refresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with simulation(TREE.degraded({5: ("1x", "HDR")}).netlist(), tmp_path, attach_to=HOST) as fabric:
        for name, value in fabric.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)  # the simulator's clients leave their folders where they run
        collecting = Collecting()
        app = IbkitApp(open_site(None, tick=collecting.tick), collecting, interval_seconds=0.0)
        async with app.run_test(size=(120, 40)) as pilot:
            tui = Driver(app, pilot)
            await tui.until("6 switches, 16 HCAs, 32 links", 60.0)
            await tui.until("LIVE", 60.0)
            while app.snapshot.waiting:
                await pilot.pause(0.05)
            assert "c006 mlx5_0 [1] -- MF0;swib-l002:MQM8700/U1 [2]" in tui.screen
            assert "link at 1x HDR, one lane only" in tui.screen
            await tui.press("5")
            assert tui.row[0] == "master"
            await tui.press("0")
            assert tui.title.startswith("Links   32 links")
            fabric.console(f'Unlink "S-{SWITCH_BASE:016x}"[5]')
            await tui.press("r")
            await tui.until("Links 31 links", 60.0)
            await tui.press("2", "slash")
            await tui.type("l001")
            await tui.press("enter", "enter")
            port = next(row for row in app.screen.table.table.rows if row.values[0] == 5)
            assert port.values[1] == "no link"
    collecting.stop()
