"""All collectors in one list: what a capture asks for, so that each command can be replayed from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from ibkit.collectors.acm import collect_acm
from ibkit.collectors.addresses import collect_address_problems
from ibkit.collectors.consumers import collect_consumers
from ibkit.collectors.counters import collect_counters
from ibkit.collectors.doctor import collect_checks
from ibkit.collectors.fabric import collect_fabric
from ibkit.collectors.hardware import collect_host_hardware
from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.job_samples import JobWatch, watch_job, window_for
from ibkit.collectors.local_ports import further_entrances, local_ports
from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.collectors.partitions import collect_partitions
from ibkit.collectors.path import record_ways
from ibkit.collectors.path_records import collect_path_records
from ibkit.collectors.running_jobs import running_jobs
from ibkit.collectors.subnet_manager import collect_subnet_managers
from ibkit.errors import IbkitError
from ibkit.parsers.base import Problem
from ibkit.sources.base import Source
from ibkit.sources.capture import ReplaySource
from ibkit.sources.raw import RawSource
from ibkit.sources.recording import RecordedWatch, RecordingSource
from ibkit.sources.site import Site
from ibkit.sources.writer import Recorded

#: What is asked of a host: its name for people, and the collector's problems.
OF_A_HOST: tuple[tuple[str, Callable[[Source, str], Sequence[Problem]]], ...] = (
    ("devices and ports", lambda source, host: collect_hcas(source, host).problems),
    ("modules of the ports", lambda source, host: collect_host_hardware(source, collect_hcas(source, host)).problems),
    ("users of the devices", lambda source, host: collect_consumers(source, host).problems),
    ("parallel jobs", lambda source, host: _jobs(source)),
    ("address cache (ibacm)", lambda source, host: collect_acm(source).problems),
    ("neighbours, routes and names", lambda source, host: collect_address_problems(source)),
    ("tools and rights", lambda source, host: collect_checks(source, host).problems),
)
#: What is asked of a subnet, once, through a port of the host.
OF_A_SUBNET: tuple[tuple[str, Callable[[Source, Through], Sequence[Problem]]], ...] = (
    ("topology", lambda source, through: collect_fabric(source, through).problems),
    ("subnet managers", lambda source, through: collect_subnet_managers(source, through).problems),
    ("counters", lambda source, through: collect_counters(source, through).problems),
    ("partitions", lambda source, through: collect_partitions(source, through=through).problems),
    ("paths", lambda source, through: collect_path_records(source, through)),
)
#: What is asked only of the subnet of the tools' own choice.
OF_THE_SUBNET: tuple[tuple[str, Callable[[Source], Sequence[Problem]]], ...] = (("forwarding tables", record_ways),)


def record_site(site: Site, tell: Callable[[str], None]) -> tuple[Recorded, list[Problem]]:
    """Run all collectors; what was asked and answered is the capture, their problems are for people.

    ``tell`` hears what is being recorded.
    """
    problems: list[Problem] = []
    hosts = []
    for host in site.hosts:
        source = _recording(host.source)
        if host.watched:
            source.watched = RecordedWatch(*host.watched[:2], _recording(host.watched.later))
        asked = _asked(host.source, source)
        for what, collect in OF_A_HOST:
            problems += _step(tell, f"{what} of {host.name}" if host.name else what, partial(collect, asked, host.name))
        hosts.append((host.name, source))
    subnet = _recording(site.subnet)
    problems += _record_subnets(_asked(site.subnet, subnet), tell)
    return Recorded(*_origin(site), tuple(hosts), subnet, site.job, site.origin.note), problems


def _jobs(source: Source) -> Sequence[Problem]:
    """Jobs that are there or not: neither is a problem."""
    running_jobs(source)
    return ()


def watch_live(
    site: Site, target: str, window: float | None, tell: Callable[[dict[int, int | None], float], None]
) -> tuple[JobWatch, Recorded]:
    """Look at a job's processes on this host twice, ``window`` seconds apart, and keep what was asked for it.

    Without ``window`` it is so long that the two looks take less than 1 % of a core. ``tell`` hears the processes with
    their ranks, and the window. Raises UnreadableInput where there is no such job.
    """
    import time

    (host,) = site.hosts
    first, later = RecordingSource(host.source), RecordingSource(host.source)

    def wait(found: dict[int, int | None]) -> float:
        seconds = window or window_for(len(found))
        tell(found, seconds)
        started = time.monotonic()
        time.sleep(seconds)
        return round(time.monotonic() - started, 3)

    watch = watch_job(host.name, target, first, later, wait)
    first.watched = RecordedWatch(target, watch.seconds, later)
    return watch, Recorded(*_origin(site), ((host.name, first),), RecordingSource(site.subnet))


def _record_subnets(source: Source, tell: Callable[[str], None]) -> Iterator[Problem]:
    """Each subnet that a port of the host is in, the one of the tools' own choice first."""
    for what, collect in OF_A_SUBNET:
        yield from _step(tell, what, partial(collect, source, ANY_PORT))
    for what, collect_once in OF_THE_SUBNET:
        yield from _step(tell, what, partial(collect_once, source))
    further = further_entrances(source, collect_fabric(source)) if len(local_ports(source)) > 1 else []
    for through in further:
        for what, collect in OF_A_SUBNET:
            yield from _step(tell, f"{what}, through {through}", partial(collect, source, through))


def _asked(source: Source, recording: RecordingSource) -> Source:
    """Whom the collectors ask: a saved text itself, for it is no answer to any command, and they know that."""
    return recording if recording.text is None else source


def _recording(source: Source) -> RecordingSource:
    """A recording source; of a capture it has all answers, also those that no collector asks for any more."""
    recording = RecordingSource(source)
    if isinstance(source, RawSource):
        recording.text = source.text
    if isinstance(source, ReplaySource):
        source.ask_all(recording)
    return recording


def _step(tell: Callable[[str], None], what: str, collect: Callable[[], Sequence[Problem]]) -> Iterable[Problem]:
    """One collector. If it breaks on what it meets here, the recorded answers are what its authors need to see."""
    tell(f"recording {what}")
    try:
        return collect()
    except (IbkitError, MemoryError):
        raise
    except Exception as error:
        text = f"ibkit failed on what it read ({type(error).__name__}: {error}); please report it with this capture"
        return [Problem("ibkit-failed", text, None, what)]


def _origin(site: Site) -> tuple[str, str | None]:
    if site.origin.kind != "live":
        return next((host.name for host in site.hosts if host.name), site.origin.label), site.origin.time
    from datetime import datetime

    return site.origin.label, datetime.now().astimezone().isoformat(timespec="seconds")
