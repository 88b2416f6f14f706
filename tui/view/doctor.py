"""What the doctor says of a host: what ibkit can see there, and what mends the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ibkit.model import checks
from ibkit.model.checks import Check, HostChecks
from ibkit.tui.view.level import INFO, OK, UNKNOWN, WARNING
from ibkit.tui.view.lines import Line, facts, span
from ibkit.tui.view.notices import Notice, Target
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("Host", flexible=True, least=8),
    Column("Check"),
    Column("State", tinted=True),
    Column("What", flexible=True, least=30),
    Column("Mend", flexible=True, least=20, drop=1, unknown=""),
)


class CheckKey(NamedTuple):
    """A check of a host."""

    host: str
    check: Check


def judge(check: Check) -> int:
    """What is missing hides something from ibkit or from a job: to be looked at."""
    return {checks.OK: OK, checks.UNKNOWN: UNKNOWN}.get(check.state, WARNING)


def check_table(hosts: Sequence[HostChecks]) -> Table:
    """One row for each check, the bad ones first; the host is a column only where there are several."""
    several = len(hosts) > 1
    rows = []
    for host in hosts:
        for check in host.checks:
            values = (host.host, check.id, check.state, check.text, check.fixes[0].command if check.fixes else None)
            rows.append(Row(CheckKey(host.host, check), judge(check), values if several else values[1:]))
    rows.sort(key=lambda row: -row.level)
    return Table("check", COLUMNS if several else COLUMNS[1:], rows)


def check_lines(check: Check) -> list[Line]:
    """A check in full: what was seen, what follows, what mends it."""
    fixes = [("mend", (span(_fix(fix), "fix"),)) for fix in check.fixes]
    return facts([("seen", check.text), ("so", check.means), *fixes], indent=" ")


def _fix(fix: checks.Fix) -> str:
    return fix.command if fix.system == "any" else f"{fix.command}   ({fix.system})"


def notices(host: HostChecks) -> list[Notice]:
    """All that is to be mended on a host, in one line: it is about seeing, not about the fabric's health."""
    bad = [check for check in host.checks if judge(check) == WARNING]
    if not bad:
        return []
    what = f"the doctor would mend: {', '.join(check.id for check in bad)}"
    return [Notice(INFO, what, f"host {host.host}".rstrip(), Target("doctor"))]
