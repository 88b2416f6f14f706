"""The fabric from iblinkinfo: equal to the one from ibnetdiscover, or said to be less. Truths: the fixtures' README."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibkit.collectors.fabric import collect_fabric
from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, UNKNOWN_TYPE, End, Fabric, FabricPort
from ibkit.model.ids import Guid
from ibkit.sources.opening import open_site

SAMPLES = Path(__file__).parents[2] / "fixtures/tools/iblinkinfo"
LEAF1, LEAF2, HOST1, HOST2 = Guid(0xB0001000), Guid(0xB0002000), Guid(0xA0001001), Guid(0xA0002001)


def of_file(path: Path) -> Fabric:
    return collect_fabric(open_site(str(path)).subnet)


def of_text(tmp_path: Path, text: str) -> Fabric:
    file = tmp_path / "pasted.txt"
    file.write_text(text)
    return of_file(file)


def port_of(fabric: Fabric, guid: Guid, number: int) -> FabricPort:
    (port,) = [port for port in fabric.nodes[guid].ports if port.number == number]
    return port


def kinds(fabric: Fabric) -> list[str]:
    return [problem.kind for problem in fabric.problems]


@pytest.mark.parametrize("name", ["ft12.txt", "ft12-lines.txt", "ft12-no-sm.txt", "additional.txt"])
def test_the_same_fabric_as_ibnetdiscover_shows(name: str) -> None:
    truth = of_file(SAMPLES / "ft12/ibnetdiscover.txt")
    fabric = of_file(SAMPLES / name)
    # In this net an HCA's port GUID is its node GUID plus one, and iblinkinfo prints port GUIDs.
    named = {guid: guid if node.type == SWITCH else Guid(guid + 1) for guid, node in truth.nodes.items()}
    assert {guid: (node.type, node.name) for guid, node in fabric.nodes.items()} == {
        named[guid]: (node.type, node.name) for guid, node in truth.nodes.items()
    }
    assert [(link.a, link.b, link.width, link.speed, link.seen_from) for link in fabric.links] == sorted(
        (
            *sorted((End(named[link.a.guid], link.a.port), End(named[link.b.guid], link.b.port))),
            link.width,
            link.speed,
            2,
        )
        for link in truth.links
    )
    lids = {guid: node.lid for guid, node in fabric.nodes.items()}
    if name == "ft12-no-sm.txt":
        assert set(lids.values()) == {None}
    else:
        assert lids == {named[guid]: node.lid for guid, node in truth.nodes.items()}
    assert [node.port_count for node in fabric.nodes.values() if node.type == SWITCH] == [36, 36, 36]
    assert fabric.complete is None
    assert kinds(fabric) == (["port-guids", "no-lid"] if name == "ft12-no-sm.txt" else ["port-guids"])


@pytest.mark.parametrize("name", ["leaves.txt", "leaves-lines.txt"])
def test_ports_and_their_states(name: str) -> None:
    fabric = of_file(SAMPLES / name)
    assert {guid: node.type for guid, node in fabric.nodes.items()} == {
        HOST1: CHANNEL_ADAPTER, HOST2: CHANNEL_ADAPTER, LEAF1: SWITCH, LEAF2: SWITCH,
    }  # fmt: skip
    assert port_of(fabric, LEAF1, 3) == FabricPort(3, linked=False, state="Down", physical_state="Polling")
    assert port_of(fabric, LEAF2, 7) == FabricPort(
        7, None, None, End(LEAF1, 7), "4x", "EDR", True, None, "Active", "LinkUp"
    )
    second = port_of(fabric, HOST2, 2)
    assert (second.guid, second.lid, second.peer, second.width) == (Guid(0xA0002002), 5, End(LEAF2, 2), "2x")
    assert (fabric.nodes[LEAF2].lid, fabric.nodes[HOST2].port_count) == (3, None)


def test_without_blocks_of_adapters_something_is_missing() -> None:
    fabric = of_file(SAMPLES / "ft12-switches-only.txt")
    assert (fabric.complete, len(fabric.nodes), len(fabric.links)) == (False, 3, 17)
    assert kinds(fabric) == ["unknown-neighbour"]
    assert "11 more" in fabric.problems[0].text
    leaf = Guid(0xB8599F0300000000)
    port = port_of(fabric, leaf, 1)
    assert (port.linked, port.peer, port.width, port.speed, port.state) == (True, None, "4x", "HDR", "Active")


def test_the_line_form_knows_a_missing_neighbours_guid(tmp_path: Path) -> None:
    text = (SAMPLES / "leaves-lines.txt").read_text()
    fabric = of_text(
        tmp_path, "".join(line for line in text.splitlines(True) if not line.startswith("0x00000000a0001"))
    )
    assert fabric.complete is False
    assert "no-block" in kinds(fabric)
    assert port_of(fabric, LEAF1, 1).peer == End(HOST1, 1)
    assert fabric.nodes[HOST1].type == UNKNOWN_TYPE


def test_equal_names_are_told_apart_by_lid(tmp_path: Path) -> None:
    text = (SAMPLES / "leaves.txt").read_text().replace("host2 \\", "same").replace("host1 mlx5_0", "same")
    fabric = of_text(tmp_path, text)
    assert len(fabric.links) == 4
    assert port_of(fabric, LEAF1, 1).peer == End(HOST1, 1)
    assert port_of(fabric, LEAF1, 2).peer == End(HOST2, 1)


def test_equal_names_without_lids_are_told_apart_by_what_they_name(tmp_path: Path) -> None:
    """The leaf's port is in each one's own row; what cannot be told apart is left out."""
    text = (SAMPLES / "ft12-no-sm.txt").read_text()
    fabric = of_text(tmp_path, text.replace("c001-001 mlx5_1", "same").replace("c001-002 mlx5_0", "same"))
    assert len(fabric.links) == 29
    twins = text.replace("MF0;swib-s001:MQM8700/U1", "spine").replace("MF0;swib-s002:MQM8700/U1", "spine")
    fabric = of_text(tmp_path, twins)
    assert len(fabric.links) == 29  # the leaf's ports differ


def test_two_ports_that_claim_the_same_end_are_not_guessed(tmp_path: Path) -> None:
    link = '0    1[  ] ==( 4X   53.125 Gbps Initialize/  LinkUp)==>       0    1[  ] "{}" ( )\n'
    text = f"Switch: 0x0000000000000010 sw:\n{link.format('same')}"
    for guid in (0xA1, 0xB1):
        text += f"CA: same:\n0x{guid:016x} {link.format('sw')}"
    fabric = of_text(tmp_path, text)
    assert (fabric.links, fabric.complete) == ((), False)
    assert "unknown-neighbour" in kinds(fabric)


def test_a_neighbour_that_the_tool_could_not_see(tmp_path: Path) -> None:
    text = (SAMPLES / "leaves.txt").read_text()
    peer = '1    1[  ] "host1 mlx5_0" (Could be 12X )'
    assert peer in text
    fabric = of_text(tmp_path, text.replace(f"      {peer}", '    "Port not available"'))
    port = port_of(fabric, LEAF1, 1)
    assert (port.linked, port.state, port.width) == (True, "Active", "4x")
    assert fabric.complete is False


def test_a_list_of_ports_that_are_down_is_no_fabric(tmp_path: Path) -> None:
    lines = (SAMPLES / "leaves.txt").read_text().splitlines(True)
    fabric = of_text(tmp_path, "".join(line for line in lines if "Switch" in line or "Down/" in line))
    assert (fabric.complete, len(fabric.nodes), fabric.links) == (False, 2, ())
    assert "partial" in kinds(fabric)


def test_ends_that_disagree(tmp_path: Path) -> None:
    text = (SAMPLES / "leaves.txt").read_text().replace("25.78125 Gbps Active", "53.125 Gbps Active", 1)
    fabric = of_text(tmp_path, text)
    (link,) = [link for link in fabric.links if link.a.guid == LEAF1 and link.b.guid == LEAF2]
    assert link.speed is None
    assert "contradiction" in kinds(fabric)


def test_a_log_with_both_tools_is_read_from_the_better_one(tmp_path: Path) -> None:
    text = (SAMPLES / "ft12.txt").read_text() + (SAMPLES / "ft12/ibnetdiscover.txt").read_text()
    fabric = of_text(tmp_path, text)
    assert Guid(0x0C42A10300000000) in fabric.nodes
    assert len(fabric.links) == 29
