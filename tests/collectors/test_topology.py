"""The fabric from a text: each node and link once, whatever the text has suffered. Truths: the fixtures' README."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fattree import two_levels

from ibkit.collectors.topology import assemble
from ibkit.model.fabric import AGGREGATION_NODE, CHANNEL_ADAPTER, ROUTER, SWITCH, UNKNOWN_TYPE, End, Fabric, Link
from ibkit.model.ids import Guid
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibnetdiscover import parse

FIXTURES = Path(__file__).parents[2] / "fixtures/tools/ibnetdiscover"
LEAF, SPINE1, SPINE2 = (Guid(0xB8599F0300000000 + 0x100 * i) for i in range(3))


@cache
def text_of(name: str) -> str:
    return (FIXTURES / name).read_bytes().decode()


def fabric_of(text: str, *, swept_clean: bool | None = True) -> Fabric:
    return assemble(parse(text, source="x"), source="x", swept_clean=swept_clean)


def sample(name: str, *, swept_clean: bool | None = True) -> Fabric:
    return fabric_of(text_of(name), swept_clean=swept_clean)


def kinds(fabric: Fabric) -> list[str]:
    return [problem.kind for problem in fabric.problems]


def hca(number: int) -> Guid:
    return Guid(0x0C42A10300000000 + 0x10 * (number - 1))


def counts(fabric: Fabric) -> tuple[int, ...]:
    return (*map(fabric.number_of, (SWITCH, CHANNEL_ADAPTER, ROUTER, AGGREGATION_NODE)), len(fabric.links))


def ends(fabric: Fabric) -> list[tuple[int, int, int, int]]:
    return [(link.a.guid, link.a.port, link.b.guid, link.b.port) for link in fabric.links]


def lids(fabric: Fabric, guid: int) -> list[int | None]:
    node = fabric.nodes[Guid(guid)]
    return [node.lid] if node.type == SWITCH else [port.lid for port in node.ports]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("topology.txt", (2, 2, 0, 0, 4)),
        ("ports-report.txt", (2, 2, 0, 0, 4)),
        ("chassis.txt", (2, 2, 0, 0, 4)),
        ("two-port-hcas.txt", (2, 2, 0, 0, 6)),
        ("two-port-hcas-ports.txt", (2, 2, 0, 0, 6)),
        ("tree.txt", (3, 12, 0, 0, 29)),
        ("tree-ports.txt", (3, 12, 0, 0, 29)),
        ("tree-option-g.txt", (3, 12, 0, 0, 29)),
        ("tree-no-sm.txt", (3, 12, 0, 0, 29)),
        ("timeout-hca.txt", (3, 11, 0, 0, 28)),
        ("terminal-log.txt", (1, 2, 0, 0, 2)),
        ("aggregation-nodes.txt", (2, 2, 0, 2, 5)),
        ("no-neighbour.txt", (0, 1, 0, 0, 0)),
        ("short-rows.txt", (1, 3, 0, 0, 3)),
        ("ports-odd.txt", (1, 2, 1, 1, 3)),
        ("router.txt", (1, 1, 1, 0, 2)),
        ("chassis-slots.txt", (2, 1, 0, 0, 2)),
        ("names.txt", (1, 6, 0, 0, 6)),
        ("cables.txt", (1, 1, 0, 0, 4)),
        ("back-to-back.txt", (0, 2, 0, 0, 1)),
    ],
)
def test_counts_and_completeness(name: str, expected: tuple[int, ...]) -> None:
    fabric = sample(name)
    assert counts(fabric) == expected
    assert fabric.complete is True
    assert sample(name, swept_clean=None).complete is None
    assert sample(name, swept_clean=False).complete is False


def test_the_tree_as_its_netlist_says() -> None:
    fabric = sample("tree.txt")
    rates = {(link.a, link.b): f"{link.width} {link.speed}" for link in fabric.links}
    slow = {
        (End(hca(2), 1), End(LEAF, 2)): "1x HDR",
        (End(hca(9), 1), End(LEAF, 9)): "1x HDR",
        (End(hca(11), 1), End(LEAF, 11)): "4x EDR",
    }
    assert {link: rate for link, rate in rates.items() if rate != "4x HDR"} == slow
    assert (LEAF, 23, SPINE1, 5) not in ends(fabric)
    assert all(link.seen_from == 2 for link in fabric.links)
    assert [lids(fabric, guid) for guid in (LEAF, SPINE1, SPINE2, hca(1), hca(12))] == [[2], [3], [4], [1], [15]]
    leaf = fabric.nodes[LEAF]
    assert (leaf.name, leaf.port_count, leaf.vendor_id, leaf.device_id) == (
        "MF0;swib-l001:MQM8700/U1",
        36,
        0x2C9,
        0xD2F0,
    )
    assert [port.number for port in leaf.ports] == list(range(1, 37))
    assert {port.number for port in leaf.ports if not port.linked} == {*range(13, 19), 23}
    assert leaf.ports[0].peer == End(hca(1), 1)
    assert list(fabric.nodes) == sorted(fabric.nodes)
    assert list(fabric.links) == sorted(fabric.links)


def test_both_forms_show_the_same() -> None:
    """A ports report has port GUIDs: in this simulator the node's plus one."""
    topology, report = sample("tree.txt"), sample("tree-ports.txt")
    node_of = {hca(i) + 1: hca(i) for i in range(1, 13)}
    seen = [
        tuple(sorted(End(node_of.get(end.guid, end.guid), end.port) for end in link[:2])) + link[2:4]
        for link in report.links
    ]
    assert sorted(seen) == [tuple(link[:4]) for link in topology.links]
    assert kinds(report) == ["port-guids"]
    assert report.nodes[LEAF].ports[12].linked is False
    assert report.nodes[LEAF].ports[12].width is None, "the rate of a port without a neighbour means nothing"


