"""Addresses that were asked for: GID, path and where each comes from; one of them in full."""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.model.path_record import PathRecord
from ibkit.model.resolution import FINDING, RESOLVED, Answer, Resolution
from ibkit.tui.view.level import OK, UNKNOWN, WARNING
from ibkit.tui.view.lines import BLANK, Line, facts, heading
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("Asked", flexible=True, least=12),
    Column("Answer", tinted=True),
    Column("GID", flexible=True, least=20),
    Column("P_Key", drop=4),
    Column("DLID", right=True, drop=1),
    Column("SL", right=True, drop=6),
    Column("MTU", right=True, drop=5),
    Column("Gb/s", right=True, drop=3),
    Column("Node", flexible=True, least=12, turn=1, drop=2, unknown="-"),
    Column("From", drop=2),
)
LEVELS = {RESOLVED: OK, FINDING: WARNING}


def table(resolutions: Sequence[Resolution]) -> Table:
    """A row for each answer, what was asked last on top."""
    rows = [
        Row(answer, LEVELS.get(answer.status, UNKNOWN), _values(answer))
        for resolution in resolutions
        for answer in resolution.answers
    ]
    return Table("answer", COLUMNS, rows)


def lines(answer: Answer) -> list[Line]:
    """The answer in full: the path, what each source says, what is missing or contradicts."""
    path = answer.path or PathRecord()
    told = ", ".join(f"{name} {value}" for name, value in path._asdict().items() if value is not None)
    port = answer.source_port
    pairs = [
        ("GID", str(answer.gid) if answer.gid is not None else "not known"),
        ("from", f"{port.device} port {port.port}, LID {port.lid or '-'}" if port else "-"),
        ("path", told or "not known"),
    ]
    found = facts(pairs, " ")
    if answer.problems:
        found += facts([(problem.kind, problem.text) for problem in answer.problems], " ")
    if answer.claims:
        found += [BLANK, heading(" What each source says")]
        found += facts([(claim.via, f"{claim.gid or '-'}  {claim.detail}") for claim in answer.claims], " ")
    if answer.roce:
        choice = answer.roce
        found += [BLANK, heading(" RoCE")]
        index = "not known" if choice.gid_index is None else str(choice.gid_index)
        found += facts([("GID index", f"{index}: {choice.why}")], " ")
        found += facts([(pick.runtime, f"{pick.setting or '-'} ({pick.why})") for pick in choice.picks], " ")
    if answer.routed:
        found += [BLANK, heading(" Across routers")]
        found += facts([(f"{step.number} {step.state}", f"{step.what}: {step.text}") for step in answer.routed], " ")
    return found


def _values(answer: Answer) -> tuple[object, ...]:
    path = answer.path or PathRecord()
    rate = None if path.rate_gbps is None else f"{path.rate_gbps:g}"
    return (
        answer.query, answer.status, answer.gid, answer.pkey, path.dlid, path.sl, path.mtu_bytes, rate, answer.name,
        ", ".join(answer.told_by) or None,
    )  # fmt: skip
