"""What changed since then."""

from __future__ import annotations

from typing import Any

from ibkit.comparison.change import Comparison
from ibkit.sources.site import Site
from ibkit.tui.pages.page import AGAIN, Content, Outcome, Page, PageKey, why_empty
from ibkit.tui.snapshot import CHANGES, Reading, Snapshot, Task, changes_part, changes_task
from ibkit.tui.view import changes
from ibkit.tui.view.lines import Line


class ChangesPage(Page):
    """The differences between what is shown and an earlier frame, capture or sample."""

    name, title = "changes", "Changes"
    shows = (CHANGES,)
    opens = False
    detail_rows = 3
    keys = (PageKey("u", "anew", "judge the job, or compare, once more", "anew"),)

    def __init__(self, then: str) -> None:
        self.then = then

    def task(self, site: Site) -> Task:
        """Compare, also when another frame is shown."""
        return changes_task(self.then)

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of differences."""
        reading: Reading[Comparison] = snapshot.readings.get(changes_part(self.then), Reading())
        if reading.value is None:
            return Content(empty=why_empty(reading, f"what changed since {self.then}"))
        head = changes.head(reading.value, self.then)
        return Content(head, changes.table(reading.value), "nothing is known to differ")

    def detail(self, snapshot: Snapshot, key: Any) -> list[Line]:
        """The difference in full."""
        reading: Reading[Comparison] = snapshot.readings.get(changes_part(self.then), Reading())
        return changes.lines(reading.value, *key) if reading.value and isinstance(key, tuple) else []

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """Compare once more."""
        return AGAIN
