"""A table over textual's line API: a row costs nothing until it is on the screen.

textual's own DataTable measures every cell of every row on the event loop: 10,000 links block it for seconds.
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ibkit.display import clean
from ibkit.tui.view import level as levels
from ibkit.tui.view.filters import Filter
from ibkit.tui.view.table import GAP, Order, Row, Slot, Table, fit
from ibkit.tui.widgets.painting import MAX_CHARS, Painter, cell

#: The column of the marks, left of the table's own columns (cells).
MARK_WIDTH = 2
#: How far left and right move a table that is wider than the screen (cells).
STEP = 8
#: What several keys do together: the help shows them in one line.
SORT, MOVE = "sort by another column", "move; left and right scroll a wide table"


class LineTable(ScrollView, Painter, can_focus=True):
    """Shows a :class:`Table`: a cursor, a filter, an order, faults only, all columns or those that fit."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", key_display="enter", id="table.open", tooltip="open what the cursor is on"),
        Binding("f", "faults", "faults", id="table.faults", tooltip="only what is not known to be well, or all"),
        Binding("s", "sort(1)", "sort", id="table.sort", tooltip=SORT),
        Binding("greater_than_sign", "sort(1)", show=False, key_display=">", id="table.sort-next", tooltip=SORT),
        Binding("less_than_sign", "sort(-1)", show=False, key_display="<", id="table.sort-back", tooltip=SORT),
        Binding("S", "invert", show=False, id="table.invert", tooltip="turn the order round"),
        Binding("w", "wide", show=False, id="table.wide", tooltip="all columns, or those that fit"),
        Binding("up,k", "move(-1)", show=False, id="table.up", tooltip=MOVE),
        Binding("down,j", "move(1)", show=False, id="table.down", tooltip=MOVE),
        Binding("left,h", "sideways(-1)", show=False, id="table.left", tooltip=MOVE),
        Binding("right,l", "sideways(1)", show=False, id="table.right", tooltip=MOVE),
        Binding("pageup", "page(-1)", show=False, id="table.page-up", tooltip=MOVE),
        Binding("pagedown", "page(1)", show=False, id="table.page-down", tooltip=MOVE),
        Binding("home,g", "end(False)", show=False, id="table.first", tooltip=MOVE),
        Binding("end,G", "end(True)", show=False, id="table.last", tooltip=MOVE),
    ]

    class Opened(Message):
        """The user wants to go to a row's object."""

        def __init__(self, table: LineTable, key: Hashable) -> None:
            super().__init__()
            self.table = table
            self.key = key

    class Unfolded(Message):
        """The user clicked on the handle of a row that unfolds."""

        def __init__(self, key: Hashable) -> None:
            super().__init__()
            self.key = key

    class Changed(Message):
        """The cursor stands on another row, or other rows are shown."""

    def __init__(self, table: Table | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.table = table
        #: The indices of the rows that are shown, in their order, and which of them the cursor is on.
        self.shown: list[int] = []
        self.cursor = 0
        self._column = 1
        self.filter_text = ""
        self.faults_only = False
        self.order = Order()
        self.everything = False
        #: Whether enter leads anywhere.
        self.opens = True
        #: What to say where there is no row.
        self.empty = ""
        self._slots: list[Slot] = []
        self._strips: LRUCache[tuple[int, int], Strip] = LRUCache(512)
        #: What each line of the widget showed when it was painted last.
        self._painted: dict[int, Strip] = {}

    # -- what is shown

    def show(self, table: Table | None, empty: str = "") -> None:
        """Show another table, or the same things read anew: cursor, filter and order stay."""
        if table is None or self.table is None or table.columns != self.table.columns:
            self.order = Order()
        kept = self._kept
        self.table = table
        self.empty = empty
        self._select(kept)

    @property
    def row(self) -> Row | None:
        """The row that the cursor is on."""
        if self.table is None or not self.shown:
            return None
        return self.table.rows[self.shown[self.cursor]]

    @property
    def key(self) -> Hashable:
        """What the cursor is on, of a table of cells also in which column; None where there is no row."""
        return self._key_of(self.row) if self.row else None

    def _key_of(self, row: Row) -> Hashable:
        return (row.key, self.column) if self.table is not None and self.table.by_cell else row.key

    @property
    def column(self) -> int:
        """The column that the cursor is on, in a table of cells: the one that was chosen last, if it is shown."""
        shown = [slot.column for slot in self._slots]
        return self._column if self._column in shown else shown[-1] if shown else 0

    @property
    def _kept(self) -> Hashable:
        """What the cursor stays on when the rows change. At the top it stays at the top: there are the faults."""
        return self.row.key if self.row and self.cursor else None

    @property
    def hidden_columns(self) -> int:
        """How many columns gave way to the narrow screen."""
        if self.table is None or not self._slots:
            return 0
        telling = sum(1 for index in range(len(self.table.columns)) if not self.table.is_blank(index))
        return max(0, telling - len(self._slots))

    def set_filter(self, text: str) -> None:
        """Show the rows that a filter admits."""
        if text != self.filter_text:
            self.filter_text = text
            self._select(self._kept)

    def go_to(self, key: Hashable) -> None:
        """Put the cursor on a row, if it is shown."""
        self._select(key)

    def _select(self, key: Hashable = None) -> None:
        """Choose the rows anew; the cursor stays on ``key`` if it is still there, else where it was."""
        self.shown = (
            []
            if self.table is None
            else self.table.select(Filter.parse(self.filter_text), self.faults_only, self.order)
        )
        place = min(self.cursor, max(0, len(self.shown) - 1))
        if key is not None and self.table is not None:
            rows = self.table.rows
            place = next((i for i, index in enumerate(self.shown) if rows[index].key == key), place)
        self.cursor = place
        self._arrange()
        self.post_message(self.Changed())

    def _arrange(self) -> None:
        """Fit the columns to the screen."""
        height = len(self.shown) + 1
        available = self.container_size.width - (1 if height > self.container_size.height else 0)
        if self.table is None:
            self._slots = []
        else:
            self._slots = fit(self.table, max(1, available - MARK_WIDTH), self.everything)
        width = MARK_WIDTH + sum(slot.width for slot in self._slots) + GAP * max(0, len(self._slots) - 1)
        self.virtual_size = Size(max(width, 1), height)
        self._forget()
        self._follow()

    def _forget(self) -> None:
        """Paint anew what differs: over a slow link a refresh without news must write no row again."""
        self._strips.clear()
        for y in range(self.size.height):
            if self._painted.get(y) != self._line(y):
                self.refresh(Region(0, y, self.size.width, 1))

    def _follow(self) -> None:
        """Scroll so that the cursor is in sight."""
        room = max(1, self.scrollable_content_region.height - 1)
        top = round(self.scroll_y)
        if self.cursor < top:
            self._scroll(self.cursor)
        elif self.cursor >= top + room:
            self._scroll(self.cursor - room + 1)

    def _scroll(self, top: int) -> None:
        self.scroll_to(y=top, animate=False, force=True)

    # -- events

    def on_resize(self) -> None:
        """Another width: other columns."""
        self._arrange()
        self.post_message(self.Changed())

    def notify_style_update(self) -> None:
        """Another theme: the painted lines are stale."""
        super().notify_style_update()
        self._strips.clear()

    def on_focus(self) -> None:
        """The cursor's colour tells whether the keys come here."""
        self._forget()

    def on_blur(self) -> None:
        """See on_focus."""
        self._forget()

    def on_click(self, event: events.Click) -> None:
        """The header sorts; a row is selected, and opened by a second click."""
        if event.y == 0:
            slot = self._slot_at(self._scrolled(event.x))
            if slot is not None:
                self._sort(slot.column)
            return
        place = event.y - 1 + round(self.scroll_y)
        if place < len(self.shown):
            self._move_to(place)
            slot = self._slot_at(self._scrolled(event.x))
            if slot is not None and self.table is not None and self.table.by_cell:
                self._choose(slot.column)
            index = self.shown[place]
            if self.table is not None and self.table.is_handle(index, self._scrolled(event.x) - MARK_WIDTH):
                self.post_message(self.Unfolded(self.table.rows[index].key))
            elif event.chain > 1:
                self.action_open()

    @property
    def _pinned(self) -> int:
        """So many cells at the left stay where they are: the first column of a table of cells, which names the row."""
        if self.table is None or not self.table.by_cell or not self._slots:
            return 0
        width = MARK_WIDTH + self._slots[0].width + GAP
        return width if 2 * width < self.scrollable_content_region.width else 0

    def _scrolled(self, x: int) -> int:
        """The place in the whole line of what is at this place on the screen."""
        return x if x < self._pinned else x + round(self.scroll_x)

    def _slot_at(self, x: int) -> Slot | None:
        left = MARK_WIDTH
        for slot in self._slots:
            if left <= x < left + slot.width + GAP:
                return slot
            left += slot.width + GAP
        return None

    # -- actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Where enter leads nowhere it is not offered."""
        return action != "open" or self.opens

    def action_open(self) -> None:
        """Go to what the cursor is on."""
        if self.row:
            self.post_message(self.Opened(self, self._key_of(self.row)))

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._move_to(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        """Move the cursor by screens."""
        self._move_to(self.cursor + pages * max(1, self.scrollable_content_region.height - 2))

    def action_end(self, last: bool) -> None:
        """Move to the first or the last row."""
        self._move_to(len(self.shown) - 1 if last else 0)

    def action_sideways(self, direction: int) -> None:
        """Scroll a wide table; in one of cells, to the next cell."""
        if self.table is not None and self.table.by_cell:
            shown = [slot.column for slot in self._slots]
            if shown:
                place = shown.index(self.column) + direction
                self._choose(shown[max(0, min(place, len(shown) - 1))])
            return
        self.scroll_to(x=max(0, round(self.scroll_x) + direction * STEP), animate=False)

    def _choose(self, column: int) -> None:
        """Put the cursor on a column, and bring it into sight."""
        self._column = column
        left = MARK_WIDTH
        for slot in self._slots:
            if slot.column == column:
                break
            left += slot.width + GAP
        width = next((slot.width for slot in self._slots if slot.column == column), 0)
        room = self.scrollable_content_region.width
        if left - self._pinned < round(self.scroll_x) or left + width > round(self.scroll_x) + room:
            self.scroll_to(x=max(0, left + width - room) if left + width > room else 0, animate=False)
        self._forget()
        self.post_message(self.Changed())

    def action_sort(self, step: int) -> None:
        """Sort by the next column that is shown; after the last one, as the rows came."""
        choices = [None, *(slot.column for slot in self._slots)]
        place = choices.index(self.order.column) if self.order.column in choices else 0
        self._order_by(Order(choices[(place + step) % len(choices)]))

    def action_invert(self) -> None:
        """Turn the order round."""
        if self.order.column is not None:
            self._order_by(self.order._replace(descending=not self.order.descending))

    def sort_by(self, title: str) -> None:
        """Sort by the column with this title, the highest first; again, the other way round."""
        titles = [column.title for column in self.table.columns] if self.table else []
        if title in titles:
            column = titles.index(title)
            self._order_by(Order(column, self.order != Order(column, descending=True)))

    def _sort(self, column: int) -> None:
        """Sort by this column; again, the other way round."""
        again = self.order.column == column
        self._order_by(Order(column, not self.order.descending if again else False))

    def _order_by(self, order: Order) -> None:
        self.order = order
        self._select(self._kept)

    def action_faults(self) -> None:
        """Hide what is well, or show all again."""
        self.faults_only = not self.faults_only
        self._select(self._kept)

    def action_wide(self) -> None:
        """All columns, or those that fit."""
        self.everything = not self.everything
        self._arrange()
        self.post_message(self.Changed())

    def _move_to(self, place: int) -> None:
        place = max(0, min(place, len(self.shown) - 1))
        if place == self.cursor or not self.shown:
            return
        before, self.cursor = self.cursor, place
        top = round(self.scroll_y)
        self._follow()
        if round(self.scroll_y) == top:
            for changed in (before, place):
                self.refresh(Region(0, changed - top + 1, self.size.width, 1))
        self.post_message(self.Changed())

    # -- painting

    def render_line(self, y: int) -> Strip:
        """The header, which does not scroll, or a row."""
        strip = self._painted[y] = self._line(y)
        return strip

    def _line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        place = y - 1 + round(self.scroll_y)
        if not self.shown:
            return self._nothing(y, width)
        if y and place >= len(self.shown):
            return Strip([])
        strip = self._row(place) if y else self._header()
        left, pinned = round(self.scroll_x), self._pinned
        shown = (
            Strip.join([strip.crop(0, pinned), strip.crop(left + pinned, left + width)])
            if pinned
            else (strip.crop(left, left + width))
        )
        return shown.adjust_cell_length(width, strip._segments[-1].style)

    def _nothing(self, y: int, width: int) -> Strip:
        """Why there is no row, in as many lines as that takes."""
        hidden = self.table is not None and bool(self.table.rows)
        why = f"no {self.table.noun} is left by the filter" if hidden and self.table else self.empty
        lines = textwrap.wrap(clean(why, MAX_CHARS), max(10, width - 2))
        return Strip([Segment(f" {lines[y]}", self.style_of("dim"))] if y < len(lines) else [])

    def _header(self) -> Strip:
        style, sorted_style = self.style_of("header"), self.style_of("sorted")
        segments = [Segment(" " * MARK_WIDTH, style)]
        if self.table is not None:
            for slot in self._slots:
                column = self.table.columns[slot.column]
                is_sorted = self.order.column == slot.column
                arrow = ("▼" if self.order.descending else "▲") if is_sorted else ""
                segments.append(
                    cell(column.title + arrow, slot.width, column.right, sorted_style if is_sorted else style)
                )
                segments.append(Segment(" " * GAP, style))
        return Strip(segments)

    def _row(self, place: int) -> Strip:
        assert self.table is not None
        index = self.shown[place]
        state = 0 if place != self.cursor else 2 if self.has_focus else 1
        strip = self._strips.get((index, state))
        if strip is None:
            strip = self._strips[index, state] = self._paint(index, state)
        return strip

    def _paint(self, index: int, state: int) -> Strip:
        assert self.table is not None
        chosen = self.style_of(("", "cursor-idle", "cursor")[state])
        # In a table of cells the cursor is on one of them.
        base = self.style_of("") if self.table.by_cell else chosen
        row = self.table.rows[index]
        texts = self.table.cells()[index]
        tint = self.style_of(levels.word(row.level), base)
        segments = [cell(levels.mark(row.level), MARK_WIDTH, False, tint)]
        for slot in self._slots:
            column = self.table.columns[slot.column]
            style = tint if column.tinted else base
            if self.table.by_cell and state and slot.column == self.column:
                style = chosen
            segments.append(cell(texts[slot.column], slot.width, column.right, style))
            segments.append(Segment(" " * GAP, base))
        return Strip(segments)
