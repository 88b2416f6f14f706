"""`ibkit fabric --slow`, `--down` and `--switch`. The truth is in the README of fixtures/fat-tree, counted by hand."""

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

ROOT = Path(__file__).parents[2]
FAT_TREE = str(ROOT / "fixtures/fat-tree")
TOOLS = ROOT / "fixtures/tools"
LEAF_1 = "0xb8599f0300000000"


def document(capsys: pytest.CaptureFixture[str], *words: str, status: int, file: str = FAT_TREE) -> dict[str, Any]:
    assert main(["fabric", *words, "--json", "--from", file]) == status
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(made, strict("fabric"))
    return made


def test_slow_links_of_the_fat_tree(capsys: pytest.CaptureFixture[str]) -> None:
    made = document(capsys, "--slow", status=1)
    names = {node["guid"]: node["name"] for node in made["nodes"]}
    found = [
        (names[link["a"]["guid"]].split()[0], link["a"]["port"], names[link["b"]["guid"]], link["b"]["port"],
         link["width"], link["speed"], link["verdict"])
        for link in made["links"]
    ]  # fmt: skip
    assert found == [
        ("c004", 1, "MF0;swib-l001:MQM8700/U1", 4, "1x", "HDR", "slow"),
        ("c051", 1, "MF0;swib-l003:MQM8700/U1", 15, "4x", "EDR", "slow"),
        ("MF0;swib-l001:MQM8700/U1", 31, "MF0;swib-s007:MQM8700/U1", 1, "4x", "QDR", "suspected"),
    ]
    assert made["verdicts"] == {"slow": 2, "suspected": 1, "unknown": 0, "ok": 211}
    assert len(names) == 5, "the nodes at their ends"
    assert made["summary"]["links"] == 214


def test_the_table_and_the_csv_of_slow_links(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fabric", "links", "--slow", "--from", FAT_TREE]) == 1
    out, err = capsys.readouterr()
    assert [line.split()[-4:] for line in out.splitlines()[1:2]] == [["one-lane", "one", "lane", "only"]]
    assert "of 214 links 2 are slow, 1 are suspected to be, 211 are as fast as their ends can; of 0 it is" in err
    assert main(["fabric", "--slow", "--csv", "--from", FAT_TREE]) == 1
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["cause"] for row in rows] == ["one-lane", "below-supported", "both-ends-faster"]


@pytest.mark.parametrize(
    ("name", "status", "counts"),
    [
        ("aggregation-nodes.txt", 0, (0, 0, 0, 5)),
        ("names.txt", 1, (0, 0, 0, 6)),  # two of its nodes have one LID
        ("tree.txt", 1, (2, 1, 0, 26)),
        ("topology.txt", 3, (0, 0, 4, 0)),  # an SDR net of a simulator: nobody knows what its devices can
        ("router.txt", 3, (0, 0, 2, 0)),  # 1x XDR
        ("no-device.txt", 3, (0, 0, 0, 0)),
    ],
)
def test_exit_statuses_of_slow(
    capsys: pytest.CaptureFixture[str], name: str, status: int, counts: tuple[int, ...]
) -> None:
    made = document(capsys, "--slow", status=status, file=str(TOOLS / "ibnetdiscover" / name))
    assert tuple(made["verdicts"].values()) == counts


def test_ports_that_are_down(capsys: pytest.CaptureFixture[str]) -> None:
    """15 switches of 36 ports; 214 cables, of which 108 have one end and 106 both ends at a switch."""
    made = document(capsys, "--down", status=0)
    assert len(made["ports"]) == 15 * 36 - 108 - 2 * 106
    missing = {(LEAF_1, 21), ("0xb8599f0300000500", 36), ("0xb8599f0300000700", 1), ("0xb8599f0300000e00", 12)}
    assert missing <= {(port["guid"], port["port"]) for port in made["ports"]}
    assert {port["linked"] for port in made["ports"]} == {False}
    assert made["links"] == []
    main(["fabric", "--down", "--from", FAT_TREE])
    assert "220 of 648 ports have no link" in capsys.readouterr().err


def test_ports_of_which_it_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    main(["fabric", "--down", "--from", str(TOOLS / "ibnetdiscover/tree.txt")])
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1, "what a text does not list may be linked"
    assert "0 of 120 ports have no link; of 62 it is not known" in err, "29 links have 58 ends"


@pytest.mark.parametrize("name", [LEAF_1, "b8599f0300000000", "MF0;swib-l001:MQM8700/U1", "swib-l001", "SWIB-L001"])
def test_one_switch(capsys: pytest.CaptureFixture[str], name: str) -> None:
    made = document(capsys, "--switch", name, status=0)
    assert len(made["ports"]) == 36
    assert {port["guid"] for port in made["ports"]} == {LEAF_1}
    assert len(made["links"]) == 35, "one of its cables is missing"
    assert len(made["nodes"]) == 1 + 18 + 9


def test_what_is_slow_and_down_at_one_switch(capsys: pytest.CaptureFixture[str]) -> None:
    made = document(capsys, "--switch", "swib-l001", "--slow", status=1)
    assert [link["cause"] for link in made["links"]] == ["one-lane", "both-ends-faster"]
    assert made["verdicts"] == {"slow": 1, "suspected": 1, "unknown": 0, "ok": 33}
    made = document(capsys, "--switch", "swib-l002", "--slow", status=0)
    assert made["links"] == []
    made = document(capsys, "--switch", "swib-l001", "--down", status=0)
    assert [port["port"] for port in made["ports"]] == [21]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--switch", "swib"), "there are 15: 0xb8599f0300000000 (MF0;swib-l001"),
        (("--switch", "c001"), "no switch, but 1 other nodes: 0x0c42a10300000000 (c001 mlx5_0)"),
        (("--switch", "nowhere"), "there is no such switch; `ibkit fabric nodes` lists them"),
        (("--switch", "0xb8599f0300ffffff"), "there is no such switch"),
        (("ports", "--slow"), "--slow is about links, not about ports"),
        (("links", "--down"), "--down is about ports, not about links"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str) -> None:
    assert main(["fabric", *words, "--from", FAT_TREE]) == 2
    out, err = capsys.readouterr()
    assert (out, told in err) == ("", True), err


def test_a_hostile_name_is_told_harmlessly(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    evil = "\x1b[2Jevil-switch\u202e"
    text = (TOOLS / "ibnetdiscover/tree.txt").read_text()
    (tmp_path / "t").write_text(text.replace("MF0;swib-l001:MQM8700/U1", evil))
    for words in (["--switch", "evil-switch"], ["--slow"], ["--down"]):
        main(["fabric", *words, "--from", str(tmp_path / "t")])
        out, err = capsys.readouterr()
        assert not any(character in out + err for character in "\x1b\u202e")
    assert main(["fabric", "--switch", "\x1b[31m", "--from", FAT_TREE]) == 2
    assert "\x1b" not in capsys.readouterr().err
