"""The grades of whole fabrics: recorded ones with a truth of their own, and small ones made by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.answers import Answers, said

from ibkit.collectors.fabric import collect_fabric
from ibkit.model.asics import asic_of, has_split_ports
from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, End, Fabric, FabricPort, Link, Node
from ibkit.model.graded_links import grade_links
from ibkit.model.ids import Guid
from ibkit.model.link_grade import LinkGrade
from ibkit.sources.opening import open_site

ROOT = Path(__file__).parents[2]
QUANTUM, QUANTUM_2, CONNECTX_6, CONNECTX_7 = 0xD2F0, 0xD2F2, 0x101B, 0x1021
LEAF, SPINE = Guid(0xB000), Guid(0xB100)


def switch(guid: Guid, ports: int = 41, device: int | None = None) -> Node:
    listed = tuple(FabricPort(number) for number in range(1, ports + 1))
    return Node(guid, SWITCH, "a switch", ports, listed, vendor_id=0x2C9, device_id=device)


def hca(guid: Guid, device: int | None = None, ports: tuple[FabricPort, ...] = (FabricPort(1),), **more: Guid) -> Node:
    return Node(guid, CHANNEL_ADAPTER, "a host", len(ports), ports, vendor_id=0x2C9, device_id=device, **more)


def graded(nodes: list[Node], *links: tuple[End, End, str]) -> list[LinkGrade]:
    made = tuple(Link(a, b, *rate.split()) for a, b, rate in links)
    return list(grade_links(Fabric({node.guid: node for node in nodes}, made, True)).values())


def star(rates: list[str], *, ports: int = 41, device: int | None = None, odd_device: int | None = None) -> LinkGrade:
    """The grade of the last of the HCAs of one switch; the switch's own chip is not known."""
    hcas = [Guid(0xA000 + number) for number in range(len(rates))]
    nodes = [switch(LEAF, ports, QUANTUM_2 if ports > 41 else None), *(hca(guid, device) for guid in hcas[:-1])]
    links = [
        (End(guid, 1), End(LEAF, number), rate) for number, (guid, rate) in enumerate(zip(hcas, rates, strict=True), 1)
    ]
    return graded([*nodes, hca(hcas[-1], odd_device or device)], *links)[-1]


def test_the_three_faults_of_the_fat_tree_and_no_others() -> None:
    """By the truth in the capture's README: 1x to c004, EDR to c051, QDR from leaf 1 to spine 7."""
    fabric = collect_fabric(open_site(str(ROOT / "fixtures/fat-tree")).subnet)
    grades = grade_links(fabric)
    odd = {
        (fabric.nodes[link.a.guid].name, link.a.port): grade[:2]
        for link, grade in grades.items()
        if grade.verdict != "ok"
    }
    assert odd == {
        ("c004 mlx5_0", 1): ("slow", "one-lane"),
        ("c051 mlx5_0", 1): ("slow", "below-supported"),
        ("MF0;swib-l001:MQM8700/U1", 31): ("suspected", "both-ends-faster"),
    }
    assert len(grades) == 214


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("router.txt", {("unknown", "one-plane"): 2}),
        ("aggregation-nodes.txt", {("ok", "chip-limit"): 5}),
        ("topology.txt", {("unknown", "no-abilities"): 4}),
        ("names.txt", {("ok", "chip-limit"): 6}),
        # Of 12 HCAs 9 run 4x HDR, two 1x HDR and one 4x EDR
        ("tree.txt", {("ok", "chip-limit"): 26, ("slow", "one-lane"): 2, ("suspected", "hcas-faster"): 1}),
    ],
)
def test_recorded_topologies(name: str, verdicts: dict[tuple[str, str], int]) -> None:
    text = (ROOT / "fixtures/tools/ibnetdiscover" / name).read_bytes().decode()
    grades = grade_links(collect_fabric(Answers({"ibnetdiscover": said(text)})))
    assert Counter(grade[:2] for grade in grades.values()) == verdicts


