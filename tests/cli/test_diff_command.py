"""`ibkit diff` on captures and files: what is printed where, exit statuses, hostile names, foreign files."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.schemas import strict

from ibkit.cli.main import main

ROOT = Path(__file__).parents[2]
FAT_TREE = str(ROOT / "fixtures/fat-tree")
TOOLS = ROOT / "fixtures/tools"
TREE = str(TOOLS / "ibnetdiscover/tree.txt")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["diff", *words])
    out, err = capsys.readouterr()
    return status, out, err


def document(capsys: pytest.CaptureFixture[str], *words: str, status: int) -> dict[str, Any]:
    found, out, err = run(capsys, *words, "--json")
    assert found == status, err
    made: dict[str, Any] = json.loads(out)
    jsonschema.validate(made, strict("diff"))
    return made


@pytest.fixture
def changed(tmp_path: Path) -> str:
    """The tree of three switches and twelve HCAs with one link at another rate, and one HCA under another name."""
    text = Path(TREE).read_text()
    assert text.count("4xEDR") == 2
    (tmp_path / "later.txt").write_text(text.replace("4xEDR", "4xHDR").replace("c001-003 mlx5_0", "x1 mlx5_0"))
    return str(tmp_path / "later.txt")


def test_a_capture_and_itself(capsys: pytest.CaptureFixture[str]) -> None:
    made = document(capsys, FAT_TREE, FAT_TREE, status=0)
    assert (made["verdict"], made["changes"], made["undecided"], made["counts"]) == ("same", [], [], {})
    assert {part["name"]: part["compared"] for part in made["parts"]}["fabric"] is True
    assert made["before"] == made["after"]
    _, out, err = run(capsys, FAT_TREE, FAT_TREE)
    assert out == ""
    assert "0 differences of fabric" in err


def test_changes(capsys: pytest.CaptureFixture[str], changed: str) -> None:
    made = document(capsys, TREE, changed, status=1)
    assert (made["verdict"], made["counts"]) == ("different", {"node-renamed": 1, "rate-changed": 1})
    rate = next(change for change in made["changes"] if change["kind"] == "rate-changed")
    assert (rate["before"], rate["after"]) == ({"width": "4x", "speed": "EDR"}, {"width": "4x", "speed": "HDR"})
    assert (made["before"]["label"], made["after"]["label"]) == (
        "tree.txt (ibnetdiscover output)", "later.txt (ibnetdiscover output)",
    )  # fmt: skip


def test_table_and_csv(capsys: pytest.CaptureFixture[str], changed: str) -> None:
    status, out, err = run(capsys, TREE, changed)
    assert (status, len(out.splitlines())) == (1, 3)
    assert "2 differences of fabric" in err
    _, out, _ = run(capsys, TREE, changed, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["kind"], row["decided"]) for row in rows] == [("rate-changed", "yes"), ("node-renamed", "yes")]
    assert json.loads(rows[0]["after"]) == {"width": "4x", "speed": "HDR"}


def test_after_may_be_what_from_names(capsys: pytest.CaptureFixture[str], changed: str) -> None:
    assert document(capsys, TREE, "--from", changed, status=1)["counts"] == {"node-renamed": 1, "rate-changed": 1}
    status, out, err = run(capsys, TREE, changed, "--from", changed)
    assert (status, out) == (2, "")
    assert "two sides are given already" in err


def test_a_text_that_lacks_a_host_is_undecided(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A file holds stdout only, so a host that did not answer would look like one that is gone."""
    text = Path(TREE).read_text()
    blocks = text.split("\n\n")
    name = '"c001-003 mlx5_0"'
    kept = [block for block in blocks if not (block.splitlines()[-2:-1] and name in block and "caguid" in block)]
    assert len(kept) == len(blocks) - 1
    lines = [line for line in "\n\n".join(kept).splitlines() if name not in line]
    (tmp_path / "later.txt").write_text("\n".join(lines) + "\n")
    made = document(capsys, TREE, str(tmp_path / "later.txt"), status=3)
    assert (made["verdict"], made["changes"]) == ("unknown", [])
    assert [doubt["kind"] for doubt in made["undecided"]] == ["node-not-seen", "link-not-seen"]
    _, out, err = run(capsys, TREE, str(tmp_path / "later.txt"))
    assert len(out.splitlines()) == 2, "the link follows from the host"
    assert "what did not answer would look the same" in err


