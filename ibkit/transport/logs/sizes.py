"""How many ranks and hosts a job has, as far as its environment, its command lines or lists of hosts tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ibkit.parsers.hostfile import Hosts
from ibkit.parsers.job_facts import Allocation, Setting

_NODE_COUNTS = frozenset(("nodes", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_NODES"))
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


class Sizes:
    """Takes what tells numbers of ranks and hosts; ``listed`` are those of host files."""

    def __init__(self, listed: Iterable[Hosts] = ()) -> None:
        self._names: dict[str, None] = {}  # in order; the readers know a few
        self._ranks: dict[str, int] = {}
        self._hosts: set[int] = set()
        self._allocations: list[tuple[str, Hosts]] = [("file", hosts) for hosts in listed]

    def count(self, setting: Setting) -> None:
        """Take a variable or an option that is a number."""
        self._names[setting.name] = None
        if not setting.value.isdecimal() or len(setting.value) >= 8:
            return
        if setting.name not in _NODE_COUNTS:
            self._ranks[setting.name] = int(setting.value)
        elif len(self._hosts) < 2:  # two different ones say as much as a thousand
            self._hosts.add(int(setting.value))

    def list_hosts(self, fact: Allocation) -> None:
        """Take a list of hosts."""
        if len(self._allocations) < _MAX_ALLOCATIONS:
            self._allocations.append((fact.source, Hosts(fact.hosts, fact.slots)))

    def signs(self) -> Iterator[str]:
        """The names of those who told it: a batch system is known by them."""
        yield from self._names
        yield from (source for source, _ in self._allocations)

    def known(self) -> Known:
        """Numbers of ranks and hosts that the environment, the command lines or lists of hosts tell, if they agree."""
        ranks, hosts = self._ranks, set(self._hosts)
        counts = set(ranks.values())
        count = counts.pop() if len(counts) == 1 else None
        kind, listed = self._listed()
        used = None
        if listed is not None:
            if kind == _BY_SLURM:  # whose launchers fill a node before they take the next one
                listed = listed._replace(slots=ranks.get("SLURM_NTASKS", ranks.get("SLURM_NPROCS")))
            is_open = kind == _BY_SLURM and listed.slots is None and count is not None and len(listed.names) > 1
            used = None if is_open else listed.used(count)
            hosts |= {used} if used is not None else set()
        agreed = hosts.pop() if len(hosts) == 1 else None
        if len(set(ranks.values())) > 1 and agreed != 1:
            agreed = None  # how many ranks there are is not known, so neither is on how many hosts
        return Known(count, agreed, listed.names if listed and used == agreed == len(listed.names) else ())

    def _listed(self) -> tuple[tuple[str, ...], Hosts | None]:
        """The list of hosts that is closest to the ranks, if all of its kind name the same ones, and the kind."""
        for kind in _ALLOCATIONS:
            found = {frozenset(hosts.names): hosts for source, hosts in self._allocations if source in kind}
            if found:
                return kind, next(iter(found.values())) if len(found) == 1 else None
        return (), None
