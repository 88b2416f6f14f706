"""Running jobs of several hosts: what their captures hold, and captures that they are asked for by a remote shell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ibkit.collectors.job_processes import is_shared
from ibkit.collectors.job_samples import JobWatch, watch_job
from ibkit.collectors.ranks import ranks_of_target
from ibkit.display import counted
from ibkit.errors import IbkitError, UnreadableInput
from ibkit.model.mpi import JobVerdict
from ibkit.parsers.base import Problem
from ibkit.sources.base import Source
from ibkit.sources.site import Host
from ibkit.transport.live.verdict import judge_watches

#: Logs in and starts ibkit on another host.
RSH = "ssh -o BatchMode=yes"
#: What hosts whose ranks are not counted yet get (seconds): one window for all of them, long enough for 128 ranks each.
WINDOW_SECONDS = 16.0


def judge_recorded(target: str, hosts: Sequence[Host]) -> JobVerdict:
    """The running jobs that hosts' captures hold two looks at. Raises UnreadableInput where none can be read."""
    watches: list[JobWatch] = []
    problems: list[Problem] = []
    for host in hosts:
        if look := host.watched:
            try:
                seconds = partial(_passed, look.seconds)
                watches.append(watch_job(host.name, look.target, host.source, look.later, seconds))
            except UnreadableInput as error:
                problems.append(Problem("no-rank", str(error), None, host.name))
    if not watches:
        raise UnreadableInput(problems[0].text if problems else f"{target}: nothing was recorded of it")
    answer = judge_watches(target, watches)
    return answer._replace(problems=(*answer.problems, *problems))


def judge_on_hosts(
    here: Source, target: str, nodes: str, rsh: str, window: float | None, tell: Callable[[str], None]
) -> JobVerdict:
    """Let ibkit on each host record its two looks, all at the same time, and judge them together.

    ``nodes`` is a short form, or ``job``; ``tell`` hears how far it is. Raises IbkitError.
    """
    import socket
    import tempfile

    from ibkit.sources.remote import captures_of_hosts, hosts_of

    hosts = hosts_of(here, nodes, target)
    wanted = target
    if target.startswith("pid:"):  # a number of this host: what its ranks share is what others find them by
        keys = [job.key for job in ranks_of_target(here, target)]
        if len(keys) != 1 or not is_shared(keys[0]):
            raise IbkitError(f"{target}: its ranks share nothing by which other hosts know them; use slurm:JOBID")
        wanted = f"run:{keys[0]}"
    seconds = window or WINDOW_SECONDS
    words = ("capture", "--watch", wanted, "--window", f"{seconds:g}", "-o", "-")
    tell(f"watching {wanted} on {counted(len(hosts), 'host')} for {seconds:g} s")
    with tempfile.TemporaryDirectory(prefix="ibkit-") as folder:
        found, problems = captures_of_hosts(hosts, rsh, words, seconds, folder, tell, socket.gethostname())
        if not found:
            asked = f"none of {len(hosts)} hosts gave a" if len(hosts) > 1 else f"{hosts[0]} gave no"
            raise UnreadableInput(f"{target}: {asked} look at it, for the reasons above")
        answer = judge_recorded(target, found)
        return answer._replace(problems=(*answer.problems, *problems))


def _passed(seconds: float, _ranks: object) -> float:
    """The window of a recorded look has passed long ago."""
    return seconds
