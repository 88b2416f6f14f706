"""One node of the fabric, and one of its ports."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ibkit.model.fabric import End
from ibkit.model.ids import Guid
from ibkit.tui.pages import marking
from ibkit.tui.pages.page import Content, Outcome, Page, PageKey, why_empty, why_uncounted
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view.lines import Line
from ibkit.tui.view.node_page import MOST_FINDINGS, node_head, port_lines, port_page, port_table

#: From this height on there is room for more of the node itself (lines).
TALL = 36


class NodePage(Page):
    """One node: its ports, its neighbours, what was counted and found."""

    name = "node"
    detail_rows = 4
    fits_size = True
    keys = (PageKey("i", "port", "all that is known of the port", "port"), *marking.KEYS)

    def __init__(self, guid: Guid, port: int | None = None) -> None:
        self.guid = guid
        self.cursor = None if port is None else End(guid, port)
        self.title = str(guid)

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """What it is, and its ports."""
        view = snapshot.fabric.value
        if view is None:
            return Content(empty=why_empty(snapshot.fabric, "the fabric"))
        self.title = view.name(self.guid)
        counted = snapshot.counted.value
        known = counted.facts if counted is not None else None
        head = [
            *marking.mark_lines(snapshot),
            *node_head(view, self.guid, known, MOST_FINDINGS if height >= TALL else 1),
        ]
        return Content(head, port_table(view, self.guid, known), "none of its ports is known")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The port in short."""
        view = snapshot.fabric.value
        if view is None or not isinstance(key, End):
            return []
        return port_lines(view, key, snapshot.counted.value, why_uncounted(snapshot))

    def open(self, snapshot: Snapshot, key: End) -> Outcome:
        """To the neighbour at the other end, the cursor on its end of the link."""
        view = snapshot.fabric.value
        if view is None or key.guid != self.guid:
            return None
        other = view.peer_of(key)
        return NodePage(other.guid, other.port) if other else None

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """The port in full, or a mark."""
        if name == "port":
            return PortPage(key) if isinstance(key, End) else "there is no port here"
        return marking.press(name, snapshot, self.guid if name == "mark" and key is None else key)


class PortPage(Page):
    """All that is known of one port."""

    name = "port"
    opens = False

    def __init__(self, end: End) -> None:
        self.end = end
        self.title = f"port {end.port}"

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """Its link, its addresses, its cable, its partitions, its counters, its findings."""
        view = snapshot.fabric.value
        if view is None:
            return Content(empty=why_empty(snapshot.fabric, "the fabric"))
        return Content(port_page(view, self.end, snapshot.counted.value, why_uncounted(snapshot)))
