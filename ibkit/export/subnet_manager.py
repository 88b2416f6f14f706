"""Subnet managers as a document for other programs (schema ibkit.sm/1) and as rows. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ibkit.model.subnet_manager import SubnetManagers

SCHEMA = "ibkit.sm/1"

COLUMNS = ("guid", "lid", "state", "priority", "activity", "activity_moving", "name")


def sm_document(managers: SubnetManagers) -> dict[str, Any]:
    """The managers in order of GUID."""
    return {
        "schema": SCHEMA,
        "managers": [
            {
                "guid": None if manager.guid is None else str(manager.guid),
                "lid": manager.lid,
                "state": manager.state,
                "priority": manager.priority,
                "activity": manager.activity,
                "activity_moving": manager.activity_moving,
                "name": manager.name,
            }
            for manager in managers.managers
        ],
        "named": None if managers.named is None else [{"lid": lid, "ports": ports} for lid, ports in managers.named],
        "complete": managers.complete,
        "problems": [problem._asdict() for problem in managers.problems],
    }


def sm_rows(managers: SubnetManagers) -> Iterator[list[Any]]:
    """One row per manager in the order of COLUMNS."""
    for manager in managers.managers:
        moving = manager.activity_moving
        yield [*manager[:5], None if moving is None else "yes" if moving else "no", manager.name]
