"""Counters read again and again on a live host: what they counted in each interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from ibkit.collectors.counters import collect_counters
from ibkit.model.counters import FabricChange, FabricCounters, change_between
from ibkit.sources.base import Source


def watch_counters(
    source: Source,
    interval_seconds: float,
    count: int,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[FabricChange]:
    """``count`` changes, one interval after the other; a sweep that takes longer than the interval makes its own."""
    before, begun, middle = _sample(source, clock)
    for _ in range(count):
        sleep(max(0.0, begun + interval_seconds - clock()))
        after, begun, next_middle = _sample(source, clock)
        yield change_between(before, after, next_middle - middle)
        before, middle = after, next_middle


def _sample(source: Source, clock: Callable[[], float]) -> tuple[FabricCounters, float, float]:
    """The counters, when reading them began, and the middle of that."""
    begun = clock()
    counters = collect_counters(source)
    return counters, begun, (begun + clock()) / 2
