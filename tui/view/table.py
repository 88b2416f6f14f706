"""Tables: columns, rows, what filter and sort leave of them, and how wide each column becomes.

Made for 45,000 rows: the text of the cells is put together once (:meth:`Table.prepare`, off the event loop), an
order is sorted once, and a filter is a search in ready text.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from itertools import repeat
from types import NoneType
from typing import Any

from ibkit.display import clean
from ibkit.parsers.records import NamedTuple
from ibkit.tui.view.cells import widest, width_of
from ibkit.tui.view.filters import EVERYTHING, Filter
from ibkit.tui.view.level import UNKNOWN

#: Blanks between two columns.
GAP = 2
#: No column asks for more, whatever a fabric says its nodes are called (cells).
WIDEST = 100
#: How much of a value is kept as a cell's text (characters).
CELL_CHARS = 200

_MOST_DIGITS = 18
_DIGITS = re.compile(rf"(\d{{1,{_MOST_DIGITS}}})")


class Column(NamedTuple):
    """A column. ``drop`` says when it gives way to a narrow terminal: the highest first, 0 never. A ``flexible`` one
    may be as narrow as ``least`` cells, and of the room that is left a lesser ``turn`` takes what it needs first.
    ``unknown`` is what an absent value looks like; ``tinted`` cells are painted in the row's level. Numbers of a column
    with ``decimals`` show so many digits behind the point.
    """

    title: str
    drop: int = 0
    flexible: bool = False
    least: int = 8
    turn: int = 0
    right: bool = False
    unknown: str = "?"
    tinted: bool = False
    decimals: int | None = None

    def text(self, value: Any) -> str:
        """The cell's text, safe to show."""
        if self.decimals is not None and isinstance(value, float):
            return f"{value:.{self.decimals}f}"
        return self.unknown if value is None else clean(str(value), CELL_CHARS)


class Row(NamedTuple):
    """A row: ``key`` is what it stands for, ``level`` how bad it is, ``values`` one per column, None for unknown."""

    key: Hashable
    level: int
    values: tuple[Any, ...]


class Order(NamedTuple):
    """Which column sorts; None keeps the rows as they came."""

    column: int | None = None
    descending: bool = False


AS_THEY_CAME = Order()


class Slot(NamedTuple):
    """A column's place on the screen, in cells."""

    column: int
    width: int


class Table:
    """Columns and rows. ``noun`` is what one row is, ``plural`` what several are."""

    #: Whether the cursor stands on a cell, whose key is the row's and the number of the column.
    by_cell = False

    def __init__(self, noun: str, columns: Sequence[Column], rows: Sequence[Row], plural: str | None = None) -> None:
        self.noun = noun
        self.plural = plural or f"{noun}s"
        self.columns = tuple(columns)
        self.rows = tuple(rows)
        self._cells: list[tuple[str, ...]] | None = None
        self._haystack: list[str] | None = None
        self._widths: tuple[int, ...] | None = None
        self._keys: dict[int, list[Any]] = {}
        self._orders: dict[Order, list[int]] = {}

    def prepare(self) -> Table:
        """Do now what the first frame, the first filter and the first sort would wait for."""
        self.widths()
        self.haystack()
        return self

    def texts(self, row: Row) -> list[str]:
        """A row's cells as text."""
        return [column.text(value) for column, value in zip(self.columns, row.values, strict=True)]

    def cells(self) -> list[tuple[str, ...]]:
        """The text of all rows, column by column."""
        if self._cells is None:
            by_column = []
            for i, column in enumerate(self.columns):
                known: dict[Any, str] = {}
                texts = []
                for row in self.rows:
                    value = row.values[i]
                    text = known.get(value)
                    if text is None:
                        text = known[value] = column.text(value)
                    texts.append(text)
                by_column.append(texts)
            self._cells = list(zip(*by_column, strict=True)) if self.rows else []
        return self._cells

    def haystack(self) -> list[str]:
        """What a filter searches: each row's text in lower case."""
        if self._haystack is None:
            self._haystack = ["\n".join(cells).lower() for cells in self.cells()]
        return self._haystack

    def widths(self) -> tuple[int, ...]:
        """Each column's natural width; a header needs room for the sort arrow."""
        if self._widths is None:
            longest = [widest(texts) for texts in zip(*self.cells(), strict=True)] or [0] * len(self.columns)
            self._widths = tuple(
                min(WIDEST, max(width_of(column.title) + 1, width))
                for column, width in zip(self.columns, longest, strict=True)
            )
        return self._widths

    def is_blank(self, index: int) -> bool:
        """Whether a column tells nothing in any row: then it only takes room."""
        return bool(self.rows) and not any(cells[index] for cells in self.cells())

    def only(self, indices: Sequence[int]) -> Table:
        """A table of some of the rows. Their text, where it is put together, is not made anew."""
        part = Table(self.noun, self.columns, [self.rows[i] for i in indices], self.plural)
        if self._cells is not None:
            part._cells = [self._cells[i] for i in indices]
        if self._haystack is not None:
            part._haystack = [self._haystack[i] for i in indices]
        return part

    def counted(self, shown: Sequence[int]) -> str:
        """How many rows are shown of how many: ``12 of 40 ports``."""
        total = len(self.rows)
        noun = self.noun if total == 1 else self.plural
        return f"{total:,} {noun}" if len(shown) == total else f"{len(shown):,} of {total:,} {noun}"

    def is_handle(self, index: int, x: int) -> bool:
        """Whether a click so far to the right in a row (cells) is meant to unfold it; nothing does in a plain table."""
        return False

    def select(self, wanted: Filter = EVERYTHING, faults_only: bool = False, order: Order = AS_THEY_CAME) -> list[int]:
        """The indices of the rows to show, in their order. Faults are all that is not known to be well."""
        kept = self._ordered(order)
        if faults_only:
            rows = self.rows
            kept = [i for i in kept if rows[i].level >= UNKNOWN]
        if wanted.wanted or wanted.unwanted:
            texts = self.haystack()
            for piece in wanted.wanted:
                kept = [i for i in kept if piece in texts[i]]
            for piece in wanted.unwanted:
                kept = [i for i in kept if piece not in texts[i]]
        return kept

    def _ordered(self, order: Order) -> list[int]:
        if order not in self._orders:
            self._orders[order] = self._sort(order)
        return self._orders[order]

    def _sort(self, order: Order) -> list[int]:
        """Unknown values come last in either direction: nobody looks for them at the top."""
        if order.column is None:
            return list(range(len(self.rows)))
        if order.column not in self._keys:
            self._keys[order.column] = sort_keys([row.values[order.column] for row in self.rows])
        keys = self._keys[order.column]
        # What is sorted the other way round costs one pass to turn; rows of one value keep the order that they came in.
        turned = self._orders.get(order._replace(descending=not order.descending), range(len(keys)))
        known = [i for i in turned if keys[i] is not None]
        known.sort(key=keys.__getitem__, reverse=order.descending)
        return known if len(known) == len(keys) else known + [i for i, key in enumerate(keys) if key is None]


