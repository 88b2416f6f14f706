"""``ibkit fabric --node-name-map FILE``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibkit.cli.main import main

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
TOPOLOGY, MAP = str(TOOLS / "ibnetdiscover/topology.txt"), str(TOOLS / "node-name-map/net.txt")


def names(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, str]:
    main(["--from", TOPOLOGY, "fabric", "nodes", "--json", *options])
    return {node["guid"]: node["name"] for node in json.loads(capsys.readouterr().out)["nodes"]}


def test_names_of_a_map(capsys: pytest.CaptureFixture[str]) -> None:
    assert names(capsys, "--node-name-map", MAP) == {
        "0x0000000000100000": "host1", "0x0000000000100003": "host 2 'old'",
        "0x0000000000200000": "leaf 1", "0x0000000000200001": "leaf 2",
    }  # fmt: skip


def test_a_node_that_is_not_in_the_map_keeps_its_description(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "map").write_text('0x200000 "leaf"\nnonsense\n')
    assert sorted(names(capsys, "--node-name-map", str(tmp_path / "map")).values()) == [
        "Hca1", "Hca2", "Switch2", "leaf",
    ]  # fmt: skip


def test_the_name_of_a_map_chooses_a_switch(capsys: pytest.CaptureFixture[str]) -> None:
    found = names(capsys, "--node-name-map", MAP, "--switch", "leaf 2")
    assert "0x0000000000200001" in found


def test_what_of_the_map_could_not_be_read_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "map").write_text('0x200000 "leaf"\nnonsense\n')
    main(["--from", TOPOLOGY, "fabric", "--json", "--node-name-map", str(tmp_path / "map")])
    out, err = capsys.readouterr()
    assert f"{tmp_path}/map:2" in err.replace(" line ", ":") or "nonsense" in err
    assert [
        problem["line"] for problem in json.loads(out)["problems"] if problem["source"] == str(tmp_path / "map")
    ] == [2]


@pytest.mark.parametrize("content", ["", "no map\n"])
def test_a_file_that_is_no_map(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str) -> None:
    (tmp_path / "map").write_text(content)
    assert main(["--from", TOPOLOGY, "fabric", "--node-name-map", str(tmp_path / "map")]) == 2
    assert "map" in capsys.readouterr().err
