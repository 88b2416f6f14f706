"""What changed between two views of a site, as `ibkit diff` tells it."""

from __future__ import annotations

from collections import Counter

from ibkit.comparison.change import Comparison
from ibkit.export.diff import compared_text, implied_text
from ibkit.tui.view.level import INFO, OK, UNKNOWN
from ibkit.tui.view.lines import BLANK, Line, line, span
from ibkit.tui.view.notices import Notice, PartLine, Target
from ibkit.tui.view.table import Column, Row, Table

#: The overview names so many kinds of differences, and so many differences.
_MOST_KINDS, _MOST_NOTICES = 3, 3
COLUMNS = (
    Column("Kind", tinted=True),
    Column("What", flexible=True, least=40),
    Column("Why not decided", flexible=True, least=20, turn=1, drop=1, unknown=""),
)


def head(comparison: Comparison, then: str) -> list[Line]:
    """What was compared with what, and what follows from other differences."""
    text = compared_text(comparison) or "nothing in common that could be compared"
    implied = implied_text(comparison)
    follows = f"; {implied}" if implied else ""
    missing = [f"{part.name.replace('-', ' ')}: {part.missing}" for part in comparison.parts if not part.compared]
    lines = [line(" since ", span(then, "heading")), line(" ", span(f"{text}{follows}"))]
    return [*lines, *(line(" not compared  ", span(one, "dim")) for one in missing), BLANK]


def line_of(comparison: Comparison, then: str) -> PartLine:
    """All of it in one line of the overview."""
    kinds = Counter(change.kind for change in comparison.changes if not change.implied)
    most = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(_MOST_KINDS))
    more = f" and {len(kinds) - _MOST_KINDS} kinds more" if len(kinds) > _MOST_KINDS else ""
    number = sum(kinds.values())
    told = f"{number} {'difference' if number == 1 else 'differences'}: {most}{more}" if kinds else "no difference"
    doubts = sum(1 for doubt in comparison.doubts if not doubt.implied)
    told += f"; {doubts} not decided" if doubts else ""
    missing = [part.name.replace("-", " ") for part in comparison.parts if not part.compared]
    told += f"; not compared: {', '.join(missing)}" if missing else ""
    is_whole = not doubts and not missing
    return PartLine("changes", INFO if kinds else OK if is_whole else UNKNOWN, f"since {then}: {told}")


def notices(comparison: Comparison, then: str) -> list[Notice]:
    """The first differences; how many more there are stands in the last one."""
    shown = [change for change in comparison.changes if not change.implied]
    target = Target("changes")
    found = [Notice(INFO, f"changed: {change.text}", f"since {then}", target) for change in shown[:_MOST_NOTICES]]
    if len(shown) > _MOST_NOTICES:
        found.append(Notice(INFO, f"changed: {len(shown) - _MOST_NOTICES} things more", f"since {then}", target))
    return found


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
