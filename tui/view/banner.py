"""The first line of every screen: is this live, or a replay of what, and how old is it."""

from __future__ import annotations

from ibkit.parsers.records import NamedTuple
from ibkit.sources.site import Origin
from ibkit.tui.view.lines import Line, span


class Clock(NamedTuple):
    """How current a live view is. ``age`` is that of the oldest part shown and ``interval`` that of the refreshes, in
    seconds; None where there is none. ``running`` are the tools at work, with their age.
    """

    age: float | None = None
    interval: float | None = None
    is_paused: bool = False
    running: tuple[str, ...] = ()


def banner(origin: Origin, clock: Clock | None = None) -> Line:
    """``LIVE host`` or ``REPLAY of what, recorded when: note``; without a clock no age is told."""
    if origin.kind != "live":
        when = f", recorded {stamp(origin.time)}" if origin.time else ", time not recorded"
        note = f": {origin.note}" if origin.note else ""
        return (span(" REPLAY ", "replay"), span(f" of {origin.label}{when}{note}", "banner"))
    if clock is None:
        return (span(" LIVE ", "live"), span(f" on {origin.label}", "banner"))
    word = " PAUSED " if clock.is_paused else " LIVE "
    every = f", every {seconds(clock.interval)}" if clock.interval and not clock.is_paused else ""
    age = "reading" if clock.age is None else f"read {seconds(clock.age)} ago"
    tools = f", running {', '.join(clock.running)}" if clock.running else ""
    role = "paused" if clock.is_paused else "live"
    return (span(word, role), span(f" {origin.label}, {age}{every}{tools}", "banner"))


def stamp(time: str) -> str:
    """An ISO 8601 time as people read it: ``2026-12-01 20:53:07 +00:00``."""
    date, _, clock = time.partition("T")
    if not clock:
        return time
    for sign in ("+", "-"):
        clock = clock.replace(sign, f" {sign}")
    return f"{date} {clock.replace('Z', ' UTC')}"


def seconds(value: float) -> str:
    """``12 s``, ``3 min``, ``2 h``."""
    if value < 100:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 6000 else f"{value / 3600:.0f} h"
