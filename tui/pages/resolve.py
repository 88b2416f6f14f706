"""Addresses that were asked for."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ibkit.model.resolution import Answer
from ibkit.tui.pages.page import Ask, Content, DetailPage, Outcome, Page, PageKey, Resolve
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view import resolution
from ibkit.tui.view.lines import Line, line, span


class ResolvePage(Page):
    """Type an address: GID, P_Key, path, where each comes from and how old it is."""

    name, title = "resolve", "Resolve"
    detail_rows = 8
    keys = (PageKey("a", "ask", "type an address to resolve", "ask"),)

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """What was asked for."""
        asked = snapshot.resolutions
        seen = [reading.value for reading in asked if reading.value is not None]
        waiting = any(reading.is_waiting for reading in asked)
        failed = next((reading.failure for reading in asked if reading.failure is not None), None)
        head: list[Line] = []
        if waiting:
            head = [line(" resolving ...")]
        elif failed:
            head = [line(" ", span(failed, "warning"))]
        return Content(head, resolution.table(seen), "key a: type an address, a host name, a GID, a GUID or a LID")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The answer."""
        return resolution.lines(key) if isinstance(key, Answer) else []

    def open(self, snapshot: Snapshot, key: Answer) -> Page:
        """The answer in full."""
        return DetailPage(key.query, resolution.lines(key))

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """Type what to resolve."""
        return Ask("IP address, host name, GID, GUID or LID; several, or n[01-16]", Resolve)
