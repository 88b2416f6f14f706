"""The view model of tables: text, filter, sort, widths."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from ibkit.display import clean
from ibkit.tui.plain import table_lines
from ibkit.tui.view import cells
from ibkit.tui.view.cells import padded, width_of
from ibkit.tui.view.filters import Filter
from ibkit.tui.view.level import CRITICAL, INFO, OK, UNKNOWN, WARNING
from ibkit.tui.view.table import GAP, Column, Order, Row, Table, fit, sort_key, sort_keys

COLUMNS = (Column("Name", flexible=True, least=5), Column("LID", right=True, unknown="-"), Column("Note", drop=1))


def table_of(*rows: tuple[int, tuple[object, ...]]) -> Table:
    return Table("node", COLUMNS, [Row(i, level, values) for i, (level, values) in enumerate(rows)])


FIVE = table_of(
    (OK, ("leaf-10", 10, "HDR")),
    (WARNING, ("leaf-2", 9, "EDR")),
    (UNKNOWN, ("Leaf-1", None, "HDR")),
    (INFO, ("spine-1", 100, None)),
    (CRITICAL, ("spine-2", 11, "SDR")),
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("leaf", [0, 1, 2]),
        ("LEAF hdr", [0, 2]),
        ("!leaf", [3, 4]),
        ("leaf !hdr", [1]),
        ("!leaf !sdr", [3]),
        ("leaf-1", [0, 2]),
        ("!", [0, 1, 2, 3, 4]),  # what one sees after typing the first character of !leaf
        ("nothing-like-it", []),
        ("[leaf]", []),  # no pattern language: brackets are brackets
        (".*", []),
    ],
)
def test_filter(text: str, shown: list[int]) -> None:
    assert FIVE.select(Filter.parse(text)) == shown


def test_a_filter_does_not_reach_across_two_cells() -> None:
    assert table_of((OK, ("a", 12, "b"))).select(Filter.parse("a12")) == []


def test_faults_only_keeps_what_is_not_known_to_be_well() -> None:
    assert FIVE.select(faults_only=True) == [1, 2, 4]


@pytest.mark.parametrize(
    ("order", "shown"),
    [
        (Order(0), [2, 1, 0, 3, 4]),  # leaf-1, leaf-2, leaf-10: as people count, whatever the case
        (Order(0, descending=True), [4, 3, 0, 1, 2]),
        (Order(1), [1, 0, 4, 3, 2]),  # numbers by size, the unknown LID last
        (Order(1, descending=True), [3, 4, 0, 1, 2]),  # ... in the other direction, too
        (Order(), [0, 1, 2, 3, 4]),
    ],
)
def test_sort(order: Order, shown: list[int]) -> None:
    assert FIVE.select(order=order) == shown


def test_filter_keeps_the_order() -> None:
    assert FIVE.select(Filter.parse("leaf"), order=Order(0, descending=True)) == [0, 1, 2]


def test_unknown_values_have_a_text_of_their_own() -> None:
    assert FIVE.cells()[2] == ("Leaf-1", "-", "HDR")
    assert FIVE.cells()[3] == ("spine-1", "100", "?")


def test_widths_have_room_for_the_sort_arrow() -> None:
    assert FIVE.widths() == (7, 4, 5)
    assert Table("node", COLUMNS, []).widths() == (5, 4, 5)


def test_a_name_of_ten_million_characters_does_not_decide_the_layout() -> None:
    table = table_of((OK, ("x" * 10_000_000, 1, "")))
    assert max(table.widths()) <= 100
    assert len(table.cells()[0][0]) <= 200


@pytest.mark.parametrize(
    ("available", "slots"),
    [
        (80, [(0, 7), (1, 4), (2, 5)]),  # room for all
        (20, [(0, 7), (1, 4), (2, 5)]),  # 7 + 4 + 5 and two gaps: just fits
        (19, [(0, 6), (1, 4), (2, 5)]),  # the flexible one gives way
        (18, [(0, 5), (1, 4), (2, 5)]),
        (17, [(0, 7), (1, 4)]),  # at its least width: a column goes, and the name is whole again
        (5, [(0, 5), (1, 4)]),  # never less than the columns that are never dropped; that scrolls
    ],
)
def test_fit(available: int, slots: list[tuple[int, int]]) -> None:
    assert fit(FIVE, available) == slots


def test_a_column_that_tells_nothing_takes_no_room() -> None:
    table = table_of((OK, ("a", 1, "")), (OK, ("b", 2, "")))
    assert [slot.column for slot in fit(table, 80)] == [0, 1]
    assert [slot.column for slot in fit(table, 80, everything=True)] == [0, 1, 2]


def test_room_goes_to_the_first_turn_first() -> None:
    columns = (Column("Remark", flexible=True, least=5, turn=1), Column("Name", flexible=True, least=5))
    table = Table("node", columns, [Row(0, OK, ("r" * 20, "n" * 20))])
    assert fit(table, 30) == [(0, 8), (1, 20)]
    assert fit(table, 17) == [(0, 5), (1, 10)]


def test_fit_everything() -> None:
    assert fit(FIVE, 5, everything=True) == [(0, 7), (1, 4), (2, 5)]


@given(st.lists(st.tuples(st.text(max_size=30), st.one_of(st.none(), st.integers()), st.text(max_size=9)), max_size=6),
       st.integers(1, 200))  # fmt: skip
def test_fit_never_takes_more_than_there_is_unless_it_must(rows: list[tuple[object, ...]], available: int) -> None:
    table = table_of(*((OK, row) for row in rows))
    slots = fit(table, available)
    used = sum(slot.width for slot in slots) + GAP * (len(slots) - 1)
    must = all(COLUMNS[slot.column].drop == 0 for slot in slots)
    assert used <= available or must
    assert all(slot.width <= table.widths()[slot.column] for slot in slots)


@given(st.lists(st.one_of(st.integers(), st.floats(allow_nan=False), st.text()), max_size=20))
def test_any_values_can_be_sorted(values: list[object]) -> None:
    table = Table("x", [Column("V")], [Row(i, OK, (value,)) for i, value in enumerate(values)])
    assert sorted(table.select(order=Order(0))) == list(range(len(values)))


@given(st.lists(st.one_of(st.none(), st.integers(0, 30), st.text("aB-_ 0129", max_size=8)), max_size=12))
def test_the_keys_of_a_column_order_it_as_the_key_of_each_value_does(values: list[object]) -> None:
    known = [value for value in values if value is not None]
    keys = sort_keys(values)
    assert [key is None for key in keys] == [value is None for value in values]
    ranked = [key for key in keys if key is not None]
    places = range(len(known))
    assert sorted(places, key=ranked.__getitem__) == sorted(places, key=lambda i: sort_key(known[i]))


def test_a_column_of_texts_with_breaks_digits_of_any_length_and_equals() -> None:
    values = ["b\n2", "B 10", "b 2", "7" * 40, "7" * 39, "", "b 02"]
    table = Table("x", [Column("V")], [Row(i, OK, (value,)) for i, value in enumerate(values)])
    assert table.select(order=Order(0)) == [5, 4, 3, 0, 2, 6, 1], "b 02 is as good as b 2: as they came"
    assert table.select(order=Order(0, descending=True)) == [1, 0, 2, 6, 3, 4, 5]


def test_digits_beyond_what_int_takes() -> None:
    assert sort_key("9" * 10_000) > sort_key("9" * 9_000)


@given(st.text())
def test_filter_never_raises(text: str) -> None:
    assert set(FIVE.select(Filter.parse(text))) <= {0, 1, 2, 3, 4}


@pytest.mark.parametrize("names", [("日本語", "n1"), ("e\u0301e\u0301", "n1"), ("ﾊﾝｶｸ", "한국어-스위치")])
def test_a_column_is_as_wide_as_its_widest_name_on_the_terminal(names: tuple[str, str]) -> None:
    """CJK letters take two cells, combining marks none: a name that fits is neither cut nor does it move the rest."""
    table = Table("x", [Column("Name"), Column("Port")], [Row(name, OK, (name, 7)) for name in names])
    assert table.widths()[0] == max(len("Name") + 1, *map(cell_len, names))
    lines = list(table_lines(table))
    assert len({cell_len(text.rpartition("7")[0]) for text in lines[1:]}) == 1, "the ports stand below each other"


@given(st.text().map(clean))
@example("日本語")
@example("e\u0301")
def test_a_text_is_as_wide_as_it_is_painted(text: str) -> None:
    assert width_of(text) == cell_len(text)
    assert cell_len(padded(text, width_of(text) + 3)) == width_of(text) + 3


def test_without_rich_common_scripts_are_measured_alike() -> None:
    for text in ("plain", "日本語", "한국어", "ﾊﾝｶｸ", "e\u0301", "Köln", "Ελλάδα"):
        assert cells._by_property(text) == cell_len(text), text