def test_two_ports_of_one_adapter_in_a_ports_report() -> None:
    fabric = sample("two-port-hcas-ports.txt")
    adapter = fabric.nodes[Guid(0x100004)]
    assert [(port.number, port.guid, port.lid) for port in adapter.ports] == [(1, 0x100004, 5), (2, 0x100005, 6)]


def test_no_sm_means_no_lids() -> None:
    fabric = sample("tree-no-sm.txt")
    assert {lid for guid in fabric.nodes for lid in lids(fabric, guid)} == {None}


def test_a_lid_that_is_not_assigned() -> None:
    fabric = sample("terminal-log.txt")
    assert lids(fabric, 0x0C42A10300AA0001) == [None]
    assert lids(fabric, 0x1C34DA0300AA0002) == [4049]
    assert lids(fabric, 0x0C42A10300BB0001) == [3894]


def test_aggregation_nodes_by_two_of_three_signs() -> None:
    nodes = sample("aggregation-nodes.txt").nodes
    assert nodes[Guid(0x2C5EAB0300000048)].type == AGGREGATION_NODE
    assert nodes[Guid(0x2C5EAB0300000088)].type == AGGREGATION_NODE, "renamed"
    assert nodes[Guid(0xE09D730300000002)].type == CHANNEL_ADAPTER, "a host with a borrowed name"


def test_rates_that_are_not_known() -> None:
    rates = [(link.width, link.speed) for link in sample("short-rows.txt").links]
    assert rates == [(None, None), ("4x", "QDR"), ("1x", "???")]
    assert [(link.width, link.speed) for link in sample("cables.txt").links][1] == ("16x", "FOO")


def test_cables_within_a_switch() -> None:
    assert ends(sample("cables.txt"))[2:] == [(0x100, 1, 0x100, 2), (0x100, 3, 0x100, 3)]
    assert all(link.seen_from == 2 for link in sample("cables.txt").links[:3])


def test_labels_and_lmc() -> None:
    fabric = sample("chassis-slots.txt")
    assert fabric.nodes[Guid(0x8F10400000002)].ports[0].label == "ext 12"
    assert fabric.nodes[Guid(0x8F10300000010)].lmc == 2


def test_names() -> None:
    names = [node.name for node in sample("names.txt").nodes.values()]
    assert names[0] == "  blanks kept  "
    assert names[5] is None, "an empty name is one that was not told"


