"""PortXmitWait in time. The conversions are those of NVIDIA's ibdiagnet manual, worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.model.asics import QUANTUM_FAMILY, SWITCH_IB_FAMILY
from ibkit.model.congestion import congestion, lost_bytes, most_congested_first, with_congestion
from ibkit.model.counters import Congestion, FabricChange, PortChange, PortCounters
from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, Fabric, FabricPort, Node
from ibkit.model.ids import Guid

GUID = Guid(0xB8599F0300000000)
SWITCH_X, SWITCH_IB, SWITCH_IB_2, QUANTUM, QUANTUM_2, QUANTUM_3 = 0xC738, 0xCB20, 0xCF08, 0xD2F0, 0xD2F2, 0xD2F4


def fabric(device: int | None, width: str | None = "4x", speed: str | None = "HDR", **more: object) -> Fabric:
    ports = (FabricPort(1, width=width, speed=speed), FabricPort(2))
    node = Node(GUID, SWITCH, "leaf", 40, ports, vendor_id=0x2C9, device_id=device)
    return Fabric({GUID: node._replace(**more)}, (), True)


def change(ticks: int | None, **more: object) -> PortChange:
    port = PortCounters(GUID, None, 2, 1, "leaf", {"PortXmitWait": ticks})
    return PortChange(port, {"PortXmitWait": ticks})._replace(**more)


@pytest.mark.parametrize(
    ("device", "rate", "ticks", "seconds", "ratio", "lost"),
    [
        # 4x HDR carries 200 Gb/s: 25 GB in a second. Quantum counts each 8 bytes: 3,125,000,000 ticks are all of it.
        (QUANTUM, "4x HDR", 3_125_000_000, 1.0, 1.0, 25_000_000_000),
        (QUANTUM, "4x HDR", 312_500_000, 1.0, 0.1, 2_500_000_000),
        (QUANTUM, "4x HDR", 312_500_000, 10.0, 0.01, 2_500_000_000),
        (QUANTUM, "2x HDR", 312_500_000, 1.0, 0.2, 2_500_000_000),  # whatever its width
        (QUANTUM_2, "4x NDR", 6_250_000_000, 2.0, 0.5, 50_000_000_000),
        (QUANTUM_3, "1x XDR", 3_125_000_000, 1.0, 1.0, 25_000_000_000),
        # 4x EDR carries 100 Gb/s: 12.5 GB in a second. Switch-IB counts 32 bytes of each of four lanes.
        (SWITCH_IB, "4x EDR", 9_765_625, 1.0, 0.1, 1_250_000_000),
        (SWITCH_IB_2, "4x EDR", 97_656_250, 1.0, 1.0, 12_500_000_000),
        (SWITCH_IB_2, "1x EDR", 97_656_250, 1.0, 1.0, 3_125_000_000),
        # QDR has 8 of 10 bits for data: 32 Gb/s, 4 GB in a second
        (SWITCH_X, "4x QDR", 15_625_000, 1.0, 0.5, 2_000_000_000),
        (QUANTUM, "4x HDR", 0, 1.0, 0.0, 0),
    ],
)
def test_by_family(device: int, rate: str, ticks: int, seconds: float, ratio: float, lost: int) -> None:
    found = congestion(change(ticks), seconds, fabric(device, *rate.split()))
    assert found.ratio == pytest.approx(ratio)
    assert (found.lost_bytes, found.at_least, found.unknown) == (lost, False, None)


@pytest.mark.parametrize(
    ("ticks", "seen", "reason"),
    [
        (5, fabric(0xBD36), "unknown-chip"),  # InfiniScale IV: the manual does not name it
        (5, fabric(None), "unknown-chip"),
        (5, fabric(QUANTUM, vendor_id=0x8F1), "unknown-chip"),
        (5, fabric(0x101B, type=CHANNEL_ADAPTER), "unknown-chip"),
        (5, fabric(QUANTUM, None), "no-rate"),
        (5, fabric(QUANTUM, "4x", "???"), "no-rate"),
        (5, fabric(QUANTUM, ports=()), "no-rate"),
        (5, Fabric({}, (), None), "no-topology"),
        (None, fabric(QUANTUM), "no-change"),
        (4_000_000_000, fabric(QUANTUM), "implausible"),  # 28 % more than there was time for
    ],
)
def test_what_cannot_be_told(ticks: int | None, seen: Fabric, reason: str) -> None:
    assert congestion(change(ticks), 1.0, seen) == Congestion(unknown=reason)


def test_a_little_more_than_all_is_all() -> None:
    found = congestion(change(3_300_000_000), 1.0, fabric(QUANTUM))
    assert found.ratio == 1.0


def test_what_was_cleared_or_filled_up_is_at_least_that() -> None:
    found = congestion(change(312_500_000, at_least=("PortXmitWait",)), 1.0, fabric(QUANTUM))
    assert (found.ratio, found.at_least) == (pytest.approx(0.1), True)


def test_a_port_that_does_not_count_it() -> None:
    port = change(None).port._replace(unsupported=("PortXmitWait",))
    assert congestion(change(None, port=port), 1.0, fabric(QUANTUM)).unknown == "not-counted"
    assert congestion(change(None, counters={}), 1.0, fabric(QUANTUM)).unknown == "not-counted"
    nobody = change(5, port=change(5).port._replace(guid=None))
    assert congestion(nobody, 1.0, fabric(QUANTUM)).unknown == "no-topology"


def test_silence_is_zero_on_a_switch_that_counts_it() -> None:
    silent = change(None, counters={}, zero_if_counted=("PortXmitWait",))
    (quantum,) = with_congestion(FabricChange((silent,), 1.0, True), fabric(QUANTUM)).ports
    assert (quantum.congestion, quantum.counters) == (Congestion(0.0, 0), {"PortXmitWait": 0})
    (other,) = with_congestion(FabricChange((silent,), 1.0, True), fabric(0xBD36)).ports
    assert (other.congestion, other.counters) == (Congestion(unknown="no-change"), {})


def test_all_ports_of_a_change_the_worst_first() -> None:
    ports = (change(None), change(10), change(1000))
    found = with_congestion(FabricChange(ports, 1.0, True), fabric(QUANTUM))
    worst = most_congested_first(found.ports)
    assert [port.congestion and port.congestion.lost_bytes for port in worst] == [8000, 80, None]


@given(
    st.integers(0, 2**64), st.sampled_from([None, QUANTUM_FAMILY, SWITCH_IB_FAMILY]), st.sampled_from([None, 1, 2, 4])
)
def test_more_ticks_are_more_bytes(ticks: int, family: str | None, lanes: int | None) -> None:
    found = lost_bytes(ticks, family, lanes)
    assert (found is None) == (family is None or lanes is None)
    assert found is None or found >= ticks * 8
