"""The processes of a log: who spoke, where in the log, and which of them belong to one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from ibkit.transport.evidence import Mark

P = TypeVar("P", bound="Process")


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

    def is_before(self, other: Process) -> bool:
        """Whether its last word is known to be earlier than the other's first."""
        return self.first.order == other.first.order and self.last.is_before(other.first)


class Group(Generic[P]):
    """Processes of one run."""

    def __init__(self, processes: Iterable[P]) -> None:
        self.processes = list(processes)

    def ends_before(self, other: Group[P]) -> bool:
        """Whether all of it is known to be over before the other begins."""
        return all(mine.is_before(theirs) for mine in self.processes for theirs in other.processes)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Its hosts in the order in which they spoke."""
        return tuple(dict.fromkeys(process.host for process in self.processes if process.host is not None))


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
    parents = list(range(size))

    def root(thing: int) -> int:
        while parents[thing] != thing:
            parents[thing] = parents[parents[thing]]
            thing = parents[thing]
        return thing

    for one, other in pairs:
        low, high = sorted((root(one), root(other)))
        parents[high] = low
    return [root(thing) for thing in range(size)]


class Hosts:
    """Host names as one log spells them: short and full names of one host are one name.

    A short name that belongs to one full name is that host's; addresses are never shortened.
    """

    def __init__(self, names: Iterable[str]) -> None:
        full: dict[str, set[str]] = {}
        for name in names:
            full.setdefault(_short(name), set()).add(name)
        self._names = {
            name: short
            for short, spellings in full.items()
            if short in spellings and len(spellings) == 2
            for name in spellings
        }

    def __getitem__(self, name: str) -> str:
        return self._names.get(name, name)

    def all(self, names: Iterable[str | None]) -> Iterator[str]:
        """The known ones, each once."""
        yield from dict.fromkeys(self[name] for name in names if name)


def _short(name: str) -> str:
    return name if name.replace(".", "").isdigit() else name.split(".", 1)[0]
