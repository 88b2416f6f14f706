"""Which processes of a host are ranks, of which run, and what started them.

A rank is known by the variables that launchers give it, which its own children inherit, too. What all ranks of one run
share on every host, and no other run has, is the run's *key*: PMIx's name space (Open MPI, Slurm's pmix), the address
of Hydra's launcher, Slurm's step, torchrun's meeting point; else one parent, which says nothing of other hosts.
Sources: the environment of real ranks of Open MPI 4.1 and MPICH 4.0; PMIx, Hydra (``pm/hydra/proxy``), srun(1),
torch.distributed.run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ibkit.collectors.processes import PROC
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Source

#: Names of launchers and their daemons, as /proc has them: at most 15 characters.
_LAUNCHERS = re.compile(
    r"(?:mpirun|mpiexec|orterun|prterun|prun|prte)(?:[._-].{0,9})?\Z"
    r"|(?:orted|prted|hydra_pmi_proxy|hydra_bstrap_pr|pmi_proxy|mpirun_rsh|mpispawn|srun|slurmstepd|torchrun|horovodrun"
    r"|deepspeed)\Z"
)
#: Of these one runs on each host, and whoever started it may run on another one.
DAEMONS = frozenset(
    ("orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_pr", "pmi_proxy", "mpispawn", "slurmstepd", "torchrun")
)
#: How the key of a run begins whose ranks meet at MASTER_ADDR.
TORCH = "torch:"
_STATUS = re.compile(r"^(Name|State|Tgid|PPid|Uid):[ \t]+([^\n]*)$", re.MULTILINE)
_CONTROL_PORT = re.compile(r"(?:\A|\0)--control-port\0([^\0]{1,300})")
_TORCH = (("RANK", "WORLD_SIZE"),)
#: A rank's number and how many there are; an inner launcher's variables stand before those that it inherits.
_NUMBERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMIX_RANK", "PMIX_SIZE"), ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"), *_TORCH, ("SLURM_PROCID", "SLURM_NTASKS"),
)  # fmt: skip
#: What has to stand beside a name: ``RANK`` alone is anybody's, and a batch script has a SLURM_PROCID, but no step.
_BESIDE = {"RANK": "WORLD_SIZE", "SLURM_PROCID": "SLURM_STEP_ID"}
#: The name space that Slurm's pmix plugin gives a step: slurm.pmix.JOB.STEP.
_SLURM_PMIX = "slurm.pmix."
#: Begins the key of ranks that have nothing but their parent in common.
_PARENT = "parent:"
#: Nobody's chain of parents is longer; it may change while it is walked along.
_MAX_DEPTH = 64


def is_shared(key: str) -> bool:
    """Whether the ranks of a run have this key on all of its hosts: a parent is of one host only."""
    return bool(key) and not key.startswith(_PARENT)


class Seen(NamedTuple):
    """A process as its status shows it; ``state`` is proc(5)'s letter: R, S, D, T, t, Z. ``process`` is another number
    than the one that was asked for where that is a thread's.
    """

    name: str
    parent: int | None
    uid: int | None
    state: str = ""
    process: int | None = None


class RankProcess(NamedTuple):
    """A process of a rank. ``started_by`` is the nearest process above it that is not of this rank."""

    pid: int
    rank: int
    size: int | None
    key: str
    started_by: int | None
    environment: Mapping[str, str]


class JobProcesses:
    """The ranks of a host at one moment, and those that started them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._seen: dict[int, Seen | None] = {}
        self._environments: dict[int, dict[str, str]] = {}
        self._lines: dict[int, dict[str, int]] = {}
        #: Processes whose environment may not be read: only root and their user may.
        self.hidden: list[int] = []
        self.ranks: dict[int, RankProcess] = {}
        for name in source.list(PROC).names:
            if name.isascii() and name.isdigit() and len(name) < 11:
                self._add(int(name))
        self._leave_out_launchers()
        self._tell_apart()

    def seen(self, pid: int) -> Seen | None:
        """A process's name, parent and user; None where /proc does not show it."""
        if pid not in self._seen:
            found = dict(_STATUS.findall(self._source.read(f"{PROC}/{pid}/status").text or ""))
            uid = number(found.get("Uid", "").split("\t")[0])
            parent, state, process = number(found.get("PPid", "")), found.get("State", "")[:1], found.get("Tgid", "")
            self._seen[pid] = Seen(found["Name"], parent, uid, state, number(process)) if "Name" in found else None
        return self._seen[pid]

    def above(self, pid: int) -> Iterator[int]:
        """The processes above this one, the nearest first, without init."""
        for _ in range(_MAX_DEPTH):
            seen = self.seen(pid)
            if seen is None or seen.parent is None or seen.parent < 2:
                return
            pid = seen.parent
            yield pid

    def is_launcher(self, pid: int) -> bool:
        """Whether it is a launcher, or a launcher's daemon, by its name."""
        seen = self.seen(pid)
        return seen is not None and _LAUNCHERS.match(seen.name) is not None

    def variable_lines(self, pid: int) -> Mapping[str, int]:
        """The lines of a rank's variables in its environment, each NUL taken for the end of one."""
        return self._lines.get(pid, {})

    def environment(self, pid: int) -> Mapping[str, str]:
        """The variables of a process that choose a transport or tell a rank."""
        if pid not in self._environments:
            self._environments[pid] = variables(self._source.read(f"{PROC}/{pid}/environ").text or "")
        return self._environments[pid]

    def _add(self, pid: int) -> None:
        text = self._source.read(f"{PROC}/{pid}/environ")
        if text.error in ("EACCES", "EPERM"):
            self.hidden.append(pid)
        environment = self._environments[pid] = variables(text.text or "")
        self._lines[pid] = _variable_lines(text.text or "")
        numbers = _numbers(environment)
        if numbers is None or self.is_launcher(pid):
            return
        rank, size = numbers
        started_by = self._starter(pid, rank)
        key = self._key(environment, started_by) or f"{_PARENT}{started_by or pid}"
        self.ranks[pid] = RankProcess(pid, rank, size, key, started_by, environment)

    def _starter(self, pid: int, rank: int) -> int | None:
        """The nearest process above that has no rank, or another one: a shell may stand between the two."""
        for above in self.above(pid):
            if self.is_launcher(above):
                return above
            numbers = _numbers(self.environment(above))
            if numbers is None or numbers[0] != rank:
                return above
        return None

    def _key(self, environment: Mapping[str, str], started_by: int | None) -> str | None:
        if "TORCHELASTIC_RUN_ID" in environment and "MASTER_PORT" in environment:
            return _meeting_point(environment)
        if space := environment.get("PMIX_NAMESPACE"):
            return f"pmix:{space}"
        starter = self.seen(started_by) if started_by is not None else None
        if starter and starter.name in ("hydra_pmi_proxy", "pmi_proxy"):
            found = _CONTROL_PORT.search(self._source.read(f"{PROC}/{started_by}/cmdline").text or "")
            return f"hydra:{found[1]}" if found else None
        if "SLURM_STEP_ID" in environment:
            return f"slurm:{environment.get('SLURM_JOB_ID', '')}.{environment['SLURM_STEP_ID']}"
        return _meeting_point(environment) if "RANK" in environment and "MASTER_PORT" in environment else None

    def _leave_out_launchers(self) -> None:
        """A process above ranks of another run has started that one: it has inherited its number itself."""
        launchers = {
            above
            for pid, one in self.ranks.items()
            for above in self.above(pid)
            if above in self.ranks and self.ranks[above].key != one.key
        }
        for pid in launchers:
            del self.ranks[pid]

    def _tell_apart(self) -> None:
        """Two runs of one host may have the same key: launchers in containers have the same number, of which Open MPI
        makes the name space. A rank that two have started is two; then nothing tells which one is meant elsewhere.
        """
        starters: dict[tuple[str, int], set[int]] = {}
        for one in self.ranks.values():
            if one.started_by is not None and self.is_launcher(one.started_by):  # a rank's own daemons have none
                starters.setdefault((one.key, one.rank), set()).add(one.started_by)
        twice = {key for (key, _), found in starters.items() if len(found) > 1}
        for pid, one in self.ranks.items():
            if one.key in twice:
                self.ranks[pid] = one._replace(key=f"{_PARENT}{one.started_by or pid}")


