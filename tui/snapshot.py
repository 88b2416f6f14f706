"""All that is known of a site at one moment, and the tasks that find it out.

A snapshot begins empty and fills up reading by reading, in whatever order the collectors answer: the screens draw
what is there, say what is still being read, and show a collector that failed as a failure in its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ibkit.errors import IbkitError
from ibkit.parsers import JOB_COMMAND
from ibkit.parsers.base import Problem
from ibkit.sources.base import Source
from ibkit.sources.site import Host, Origin, Site

if TYPE_CHECKING:
    from ibkit.collectors.path import Path
    from ibkit.collectors.running_jobs import RunningJob
    from ibkit.comparison.change import Comparison
    from ibkit.model.checks import HostChecks
    from ibkit.model.host import HostHcas
    from ibkit.model.mpi import JobVerdict
    from ibkit.model.resolution import Resolution
    from ibkit.model.subnet_manager import SubnetManagers
    from ibkit.sources.raw import RawSource
    from ibkit.tui.counting import Counted
    from ibkit.tui.diagnosing import Diagnosed
    from ibkit.tui.view.cache import CacheContents
    from ibkit.tui.view.excerpt import Excerpt
    from ibkit.tui.view.subnet import SubnetView

T = TypeVar("T")


class Part(NamedTuple):
    """What a reading is about: one of the kinds below, and the host where each host has its own."""

    kind: str
    host: str = ""

    @property
    def title(self) -> str:
        """The part in a person's words."""
        return f"{self.kind} {self.host}".rstrip()


HOST, DOCTOR = "host", "doctor"
RESOLVE, PATH, WAIVER, ASKED_JOB, LINE, CACHE, CHANGES = (
    "resolve", "path", "waiver", "job of", "line", "cache", "changes since",
)  # fmt: skip
#: The earlier view that is the first sample of this session.
FIRST = "first"
#: What somebody asks for on the screen: it says nothing of how well the site is, and is read once.
ON_REQUEST = frozenset((RESOLVE, PATH, WAIVER, ASKED_JOB, LINE, CACHE, CHANGES))
RUNNING, WATCHED = "running jobs", Part("watched job")
FABRIC, MANAGERS, JOB, CHECK = Part("fabric"), Part("subnet managers"), Part("job"), Part("check")
PORTS = Part("ports")


class Reading(NamedTuple, Generic[T]):
    """What one collector said; before it did, ``value`` and ``failure`` are both None.

    ``failure`` is the sentence of a collector that broke off, ``taken`` the monotonic clock at its answer (seconds).
    """

    value: T | None = None
    failure: str | None = None
    taken: float | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the collector has not answered yet."""
        return self.value is None and self.failure is None


#: What was read last, by part.
Readings = Mapping[Part, Reading[Any]]


class Task(NamedTuple):
    """One collector's work, and the part that it is about.

    ``needs`` are parts that it takes from the others instead of reading them itself; ``collect`` gets their readings
    then. A task follows in the list on those that it needs.
    """

    part: Part
    collect: Callable[..., Any]
    needs: tuple[Part, ...] = ()

    def read(self, readings: Readings | None = None) -> Reading[Any]:
        """Do it. What goes wrong becomes the reading's failure: a broken collector costs its own part only."""
        try:
            value = self.collect(readings or {}) if self.needs else self.collect()
            return Reading(value, taken=time.monotonic())
        except IbkitError as error:
            return Reading(failure=str(error), taken=time.monotonic())
        except Exception as error:
            # A defect of ours, or a file that went away: either is shown in its place.
            return Reading(failure=f"{type(error).__name__}: {error}", taken=time.monotonic())


class Mark(NamedTuple):
    """A port that somebody marked: as `ibkit path` takes it, and as people call it."""

    given: str
    name: str


