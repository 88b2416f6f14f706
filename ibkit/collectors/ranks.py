"""The jobs that a target (``pid:N``, ``slurm:JOBID``, ``run:KEY``, ``running``) names, as processes of one host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ibkit.collectors.job_processes import JobProcesses, RankProcess
from ibkit.collectors.job_processes import number as number_of
from ibkit.collectors.processes import PROC
from ibkit.display import and_more
from ibkit.errors import UnreadableInput
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import MISSING, CommandAnswer, Source

#: A controller that does not answer (seconds).
DEADLINE_SECONDS = 20.0
#: Every job of the host.
RUNNING = "running"
#: What a target looks like. ``run:KEY`` is the run with that key (ibkit.collectors.job_processes) on any host.
TARGET = re.compile(
    r"pid:[0-9]{1,10}|slurm:[0-9]{1,10}(?:[_+][0-9]{1,10})?(?:\.[0-9a-z]{1,10})?|run:[^\0]{1,400}|running", re.ASCII
)

#: What a job's number may be: its own, that of its array, that of a job of several parts.
_JOB_NUMBERS = ("SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_HET_JOB_ID")

#: States of proc(5) in which a process has no memory, files or environment any more.
_ENDED = ("Z", "X", "x")
#: Begins like one, whatever follows.
LIKE_TARGET = ("pid:", "slurm:", "run:")


class Ranks(NamedTuple):
    """A job's processes on a host: rank by pid, None where nothing tells it, and how many ranks the whole job has.

    A rank may have several processes. ``environment`` is that of its first one. ``key`` is what the job's ranks on all
    hosts share, empty where nothing is known of it. ``lines``: where the first one's environment has its
    variables.
    """

    ranks: Mapping[int, int | None]
    size: int | None = None
    environment: Mapping[str, str] = {}
    problems: tuple[Problem, ...] = ()
    key: str = ""
    lines: Mapping[str, int] = {}


def ranks_of_target(source: Source, target: str) -> tuple[Ranks, ...]:
    """The jobs that are meant, at least one. Raises UnreadableInput where this host has none of it."""
    processes = JobProcesses(source)
    kind, _, name = target.partition(":")
    if kind == "pid":
        return ranks_of_process(source, int(name), processes)
    if kind == "slurm":
        return ranks_of_slurm_job(source, name, processes)
    found = _by_run(processes, [one for one in processes.ranks.values() if target == RUNNING or one.key == name])
    if not found:
        hidden = ""
        if not is_root(source):  # root is refused by processes of more rights alone: no ranks
            if processes.hidden:
                hidden = f"; of {len(processes.hidden)} processes the environment may not be read: try as root"
            elif not source.list(f"{PROC}/1").names:  # mounted with hidepid
                hidden = " that /proc shows, which hides those of other users: try as root"
        raise UnreadableInput(f"{target}: no rank of a parallel job on this host{hidden}")
    return found


def ranks_of_process(source: Source, pid: int, processes: JobProcesses | None = None) -> tuple[Ranks, ...]:
    """The jobs that a process is a rank of, or has launched. Raises UnreadableInput where there is no such process."""
    processes = processes or JobProcesses(source)
    seen = processes.seen(pid)
    if seen is None:
        raise UnreadableInput(f"pid:{pid}: no such process here, or /proc hides it")
    pid = seen.process or pid  # a thread's, as top -H and rdma show them
    if own := processes.ranks.get(pid):
        return _by_run(processes, _with_spawned(processes, own))
    if below := [one for one in processes.ranks.values() if pid in processes.above(one.pid)]:
        return _by_run(processes, below)
    # A rank's helper may have cleared its environment, or have ended.
    if above := next((processes.ranks[one] for one in processes.above(pid) if one in processes.ranks), None):
        return _by_run(processes, _with_spawned(processes, above))
    if seen.state in _ENDED:
        parent = f", process {seen.parent}," if seen.parent else ""
        raise UnreadableInput(
            f"pid:{pid}: this process has ended, and only its exit status waits for its parent{parent} (a zombie): "
            "nothing of it is left to be looked at"
        )
    # Slurm starts the ranks, or the daemons that start them, below a process of its own.
    job = processes.environment(pid).get("SLURM_JOB_ID")
    if job and (found := [one for one in processes.ranks.values() if one.environment.get("SLURM_JOB_ID") == job]):
        return _by_run(processes, found)
    children = [other for other in processes.hidden if next(processes.above(other), None) == pid]
    if pid in processes.hidden or children:
        who = "it has more rights than root has here" if is_root(source) else "only the process's user and root may"
        text = f"the environment may not be read: {who}; which ranks belong together is not known"
        problem = Problem("not-permitted", text, None, f"{PROC}/{(children or [pid])[0]}/environ")
        return (Ranks(dict.fromkeys(children or [pid]), problems=(problem,)),)
    text = f"process {pid} is no rank of a parallel job, and has started none, as far as launchers' variables tell"
    return (Ranks({pid: None}, problems=(Problem("no-rank", text, None, f"{PROC}/{pid}/environ"),)),)


def ranks_of_slurm_job(source: Source, job: str, processes: JobProcesses | None = None) -> tuple[Ranks, ...]:
    """The runs in a Slurm job, or one of its steps (``12.0``, ``12.batch``), on this host: by the environment, else by
    ``scontrol``. Of an array or a job of several parts (``12``) those of all; a task of an array (``12_3``) and a part
    (``12+1``) have numbers of their own.

    Raises UnreadableInput where there is no process of it.
    """
    processes = processes or JobProcesses(source)
    number, _, step = job.partition(".")
    names: tuple[str, ...] = _JOB_NUMBERS
    if "_" in number or "+" in number:
        number, names = _own_number(source, number), _JOB_NUMBERS[:1]
    of_job = [one for one in processes.ranks.values() if any(one.environment.get(name) == number for name in names)]
    found = _by_run(processes, [one for one in of_job if step in ("", _step_of(one))])
    if found:
        return found
    answer = source.run(("scontrol", "listpids", number), deadline_seconds=DEADLINE_SECONDS)
    if answer.failure == MISSING:
        raise UnreadableInput(f"slurm:{job}: no rank of it on this host, and scontrol is not installed here")
    rows = [row for line in answer.out.splitlines() if len(row := line.split()) >= 5 and number_of(row[0]) is not None]
    rows = [row for row in rows if step in ("", row[2])]
    pids = [int(row[0]) for row in rows if row[4].isdigit()]
    if not pids:
        steps = ", ".join(sorted({_step_of(one) for one in of_job}))
        why = f"its ranks here are in step {steps}" if steps else _why_not_here(source, job.split(".")[0], answer)
        raise UnreadableInput(f"slurm:{job}: no process of it on this host: {why}")
    known = _by_run(processes, [one for one in processes.ranks.values() if one.pid in pids])
    below = [pid for pid in (int(row[0]) for row in rows) if _is_below_launcher(processes, pid)]
    return known or (Ranks(dict.fromkeys(below or pids)),)


def _step_of(rank: RankProcess) -> str:
    """A rank's step; what a batch script itself has started is of its own step."""
    return rank.environment.get("SLURM_STEP_ID", "batch")


