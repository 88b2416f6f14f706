"""Counters read again and again on a live host: what they counted in each interval, and how congested a port was."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from ibkit.collectors.counters import collect_counters
from ibkit.collectors.fabric import collect_fabric
from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.model.congestion import with_congestion
from ibkit.model.counters import FabricChange, FabricCounters, change_between
from ibkit.model.fabric import Fabric
from ibkit.parsers.base import Problem
from ibkit.sources.base import Source

_NO_FABRIC = Fabric({}, (), None)


def watch_counters(
    source: Source,
    interval_seconds: float,
    count: int,
    through: Through = ANY_PORT,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[FabricChange]:
    """``count`` changes, one interval after the other; a sweep that takes longer than the interval makes its own.

    Chips and rates are looked up once, within the first interval, where a sweep for counters reached the fabric.
    """
    before, begun, middle = _sample(source, through, clock)
    fabric, problems = _topology(source, through) if before.sweeps else (_NO_FABRIC, ())
    for _ in range(count):
        sleep(max(0.0, begun + interval_seconds - clock()))
        after, begun, next_middle = _sample(source, through, clock)
        change = with_congestion(change_between(before, after, next_middle - middle), fabric)
        yield change._replace(problems=(*change.problems, *problems))
        before, middle = after, next_middle


def _topology(source: Source, through: Through) -> tuple[Fabric, tuple[Problem, ...]]:
    """The fabric, or why the congestion of its ports is not known."""
    fabric = collect_fabric(source, through)
    if fabric.nodes:
        return fabric, ()
    why = fabric.problems[0].text if fabric.problems else "nothing was seen"
    return _NO_FABRIC, (Problem("no-topology", f"congestion is not known without the topology: {why}"),)


def _sample(source: Source, through: Through, clock: Callable[[], float]) -> tuple[FabricCounters, float, float]:
    """The counters, when reading them began, and the middle of that."""
    begun = clock()
    counters = collect_counters(source, through)
    return counters, begun, (begun + clock()) / 2
