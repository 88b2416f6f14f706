"""The parallel jobs that run on a host, found by their ranks and their launchers.

``running_jobs(source) -> tuple[RunningJob, ...]``: pure over the source, nothing is started but what it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from ibkit.collectors.job_processes import DAEMONS, JobProcesses
from ibkit.collectors.processes import PROC
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Source


class RunningJob(NamedTuple):
    """A job's part on this host.

    ``ranks`` are its processes by pid with their rank, None where it may not be seen; a rank may have several. ``size``
    is how many ranks the whole job has. ``launcher_pid`` is the process of this host that started them: the launcher
    itself, or its daemon where that runs on another host, or None where it has ended; ``launcher`` is its name.
    ``command`` is the launcher's command line, else that of the first rank; of a daemon it is its rank's. ``key`` is
    what its ranks on all hosts share; it starts with ``parent:`` where nothing is. ``target`` is what
    ``check-mpi-transport`` takes.
    """

    key: str
    ranks: Mapping[int, int | None]
    size: int | None = None
    launcher_pid: int | None = None
    launcher: str | None = None
    uid: int | None = None
    user: str | None = None
    command: str | None = None

    @property
    def target(self) -> str:
        """``pid:N`` of its first rank, which is sure to find it."""
        return f"pid:{min(self.ranks)}"


def running_jobs(source: Source) -> tuple[RunningJob, ...]:
    """All jobs of the host, by their first process. Of other users' jobs without root only those below a launcher."""
    table = JobProcesses(source)
    groups: dict[str, dict[int, int | None]] = {}
    for pid, one in table.ranks.items():
        groups.setdefault(one.key, {})[pid] = one.rank
    for pid in table.hidden:
        parent = next(table.above(pid), None)
        if parent is not None and not table.is_launcher(pid) and table.is_launcher(parent):
            groups.setdefault(f"parent:{parent}", {})[pid] = None
    users = _users(source) if groups else {}
    found = []
    for key, ranks in groups.items():
        first = min(ranks)
        launcher = _launcher(table, first)
        seen = table.seen(first)
        name = table.seen(launcher) if launcher is not None else None
        shown = launcher if name is not None and launcher is not None and name.name not in DAEMONS else first
        uid = seen.uid if seen else None
        found.append(
            RunningJob(
                key, ranks, table.ranks[first].size if first in table.ranks else None, launcher,
                name.name if name else None, uid, users.get(uid) if uid is not None else None, _command(source, shown),
            )
        )  # fmt: skip
    return tuple(sorted(found, key=lambda job: min(job.ranks)))


def _launcher(table: JobProcesses, pid: int) -> int | None:
    """The top one of the launchers above, for a launcher's daemon may run below it; else whoever started the rank."""
    launchers = []
    for above in table.above(pid):
        if table.is_launcher(above):
            launchers.append(above)
        elif launchers:
            break
    if launchers:
        return launchers[-1]
    one = table.ranks.get(pid)
    return one.started_by if one else None


def _command(source: Source, pid: int) -> str | None:
    text = source.read(f"{PROC}/{pid}/cmdline").text
    return " ".join(text.rstrip("\0").split("\0")) if text else None


def _users(source: Source) -> dict[int, str]:
    """Names of users in /etc/passwd; a directory service's are told by their number."""
    rows = (line.split(":") for line in (source.read("/etc/passwd").text or "").splitlines())
    return {int(row[2]): row[0] for row in rows if len(row) > 2 and row[2].isascii() and row[2].isdigit()}
