"""Judges jobs for the screen, in a collector's thread: logs, what captures hold, processes that are watched."""

from __future__ import annotations

import io
from contextlib import closing

from ibkit.errors import IbkitError, UnreadableInput
from ibkit.model.mpi import JobVerdict
from ibkit.sources.raw import RawSource
from ibkit.sources.site import Host, Site
from ibkit.transport.live.hosts import RSH, judge_on_hosts, judge_recorded
from ibkit.transport.live.verdict import judge_watches
from ibkit.transport.logs.job import Job, Log, job_of_site, open_job
from ibkit.transport.logs.verdict import judge
from ibkit.tui.view.excerpt import Excerpt, excerpt_of


def job_of(site: Site, raw: RawSource | None) -> Job:
    """The job of a capture, or the one log that was given."""
    if raw is None:
        return job_of_site(site)
    data = raw.run([raw.form.tool]).stdout
    return Job(raw.path, (Log(raw.path, lambda: io.BytesIO(data)),))


def judge_given(site: Site, raw: RawSource | None) -> JobVerdict:
    """The verdict of the job that the site holds."""
    return judge(job_of(site, raw))


def judge_target(site: Site, target: str) -> JobVerdict:
    """A log's path, a job's folder or capture; or running processes, as check-mpi-transport names them.

    ``TARGET NODES`` looks at the processes on these nodes over ssh. Raises IbkitError.
    """
    import os

    from ibkit.collectors.ranks import TARGET

    name, _, nodes = target.partition(" ")
    if os.path.lexists(target) or not TARGET.fullmatch(name):
        return judge(open_job(target))
    if site.origin.kind != "live":
        raise IbkitError(
            f"{name}: processes can only be looked at where they run, and this is a recording of another time or host; "
            "start `ibkit tui` without --from on the job's host, or give a log or a capture of the job"
        )
    if not nodes.strip():
        return _judge_here(site, name)
    answer = judge_on_hosts(site.hosts[0].source, name, nodes.strip(), RSH, None, lambda _: None)
    return answer._replace(target=f"{name} on {nodes.strip()}")


def judge_watched(hosts: tuple[Host, ...]) -> JobVerdict:
    """The running job that hosts' captures hold two looks at. Raises UnreadableInput where none can be read."""
    targets = {host.watched.target for host in hosts if host.watched}
    return judge_recorded(targets.pop() if len(targets) == 1 else f"{len(targets)} targets", hosts)


def read_line(site: Site, raw: RawSource | None, target: str | None, file: str, line: int) -> Excerpt:
    """The lines of a job's log around one of them. ``target`` is what was asked for, None for the site's own job.

    Raises IbkitError where the job has no such log, or it cannot be read.
    """
    job = job_of(site, raw) if target is None else open_job(target)
    log = next((log for log in job.logs if log.name == file), None)
    if log is None:
        raise UnreadableInput(f"{file} is no log of {job.target}")
    try:
        with closing(log.open()) as stream:
            return excerpt_of(stream, line)
    except (OSError, EOFError, ValueError) as error:
        raise UnreadableInput(f"{file}: not readable up to line {line}: {error}") from error


def _judge_here(site: Site, target: str) -> JobVerdict:
    from ibkit.collectors.everything import watch_live

    watched, _ = watch_live(site, target, None, lambda _ranks, _seconds: None)
    return judge_watches(target, [watched])
