"""All that is known of a site at one moment, and the tasks that find it out.

A snapshot begins empty and fills up reading by reading, in whatever order the collectors answer: the screens draw
what is there, say what is still being read, and show a collector that failed as a failure in its place.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ibkit.errors import IbkitError
from ibkit.model.checks import HostChecks
from ibkit.model.host import HostHcas
from ibkit.model.mpi import JobVerdict
from ibkit.model.resolution import Resolution
from ibkit.model.subnet_manager import SubnetManagers
from ibkit.parsers import JOB_COMMAND
from ibkit.parsers.base import Problem
from ibkit.sources.base import Source
from ibkit.sources.raw import RawSource
from ibkit.sources.site import Origin, Site
from ibkit.tui.view.subnet import SubnetView

if TYPE_CHECKING:
    from ibkit.tui.diagnosing import Diagnosed

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
RESOLVE = "resolve"
FABRIC, MANAGERS, JOB, CHECK = Part("fabric"), Part("subnet managers"), Part("job"), Part("check")


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


class Snapshot(NamedTuple):
    """The readings of a site at one moment."""

    origin: Origin
    readings: dict[Part, Reading[Any]]

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
    def resolutions(self) -> list[Reading[Resolution]]:
        """What was asked for, the last first."""
        return [reading for part, reading in reversed(self.readings.items()) if part.kind == RESOLVE]

    @property
    def job(self) -> Reading[JobVerdict] | None:
        """The job's verdict; None where the site holds no job."""
        return self.readings.get(JOB)

    def problems(self) -> list[tuple[str, Problem]]:
        """All problems with the part that they belong to; a collector that broke off is one, too."""
        found = []
        for part, reading in self.readings.items():
            if reading.failure is not None:
                found.append((part.title, Problem("collector-failed", reading.failure)))
            # These two look at the same things as the parts of their own.
            if part.kind not in (DOCTOR, CHECK.kind):
                found += [(part.title, problem) for problem in problems_of(reading.value)]
        return found


def problems_of(value: Any) -> Sequence[Problem]:
    """The problems that a collector's answer holds."""
    held = value.fabric if isinstance(value, SubnetView) else value
    return getattr(held, "problems", ())


def tasks_of(site: Site, earlier: Site | None = None, expect: Callable[[], str | None] = lambda: None) -> list[Task]:
    """What there is to find out, and what changed since the ``earlier`` frame of a recording.

    ``expect`` tells the file of expectations, which may be another one later. The collectors are imported when they
    run: the first frame does not wait for them.
    """
    tasks = [Task(Part(HOST, host.name), partial(_hcas, host.source, host.name)) for host in site.hosts]
    if site.origin.kind != "raw":  # one tool's output says nothing about its host
        tasks += [Task(Part(DOCTOR, host.name), partial(_checks, host.source, host.name)) for host in site.hosts]
    tasks += [Task(FABRIC, partial(_fabric, site.subnet)), Task(MANAGERS, partial(_managers, site.subnet))]
    shared = tuple(task.part for task in tasks if task.part.kind != HOST)
    tasks.append(Task(CHECK, _Diagnosing(site, earlier, expect), shared))
    if site.job or raw_log(site):
        tasks.append(Task(JOB, partial(_job, site)))
    return tasks


def raw_log(site: Site) -> RawSource | None:
    """The one file that was given, where it is a job's log."""
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


def _hcas(source: Source, name: str) -> HostHcas:
    from ibkit.collectors.hca import collect_hcas

    return collect_hcas(source, name, whole=False)  # a refresh starts no process for pyverbs


def _checks(source: Source, name: str) -> HostChecks:
    from ibkit.collectors.doctor import collect_checks

    return collect_checks(source, name)


def _fabric(subnet: Source) -> SubnetView:
    from ibkit.collectors.fabric import collect_fabric

    return SubnetView(collect_fabric(subnet))


def _job(site: Site) -> JobVerdict:
    from ibkit.transport.job import Job, Log, job_of_site
    from ibkit.transport.verdict import judge

    raw = raw_log(site)
    if raw is None:
        return judge(job_of_site(site))
    data = raw.run([raw.form.tool]).stdout
    return judge(Job(raw.path, (Log(raw.path, lambda: io.BytesIO(data)),)))


def _managers(subnet: Source) -> SubnetManagers:
    from ibkit.collectors.subnet_manager import collect_subnet_managers

    return collect_subnet_managers(subnet)
