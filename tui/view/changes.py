"""What changed between two views of a site, as `ibkit diff` tells it."""

from __future__ import annotations

from ibkit.comparison.change import Comparison
from ibkit.tui.view.level import INFO, UNKNOWN
from ibkit.tui.view.lines import BLANK, Line, line, span
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("Kind", tinted=True),
    Column("What", flexible=True, least=40),
    Column("Why not decided", flexible=True, least=20, turn=1, drop=1, unknown=""),
)


def head(comparison: Comparison, then: str) -> list[Line]:
    """What was compared with what, and what follows from other differences."""
    compared = ", ".join(part.name.replace("-", " ") for part in comparison.parts if part.compared)
    count = len(comparison.changes)
    implied = sum(change.implied for change in comparison.changes)
    text = f"{count} {'difference' if count == 1 else 'differences'} of {compared or 'nothing: no part is in both'}"
    follows = f"; {implied} of them follow from others and are not shown" if implied else ""
    missing = [f"{part.name.replace('-', ' ')}: {part.missing}" for part in comparison.parts if not part.compared]
    lines = [line(" since ", span(then, "heading")), line(" ", span(f"{text}{follows}"))]
    return [*lines, *(line(" not compared  ", span(one, "dim")) for one in missing), BLANK]


def table(comparison: Comparison) -> Table:
    """The differences, then what could not be decided; without those that follow from others."""
    rows = [
        Row(("change", number), INFO, (change.kind, change.text, None))
        for number, change in enumerate(comparison.changes)
        if not change.implied
    ]
    rows += [
        Row(("doubt", number), UNKNOWN, (doubt.kind, f"not decided: {doubt.text}", doubt.why))
        for number, doubt in enumerate(comparison.doubts)
        if not doubt.implied
    ]
    return Table("difference", COLUMNS, rows)


def lines(comparison: Comparison, kind: str, number: int) -> list[Line]:
    """A difference in full."""
    if kind == "change" and number < len(comparison.changes):
        return [line(" ", span(comparison.changes[number].text))]
    if kind == "doubt" and number < len(comparison.doubts):
        doubt = comparison.doubts[number]
        return [line(" not decided: ", span(doubt.text)), line(" ", span(doubt.why, "dim"))]
    return []
