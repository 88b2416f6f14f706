"""Levels and pictures: the recorded fat tree, small fabrics by hand, and large ones by the rule they are built by."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.answers import Answers, said
from support.fattree import Tree, three_levels, two_levels

from ibkit.collectors.fabric import collect_fabric
from ibkit.model.fabric import AGGREGATION_NODE, CHANNEL_ADAPTER, ROUTER, SWITCH, End, Fabric, Link, Node
from ibkit.model.graded_links import grade_links
from ibkit.model.ids import Guid
from ibkit.model.levels import levels
from ibkit.model.picture import Picture, draw
from ibkit.sources.opening import open_site

ROOT = Path(__file__).parents[2]


def fabric_of_tree(tree: Tree) -> Fabric:
    return collect_fabric(Answers({"ibnetdiscover": said("# Topology file\n\n" + tree.netlist())}))


def small(*links: tuple[int, int], names: dict[int, str] | None = None) -> Fabric:
    """Nodes by number: below 100 a switch, from 100 on an HCA, from 900 a router, from 990 an aggregation node."""
    guids = sorted({guid for link in links for guid in link})
    kinds = {guid: SWITCH if guid < 100 else CHANNEL_ADAPTER if guid < 900 else ROUTER for guid in guids}
    kinds |= {guid: AGGREGATION_NODE for guid in guids if guid >= 990}
    nodes = {Guid(guid): Node(Guid(guid), kinds[guid], (names or {}).get(guid, f"n{guid}"), 40) for guid in guids}
    used: Counter[int] = Counter()
    made = []
    for a, b in links:
        used.update((a, b))
        made.append(Link(End(Guid(a), used[a]), End(Guid(b), used[b]), "4x", "HDR"))
    return Fabric(nodes, tuple(made), True)


def drawn(fabric: Fabric, *, each_host: bool = False, each_switch: bool = False) -> Picture:
    return draw(fabric, grade_links(fabric), each_host=each_host, each_switch=each_switch)


def test_levels_of_three() -> None:
    tree = three_levels(8, 4)  # 64 HCAs; 16 leaves, 16 spines, 16 cores
    found = levels(fabric_of_tree(tree))
    assert Counter(found.values()) == {1: 16, 2: 16, 3: 16}
    named = {tree.switches[guid].split(";swib-")[1][:4] for guid, level in found.items() if level == 3}
    assert all(name.startswith("c") for name in named)


def test_a_host_at_a_spine_makes_it_no_leaf() -> None:
    hosts = [(1, 100 + i) for i in range(8)] + [(2, 120 + i) for i in range(8)]
    assert levels(small(*hosts, (1, 50), (2, 50), (50, 150))) == {1: 1, 2: 1, 50: 2}
    assert levels(small((1, 100), (2, 101), (1, 50), (2, 50), (50, 150))) == {1: 1, 2: 1, 50: 1}


def test_islands_and_switches_without_hosts() -> None:
    hosts = [(1, 100 + i) for i in range(8)]
    assert levels(small(*hosts, (2, 120), (3, 4))) == {1: 1, 2: 1}


def test_the_fat_tree_with_its_faults() -> None:
    """By the README of the capture: c004 and c051 are slow, a trunk runs QDR, two cables of trunks are missing."""
    picture = drawn(collect_fabric(open_site(str(ROOT / "fixtures/fat-tree")).subnet))
    hosts = {box.title: len(box.members) for box in picture.boxes if box.kind == CHANNEL_ADAPTER}
    assert hosts == {
        "c[001-003,005-018]": 17, "c004 mlx5_0": 1, "c[019-036]": 18, "c[037-050,052-054]": 17, "c051 mlx5_0": 1,
        "c[055-072]": 18, "c[073-090]": 18, "c[091-108]": 18,
    }  # fmt: skip
    titles = {box.id: box.title for box in picture.boxes}
    odd = {
        (titles[line.a], titles[line.b], len(line.links), line.speed, line.grade.verdict, line.usual_count)
        for line in picture.lines
        if line.grade.verdict != "ok" or line.usual_count
    }
    assert odd == {
        ("swib-l001", "c004 mlx5_0", 1, "HDR", "slow", None),
        ("swib-l003", "c051 mlx5_0", 1, "EDR", "slow", None),
        ("swib-s007", "swib-l001", 1, "QDR", "suspected", None),
        ("swib-s002", "swib-l001", 1, "HDR", "ok", 2),
        ("swib-s009", "swib-l006", 1, "HDR", "ok", 2),
    }
    assert [box.level for box in picture.boxes][:15] == [2] * 9 + [1] * 6
    assert sum(len(line.links) for line in picture.lines) == 214


def test_each_host() -> None:
    picture = drawn(fabric_of_tree(two_levels(8, 2)), each_host=True)
    assert Counter(box.kind for box in picture.boxes) == {SWITCH: 4, CHANNEL_ADAPTER: 8}
    assert all(len(box.members) == 1 for box in picture.boxes)


def test_an_adapter_at_two_leaves_is_folded_with_those_like_it() -> None:
    rails = [(leaf, host) for host in range(100, 104) for leaf in (1, 2)]
    picture = drawn(small(*rails, (1, 110), (1, 111)))
    assert sorted(len(box.members) for box in picture.boxes if box.kind == CHANNEL_ADAPTER) == [2, 4]
    assert len(picture.lines) == 3


def test_routers_and_aggregation_nodes_are_no_hosts() -> None:
    picture = drawn(small((1, 100), (1, 101), (1, 900), (1, 990)))
    assert Counter(box.kind for box in picture.boxes) == {SWITCH: 1, CHANNEL_ADAPTER: 1, ROUTER: 1, AGGREGATION_NODE: 1}


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["n1 mlx5_0", "n2 mlx5_0"], "n[1-2]"),
        (["n1 mlx5_0", "n1 mlx5_1"], "n1"),
        (["MT4123 ConnectX6   Mellanox Technologies"] * 2, "2 without a name"),
        (["n1 mlx5_0", "MT4123 ConnectX6   Mellanox Technologies"], "n1, 1 others"),
        (["a[1 mlx5_0", "n,2 mlx5_0"], "2 others"),
        (["", ""], "2 without a name"),
    ],
)
def test_titles(names: list[str], title: str) -> None:
    fabric = small((1, 100), (1, 101), names=dict(zip((100, 101), names, strict=True)))
    (box,) = (box for box in drawn(fabric).boxes if box.kind == CHANNEL_ADAPTER)
    assert box.title == title
    assert box.names == tuple(names)


def test_many_switches_are_folded_by_pods() -> None:
    """12 pods of 5 leaves and 5 spines and 25 cores: 145 switches. One cable of 12 x 25 to the cores is slow."""
    tree = three_levels(10, 12)
    picture = drawn(fabric_of_tree(tree.degraded({len(tree.hcas) + 1: ("1x", "HDR")})))
    assert picture.folded == "pods"
    switches = [(box.level, len(box.members)) for box in picture.boxes if box.kind == SWITCH]
    assert Counter(switches) == {(3, 25): 1, (2, 5): 12, (1, 5): 12}
    assert [len(line.links) for line in picture.lines if line.grade.verdict == "slow"] == [1]
    assert sum(len(line.links) for line in picture.lines) == len(tree.cables)
    assert drawn(fabric_of_tree(tree), each_switch=True).folded == "nothing"


def test_what_is_still_too_much_is_folded_by_levels() -> None:
    """110 leaves with a host each below two spines: each leaf would be a pod."""
    leaves, spines = [Guid(1000 + i) for i in range(110)], [Guid(1), Guid(2)]
    hosts = [Guid(5000 + i) for i in range(110)]
    nodes = {guid: Node(guid, SWITCH, f"s{guid:d}", 120) for guid in (*spines, *leaves)}
    nodes |= {guid: Node(guid, CHANNEL_ADAPTER, f"h{guid:d} mlx5_0", 1) for guid in hosts}
    links = [
        Link(End(spine, i + 1), End(leaf, n), "4x", "HDR")
        for n, spine in enumerate(spines, 1)
        for i, leaf in enumerate(leaves)
    ]
    links += [Link(End(leaf, 9), End(host, 1), "4x", "HDR") for leaf, host in zip(leaves, hosts, strict=True)]
    picture = drawn(Fabric(nodes, tuple(links), True))
    assert picture.folded == "levels"
    assert [(box.kind, box.level, box.title) for box in picture.boxes] == [
        (SWITCH, 2, "s[1-2]"), (SWITCH, 1, "s[1000-1109]"), (CHANNEL_ADAPTER, 0, "h[5000-5109]"),
    ]  # fmt: skip
    assert [len(line.links) for line in picture.lines] == [220, 110]


def test_nothing() -> None:
    assert drawn(Fabric({}, (), None)) == Picture((), ())


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 1000)), max_size=40))
def test_no_link_and_no_node_is_lost(pairs: list[tuple[int, int]]) -> None:
    fabric = small(*((a, b) for a, b in pairs if a != b))
    for each in (False, True):
        picture = drawn(fabric, each_host=each, each_switch=each)
        assert sorted(guid for box in picture.boxes for guid in box.members) == sorted(fabric.nodes)
        assert sum(len(line.links) for line in picture.lines) == len(fabric.links)
        members = {box.id: set(box.members) for box in picture.boxes}
        for line in picture.lines:
            for link in line.links:
                assert link.a.guid in members[line.a]
                assert link.b.guid in members[line.b]
