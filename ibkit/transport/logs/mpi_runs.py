"""Which processes, tables and messages of an MPI log belong to one run; runs are told apart where that is certain."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from ibkit.parsers import openmpi
from ibkit.parsers.job_facts import Failure, Setting
from ibkit.transport.evidence import File, Mark
from ibkit.transport.logs.attempts import Attempts
from ibkit.transport.logs.mpi import Evidence, MpiProcess
from ibkit.transport.logs.processes import MAX_RUNS, Launches, Span, overlaps, unions
from ibkit.transport.logs.run_settings import settings_of_runs
from ibkit.transport.logs.versions import lines_of

Table = tuple[openmpi.CommMethod, File, Mark]


class Parts(NamedTuple):
    """What one run left in the logs."""

    processes: list[MpiProcess]
    tables: list[Table]
    failures: list[tuple[Failure, Mark]]
    settings: list[tuple[Setting, Mark]]


def own_lines_of(part: Parts) -> list[Mark]:
    """The first and the last line of each of its processes; where it has none, its failures."""
    own = [mark for process in part.processes for mark in (process.first, process.last)]
    return own or [mark for _, mark in part.failures]


def all_lines_of(part: Parts) -> list[Mark]:
    """The same, and those of its tables."""
    tables = [mark for _, _, mark in part.tables]
    return [mark for process in part.processes for mark in (process.first, process.last)] + tables or own_lines_of(part)


class _Group:
    """Processes of one run."""

    def __init__(self, processes: list[MpiProcess]) -> None:
        self.processes = processes
        self.first = processes[0].first
        self.span = Span(processes)
        self.families = {process.family for process in processes if process.family is not None}
        self.keys = {(process.host, process.pid) for process in processes if process.pid is not None}
        #: First and last line in each file.
        self.lines: dict[int, tuple[int, int]] = {}
        for process in processes:
            self._widen(process.first.order, process.first.line, process.last.line)

    @property
    def is_openmpis(self) -> bool:
        """Whether any of them says what only Open MPI's processes do."""
        return bool(self.families) or any(process.is_openmpis for process in self.processes)

    def has_among_its_lines(self, mark: Mark) -> bool:
        """Whether a line stands between their first and their last one."""
        first, last = self.lines.get(mark.order, (mark.line + 1, mark.line))
        return first <= mark.line <= last

    def _widen(self, order: int, first: int, last: int) -> None:
        known = self.lines.get(order, (first, last))
        self.lines[order] = min(known[0], first), max(known[1], last)

    def add(self, other: _Group) -> None:
        """Take in another group of the same run."""
        self.processes += other.processes
        self.span.add(other.span)
        self.families |= other.families
        self.keys |= other.keys
        for order, (first, last) in other.lines.items():
            self._widen(order, first, last)


def runs(
    evidence: Evidence, launches: Sequence[Mark], attempts: Attempts, ucx_netmods: Sequence[Mark] = ()
) -> list[Parts]:
    """The runs in the order of the log. ``ucx_netmods``: where MPICH's module for UCX speaks.

    Two runs have different job families of Open MPI, or a process each with the same host and pid, or a launcher's
    command line between all their lines, or are different attempts of a job, or have tables of other hosts and ranks,
    or one is Open MPI's and the other one UCX's under MPICH.
    A table, or a queue pair that broke, between two command lines is a run of its own where no process speaks there.
    Where lines of several runs are interleaved they are taken for one, unless every process tells its job family.
    What has no process belongs to the run in whose lines it stands, or that it is nearest to.
    """
    parts = _parts(evidence, launches, attempts, ucx_netmods)
    owners = {id(process): number for number, part in enumerate(parts) for process in part.processes}

    def speaker(setting: Setting, _: Mark) -> int | None:
        process = _speaker(evidence, setting)
        return owners.get(id(process)) if process is not None else None

    lines = [lines_of(all_lines_of(part)) for part in parts]
    own = settings_of_runs(evidence.settings, lines, launches, attempts, speaker)
    return [part._replace(settings=settings) for part, settings in zip(parts, own, strict=True)]


