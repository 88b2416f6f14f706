"""`ibkit counters` as a user runs it: what goes to stdout and stderr, and the exit status."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from ibkit.cli.main import main

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
    assert "1 ports were read: no port has errors" in err


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
