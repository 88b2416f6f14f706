"""What the screens show of a fabric: remarks, tables, a node's page. The truth is in support.tui_scenes."""

from __future__ import annotations

import pytest
from support.tui_scenes import (
    HCAS,
    LEAVES,
    NARROW,
    SLOW,
    SPINES,
    fabric_of,
    problem,
    small_fabric,
    small_links,
    small_names,
)

from ibkit.model.fabric import AGGREGATION_NODE, End, Link, Node
from ibkit.model.ids import Guid
from ibkit.model.rates import rate_gbps, width_speed
from ibkit.parsers.base import Problem
from ibkit.tui.view.level import CRITICAL, OK, UNKNOWN, WARNING
from ibkit.tui.view.lines import plain
from ibkit.tui.view.node_page import node_head, port_table
from ibkit.tui.view.remarks import Remarks
from ibkit.tui.view.subnet import SubnetView


def star(speeds: list[str], widths: list[str] | None = None) -> Remarks:
    """A switch with one HCA on each port."""
    widths = widths or ["4x"] * len(speeds)
    hcas = [Guid(0x1000 + 16 * i) for i in range(len(speeds))]
    pairs = enumerate(zip(hcas, widths, speeds, strict=True))
    links = [Link(End(hca, 1), End(LEAVES[0], i + 1), width, speed) for i, (hca, width, speed) in pairs]
    return Remarks(fabric_of(links, dict.fromkeys((*hcas, LEAVES[0]))))


def kinds(remarks: Remarks) -> list[str]:
    return [remark.kind for remark in remarks.of_link.values()]


def test_the_faults_of_the_small_fabric_and_no_others() -> None:
    remarks = Remarks(small_fabric())
    assert {link: (r.level, r.kind) for link, r in remarks.of_link.items()} == {
        NARROW: (WARNING, "narrow"),
        SLOW: (WARNING, "slow"),
    }
    assert set(remarks.of_node) == {*SPINES, *LEAVES}, "both ends of both links"


def test_slow_needs_both_ends_to_have_shown_more() -> None:
    """An old island: its links are slow because its switch is."""
    names: dict[Guid, str | None] = dict.fromkeys((*SPINES, *LEAVES))
    old = [
        Link(End(SPINES[0], 1), End(LEAVES[0], 1), "4x", "EDR"),
        Link(End(SPINES[1], 1), End(LEAVES[0], 2), "4x", "EDR"),
    ]
    new = [
        Link(End(SPINES[0], 2), End(LEAVES[1], 1), "4x", "HDR"),
        Link(End(SPINES[1], 2), End(LEAVES[1], 2), "4x", "HDR"),
    ]
    assert kinds(Remarks(fabric_of(old + new, names))) == []


@pytest.mark.parametrize(
    ("width", "speed", "kind"),
    [
        ("1x", "HDR", "narrow"),
        ("1x", "XDR", None),  # one plane of a port that has several
        ("2x", "HDR", None),  # HDR100: a split port
        ("2x", "NDR", None),
        ("4x", "FDR10", None),
        ("12x", "QDR", None),
        ("4x", None, "no-rate"),
        (None, "HDR", "no-rate"),
        ("4x", "undefined (9)", "no-rate"),
        (None, None, "no-rate"),
    ],
)
def test_remark_by_rate(width: str | None, speed: str | None, kind: str | None) -> None:
    remarks = Remarks(
        fabric_of([Link(End(HCAS[0], 1), End(LEAVES[0], 1), width, speed)], {HCAS[0]: "a", LEAVES[0]: "b"})
    )
    assert kinds(remarks) == ([kind] if kind else [])


def test_an_hca_slower_than_nearly_all_others_at_its_switch_is_a_question() -> None:
    remarks = star(["HDR"] * 10 + ["EDR"])
    assert [(r.level, r.kind) for r in remarks.of_link.values()] == [(UNKNOWN, "slow-hca")]


@pytest.mark.parametrize("speeds", [["HDR"] * 6 + ["EDR"], ["HDR"] * 8 + ["EDR"] * 2, ["EDR"] * 10 + ["HDR"]])
def test_few_or_mixed_hcas_are_no_measure(speeds: list[str]) -> None:
    assert kinds(star(speeds)) == []