def _parts(
    evidence: Evidence, launches: Sequence[Mark], attempts: Attempts, ucx_netmods: Sequence[Mark]
) -> list[Parts]:
    """The runs without their settings."""
    commands = Launches(launches)
    groups = _groups(evidence.processes, commands, attempts, ucx_netmods, by_family=_are_told_apart(evidence))
    if not groups:
        return _by_table(evidence, commands)
    silent = _silent_runs(evidence, groups, commands)
    if len(groups) == 1 and not silent:
        return [Parts(groups[0].processes, evidence.tables, evidence.failures, [])]
    parts = [Parts(group.processes, [], [], []) for group in groups]
    for table in evidence.tables:
        own = silent.get(_region(table[2], commands)) or parts[_nearest(groups, commands, table[2])]
        own.tables.append(table)
    owners = {id(process): index for index, group in enumerate(groups) for process in group.processes}
    for failure, mark in evidence.failures:
        if speaker := _speaker(evidence, failure):
            own = parts[owners[id(speaker)]]
        else:
            own = silent.get(_region(mark, commands)) or parts[_nearest(groups, commands, mark)]
        own.failures.append((failure, mark))
    return sorted([*parts, *silent.values()], key=_start) if silent else parts


def _speaker(evidence: Evidence, fact: Failure | Setting) -> MpiProcess | None:
    """The process that tells it, if no other one has had its host and pid."""
    process = evidence.by_key.get((fact.said.host, fact.said.pid)) if fact.said.pid is not None else None
    return process if process is not None and process.generation == 0 else None


def _region(mark: Mark, launches: Launches) -> tuple[int, int]:
    """Where a line stands: the file, and behind how many command lines."""
    return mark.order, launches.between(mark.order, 0, mark.line)


def _silent_runs(evidence: Evidence, groups: Sequence[_Group], launches: Launches) -> dict[tuple[int, int], Parts]:
    """Runs that only a table, or a queue pair that broke, tells of: command lines part these from all processes' lines
    in their file. By their places.
    """
    spoken: dict[int, list[tuple[int, int]]] = {}
    for group in groups:
        for order, (first, last) in group.lines.items():
            places = launches.between(order, 0, first), launches.between(order, 0, last)
            spoken.setdefault(order, []).append(places)
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for order, spans in spoken.items():
        spans.sort()
        starts[order] = [first for first, _ in spans]
        ends[order] = list(accumulate((last for _, last in spans), max))

    def is_spoken(order: int, place: int) -> bool:
        before = bisect_right(starts[order], place)
        return before > 0 and ends[order][before - 1] >= place

    telling = [mark for one, mark in evidence.failures if one.topic == "broken" and not _speaker(evidence, one)]
    telling += [mark for _, _, mark in evidence.tables]
    found = {_region(mark, launches) for mark in telling if mark.order in spoken}
    silent = sorted(region for region in found if not is_spoken(*region))
    return {region: Parts([], [], [], []) for region in silent[: MAX_RUNS - len(groups)]}


def _start(part: Parts) -> tuple[int, int]:
    """Where a run's first line stands."""
    lines = [process.first for process in part.processes] or [mark for _, _, mark in part.tables]
    return min((mark.order, mark.line) for mark in lines or [mark for _, mark in part.failures])


def _are_told_apart(evidence: Evidence) -> bool:
    """Whether each process tells which mpirun it is of, and nothing is told that nobody says of himself."""
    has_more = evidence.failures or evidence.tables or any(setting.said.pid is None for setting, _ in evidence.settings)
    return not has_more and all(process.family is not None for process in evidence.processes)


