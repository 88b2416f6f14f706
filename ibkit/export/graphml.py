"""A picture of a fabric as GraphML, for yEd, Gephi, NetworkX and their kin.

Format: the GraphML primer (graphml.graphdrawing.org). XML 1.0 has no spelling for control characters, so names are
neutralised as on a terminal; then the five characters that XML means something by are written as entities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ibkit.display import clean
from ibkit.export.drawing import box_rows, line_rows, usual_of
from ibkit.model.fabric import SWITCH
from ibkit.model.picture import Box, Line, Picture
from ibkit.model.rates import rate_gbps

#: Names of the members of a box are not cut.
_LONGEST = 10_000_000
#: What boxes and lines have, with GraphML's types.
_BOX_KEYS = {
    "label": "string", "kind": "string", "level": "int", "nodes": "int", "guids": "string", "names": "string",
    "listed": "boolean",
}  # fmt: skip
_LINE_KEYS = {
    "label": "string", "links": "int", "width": "string", "speed": "string", "rate_gbps": "double", "verdict": "string",
    "cause": "string", "text": "string", "seen_from": "int", "usual_links": "int", "weight": "double",
}  # fmt: skip


def graphml_lines(picture: Picture, complete: bool | None) -> Iterator[str]:
    """The text, line by line. What is not known has no data element. ``weight`` is the Gb/s of all links of a line."""
    usual = usual_of(picture)
    switches = {box.id for box in picture.boxes if box.kind == SWITCH}
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    yield '  <key id="complete" for="graph" attr.name="complete" attr.type="boolean"/>'
    for prefix, kind, keys in (("n", "node", _BOX_KEYS), ("e", "edge", _LINE_KEYS)):
        for name, its_type in keys.items():
            yield f'  <key id="{prefix}_{name}" for="{kind}" attr.name="{name}" attr.type="{its_type}"/>'
    yield '  <graph id="fabric" edgedefault="undirected">'
    if complete is not None:
        yield f'    <data key="complete">{_text(complete)}</data>'
    for box in picture.boxes:
        yield from _element(f'node id="{box.id}"', "n", _of_box(box))
    for line in picture.lines:
        rows = line_rows(line, usual, is_between_switches=line.a in switches and line.b in switches)
        label = ", ".join(rows) or None
        yield from _element(f'edge source="{line.a}" target="{line.b}"', "e", {"label": label, **_of_line(line)})
    yield "  </graph>"
    yield "</graphml>"


def _of_box(box: Box) -> dict[str, Any]:
    return {
        "label": ": ".join(box_rows(box)), "kind": box.kind, "level": box.level or None, "nodes": len(box.members),
        "guids": " ".join(map(str, box.members)), "names": ", ".join(name or "?" for name in box.names),
        "listed": box.listed,
    }  # fmt: skip


def _of_line(line: Line) -> dict[str, Any]:
    rate = rate_gbps(line.width, line.speed)
    return {
        "links": len(line.links), "width": line.width, "speed": line.speed, "rate_gbps": rate,
        "verdict": line.grade.verdict, "cause": line.grade.cause, "text": line.grade.text,
        "seen_from": line.seen_from, "usual_links": line.usual_count,
        "weight": None if rate is None else rate * len(line.links),
    }  # fmt: skip


def _element(head: str, prefix: str, data: Mapping[str, Any]) -> Iterator[str]:
    yield f"    <{head}>"
    for name, value in data.items():
        if value is not None:
            yield f'      <data key="{prefix}_{name}">{_text(value)}</data>'
    yield f"    </{head.split(' ', 1)[0]}>"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    from xml.sax.saxutils import escape

    return escape(clean(str(value), _LONGEST))
