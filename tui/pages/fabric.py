"""The fabric: its nodes and its links."""

from __future__ import annotations

from collections.abc import Hashable

from ibkit.model.fabric import Link
from ibkit.model.ids import Guid
from ibkit.tui.pages.node import NodePage
from ibkit.tui.pages.page import Content, Page, why_empty
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view.lines import Line


class NodesPage(Page):
    """The nodes of the fabric."""

    name, title = "fabric", "Fabric"
    detail_rows = 2

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of nodes."""
        view = snapshot.fabric.value
        return Content(table=view.nodes if view else None, empty=why_empty(snapshot.fabric, "the fabric"))

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The node's whole name, and its remark."""
        view = snapshot.fabric.value
        return view.node_lines(key) if view and isinstance(key, Guid) else []

    def open(self, snapshot: Snapshot, key: Guid) -> Page:
        """To the node."""
        return NodePage(key)


class LinksPage(Page):
    """The links of the fabric."""

    name, title = "links", "Links"
    detail_rows = 2

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of links."""
        view = snapshot.fabric.value
        return Content(table=view.links if view else None, empty=why_empty(snapshot.fabric, "the fabric"))

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """Both ends in full, and the remark."""
        view = snapshot.fabric.value
        return view.link_lines(key) if view and isinstance(key, Link) else []

    def open(self, snapshot: Snapshot, key: Link) -> Page:
        """To the node at its first end, the cursor on the link's port."""
        return NodePage(key.a.guid, key.a.port)
