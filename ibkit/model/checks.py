"""What a host lets ibkit see: one check per thing that must be there, and what mends it."""

from __future__ import annotations

from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

#: It is as it should be; not there; there and not for this user; there and too small; there and it does not work;
#: differs where it should be the same; the evidence does not tell.
OK, MISSING, DENIED, LIMITED, BROKEN, DIFFERENT, UNKNOWN = (
    "ok", "missing", "denied", "limited", "broken", "different", "unknown",
)  # fmt: skip


class Fix(NamedTuple):
    """A command that mends, for a person to run. ``system`` is apt, dnf, or any."""

    system: str
    command: str


class Check(NamedTuple):
    """One check. ``id`` is a stable word for scripts, ``text`` what was seen, ``means`` what follows from it."""

    id: str
    state: str
    text: str
    means: str
    fixes: tuple[Fix, ...] = ()


class HostChecks(NamedTuple):
    """All checks of one host."""

    host: str
    checks: tuple[Check, ...]
    problems: tuple[Problem, ...] = ()
