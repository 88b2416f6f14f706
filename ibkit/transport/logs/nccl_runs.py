"""Which NCCL processes belong to one run. Runs are told apart only where that is certain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibkit.transport.evidence import Mark
from ibkit.transport.logs.attempts import Attempts
from ibkit.transport.logs.nccl import Channel, Evidence
from ibkit.transport.logs.processes import MAX_RUNS, Launches, Span, overlaps, unions


class _Group:
    """Processes of one run."""

    def __init__(self, evidence: Evidence, numbers: Iterable[int], channels: dict[int, list[Channel]]) -> None:
        self.numbers = list(numbers)
        processes = [evidence.processes[number] for number in self.numbers]
        self.orders = {process.first.order for process in processes}
        self.span = Span(processes)
        self.first = processes[0].first
        #: Ranks by the size of their communicator.
        self.ranks: dict[int, set[int]] = {}
        for process in processes:
            for key, ranks in process.ranks.items():
                self.ranks.setdefault(evidence.sizes[key], set()).update(ranks)
        said = [channels[number] for number in self.numbers if number in channels]
        self.speaking = len(said)
        self.speaks = {channel.speaker for found in said for channel in found}
        self.names = {rank for found in said for c in found for rank in (c.source, c.target) if rank is not None}

    def add(self, other: _Group) -> None:
        """Take in another group of the same run."""
        self.numbers += other.numbers
        self.orders |= other.orders
        self.span.add(other.span)
        for size, ranks in other.ranks.items():
            self.ranks.setdefault(size, set()).update(ranks)
        self.speaking += other.speaking
        self.speaks |= other.speaks
        self.names |= other.names

    def closed(self) -> set[int]:
        """The ranks that these processes speak as, if several processes speak and no other rank is named."""
        return self.speaks if self.speaking > 1 and self.names <= self.speaks else set()


def runs(evidence: Evidence, launches: Sequence[Mark], attempts: Attempts) -> list[list[int]]:
    """The numbers of each run's processes, in the order of the log.

    Processes of one communicator, and processes whose lines are interleaved, are together. Two such groups are two
    runs if they are different attempts, if a launcher's command line stands between them, or if one is over before the
    other begins and both have the same rank of their largest communicator (in two files: that alone, as a rank exists
    once in a run).
    """
    commands = Launches(launches)
    found: list[_Group] = []
    for group in sorted(_groups(evidence), key=lambda group: _start(evidence, group)):
        same = next((run for run in found if not _are_apart(run, group, commands, attempts)), None)
        if same is None and len(found) < MAX_RUNS:
            found.append(group)
        else:
            (same or found[-1]).add(group)
    return [group.numbers for group in found]


def _groups(evidence: Evidence) -> list[_Group]:
    together = list(overlaps(evidence.processes))
    for key, members in evidence.members.items():
        if key[0] != "size":
            numbers = sorted(set().union(*members.values()))
            together += [(numbers[0], number) for number in numbers[1:]]
    by_root: dict[int, list[int]] = {}
    for number, root in enumerate(unions(together, len(evidence.processes))):
        by_root.setdefault(root, []).append(number)
    channels: dict[int, list[Channel]] = {}
    for channel in evidence.channels:
        channels.setdefault(channel.process, []).append(channel)
    return [_Group(evidence, numbers, channels) for numbers in by_root.values()]


def _start(evidence: Evidence, group: _Group) -> tuple[int, int]:
    return min((evidence.processes[n].first.order, evidence.processes[n].first.line) for n in group.numbers)


def _are_apart(one: _Group, other: _Group, launches: Launches, attempts: Attempts) -> bool:
    if launches.separate(one.span, other.span) or attempts.are_apart(one.first, other.first):
        return True
    is_after = one.span.ends_before(other.span)
    if not is_after and one.orders & other.orders:
        return False
    if one.ranks and other.ranks:
        size = max(one.ranks)
        return size == max(other.ranks) and bool(one.ranks[size] & other.ranks[size])
    return is_after and bool(one.closed() & other.closed())