def test_an_adapters_other_port_is_not_known() -> None:
    ports = sample("topology.txt").nodes[Guid(0x100003)].ports
    assert [(port.number, port.linked) for port in ports] == [(1, None), (2, True)]


def test_a_switch_port_without_a_row_is_known_by_a_clean_sweep_only() -> None:
    def linked(swept_clean: bool | None) -> bool | None:
        return sample("topology.txt", swept_clean=swept_clean).nodes[Guid(0x200001)].ports[0].linked

    assert [linked(True), linked(None), linked(False)] == [False, None, None]


def test_one_neighbour_for_two_switches() -> None:
    fabric = sample("duplicate-guid.txt")
    assert ends(fabric) == [(1, 1, 0x100, 5), (1, 1, 0x200, 7), (0x100, 1, 0x200, 1)]
    assert [link.seen_from for link in fabric.links] == [1, 2, 2]
    (problem,) = fabric.problems
    assert (problem.kind, problem.line) == ("duplicate-guid", 7)
    assert all(end in problem.text for end in ("0x0000000000000100[5]", "0x0000000000000200[7]"))
    assert fabric.complete is False


def test_two_blocks_of_one_guid() -> None:
    text = text_of("back-to-back.txt")
    block = text[: text.index("\n\n") + 2]
    same = fabric_of(text + "\n" + block)
    assert (counts(same), kinds(same), same.complete) == ((0, 2, 0, 0, 1), ["duplicate-guid"], True)
    other = fabric_of(text + "\n" + block.replace("0x1013", "0x1017").replace("Ca\t1", "Ca\t2"))
    node = other.nodes[Guid(1)]
    assert (node.port_count, node.device_id, node.vendor_id) == (None, None, 0x2C9)
    assert Counter(kinds(other)) == {"duplicate-guid": 1, "contradiction": 2}
    assert other.complete is False
    assert kinds(fabric_of(text_of("topology.txt") * 2)) == ["several-sweeps"]


@pytest.mark.parametrize(
    ("old", "new", "rate"),
    [
        ('"Switch1" lid 2 4xSDR\n[4]', '"Switch1" lid 2 1xSDR\n[4]', (None, "SDR")),
        ('"Switch1" lid 2 4xSDR\n[4]', '"Switch1" lid 2 4xDDR\n[4]', ("4x", None)),
        ('"Switch1" lid 2 4xSDR\n[4]', '"Switch1" lid 2 ??SDR\n[4]', ("4x", "SDR")),
        ('"Switch1" lid 2 4xSDR\n[4]', '"Switch1" lid 2\n[4]', ("4x", "SDR")),
    ],
)
def test_ends_that_differ_are_not_believed(old: str, new: str, rate: tuple[str | None, str | None]) -> None:
    fabric = fabric_of(text_of("topology.txt").replace(old, new))
    link = next(link for link in fabric.links if link.a == End(Guid(0x200000), 3))
    assert (link.width, link.speed) == rate
    assert kinds(fabric) == ["contradiction"] * rate.count(None)


def test_lids_that_differ_are_not_believed() -> None:
    fabric = fabric_of(text_of("topology.txt").replace('"Hca2" lid 4', '"Hca2" lid 5'))
    assert lids(fabric, 0x100003) == [None, None]
    assert kinds(fabric) == ["contradiction"]
    fabric = fabric_of(
        text_of("topology.txt").replace('# lid 1 lmc 0 "Switch1" lid 2', '# lid 1 lmc 0 "Switch1" lid 9')
    )
    assert lids(fabric, 0x200000) == [2], "one neighbour of four, and the switch itself"
    assert kinds(fabric) == ["contradiction"]


def test_port_guids_that_differ_are_not_believed() -> None:
    fabric = fabric_of(text_of("topology.txt").replace("\n[2](100005)", "\n[2](100006)"))
    assert fabric.nodes[Guid(0x100003)].ports[1].guid is None
    assert kinds(fabric) == ["contradiction"]


def test_lids_that_no_port_can_have() -> None:
    for lid in ("49152", "65534", "99999"):
        fabric = fabric_of(text_of("back-to-back.txt").replace("lid 2 ", f"lid {lid} "))
        assert (lids(fabric, 2), kinds(fabric)) == ([None], ["bad-lid"])