def test_a_chips_limit_settles_that_a_link_is_at_its_best() -> None:
    ends = End(LEAF, 1), End(SPINE, 1)
    assert graded([switch(LEAF, device=QUANTUM), switch(SPINE, device=QUANTUM_2)], (*ends, "4x HDR"))[0][:2] == (
        "ok", "chip-limit",
    )  # fmt: skip
    for rate in ("4x EDR", "2x HDR", "4x ???"):
        grade = graded([switch(LEAF, device=QUANTUM), switch(SPINE, device=QUANTUM)], (*ends, rate))[0]
        assert grade.verdict == "unknown", "a limit from above proves no fault"
    assert graded([switch(LEAF, device=QUANTUM_2), switch(SPINE, device=QUANTUM_2)], (*ends, "4x HDR"))[0].verdict == (
        "unknown"
    ), "a Quantum-2 port may run HDR by its cable"
    others = [switch(guid, device=QUANTUM)._replace(vendor_id=0x8F1) for guid in (LEAF, SPINE)]
    assert graded(others, (*ends, "4x HDR"))[0].verdict == "unknown", "another vendor's number"


@pytest.mark.parametrize(
    ("rates", "cause"),
    [
        (["4x HDR"] * 9 + ["4x EDR"], "hcas-faster"),
        (["4x HDR"] * 9 + ["2x HDR"], "hcas-faster"),
        (["4x HDR"] * 6 + ["4x EDR"], "no-abilities"),  # too few
        (["4x HDR"] * 7 + ["4x EDR"] * 3, "no-abilities"),  # too mixed
        (["1x HDR"] * 3 + ["4x HDR"] * 9 + ["4x EDR"], "hcas-faster"),  # faults are no measure
        (["2x HDR"] * 9 + ["4x EDR"], "no-abilities"),  # both are 100 Gb/s
        (["4x EDR"] * 9 + ["4x HDR"], "no-abilities"),  # the odd one is the fast one
    ],
)
def test_an_hca_among_the_others_of_its_switch(rates: list[str], cause: str) -> None:
    assert star(rates).cause == cause


def test_hcas_of_one_part_should_be_alike() -> None:
    for rates, cause in (
        (["4x HDR"] * 2 + ["4x EDR"], "hcas-faster"),
        (["4x HDR", "4x EDR"], "no-abilities"),  # which of the two is odd?
        (["4x HDR"] * 2 + ["4x EDR"] * 2, "no-abilities"),
    ):
        assert star(rates, device=CONNECTX_6).cause == cause


def test_another_kind_of_card_is_not_compared() -> None:
    rates = ["4x NDR"] * 11 + ["4x HDR"]
    assert star(rates, device=CONNECTX_7).cause == "hcas-faster"
    assert star(rates, device=CONNECTX_7, odd_device=CONNECTX_6)[:2] == ("ok", "chip-limit")


def test_two_lanes_are_normal_at_split_ports() -> None:
    rates = ["4x NDR"] * 11 + ["2x NDR"]
    assert star(rates, ports=65).cause == "hcas-faster"
    assert star(rates, ports=129).cause == "no-abilities"


def test_slower_than_other_links_of_both_ends_is_a_suspicion() -> None:
    third = Guid(0xB200)
    nodes = [switch(LEAF), switch(SPINE), switch(third)]
    slow, faster = (End(LEAF, 1), End(SPINE, 1), "4x QDR"), (End(LEAF, 2), End(SPINE, 2), "4x FDR")
    assert [grade[:2] for grade in graded(nodes, slow, faster)] == [
        ("suspected", "both-ends-faster"), ("unknown", "no-abilities"),
    ]  # fmt: skip
    one_end = End(LEAF, 2), End(third, 2), "4x FDR"
    assert graded(nodes, slow, one_end)[0].cause == "no-abilities", "the other end has shown nothing better"
    inside = End(LEAF, 2), End(SPINE, 2), "12x QDR"
    assert graded(nodes, slow, inside)[0].cause == "no-abilities", "more lanes than a cage has are no measure"


