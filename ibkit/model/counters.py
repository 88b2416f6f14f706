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
    are "at least" that. ``line`` is where the port stands in ``source``. ``unread_errors`` is True for a port whose row
    in a listing of errors is damaged: it has a counter above its threshold whose value is not here. ``unsupported``
    names the counters that the port does not have, by its own capability mask; ``zero_if_counted`` those that are
    absent and were asked for: they are zero, unless the port does not have them.
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
    unread_errors: bool = False
    unsupported: tuple[str, ...] = ()
    zero_if_counted: tuple[str, ...] = ()

    @property
    def errors(self) -> dict[str, int]:
        """The error counters that are above zero."""
        return {name: value for name in ERRORS if (value := self.counters.get(name))}

    @property
    def unread(self) -> tuple[str, ...]:
        """The error counters that are above zero, and nobody knows by how much."""
        return tuple(name for name in ERRORS if self.unread_errors and self.counters.get(name, 0) is None)


class SweepSummary(NamedTuple):
    """What a run of ibqueryerrors looked at. ``form`` is errors (the ports with error counters above their thresholds)
    or data (all ports); ``nodes`` and ``ports`` are how many were checked, None where the text does not say.
    ``hidden`` names the error counters that it may be silent about though they are above zero; ``whole`` is False
    where rows, answers or nodes are missing.
    """

    form: str
    nodes: int | None
    ports: int | None
    hidden: tuple[str, ...]
    whole: bool


class FabricCounters(NamedTuple):
    """``complete`` is True where all ports of the fabric were asked and answered, False where some are known to be
    missing, None where that cannot be told (a port or a node was asked on its own). ``sweeps`` are the runs of
    ibqueryerrors that all this is from.
    """

    ports: tuple[PortCounters, ...]
    complete: bool | None
    problems: tuple[Problem, ...] = ()
    source: str | None = None
    sweeps: tuple[SweepSummary, ...] = ()


def saturated(counters: dict[str, int | None], wide: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The counters that stand at their maximum; those in ``wide`` have 64 bits."""
    names = []
    for name, value in counters.items():
        if not value:
            continue  # as nearly all are
        bits = 64 if name in wide else WIDTHS.get(name) or (16 if name in DETAILS else 64)
        if value == (1 << bits) - 1:
            names.append(name)
    return tuple(names)


class Congestion(NamedTuple):
    """``ratio`` is the share of an interval in which a port had data and could not send, from 0 to 1; ``lost_bytes``
    what it could have sent meanwhile. Where they are None, ``unknown`` is the reason. ``at_least``: it may be more.
    """

    ratio: float | None = None
    lost_bytes: int | None = None
    at_least: bool = False
    unknown: str | None = None


class PortChange(NamedTuple):
    """What a port counted between two samples. ``counters`` has None where that is not known.

    ``at_least`` names the counters that counted that much or more: they stopped at their maximum, or were cleared in
    between; the latter are in ``cleared``, too. ``full`` names those that stood at their maximum all the time: nobody
    knows what they would have counted. ``zero_if_counted`` names absent ones that stood at zero in both samples, unless
    the port does not have them. ``congestion`` is None where nobody worked it out.
    """

    port: PortCounters
    counters: dict[str, int | None]
    at_least: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    zero_if_counted: tuple[str, ...] = ()
    congestion: Congestion | None = None

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
    full = []
    earlier = _with_zeros(before, after)
    for name, value in _with_zeros(after, before).items():
        old = earlier.get(name)
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
            counters[name] = None
            full.append(name)
        else:
            counters[name] = value - old
            at_least.append(name)
    quiet = tuple(name for name in after.zero_if_counted if name in before.zero_if_counted)
    return PortChange(after, counters, tuple(at_least), tuple(cleared), tuple(full), quiet)


def _with_zeros(port: PortCounters, other: PortCounters) -> dict[str, int | None]:
    """The counters of a sample. One that the other sample has a value of is counted, so its silence here is zero."""
    zeros: dict[str, int | None] = {name: 0 for name in port.zero_if_counted if other.counters.get(name) is not None}
    return port.counters | zeros if zeros else port.counters


#: What every port counts, and both of the tools print.
_ALWAYS_COUNTED = tuple(name for name in ERRORS if name in WIDTHS and name != "QP1Dropped")


def doubt_of_no_errors(fabric: FabricCounters) -> str | None:
    """Why it is not settled that no port has errors where none is known to; None where it is settled."""
    if fabric.complete is False:
        return "something is known to be missing"
    listings = [sweep for sweep in fabric.sweeps if sweep.form == "errors"]
    if not fabric.ports and not listings:
        return "no error counters were read"
    for sweep in listings:
        if not sweep.whole:
            return "the listing of errors is not whole"
        if sweep.hidden:
            return f"the listing of errors is silent about {', '.join(sweep.hidden)}"
    unknown = sum(any(port.counters.get(name) is None for name in _ALWAYS_COUNTED) for port in fabric.ports)
    return f"error counters of {unknown} of {len(fabric.ports)} ports are not known" if unknown else None


#: A port's values, or their change.
Counted = TypeVar("Counted", PortCounters, PortChange)


def with_errors(ports: Iterable[Counted]) -> tuple[Counted, ...]:
    """The ports that have an error counter above zero, or may have one that could not be read."""
    return tuple(port for port in ports if port.errors or (isinstance(port, PortCounters) and port.unread_errors))


def highest_first(ports: Iterable[Counted], name: str | None = None) -> tuple[Counted, ...]:
    """By one counter, or by the sum of the error counters; ports of which it is not known come last."""

    def key(port: Counted) -> int:
        if name is None:
            return -sum(port.errors.values())
        value = port.counters.get(name)
        return 1 if value is None else -value

    return tuple(sorted(ports, key=key))
