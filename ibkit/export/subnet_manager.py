"""Subnet managers as a document for other programs (schema ibkit.sm/1) and as rows. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ibkit.model.subnet_manager import SubnetManagers

SCHEMA = "ibkit.sm/1"

COLUMNS = ("guid", "lid", "state", "priority", "activity")


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
            }
            for manager in managers.managers
        ],
        "complete": managers.complete,
        "problems": [
            {"kind": problem.kind, "text": problem.text, "line": problem.line, "source": problem.source}
            for problem in managers.problems
        ],
    }


def sm_rows(managers: SubnetManagers) -> Iterator[list[Any]]:
    """One row per manager in the order of COLUMNS."""
    for manager in managers.managers:
        yield list(manager)