def _groups(
    processes: list[MpiProcess],
    launches: Launches,
    attempts: Attempts,
    ucx_netmods: Sequence[Mark],
    *,
    by_family: bool,
) -> list[_Group]:
    sets: dict[int | None, list[int]] = {}
    for number, process in enumerate(processes):
        sets.setdefault(process.family if by_family else None, []).append(number)
    together = [
        (numbers[one], numbers[other])
        for numbers in sets.values()
        for one, other in overlaps([processes[number] for number in numbers])
    ]
    first_of_family: dict[tuple[int, int], int] = {}
    generations: dict[tuple[int, int], int] = {}
    for number, process in sorted(enumerate(processes), key=lambda entry: (entry[1].first.order, entry[1].first.line)):
        if process.family is not None:
            # whoever speaks first when others of its family have begun again is of that run
            place = process.family, process.first.order
            generations[place] = max(process.generation, generations.get(place, 0))
            family = process.family, generations[place]
            together.append((first_of_family.setdefault(family, number), number))
    by_root: dict[int, list[MpiProcess]] = {}
    for number, root in enumerate(unions(together, len(processes))):
        by_root.setdefault(root, []).append(processes[number])
    found: list[_Group] = []
    for group in sorted(
        map(_Group, by_root.values()), key=lambda g: min((o, first) for o, (first, _) in g.lines.items())
    ):
        same = next(
            (
                other
                for other in found
                if not _are_apart(other, group, launches, attempts) and not _are_two_mpis(other, group, ucx_netmods)
            ),
            None,
        )
        if same is None and len(found) < MAX_RUNS:
            found.append(group)
        else:
            (same or found[-1]).add(group)
    return found


def _are_apart(one: _Group, other: _Group, launches: Launches, attempts: Attempts) -> bool:
    if one.families and other.families and not one.families & other.families:
        return True
    if one.keys & other.keys:
        return True
    return launches.separate(one.span, other.span) or attempts.are_apart(one.first, other.first)


def _are_two_mpis(one: _Group, other: _Group, ucx_netmods: Sequence[Mark]) -> bool:
    """Whether one is Open MPI's, and of the other one only UCX speaks in a file in which MPICH's module for UCX does,
    but not among the first one's lines.
    """
    if one.is_openmpis == other.is_openmpis:
        return False
    openmpi, ucx = (one, other) if one.is_openmpis else (other, one)
    speaking = [mark for mark in ucx_netmods if mark.order in ucx.lines]
    return bool(speaking) and not any(openmpi.has_among_its_lines(mark) for mark in speaking)


def _nearest(groups: list[_Group], launches: Launches, mark: Mark) -> int:
    """The run of a line: of those that no command line separates from it, the one with the nearest line.

    A command line belongs to the run that follows it.
    """
    is_launch = launches.between(mark.order, mark.line - 1, mark.line) > 0

    def distance(index: int) -> tuple[int, int]:
        span = groups[index].lines.get(mark.order)
        if span is None:
            return 1 << 30, 0
        first, last = span
        if mark.line < first:
            return launches.between(mark.order, mark.line, first), first - mark.line
        if mark.line > last:
            return launches.between(mark.order, last, mark.line) + is_launch, mark.line - last
        return int(is_launch and mark.line > first), 0

    return min(range(len(groups)), key=distance)


def _by_table(evidence: Evidence, launches: Launches) -> list[Parts]:
    """No process spoke: tables of different hosts or ranks, and those with a command line between them, are different
    runs; equal ones one run's start and end.
    """

    def place(mark: Mark) -> int:
        return launches.between(mark.order, 0, mark.line)

    keys = list(dict.fromkeys((place(mark), table.hosts) for table, _, mark in evidence.tables))
    if len(keys) < 2:
        return [Parts([], evidence.tables, evidence.failures, [])]
    parts = {key: Parts([], [], [], []) for key in keys}
    at_place: dict[int, list[Parts]] = {}
    for key in keys:
        at_place.setdefault(key[0], []).append(parts[key])
    for table, file, mark in evidence.tables:
        parts[place(mark), table.hosts].tables.append((table, file, mark))
    for failure, mark in evidence.failures:
        at_place.get(place(mark), [parts[keys[0]]])[0].failures.append((failure, mark))
    return list(parts.values())
