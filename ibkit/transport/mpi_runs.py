"""Which processes, tables and messages of an MPI log belong to one run; runs are told apart where that is certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ibkit.parsers import openmpi
from ibkit.parsers.job_facts import Failure, Setting
from ibkit.transport.evidence import File, Mark
from ibkit.transport.mpi import Evidence, MpiProcess
from ibkit.transport.processes import Group, overlaps, unions

Table = tuple[openmpi.CommMethod, File, Mark]


class Parts(NamedTuple):
    """What one run left in the logs."""

    processes: list[MpiProcess]
    tables: list[Table]
    failures: list[tuple[Failure, Mark]]
    settings: list[tuple[Setting, Mark]]


def runs(evidence: Evidence, launches: Sequence[Mark]) -> list[Parts]:
    """The runs in the order of the log.

    Two runs have different job families of Open MPI, or a launcher's command line between all their lines, or tables
    of other hosts and ranks. What has no process belongs to the run in whose lines it stands, or that it is nearest to.
    """
    groups = _groups(evidence.processes, launches)
    if not groups:
        return _by_table(evidence)
    if len(groups) == 1:
        return [Parts(groups[0].processes, evidence.tables, evidence.failures, evidence.settings)]
    parts = [Parts(group.processes, [], [], []) for group in groups]
    for table in evidence.tables:
        parts[_nearest(groups, launches, table[2])].tables.append(table)
    for failure, mark in evidence.failures:
        parts[_nearest(groups, launches, mark)].failures.append((failure, mark))
    owners = {id(process): index for index, group in enumerate(groups) for process in group.processes}
    for setting, mark in evidence.settings:
        process = evidence.by_key.get((setting.said.host, setting.said.pid))
        if process is not None:
            parts[owners[id(process)]].settings.append((setting, mark))
        elif any(p.first.order == mark.order for group in groups for p in group.processes):
            parts[_nearest(groups, launches, mark)].settings.append((setting, mark))
        else:
            for part in parts:
                part.settings.append((setting, mark))
    return parts


def _groups(processes: list[MpiProcess], launches: Sequence[Mark]) -> list[Group[MpiProcess]]:
    together = list(overlaps(processes))
    first_of_family: dict[int, int] = {}
    for number, process in enumerate(processes):
        if process.family is not None:
            together.append((first_of_family.setdefault(process.family, number), number))
    by_root: dict[int, Group[MpiProcess]] = {}
    for number, root in enumerate(unions(together, len(processes))):
        by_root.setdefault(root, Group([])).processes.append(processes[number])
    found: list[Group[MpiProcess]] = []
    for group in sorted(by_root.values(), key=lambda g: min((p.first.order, p.first.line) for p in g.processes)):
        same = next((other for other in found if not _are_apart(other, group, launches)), None)
        if same is None:
            found.append(group)
        else:
            same.processes += group.processes
    return found


def _are_apart(one: Group[MpiProcess], other: Group[MpiProcess], launches: Sequence[Mark]) -> bool:
    mine, theirs = _families(one), _families(other)
    if mine and theirs and not mine & theirs:
        return True
    return one.ends_before(other) and any(
        all(p.last.is_before(mark) for p in one.processes) and all(mark.is_before(p.first) for p in other.processes)
        for mark in launches
    )


def _families(group: Group[MpiProcess]) -> set[int]:
    return {process.family for process in group.processes if process.family is not None}


def _nearest(groups: list[Group[MpiProcess]], launches: Sequence[Mark], mark: Mark) -> int:
    """The run of a line: of those that no command line separates from it, the one with the nearest line."""

    def distance(index: int) -> tuple[int, int]:
        lines = [m.line for p in groups[index].processes for m in (p.first, p.last) if m.order == mark.order]
        if not lines:
            return 1 << 30, 0
        low, high = sorted((mark.line, min(lines, key=lambda line: abs(line - mark.line))))
        between = sum(1 for launch in launches if launch.order == mark.order and low < launch.line <= high)
        is_launch = any(launch.order == mark.order and launch.line == mark.line for launch in launches)
        if is_launch and mark.line > min(lines):
            between += 1
        inside = min(lines) <= mark.line <= max(lines)
        return between, 0 if inside else min(abs(line - mark.line) for line in lines)

    return min(range(len(groups)), key=distance)


def _by_table(evidence: Evidence) -> list[Parts]:
    """No process spoke: tables of different hosts or ranks are different runs; equal ones one run's start and end."""
    layouts = list(dict.fromkeys(table.hosts for table, _, _ in evidence.tables))
    if len(layouts) < 2:
        return [Parts([], evidence.tables, evidence.failures, evidence.settings)]
    return [
        Parts(
            [],
            [entry for entry in evidence.tables if entry[0].hosts == layout],
            evidence.failures if not index else [],
            [],
        )
        for index, layout in enumerate(layouts)
    ]