def _why_not_here(source: Source, job: str, listed: CommandAnswer) -> str:
    """What Slurm tells of a job that has no process here."""
    answer = source.run(("squeue", "-h", "-j", job, "-o", "%T|%r|%N"), deadline_seconds=DEADLINE_SECONDS)
    rows = [row for line in answer.out.splitlines() if len(row := line.strip().split("|")) == 3]
    told = dict.fromkeys(f"{state} on {nodes}" if nodes else f"{state} ({reason})" for state, reason, nodes in rows)
    if told:
        has_hosts = any(nodes for _, _, nodes in rows)
        there = "; where that is another host look there, or add --hosts job" if has_hosts else ""
        return f"squeue has it as {', '.join([*told][:3])[:200]}{there}"
    if answer.exit_status == 0 or "Invalid job id" in answer.err:
        return "Slurm does not list it: it has ended, or never was; give the log of a job that has ended"
    said = next(iter(listed.err.strip().splitlines()), "it lists no task of it")
    return f"scontrol says: {said[:200]}"


def _is_below_launcher(processes: JobProcesses, pid: int) -> bool:
    """Whether a launcher has started it: mpirun in a batch script, not Slurm's daemon, which starts the script."""
    parent = next(processes.above(pid), None)
    seen = None if parent is None else processes.seen(parent)
    is_rank = parent is not None and processes.is_launcher(parent) and not processes.is_launcher(pid)
    return is_rank and seen is not None and seen.name != "slurmstepd"


def _own_number(source: Source, job: str) -> str:
    """What ranks have as SLURM_JOB_ID. Raises UnreadableInput where squeue does not tell it."""
    answer = source.run(("squeue", "-h", "-j", job, "-o", "%A"), deadline_seconds=DEADLINE_SECONDS)
    found = set(answer.out.split())
    if len(found) == 1 and (number := found.pop()).isascii() and number.isdigit():
        return number
    said = answer.failure or next(iter(answer.err.strip().splitlines()), "it lists no such job")
    raise UnreadableInput(f"slurm:{job}: its own number is not known: squeue says: {said[:200]}")


def _with_spawned(processes: JobProcesses, rank: RankProcess) -> Iterable[RankProcess]:
    """The ranks of its run, and those of other runs that the same launcher has started here: MPI_Comm_spawn's."""
    launcher = rank.started_by if rank.started_by is not None and processes.is_launcher(rank.started_by) else None
    return [
        one
        for one in processes.ranks.values()
        if one.key == rank.key or (launcher is not None and one.started_by == launcher)
    ]


def _by_run(processes: JobProcesses, chosen: Iterable[RankProcess]) -> tuple[Ranks, ...]:
    runs: dict[str, list[RankProcess]] = {}
    for one in chosen:
        runs.setdefault(one.key, []).append(one)
    found = []
    for key, members in runs.items():
        first = min(members)
        sizes = {one.size for one in members}
        ranks = {one.pid: one.rank for one in sorted(members)}
        size = first.size if len(sizes) == 1 else None
        stopped = _stopped(processes, ranks)
        found.append(Ranks(ranks, size, first.environment, stopped, key, processes.variable_lines(first.pid)))
    return tuple(sorted(found, key=lambda one: min(one.ranks)))


def is_root(source: Source) -> bool:
    """Whether root looks."""
    return re.search(r"^Uid:\t0\t", source.read(f"{PROC}/self/status").text or "", re.MULTILINE) is not None


def _stopped(processes: JobProcesses, ranks: Mapping[int, int | None]) -> tuple[Problem, ...]:
    """A rank that a signal or a debugger has stopped moves nothing, and its peers wait for it."""
    stopped = [pid for pid in ranks if (seen := processes.seen(pid)) is not None and seen.state in ("T", "t")]
    if not stopped:
        return ()
    more = and_more(len(stopped) - 1)
    text = (
        f"process {stopped[0]} (rank {ranks[stopped[0]]}){more} is stopped, by a signal or a debugger: it moves nothing"
    )
    return (Problem("stopped", text, None, f"{PROC}/{stopped[0]}/status"),)
