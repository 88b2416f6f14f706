"""What a page is: lines and a table of a snapshot, where rows lead, its own keys. Pure; ibkit.tui.screen draws it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ibkit.parsers.records import NamedTuple
from ibkit.sources.site import Site
from ibkit.tui.snapshot import Mark, Reading, Snapshot, Task, problems_of
from ibkit.tui.view.lines import Line
from ibkit.tui.view.notices import Target
from ibkit.tui.view.problems import because
from ibkit.tui.view.table import Table

if TYPE_CHECKING:
    from ibkit.rules.waiving import Addition


class Content(NamedTuple):
    """What a page shows of one snapshot: lines above a table, and what to say where the table has no row."""

    head: Sequence[Line] = ()
    table: Table | None = None
    empty: str = ""


class PageKey(NamedTuple):
    """A key that only some pages have: what help says of it, and its word in the last line (none where empty).

    ``is_private``: it reads or writes a file of the user's, and is not offered where others look on.
    """

    key: str
    name: str
    help: str
    label: str = ""
    is_private: bool = False


class Ask(NamedTuple):
    """A text is wanted; ``then`` gets it, where one was given, and says what follows. ``value`` stands there first."""

    hint: str
    then: Callable[[str], Outcome]
    value: str = ""


class Resolve(NamedTuple):
    """An address is to be resolved; its answer becomes a reading of the snapshot."""

    text: str


class Waive(NamedTuple):
    """Waivers are to be written to the file of expectations, which has been asked for and confirmed."""

    addition: Addition


class ShowPath(NamedTuple):
    """The way between two ports, and whether they can talk; its answer becomes a reading of the snapshot."""

    a: Mark
    b: Mark


class SortBy(NamedTuple):
    """The rows are to be sorted by the column with this title, the highest first."""

    column: str


class Again:
    """What the page waited for is to be read once more."""


AGAIN = Again()


class Page:
    """A page. ``name`` is its word on the command line, ``title`` its word on the screen."""

    name = ""
    title = ""
    #: The row that the cursor is on at first; None for the first row.
    cursor: Hashable = None
    #: How many lines below the table tell all about the row under the cursor; -1 for all that the table leaves.
    detail_rows = 0
    #: Whether enter on a row leads anywhere.
    opens = True
    #: Whether the content depends on the size of the screen.
    fits_size = False
    #: Which kinds of answers to somebody's question it shows.
    shows: tuple[str, ...] = ()
    #: Keys of its own.
    keys: tuple[PageKey, ...] = ()

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The page's content, for a screen of this size (cells)."""
        raise NotImplementedError

    def task(self, site: Site) -> Task | None:
        """What is to be read for this page, where it is not there yet; its answer becomes a reading of the snapshot."""
        return None

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """All about one row."""
        return []

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """Where enter leads from a row."""
        return None

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """What follows when the key of its own with this name is pressed; ``key`` is that of the row, or None."""
        return None


#: What a key or a row leads to: another page on top of this one, a place, a question, work for the application, a short
#: message; None: the page is drawn anew.
Outcome = Page | Target | Ask | Resolve | Waive | Again | Mark | ShowPath | SortBy | str | None


class DetailPage(Page):
    """One thing in full."""

    name = "detail"
    opens = False

    def __init__(self, title: str, lines: list[Line]) -> None:
        self.title = title
        self._lines = lines

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The lines."""
        return Content(self._lines)


def why_empty(reading: Reading[Any], what: str) -> str:
    """Why there is nothing to show of a part."""
    if reading.failure is not None:
        return f"{what} could not be read: {reading.failure}"
    if reading.is_waiting:
        return f"reading {what} ..."
    return f"nothing was seen of {what}{because(problems_of(reading.value))}"


def why_uncounted(snapshot: Snapshot) -> str:
    """Why the counters, and all else that is known of ports beside the topology, are not there."""
    if snapshot.check is None:
        return "the counters were not read"
    read = snapshot.counted if snapshot.check.value is not None else snapshot.check
    return why_empty(read, "the counters")
