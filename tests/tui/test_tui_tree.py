"""The tree of the fabric and the quick views, without a screen. The truth is in support.tui_scenes."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_fabric import end, fabric, guid
from support.tui_scenes import HCAS, LEAVES, NARROW, SLOW, SPINES, fabric_of, small_fabric, small_links, small_names

from ibkit.model.fabric import End, Link
from ibkit.tui.pages.marking import mark_of
from ibkit.tui.snapshot import Mark
from ibkit.tui.view.fabric_tree import COLUMNS, FOLDED, INDENT, UNFOLDED, Behind, TreeTable
from ibkit.tui.view.filters import Filter
from ibkit.tui.view.level import UNKNOWN, WARNING
from ibkit.tui.view.quick import DOWN, ERRORING, quick
from ibkit.tui.view.quick import SLOW as ONLY_SLOW
from ibkit.tui.view.subnet import SubnetView, link_word
from ibkit.tui.view.table import Order


def shown(tree: TreeTable, text: str = "", **how: object) -> list[Hashable]:
    return [tree.rows[i].key for i in tree.select(Filter.parse(text), **how)]  # type: ignore[arg-type]


def test_switches_on_top_and_below_them_ports_and_neighbours() -> None:
    view = SubnetView(small_fabric())
    tree = TreeTable(view, {LEAVES[0]: True, End(LEAVES[0], 1): True})
    keys = shown(tree)
    assert keys[0] == LEAVES[0]
    assert keys[1:4] == [End(LEAVES[0], 1), Behind(End(LEAVES[0], 1)), End(LEAVES[0], 2)]
    assert [key for key in keys if not isinstance(key, tuple)] == [*LEAVES, *SPINES]
    texts = [row.values[0] for row in tree.rows[:4]]
    assert texts == [f"{UNFOLDED}L-0", f"  {UNFOLDED}port 1", "      n00 mlx5_0 port 1", f"  {FOLDED}port 2"]


def test_a_click_on_the_mark_unfolds_and_nowhere_else() -> None:
    tree = TreeTable(SubnetView(small_fabric()), {LEAVES[0]: True})
    keys = shown(tree)
    assert tree.is_handle(0, 0)
    assert not tree.is_handle(0, INDENT)
    assert tree.is_handle(1, INDENT + 1)
    assert not tree.is_handle(keys.index(End(LEAVES[0], 40)), 0), "a free port has nothing below"
    assert not tree.is_handle(999, 0)


def test_toggling_goes_to_and_fro() -> None:
    choices: dict[Hashable, bool] = {}
    tree = TreeTable(SubnetView(small_fabric()), choices)
    folded = shown(tree)
    tree.toggle(LEAVES[0])
    assert len(shown(tree)) == len(folded) + 40
    tree.toggle(LEAVES[0])
    assert shown(tree) == folded
    assert choices == {}


def test_what_a_filter_unfolds_can_be_folded_and_stays_unfolded_where_somebody_did() -> None:
    choices: dict[Hashable, bool] = {LEAVES[0]: True}
    tree = TreeTable(SubnetView(small_fabric()), choices)
    assert shown(tree, "n01") == [LEAVES[0], End(LEAVES[0], 2)]
    tree = TreeTable(SubnetView(small_fabric()), {})
    assert shown(tree, "n01") == [LEAVES[0], End(LEAVES[0], 2)]
    tree.toggle(LEAVES[0])
    assert shown(tree, "n01") == [LEAVES[0]]


def test_the_name_of_a_switch_leaves_it_folded_with_all_of_its_ports() -> None:
    tree = TreeTable(SubnetView(small_fabric()), {})
    # S-0 matches by itself, the leaves by a port each.
    assert shown(tree, "s-0") == [LEAVES[0], End(LEAVES[0], 21), LEAVES[1], End(LEAVES[1], 21), SPINES[0]]
    tree.toggle(SPINES[0])
    assert shown(tree, "s-0").count(End(SPINES[0], 40)) == 1


def test_faults_only_shows_the_faulty_ports_below_their_nodes() -> None:
    tree = TreeTable(SubnetView(small_fabric()), {LEAVES[0]: True})
    keys = shown(tree, faults_only=True)
    assert [key for key in keys if isinstance(key, End)] == [End(LEAVES[0], 22)]
    assert all(row.level >= WARNING for row in tree.rows)


def test_order_among_siblings_with_unknown_values_last() -> None:
    tree = TreeTable(SubnetView(small_fabric()), {LEAVES[0]: True})
    rate = [column.title for column in COLUMNS].index("Rate")
    keys = shown(tree, order=Order(rate, descending=True))
    ports = [key.port for key in keys if isinstance(key, End)]
    assert ports[-1] == 40, "a port without a link has no rate"
    assert ports[:5] == [1, 2, 3, 4, 21]
    assert ports[5] == 22, "1x HDR is the least"


def test_adapters_that_are_behind_no_switch_are_on_top() -> None:
    pair = [Link(End(HCAS[0], 1), End(HCAS[1], 1), "4x", "HDR"), Link(End(HCAS[2], 1), End(LEAVES[0], 1), "4x", "HDR")]
    view = SubnetView(fabric_of(pair, {HCAS[0]: "a", HCAS[1]: "b", HCAS[2]: "c", HCAS[3]: "d", LEAVES[0]: "L"}))
    # d has no link at all.
    assert sorted(shown(TreeTable(view, {}))) == sorted([HCAS[0], HCAS[1], HCAS[3], LEAVES[0]])


def test_an_adapter_with_a_port_that_no_switch_shows_is_on_top_too() -> None:
    made = fabric("h1[1]-s1[1] 4x HDR", ports={"h1[2]": {"linked": False}})
    assert guid("h1") in shown(TreeTable(SubnetView(made), {}))


@given(st.lists(st.one_of(st.none(), st.text(max_size=12)), min_size=8, max_size=8), st.text(max_size=6))
def test_any_names_and_any_filter(names: list[str | None], text: str) -> None:
    view = SubnetView(fabric_of(small_links(), {**small_names(), **dict(zip(HCAS, names, strict=True))}))
    tree = TreeTable(view, {LEAVES[0]: True})
    for order in (Order(), Order(0), Order(3, descending=True)):
        keys = shown(tree, text, order=order)
        assert len(keys) == len(set(keys)) == len(tree.rows) == len(tree.cells())


# -- quick views


def test_only_down_is_what_the_command_lists() -> None:
    view = SubnetView(small_fabric())
    chosen = quick(DOWN, view, None)
    # Four switches of 40 ports; 16 of their ports and all 8 of the adapters have links.
    assert len(chosen.ends or ()) == 160 - 16
    assert chosen.told == "144 of 168 ports have no link"


def test_a_port_of_unknown_state_is_not_down() -> None:
    odd = {"h1[2]": {"linked": None}, "s1[2]": {"state": "Down"}, "s1[3]": {"linked": False, "state": "Initialize"}}
    made = fabric("h1[1]-s1[1] 4x HDR", ports=odd, switch_ports=3)
    chosen = quick(DOWN, SubnetView(made), None)
    assert chosen.ends == {end("s1[2]")}
    assert chosen.told == "1 of 5 ports have no link; of 1 it is not known"


def test_only_slow() -> None:
    chosen = quick(ONLY_SLOW, SubnetView(small_fabric()), None)
    assert chosen.ends == {*NARROW[:2], *SLOW[:2]}
    assert chosen.told.startswith("of 12 links 1 are slow, 1 are suspected to be")


def test_erroring_without_counters_is_unknown() -> None:
    chosen = quick(ERRORING, SubnetView(small_fabric()), None, "reading the counters ...")
    assert chosen.ends is None
    assert chosen.told == "reading the counters ..."


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"state": "Active"}, "up"),
        ({"state": "Down"}, "no link"),
        ({"state": "Armed"}, "Armed"),
        ({"linked": False}, "no link"),
        ({"linked": None}, "?"),
        ({"linked": True}, "up"),
    ],
)
def test_link_words(fields: dict[str, object], word: str) -> None:
    made = fabric(ports={"s1[1]": fields}, nodes={"s1": {}}, switch_ports=1)
    assert link_word(made.nodes[guid("s1")].ports[0], None) == word


def test_a_port_behind_which_nobody_answered_is_unknown() -> None:
    made = fabric("h1[1]-s1[1] 4x HDR", ports={"s1[2]": {"doubt": "the node behind it did not answer"}}, switch_ports=2)
    rows = {row.key: row for row in SubnetView(made).ports.rows}
    assert rows[end("s1[2]")].level == UNKNOWN
    assert rows[end("s1[2]")].values[6] == "the node behind it did not answer"


# -- marks


def test_what_is_marked() -> None:
    view = SubnetView(small_fabric())
    adapter = Mark(f"guid:{HCAS[0]}/1", "n00 mlx5_0 port 1")
    assert mark_of(view, HCAS[0]) == mark_of(view, End(HCAS[0], 1)) == adapter
    assert mark_of(view, Link(End(HCAS[0], 1), End(LEAVES[0], 1), "4x", "HDR")) == adapter
    assert mark_of(view, LEAVES[0]) == mark_of(view, End(LEAVES[0], 7)) == Mark(f"guid:{LEAVES[0]}", "L-0")
    assert mark_of(view, None) is None
