"""Is it well, what is broken and where, what was not seen."""

from __future__ import annotations

from collections.abc import Hashable

from ibkit.tui.pages.page import Content, Page
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view.lines import BLANK, Line
from ibkit.tui.view.notices import Notice, Target, notice_lines, notice_table
from ibkit.tui.view.overview import overview, overview_more, part_lines

#: From this height on the overview has room for more than the notices (lines).
TALL = 36


class OverviewPage(Page):
    """Is it well, what is broken and where, what was not seen."""

    name, title = "overview", "Overview"
    detail_rows = 3
    fits_size = True

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The verdict, the parts, the notices; on a large screen the ports and the rates, too."""
        seen = overview(snapshot)
        head = [seen.headline, BLANK, *part_lines(seen.parts), BLANK]
        if height >= TALL:
            head += overview_more(snapshot, width, height - TALL)
        waiting = "" if not snapshot.waiting else "reading ..."
        return Content(head, notice_table(seen.notices), waiting or "nothing to look at")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The notice in full."""
        return notice_lines(key) if isinstance(key, Notice) else []

    def open(self, snapshot: Snapshot, key: Notice) -> Target:
        """To the place that a notice is about."""
        return key.target
