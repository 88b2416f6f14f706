"""Marks: two ports, and the way between them."""

from __future__ import annotations

from typing import Any

from ibkit.model.fabric import SWITCH, End, Link
from ibkit.model.ids import Guid
from ibkit.tui.pages.page import Outcome, PageKey, ShowPath
from ibkit.tui.snapshot import Mark, Snapshot
from ibkit.tui.view.lines import Line, line, span
from ibkit.tui.view.subnet import SubnetView

KEYS = (
    PageKey("m", "mark", "mark a port for the path between two, or let it go"),
    PageKey("X", "path", "the path between the two marked ports, hop by hop"),
)


def press(name: str, snapshot: Snapshot, key: Any) -> Outcome:
    """Mark what the cursor is on, or show the way between what is marked."""
    if name == "path":
        if len(snapshot.marks) == 2:
            return ShowPath(*snapshot.marks)
        return "mark one more port with m" if snapshot.marks else "mark two ports with m first"
    view = snapshot.fabric.value
    mark = mark_of(view, key) if view is not None else None
    return mark or "there is no port here to mark"


def mark_of(view: SubnetView, key: Any) -> Mark | None:
    """The port that packets go to where a row stands for a node, a port or a link; None for anything else."""
    if isinstance(key, Link):
        # Of a link between a switch and an adapter the adapter's end is what one asks for.
        ends = sorted(key[:2], key=lambda end: _is_switch(view, end.guid))
        return mark_of(view, ends[0])
    if isinstance(key, End):
        if _is_switch(view, key.guid):
            return mark_of(view, key.guid)
        return Mark(f"guid:{key.guid}/{key.port}", f"{view.name(key.guid)} port {key.port}")
    if not isinstance(key, Guid):
        return None
    if _is_switch(view, key):
        return Mark(f"guid:{key}", view.name(key))
    linked = [end.port for link in view.remarks.links_of.get(key, ()) for end in link[:2] if end.guid == key]
    return mark_of(view, End(key, linked[0])) if len(linked) == 1 else Mark(f"guid:{key}", view.name(key))


def mark_lines(snapshot: Snapshot) -> list[Line]:
    """What is marked; nothing where nothing is."""
    marks = snapshot.marks
    if not marks:
        return []
    names = " and ".join(mark.name for mark in marks)
    todo = "X shows the path between them" if len(marks) == 2 else "m on another one, then X shows the path"
    return [line(span(" marked  ", "caption"), span(names, "key"), span(f"   {todo}", "dim"))]


def _is_switch(view: SubnetView, guid: Guid) -> bool:
    node = view.fabric.nodes.get(guid)
    return node is not None and node.type == SWITCH
