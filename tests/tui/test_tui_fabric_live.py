"""The application live: on a fabric that ibsim runs and OpenSM manages, a link goes down and slows down."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fattree import HCA_BASE, SWITCH_BASE, two_levels
from support.ibsim import simulation
from support.tui_captures import settled
from support.tui_pilot import Driver

from ibkit.model.ids import Guid
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
            await tui.until("6 switches, 16 HCAs, 32 links")
            await tui.until("LIVE")
            await tui.settled()
            assert "c006 mlx5_0" in tui.screen
            assert "1x HDR" in tui.screen
            await tui.press("5")
            assert tui.row[0] == "master"
            await tui.press("0")
            assert tui.title.startswith("Links   32 links")
            fabric.console(f'PerformanceSet "S-{SWITCH_BASE:016x}"[2] PortCounters.SymbolErrorCounter=4711')
            fabric.console(f'Unlink "S-{SWITCH_BASE:016x}"[5]')
            await tui.press("r")
            await tui.until("Links 31 links")
            await tui.press("2", "slash")
            await tui.type("l001")
            await tui.press("enter", "enter")
            port = next(row for row in app.screen.table.table.rows if row.values[0] == 5)
            assert port.values[1] == "no link"
            await tui.press("3")
            await tui.until("between two samples")
            assert tui.row[:4] == ("MF0;swib-l001:MQM8700/U1", 2, 4711, 4711), "an error that came in between"
            assert "SymbolErrorCounter 4711 (+4711)" in tui.words
            await tui.press("2", "2", "E")
            assert tui.title.startswith("Fabric: only erroring   1 of ")
            assert tui.row[:3] == ("MF0;swib-l001:MQM8700/U1", 2, "up"), "with the filter for l001"
            await tui.press("E", "escape")
            for number in (0, 1):
                app.screen.table.go_to(Guid(HCA_BASE + 16 * number))
                await tui.press("m")
            await tui.press("X")
            await settled(tui)
            assert "c001 mlx5_0 can talk to c002 mlx5_0" in tui.words, "by the forwarding tables, asked for now"
    collecting.stop()
