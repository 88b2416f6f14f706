"""A fabric's nouns: ranges of LIDs, and nodes that are one box."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibkit.collectors.fabric import collect_fabric
from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, Fabric, FabricPort, Node, lid_range
from ibkit.model.ids import Guid
from ibkit.sources.opening import open_site

SAMPLES = Path(__file__).parents[2] / "fixtures/tools/ibnetdiscover"


def switch(guid: int, image: int | None, node_type: str = SWITCH) -> Node:
    return Node(Guid(guid), node_type, system_image_guid=None if image is None else Guid(image))


@pytest.mark.parametrize(
    ("lid", "lmc", "lids"),
    [(5, 0, [5]), (8, 2, [8, 9, 10, 11]), (5, None, [5]), (None, 3, []), (0xBFFF, 0, [0xBFFF])],
)
def test_an_lmc_gives_a_range(lid: int | None, lmc: int | None, lids: list[int]) -> None:
    assert list(lid_range(lid, lmc)) == lids
    assert list(FabricPort(1, lid=lid, lmc=lmc).lids) == lids
    assert list(Node(Guid(1), SWITCH, lid=lid, lmc=lmc).lids) == lids


def test_virtual_switches_of_one_switch() -> None:
    """Several SWIDs have a GUID each, and one system image GUID; an adapter's own one is nothing in common."""
    nodes = [switch(1, 9), switch(2, 9), switch(3, 8), switch(4, None), switch(5, None), switch(6, 7, CHANNEL_ADAPTER)]
    nodes += [switch(7, 7, CHANNEL_ADAPTER)]
    fabric = Fabric({node.guid: node for node in nodes}, (), True)
    assert {image: [node.guid for node in found] for image, found in fabric.systems().items()} == {9: [1, 2]}


def test_a_router_and_a_switch_in_one_box() -> None:
    """As a router of NVIDIA shows itself (in a dump of NVOS)."""
    fabric = collect_fabric(open_site(str(SAMPLES / "router.txt")).subnet)
    ((image, nodes),) = fabric.systems().items()
    assert str(image) == "0xb8e924030000b900"
    assert sorted(node.type for node in nodes) == ["router", "switch"]
