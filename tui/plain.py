"""The same facts without a terminal: plain lines for a pipe, a log or CI."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.tui.pages import PAGES
from ibkit.tui.pages.page import Content
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view import level as levels
from ibkit.tui.view.banner import banner
from ibkit.tui.view.cells import padded, widest
from ibkit.tui.view.lines import plain
from ibkit.tui.view.overview import overview, part_lines
from ibkit.tui.view.table import Table

#: Below the overview a table shows no more rows than this; the page asked for by name shows all.
FEW_ROWS = 25
#: What follows the overview, in its order.
FOLLOWING = ("jobs", "findings", "host", "subnet", "fabric", "links", "problems")


def report(snapshot: Snapshot, name: str = "overview") -> Iterator[str]:
    """The page of this name, whole; for the overview all pages, each in short."""
    yield plain(banner(snapshot.origin)).strip().replace("  ", " ")
    yield ""
    pages = {entry.name: entry for entry in PAGES}
    if name != "overview":
        yield from _page(pages[name].page().content(snapshot), None)
        return
    seen = overview(snapshot)
    yield plain(seen.headline).rstrip()
    yield ""
    yield from (plain(line).rstrip() for line in part_lines(seen.parts))
    for following in ("overview", *FOLLOWING):
        page = pages[following].page()
        content = page.content(snapshot)
        if content.table is None or not content.table.rows:
            continue
        yield ""
        yield ("What to look at" if following == "overview" else page.title) + ":"
        yield from _page(content if following == "jobs" else content._replace(head=()), FEW_ROWS)
    yield ""


def _page(content: Content, limit: int | None) -> Iterator[str]:
    yield from (plain(line).rstrip() for line in content.head)
    table = content.table
    if table is None or not table.rows:
        yield content.empty
        return
    if content.head:
        yield ""
    yield from table_lines(table, limit)
    if limit is not None and len(table.rows) > limit:
        yield f"... and {len(table.rows) - limit} more {table.plural}"


def table_lines(table: Table, limit: int | None = None) -> Iterator[str]:
    """A table in text: the mark of each row's level first, columns as wide as they need."""
    rows = table.cells()[:limit]
    widths = [widest(texts) for texts in zip([c.title for c in table.columns], *rows, strict=True)]
    marks = ["", *(levels.mark(row.level) for row in table.rows[:limit])]
    for mark, texts in zip(marks, [tuple(column.title for column in table.columns), *rows], strict=True):
        cells = [
            padded(text, width, column.right) for text, width, column in zip(texts, widths, table.columns, strict=True)
        ]
        yield f"{mark:<2}{'  '.join(cells)}".rstrip()
