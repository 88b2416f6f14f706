"""The subnet: its managers, who is in which partition, what the forwarding tables say."""

from __future__ import annotations

from typing import Any

from ibkit.model.fabric import End
from ibkit.model.ids import Guid
from ibkit.rules.evidence import PARTITIONS, ROUTES
from ibkit.tui.pages.fabric import VIEW
from ibkit.tui.pages.node import NodePage
from ibkit.tui.pages.page import Content, DetailPage, Outcome, Page, PageKey, why_empty
from ibkit.tui.snapshot import Reading, Snapshot
from ibkit.tui.view import managers
from ibkit.tui.view.partitions import PartitionsView, group_page
from ibkit.tui.view.routing import RoutesView

#: The rules about the forwarding tables.
_ROUTE_RULES = ("R69",)


class SubnetPage(Page):
    """The subnet managers."""

    name, title = "subnet", "Subnet"
    keys = (
        PageKey("K", "partitions", "who is in which partition, by the P_Key tables", "P_Keys"),
        PageKey("R", "routes", "what the switches' forwarding tables say", "routes"),
    )

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of managers."""
        value = snapshot.managers.value
        if value is None:
            return Content(empty=why_empty(snapshot.managers, "the subnet managers"))
        view = snapshot.fabric.value
        table = managers.manager_table(value, view.owner_name if view else lambda guid: None)
        return Content(managers.head(value), table, "no subnet manager was seen")

    def open(self, snapshot: Snapshot, key: managers.ManagerKey) -> Outcome:
        """To the node that the manager runs on."""
        view = snapshot.fabric.value
        owner = view.owner_of(key.guid) if view and key.guid is not None else None
        return NodePage(owner) if owner is not None else None

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """The partitions, or the routes."""
        return PartitionsPage() if name == "partitions" else RoutesPage()


class PartitionsPage(Page):
    """Groups of ports by partitions, or the partitions with their members."""

    name = "partitions"
    keys = (VIEW,)

    def __init__(self) -> None:
        self.title = "Partitions"
        self._is_list = False
        self._made: tuple[object, PartitionsView] | None = None

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The matrix or the list."""
        view = self._view(snapshot)
        if view is None:
            return Content(empty=_why(snapshot, PARTITIONS, "the P_Key tables"))
        table = view.listed() if self._is_list else view.matrix()
        return Content(view.head(), table, "no port is in any partition")

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """The members of the group or of the partition."""
        view = self._view(snapshot)
        return DetailPage("partition" if self._is_list else "group", group_page(view, key)) if view else None

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """The other one of matrix and list."""
        self._is_list = not self._is_list
        return None

    def _view(self, snapshot: Snapshot) -> PartitionsView | None:
        sample = snapshot.check.value if snapshot.check is not None else None
        found = sample.collected.partitions if sample is not None else None
        if found is None or sample is None:
            return None
        if self._made is None or self._made[0] is not found:
            self._made = found, PartitionsView(found, sample.collected.fabric)
        return self._made[1]


class RoutesPage(Page):
    """A row for each switch: the LIDs that its table covers, and the holes."""

    name, title = "routes", "Routes"

    def __init__(self) -> None:
        self._made: tuple[object, object, RoutesView] | None = None

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of switches."""
        view = self.view(snapshot)
        if view is None:
            return Content(empty=_why(snapshot, ROUTES, "the forwarding tables"))
        sample = snapshot.check.value if snapshot.check is not None else None
        findings = sample.diagnosis.findings if sample is not None else ()
        return Content(view.head(one for one in findings if one.rule in _ROUTE_RULES), view.table, "no switch was seen")

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """The exits of the switch."""
        return ExitsPage(self, key) if isinstance(key, Guid) else None

    def view(self, snapshot: Snapshot) -> RoutesView | None:
        """The tables, looked at once for what was read."""
        sample = snapshot.check.value if snapshot.check is not None else None
        routes, fabric = (sample.collected.routes if sample is not None else None), snapshot.fabric.value
        if routes is None or fabric is None:
            return None
        if self._made is None or self._made[0] is not routes or self._made[1] is not fabric:
            self._made = routes, fabric, RoutesView(routes, fabric)
        return self._made[2]


class ExitsPage(Page):
    """The exits of one switch: where each leads, and for which LIDs."""

    name = "exits"

    def __init__(self, above: RoutesPage, guid: Guid) -> None:
        self._above = above
        self.guid = guid
        self.title = str(guid)

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of exits."""
        view = self._above.view(snapshot)
        fabric = snapshot.fabric.value
        if view is None or fabric is None:
            return Content(empty=_why(snapshot, ROUTES, "the forwarding tables"))
        self.title = fabric.name(self.guid)
        return Content(table=view.exit_table(self.guid), empty="no port has a LID here")

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """To the node, the cursor on the exit."""
        return NodePage(key.guid, key.port) if isinstance(key, End) else None


def _why(snapshot: Snapshot, part: str, what: str) -> str:
    """Why a part of the evidence is not there, and how to have it."""
    sample = snapshot.check.value if snapshot.check is not None else None
    lack = sample.collected.lacks.get(part) if sample is not None else None
    return f"{lack.missing}; {lack.get}" if lack is not None else why_empty(snapshot.check or Reading(), what)
