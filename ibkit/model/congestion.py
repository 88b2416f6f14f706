"""How long a port had data and could not send it, from PortXmitWait, whose unit differs between chips.

The counter counts ticks: multiples of the time of one byte on a lane (InfiniBand Architecture Specification volume 1,
16.1.3.5 and PortSamplesControl.Tick, whose 7 means 8 times). NVIDIA's ibdiagnet manual (2.13, "Congestion Assessment
on InfiniBand Links") says what its switches do: the Quantum family counts each 8 bytes that the port could have sent,
be it wide or not, and shows a tick of 7; Switch-X and Switch-IB count 32 bytes of each lane, and show 31. So the bytes
that were not sent are counts x (tick + 1), times the lanes on the older family; their share of what the link carries in
an interval is the congestion. Nobody says what adapters count, so theirs is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.model.asics import QUANTUM_FAMILY, SWITCH_IB_FAMILY, asic_of
from ibkit.model.counters import Congestion, Counted, FabricChange, PortChange
from ibkit.model.fabric import SWITCH, Fabric, Node
from ibkit.model.rates import data_gbps, lanes
from ibkit.model.routes import port_of

COUNTER = "PortXmitWait"

#: PortSamplesControl.Tick of each family.
_TICKS = {QUANTUM_FAMILY: 7, SWITCH_IB_FAMILY: 31}
#: The times of two sweeps are known to some per cent, so a port that waited all the time may come out a little above.
_MOST = 1.1

#: Why it is not known: no topology that says which chip and which rate; a chip of which nobody says what it counts; no
#: rate; a port that does not count it; a counter of which the change is not known; more than the time that there was.
NO_TOPOLOGY, UNKNOWN_CHIP, NO_RATE, NOT_COUNTED, NO_CHANGE, IMPLAUSIBLE = (
    "no-topology", "unknown-chip", "no-rate", "not-counted", "no-change", "implausible",
)  # fmt: skip


def with_congestion(change: FabricChange, fabric: Fabric) -> FabricChange:
    """The change with the congestion of each port, and with the zeros of the counter that its chip proves."""
    ports = [_settled(port, fabric) for port in change.ports]
    ports = [port._replace(congestion=congestion(port, change.seconds, fabric)) for port in ports]
    return change._replace(ports=tuple(ports))


def _settled(change: PortChange, fabric: Fabric) -> PortChange:
    """A port whose chip counts it, and that had nothing to show of it, counted nothing."""
    node = fabric.nodes.get(change.port.guid) if change.port.guid else None
    if COUNTER not in change.zero_if_counted or node is None or _family(node) is None:
        return change
    return change._replace(counters={**change.counters, COUNTER: 0})


def congestion(change: PortChange, seconds: float, fabric: Fabric) -> Congestion:
    """Of one port, by the chip and the link that the fabric shows."""
    node = fabric.nodes.get(change.port.guid) if change.port.guid else None
    counted = change.counters.get(COUNTER)
    if counted is None:
        known = COUNTER in (*change.counters, *change.zero_if_counted) and COUNTER not in change.port.unsupported
        return Congestion(unknown=NO_CHANGE if known else NOT_COUNTED)
    if node is None:
        return Congestion(unknown=NO_TOPOLOGY)
    width, speed = _link(node, change.port.port)
    lost = lost_bytes(counted, _family(node), lanes(width))
    if lost is None:
        return Congestion(unknown=NO_RATE if _family(node) else UNKNOWN_CHIP)
    rate = data_gbps(width, speed)
    if rate is None:
        return Congestion(unknown=NO_RATE)
    ratio = lost * 8 / (rate * 1e9 * seconds)
    if ratio > _MOST:
        return Congestion(unknown=IMPLAUSIBLE)
    return Congestion(min(ratio, 1.0), lost, COUNTER in change.at_least)


def most_congested_first(ports: Iterable[Counted]) -> tuple[Counted, ...]:
    """Ports whose congestion is not known come last."""

    def key(port: Counted) -> float:
        known = port.congestion if isinstance(port, PortChange) else None
        return 1.0 if known is None or known.ratio is None else -known.ratio

    return tuple(sorted(ports, key=key))


def lost_bytes(ticks: int, family: str | None, lane_count: int | None) -> int | None:
    """The bytes that could have been sent in so many ticks; None where the family or the lanes are not known."""
    if family is None or lane_count is None:
        return None
    return ticks * (_TICKS[family] + 1) * (lane_count if family == SWITCH_IB_FAMILY else 1)


def _family(node: Node) -> str | None:
    asic = asic_of(node) if node.type == SWITCH else None
    return asic.wait_family if asic else None


def _link(node: Node, number: int) -> tuple[str | None, str | None]:
    port = port_of(node, number)
    return (port.width, port.speed) if port else (None, None)
