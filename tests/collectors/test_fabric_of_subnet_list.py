"""The fabric from opensm-subnet.lst: equal to the one from ibnetdiscover. Truth: the fixture's README."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibkit.cli.main import main
from ibkit.collectors.fabric import collect_fabric
from ibkit.model.fabric import SWITCH, Fabric
from ibkit.sources.opening import open_site

SAMPLES = Path(__file__).parents[2] / "fixtures/tools"
LISTED = SAMPLES / "opensm-subnet.lst/ft12.txt"


def of_file(path: Path) -> Fabric:
    return collect_fabric(open_site(str(path)).subnet)


def test_the_same_fabric_as_ibnetdiscover_shows() -> None:
    truth, fabric = of_file(SAMPLES / "iblinkinfo/ft12/ibnetdiscover.txt"), of_file(LISTED)
    assert fabric.problems == ()
    assert fabric.complete is None
    assert fabric.links == truth.links
    for guid, node in fabric.nodes.items():
        other = truth.nodes[guid]
        assert node._replace(ports=(), lmc=None) == other._replace(ports=(), lmc=None, enhanced_port0=None)
        assert [port._replace(state=None) for port in node.ports if port.peer] == [
            port for port in other.ports if port.peer
        ]
        assert {port.state for port in node.ports if port.peer} == {"Active"}


def test_a_cut_file_lacks_something(tmp_path: Path) -> None:
    text = LISTED.read_text()
    (tmp_path / "cut").write_text(text[: len(text) // 2])
    fabric = of_file(tmp_path / "cut")
    assert fabric.complete is False
    assert [problem.kind for problem in fabric.problems] == ["no-block"]  # the cut is between two lines


def test_the_file_twice_is_one_fabric(tmp_path: Path) -> None:
    (tmp_path / "twice").write_text(LISTED.read_text() * 2)
    assert of_file(tmp_path / "twice").links == of_file(LISTED).links


def test_a_router_and_an_unknown_type(tmp_path: Path) -> None:
    text = LISTED.read_text()
    for kind, guid in (("Rt", "0c42a10300000010"), ("**", "0c42a10300000020")):
        text = text.replace(f"{{ CA Ports:01 SystemGUID:{guid}", f"{{ {kind} Ports:01 SystemGUID:{guid}")
    (tmp_path / "types").write_text(text)
    types = [node.type for node in of_file(tmp_path / "types").nodes.values()]
    assert (types.count("router"), types.count(SWITCH)) == (1, 3)


@pytest.mark.parametrize("words", [("fabric",), ("fabric", "links")])
def test_the_command(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert main(["--from", str(LISTED), *words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["summary"]["links"] == 29
