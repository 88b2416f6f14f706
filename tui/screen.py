"""The screen of a page: banner, tabs, title, lines, table, detail, keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingsMap, BindingType
from textual.containers import Container, Horizontal
from textual.screen import Screen
from textual.widgets import Input

from ibkit.tui.pages import PAGES
from ibkit.tui.pages.page import Again, Ask, Outcome, Page, Resolve, ShowPath, SortBy, Waive
from ibkit.tui.snapshot import Mark
from ibkit.tui.view.lines import Line, line, plain, span
from ibkit.tui.view.title import Shown, title
from ibkit.tui.widgets.bars import ActionBar, Bar
from ibkit.tui.widgets.lines import LinePane
from ibkit.tui.widgets.table import LineTable

if TYPE_CHECKING:
    from ibkit.tui.app import IbkitApp

#: An 80x24 terminal with a status line of tmux and one of the shell's still fits (columns, lines).
LEAST_WIDTH, LEAST_HEIGHT = 80, 22
#: Banner, tabs, title row, head, body, keys.
CHILDREN = 6
#: From this width on what is told of a row stands beside the table (columns).
BESIDE_WIDTH = 180
#: The keys of the last line, in their order.
KEYS = (
    "page.ask",
    "table.open",
    "page.filter",
    "table.faults",
    "table.sort",
    "page.doctor",
    "app.refresh",
    "app.help",
    "app.quit",
)
#: What `e` writes, by the ending of the file's name.
EXPORTS = {
    "csv": "the rows that are shown, as CSV",
    "json": "the rows that are shown, as JSON with their values as they are",
    "svg": "the screen, as an SVG picture",
}
#: What a picture of the screen is called.
BANNER = "ibkit tui"
#: How many at the end of it are always shown.
LAST_KEYS = 2
PARTS = "to another part of the screen, to scroll it"


class PageScreen(Screen[None]):
    """Draws one page, again whenever the snapshot changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", key_display="/", priority=True, id="page.filter",
                tooltip="show rows that hold these words; !word hides them"),
        Binding("tab", "app.focus_next", show=False, id="page.next-part", tooltip=PARTS),
        Binding("shift+tab", "app.focus_previous", show=False, id="page.previous-part", tooltip=PARTS),
        Binding("escape", "back", show=False, id="page.back", tooltip="clear the filter, else one page back"),
        Binding("e", "export", show=False, id="page.export",
                tooltip="write the rows that are shown, or the screen, to a file"),
        Binding("y", "copy", show=False, id="page.copy", tooltip="copy the row to the clipboard"),
        Binding("c", "copy_cell", show=False, id="page.copy-cell", tooltip="copy one cell of the row"),
    ]  # fmt: skip
    app: IbkitApp

    def __init__(self, page: Page, above: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.page = page
        # A page's own keys stand before those that all have.
        self._bindings = BindingsMap.merge([BindingsMap(_own_keys(page)), self._bindings])
        #: The titles of the pages that led here.
        self.above = above
        self._is_stale = True
        # It is styled by the rules of now; textual takes a new screen for one of before, and reads all rules twice.
        self._css_update_count = self.app._css_update_count
        self._is_laid_out = False
        #: Whether the cursor was put where the page wants it at first.
        self._is_placed = False

    # -- layout

    def compose(self) -> ComposeResult:
        """The parts that most pages need; the filter's line and that of a small terminal come when they are wanted."""
        yield Bar(id="banner")
        yield ActionBar(id="tabs")
        with Horizontal(id="title-row"):
            yield Bar(id="title")
        yield LinePane(id="head")
        with Container(id="body"):
            yield LineTable(id="table")
            yield LinePane(id="detail")
        yield ActionBar(id="keys")

    def on_mount(self) -> None:
        """Draw what is there, which on the first frame is nothing but the frame."""
        self.set_class(self.page.detail_rows < 0, "-with-detail")
        self.set_class(not self.page.detail_rows, "-without-detail")
        self._place_detail(self.app.size.width)
        self._is_laid_out = True
        self.table.opens = self.page.opens
        self.refresh_page()
        self.table.focus()

    def _place_detail(self, width: int) -> None:
        """Below the table, or beside it where there is room for both."""
        is_beside = width >= BESIDE_WIDTH
        self.set_class(is_beside, "-beside")
        if self.page.detail_rows > 0:
            self.query_one("#detail").styles.height = None if is_beside else self.page.detail_rows + 1

    def on_resize(self, event: events.Resize) -> None:
        """Below the least size one line says so; nothing is drawn into a ruin."""
        size = event.size
        is_small = size.width < LEAST_WIDTH or size.height < LEAST_HEIGHT
        if is_small:
            if not self.query("#too-small"):
                self.mount(Bar(id="too-small"))
            text = f"needs {LEAST_WIDTH}x{LEAST_HEIGHT}, is {size.width}x{size.height}"  # fits in 20 columns
            self.query_one("#too-small", Bar).show(line(text))
        self.set_class(is_small, "-too-small")
        self._place_detail(size.width)
        if not self.is_current:
            return
        if self.page.fits_size:
            self.refresh_page()
        else:
            self.refresh_bars()  # the tabs and the keys that fit

    def on_descendant_focus(self) -> None:
        """Other keys work in another part of the screen."""
        self.query_one("#keys", ActionBar).show(self._keys())

    def on_screen_resume(self) -> None:
        """Catch up with what came while another screen was in front."""
        if self._is_stale:
            self.refresh_page()
        self.refresh_bars()

    @property
    def table(self) -> LineTable:
        """The page's table."""
        return self.query_one("#table", LineTable)

    def snapshot_changed(self) -> None:
        """A reading came in: draw it now, or when this screen comes to the front."""
        if self.is_current and self._is_ready:
            self.refresh_page()
        else:
            self._is_stale = True

    def refresh_page(self) -> None:
        """Draw the page anew."""
        if not self._is_ready:
            return
        self.app.want(self.page)
        content = self.page.content(self.app.snapshot, self.app.size.width, self.app.size.height)
        self._is_stale = False
        head = self.query_one("#head", LinePane)
        head.set_class(not content.head, "-empty")
        head.show(content.head)
        self.table.show(content.table, content.empty)
        if content.table is not None and self.page.cursor is not None and not self._is_placed:
            self._is_placed = True
            self.table.go_to(self.page.cursor)
        self.set_class(content.table is None and bool(content.head), "-without-table")
        self._refresh_row()
        self.refresh_bars()

    @property
    def _is_ready(self) -> bool:
        """Whether all parts are there: not before the first frame, nor while the screen is taken down and the clock
        and the collectors go on.
        """
        return self._is_laid_out and len(self.children) >= CHILDREN

    def refresh_bars(self) -> None:
        """Draw the banner, the tabs and the keys anew."""
        if not self._is_ready:
            return
        self.refresh_banner()
        self.query_one("#tabs", ActionBar).show(self._tabs())
        self.query_one("#keys", ActionBar).show(self._keys())

    def refresh_banner(self) -> None:
        """Draw the banner anew: time goes on."""
        if self._is_ready:
            self.query_one("#banner", Bar).show(self.app.banner())

    def _tabs(self) -> list[tuple[Line, str]]:
        items = []
        room = self.size.width
        for digit, page in enumerate(PAGES, 1):
            is_current = page.name == self.app.current_mode
            text = f" {digit % 10} {page.title}"
            room -= len(text)
            if room < 0 and not is_current:
                continue  # its digit and the palette lead there, too
            items.append((line(span(text, "tab-current" if is_current else "tab")), f"app.page({page.name!r})"))
        return items

    def _keys(self) -> list[tuple[Line, str]]:
        if self.has_class("-filtering"):
            return [
                (_key("enter", "keep the filter"), "screen.press('enter')"),
                (_key("esc", "clear it"), "screen.back"),
            ]
        shown = [active for active in self.active_bindings.values() if active.binding.show and active.enabled]
        shown.sort(key=lambda active: KEYS.index(active.binding.id) if active.binding.id in KEYS else -1)
        items = []
        for active in shown:
            binding = active.binding
            what = _key(self.app.get_key_display(binding), binding.description)
            items.append((what, f"screen.press({binding.key!r})"))
        # Where there is no room for all, help and quit stay: help has them all, and can be clicked.
        while len(items) > LAST_KEYS and sum(len(plain(what)) for what, _ in items) > self.size.width:
            del items[-LAST_KEYS - 1]
        return items

    # -- the table's events

    @on(LineTable.Changed)
    def _refresh_row(self) -> None:
        """Another row, other rows: the title counts them, the detail tells of the one."""
        table = self.table
        self.query_one("#title", Bar).show(title([*self.above, self.page.title], self._shown))
        if self.page.detail_rows:
            detail = self.query_one("#detail", LinePane)
            detail.set_class(not table.shown, "-empty")
            detail.show(self.page.detail(self.app.snapshot, table.key), about=table.key)

    @property
    def _shown(self) -> Shown:
        """How the table is being shown."""
        table = self.table
        return Shown(table.table, table.shown, table.filter_text, table.faults_only, table.order, table.hidden_columns)

    @on(LineTable.Opened)
    async def _open(self, event: LineTable.Opened) -> None:
        where = self.page.open(self.app.snapshot, event.key)
        if where is not None:
            await self._follow(where)

    @on(LineTable.Unfolded)
    async def _unfold(self, event: LineTable.Unfolded) -> None:
        await self._follow(self.page.press("unfold", self.app.snapshot, event.key))

    async def action_page_key(self, name: str) -> None:
        """A key of the page's own."""
        await self._follow(self.page.press(name, self.app.snapshot, self.table.key))

    async def _follow(self, outcome: Outcome) -> None:
        """Do what a row or a key leads to."""
        if outcome is None:
            self.refresh_page()
        elif isinstance(outcome, Page):
            self.app.push(outcome, (*self.above, self.page.title))
        elif isinstance(outcome, Ask):

            async def answered(text: str | None) -> None:
                if text:
                    await self._follow(outcome.then(text))

            self.app.ask(outcome.hint, answered, outcome.value)
        elif isinstance(outcome, Resolve):
            self.app.resolve(outcome.text)
        elif isinstance(outcome, Again):
            self.app.want(self.page, again=True)
        elif isinstance(outcome, Waive):
            await self.app.waive(outcome.addition)
        elif isinstance(outcome, Mark):
            self.app.mark(outcome)
        elif isinstance(outcome, ShowPath):
            self.app.show_path(outcome.a, outcome.b)
        elif isinstance(outcome, SortBy):
            self.table.sort_by(outcome.column)
        elif isinstance(outcome, str):
            self.app.tell(outcome)
        else:
            await self.app.go_to(outcome)

    # -- the filter

    async def action_filter(self) -> None:
        """Type a filter; the rows follow each key."""
        if self.table.table is None:
            return
        if not self.query("#filter"):
            caption = Bar(id="filter-caption")
            caption.show(line(span(" filter ", "key")))
            words = Input(id="filter", compact=True, placeholder="words, !word hides; enter keeps, esc clears")
            await self.query_one("#title-row").mount(caption, words)
        self.add_class("-filtering")
        self.query_one("#filter", Input).focus()

    def key_down(self) -> None:
        """From the filter into the rows."""
        if self.has_class("-filtering"):
            self._leave_filter()

    @on(Input.Changed, "#filter")
    def _filter_typed(self, event: Input.Changed) -> None:
        self.table.set_filter(event.value)

    @on(Input.Submitted, "#filter")
    def _filter_done(self) -> None:
        self._leave_filter()

    def _leave_filter(self) -> None:
        self.remove_class("-filtering")
        self.table.focus()

    def action_back(self) -> None:
        """Clear the filter, else go one page back."""
        if self.has_class("-filtering") or self.table.filter_text:
            for words in self.query("#filter").results(Input):
                words.value = ""
            self.table.set_filter("")
            self._leave_filter()
        elif self.above:
            self.app.pop_screen()

    # -- taking things along

    def action_export(self) -> None:
        """Choose what file to write."""
        from ibkit.tui.choosing import Choice, ChooseScreen

        rows = [] if self.table.table is None else [Choice(kind[0], kind, EXPORTS[kind]) for kind in ("csv", "json")]
        choices = [*rows, Choice("s", "svg", EXPORTS["svg"])]
        self.app.push_screen(ChooseScreen("Write to a file in the current folder", choices), self.export_chosen)

    def export_chosen(self, kind: str | None) -> None:
        """Write it after the choice."""
        if kind:
            # When the list of choices is not on the screen any more.
            self.call_after_refresh(self.export, kind)

    def export(self, kind: str) -> None:
        """Write the rows that are shown, in their order, or the screen."""
        from ibkit.tui.exporting import csv_text, json_text, picture

        table = self.table
        if kind == "svg":
            self.app.export(self.page.name, kind, picture(self.app.export_screenshot(title=BANNER)), "the screen")
        elif table.table is None:
            self.app.tell("there is no table here to export")
        else:
            rows = table.shown
            text = (
                csv_text(table.table, rows)
                if kind == "csv"
                else json_text(self.page.name, self.app.snapshot.origin, self._shown, rows)
            )
            self.app.export(self.page.name, kind, text, f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}")

    def action_copy(self) -> None:
        """Copy the row that the cursor is on."""
        table = self.table
        if table.table is None or table.row is None:
            self.app.tell("there is no row here to copy")
            return
        self._copy("  ".join(text for text in table.table.texts(table.row) if text))

    def action_copy_cell(self) -> None:
        """Choose a cell of the row that the cursor is on, and copy it."""
        from ibkit.tui.choosing import LETTERS, Choice, ChooseScreen

        table = self.table
        if table.table is None or table.row is None:
            self.app.tell("there is no row here to copy from")
            return
        texts = [
            (column.title, text)
            for column, text, value in zip(
                table.table.columns, table.table.texts(table.row), table.row.values, strict=True
            )
            if value is not None and text
        ]
        width = max(len(title) for title, _ in texts) if texts else 0
        choices = [
            Choice(letter, text, f"{title:<{width}}  {text}")
            for letter, (title, text) in zip(LETTERS, texts, strict=False)
        ]
        self.app.push_screen(ChooseScreen("Copy a cell of this row", choices), self._copy)

    def _copy(self, text: str | None) -> None:
        if text:
            self.app.copy_to_clipboard(text)
            self.app.tell(f"copied: {text}")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A slash is text in the filter; a key that touches a file of the user's is his alone."""
        if action == "filter":
            return self.is_current and not self.has_class("-filtering")
        if action == "export":
            return not self.app.is_read_only
        if action == "page_key":
            return not self.app.is_read_only or all(
                own.name != parameters[0] for own in self.page.keys if own.is_private
            )
        return True

    def action_press(self, key: str) -> None:
        """A click on a key's name is the key."""
        self.app.simulate_key(key)


def _own_keys(page: Page) -> list[Binding]:
    return [
        Binding(
            own.key, f"page_key({own.name!r})", own.label or own.name, show=bool(own.label), id=f"page.{own.name}",
            tooltip=own.help,
        )
        for own in page.keys
    ]  # fmt: skip


def _key(name: str, what: str) -> Line:
    return line(span(f" {name}", "key"), span(f" {what} "))