@pytest.mark.parametrize(
    ("old", "new", "problems", "complete"),
    [
        ("Switch\t8", "Switch\t300", ["bad-port"], True),
        ("Switch\t8", "Switch\t0", ["bad-port"], True),
        ("Switch\t8", "Switch\t2", ["bad-port"] * 2, True),
        ("[4]", "[255]", ["bad-port"] * 4, False),
        ("[4]", "[0]", ["bad-port"] * 4, False),
    ],
)
def test_ports_that_cannot_be(old: str, new: str, problems: list[str], complete: bool) -> None:
    fabric = fabric_of(text_of("topology.txt").replace(old, new))
    assert set(kinds(fabric)) >= set(problems)
    assert fabric.complete is complete
    assert all(0 < port.number <= 254 for node in fabric.nodes.values() for port in node.ports)


def test_a_neighbour_without_a_block_is_a_node() -> None:
    text = text_of("tree.txt")
    cut = text[: text.index("sysimgguid=0xc42a103000000b0") - len("vendid=0x2c9\ndevid=0x101b\n")]
    fabric = fabric_of(cut)
    assert counts(fabric) == (3, 12, 0, 0, 29)
    assert fabric.complete is False
    node = fabric.nodes[hca(12)]
    assert (node.name, node.port_count, node.device_id) == ("c001-006 mlx5_1", None, None)
    assert lids(fabric, hca(12)) == [15]
    assert "no-block" in kinds(fabric)


def test_a_node_of_no_known_type() -> None:
    row = '[1]\t"?-0000000000000002"[1](3) \t\t# "x" lid 3 4xHDR\n'
    fabric = fabric_of('Switch\t8 "S-0000000000000001"\t\t# "sw" base port 0 lid 5 lmc 0\n' + row)
    assert [node.type for node in fabric.nodes.values()] == [SWITCH, UNKNOWN_TYPE]


def test_a_header_alone_is_cut() -> None:
    fabric = fabric_of("#\n# Topology file: generated on Mon Mar  2 10:00:00 2026\n#\n")
    assert (fabric.nodes, fabric.complete, kinds(fabric)) == ({}, False, ["no-block"])


def test_a_port_without_a_neighbour_is_told() -> None:
    fabric = sample("no-neighbour.txt")
    assert [(problem.kind, problem.line) for problem in fabric.problems] == [("no-neighbour", 10)]


def test_a_fat_tree_with_faults() -> None:
    """Radix 36 with 6 leaves: 108 HCAs, 6 + 9 switches, 2 * 108 cables."""
    tree = two_levels(36, 6).degraded({0: ("1x", "HDR"), 107: ("4x", "EDR"), 120: ("4x", "QDR")}).without([110, 215])
    fabric = fabric_of(tree.netlist())
    assert counts(fabric) == (15, 108, 0, 0, 214)
    assert {(*link[:2], link.width, link.speed) for link in fabric.links} == {
        (End(Guid(a[0]), a[1]), End(Guid(b[0]), b[1]), width, speed) for a, b, width, speed in tree.links()
    }
    assert (kinds(fabric), fabric.complete) == (["no-lid"], True), "it is as a simulator without a manager has it"


# What is cut or torn must never show a wrong thing as right.


@pytest.mark.parametrize(("first", "last"), [(17, 27), (14, 22), (28, 45)])
def test_rows_whose_heading_is_lost_make_no_links(first: int, last: int) -> None:
    """The end of one block, the heading of the next and its first rows are gone; the numbers may still rise."""
    lines = text_of("tree.txt").splitlines(keepends=True)
    truth = sample("tree.txt")
    fabric = fabric_of("".join(lines[:first] + lines[last:]))
    assert {link[:2] for link in fabric.links} <= {link[:2] for link in truth.links}
    assert fabric.complete is False


