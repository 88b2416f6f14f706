"""What the rules say."""

from __future__ import annotations

from collections.abc import Hashable

from ibkit.model.findings import Finding, Undecided
from ibkit.tui.pages.page import Content, DetailPage, Page, why_empty
from ibkit.tui.snapshot import Reading, Snapshot
from ibkit.tui.view import findings
from ibkit.tui.view.lines import Line


class FindingsPage(Page):
    """What is wrong, worst first, and what could not be decided."""

    name, title = "findings", "Findings"
    detail_rows = 4

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """What was looked at, and the table of findings."""
        reading = snapshot.check
        if reading is None or reading.value is None:
            return Content(empty=why_empty(reading or Reading(), "what the rules need"))
        diagnosis = reading.value.diagnosis
        return Content(findings.head(diagnosis), findings.table(diagnosis), "no finding in what was looked at")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The finding in short."""
        return findings.short_lines(key) if isinstance(key, Finding | Undecided) else []

    def open(self, snapshot: Snapshot, key: Finding | Undecided) -> Page:
        """All of it, its members, its rule."""
        return DetailPage(f"{key.rule} {key.name}", findings.full_page(key))
