"""A picture of a fabric as a document for other programs: schema ibkit.graph/1. See docs/json.md."""

from __future__ import annotations

from typing import Any

from ibkit.model.fabric import Fabric, Link
from ibkit.model.picture import Box, Line, Picture

SCHEMA = "ibkit.graph/1"


def graph_document(fabric: Fabric, picture: Picture) -> dict[str, Any]:
    """All boxes and lines, with the nodes and links that they stand for."""
    return {
        "schema": SCHEMA,
        "complete": fabric.complete,
        "folded": picture.folded,
        "boxes": [_box(box) for box in picture.boxes],
        "lines": [_line(line) for line in picture.lines],
        "problems": [problem._asdict() for problem in fabric.problems],
    }


def _box(box: Box) -> dict[str, Any]:
    return {
        "id": box.id,
        "kind": box.kind,
        "title": box.title,
        "level": box.level or None,
        "listed": box.listed,
        "nodes": [{"guid": str(guid), "name": name} for guid, name in zip(box.members, box.names, strict=True)],
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "a": line.a,
        "b": line.b,
        "width": line.width,
        "speed": line.speed,
        **line.grade._asdict(),
        "seen_from": line.seen_from,
        "usual_links": line.usual_count,
        "links": [_link(link) for link in line.links],
    }


def _link(link: Link) -> dict[str, Any]:
    return {name: {"guid": str(end.guid), "port": end.port} for name, end in (("a", link.a), ("b", link.b))}
