"""What the ports count."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ibkit.model.fabric import End
from ibkit.tui.pages.node import NodePage
from ibkit.tui.pages.page import Content, Page, why_empty
from ibkit.tui.snapshot import Reading, Snapshot
from ibkit.tui.view import counters
from ibkit.tui.view.lines import Line


class CountersPage(Page):
    """What the ports count: rates once there are two samples."""

    name, title = "counters", "Counters"
    detail_rows = 3

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The fabric's past, and the table of ports."""
        reading = snapshot.check
        if reading is None or reading.value is None:
            return Content(empty=why_empty(reading or Reading(), "the counters"))
        table = counters.table(reading.value, snapshot.fabric.value)
        return Content(counters.head(reading.value), table, "no port's counters were read")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """All counters of the port."""
        reading = snapshot.check
        return counters.port_lines(reading.value, key) if reading and reading.value and isinstance(key, End) else []

    def open(self, snapshot: Snapshot, key: Any) -> Page | None:
        """To the node."""
        return NodePage(key.guid, key.port) if isinstance(key, End) else None
