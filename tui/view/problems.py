"""Problems: evidence that could not be read or that contradicts other evidence, from all collectors in one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple
from ibkit.tui.view.level import UNKNOWN
from ibkit.tui.view.lines import Line, facts, line, span
from ibkit.tui.view.notices import Notice, Target
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("From", tinted=True),
    Column("Problem", flexible=True, least=34),
    Column("Where", flexible=True, least=16, unknown="", drop=1),
    Column("Kind", drop=2),
)


class Found(NamedTuple):
    """A problem and whose it is: ``part`` is a host, "fabric", "subnet managers" or "job". ``number`` tells equals
    apart.
    """

    part: str
    problem: Problem
    number: int = 0


def problem_table(found: Iterable[tuple[str, Problem]]) -> Table:
    """All problems in the order of the parts, then of the lines."""
    rows = []
    for number, (part, problem) in enumerate(found):
        values = (part, problem.text, where(problem), problem.kind)
        rows.append(Row(Found(part, problem, number), UNKNOWN, values))
    return Table("problem", COLUMNS, rows)


def where(problem: Problem) -> str | None:
    """``source:line``; None where neither is known."""
    if problem.line is None:
        return problem.source
    return f"{problem.source}:{problem.line}" if problem.source else f"line {problem.line}"


def because(problems: Sequence[Problem]) -> str:
    """``: the first problem (and 3 more)``; empty without any."""
    return f": {summed_up(problems)}" if problems else ""


def summed_up(problems: Sequence[Problem]) -> str:
    """``the first problem (and 3 more)``."""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{problems[0].text}{more}"


def first_text(problems: Sequence[Problem]) -> str:
    """The first problem's sentence, for a part that shows nothing."""
    return problems[0].text if problems else "nothing was seen"


def told(part: str, problems: Sequence[Problem]) -> list[Notice]:
    """One notice for all problems of a part, however many; none without any."""
    if not problems:
        return []
    number = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
    return [Notice(UNKNOWN, f"{number} in what was read: {problems[0].text}", part, Target("problems"))]


def problem_lines(found: Found) -> list[Line]:
    """A problem in short: its sentence, and where it is."""
    return [line(" ", span(found.problem.text)), line(" ", span(where(found.problem) or found.part, "dim"))]


def problem_page(found: Found) -> list[Line]:
    """A problem in full."""
    problem = found.problem
    return facts(
        [
            ("from", found.part),
            ("kind", problem.kind),
            ("where", where(problem) or "-"),
            ("problem", problem.text),
        ]
    )
