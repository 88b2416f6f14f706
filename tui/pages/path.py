"""The way between two marked ports. What follows ways is imported when somebody asks for one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ibkit.tui.pages.node import NodePage
from ibkit.tui.pages.page import Content, Outcome, Page, why_empty
from ibkit.tui.snapshot import PATH, Mark, Snapshot
from ibkit.tui.view.lines import Line


class PathPage(Page):
    """The way from one port to another and back, hop by hop, and whether they can talk."""

    name = "path"
    shows = (PATH,)
    detail_rows = 4

    def __init__(self, a: Mark, b: Mark) -> None:
        self._ends = a, b
        self.title = f"{a.name} to {b.name}"

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The verdict, and the hops."""
        from ibkit.tui.view import path

        reading = snapshot.path(*self._ends)
        if reading is None:
            return Content(empty="this frame was not asked for the way: esc, then X asks it")
        if isinstance(reading.value, str):
            return Content(empty=f"{reading.value}; m on a row of the node's own page marks one port")
        if reading.value is None:
            return Content(empty=why_empty(reading, "the way"))
        return Content(
            path.head(reading.value), path.hop_table(reading.value, snapshot.fabric.value), "no hop of the way is known"
        )

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """Both ends of the hop."""
        from ibkit.tui.view import path

        reading = snapshot.path(*self._ends)
        found = reading.value if reading is not None else None
        if found is None or isinstance(found, str) or not isinstance(key, path.HopKey):
            return []
        return path.hop_lines(found, key.hop, snapshot.fabric.value)

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """To the node that the hop leads into."""
        from ibkit.tui.view import path

        return NodePage(*key.hop.entry) if isinstance(key, path.HopKey) else None
