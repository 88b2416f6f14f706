"""How many ranks and hosts a job has, as far as its environment, its command lines or lists of hosts tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from ibkit.parsers.hostfile import Hosts
from ibkit.parsers.job_facts import Allocation, Setting
from ibkit.parsers.job_settings import Slots, slots

#: Nodes of a step, each of which has a rank; and of a job, some of which a launcher may leave without one.
_OF_STEP = frozenset(("nodes", "SLURM_STEP_NUM_NODES"))
_OF_JOB = frozenset(("SLURM_NNODES", "SLURM_JOB_NUM_NODES"))
_PER_NODE, _SRUNS, _OTHERS = "per-node", "tasks", "ranks"
_T = TypeVar("_T")
#: Lists of hosts by who says them, the closest to the ranks first. Slurm's do not tell how many ranks a host takes.
_BY_SLURM = ("SLURM_JOB_NODELIST", "SLURM_NODELIST", "scontrol")
_ALLOCATIONS = (
    ("SLURM_STEP_NODELIST",), ("command",), ("file",), ("LSB_HOSTS", "LSB_MCPU_HOSTS", "qstat", "bjobs"), _BY_SLURM,
)  # fmt: skip
_MAX_ALLOCATIONS = 1000


class Known(NamedTuple):
    """How many ranks and hosts the job has, where the environment or the command line tells; ``names`` are all of the
    hosts, where a list names them.
    """

    ranks: int | None = None
    hosts: int | None = None
    names: tuple[str, ...] = ()


class _Few(set[_T]):
    """Two different ones say as much as a thousand."""

    def add(self, thing: _T) -> None:
        if len(self) < 2:
            super().add(thing)


class Sizes:
    """Takes what tells numbers of ranks and hosts; ``listed`` are those of host files."""

    def __init__(self, listed: Iterable[Hosts] = ()) -> None:
        self._names: dict[str, None] = {}  # in order; the readers know a few
        self._ranks: dict[str, int] = {}
        self._of_step = _Few[int]()
        self._of_job = _Few[int]()
        self._slots = _Few[Slots]()
        self._per_node = 0
        self._allocations: list[tuple[str, Hosts]] = [("file", hosts) for hosts in listed]

    def count(self, setting: Setting) -> None:
        """Take a variable or an option that is a number."""
        self._names[setting.name] = None
        if room := None if setting.value.isdecimal() else slots(setting.value):
            self._slots.add(room)
        if not setting.value.isdecimal() or len(setting.value) >= 8:
            return
        number = int(setting.value)
        if setting.name in _OF_STEP:
            self._of_step.add(number)
        elif setting.name in _OF_JOB:
            self._of_job.add(number)
        elif setting.name == _PER_NODE:
            self._per_node = max(self._per_node, number)
        else:
            self._ranks[setting.name] = number

    def list_hosts(self, fact: Allocation) -> None:
        """Take a list of hosts."""
        if len(self._allocations) < _MAX_ALLOCATIONS:
            self._allocations.append((fact.source, Hosts(fact.hosts, fact.slots)))

    def signs(self) -> Iterator[str]:
        """The names of those who told it: a batch system is known by them."""
        yield from self._names
        yield from (source for source, _ in self._allocations)

    def known(self, *, fills_cores: bool) -> Known:
        """Numbers of ranks and hosts that the environment, the command lines or lists of hosts tell, if they agree.

        ``fills_cores`` is whether the launcher takes a host without a number of slots to have one for each core.
        """
        counts = set(self._ranks.values())
        count = counts.pop() if len(counts) == 1 else None
        kind, listed = self._listed()
        hosts: set[int | None] = set(self._of_step)
        used = None
        if listed is not None:
            used = self._used_of(listed, kind, count, fills_cores=fills_cores)
            hosts.add(used)
        for nodes in (*self._of_job, *(room.nodes for room in self._slots)):
            if nodes not in hosts:
                hosts.add(self._used(nodes, count))
        agreed = hosts.pop() if len(hosts) == 1 else None
        if len(set(self._ranks.values())) > 1 and agreed != 1:
            agreed = None  # how many ranks there are is not known, so neither is on how many hosts
        if agreed is not None and not self._is_room_needed(agreed, count):
            agreed = None
        return Known(count, agreed, listed.names if listed and used == agreed == len(listed.names) else ())

    def _used_of(self, listed: Hosts, kind: tuple[str, ...], count: int | None, *, fills_cores: bool) -> int | None:
        """How many hosts of this list have a rank."""
        if kind == _BY_SLURM:
            return self._used(len(listed.names), count)
        if listed.slots is None and count is not None and len(listed.names) > 1:
            if self._per_node:
                return len(listed.names) if self._is_room_needed(len(listed.names), count) else None
            if fills_cores:
                return None
        return listed.used(count)

    def _used(self, nodes: int, count: int | None) -> int | None:
        """How many nodes of a job of so many have a rank. srun puts one on each; other launchers fill a node before
        they take the next one.
        """
        if nodes == 1 or count is None:
            return nodes
        if _SRUNS in self._ranks and _OTHERS not in self._ranks:
            return nodes if count >= nodes else None
        enough = [room.ranks - room.least + 1 for room in self._slots]
        enough = enough or [self._ranks[name] for name in ("SLURM_NTASKS", "SLURM_NPROCS") if name in self._ranks]
        return nodes if enough and count >= max(enough) else None

    def _is_room_needed(self, hosts: int, count: int | None) -> bool:
        """Whether so many ranks need all of these hosts, as far as one takes only so many."""
        return not self._per_node or count is None or count > (hosts - 1) * self._per_node

    def _listed(self) -> tuple[tuple[str, ...], Hosts | None]:
        """The list of hosts that is closest to the ranks, if all of its kind name the same ones, and the kind."""
        for kind in _ALLOCATIONS:
            found = {frozenset(hosts.names): hosts for source, hosts in self._allocations if source in kind}
            if found:
                return kind, next(iter(found.values())) if len(found) == 1 else None
        return (), None
