"""Which are the job's runs, of those that an MPI itself tells of, and of those that Open MPI's or UCX's processes do.

Intel MPI, MPICH and MVAPICH2 name what they send with. Where that is UCX (Intel MPI's provider mlx), UCX's own lines
say more; where it is not, UCX's lines beside them are another library's in the same ranks, or a test's
(``ucx_perftest``). Open MPI is an MPI of its own: its processes are a run whatever else is in the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ibkit.transport.evidence import Mark
from ibkit.transport.logs.mpi_runs import Parts, own_lines_of
from ibkit.transport.logs.processes import Launches
from ibkit.transport.logs.providers import Group


class Kept(NamedTuple):
    """The runs that are the job's; ``above`` is the MPI by whose word UCX carries the run, by the run's place."""

    groups: list[Group]
    parts: list[Parts]
    above: dict[int, str]


def kept(
    groups: Sequence[Group],
    parts: Sequence[Parts],
    launches: Iterable[Mark],
    headers: Iterable[Mark],
    *,
    has_ucx_netmod: bool,
) -> Kept:
    """The runs that count; ``has_ucx_netmod``: MPICH's module for UCX speaks, too."""
    launches = list(launches)
    borders = Launches([*launches, *headers]), Launches(launches)
    places = [[regions(group.marks(), border) for group in groups] for border in borders]
    told: list[Parts] = []
    explained: set[int] = set()
    above: dict[int, str] = {}
    for part in parts:
        if is_openmpi(part):
            told.append(part)
            continue
        near: list[int] = []
        for border, theirs in zip(borders, places, strict=True):
            ours = regions(own_lines_of(part), border)
            near = near or [n for n, group in enumerate(groups) if _are_one(ours, theirs[n], is_ucx=group.is_ucx)]
        over_ucx = [number for number in near if groups[number].is_ucx]
        if not _is_test(part) and (over_ucx or has_ucx_netmod or not near):
            if over_ucx:
                above[len(told)] = groups[over_ucx[0]].providers[0][0].runtime
            elif has_ucx_netmod:
                above[len(told)] = "MPICH"
            told.append(part)
            explained.update(over_ucx)
    # A run that repeats another one's words has lines of UCX that repeat them, too.
    layouts = {_layout(groups[number]) for number in explained}
    rest = [group for number, group in enumerate(groups) if number not in explained]
    return Kept([group for group in rest if not (group.is_ucx and _layout(group) in layouts)], told, above)


def first_of(part: Parts) -> Mark:
    """Where a run says something for the first time."""
    marks = [process.first for process in part.processes] + [mark for _, _, mark in part.tables]
    return min(marks or [mark for _, mark in part.failures], key=lambda mark: (mark.order, mark.line))


def is_openmpi(part: Parts) -> bool:
    """Whether Open MPI's processes tell of it."""
    return bool(part.tables) or any(process.is_openmpis for process in part.processes)


def regions(marks: Iterable[Mark], borders: Launches) -> set[tuple[int, int]]:
    """Where these lines stand: the file, and how many borders stand before them there."""
    return {(mark.order, borders.between(mark.order, 0, mark.line)) for mark in marks}


def _layout(group: Group) -> frozenset[tuple[int, str | None]]:
    return frozenset((place.rank, place.host) for place, _ in group.places)


def _is_test(part: Parts) -> bool:
    contexts = [context for process in part.processes for context, _ in process.endpoints]
    return bool(contexts) and set(contexts) == {"perftest"}


def _are_one(ours: set[tuple[int, int]], theirs: set[tuple[int, int]], *, is_ucx: bool) -> bool:
    """Whether they have a place between two borders in common. In different files UCX is one with mlx only."""
    is_elsewhere = {order for order, _ in ours}.isdisjoint(order for order, _ in theirs)
    return not ours.isdisjoint(theirs) or (is_ucx and is_elsewhere)
