"""The subnet managers that were seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ibkit.model.ids import Guid
from ibkit.model.subnet_manager import MASTER, NO_SM, SubnetManager, SubnetManagers
from ibkit.tui.view.level import CRITICAL, INFO, OK, UNKNOWN, WARNING, mark, word
from ibkit.tui.view.lines import Line, line, span
from ibkit.tui.view.notices import Notice, Target
from ibkit.tui.view.problems import because, first_text
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("State", tinted=True),
    Column("LID", right=True, unknown="-"),
    Column("Priority", right=True),
    Column("Activity", right=True, drop=1),
    Column("GUID"),
    Column("Node", flexible=True, least=16, unknown="", drop=2),
)


class ManagerKey(NamedTuple):
    """A manager: its port's GUID, and its place among equals."""

    guid: Guid | None
    number: int


def manager_table(managers: SubnetManagers, name_of: Callable[[Guid], str | None] = lambda guid: None) -> Table:
    """One row for each manager; ``name_of`` finds the node that has a port GUID."""
    rows = []
    for number, manager in enumerate(managers.managers):
        node = name_of(manager.guid) if manager.guid is not None else None
        values = (manager.state, manager.lid, manager.priority, manager.activity, manager.guid, node)
        rows.append(Row(ManagerKey(manager.guid, number), judge(manager), values))
    return Table("subnet manager", COLUMNS, rows)


def head(managers: SubnetManagers) -> list[Line]:
    """What the table does not tell: who was asked, and what went wrong."""
    lines = [line(" ", span(f"{mark(UNKNOWN)}  {problem.text}", word(UNKNOWN))) for problem in managers.problems[:5]]
    if managers.managers and managers.complete is None:
        lines.append(
            line(" ", span("only the manager that the port was told of is asked; standbys do not show", "dim"))
        )
    return lines


def judge(manager: SubnetManager) -> int:
    """Master and standby are as they should be."""
    if manager.state in (MASTER, "standby"):
        return OK
    return UNKNOWN if manager.state is None else INFO


def masters(managers: SubnetManagers) -> list[SubnetManager]:
    """Those that say they are master; one is right."""
    return [manager for manager in managers.managers if manager.state == MASTER]


def notices(managers: SubnetManagers) -> list[Notice]:
    """No master among those that were seen, or more than one."""
    found = masters(managers)
    target = Target("subnet")
    why = because(managers.problems)
    if len(found) > 1:
        return [Notice(CRITICAL, f"{len(found)} subnet managers say that they are master", "subnet", target)]
    if found:
        return []
    if managers.managers:
        return [Notice(WARNING, f"no subnet manager that was seen is master{why}", "subnet", target)]
    absent = [problem for problem in managers.problems if problem.kind == NO_SM]
    return [Notice(CRITICAL, absent[0].text, "subnet", target)] if absent else []  # else nothing could be asked


def summary(managers: SubnetManagers) -> str:
    """The master in one line, and how many others."""
    found = masters(managers)
    if not managers.managers:
        return first_text(managers.problems)
    if not found:
        return f"no master among {len(managers.managers)} seen{because(managers.problems)}"
    master = found[0]
    others = len(managers.managers) - 1
    rest = f", {others} more seen" if others else ""
    lid = "-" if master.lid is None else master.lid
    return f"master {_or(master.guid)} LID {lid} priority {_or(master.priority)}{rest}"


def _or(value: object) -> str:
    return "?" if value is None else str(value)
