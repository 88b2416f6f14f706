r"""A picture of a fabric in Graphviz' language: ``ibkit graph | dot -Tsvg > fabric.svg``.

Language: Graphviz' "The DOT Language" and "Node, Edge and Graph Attributes". A text in double quotes ends at the next
one that has no backslash before it; in labels a backslash begins an escape (\n, \l, \N ...) and an ampersand an HTML
entity, so both are written as what they stand for. Nothing is told by colour alone: what has a colour has a text, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ibkit.export.drawing import BAD, DOUBTFUL, PLAIN, UNCLEAR, box_rows, caption, line_rows, look, noun_of, usual_of
from ibkit.model.fabric import AGGREGATION_NODE, CHANNEL_ADAPTER, ROUTER, SWITCH, UNKNOWN_TYPE, Fabric
from ibkit.model.picture import Box, Picture

_SHAPES = {
    SWITCH: "box", CHANNEL_ADAPTER: "ellipse", ROUTER: "diamond", AGGREGATION_NODE: "hexagon", UNKNOWN_TYPE: "octagon",
}  # fmt: skip
#: Shapes that a reader may not know.
_LEGEND = [(kind, _SHAPES[kind], noun_of(kind)) for kind in (ROUTER, AGGREGATION_NODE, UNKNOWN_TYPE)]
#: So many boxes stand side by side, spines above leaves; more stand below each other, spines to the left of leaves.
_MOST_ABREAST = 12
#: Colours that red-green blindness keeps apart; each with a line of its own kind, for grey printers.
_LOOKS = {
    PLAIN: 'color="#b0b0b0"',
    BAD: 'color="#c00000" fontcolor="#c00000" penwidth=3',
    DOUBTFUL: 'color="#b06000" fontcolor="#b06000" penwidth=2 style=dashed',
    UNCLEAR: 'color="#505050" penwidth=1 style=dotted',
}


def dot_lines(fabric: Fabric, picture: Picture) -> Iterator[str]:
    """The text, line by line. The upper end of a line comes first, so that dot ranks it so."""
    usual = usual_of(picture)
    switches = {box.id for box in picture.boxes if box.kind == SWITCH}
    crowd = max(Counter(box.level for box in picture.boxes).values(), default=0)
    direction, apart = ("TB", 1.2) if crowd <= _MOST_ABREAST else ("LR", 4)
    below = caption(fabric, picture, usual) + [
        f"{shape}: {noun}" for kind, shape, noun in _LEGEND if _has(picture, kind)
    ]
    yield "graph fabric {"
    yield f"  graph [rankdir={direction} ranksep={apart} nodesep=0.15 splines=line forcelabels=true"
    yield f"    outputorder=edgesfirst labelloc=b label={_quoted(below)}];"
    yield '  node [fontname="Helvetica" fontsize=10 margin="0.08,0.04" style=filled fillcolor=white];'
    yield '  edge [fontname="Helvetica" fontsize=8];'
    for box in picture.boxes:
        yield f"  {_quoted([box.id])} [{_attributes(box)}];"
    for level in sorted({box.level for box in picture.boxes if box.level}, reverse=True):
        same = " ".join(_quoted([box.id]) for box in picture.boxes if box.level == level)
        yield f"  {{ rank=same; {same} }}"
    # What comes last is painted over the others
    for line in sorted(picture.lines, key=lambda line: look(line) != PLAIN):
        rows = line_rows(line, usual, is_between_switches=line.a in switches and line.b in switches)
        label = f" xlabel={_quoted(rows)}" if rows else ""
        yield f"  {_quoted([line.a])} -- {_quoted([line.b])} [{_LOOKS[look(line)]}{label}];"
    yield "}"


def _has(picture: Picture, kind: str) -> bool:
    return any(box.kind == kind for box in picture.boxes)


def _attributes(box: Box) -> str:
    several = " peripheries=2" if len(box.members) > 1 else ""
    unlisted = "" if box.listed else ' style="filled,dashed"'
    return f"shape={_SHAPES[box.kind]}{several}{unlisted} label={_quoted(box_rows(box))}"


def _quoted(rows: list[str]) -> str:
    """A text of these rows."""
    rows = [row.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for row in rows]
    return '"' + "\\n".join(rows) + '"'
