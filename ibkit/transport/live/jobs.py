"""The jobs that were watched: whose ranks belong together, which libraries they have, whether all of them are seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.collectors.job_processes import TORCH, is_shared
from ibkit.collectors.job_samples import JobWatch
from ibkit.parsers.base import Problem
from ibkit.transport.live.moves import Part

_MPI = ("libmpi", "libmpich", "libopen-pal")
_NCCL = ("libnccl.", "librccl.")
#: A library that only one runtime has; libmpi.so.12 is that of MPICH and its children.
_RUNTIMES = (("libopen-pal", "Open MPI"), ("libmpich.", "MPICH"), ("libnccl.", "NCCL"), ("librccl.", "RCCL"))
#: PyTorch's own, which Gloo is a part of. Ranks that torch's variables tell have no MPI, though Debian's links one.
_GLOO = ("libgloo", "libtorch_cpu")
#: Ranks that have no library of these or of RDMA: what a launcher has started need be no program of MPI.
TASKS = "tasks"
#: A meeting point that each host has for itself: these are jobs of their own.
_OF_ONE_HOST = tuple(f"{TORCH}{address}:" for address in ("localhost", "127.0.0.1", "::1", "[::1]"))


def jobs_of(watches: Sequence[JobWatch]) -> list[LiveJob]:
    """The jobs, each of which may be on several of the hosts, in the order in which they were found."""
    return [LiveJob(number, parts) for number, parts in enumerate(_parts_of_jobs(watches), 1)]


class LiveJob:
    """One job on the hosts that were looked at. ``layer`` is the data path that its ranks' libraries are, or ``tasks``;
    ``is_whole`` tells whether each rank was seen, on one host; ``problems`` say why not, where that is odd.
    """

    def __init__(self, number: int, parts: Sequence[Part]) -> None:
        self.number = number
        self.parts = parts
        self.problems: list[Problem] = []
        found = tuple(_libraries(parts))
        libraries = tuple(name for names in found for name in names or ())
        self.has_nccl = any(name.startswith(_NCCL) for name in libraries)
        self.layer = self._layer_name(libraries, is_seen=None not in found)
        self.runtime = self._runtime(libraries)
        sizes = {part.ranks.size for part in parts}
        self.size = sizes.pop() if len(sizes) == 1 else None
        self.is_whole = self._sees_all()

    @property
    def hosts(self) -> set[str]:
        """The hosts of those ranks that were seen."""
        return {part.host for part in self.parts}

    @property
    def process(self) -> str:
        """Its first process, as ``check-mpi-transport`` takes it; where there are other hosts, too, with its own."""
        first = self.parts[0]
        where = f" on {first.host}" if len(self.parts) > 1 else ""
        return f"pid:{min(first.ranks.ranks)}{where}"

    def _sees_all(self) -> bool:
        places: dict[int, set[str]] = {}
        for part in self.parts:
            for rank in part.ranks.ranks.values():
                if rank is None:
                    return False
                places.setdefault(rank, set()).add(part.host)
        twice = [rank for rank, hosts in places.items() if len(hosts) > 1]
        if twice:
            first = min(twice)
            text = (
                f"rank {first} is on {len(places[first])} hosts: these are several jobs, or recordings of several days"
            )
            self.problems.append(Problem("contradiction", text))
        return not twice and self.size is not None and set(places) == set(range(self.size))

    def _layer_name(self, libraries: Sequence[str], *, is_seen: bool) -> str:
        if is_seen and not libraries:
            return TASKS
        if self.parts[0].ranks.key.startswith(TORCH) and not self.has_nccl:
            return "gloo" if any(name.startswith(_GLOO) for name in libraries) else "mpi"
        if any(name.startswith(_MPI) for name in libraries):
            return "mpi"
        return "nccl" if self.has_nccl else "mpi"

    def _runtime(self, libraries: Sequence[str]) -> str | None:
        """Whose library the ranks have loaded, of which torch's ranks have more than they use."""
        if self.layer == "gloo":
            return None
        return next((name for library, name in _RUNTIMES if any(one.startswith(library) for one in libraries)), None)


def _parts_of_jobs(watches: Sequence[JobWatch]) -> list[list[Part]]:
    """The parts of each job: by what all its ranks share, else by ranks that make each other whole."""
    found: list[list[Part]] = []
    for watch in watches:
        for ranks in watch.jobs:
            part = Part(watch, ranks, is_alone=len(watches) == 1)
            same = next((parts for parts in found if _is_same(parts, part)), None)
            if same is None:
                found.append([part])
            else:
                same.append(part)
    return found


def _is_same(parts: Sequence[Part], part: Part) -> bool:
    mine, theirs = part.ranks, parts[0].ranks
    if any(one.host == part.host for one in parts) or mine.key.startswith(_OF_ONE_HOST):
        return False
    if is_shared(mine.key) or is_shared(theirs.key):
        return mine.key == theirs.key
    taken = {rank for one in parts for rank in one.ranks.ranks.values()}
    return mine.size is not None and mine.size == theirs.size and not taken & {*mine.ranks.values(), None}


def _libraries(parts: Sequence[Part]) -> Iterator[list[str] | None]:
    """The names of each rank's libraries of RDMA and MPI; None where these were not seen."""
    for part in parts:
        for pid in part.ranks.ranks:
            facts = part.watch.facts.get(pid)
            seen = facts.libraries if facts else None
            yield None if seen is None else [library.rpartition("/")[2] for library in seen]