def test_a_file_beside_a_capture(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the capture's own sweep; the file has no managers, P_Keys and hosts, and nobody expects them there."""
    made = document(capsys, FAT_TREE, str(ROOT / "fixtures/fat-tree/subnet/ibnetdiscover.out"), status=0)
    assert (made["verdict"], [part["compared"] for part in made["parts"]]) == ("same", [True, False, False, False])


def test_hosts_of_two_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (TOOLS / "ibstat/two-devices.txt").read_text()
    (tmp_path / "later.txt").write_text(text.replace("State: Active", "State: Down", 1))
    made = document(capsys, str(TOOLS / "ibstat/two-devices.txt"), str(tmp_path / "later.txt"), status=1)
    assert made["counts"]["port-state-changed"] == 1
    assert (made["changes"][0]["device"], made["changes"][0]["port"]) == ("rxe0", 1)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("ibstat/two-devices.txt", "nothing is in both that could be compared"),
        ("perfquery/loop.txt", "this is perfquery output"),
    ],
)
def test_files_of_which_nothing_is_in_both(capsys: pytest.CaptureFixture[str], other: str, told: str) -> None:
    status, out, err = run(capsys, TREE, str(TOOLS / other))
    assert (status, out) == (2, "")
    assert told in err


def test_two_outputs_of_a_tool_that_failed_are_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    failed = str(TOOLS / "ibnetdiscover/no-device.txt")
    made = document(capsys, failed, failed, status=3)
    assert (made["verdict"], [doubt["kind"] for doubt in made["undecided"]]) == ("unknown", ["part-missing"])


def test_hostile_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    evil = "\x1b[2Jx\u202e[bold]"
    (tmp_path / "t").write_text(Path(TREE).read_text().replace("c001-001 mlx5_0", evil))
    for form in ((), ("--csv",)):
        status, out, err = run(capsys, TREE, str(tmp_path / "t"), *form)
        assert status == 1
        assert not any(character in out + err for character in "\x1b\u202e")
    made = document(capsys, TREE, str(tmp_path / "t"), status=1)
    assert made["changes"][0]["after"] == evil, "data keeps it raw"


def test_hostile_names_of_hosts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The reason why hosts are not compared names them."""
    evil = "c001\x1b[2J\x9b31m\u202e"
    shutil.copytree(FAT_TREE, tmp_path / "c")
    manifest = json.loads((tmp_path / "c/manifest.json").read_text())
    manifest["hosts"][0]["name"] = evil
    (tmp_path / "c/manifest.json").write_text(json.dumps(manifest))
    status, out, err = run(capsys, FAT_TREE, str(tmp_path / "c"))
    assert status == 3
    assert "now host c001\\x1b[2J\\x9b31m\\u202e" in err
    assert not any(character in out + err for character in "\x1b\x9b\u202e")


def test_it_is_the_same_twice(capsys: pytest.CaptureFixture[str], changed: str) -> None:
    assert run(capsys, TREE, changed, "--json")[1] == run(capsys, TREE, changed, "--json")[1]


HOSTS = tuple(str(ROOT / "fixtures" / name) for name in ("fat-tree", "roce-host", "multirail-host", "two-subnets"))


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(HOSTS, 2)))
def test_captures_of_different_hosts_are_never_the_same(
    capsys: pytest.CaptureFixture[str], one: str, other: str
) -> None:
    made = document(capsys, one, other, status=3)
    assert (made["verdict"], made["changes"]) == ("unknown", [])
    assert {part["name"]: part["compared"] for part in made["parts"]}["hosts"] is False
    assert "no-host-in-both" in {doubt["kind"] for doubt in made["undecided"]}
    _, _, err = run(capsys, one, other)
    assert "ibkit: the two have nothing in common that could be compared:\n" in err
    assert "  hosts: " in err, "what is missing is named for each part"
    assert "differences of" not in err
    assert "no host is in both" in err


def test_texts_of_two_hosts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = (TOOLS / "ibstat/one-device.txt").read_text()
    (tmp_path / "other.txt").write_text(re.sub(r"(?<=guid: 0x)[0-9a-f]{8}", "0c42a103", text, flags=re.IGNORECASE))
    made = document(capsys, str(TOOLS / "ibstat/one-device.txt"), str(tmp_path / "other.txt"), status=3)
    assert made["changes"] == []


def test_a_cut_text_is_not_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Cut in the third block, all nodes are named by neighbours still."""
    whole = Path(TREE).read_bytes()
    for size in (2000, 3000, len(whole) - 40):
        (tmp_path / "half.txt").write_bytes(whole[:size])
        for sides in ((TREE, "half.txt"), ("half.txt", TREE), ("half.txt", "half.txt")):
            made = document(capsys, *(str(tmp_path / side) for side in sides), status=3)
            assert (made["verdict"], made["changes"]) == ("unknown", [])
            assert "not-whole" in {doubt["kind"] for doubt in made["undecided"]}
