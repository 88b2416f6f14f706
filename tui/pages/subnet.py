"""The subnet managers."""

from __future__ import annotations

from ibkit.tui.pages.node import NodePage
from ibkit.tui.pages.page import Content, Page, why_empty
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view import managers


class SubnetPage(Page):
    """The subnet managers."""

    name, title = "subnet", "Subnet"

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of managers."""
        value = snapshot.managers.value
        if value is None:
            return Content(empty=why_empty(snapshot.managers, "the subnet managers"))
        view = snapshot.fabric.value
        table = managers.manager_table(value, view.owner_name if view else lambda guid: None)
        return Content(managers.head(value), table, "no subnet manager was seen")

    def open(self, snapshot: Snapshot, key: managers.ManagerKey) -> Page | None:
        """To the node that the manager runs on."""
        view = snapshot.fabric.value
        owner = view.owner_of(key.guid) if view and key.guid is not None else None
        return NodePage(owner) if owner is not None else None