def test_a_link_that_one_end_names_only() -> None:
    link = Link(End(HCAS[0], 1), End(LEAVES[0], 1), "4x", "HDR", seen_from=1)
    both = fabric_of([link], {HCAS[0]: "a", LEAVES[0]: "b"})
    assert kinds(Remarks(both)) == ["one-end"]
    only_named = both._replace(nodes={**both.nodes, HCAS[0]: Node(HCAS[0], "channel_adapter", "a")})
    remarks = Remarks(only_named)
    assert kinds(remarks) == [], "an end without a block of its own cannot name it"
    assert remarks.of_node[HCAS[0]].kind == "named-only"


def test_a_node_without_links() -> None:
    fabric = fabric_of([], {HCAS[0]: "lonely"})
    assert Remarks(fabric).of_node[HCAS[0]].level == WARNING
    unknown = tuple(port._replace(linked=None) for port in fabric.nodes[HCAS[0]].ports)
    node = fabric.nodes[HCAS[0]]._replace(ports=unknown)
    assert Remarks(fabric._replace(nodes={HCAS[0]: node})).of_node == {}, "whether it is linked is not known"


def test_tables_have_the_faults_on_top() -> None:
    view = SubnetView(small_fabric())
    assert [row.values[:2] for row in view.nodes.rows[:6]] == [
        ("switch", "L-0"), ("switch", "L-1"), ("switch", "S-0"), ("switch", "S-1"),
        ("HCA", "n00 mlx5_0"), ("HCA", "n01 mlx5_0"),
    ]  # fmt: skip
    assert [row.key for row in view.links.rows[:2]] == [SLOW, NARROW]
    assert [row.level for row in view.links.rows] == [WARNING] * 2 + [OK] * 10
    lids = dict(
        zip([row.values[1] for row in view.nodes.rows], [row.values[2] for row in view.nodes.rows], strict=True)
    )
    assert (lids["S-0"], lids["L-0"], lids["n00 mlx5_0"]) == (1, 3, 5)


def test_a_name_of_blanks_is_no_name() -> None:
    view = SubnetView(fabric_of([], {HCAS[0]: "   ", HCAS[1]: None}))
    assert view.name(HCAS[0]) == "0x0c42a10300000000"
    assert view.name(HCAS[1]) == "0x0c42a10300000010"


def test_counts_and_rates() -> None:
    view = SubnetView(small_fabric())
    assert view.counts() == [(4, "switches"), (8, "HCAs"), (12, "links")]
    assert view.rates() == [("4x HDR", 10), ("4x EDR", 1), ("1x HDR", 1)]


def test_aggregation_nodes_are_no_hcas() -> None:
    fabric = fabric_of(small_links(), small_names())
    node = fabric.nodes[HCAS[0]]._replace(type=AGGREGATION_NODE)
    counts = SubnetView(fabric._replace(nodes={**fabric.nodes, HCAS[0]: node})).counts()
    assert counts == [(4, "switches"), (1, "aggregation"), (7, "HCAs"), (12, "links")]


@pytest.mark.parametrize(
    ("complete", "level", "text"),
    [
        (True, None, ""),
        (
            None,
            UNKNOWN,
            "whether this is the whole fabric cannot be told: what the tool complained of is not at hand",
        ),
        (False, WARNING, "the sweep did not see the whole fabric"),
    ],
)
def test_incompleteness_is_a_notice(complete: bool | None, level: int | None, text: str) -> None:
    found = [n for n in SubnetView(small_fabric(complete=complete)).notices() if n.where == "fabric"]
    assert [(n.level, n.what) for n in found] == ([(level, text)] if level else [])


def test_why_it_is_incomplete() -> None:
    problems = (problem("no answer from behind S-1 port 9"), problem("another"))
    found = SubnetView(small_fabric(complete=False, problems=problems)).notices()
    assert found[0].what == "the sweep did not see the whole fabric: no answer from behind S-1 port 9 (and 1 more)"


def test_a_crowd_of_faults_is_one_notice() -> None:
    links = [link._replace(width="1x") for link in small_links()]
    notices = SubnetView(fabric_of(links, small_names())).notices()
    assert [n.what for n in notices] == ["12 links run at 1x, one lane only"]
    assert notices[0].target.faults_only