def sort_keys(values: Sequence[Any]) -> list[Any]:
    """A key for each value, None for None; keys of one list compare with each other, as :func:`sort_key` tells.

    Texts of a whole column become keys in a few calls: a key made for each of 73,520 takes half a second.
    """
    texts = [value for value in values if not isinstance(value, (int, float, NoneType))]
    if not texts:
        return list(values)
    names = dict.fromkeys(map(str, texts))
    joined = "\n".join(name.replace("\n", " ") for name in names).lower()
    pieces = _DIGITS.split(joined)
    # A number stands as wide as the widest, between signs that come before all others: 2 before 10, leaf before leaf-1.
    pieces[1::2] = map(str.rjust, pieces[1::2], repeat(_MOST_DIGITS), repeat("0"))
    keys: dict[str, Any] = dict(zip(names, "\0".join(pieces).split("\n"), strict=True))
    if len(texts) == len(values):
        return [keys[str(value)] for value in values]
    if all(value is None or not isinstance(value, (int, float)) for value in values):
        return [None if value is None else keys[str(value)] for value in values]
    return [
        None if value is None else (0, value) if isinstance(value, (int, float)) else (1, keys[str(value)])
        for value in values
    ]


def sort_key(value: Any) -> tuple[Any, ...]:
    """Numbers by size, before texts; texts as people count: ``leaf-2`` before ``leaf-10``."""
    if isinstance(value, int | float):
        return (0, value)
    pieces = _DIGITS.split(str(value).lower())
    return (1, *(int(piece) if i % 2 else piece for i, piece in enumerate(pieces)))


def fit(table: Table, available: int, everything: bool = False) -> list[Slot]:
    """Which columns are shown, and how wide, in ``available`` cells; with ``everything`` all of them at full width.

    Flexible columns give way first, down to their least width; then whole columns go, the easily dropped ones first.
    What is never dropped may be wider than the screen; it scrolls.
    """
    natural = table.widths()
    if everything:
        return [Slot(i, natural[i]) for i in range(len(table.columns))]
    shown = [i for i in range(len(table.columns)) if not table.is_blank(i)]

    def least(i: int) -> int:
        column = table.columns[i]
        return min(natural[i], column.least) if column.flexible else natural[i]

    def width_of(chosen: list[int]) -> int:
        return sum(least(i) for i in chosen) + GAP * (len(chosen) - 1)

    while width_of(shown) > available:
        last = max(shown, key=lambda i: (table.columns[i].drop, i))
        if table.columns[last].drop == 0:
            break
        shown.remove(last)
    widths = {i: least(i) for i in shown}
    spare = available - width_of(shown)
    for turn in sorted({table.columns[i].turn for i in shown}):
        wanting = [i for i in shown if table.columns[i].turn == turn and widths[i] < natural[i]]
        while spare > 0 and wanting:
            share = max(1, spare // len(wanting))
            for i in list(wanting):
                more = min(share, natural[i] - widths[i], spare)
                widths[i] += more
                spare -= more
                if widths[i] == natural[i]:
                    wanting.remove(i)
    return [Slot(i, widths[i]) for i in shown]