class Snapshot(NamedTuple):
    """The readings of a site at one moment. ``marks`` are the last two ports that were marked, the older one first;
    ``then`` is what it is compared with.
    """

    origin: Origin
    readings: dict[Part, Reading[Any]]
    marks: tuple[Mark, ...] = ()
    then: str | None = None

    @classmethod
    def of(cls, site: Site) -> Snapshot:
        """The snapshot before any collector has answered."""
        return cls(site.origin, {task.part: Reading() for task in tasks_of(site)})

    def with_reading(self, part: Part, reading: Reading[Any]) -> Snapshot:
        """The snapshot with one part replaced."""
        return self._replace(readings={**self.readings, part: reading})

    @property
    def waiting(self) -> list[Part]:
        """The parts that are still being read."""
        return [part for part, reading in self.readings.items() if reading.is_waiting]

    @property
    def hosts(self) -> dict[str, Reading[HostHcas]]:
        """The hosts' HCAs by the host's name."""
        return {part.host: reading for part, reading in self.readings.items() if part.kind == HOST}

    @property
    def doctors(self) -> dict[str, Reading[HostChecks]]:
        """What the doctor says, by the host's name."""
        return {part.host: reading for part, reading in self.readings.items() if part.kind == DOCTOR}

    @property
    def fabric(self) -> Reading[SubnetView]:
        """The fabric."""
        return self.readings[FABRIC]

    @property
    def managers(self) -> Reading[SubnetManagers]:
        """The subnet managers."""
        return self.readings[MANAGERS]

    @property
    def check(self) -> Reading[Diagnosed] | None:
        """Counters and findings."""
        return self.readings.get(CHECK)

    @property
    def counted(self) -> Reading[Counted]:
        """What is known of each port beside the topology."""
        return self.readings.get(PORTS, Reading())

    def path(self, a: Mark, b: Mark) -> Reading[Path | str] | None:
        """The way between two ports, or why there is none to ask for; None where nobody asked."""
        return self.readings.get(path_part(a, b))

    @property
    def resolutions(self) -> list[Reading[Resolution]]:
        """What was asked for, the last first."""
        return [reading for part, reading in reversed(self.readings.items()) if part.kind == RESOLVE]

    @property
    def job(self) -> Reading[JobVerdict] | None:
        """The job's verdict; None where the site holds no job."""
        return self.readings.get(JOB)

    @property
    def changes(self) -> Reading[Comparison] | None:
        """What changed since then; None where nobody asked."""
        return self.readings.get(changes_part(self.then)) if self.then is not None else None

    def problems(self) -> list[tuple[str, Problem]]:
        """All problems with the part that they belong to; a collector that broke off is one, too."""
        found = []
        for part, reading in self.readings.items():
            if reading.failure is not None:
                found.append((part.title, Problem("collector-failed", reading.failure)))
            # These look at the same things as the parts of their own.
            if part.kind not in (DOCTOR, CHECK.kind, PATH):
                found += [(part.title, problem) for problem in problems_of(reading.value)]
        return found


def problems_of(value: Any) -> Sequence[Problem]:
    """The problems that a collector's answer holds."""
    return getattr(value, "problems", ())


def tasks_of(site: Site, earlier: Site | None = None, expect: Callable[[], str | None] = lambda: None) -> list[Task]:
    """What there is to find out, and what changed since the ``earlier`` frame of a recording.

    ``expect`` tells the file of expectations, which may be another one later. The collectors are imported when they
    run: the first frame does not wait for them.
    """
    tasks = [Task(Part(HOST, host.name), partial(_hcas, host.source, host.name)) for host in site.hosts]
    if site.origin.kind != "raw":  # one tool's output says nothing about its host
        tasks += [Task(Part(DOCTOR, host.name), partial(_checks, host.source, host.name)) for host in site.hosts]
    tasks += [Task(FABRIC, partial(_fabric, site.subnet)), Task(MANAGERS, partial(_managers, site.subnet))]
    shared = tuple(task.part for task in tasks)
    tasks.append(Task(CHECK, _Diagnosing(site, earlier, expect), shared))
    tasks.append(Task(PORTS, _Counting(), (CHECK, FABRIC)))
    if site.job or raw_log(site):
        tasks.append(Task(JOB, partial(_job, site)))
    if site.origin.kind == "live":
        tasks += [Task(Part(RUNNING, host.name), partial(_running_jobs, host.source)) for host in site.hosts]
    if any(host.watched for host in site.hosts):
        tasks.append(Task(WATCHED, partial(_watched, site.hosts)))
    return tasks


def asked_job_task(site: Site, target: str) -> Task:
    """Judge a log, a job's folder, or processes that run."""
    return Task(Part(ASKED_JOB, target), partial(_asked_job, site, target))


def changes_part(then: str) -> Part:
    """The part that what changed since then is."""
    return Part(CHANGES, then)


def changes_task(then: str) -> Task:
    """Compare what is shown with a capture or frame by its path, or with the first sample of this session."""
    return Task(changes_part(then), partial(_changes, then), (CHECK,))


def cache_task() -> Task:
    """Read the user's cache of addresses."""
    return Task(Part(CACHE), _cache)


