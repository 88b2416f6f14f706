"""The processes of a log: who spoke, where in the log, and which of them belong to one run."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from ibkit.model.components import components
from ibkit.transport.evidence import Mark

#: More runs are taken for one with the last of these: to tell them apart costs the square of their number.
MAX_RUNS = 1000


class Process:
    """One process of a job, known by host and pid. A host that a log masks is one host by its mask."""

    def __init__(self, host: str | None, pid: int | None, mark: Mark) -> None:
        self.host = host
        self.pid = pid
        self.first = mark
        self.last = mark

    def saw(self, mark: Mark) -> None:
        """It spoke again."""
        if mark.order == self.last.order and mark.line > self.last.line:
            self.last = mark


class Span:
    """The lines from the first to the last word of some processes, while they are all in one file."""

    def __init__(self, processes: Iterable[Process]) -> None:
        self.order: int | None = None
        self.first = 0
        self.last = -1
        for process in processes:
            self._widen(process.first.order, process.first.line, process.last.line)

    def _widen(self, order: int | None, first: int, last: int) -> None:
        if self.last < 0:
            self.order, self.first, self.last = order, first, last
        else:
            self.order = order if order == self.order else None
            self.first, self.last = min(self.first, first), max(self.last, last)

    def add(self, other: Span) -> None:
        """Take in another span."""
        self._widen(other.order, other.first, other.last)

    def ends_before(self, other: Span) -> bool:
        """Whether all of it is known to be over before the other begins."""
        return self.order is not None and self.order == other.order and self.last < other.first


class Launches:
    """The places of the launchers' command lines."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        self._lines: dict[int, list[int]] = {}
        for mark in marks:
            self._lines.setdefault(mark.order, []).append(mark.line)
        for lines in self._lines.values():
            lines.sort()

    def between(self, order: int | None, first: int, last: int) -> int:
        """How many there are with first < line <= last in a file."""
        lines = self._lines.get(order, []) if order is not None else []
        return bisect_right(lines, last) - bisect_right(lines, first)

    def separate(self, one: Span, other: Span) -> bool:
        """Whether one span ends before a command line, or the line behind a run's end, up to where the other begins."""
        return one.ends_before(other) and self.between(one.order, one.last, other.first) > 0


def overlaps(processes: Sequence[Process]) -> Iterator[tuple[int, int]]:
    """Pairs of processes whose lines are interleaved, enough of them to connect all that are."""
    order = sorted(range(len(processes)), key=lambda n: (processes[n].first.order, processes[n].first.line))
    open_until: dict[int, tuple[int, int]] = {}
    for number in order:
        process = processes[number]
        last, widest = open_until.get(process.first.order, (-1, number))
        if process.first.line <= last:
            yield widest, number
        end = process.last.line if process.last.order == process.first.order else process.first.line
        if end > last:
            open_until[process.first.order] = end, number


def unions(pairs: Iterable[tuple[int, int]], size: int) -> list[int]:
    """For each of ``size`` things the smallest number that it is connected with.

    >>> unions([(0, 2), (2, 3)], 5)
    [0, 1, 0, 0, 4]
    """
    found = components(pairs)
    least: dict[int, int] = {}
    return [least.setdefault(found.get(thing, thing), thing) for thing in range(size)]
