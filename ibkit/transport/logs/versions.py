"""Which version of a runtime each run has: what its own ranks told, or a tool before it.

A rank tells its version where it starts (NCCL, UCX, Intel MPI, MPI_Get_library_version): a line between two runs is the
later one's, unless a launcher's command line stands behind it. A tool (``mpirun --version``, ``mpichversion``) tells
what is installed: of all runs behind it in its file, until it is asked again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from ibkit.transport.evidence import Mark
from ibkit.transport.logs.attempts import Attempts
from ibkit.transport.logs.processes import Launches

#: More than these lines are not kept.
MAX_TOLD = 10_000


class Told(NamedTuple):
    """A line that tells a version; ``pid`` is its speaker's, where it tells one."""

    runtime: str
    version: str
    mark: Mark
    pid: int | None = None

    @property
    def is_tools(self) -> bool:
        """Whether only a tool has these words: ``mpirun (Open MPI) 4.1.5``, not a rank of the job."""
        return "(Open MPI)" in self.mark.text

    @property
    def may_be_tools(self) -> bool:
        """Whether a tool and a rank say it alike: ``mpichversion`` prints what MPI_Get_library_version returns."""
        return self.is_tools or (
            self.runtime in ("MPICH", "MVAPICH", "MVAPICH2") and " Parameters" not in self.mark.text
        )


#: First and last line of a run, by file.
Lines = Mapping[int, tuple[Mark, Mark]]
#: The version of each runtime that is told of a run; None where two different ones are.
Versions = Mapping[str, str | None]


def lines_of(marks: Iterable[Mark]) -> Lines:
    """The first and the last of these lines in each file."""
    found: dict[int, tuple[Mark, Mark]] = {}
    for mark in marks:
        first, last = found.get(mark.order, (mark, mark))
        found[mark.order] = min(first, mark, key=_line), max(last, mark, key=_line)
    return found


def _line(mark: Mark) -> int:
    return mark.line


def agreed(told: Iterable[Told]) -> Versions:
    """The version of each runtime, of those that it told the first one; None where they differ.

    >>> mark = Mark(0, 1, "job.log", "", None, None)
    >>> agreed([Told("NCCL", "2.21.5", mark), Told("UCX", "1.14.0", mark), Told("UCX", "1.15.0", mark)])
    {'NCCL': '2.21.5', 'UCX': None}
    """
    found: dict[str, str | None] = {}
    for one in told:
        first = found.setdefault(one.runtime, one.version)
        if first is not None and not _are_one(first, one.version):
            found[one.runtime] = None
    return found


def _are_one(one: str, other: str) -> bool:
    """Whether two words are one version: 2.21.5 and, with what it was built for, 2.21.5+cuda12.4."""
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and long[len(short) :][:1] in ("", "+", "-")


def of_runs(
    told: Sequence[Told],
    runs: Sequence[Lines],
    launches: Launches,
    attempts: Attempts,
    speaker: Callable[[Told], int | None],
) -> list[Versions]:
    """What is told of each run; ``speaker`` is the run of a line's process, None where that is not known."""
    places: dict[int, _Runs] = {}
    own: list[list[Told]] = [[] for _ in runs]
    near: list[list[Told]] = [[] for _ in runs]
    tools: list[Told] = []
    for one in told:
        order = one.mark.order
        if order not in places:
            places[order] = _Runs(order, runs, launches, attempts)
        number = speaker(one)
        if number is not None:
            own[number].append(one)
        elif places[order].is_of_many(one):
            tools.append(one)
        elif len(runs) == 1 and not runs[0]:
            own[0].append(one)
        else:
            number, is_near = places[order].of(one)
            if number is not None:
                (near if is_near else own)[number].append(one)
    return [
        {**agreed(_in_force(tools, lines, places)), **agreed(near[number]), **agreed(own[number])}
        for number, lines in enumerate(runs)
    ]


def _in_force(tools: Sequence[Told], lines: Lines, places: Mapping[int, _Runs]) -> list[Told]:
    """Of what tools told in a file where the run has lines the last before its end; all that they told where no run has
    any.
    """
    found: dict[tuple[int, str], Told] = {}
    general: list[Told] = []
    for one in tools:
        order = one.mark.order
        if order in lines:
            if one.mark.is_before(lines[order][1]):
                found[order, one.runtime] = one
        elif not places[order].has_any:
            general.append(one)
    return list(found.values()) or general


_Entry = tuple[Mark, Mark, int]


def _later(one: _Entry, other: _Entry) -> _Entry:
    return one if one[1].line > other[1].line else other


class _Runs:
    """The runs that have lines in one file."""

    def __init__(self, order: int, runs: Sequence[Lines], launches: Launches, attempts: Attempts) -> None:
        self._launches = launches
        self._attempts = attempts
        here: list[_Entry] = [
            (lines[order][0], lines[order][1], number) for number, lines in enumerate(runs) if order in lines
        ]
        self._runs = sorted(here, key=lambda run: run[0].line)
        self._starts = [first.line for first, _, _ in self._runs]
        #: For each run the one with the last line of it and those before it.
        self._latest = list(accumulate(self._runs, _later))
        self.has_any = bool(self._runs)
        self._is_only = len(runs) == 1

    def is_of_many(self, one: Told) -> bool:
        """Whether a tool told it of all runs behind it. What a rank may have said, too, is a tool's only in the header,
        which a launcher's command line ends.
        """
        mark = one.mark
        if not self._runs:
            return one.may_be_tools and not self._is_only
        if one.is_tools:
            return self._starts[-1] > mark.line
        first = self._runs[0][0]
        is_in_header = mark.is_before(first) and not self._launches.between(mark.order, 0, mark.line)
        return one.may_be_tools and is_in_header and self._is_cut(mark, first)

    def of(self, one: Told) -> tuple[int | None, bool]:
        """The run of a line that no known process said, and whether it is only near to it: no other is nearer."""
        mark = one.mark
        if not self._runs:
            return (0 if self._is_only else None), True
        at = bisect_right(self._starts, mark.line)
        before = self._latest[at - 1] if at else None
        if before is not None and before[1].line >= mark.line:
            inside = [number for _, last, number in self._runs[:at] if last.line >= mark.line]
            return (inside[0] if len(inside) == 1 else None), False
        after = self._runs[at] if at < len(self._runs) else None
        if after is not None and not self._is_cut(mark, after[0]):
            return after[2], False
        if before is not None:
            is_of_it = not self._is_cut(before[1], mark) and not (after is not None and one.may_be_tools)
            return (before[2] if is_of_it else None), True
        is_header = after is not None and not self._launches.between(mark.order, 0, mark.line)
        return (after[2] if after is not None and is_header else None), True

    def _is_cut(self, one: Mark, other: Mark) -> bool:
        """Whether a command line, or a new attempt of the job, stands between two lines."""
        launches = self._launches.between(one.order, one.line, other.line - 1)
        return launches > 0 or self._attempts.are_apart(one, other)
