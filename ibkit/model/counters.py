"""Port counters of a fabric: what each port counted since somebody last cleared it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from ibkit.model.ids import Guid
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

#: PortCounters' components and their width in bits (InfiniBand Architecture Specification volume 1, 16.1.3.5). They
#: stop at their maximum. PortCountersExtended has 64 bits for each.
WIDTHS = {
    "SymbolErrorCounter": 16,
    "LinkErrorRecoveryCounter": 8,
    "LinkDownedCounter": 8,
    "PortRcvErrors": 16,
    "PortRcvRemotePhysicalErrors": 16,
    "PortRcvSwitchRelayErrors": 16,
    "PortXmitDiscards": 16,
    "PortXmitConstraintErrors": 8,
    "PortRcvConstraintErrors": 8,
    "LocalLinkIntegrityErrors": 4,
    "ExcessiveBufferOverrunErrors": 4,
    "QP1Dropped": 16,
    "VL15Dropped": 16,
    "PortXmitWait": 32,
    "PortXmitData": 32,
    "PortRcvData": 32,
    "PortXmitPkts": 32,
    "PortRcvPkts": 32,
}
#: PortRcvErrorDetails and PortXmitDiscardDetails, 16 bits each (same source, 16.1.4.4 and 16.1.4.5).
DETAILS = (
    "PortLocalPhysicalErrors",
    "PortMalformedPktErrors",
    "PortBufferOverrunErrors",
    "PortDLIDMappingErrors",
    "PortVLMappingErrors",
    "PortLoopingErrors",
    "PortInactiveDiscards",
    "PortNeighborMTUDiscards",
    "PortSwLifetimeLimitDiscards",
    "PortSwHOQLifetimeLimitDiscards",
)
#: What counts trouble, not traffic and not waiting.
ERRORS = (*(name for name in WIDTHS if not name.endswith(("Data", "Pkts", "Wait"))), *DETAILS)
#: Data counters count in units of 4 octets (same source, 16.1.3.5).
OCTETS_PER_DATA_UNIT = 4


class PortCounters(NamedTuple):
    """One port. ``guid`` is the node's GUID where the tool tells it, else the port's; ``port_guid`` is the port's.

    ``counters`` has them by the name that perfquery prints; None is one that the hardware does not have or that could
    not be told from it, an absent one was not asked for. ``saturated`` names those that stand at their maximum: they
    are "at least" that. ``line`` is where the port stands in ``source``.
    """

    guid: Guid | None
    port_guid: Guid | None
    lid: int | None
    port: int
    node_name: str | None
    counters: dict[str, int | None]
    saturated: tuple[str, ...] = ()
    line: int | None = None
    source: str | None = None

    @property
    def errors(self) -> dict[str, int]:
        """The error counters that are above zero."""
        return {name: value for name in ERRORS if (value := self.counters.get(name))}


class FabricCounters(NamedTuple):
    """``complete`` is True where all ports of the fabric were asked and answered, False where some are known to be
    missing, None where that cannot be told (a port or a node was asked on its own).
    """

    ports: tuple[PortCounters, ...]
    complete: bool | None
    problems: tuple[Problem, ...] = ()
    source: str | None = None


def saturated(counters: dict[str, int | None], wide: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The counters that stand at their maximum; those in ``wide`` have 64 bits."""
    names = []
    for name, value in counters.items():
        bits = 64 if name in wide else WIDTHS.get(name) or (16 if name in DETAILS else 64)
        if value == (1 << bits) - 1:
            names.append(name)
    return tuple(names)


class PortChange(NamedTuple):
    """What a port counted between two samples. ``counters`` has None where that is not known.

    ``at_least`` names the counters that counted that much or more: they stopped at their maximum, or were cleared in
    between; the latter are in ``cleared``, too.
    """

    port: PortCounters
    counters: dict[str, int | None]
    at_least: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()

    @property
    def errors(self) -> dict[str, int]:
        """The error counters that moved."""
        return {name: value for name in ERRORS if (value := self.counters.get(name))}


class FabricChange(NamedTuple):
    """The changes of all ports that are in both samples, ``seconds`` apart (from the middle of one sweep to that of
    the other).
    """

    ports: tuple[PortChange, ...]
    seconds: float
    complete: bool | None
    problems: tuple[Problem, ...] = ()
    source: str | None = None


def change_between(before: FabricCounters, after: FabricCounters, seconds: float) -> FabricChange:
    """Compare two samples. A port that only one of them has is a problem, not a change."""
    known = {_identity(port): port for port in before.ports}
    changes = [_port_change(known.pop(_identity(port), None), port) for port in after.ports]
    seen = tuple(change for change in changes if change)
    lost = len(known) + len(changes) - len(seen)
    problems = tuple(dict.fromkeys((*before.problems, *after.problems)))
    if lost:
        text = f"{lost} ports are in one of the two samples only, so nothing is known of their change"
        problems += (Problem("one-sample", text, None, after.source),)
    complete = None if None in (before.complete, after.complete) else before.complete and after.complete
    return FabricChange(seen, seconds, False if lost else complete, problems, after.source)


def _identity(port: PortCounters) -> tuple[Guid | None, int | None, int]:
    return port.guid, None if port.guid else port.lid, port.port


def _port_change(before: PortCounters | None, after: PortCounters) -> PortChange | None:
    if before is None:
        return None
    counters: dict[str, int | None] = {}
    at_least = []
    cleared = []
    for name, value in after.counters.items():
        old = before.counters.get(name)
        if value is None or old is None:
            counters[name] = None
        elif value < old:
            # Somebody cleared it: it has counted its value since then, and before that nobody knows what.
            counters[name] = value
            cleared.append(name)
            at_least.append(name)
        elif name not in after.saturated:
            counters[name] = value - old
        elif name in before.saturated:
            counters[name] = None  # it has stood still at its maximum
        else:
            counters[name] = value - old
            at_least.append(name)
    return PortChange(after, counters, tuple(at_least), tuple(cleared))


#: A port's values, or their change.
Counted = TypeVar("Counted", PortCounters, PortChange)


def with_errors(ports: Iterable[Counted]) -> tuple[Counted, ...]:
    """The ports that have an error counter above zero."""
    return tuple(port for port in ports if port.errors)


def highest_first(ports: Iterable[Counted], name: str | None = None) -> tuple[Counted, ...]:
    """By one counter, or by the sum of the error counters; ports of which it is not known come last."""

    def key(port: Counted) -> int:
        if name is None:
            return -sum(port.errors.values())
        value = port.counters.get(name)
        return 1 if value is None else -value

    return tuple(sorted(ports, key=key))
