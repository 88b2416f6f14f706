"""Checks of hosts as documents: schema ibkit.doctor/1. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ibkit.export.problems import problems_of
from ibkit.model.checks import OK, UNKNOWN, HostChecks

SCHEMA = "ibkit.doctor/1"
COLUMNS = ("host", "check", "state", "text", "means", "fixes")


def verdict(hosts: Sequence[HostChecks]) -> str:
    """``finding`` where something is missing or does not work, ``unknown`` where a check cannot tell, else ``ok``."""
    states = {check.state for host in hosts for check in host.checks}
    if states - {OK, UNKNOWN}:
        return "finding"
    return "unknown" if UNKNOWN in states or not states else "ok"


def doctor_document(hosts: Sequence[HostChecks]) -> dict[str, Any]:
    """All of it."""
    return {
        "schema": SCHEMA,
        "verdict": verdict(hosts),
        "checks": [
            {
                "host": host.host or None,
                "check": check.id,
                "state": check.state,
                "text": check.text,
                "means": check.means,
                "fixes": [{"system": fix.system, "command": fix.command} for fix in check.fixes],
            }
            for host in hosts
            for check in host.checks
        ],
        "problems": [problem._asdict() for problem in problems_of(hosts)],
    }


def doctor_rows(hosts: Sequence[HostChecks]) -> Iterator[list[Any]]:
    """One row per check in the order of COLUMNS; ``fixes`` are separated by semicolons."""
    for host in hosts:
        for check in host.checks:
            fixes = "; ".join(fix.command for fix in check.fixes) or None
            yield [host.host or None, check.id, check.state, check.text, check.means, fixes]
