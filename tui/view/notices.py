"""Notices: what an admin must look at, each with the place to go to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ibkit.parsers.records import NamedTuple
from ibkit.tui.view.level import word
from ibkit.tui.view.lines import Line, line, span
from ibkit.tui.view.table import Column, Row, Table

if TYPE_CHECKING:
    from ibkit.model.ids import Guid


class Target(NamedTuple):
    """Where a notice leads: a page; on it a node's page, the cursor on a port; or only the rows with faults."""

    screen: str
    node: Guid | None = None
    port: int | None = None
    faults_only: bool = False


class Notice(NamedTuple):
    """Something to look at: how bad, what it is, where it is."""

    level: int
    what: str
    where: str
    target: Target


class PartLine(NamedTuple):
    """One part in one line. ``level`` is None while it is being read, ``seen`` False where nothing was."""

    caption: str
    level: int | None
    text: str
    seen: bool = True


COLUMNS = (
    Column("What", flexible=True, least=40, tinted=True),
    Column("Where", flexible=True, least=16),
)


def notice_table(notices: Iterable[Notice]) -> Table:
    """The notices, worst first; those of one level stay in their order."""
    ordered = sorted(notices, key=lambda notice: -notice.level)
    return Table("notice", COLUMNS, [Row(n, n.level, (n.what, n.where)) for n in ordered])


def notice_lines(notice: Notice) -> list[Line]:
    """A notice in full."""
    return [line(" ", span(notice.what, word(notice.level))), line(" ", span(notice.where, "dim"))]


def folded(notices: list[Notice], many: str, screen: str, limit: int = 3) -> list[Notice]:
    """One line for a crowd of the same kind: ``many`` takes their number. A few are shown each on its own line."""
    if len(notices) <= limit:
        return notices
    level = max(notice.level for notice in notices)
    return [Notice(level, many.format(len(notices)), f"all {screen}", Target(screen, faults_only=True))]