def variables(text: str) -> dict[str, str]:
    """The variables of /proc/PID/environ."""
    return {name: value for name, mark, value in (entry.partition("=") for entry in text.split("\0")) if mark}


def _variable_lines(text: str) -> dict[str, int]:
    """The line of each variable in /proc/PID/environ, from 1, where NUL ends a line as LF does."""
    found: dict[str, int] = {}
    line = 1
    for entry in text.split("\0"):
        name, mark, _ = entry.partition("=")
        if mark:
            found[name] = line
        line += 1 + entry.count("\n")
    return found


def number(text: str) -> int | None:
    """A number of at most ten digits, else None."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 11 else None


def _numbers(environment: Mapping[str, str]) -> tuple[int, int | None] | None:
    """Rank and number of ranks."""
    for rank_name, size_name in _TORCH if "TORCHELASTIC_RUN_ID" in environment else _NUMBERS:
        rank = number(environment.get(rank_name, ""))
        if rank is not None and _BESIDE.get(rank_name, rank_name) in environment:
            if environment.get("PMIX_NAMESPACE", "").startswith(_SLURM_PMIX):
                size_name = "SLURM_STEP_NUM_TASKS"  # PMIx itself gives no size in a variable
            return rank, number(environment.get(size_name, ""))
    return None


def _meeting_point(environment: Mapping[str, str]) -> str:
    return f"{TORCH}{environment.get('MASTER_ADDR', '')}:{environment['MASTER_PORT']}"
