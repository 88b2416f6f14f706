"""Which NCCL processes belong to one run. Runs are told apart only where that is certain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibkit.transport.evidence import Mark
from ibkit.transport.nccl import Evidence, NcclProcess
from ibkit.transport.processes import Group, overlaps, unions


def runs(evidence: Evidence, launches: Sequence[Mark]) -> list[list[int]]:
    """The numbers of each run's processes, in the order of the log.

    Processes of one communicator, and processes whose lines are interleaved, are together. Two such groups are two
    runs if a launcher's command line stands between them, or if one is over before the other begins and both have
    the same rank of their largest communicator (in two files: that alone, as a rank exists once in a run).
    """
    size = len(evidence.processes)
    together = list(overlaps(evidence.processes))
    for key, members in evidence.members.items():
        if key[0] != "size":
            numbers = sorted(set().union(*members.values()))
            together += [(numbers[0], number) for number in numbers[1:]]
    groups: dict[int, list[int]] = {}
    for number, root in enumerate(unions(together, size)):
        groups.setdefault(root, []).append(number)
    speaking = _speaking(evidence)
    found: list[list[int]] = []
    for numbers in sorted(groups.values(), key=lambda numbers: _start(evidence, numbers)):
        same = next((run for run in found if not _are_apart(evidence, run, numbers, launches, speaking)), None)
        if same is None:
            found.append(list(numbers))
        else:
            same += numbers
    return found


def _start(evidence: Evidence, numbers: Iterable[int]) -> tuple[int, int]:
    return min((evidence.processes[n].first.order, evidence.processes[n].first.line) for n in numbers)


def _speaking(evidence: Evidence) -> dict[int, tuple[set[int], set[int]]]:
    """For each process the ranks that it speaks as in channel lines, and all ranks that it names there."""
    found: dict[int, tuple[set[int], set[int]]] = {}
    for channel in evidence.channels:
        speaks, names = found.setdefault(channel.process, (set(), set()))
        speaks.add(channel.speaker)
        names.update(rank for rank in (channel.source, channel.target) if rank is not None)
    return found


def _are_apart(
    evidence: Evidence,
    one: list[int],
    other: list[int],
    launches: Sequence[Mark],
    speaking: dict[int, tuple[set[int], set[int]]],
) -> bool:
    first: Group[NcclProcess] = Group(evidence.processes[n] for n in one)
    second: Group[NcclProcess] = Group(evidence.processes[n] for n in other)
    is_after = first.ends_before(second)
    if is_after and any(_is_between(mark, first, second) for mark in launches):
        return True
    if not is_after and {p.first.order for p in first.processes} & {p.first.order for p in second.processes}:
        return False
    mine, theirs = _world_ranks(evidence, one), _world_ranks(evidence, other)
    if mine and theirs:
        return bool(mine & theirs)
    return is_after and bool(_closed(one, speaking) & _closed(other, speaking))


def _is_between(mark: Mark, first: Group[NcclProcess], second: Group[NcclProcess]) -> bool:
    return all(p.last.is_before(mark) for p in first.processes) and all(
        mark.is_before(p.first) for p in second.processes
    )


def _world_ranks(evidence: Evidence, numbers: Iterable[int]) -> set[tuple[int, int]]:
    """Rank and size of the largest communicator of these processes."""
    found = [
        (rank, evidence.sizes[key])
        for number in numbers
        for key, ranks in evidence.processes[number].ranks.items()
        for rank in ranks
    ]
    largest = max((size for _, size in found), default=0)
    return {(rank, size) for rank, size in found if size == largest}


def _closed(numbers: list[int], speaking: dict[int, tuple[set[int], set[int]]]) -> set[int]:
    """The ranks that these processes speak as, if several processes speak and no other rank is named."""
    said = [speaking[number] for number in numbers if number in speaking]
    speaks = set().union(*(ranks for ranks, _ in said))
    names = set().union(*(ranks for _, ranks in said))
    return speaks if len(said) > 1 and names <= speaks else set()
