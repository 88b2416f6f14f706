"""The fabric: its nodes, its ports, both as a tree; and its links."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from ibkit.model.fabric import End, Link
from ibkit.model.ids import Guid
from ibkit.tui.pages import marking
from ibkit.tui.pages.node import NodePage
from ibkit.tui.pages.page import Content, Outcome, Page, PageKey, why_empty, why_uncounted
from ibkit.tui.snapshot import Snapshot
from ibkit.tui.view.fabric_tree import Behind, TreeTable
from ibkit.tui.view.lines import BLANK, Line, line, span
from ibkit.tui.view.quick import DOWN, ERRORING, SLOW, Quick, quick
from ibkit.tui.view.subnet import SubnetView
from ibkit.tui.view.table import Table

#: Another view of the same page.
VIEW = PageKey("V", "view", "another view of the same: nodes, ports, a tree; groups, partitions", "view")
_SLOW = PageKey("L", SLOW, "only slow links, or all: those that `ibkit fabric --slow` lists")
_ERRORING = PageKey("E", ERRORING, "only ports with errors, or all: those that `ibkit counters --errors` lists")


class _WithQuickViews(Page):
    """A page that may show only some ports."""

    def __init__(self) -> None:
        self._quick: str | None = None
        #: The last choice and the last table of a quick view, each with what it was made of.
        self._made: tuple[tuple[object, ...], Quick | None] = ((), None)
        self._part: tuple[tuple[object, ...], Table | None] = ((), None)

    def _toggle(self, name: str) -> None:
        self._quick = None if self._quick == name else name

    def _chosen(self, snapshot: Snapshot, view: SubnetView) -> Quick | None:
        """What the quick view leaves; made once for what was read."""
        if self._quick is None:
            return None
        counted = snapshot.counted
        known = counted.value.facts if counted.value else None
        made_of = (self._quick, view, known)
        if not _same(self._made[0], made_of):
            self._made = made_of, quick(self._quick, view, known, why_uncounted(snapshot))
        return self._made[1]

    def _only(self, table: Table, chosen: Quick) -> Table | None:
        """The rows that are of the ports of the quick view."""
        if not _same(self._part[0], (table, chosen)):
            ends = chosen.ends or frozenset()
            kept = [i for i, row in enumerate(table.rows) if row.key in ends or not ends.isdisjoint(_ends_of(row.key))]
            self._part = (table, chosen), table.only(kept)
        return self._part[1]

    def _head(self, snapshot: Snapshot, chosen: Quick | None) -> list[Line]:
        lines = marking.mark_lines(snapshot)
        if chosen is not None and chosen.ends is not None:
            lines.append(line(" ", span(chosen.told, "dim")))
        return [*lines, BLANK] if lines else []


class NodesPage(_WithQuickViews):
    """The nodes of the fabric, all of its ports, or a tree of both."""

    name, title = "fabric", "Fabric"
    detail_rows = 2
    keys = (
        VIEW,
        PageKey("space", "unfold", "unfold or fold a row of the tree; a click on its mark does, too"),
        PageKey("D", DOWN, "only ports without a link, or all: those that `ibkit fabric --down` lists"),
        _SLOW, _ERRORING, *marking.KEYS,
    )  # fmt: skip
    _views = ("nodes", "ports", "tree")

    def __init__(self) -> None:
        super().__init__()
        self._view = "nodes"
        #: What was folded or unfolded by hand, and the tree that is shown.
        self._choices: dict[Hashable, bool] = {}
        self._tree: TreeTable | None = None

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of nodes or ports, or the tree."""
        self.title = "Fabric" + ("" if self._view == "nodes" else f" {self._view}")
        view = snapshot.fabric.value
        if view is None or view.is_empty:
            return Content(table=view.nodes if view else None, empty=why_empty(snapshot.fabric, "the fabric"))
        chosen = self._chosen(snapshot, view)
        if chosen is not None:
            self.title += f": only {chosen.name}"
        head = self._head(snapshot, chosen)
        if chosen is not None and chosen.ends is None:
            return Content(head, None, chosen.told)
        if self._view == "tree":
            self._tree = TreeTable(view, self._choices, chosen and chosen.ends)
            return Content(
                head, self._tree, f"no port is {chosen.name}; its key again shows all" if chosen else "no node was seen"
            )
        if chosen is not None:
            return Content(head, self._only(view.ports, chosen), f"no port is {chosen.name}; its key again shows all")
        return Content(head, view.ports if self._view == "ports" else view.nodes)

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The node's or the port's whole name, and its remark."""
        view = snapshot.fabric.value
        if view is None:
            return []
        if isinstance(key, Behind):
            key = view.peer_of(key.end)
        if isinstance(key, End):
            link = view.link_at.get(key)
            return view.link_lines(link) if link is not None else view.port_lines(key)
        return view.node_lines(key) if isinstance(key, Guid) else []

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """To the node, the cursor on the port."""
        view = snapshot.fabric.value
        if isinstance(key, Behind):
            key = view.peer_of(key.end) if view else None
        if isinstance(key, End):
            return NodePage(key.guid, key.port)
        return NodePage(key) if isinstance(key, Guid) else None

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """Another view, another row of the tree, only some ports, a mark."""
        if name == "view":
            self._view = self._views[(self._views.index(self._view) + 1) % len(self._views)]
            return None
        if name == "unfold":
            return self._unfold(key)
        if name in (DOWN, SLOW, ERRORING):
            self._toggle(name)
            return None
        view = snapshot.fabric.value
        if isinstance(key, Behind):
            key = view.peer_of(key.end) if view else None
        return marking.press(name, snapshot, key)

    def _unfold(self, key: Any) -> Outcome:
        if self._view != "tree" or self._tree is None:
            return "V shows the fabric as a tree, which unfolds"
        if isinstance(key, Guid | End):
            self._tree.toggle(key)
        return None


class LinksPage(_WithQuickViews):
    """The links of the fabric."""

    name, title = "links", "Links"
    detail_rows = 2
    keys = (_SLOW, _ERRORING, *marking.KEYS)

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The table of links."""
        self.title = "Links"
        view = snapshot.fabric.value
        empty = why_empty(snapshot.fabric, "the fabric")
        if view is None or view.is_empty:
            return Content(table=view.links if view else None, empty=empty)
        chosen = self._chosen(snapshot, view)
        head = self._head(snapshot, chosen)
        if chosen is None:
            return Content(head, view.links, empty)
        self.title += f": only {chosen.name}"
        if chosen.ends is None:
            return Content(head, None, chosen.told)
        return Content(head, self._only(view.links, chosen), f"no link is {chosen.name}; its key again shows all")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """Both ends in full, and the remark."""
        view = snapshot.fabric.value
        return view.link_lines(key) if view and isinstance(key, Link) else []

    def open(self, snapshot: Snapshot, key: Link) -> Outcome:
        """To the node at its first end, the cursor on the link's port."""
        return NodePage(key.a.guid, key.a.port)

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """Only some links, or a mark."""
        if name in (SLOW, ERRORING):
            self._toggle(name)
            return None
        return marking.press(name, snapshot, key)


def _ends_of(key: object) -> tuple[End, ...]:
    return key[:2] if isinstance(key, Link) else ()


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether both were made of the very same things."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
