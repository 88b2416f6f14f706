"""`ibkit partitions` on files: tables, JSON, CSV, exit statuses, hostile and foreign texts."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.schemas import strict

from ibkit.cli.main import main

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
TREE = (TOOLS / "ibnetdiscover/tree.txt").read_text()
BULK = TOOLS / "saquery/ft12/pkeys.txt"
CONF = TOOLS / "partitions.conf/ft12.txt"


@pytest.fixture
def both(tmp_path: Path) -> str:
    """A terminal's log with topology and P_Keys."""
    path = tmp_path / "both.txt"
    path.write_text(TREE + BULK.read_text())
    return str(path)


def document(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict[str, Any]:
    assert main(["partitions", "--json", *arguments]) == status
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(made, strict("partitions"))
    return made


def test_json(capsys: pytest.CaptureFixture[str], both: str) -> None:
    made = document(capsys, "--from", both)
    assert [(one["partition"], one["full_count"], one["limited_count"]) for one in made["partitions"]] == [
        ("0x0001", 1, 14), ("0x7fff", 15, 0),
    ]  # fmt: skip
    assert made["partitions"][0]["full"] == [
        {"guid": "0x0c42a10300000000", "port": 1, "lid": 1, "name": "c001-001 mlx5_0"}
    ]
    assert [(group["count"], group["pkeys"]) for group in made["groups"]] == [
        (14, ["0x0001", "0xffff"]), (1, ["0x8001", "0xffff"]),
    ]  # fmt: skip
    assert [(one["a"], one["b"], one["can_talk"], one["partitions"], one["limited_in"]) for one in made["talk"]] == [
        (0, 0, True, ["0x7fff"], ["0x0001"]), (0, 1, True, ["0x7fff", "0x0001"], []),
    ]  # fmt: skip
    first = next(port for port in made["ports"] if port["lid"] == 1)
    assert first["pkeys"] == [
        {"index": 0, "pkey": "0xffff", "partition": "0x7fff", "membership": "full"},
        {"index": 1, "pkey": "0x8001", "partition": "0x0001", "membership": "full"},
    ]
    assert (first["default_index"], first["whole"], first["port_guid"]) == (0, True, "0x0c42a10300000001")
    assert (len(made["ports"]), len(made["switch_ports"]), made["intended"], made["problems"][1:]) == (15, 46, None, [])


def test_names_are_folded(capsys: pytest.CaptureFixture[str], both: str) -> None:
    assert main(["partitions", "--from", both]) == 0
    out = capsys.readouterr().out
    assert "c001-[001-006] mlx5_1, c001-[002-006] mlx5_0" in out
    assert "MF0;swib-s[001-002]:MQM8700/U1" in out


def test_lists(capsys: pytest.CaptureFixture[str], both: str) -> None:
    assert main(["partitions", "--csv", "--from", both]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 30
    assert {row["membership"] for row in rows if row["lid"] == "1"} == {"full"}
    assert main(["partitions", "ports", "--from", both]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 31


def test_lids_are_folded_where_there_are_no_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["partitions", "--from", str(BULK)]) == 0
    assert "LID [2-15]" in capsys.readouterr().out


def test_a_file_of_what_is_intended(capsys: pytest.CaptureFixture[str]) -> None:
    made = document(capsys, "--from", str(CONF))
    assert [(one["partition"], one["name"]) for one in made["intended"]] == [
        ("0x7fff", "Default"),
        ("0x0001", "storage"),
    ]
    assert made["intended"][1]["members"] == [
        {"port_guid": None, "group": "ALL", "membership": "limited", "line": 2},
        {"port_guid": None, "group": "SELF", "membership": "full", "line": 2},
    ]
    assert (made["ports"], made["complete"]) == ([], None)


def test_a_rejected_file_is_a_finding(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "p.conf").write_text("a=0x8001 : 0x1=full ;\nb=0x8002 : oops ;\n")
    made = document(capsys, "--from", str(tmp_path / "p.conf"), status=1)
    assert [(one["name"], [member["group"] for member in one["members"]]) for one in made["intended"]] == [
        ("Default", ["ALL"])
    ]


def test_tables_against_what_is_intended(capsys: pytest.CaptureFixture[str], both: str, tmp_path: Path) -> None:
    made = document(capsys, "--from", both, "--intended", str(CONF))
    assert [problem["kind"] for problem in made["problems"]] == ["noise"], "SELF is not known, ALL=limited is as it is"
    assert [one["name"] for one in made["partitions"]] == ["storage", "Default"]
    (tmp_path / "p.conf").write_text("Default=0x7fff : ALL=full;\nnew=0x8005 : 0x0c42a10300000001=full;\n")
    made = document(capsys, "--from", both, "--intended", str(tmp_path / "p.conf"), status=1)
    (wrong,) = [problem for problem in made["problems"] if problem["kind"] == "not-as-intended"]
    assert "partition 0x0005" in wrong["text"]
    assert "c001-001 mlx5_0" in wrong["text"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", str(TOOLS / "sminfo/master.txt")], "sm"),
        (["--from", str(TOOLS / "ibnetdiscover/tree.txt")], "ibkit fabric"),
        (["--from", str(BULK), "--intended", str(BULK)], "not partitions.conf"),
        (["--from", str(BULK), "--intended", "/nowhere"], "No such file"),
        (["--from", str(BULK), "--device", "mlx5_0"], "has been asked already"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert main(["partitions", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, words in err) == ("", True), err


def test_names_from_outside_are_neutralised(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    evil = TREE.replace("c001-001 mlx5_0", "\x1b[2Jevil\x07")
    (tmp_path / "x").write_text(evil + BULK.read_text())
    for arguments in ([], ["ports"], ["--csv"]):
        assert main(["partitions", *arguments, "--from", str(tmp_path / "x")]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "evil" in out


def test_a_port_without_the_default_partition(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    records = BULK.read_text().split("PKeyTableRecord dump:")
    (tmp_path / "x").write_text("PKeyTableRecord dump:".join(records).replace("0xffff 0x8001", "0x0000 0x8001"))
    made = document(capsys, "--from", str(tmp_path / "x"), status=1)
    assert [problem["kind"] for problem in made["problems"]] == ["no-default"]


@pytest.mark.parametrize(
    "text", ["", "PKeyTableRecord dump:\n", "PKeyTableRecord dump:\n\t\tLID....x\n\t\tPort.....\x00\n"]
)
def test_nothing_in_it(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    assert main(["partitions", "--json", "--from", str(tmp_path / "x")]) in (2, 3)


@pytest.mark.parametrize("size", [56, 60, 67])
def test_a_configuration_that_is_cut_proves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, size: int
) -> None:
    path = tmp_path / "partitions.conf"
    path.write_bytes((TOOLS / "partitions.conf/ft12.txt").read_bytes()[:size])
    for words in (["--from", str(path)], ["--from", str(TOOLS.parent / "fat-tree"), "--intended", str(path)]):
        assert main(["partitions", *words]) == 3
        assert "it may be cut" in capsys.readouterr().err


def test_records_that_are_cut_are_not_all(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "pkeys.txt"
    path.write_bytes((TOOLS / "saquery/pkeys.txt").read_bytes()[:435])
    assert main(["partitions", "--from", str(path)]) == 3
    assert "PKeyTableRecord without its end" in capsys.readouterr().err
