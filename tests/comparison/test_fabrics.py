"""Two sweeps compared. The truths are changes that were made by hand to fat trees that are built by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.answers import Answers, said
from support.fattree import Cable, Tree, two_levels

from ibkit.collectors.fabric import collect_fabric
from ibkit.comparison.change import Change, Doubt
from ibkit.comparison.fabrics import compare_fabrics
from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, End, Fabric, FabricPort, Link, Node
from ibkit.model.ids import Guid
from ibkit.parsers.base import Problem

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
#: 8 HCAs c001 to c008, four on each of two leaves (ports 1 to 4); leaf ports 5, 6 to spine 1 and 7, 8 to spine 2.
TREE = two_levels(8, 2)
HCAS, SWITCHES = list(TREE.hcas), list(TREE.switches)
LEAF_1, LEAF_2, SPINE_1, SPINE_2 = SWITCHES
C001, C005 = HCAS[0], HCAS[4]
NEW_HCA = 0x0C42A103000F0000


def seen(tree: Tree, stderr: str = "", change: Callable[[str], str] = str) -> Fabric:
    """What a sweep of it shows, whole where the tool complained of nothing."""
    text = "# Topology file\n\n" + change(tree.netlist())
    return collect_fabric(Answers({"ibnetdiscover": said(text, stderr)}))


def pasted(fabric: Fabric) -> Fabric:
    """The same from a text without its messages."""
    return fabric._replace(complete=None)


def lacking(fabric: Fabric) -> Fabric:
    """The same from a sweep that is known to lack something."""
    problem = Problem("discovery-timeout", "a node behind port 3 did not answer", None, "ibnetdiscover")
    return fabric._replace(complete=False, problems=(problem,))


def with_names(tree: Tree, names: dict[int, str]) -> Tree:
    """Nodes under other names, new ones among them."""
    hcas = {guid: names.get(guid, name) for guid, name in tree.hcas.items()}
    hcas |= {guid: name for guid, name in names.items() if guid not in tree.hcas and guid not in tree.switches}
    switches = {guid: names.get(guid, name) for guid, name in tree.switches.items()}
    return tree._replace(hcas=hcas, switches=switches)


def without_node(tree: Tree, guid: int) -> Tree:
    cables = tuple(cable for cable in tree.cables if guid not in (cable.a[0], cable.b[0]))
    return tree._replace(
        hcas={key: name for key, name in tree.hcas.items() if key != guid},
        switches={key: name for key, name in tree.switches.items() if key != guid},
        cables=cables,
    )


def recabled(tree: Tree, index: int, **ends: tuple[int, int]) -> Tree:
    cables = list(tree.cables)
    cables[index] = cables[index]._replace(**ends)
    return tree._replace(cables=tuple(cables))


def kinds(changes: list[Change]) -> list[str]:
    return sorted(change.kind for change in changes)


def end(guid: int, port: int) -> dict[str, object]:
    return {"guid": f"0x{guid:016x}", "port": port}


BEFORE = seen(TREE)


def test_nothing_changed() -> None:
    assert compare_fabrics(BEFORE, seen(TREE)) == ([], [])
    assert compare_fabrics(pasted(BEFORE), lacking(BEFORE)) == ([], [])


def test_a_lost_host_and_its_link() -> None:
    changes, doubts = compare_fabrics(BEFORE, seen(without_node(TREE, C001)))
    assert doubts == []
    assert kinds(changes) == ["link-lost", "node-lost"]
    node, link = changes
    assert (node.where.guid, node.where.name, node.after) == (C001, "c001 mlx5_0", None)
    assert node.before["linked_to"] == [end(LEAF_1, 1)]
    assert node.text == "c001 mlx5_0 (at port 1 of MF0;swib-l001:MQM8700/U1) is not there any more"
    assert (link.before["a"], link.before["b"], link.implied) == (end(C001, 1), end(LEAF_1, 1), True)


def test_a_new_host() -> None:
    changes, doubts = compare_fabrics(seen(without_node(TREE, C001)), BEFORE)
    assert (kinds(changes), doubts) == (["link-new", "node-new"], [])
    assert changes[0].text == "c001 mlx5_0 (at port 1 of MF0;swib-l001:MQM8700/U1) is new"


@pytest.mark.parametrize(
    ("make", "why"), [(pasted, "messages are not at hand"), (lacking, "a node behind port 3 did not answer")]
)
def test_nothing_is_lost_from_a_sweep_that_may_lack_something(make: Callable[[Fabric], Fabric], why: str) -> None:
    smaller = make(seen(without_node(TREE, C001)))
    changes, doubts = compare_fabrics(BEFORE, smaller)
    assert changes == []
    assert [(doubt.kind, doubt.implied) for doubt in doubts] == [("node-not-seen", False), ("link-not-seen", True)]
    assert all(why in doubt.why for doubt in doubts)
    changes, doubts = compare_fabrics(smaller, BEFORE)
    assert changes == []
    assert [doubt.kind for doubt in doubts] == ["node-not-seen-before", "link-not-seen-before"]


def test_a_node_that_did_not_answer_is_not_lost() -> None:
    """Recorded on one net before and while one of its HCAs did not answer: stdout alone, and with what stderr says."""
    folder = TOOLS / "ibnetdiscover"
    before = collect_fabric(Answers({"ibnetdiscover": said((folder / "tree.txt").read_text())}))
    out, err = (folder / "timeout-hca.txt").read_text(), (folder / "timeout-hca.stderr.txt").read_text()
    with_messages = collect_fabric(Answers({"ibnetdiscover": said(out, err)}))
    for after in (with_messages, pasted(with_messages)):
        changes, doubts = compare_fabrics(before, after)
        assert not [change for change in changes if change.kind.endswith(("-lost", "-new"))]
        assert "node-not-seen" in {doubt.kind for doubt in doubts} or before.nodes.keys() == after.nodes.keys()


def test_a_lost_cable_between_switches() -> None:
    index = next(i for i, cable in enumerate(TREE.cables) if cable.a == (LEAF_1, 5))
    (change,), doubts = compare_fabrics(BEFORE, seen(TREE.without([index])))
    assert (change.kind, change.where.guid, change.where.port, change.implied, doubts) == (
        "link-lost", LEAF_1, 5, False, [],
    )  # fmt: skip
    assert change.before == {"a": end(LEAF_1, 5), "b": end(SPINE_1, 1), "width": "4x", "speed": "HDR"}


def test_a_port_that_is_down_proves_a_lost_link() -> None:
    index = next(i for i, cable in enumerate(TREE.cables) if cable.a == (LEAF_1, 5))
    after = lacking(seen(TREE.without([index])))
    leaf = after.nodes[Guid(LEAF_1)]
    ports = tuple(port._replace(state="Down") if port.number == 5 else port for port in leaf.ports)
    after.nodes[Guid(LEAF_1)] = leaf._replace(ports=ports)
    (change,), doubts = compare_fabrics(BEFORE, after)
    assert (change.kind, doubts) == ("link-lost", [])
    assert change.text.endswith("; port 5 of MF0;swib-l001:MQM8700/U1 is down")


def test_a_host_that_was_plugged_in_elsewhere() -> None:
    free = recabled(TREE, TREE.cables.index(Cable((C005, 1), (LEAF_2, 1))), b=(SPINE_1, 8))
    (change,), doubts = compare_fabrics(BEFORE, seen(free))
    assert (change.kind, change.where.guid, change.where.port, doubts) == ("node-moved", C005, 1, [])
    assert (change.before, change.after) == (end(LEAF_2, 1), end(SPINE_1, 8))
    assert change.text == (
        "c005 mlx5_0 (port 1) moved from port 1 of MF0;swib-l002:MQM8700/U1 to port 8 of MF0;swib-s001:MQM8700/U1"
    )
    assert compare_fabrics(lacking(BEFORE), pasted(seen(free)))[0] == [change], "both were seen"


def test_two_cables_that_were_exchanged() -> None:
    first, second = (next(i for i, c in enumerate(TREE.cables) if c.a == (LEAF_1, port)) for port in (5, 7))
    one, other = TREE.cables[first].b, TREE.cables[second].b
    after = seen(recabled(recabled(TREE, first, b=other), second, b=one))
    changes, doubts = compare_fabrics(BEFORE, after)
    assert doubts == []
    assert [(change.kind, change.where.port, change.before, change.after) for change in changes] == [
        ("link-moved", 5, end(*one), end(*other)), ("link-moved", 7, end(*other), end(*one)),
    ]  # fmt: skip


def replaced(tree: Tree, old: int, new: int, name: str) -> Tree:
    names = {guid: each for guid, each in tree.hcas.items() if guid != old} | {new: name}
    cables = tuple(c._replace(a=(new, c.a[1])) if c.a[0] == old else c for c in tree.cables)
    return tree._replace(hcas=names, cables=cables)


def test_an_hca_that_was_replaced() -> None:
    after = seen(replaced(TREE, C001, NEW_HCA, "c001 mlx5_0"))
    (change,), doubts = compare_fabrics(BEFORE, after)
    assert (change.kind, change.where.guid, doubts) == ("node-swapped", NEW_HCA, [])
    assert (change.before["guid"], change.after["guid"]) == (f"0x{C001:016x}", f"0x{NEW_HCA:016x}")
    assert change.text.endswith("at port 1 of MF0;swib-l001:MQM8700/U1")
    assert compare_fabrics(pasted(BEFORE), lacking(after)) == ([change], []), "both were seen at that port"


def test_a_new_hca_with_another_name_at_the_same_port_is_no_swap() -> None:
    after = seen(replaced(TREE, C001, NEW_HCA, "c099 mlx5_0"))
    changes, doubts = compare_fabrics(BEFORE, after)
    assert (kinds(changes), doubts) == (["link-moved", "node-lost", "node-new"], [])
    moved = next(change for change in changes if change.kind == "link-moved")
    assert (moved.before, moved.after, moved.where.guid) == (end(C001, 1), end(NEW_HCA, 1), LEAF_1)
    changes, doubts = compare_fabrics(lacking(BEFORE), lacking(after))
    assert (kinds(changes), sorted(doubt.kind for doubt in doubts)) == (
        ["link-moved"], ["node-not-seen", "node-not-seen-before"],
    )  # fmt: skip


def test_firmwares_own_name_makes_no_swap() -> None:
    name = "MT4123 ConnectX6   Mellanox Technologies"
    before, after = seen(with_names(TREE, {C001: name})), seen(replaced(TREE, C001, NEW_HCA, name))
    assert kinds(compare_fabrics(before, after)[0]) == ["link-moved", "node-lost", "node-new"]


def test_a_replaced_hca_at_a_slower_rate() -> None:
    after = seen(replaced(TREE, C001, NEW_HCA, "c001 mlx5_0").degraded({0: ("1x", "HDR")}))
    assert kinds(compare_fabrics(BEFORE, after)[0]) == ["node-swapped", "rate-changed"]


def test_names_rates_and_port_counts() -> None:
    tree = with_names(TREE.degraded({1: ("4x", "EDR")}), {C001: "c001 mlx5_1", SPINE_2: "MF0;spine-2:MQM8700/U1"})
    split = seen(
        tree, change=lambda text: text.replace(f'Switch\t8 "S-{LEAF_2:016x}"', f'Switch\t16 "S-{LEAF_2:016x}"')
    )
    changes, doubts = compare_fabrics(BEFORE, split)
    assert doubts == []
    found = {(change.kind, change.where.guid): (change.before, change.after) for change in changes}
    assert found == {
        ("node-renamed", C001): ("c001 mlx5_0", "c001 mlx5_1"),
        ("node-renamed", SPINE_2): ("MF0;swib-s002:MQM8700/U1", "MF0;spine-2:MQM8700/U1"),
        ("rate-changed", HCAS[1]): ({"width": "4x", "speed": "HDR"}, {"width": "4x", "speed": "EDR"}),
        ("ports-changed", LEAF_2): (8, 16),
    }


def test_a_name_that_an_old_tool_cut_is_the_same() -> None:
    long = "h" + "x" * 70
    before, after = seen(with_names(TREE, {C001: long[:63]})), seen(with_names(TREE, {C001: long}))
    assert compare_fabrics(before, after) == ([], [])
    shorter = seen(with_names(TREE, {C001: long[:62]}))
    assert kinds(compare_fabrics(shorter, after)[0]) == ["node-renamed"]


def test_lids() -> None:
    def with_lid(lid: int) -> Callable[[str], str]:
        """c001's, in its own row and in its leaf's."""
        return lambda text: text.replace(
            f'[1]({C001 + 1:x}) \t"S-{LEAF_1:016x}"[1]\t\t# lid 0',
            f'[1]({C001 + 1:x}) \t"S-{LEAF_1:016x}"[1]\t\t# lid {lid}',
        ).replace('# "c001 mlx5_0" lid 0', f'# "c001 mlx5_0" lid {lid}')

    before = seen(TREE, change=with_lid(10))
    (change,), doubts = compare_fabrics(before, seen(TREE, change=with_lid(99)))
    assert (change.kind, change.where.guid, change.before, change.after, doubts) == ("lid-changed", C001, 10, 99, [])
    changes, (doubt,) = compare_fabrics(before, BEFORE)
    assert (changes, doubt.kind) == ([], "lids"), "without a LID, or not told"


def test_a_port_that_was_cabled_has_a_lid_now() -> None:
    """That the sweep did not come by it before is no doubt: it had no link."""

    def view(*ports: FabricPort) -> Fabric:
        links = tuple(Link(End(Guid(1), port.number), port.peer, "4x", "HDR") for port in ports if port.peer)
        leaf = Node(Guid(2), SWITCH, "leaf", 4, tuple(FabricPort(n, linked=False) for n in range(1, 5)))
        return Fabric({Guid(1): Node(Guid(1), CHANNEL_ADAPTER, "n1", 2, ports), Guid(2): leaf}, links, True)

    first = FabricPort(1, lid=5, peer=End(Guid(2), 1))
    changes, doubts = compare_fabrics(
        view(first, FabricPort(2)), view(first, FabricPort(2, lid=6, peer=End(Guid(2), 2)))
    )
    assert (kinds(changes), doubts) == (["link-new"], [])


def test_rates_of_which_one_side_knows_nothing() -> None:
    unknown = seen(TREE.degraded({0: ("4x", "???")}))
    assert compare_fabrics(BEFORE, unknown)[0] == []
    assert [doubt.kind for doubt in compare_fabrics(BEFORE, unknown)[1]] == ["rates"]


def test_two_fabrics_are_not_compared() -> None:
    other = two_levels(8, 1)
    shifted = seen(other, change=lambda text: text.replace("0c42a103", "0c42a104").replace("b8599f03", "b8599f04"))
    changes, (doubt,) = compare_fabrics(BEFORE, shifted)
    assert (changes, doubt.kind, doubt.why) == ([], "no-node-in-both", "these may be two fabrics")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ibnetdiscover/tree.txt", "ibnetdiscover/tree-ports.txt"),
        ("ibnetdiscover/tree.txt", "iblinkinfo/ft12.txt"),
        ("ibnetdiscover/tree.txt", "iblinkinfo/ft12-lines.txt"),
        ("ibnetdiscover/tree-ports.txt", "iblinkinfo/ft12.txt"),
        ("ibnetdiscover/two-port-hcas.txt", "ibnetdiscover/two-port-hcas-ports.txt"),
    ],
)
def test_tools_that_name_adapters_by_a_port(one: str, other: str) -> None:
    """The same net by several tools: no node is lost for that."""
    views = []
    for name in (one, other):
        tool = name.split("/")[0]
        views.append(collect_fabric(Answers({tool: said((TOOLS / name).read_text())})))
    for before, after in (views, views[::-1]):
        changes, doubts = compare_fabrics(before, after)
        assert changes == []
        assert {doubt.kind for doubt in doubts} <= {"rates", "lids"}


def test_port_states() -> None:
    def one(state: str, physical: str) -> Fabric:
        ports = (FabricPort(1, state=state, physical_state=physical),)
        return Fabric({Guid(1): Node(Guid(1), SWITCH, "sw", 1, ports)}, (), True)

    (change,), _ = compare_fabrics(one("Down", "Polling"), one("Down", "Disabled"))
    assert (change.kind, change.text) == ("state-changed", "sw port 1 is Down/Disabled, before Down/Polling")
    assert compare_fabrics(one("Down", "Polling"), one("Down", "Polling")) == ([], [])


# Properties

LINKS = st.lists(
    st.tuples(
        st.integers(1, 6), st.integers(1, 4), st.integers(1, 6), st.integers(1, 4), st.sampled_from(["HDR", "EDR"])
    ),
    max_size=10,
)


def fabric_of(rows: list[tuple[int, int, int, int, str]], complete: bool | None) -> Fabric:
    """A fabric with these links, as far as each port has one; nodes 1 to 3 are switches, 4 to 6 adapters."""
    links: dict[End, Link] = {}
    for a, a_port, b, b_port, speed in rows:
        one, other = sorted((End(Guid(a), a_port), End(Guid(b), b_port)))
        if one != other and one not in links and other not in links:
            links[one] = links[other] = Link(one, other, "4x", speed)
    nodes = {}
    for guid in sorted({end.guid for end in links}):
        ports = tuple(
            FabricPort(number, peer=link.b if link.a == at else link.a, linked=True) if link else FabricPort(number)
            for number in range(1, 5)
            for at in (End(guid, number),)
            for link in (links.get(at),)
        )
        nodes[guid] = Node(guid, SWITCH if guid < 4 else CHANNEL_ADAPTER, f"n{int(guid)} mlx5_0", 4, ports)
    return Fabric(nodes, tuple(sorted(set(links.values()), key=lambda link: link[:2])), complete)


COMPLETE = st.sampled_from([True, False, None])


@given(LINKS, COMPLETE)
def test_a_fabric_is_the_same_as_itself(rows: list[tuple[int, int, int, int, str]], complete: bool | None) -> None:
    assert compare_fabrics(fabric_of(rows, complete), fabric_of(rows, complete)) == ([], [])


def mirrored(kind: str) -> str:
    """The kind of the same difference seen from the other side: lost is new, added is removed."""
    for one, other in (("-lost", "-new"), ("-added", "-removed"), ("-not-seen", "-not-seen-before")):
        if kind.endswith(one):
            return kind.removesuffix(one) + other
        if kind.endswith(other):
            return kind.removesuffix(other) + one
    return kind


@given(LINKS, LINKS, COMPLETE, COMPLETE)
def test_the_other_way_round_is_the_mirror_image(
    old: list[tuple[int, int, int, int, str]],
    new: list[tuple[int, int, int, int, str]],
    was: bool | None,
    now: bool | None,
) -> None:
    before, after = fabric_of(old, was), fabric_of(new, now)
    there, back = compare_fabrics(before, after), compare_fabrics(after, before)
    for one, other in zip(there, back, strict=True):
        assert Counter(mirrored(each.kind) for each in one) == Counter(each.kind for each in other)


@given(LINKS, LINKS, COMPLETE)
def test_silence_proves_nothing(
    old: list[tuple[int, int, int, int, str]], new: list[tuple[int, int, int, int, str]], was: bool | None
) -> None:
    changes, _ = compare_fabrics(fabric_of(old, was), fabric_of(new, False))
    assert not [change for change in changes if change.kind == "node-lost"]


def test_doubts_are_told_in_words() -> None:
    _, doubts = compare_fabrics(BEFORE, lacking(seen(without_node(TREE, C001))))
    assert doubts[0] == Doubt(
        "node-not-seen", doubts[0].where, "c001 mlx5_0 (at port 1 of MF0;swib-l001:MQM8700/U1) was not seen again",
        "the sweep is not whole: a node behind port 3 did not answer",
    )  # fmt: skip