def test_ports_that_support_less_than_others_of_their_chips() -> None:
    to_qdr = {"enabled_width": "1x or 4x", "supported_width": "1x or 4x", "enabled_speed": "SDR or DDR or QDR",
              "supported_speed": "SDR or DDR or QDR"}  # fmt: skip
    ports = (FabricPort(1)._replace(**to_qdr), FabricPort(2), FabricPort(3))
    nodes = [switch(guid)._replace(ports=ports) for guid in (LEAF, SPINE)]
    slow, other = (End(LEAF, 1), End(SPINE, 1), "4x QDR"), (End(LEAF, 2), End(SPINE, 2), "4x FDR")
    assert graded(nodes, slow, other)[0][:2] == ("suspected", "both-ends-faster")
    assert graded(nodes, slow)[0][:2] == ("ok", None)
    hosts = [hca(Guid(0xA000)), hca(Guid(0xA001))]
    elsewhere = [(End(host.guid, 1), End(guid, 2), "4x FDR") for host, guid in zip(hosts, (LEAF, SPINE), strict=True)]
    assert graded([*nodes, *hosts], slow, elsewhere[0])[0].verdict == "ok", "the other end has shown nothing better"
    assert graded([*nodes, *hosts], slow, *elsewhere)[0].verdict == "suspected"


def test_the_hint_of_a_tool_is_a_suspicion() -> None:
    ends = End(LEAF, 1), End(SPINE, 1)
    nodes = {guid: switch(guid) for guid in (LEAF, SPINE)}
    for hint, cause in (("FDR", "tools-hint"), ("QDR", "no-abilities"), ("undefined (9)", "no-abilities")):
        link = Link(*ends, "4x", "QDR", could_be=hint)
        (grade,) = grade_links(Fabric(nodes, (link,), True)).values()
        assert grade.cause == cause
    text = (ROOT / "fixtures/tools/iblinkinfo/table.txt").read_text()
    grades = grade_links(collect_fabric(Answers({"iblinkinfo": said(text)})))
    assert {grade.text for grade in grades.values()} == {"the tool says that it could be QDR"}, "4x SDR, all of them"


def planes(*rates: str, numbers: tuple[int | None, ...] = (1, 2, 3, 4)) -> list[LinkGrade]:
    """An XDR adapter with four planes, each to a switch of its own plane."""
    card = hca(Guid(0xA000), 0x1023, tuple(FabricPort(port, plane=plane) for port, plane in enumerate(numbers, 1)))
    switches = [switch(Guid(0xB000 + 256 * number), 150, 0xD2F4) for number in range(4)]
    links = [
        (End(card.guid, port), End(node.guid, 7), rate)
        for port, (node, rate) in enumerate(zip(switches, rates, strict=True), 1)
    ]
    return graded([card, *switches], *links)


def test_planes_of_one_link() -> None:
    assert {grade[:2] for grade in planes(*["1x XDR"] * 4)} == {("unknown", "no-abilities")}
    one_slow = [grade[:2] for grade in planes("1x XDR", "1x XDR", "1x NDR", "1x XDR")]
    assert one_slow[2] == ("slow", "planes-differ")
    assert {*one_slow[:2], one_slow[3]} == {("unknown", "no-abilities")}
    unnumbered = planes("1x XDR", "1x XDR", "1x NDR", "1x XDR", numbers=(None,) * 4)
    assert [grade.cause for grade in unnumbered] == ["no-abilities", "no-abilities", "one-lane", "no-abilities"]


def test_one_plane_alone() -> None:
    card, leaf = hca(Guid(0xA000), 0x1023), switch(LEAF, 150, 0xD2F4)
    assert graded([card, leaf], (End(card.guid, 1), End(LEAF, 7), "1x XDR"))[0][:2] == ("unknown", "one-plane")
    numbered = hca(Guid(0xA000), 0x1023, (FabricPort(1, plane=3),))
    assert graded([numbered, leaf], (End(card.guid, 1), End(LEAF, 7), "1x XDR"))[0].cause == "no-abilities"


def test_chips_and_splits() -> None:
    assert asic_of(None) is None
    assert asic_of(switch(LEAF)) is None
    assert asic_of(switch(LEAF, device=0xFFFF)) is None
    quantum = asic_of(switch(LEAF, device=QUANTUM))
    assert quantum is not None
    assert (quantum.name, quantum.fastest) == ("Quantum", "HDR")
    splits = [(41, QUANTUM), (81, QUANTUM), (65, QUANTUM_2), (129, QUANTUM_2), (37, 0xCB20), (41, None)]
    assert [has_split_ports(switch(LEAF, *each)) for each in splits] == [False, True, False, True, None, None]
    assert has_split_ports(hca(Guid(1), CONNECTX_6)) is None
