"""Addresses that were asked for."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ibkit.model.resolution import Answer
from ibkit.sources.site import Site
from ibkit.tui.pages.page import Ask, Content, DetailPage, Outcome, Page, PageKey, Resolve, why_empty
from ibkit.tui.snapshot import CACHE, RESOLVE, Part, Reading, Snapshot, Task, cache_task
from ibkit.tui.view import cache, resolution
from ibkit.tui.view.lines import Line, line, span

CACHE_KEY = PageKey("v", "cache", "what ibkit's own cache of addresses holds", "cache")


class ResolvePage(Page):
    """Type an address: GID, P_Key, path, where each comes from and how old it is."""

    name, title = "resolve", "Resolve"
    shows = (RESOLVE,)
    detail_rows = 8
    keys = (PageKey("a", "ask", "type an address to resolve", "ask"), CACHE_KEY)

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
        """Type what to resolve, or look into the cache."""
        if name == CACHE_KEY.name:
            return CachePage()
        return Ask("IP address, host name, GID, GUID or LID; several, or n[01-16]", Resolve)


class CachePage(Page):
    """ibkit's own cache of addresses, of the user who looks."""

    name, title = "cache", "Cache"
    shows = (CACHE,)
    opens = False
    detail_rows = 4

    def task(self, site: Site) -> Task:
        """Read the file."""
        return cache_task()

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of entries."""
        reading: Reading[cache.CacheContents] = snapshot.readings.get(Part(CACHE), Reading())
        if reading.value is None:
            return Content(empty=why_empty(reading, "the cache"))
        head = [line(" ", span(reading.value.path, "dim"))]
        return Content(head, cache.table(reading.value), "the cache is empty; `ibkit cache build` fills it")

    def detail(self, snapshot: Snapshot, key: Any) -> list[Line]:
        """The entry in full."""
        reading: Reading[cache.CacheContents] = snapshot.readings.get(Part(CACHE), Reading())
        return cache.entry_lines(reading.value, key) if reading.value and isinstance(key, int) else []
