"""What the ports count."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ibkit.model.fabric import End
from ibkit.tui.pages.node import NodePage
from ibkit.tui.pages.page import Content, Outcome, Page, PageKey, SortBy, why_uncounted
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view import counters
from ibkit.tui.view.lines import Line


class CountersPage(Page):
    """What the ports count: rates once there are two samples."""

    name, title = "counters", "Counters"
    detail_rows = 5
    keys = (
        PageKey("b", "talkers", "the top talkers first: the ports that send the most"),
        PageKey("C", "congested", "the most congested ports first: those that wait longest to send"),
    )

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The fabric's past, and the table of ports."""
        counted = snapshot.counted
        if counted.value is None:
            return Content(empty=why_uncounted(snapshot))
        known = counted.value.facts
        lack = known.lack_of_counters()
        empty = f"no port's counters were read: {lack.missing}; {lack.get}"
        if counted.value.table is not None and not counted.value.table.rows:
            empty = known.told_of_errors(())
        return Content(counters.head(known.sample, counted.value.history), counted.value.table, empty)

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """All counters of the port, and its past."""
        counted = snapshot.counted.value
        if counted is None or not isinstance(key, End):
            return []
        return counters.port_lines(counted.facts, counted.history, key)

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """To the node."""
        return NodePage(key.guid, key.port) if isinstance(key, End) else None

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """Sort by what a port sends, or by how long it waits."""
        counted = snapshot.counted.value
        if counted is None or counted.table is None:
            return "no counters were read"
        if name == "talkers":
            return SortBy(counters.SENT if counted.facts.change is not None else counters.SENT_TOTAL)
        if counted.facts.change is None:
            return "waits need a second sample"
        return SortBy(counters.WAITS)
