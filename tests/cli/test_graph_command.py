"""`ibkit graph` as a user runs it: the three forms, exit statuses, a file of another tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibkit.cli.main import main

ROOT = Path(__file__).parents[2]
FAT_TREE = str(ROOT / "fixtures/fat-tree")
SAMPLES = ROOT / "fixtures/tools/ibnetdiscover"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["graph", *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_dot_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--from", FAT_TREE)
    assert (status, out.startswith("graph fabric {\n"), out.endswith("}\n")) == (0, True, True)
    assert run(capsys, "--dot", "--from", FAT_TREE)[1] == out


def test_graphml(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--graphml", "--from", FAT_TREE)
    assert (status, out.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<graphml')) == (0, True)


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--json", "--hosts", "--from", FAT_TREE)
    made = json.loads(out)
    assert (status, made["schema"], made["complete"], made["folded"]) == (0, "ibkit.graph/1", True, "nothing")
    assert len(made["boxes"]) == 123
    assert run(capsys, "--json", "--hosts", "--from", FAT_TREE)[1] == out


@pytest.mark.parametrize(
    ("name", "status", "told"),
    [
        ("topology.txt", 0, "whether this is all of it is not known"),
        ("duplicate-guid.txt", 3, "INCOMPLETE: something is known to be missing"),
        ("no-device.txt", 3, "nothing was seen"),
        ("router.txt", 0, "diamond: router"),
        ("aggregation-nodes.txt", 0, "hexagon: aggregation node"),
    ],
)
def test_what_is_missing_stands_on_the_picture(
    capsys: pytest.CaptureFixture[str], name: str, status: int, told: str
) -> None:
    found, out, _ = run(capsys, "--from", str(SAMPLES / name))
    assert found == status
    assert told in out


def test_another_tools_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--from", str(ROOT / "fixtures/tools/ibstat/two-devices.txt"))
    assert (status, out) == (2, "")
    assert "this is ibstat output" in err


def test_two_forms_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["graph", "--dot", "--graphml", "--from", FAT_TREE])
    assert stopped.value.code == 2
