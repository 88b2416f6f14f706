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


def test_no_errors_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--from", TOOLS / "perfquery/loop-extended.txt", "--errors")
    assert (status, len(out.splitlines())) == (0, 1)


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
