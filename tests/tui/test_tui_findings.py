"""The pages of counters, findings and addresses, over a capture whose truth is known (fixtures/fat-tree/README.md)."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.tui_pilot import SIZES, Driver

from ibkit.model.congestion import with_congestion
from ibkit.model.counters import FabricCounters, PortCounters, change_between
from ibkit.model.ids import Guid
from ibkit.rules.evidence import Collected
from ibkit.rules.expectation_file import read_expectations
from ibkit.sources.opening import open_site
from ibkit.tui.app import IbkitApp
from ibkit.tui.diagnosing import Diagnosed, Sample
from ibkit.tui.view import counters
from ibkit.tui.view.history import History
from ibkit.tui.view.lines import plain
from ibkit.tui.view.port_facts import PortFacts

FAT_TREE = Path(__file__).parents[2] / "fixtures" / "fat-tree"


@asynccontextmanager
async def fat_tree(size: tuple[int, int] = (120, 40), page: str = "overview"):
    app = IbkitApp(open_site(str(FAT_TREE)), page=page)
    async with app.run_test(size=size) as pilot:
        tui = Driver(app, pilot)
        await tui.settled()
        yield tui


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_findings_worst_first_with_their_evidence_and_rule(size: tuple[int, int]) -> None:
    async with fat_tree(size, "findings") as tui:
        table = tui.app.screen.table.table
        found = [row for row in table.rows if row.values[0] != "undecided"]
        assert list(table.rows[: len(found)]) == found, "what could not be decided comes last"
        assert [row.level for row in found] == sorted((row.level for row in found), reverse=True)
        assert any("SymbolErrorCounter" in str(row.values[2]) for row in found), "4711 were injected on leaf l001"
        undecided = len(table.rows) - len(found)
        assert tui.title.startswith(f"Findings   {len(found)} findings, {undecided} undecided")
        assert "fabric" in tui.screen
        assert "15 switches" in tui.screen
        await tui.press("enter")
        for word in ("severity", "evidence", "why"):
            assert word in tui.screen
        assert tui.row[0] == "evidence"
        await tui.press("x")
        for word in ("means", "threshold", "source"):
            assert word in tui.screen


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_member_is_opened_and_waived_after_two_questions_and_a_look(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with fat_tree(size, "findings") as tui:
        rows = tui.app.screen.table.table.rows
        incident = next(row.key for row in rows if row.values[4])
        tui.app.screen.table.go_to(incident)
        await tui.press("enter")
        assert tui.title.startswith(f"Findings > {incident.rule} {incident.name}")
        await tui.press("G")
        assert tui.row[:2] == (incident.members[-1].severity, incident.members[-1].rule)
        await tui.press("escape", "W")
        assert "expectations.toml" in tui.screen
        await tui.press("enter")
        await tui.type("cable is ordered")
        await tui.press("enter", "enter")
        await tui.until("W writes them")
        assert "[[waivers]]" in tui.screen
        assert not list(tmp_path.iterdir()), "nothing is written before it was seen"
        await tui.press("W")
        await tui.wait_for(lambda: any(row.values[0] == "waived" for row in tui.app.screen.table.table.rows))
        waived = [row for row in tui.app.screen.table.table.rows if row.values[0] == "waived"]
        assert {row.values[1] for row in waived} == {incident.rule, *(one.rule for one in incident.members)}
        assert incident not in [row.key for row in tui.app.screen.table.table.rows]
        tui.app.screen.table.go_to(waived[0].key)
        await tui.quiet()
        assert "cable is ordered" in tui.screen
        assert len(read_expectations("expectations.toml").waivers) == 1 + len(incident.members)


async def test_escape_writes_nothing_and_a_bad_day_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with fat_tree(page="findings") as tui:
        await tui.press("W", "escape")
        assert tui.title.startswith("Findings   ")
        await tui.press("W", "enter", "b", "enter", *["backspace"] * 8)
        await tui.type("soon")
        await tui.press("enter")
        await tui.until("soon is no day")
        await tui.press("W")
        assert not list(tmp_path.iterdir())


async def test_a_file_that_cannot_be_read_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "expectations.toml").write_text("mine\n")
    async with fat_tree(page="findings") as tui:
        await tui.press("W", "enter", "b", "enter", "enter")
        await tui.until("not TOML")
        await tui.press("W")
        assert (tmp_path / "expectations.toml").read_text() == "mine\n"


async def test_a_file_that_may_not_be_written_to_is_told_before_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "mine.toml"
    file.write_text('format = "ibkit-expect/1"\n')
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != str(file))  # root may write to all files
    async with fat_tree(page="findings") as tui:
        await tui.press("W")
        await tui.type("~/mine.toml")
        await tui.press("enter", "b", "enter", "enter")
        await tui.until("it may not be written to")
        await tui.press("W")
        assert file.read_text() == 'format = "ibkit-expect/1"\n'
        assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


async def test_others_who_look_on_are_not_offered_to_write() -> None:
    app = IbkitApp(open_site(str(FAT_TREE)), page="findings", read_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        tui = Driver(app, pilot)
        await tui.settled()
        await tui.press("W")
        assert "waive" not in tui.lines[-1]
        assert tui.app.page_screen is not None
        assert "x explain" in tui.lines[-1]
        await tui.press("7", "o")
        assert tui.app.page_screen is not None, "nobody reads files here at another's wish"


async def test_expectations_are_read_and_their_waivers_hold(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('format = "ibkit-expect/1"\n[[waivers]]\nrule = "R05"\nwhere = "*"\nwhy = "old cables"\n')
    app = IbkitApp(open_site(str(FAT_TREE)), page="findings", expect=str(path))
    async with app.run_test(size=(120, 40)) as pilot:
        tui = Driver(app, pilot)
        await tui.settled()
        waived = [row for row in app.screen.table.table.rows if row.values[0] == "waived"]
        assert [row.values[1] for row in waived] == ["R05"]
        assert re.match(r"Findings   3 findings, \d+ undecided, 1 waived", tui.title)
        await tui.press("slash")
        await tui.type("r05")
        assert re.search(r"^ *filter", tui.lines[2])
        await tui.press("enter")
        assert re.match(r"Findings   0 of 3 findings, 0 of \d+ undecided, 1 of 1 waived", tui.title)
        assert not [row for row in app.screen.table.table.rows if row.values[:2] == ("warning", "R05")]


async def test_undecided_rules_say_what_is_missing() -> None:
    async with fat_tree(page="findings") as tui:
        await tui.press("G")
        assert "to decide it" in tui.screen


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_counters_of_a_capture_are_totals_and_say_so(size: tuple[int, int]) -> None:
    async with fat_tree(size, "counters") as tui:
        assert "since the counters were last cleared, nobody knows when" in tui.screen
        top = tui.app.screen.table.table.rows[0]
        assert top.values[:2] == ("MF0;swib-l001:MQM8700/U1", 4)
        assert top.values[3:5] == (4711, 3)
        assert "SymbolErrorCounter 4711" in tui.screen
        await tui.press("enter")
        assert "swib-l001" in tui.title


async def test_an_address_is_typed_and_its_answer_comes() -> None:
    async with fat_tree(page="resolve") as tui:
        assert "type an address" in tui.screen
        await tui.press("a")
        await tui.type("c002 lid:1")
        await tui.press("enter")
        await tui.until("c002 mlx5_0")
        rows = tui.app.screen.table.table.rows
        assert [row.values[0] for row in rows] == ["c002", "lid:1"]
        await tui.press("enter")
        assert "What each source says" in tui.screen


async def test_a_bad_bracket_is_told_in_place_and_escape_asks_nothing() -> None:
    async with fat_tree(page="resolve") as tui:
        await tui.press("a", "escape")
        assert "resolving" not in tui.screen
        await tui.press("a")
        await tui.type("n[01")
        await tui.press("enter")
        await tui.settled()
        (row,) = tui.app.screen.table.table.rows
        assert row.values[:2] == ("n[01", "unknown")
        assert tui.app.is_running


LEAF, SPINE = Guid(0x10), Guid(0x20)


def sample(errors: int, units: int) -> FabricCounters:
    port = PortCounters(
        LEAF, LEAF, 1, 3, "leaf", {"SymbolErrorCounter": errors, "PortXmitData": units, "PortRcvData": None}
    )
    quiet = PortCounters(SPINE, SPINE, 2, 1, "spine", {"SymbolErrorCounter": 0, "PortXmitData": 0, "PortRcvData": 0})
    return FabricCounters((quiet, port), True)


def test_two_samples_make_rates() -> None:
    # 30 s at 100 Gb/s are 375e9 octets, which the counter counts in units of 4 (IBTA volume 1, 16.1.3.5).
    change = change_between(sample(5, 0), sample(7, 375_000_000_000 // 4), 30.0)
    value = Diagnosed(
        Collected(change=with_congestion(change, _no_fabric())), _nothing(), (Sample(0, 0.0, 0), Sample(30, 100.0, 2))
    )
    table = counters.table(PortFacts(value), History(), None)
    assert table is not None
    assert table.rows[0].values[:4] == ("leaf", 3, 2, 2)
    assert table.rows[0].values[7:10] == (100.0, None, None), "what is not known is not zero"
    assert [row.key.guid for row in table.rows] == [LEAF, SPINE]
    text = "\n".join(map(plain, counters.head(value)))
    assert "30 s apart" in text
    assert "0 to 100.0 Gb/s" in text
    assert "▁█  0 to 2 a sample" in text


def _no_fabric():
    from ibkit.model.fabric import Fabric

    return Fabric({}, (), None)


def _nothing():
    from ibkit.model.findings import Diagnosis

    return Diagnosis((), (), ())
