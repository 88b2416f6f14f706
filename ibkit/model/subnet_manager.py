"""Subnet managers of a subnet."""

from __future__ import annotations

from ibkit.model.ids import Guid
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

MASTER = "master"
#: ``kind`` of the problem that nobody answers as the subnet manager: decided, unlike "nothing could be asked".
NO_SM = "no-sm"

#: Kinds of problems that are about the managers, not about what could be read of them.
FINDINGS = frozenset({
    NO_SM, "no-master", "several-masters", "silent-manager", "other-sm-lid", "bad-lid", "bad-guid", "bad-priority",
})  # fmt: skip


class SubnetManager(NamedTuple):
    """``state`` is master, standby, discovering or not-active, else the raw word; ``activity`` is the SM's counter.
    That it changes shows that the SM lives: ``activity_moving`` is whether it did between two reads, None where it was
    read once. ``guid`` is its port's, ``name`` the description of the node.
    """

    guid: Guid | None = None
    lid: int | None = None
    state: str | None = None
    priority: int | None = None
    activity: int | None = None
    activity_moving: bool | None = None
    name: str | None = None


class NamedLid(NamedTuple):
    """A LID that ``ports`` ports of the subnet name as their subnet manager's."""

    lid: int
    ports: int


class SubnetManagers(NamedTuple):
    """The managers that were seen. ``complete`` is True where the SA told of all that it knows, None where only the one
    that the port was told of was asked, False where an answer could not be read. ``named`` is None where the ports are
    not known.
    """

    managers: tuple[SubnetManager, ...]
    complete: bool | None = None
    problems: tuple[Problem, ...] = ()
    named: tuple[NamedLid, ...] | None = None