@pytest.mark.parametrize("name", ["tree.txt", "two-port-hcas.txt"])
def test_no_lost_heading_makes_a_link_twice(name: str) -> None:
    """Each heading in turn, with what stands around it: every port has one neighbour, the true one."""
    lines = text_of(name).splitlines(keepends=True)
    truth = {link[:2] for link in sample(name).links}
    for at in [index for index, line in enumerate(lines) if line.startswith(("Switch", "Ca"))]:
        for before, behind in ((0, 1), (6, 1), (8, 2)):
            fabric = fabric_of("".join(lines[: max(0, at - before)] + lines[at + behind :]))
            assert {link[:2] for link in fabric.links} <= truth, (at, before, behind)
            assert fabric.complete is False


def lies(part: Fabric, truth: Fabric) -> list[object]:
    """What ``part`` states and ``truth`` does not, and whether ``part`` hides that something is missing."""
    true_links = {link[:2]: link for link in truth.links}
    found: list[object] = []
    for link in part.links:
        true = true_links.get(link[:2])
        if true is None or link.width not in (None, true.width) or link.speed not in (None, true.speed):
            found.append(link)
    for guid, node in part.nodes.items():
        if guid not in truth.nodes:
            found.append(node)
            continue
        true_node = truth.nodes[guid]
        for field in ("type", "name", "port_count", "lid", "lmc", "system_image_guid", "vendor_id", "device_id"):
            if getattr(node, field) not in (None, getattr(true_node, field)):
                found.append((guid, field, getattr(node, field)))
        true_ports = {port.number: port for port in true_node.ports}
        for port in node.ports:
            true_port = true_ports.get(port.number)
            if true_port is None or any(a not in (None, b) for a, b in zip(port, true_port, strict=True)):
                found.append((guid, port))
    if part.complete is not False and counts(part) != counts(truth):
        found.append("something is missing, and complete does not say so")
    return found


@pytest.mark.parametrize("name", ["topology.txt", "ports-report.txt"])
def test_no_cut_is_believed(name: str) -> None:
    """The text of the ports report ends with the node that the sweep started from."""
    text, truth = text_of(name), sample(name)
    for length in range(len(text)):
        try:
            part = fabric_of(text[:length])
        except NotThisFormat:
            continue
        assert lies(part, truth) == [], text[:length][-60:]


@pytest.mark.parametrize("name", ["topology.txt", "ports-report.txt", "tree.txt"])
def test_a_line_that_is_lost_costs_no_more_than_itself(name: str) -> None:
    lines, truth = text_of(name).splitlines(keepends=True), sample(name)
    for index, line in enumerate(lines):
        part = fabric_of("".join(lines[:index] + lines[index + 1 :]))
        assert lies(part, truth) == [], line
        assert len(part.nodes) == len(truth.nodes)
        assert len(part.links) == len(truth.links)


@given(st.data())
def test_a_changed_character_is_seen_or_harmless(data: st.DataObject) -> None:
    """A wrong link, node or LID leaves ``complete`` False or a contradiction."""
    text, truth = text_of("topology.txt"), sample("topology.txt")
    at = data.draw(st.integers(0, len(text) - 1))
    character = data.draw(st.sampled_from('079af "\n#[]xl?'))
    part = fabric_of(text[:at] + character + text[at + 1 :])
    wrong = [lie for lie in lies(part, truth) if not isinstance(lie, tuple) or isinstance(lie, Link) or "lid" in lie]
    assert not wrong or part.complete is False or "contradiction" in kinds(part), wrong


@given(st.data())
def test_a_hole_in_the_text_is_seen(data: st.DataObject) -> None:
    text, truth = text_of("tree.txt"), sample("tree.txt")
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(1, 400))
    try:
        part = fabric_of(text[:start] + text[start + length :])
    except NotThisFormat:
        return
    if counts(part) != counts(truth):
        assert part.complete is False


def test_two_fabrics_in_one_text_are_told() -> None:
    folder = Path(__file__).parents[2] / "fixtures/tools/ibnetdiscover"
    texts = [(folder / name).read_text() for name in ("tree.txt", "topology.txt")]
    for text, kinds in (("".join(texts), {"several-sweeps", "several-fabrics"}), (texts[0] * 2, {"several-sweeps"})):
        found = assemble(parse(text), source="", swept_clean=None)
        assert {problem.kind for problem in found.problems} == kinds
