"""Subnet managers of two views: who is the master, and what each says of itself."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.comparison.change import Change, Doubt, Where, changed, one_sided
from ibkit.model.ids import Guid
from ibkit.model.subnet_manager import MASTER, NO_SM, SubnetManager, SubnetManagers


def compare_managers(before: SubnetManagers, after: SubnetManagers) -> tuple[list[Change], list[Doubt]]:
    """All differences; the activity count, which is there to move, is none."""
    old, new = _by_guid(before), _by_guid(after)
    changes: list[Change] = []
    doubts: list[Doubt] = []
    was, is_now = _masters(before), _masters(after)
    if was is not None and is_now is not None and was != is_now:
        text = f"the master is {_named(new, is_now)}, before {_named(old, was)}"
        changes.append(Change("master-changed", Where(), _texts(was), _texts(is_now), text))
    for guid in sorted({*old, *new}):
        if guid in old and guid in new:
            changes += _differences(old[guid], new[guid])
        elif guid in old:
            _only_in(old[guid], after, "manager-lost", "answers no more", "manager-not-seen", changes, doubts)
        else:
            _only_in(new[guid], before, "manager-new", "is new", "manager-not-seen-before", changes, doubts)
    return changes, doubts


def _only_in(
    manager: SubnetManager, other: SubnetManagers, kind: str, said: str, doubtful: str, changes: list[Change],
    doubts: list[Doubt],
) -> None:  # fmt: skip
    """A manager that the other view has not: there none answers, or it lists all, or nobody knows of it."""
    value = {"guid": str(manager.guid), "lid": manager.lid, "state": manager.state, "priority": manager.priority}
    text = f"the subnet manager {_name(manager)} ({manager.state or 'state not known'})"
    if other.complete or _has_none(other):
        changes.append(one_sided(kind, _where(manager), value, f"{text} {said}", is_new=kind == "manager-new"))
    else:
        doubts.append(Doubt(doubtful, _where(manager), f"whether {text} {said}", "not all managers were asked there"))


def _differences(old: SubnetManager, new: SubnetManager) -> Iterator[Change]:
    where, name = _where(new), f"the subnet manager {_name(new)}"
    yield from changed("manager-state-changed", where, name, "the state", old.state, new.state)
    yield from changed("manager-priority-changed", where, name, "the priority", old.priority, new.priority)
    yield from changed("manager-lid-changed", where, name, "the LID", old.lid, new.lid)


def _by_guid(managers: SubnetManagers) -> dict[Guid, SubnetManager]:
    return {manager.guid: manager for manager in managers.managers if manager.guid}


def _masters(managers: SubnetManagers) -> frozenset[Guid] | None:
    """The masters; none where nobody answers, None where that is not known."""
    if _has_none(managers):
        return frozenset()
    found = frozenset(one.guid for one in managers.managers if one.state == MASTER and one.guid)
    return found or None


def _has_none(managers: SubnetManagers) -> bool:
    return not managers.managers and any(problem.kind == NO_SM for problem in managers.problems)


def _named(managers: dict[Guid, SubnetManager], guids: frozenset[Guid]) -> str:
    return " and ".join(_name(managers[guid]) for guid in sorted(guids)) or "nobody"


def _texts(guids: frozenset[Guid]) -> list[str]:
    return [str(guid) for guid in sorted(guids)]


def _name(manager: SubnetManager) -> str:
    return f"{manager.name.strip()} ({manager.guid})" if manager.name and manager.name.strip() else str(manager.guid)


def _where(manager: SubnetManager) -> Where:
    return Where(manager.guid, None, manager.name)