def test_ports_of_a_node() -> None:
    view = SubnetView(small_fabric())
    rows = port_table(view, LEAVES[0]).rows
    assert len(rows) == 40
    assert rows[0].values[:6] == (1, "up", "4x HDR", "n00 mlx5_0", 1, "HCA")
    assert rows[21].values[7] == "one lane only"
    assert rows[21].values[:7] == (22, "up", "1x HDR", "S-1", 1, "switch", "")
    assert rows[21].level == WARNING
    assert rows[22].values[:4] == (23, "no link", None, None)
    assert view.peer_of(End(LEAVES[0], 22)) == End(SPINES[1], 1)
    assert view.peer_of(End(LEAVES[0], 23)) is None


def test_head_of_a_node() -> None:
    head = "\n".join(map(plain, node_head(SubnetView(small_fabric()), LEAVES[0])))
    assert "L-0" in head
    assert "switch, 6 of 40 ports linked" in head
    assert "0xb8599f0400000000   LID 3" in head
    assert "port 22 at 1x HDR, one lane only" in head


def test_a_node_that_is_gone() -> None:
    view = SubnetView(small_fabric())
    assert "not in the fabric any more" in plain(node_head(view, Guid(1))[0])
    assert port_table(view, Guid(1)).rows == ()


def test_a_link_from_a_switch_to_itself() -> None:
    view = SubnetView(fabric_of([Link(End(LEAVES[0], 1), End(LEAVES[0], 2), "4x", "HDR")], {LEAVES[0]: "loop"}))
    rows = port_table(view, LEAVES[0]).rows
    assert rows[0].values[3:5] == ("loop", 2)
    assert rows[1].values[3:5] == ("loop", 1)
    assert view.nodes.rows[0].values[3] == 1, "one link"


def test_owner_of_a_port_guid() -> None:
    view = SubnetView(small_fabric())
    assert view.owner_name(Guid(HCAS[3] + 1)) == "n03 mlx5_0"
    assert view.owner_name(SPINES[0]) == "S-0"
    assert view.owner_name(Guid(1)) is None


@pytest.mark.parametrize(
    ("width", "speed", "gbps"),
    # Nominal rates as vendors sell them: HDR 200, HDR100, NDR 400, EDR 100, QDR 40; FDR10 is 40, FDR 56.
    [("4x", "HDR", 200), ("2x", "HDR", 100), ("4x", "NDR", 400), ("4x", "EDR", 100), ("4x", "QDR", 40),
     ("1x", "SDR", 2.5), ("4x", "FDR10", 41.25), ("4x", "FDR", 56.25), ("12x", "DDR", 60), ("4x", "???", None),
     (None, "HDR", None),
     ("x4", "HDR", None), ("99999999999x", "HDR", None)],
)  # fmt: skip
def test_rate(width: str | None, speed: str | None, gbps: float | None) -> None:
    assert rate_gbps(width, speed) == gbps


def test_width_and_speed_in_words() -> None:
    assert width_speed("4x", "HDR") == "4x HDR"
    assert width_speed(None, "HDR") == "?x HDR"
    assert width_speed("4x", None) == "4x ?"
    assert width_speed(None, None) is None


def with_problems(complete: bool | None, *problems: tuple[str, str]) -> list[tuple[int, str]]:
    fabric = small_fabric(complete=complete)._replace(problems=tuple(Problem(*problem) for problem in problems))
    return [(n.level, n.what) for n in SubnetView(fabric).notices() if n.where == "fabric"]


def test_a_reason_is_about_what_was_not_seen() -> None:
    """Lines of a terminal and the kind of GUIDs explain nothing."""
    asides = [("noise", "2 lines that are not the tool's"), ("port-guids", "iblinkinfo prints port GUIDs")]
    assert with_problems(None, *asides) == [
        (UNKNOWN, "whether this is the whole fabric cannot be told: what the tool complained of is not at hand")
    ]
    assert with_problems(None, *asides, ("tool-message", "odd words")) == [
        (UNKNOWN, "whether this is the whole fabric cannot be told: odd words")
    ]
    assert with_problems(False, *asides, ("no-header", "rows are lost")) == [
        (WARNING, "the sweep did not see the whole fabric: rows are lost")
    ]


@pytest.mark.parametrize("complete", [True, None, False])
def test_findings_about_lids_are_critical_whatever_was_seen(complete: bool | None) -> None:
    found = with_problems(complete, ("no-lid", "2 of 6 ports"), ("duplicate-lid", "a and b"), ("duplicate-lid", "c"))
    assert found[:2] == [(CRITICAL, "2 of 6 ports"), (CRITICAL, "a and b (and 1 more)")]
