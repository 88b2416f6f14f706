"""Subnet managers of a subnet."""

from __future__ import annotations

from ibkit.model.ids import Guid
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

MASTER = "master"
#: ``kind`` of the problem that nobody answers as the subnet manager: decided, unlike "nothing could be asked".
NO_SM = "no-sm"

#: Kinds of problems that are about the managers, not about what could be read of them.
FINDINGS = frozenset({NO_SM, "no-master", "several-masters", "bad-lid", "bad-guid", "bad-priority"})


class SubnetManager(NamedTuple):
    """``state`` is master, standby, discovering or not-active, else the raw word; ``activity`` is the SM's counter
    (its change, not its value, says that the SM lives).
    """

    guid: Guid | None = None
    lid: int | None = None
    state: str | None = None
    priority: int | None = None
    activity: int | None = None


class SubnetManagers(NamedTuple):
    """The managers that were seen. ``complete`` is None: sminfo asks for the master only."""

    managers: tuple[SubnetManager, ...]
    complete: bool | None = None
    problems: tuple[Problem, ...] = ()