def line_part(job: Part, file: str, number: int) -> Part:
    """The part that a line of a job's log is."""
    return Part(LINE, f"{job.title} {file}:{number}")


def line_task(site: Site, job: Part, file: str, number: int) -> Task:
    """Read a line of a job's log, and those around it."""
    target = job.host if job.kind == ASKED_JOB else None
    return Task(line_part(job, file, number), partial(_line, site, target, file, number))


def raw_log(site: Site) -> RawSource | None:
    """The one file that was given, where it is a job's log."""
    if site.origin.kind != "raw":
        return None
    from ibkit.sources.raw import RawSource

    source = site.subnet
    return source if isinstance(source, RawSource) and source.form.command == JOB_COMMAND else None


def read_all(site: Site, expect: str | None = None) -> Snapshot:
    """The whole snapshot, one task after the other."""
    readings: dict[Part, Reading[Any]] = {}
    for task in tasks_of(site, expect=lambda: expect):
        readings[task.part] = task.read(readings)
    return Snapshot(site.origin, readings)


class _Diagnosing:
    """Imports the rules when the first sample is taken."""

    def __init__(self, site: Site, earlier: Site | None, expect: Callable[[], str | None]) -> None:
        self._given = site, earlier, expect
        self._next: Callable[[Readings], Diagnosed] | None = None

    def __call__(self, readings: Readings) -> Diagnosed:
        if self._next is None:
            from ibkit.tui.diagnosing import Diagnosing

            self._next = Diagnosing(*self._given)
        return self._next(readings)


class _Counting:
    """Imports what it needs when the first sample is there."""

    def __init__(self) -> None:
        self._next: Callable[[Readings], Counted] | None = None

    def __call__(self, readings: Readings) -> Counted:
        if self._next is None:
            from ibkit.tui.counting import Counting

            self._next = Counting()
        return self._next(readings)


def path_part(a: Mark, b: Mark) -> Part:
    """The part that the way between two ports is."""
    return Part(PATH, f"{a.given} {b.given}")


def path_task(site: Site, a: Mark, b: Mark) -> Task:
    """Follow the way between two ports of the fabric that was read."""
    return Task(path_part(a, b), partial(_path, site.subnet, a.given, b.given), (FABRIC,))


def _path(subnet: Source, a: str, b: str, readings: Readings) -> Path | str:
    from ibkit.collectors.path import collect_path
    from ibkit.model.ends import NotOne

    view = readings.get(FABRIC, Reading()).value
    try:
        return collect_path(subnet, a, b, swept=view.fabric if view else None)
    except NotOne as error:
        return str(error)


def _hcas(source: Source, name: str) -> HostHcas:
    from ibkit.collectors.hca import collect_hcas

    return collect_hcas(source, name)  # all of it: the rules take it from here


def _checks(source: Source, name: str) -> HostChecks:
    from ibkit.collectors.doctor import collect_checks

    return collect_checks(source, name)


def _fabric(subnet: Source) -> SubnetView:
    from ibkit.collectors.fabric import collect_fabric
    from ibkit.tui.view.subnet import SubnetView

    return SubnetView(collect_fabric(subnet))


def _job(site: Site) -> JobVerdict:
    from ibkit.tui.judging import judge_given

    return judge_given(site, raw_log(site))


def _asked_job(site: Site, target: str) -> JobVerdict:
    from ibkit.tui.judging import judge_target

    return judge_target(site, target)


def _watched(hosts: tuple[Host, ...]) -> JobVerdict:
    from ibkit.tui.judging import judge_watched

    return judge_watched(hosts)


def _line(site: Site, target: str | None, file: str, number: int) -> Excerpt:
    from ibkit.tui.judging import read_line

    return read_line(site, raw_log(site), target, file, number)


def _changes(then: str, readings: Readings) -> Comparison:
    from ibkit.tui.comparing import compare_with_then

    return compare_with_then(then, readings.get(CHECK, Reading()))


def _cache() -> CacheContents:
    from ibkit.resolve.cache import AddressCache, default_path
    from ibkit.tui.view.cache import CacheContents

    path = default_path()
    with AddressCache(path) as cache:
        return CacheContents(path, tuple(cache.all()), time.time())


def _running_jobs(source: Source) -> tuple[RunningJob, ...]:
    from ibkit.collectors.running_jobs import running_jobs

    return running_jobs(source)


def _managers(subnet: Source) -> SubnetManagers:
    from ibkit.collectors.subnet_manager import collect_subnet_managers

    return collect_subnet_managers(subnet)
