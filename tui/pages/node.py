"""One node of the fabric."""

from __future__ import annotations

from ibkit.model.fabric import End
from ibkit.model.ids import Guid
from ibkit.tui.pages.page import Content, Page, why_empty
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view.node_page import node_head, port_table


class NodePage(Page):
    """One node: its ports and its neighbours."""

    name = "node"

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
        return Content(node_head(view, self.guid), port_table(view, self.guid), "none of its ports is known")

    def open(self, snapshot: Snapshot, key: End) -> Page | None:
        """To the neighbour at the other end, the cursor on its end of the link."""
        view = snapshot.fabric.value
        if view is None or key.guid != self.guid:
            return None
        other = view.peer_of(key)
        return NodePage(other.guid, other.port) if other else None
