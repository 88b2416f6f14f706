"""What the findings and the counters pages stand on: the rules' evidence, its diagnosis, and what changed since before.

Kept from sample to sample: the last evidence, so that the next one has rates, and the fabric's traffic over time.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ibkit.errors import IbkitError
from ibkit.model.congestion import with_congestion
from ibkit.model.counters import OCTETS_PER_DATA_UNIT, FabricChange
from ibkit.model.findings import Diagnosis
from ibkit.parsers.base import Problem
from ibkit.rules import catalogue
from ibkit.rules.collecting import Given, collect, compare_with, expecting, problems_of, seconds_between
from ibkit.rules.engine import diagnose
from ibkit.rules.evidence import Collected, Evidence
from ibkit.rules.expectation_file import read_expectations
from ibkit.rules.tallies import spell
from ibkit.sources.site import Site
from ibkit.tui.snapshot import DOCTOR, FABRIC, HOST, MANAGERS, Reading, Readings

#: How many samples the lines of the past show.
PAST = 60
NOTHING = Diagnosis((), (), ())


class Sample(NamedTuple):
    """What the whole fabric did between two samples. ``taken`` is the monotonic clock (seconds)."""

    taken: float
    gbps: float | None
    errors: int


class Diagnosed(NamedTuple):
    """One sample of everything, judged. ``first`` is the first sample of the session, None where it is this one."""

    collected: Collected
    diagnosis: Diagnosis
    past: tuple[Sample, ...] = ()
    first: Collected | None = None

    @property
    def problems(self) -> Sequence[Problem]:
        """What could not be read."""
        return problems_of(self.collected)


class Diagnosing:
    """Collects and judges, again and again."""

    def __init__(
        self, site: Site, earlier: Site | None = None, expect: Callable[[], str | None] = lambda: None
    ) -> None:
        self._site = site
        #: Tells the file of expectations; it is read anew for each sample, for people edit it.
        self._expect = expect
        #: The frame of a recording before this one.
        self._earlier = earlier
        self._before: Collected | None = None
        self._first: Collected | None = None
        self._past: deque[Sample] = deque(maxlen=PAST)

    def __call__(self, readings: Readings | None = None) -> Diagnosed:
        """The next sample, compared with the one before where there was one.

        What ``readings`` hold of the site is not asked for again. Raises IbkitError for a file of expectations that
        cannot be read.
        """
        fresh = collect(self._site, given=given_by(self._site, readings or {}))
        shown = fresh
        if self._before is not None and self._site.origin.kind == "live":
            seconds = _middle(fresh) - _middle(self._before)
            shown = _compared(self._before, fresh, seconds)
            if shown.change is not None:
                self._past.append(_sample(shown.change))
        elif self._earlier is not None and (apart := _apart(self._earlier, self._site)):
            shown = _compared(collect(self._earlier), fresh, apart)
        first, self._first = self._first, self._first or fresh
        self._before = fresh
        return judged(Diagnosed(shown, NOTHING, tuple(self._past), first), self._expect())


def judged(sample: Diagnosed, expect: str | None) -> Diagnosed:
    """The same sample, judged by what this file expects. Raises IbkitError."""
    collected = expecting(sample.collected, read_expectations(expect) if expect else None)
    return sample._replace(collected=collected, diagnosis=diagnose(Evidence(collected), catalogue.ALL))


def given_by(site: Site, readings: Readings) -> Given:
    """What the parts' own tasks have read. Of two hosts of one name it is not known whose readings these are."""
    fabric, managers = (readings.get(part, Reading()).value for part in (FABRIC, MANAGERS))
    names = Counter(host.name for host in site.hosts)
    checks, hosts = (
        {
            part.host: reading.value
            for part, reading in readings.items()
            if part.kind == kind and reading.value and names[part.host] == 1
        }
        for kind in (DOCTOR, HOST)
    )
    return Given(fabric.fabric if fabric else None, managers, checks, hosts)


def _compared(before: Collected, fresh: Collected, seconds: float) -> Collected:
    shown = compare_with(before, fresh, seconds, f"in the last {spell(seconds)}")
    if shown.change is None or shown.fabric is None:
        return shown
    return shown._replace(change=with_congestion(shown.change, shown.fabric))


def _apart(earlier: Site, later: Site) -> float | None:
    """From one recording to the next; None where their times do not tell."""
    try:
        return seconds_between(earlier.origin, later.origin)
    except IbkitError:
        return None


def _middle(collected: Collected) -> float:
    """When the counters were read: the middle of their sweep, by the monotonic clock (seconds)."""
    begun, ended = collected.counted_at
    return (begun + ended) / 2


def _sample(change: FabricChange | None) -> Sample:
    """All that ports sent, and all their errors."""
    ports = change.ports if change else ()
    sent = [count for port in ports if (count := port.counters.get("PortXmitData")) is not None]
    errors = sum(sum(port.errors.values()) for port in ports)
    gbps = sum(sent) * OCTETS_PER_DATA_UNIT * 8 / 1e9 / change.seconds if change and sent and change.seconds else None
    return Sample(time.monotonic(), gbps, errors)
