"""`ibkit counters` as a user runs it: what goes to stdout and stderr, and the exit status."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from ibkit.cli.main import main
from ibkit.collectors import counter_rates
from ibkit.model.counters import FabricCounters, PortCounters, SweepSummary, saturated
from ibkit.model.fabric import SWITCH, Fabric, FabricPort, Node
from ibkit.model.ids import Guid

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
ERRORS = TOOLS / "ibqueryerrors/details-data-report.txt"


def run(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> tuple[int, str, str]:
    status = main(["counters", *map(str, argv)])
    out, err = capsys.readouterr()
    return status, out, err


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--from", ERRORS)
    assert status == 0
    lines = out.splitlines()
    assert lines[0].split() == ["NODE", "PORT", "LID", "GUID", "SENT", "RECEIVED", "WAIT", "ERRORS"]
    assert len(lines) == 6
    assert "SymbolErrorCounter >= 65535, LinkDownedCounter >= 255, VL15Dropped 3" in lines[1]
    assert "134.5 kB" in lines[1]  # 33624 units of 4 octets
    assert ">= 4294967295" in lines[5]
    assert "replay of details-data-report.txt" in err


def test_tables_of_ibdiagnet(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--from", TOOLS / "ibdiagnet2.db_csv/counters.txt", "--errors", "--json")
    ports = json.loads(out)["ports"]
    assert (status, [(port["node"], port["port"]) for port in ports]) == (
        1, [("MF0;leaf1:MQM8700/U1", 1), ("MF0;leaf1:MQM8700/U1", 2)],
    )  # fmt: skip
    status, out, err = run(capsys, "--from", TOOLS / "ibdiagnet2.db_csv/small.txt", "--json")
    assert (status, json.loads(out)["ports"], "no section PM_INFO" in err) == (3, [], True)


def test_errors_are_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--from", TOOLS / "perfquery/loop.txt", "--errors")
    assert status == 1
    assert len(out.splitlines()) == 3
    assert "2 of 9 ports are shown" in err


def test_no_errors_are_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = "# Port counters" + (TOOLS / "perfquery/loop.txt").read_text().split("# Port counters")[2]
    (tmp_path / "page.txt").write_text(page)
    status, out, err = run(capsys, "--from", tmp_path / "page.txt", "--errors")
    assert (status, len(out.splitlines())) == (0, 1)
    assert "1 port was read: no port has errors" in err


@pytest.mark.parametrize("name", ["perfquery/loop-extended", "ibqueryerrors/counters-report"])
def test_data_counters_do_not_prove_that_there_are_no_errors(capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, out, err = run(capsys, "--from", TOOLS / f"{name}.txt", "--errors")
    assert (status, len(out.splitlines())) == (3, 1)
    assert "ports are not known" in err


#: What the tool prints of a fabric of three switches and twelve HCAs without an error.
HEALTHY = """
## Summary: 15 nodes checked, 0 bad nodes found
##          120 ports checked, 0 ports have errors beyond threshold
## Thresholds:\x20
## Suppressed:
"""


def test_a_healthy_listing_of_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "healthy.txt"
    file.write_text(HEALTHY)
    status, out, err = run(capsys, "--from", file, "--errors")
    assert (status, len(out.splitlines())) == (0, 1)
    assert "15 nodes with 120 ports were checked: no port has errors" in err
    status, _, err = run(capsys, "--from", file)
    assert status == 3  # there is no counter in it
    assert "a listing of errors holds no others" in err
    status, out, _ = run(capsys, "--from", file, "--errors", "--json", "--sort", "PortXmitWait")
    made = json.loads(out)
    assert (status, made["complete"], made["ports"]) == (0, None, [])
    assert made["sweeps"] == [{"form": "errors", "nodes": 15, "ports": 120, "hidden": [], "whole": True}]
    assert [problem["kind"] for problem in made["problems"]] == ["unknown-nodes"]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Suppressed:", "Suppressed: VL15Dropped", "VL15Dropped"),
        ("Thresholds: ", "Thresholds: [SymbolErrorCounter = 10]", "SymbolErrorCounter"),
        ("## Suppressed:", "", "silent about"),
        ("## Suppressed:", "##          3 PMA query failures\n## Suppressed:", "missing"),
        ("## Suppressed:", "##          3# PMA query failures\n## Suppressed:", "missing"),
        (" 0 ports have", " 1 ports have", "missing"),
        ("\n## Summary", "ibwarn: [3] _do_madrpc: recv failed: Connection timed out\n## Summary", "missing"),
        ("\n## Summary", "iberror: [3] main: failed: no answer\n## Summary", "missing"),
    ],
)
def test_listings_that_prove_no_health(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, old: str, new: str, why: str
) -> None:
    assert old in HEALTHY
    (tmp_path / "x.txt").write_text(HEALTHY.replace(old, new))
    status, _, err = run(capsys, "--from", tmp_path / "x.txt", "--errors")
    assert status == 3
    assert why in err


def test_a_damaged_row_is_a_port_with_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "damaged.txt"
    file.write_text(
        'Errors for 0xb8599f0300000100 "sw1"\n   GUID 0xb8599f0300000100 port 8: [SymbolErrorCounter == 5#690]\n'
        + HEALTHY.replace("0 bad", "1 bad").replace(" 0 ports", " 1 ports")
    )
    status, out, _ = run(capsys, "--from", file, "--errors")
    assert status == 1
    assert out.splitlines()[1].split()[-2:] == ["SymbolErrorCounter", "?"]
    assert run(capsys, "--from", file)[0] == 3
    _, out, _ = run(capsys, "--from", file, "--errors", "--json")
    made = json.loads(out)
    (port,) = made["ports"]
    assert (made["complete"], port["counters"], port["unread_errors"]) == (False, {"SymbolErrorCounter": None}, True)
    file.write_text(file.read_text().replace("[SymbolErrorCounter == 5#690]", "#" * 20))
    status, out, _ = run(capsys, "--from", file, "--errors")  # it may have waited, which is no error
    assert status == 3
    assert out.splitlines()[1].split()[-1] == "?"


def test_incomplete_is_undecided(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = ERRORS.read_text()
    cut = tmp_path / "cut.txt"
    cut.write_text(text[: text.index("## Summary")])
    status, out, err = run(capsys, "--from", cut)
    assert status == 3
    assert len(out.splitlines()) == 6  # what was read is still shown
    assert "no summary" in err
    assert run(capsys, "--from", cut, "--errors")[0] == 1


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--from", ERRORS, "--json", "--top", "1", "--sort", "portxmitwait")
    assert status == 0
    made = json.loads(out)
    assert made["schema"] == "ibkit.counters/1"
    (port,) = made["ports"]
    assert (port["guid"], port["port"]) == ("0x00000000b0002000", 7)


def test_csv(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--from", ERRORS, "--csv", "--top", "2")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["node"], row["port"]) for row in rows] == [("host1 mlx5_0", "1"), ("leaf2: a [b] ;c", "7")]
    assert rows[0]["PortXmitWait"] == ""


@pytest.mark.parametrize(
    "argv",
    [
        ["--sort", "NoSuchCounter"], ["--top", "0"], ["--top", "x"], ["--top", "9" * 30],
        ["--interval", "5"],  # not of a file
        ["--interval", "nan"], ["--interval", "0"], ["--interval", "1e9"], ["--count", "2"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    try:
        status = main(["counters", "--from", str(ERRORS), *argv])
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert argv[0] in err


def test_the_output_of_another_tool_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[1] / "parsers/recorded/ibstat-rxe.txt"
    status, out, err = run(capsys, "--from", path)
    assert (status, out) == (2, "")
    assert "ibkit status" in err


def test_hostile_names_reach_no_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "hostile.txt"
    file.write_text(ERRORS.read_text().replace("host1 mlx5_0", "x\x1b[31mred"))
    for options in ([], ["--csv"]):
        _, out, err = run(capsys, "--from", file, *options)
        assert "\x1b" not in out + err
    _, out, _ = run(capsys, "--from", file, "--json")
    assert json.loads(out)["ports"][0]["node"] == "x\x1b[31mred"


def count_on(monkeypatch: pytest.MonkeyPatch, *samples: dict[str, int]) -> None:
    """A live host whose sweeps, a second apart, show one port of a Quantum switch."""
    guid = Guid(0xB8599F0300000100)
    leaf = Node(guid, SWITCH, "sw1", 40, (FabricPort(8, width="4x", speed="HDR"),), vendor_id=0x2C9, device_id=0xD2F0)
    readings = [
        FabricCounters(
            (PortCounters(guid, guid, 3, 8, "sw1", dict(one), saturated(one), unsupported=("QP1Dropped",)),),
            True,
            sweeps=(SweepSummary("data", 1, 1, (), True),),
        )
        for one in samples
    ]
    clock = iter([0.0, 0.0, 0.0, 1.0, 1.0])
    monkeypatch.setattr(counter_rates, "collect_counters", lambda source, through: readings.pop(0))
    monkeypatch.setattr(counter_rates, "collect_fabric", lambda source, through: Fabric({guid: leaf}, (), True))
    defaults = {"clock": lambda: next(clock), "sleep": lambda seconds: None}
    monkeypatch.setattr(counter_rates.watch_counters, "__kwdefaults__", defaults)


BEFORE = {"PortXmitData": 1000, "PortXmitWait": 0, "SymbolErrorCounter": 9, "LinkDownedCounter": 255, "VL15Dropped": 1}
AFTER = {
    "PortXmitData": 2000, "PortXmitWait": 312_500_000, "SymbolErrorCounter": 2, "LinkDownedCounter": 255,
    "VL15Dropped": 65535,
}  # fmt: skip


def test_an_interval_tells_apart_what_is_full_cleared_and_not_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    count_on(monkeypatch, BEFORE, AFTER)
    status, out, _ = run(capsys, "--interval", "1")
    assert status == 0
    (row,) = out.splitlines()[1:]
    assert row.split("  ")[-1].strip() == (
        "SymbolErrorCounter >= 2 (cleared), LinkDownedCounter full, VL15Dropped >= 65534"
    )
    assert "4.0 kB" in row
    assert "312500000" in row
    assert "10.0 %" in row  # of 25 GB that 4x HDR carries in the second, 2.5 GB


def test_the_same_in_csv_and_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    count_on(monkeypatch, BEFORE, AFTER)
    _, out, _ = run(capsys, "--interval", "1", "--json", "--sort", "congestion")
    (port,) = json.loads(out)["intervals"][0]["ports"]
    assert port["congestion"] == {"ratio": 0.1, "lost_bytes": 2_500_000_000, "at_least": False, "unknown": None}
    assert (port["cleared"], port["full"], port["unsupported"]) == (
        ["SymbolErrorCounter"], ["LinkDownedCounter"], ["QP1Dropped"],
    )  # fmt: skip
    count_on(monkeypatch, BEFORE, AFTER)
    _, out, _ = run(capsys, "--interval", "1", "--csv")
    (cells,) = csv.DictReader(io.StringIO(out))
    assert (cells["full"], cells["cleared"], cells["unsupported"], cells["congestion_ratio"]) == (
        "LinkDownedCounter", "SymbolErrorCounter", "QP1Dropped", "0.1",
    )  # fmt: skip


def test_what_a_port_does_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    """The simulator's mask says that there is no QP1Dropped; a mask without its bit 12, that nothing waits."""
    _, out, _ = run(capsys, "--from", TOOLS / "perfquery/loop.txt", "--json")
    assert {tuple(port["unsupported"]) for port in json.loads(out)["ports"]} == {("QP1Dropped",)}


def test_congestion_needs_an_interval(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--from", ERRORS, "--sort", "congestion")
    assert (status, out) == (2, "")
    assert "--sort congestion needs --interval" in err
