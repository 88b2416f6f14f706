"""What could not be read."""

from __future__ import annotations

from collections.abc import Hashable

from ibkit.tui.pages.page import Content, DetailPage, Page
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view import problems
from ibkit.tui.view.lines import Line


class ProblemsPage(Page):
    """What could not be read."""

    name, title = "problems", "Problems"
    detail_rows = 3

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of problems."""
        empty = "reading ..." if snapshot.waiting else "all that was asked for could be read"
        return Content(table=problems.problem_table(snapshot.problems()), empty=empty)

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The problem's sentence, whole."""
        return problems.problem_lines(key) if isinstance(key, problems.Found) else []

    def open(self, snapshot: Snapshot, key: problems.Found) -> Page:
        """The problem in full."""
        return DetailPage("problem", problems.problem_page(key))
