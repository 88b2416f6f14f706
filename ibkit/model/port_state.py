"""What a port's states say: one set of words for all sources, what is worth believing, and whether the port works.

Words: ``port_state_str`` and ``port_phy_state_str`` of infiniband-diags' ``ibstat.c``. Codes: InfiniBand Architecture
Specification volume 1, PortInfo (PortState, PortPhysicalState); the kernel's ``enum ib_port_state``; Omni-Path's own
physical states: the kernel's ``include/rdma/opa_port_info.h``.
"""

from __future__ import annotations

from ibkit.model.host import Hca, HcaPort

#: Code 0: a driver that has not set the state.
NO_CHANGE = "No state change"
STATE_OF_CODE = {0: NO_CHANGE, 1: "Down", 2: "Initializing", 3: "Armed", 4: "Active"}
PHYSICAL_STATE_OF_CODE = {
    0: NO_CHANGE, 1: "Sleep", 2: "Polling", 3: "Disabled", 4: "PortConfigurationTraining", 5: "LinkUp",
    6: "LinkErrorRecovery", 7: "PhyTest", 9: "Offline", 11: "Test",
}  # fmt: skip
INFINIBAND, ETHERNET = "InfiniBand", "Ethernet"
#: Codes of verbs (libibverbs' ``verbs.h``): active_width to lanes, active_speed to name and Gb/s of one lane.
LANES = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
SPEEDS = {
    1: ("SDR", 2.5), 2: ("DDR", 5.0), 4: ("QDR", 10.0), 8: ("FDR10", 10.0), 16: ("FDR", 14.0), 32: ("EDR", 25.0),
    64: ("HDR", 50.0), 128: ("NDR", 100.0), 256: ("XDR", 200.0),
}  # fmt: skip

#: A LID from here on is multicast; 0 and 0xffff are no unicast LIDs either (volume 1, 4.1.3).
FIRST_MULTICAST_LID = 0xC000
PERMISSIVE_LID = 0xFFFF

#: What is known of a port: it works; it has no link (nothing plugged in, or switched off); it has one and does not
#: work; the evidence does not tell.
ACTIVE, DORMANT, FAULTY, UNKNOWN = "active", "dormant", "faulty", "unknown"

#: Vendor and part as verbs tells them: Intel's Omni-Path adapters; Amazon, whose only adapter is EFA.
_OPA_PARTS = ((0x1175, 0x24F0), (0x1175, 0x24F1))
_AMAZON = 0x1D0F
_OPA_NAMES = ("hfi1", "opap", "opao", "opax")

TRAINING = "PortConfigurationTraining"
_DORMANT_STATES = ("Sleep", "Polling", "Disabled", "Offline")
_LINKED_STATES = ("LinkUp", "LinkErrorRecovery")


def condition(port: HcaPort) -> str:
    """ACTIVE, DORMANT, FAULTY or UNKNOWN.

    The logical state decides first: old drivers of virtual devices say Active with a physical state that is not up.
    """
    if port.state == "Active":
        return ACTIVE
    if port.state in ("Initializing", "Armed"):
        return FAULTY
    if port.state == "Down" and port.physical_state in (*_LINKED_STATES, TRAINING):
        return FAULTY
    if port.state == "Down" and port.physical_state in _DORMANT_STATES:
        return DORMANT
    return UNKNOWN


def what_counts(port: HcaPort, device: Hca) -> HcaPort:
    """The port without what its registers hold but what means nothing, and with its ``transport``.

    Of a Down port only the two states count (volume 1, C14-24.2.1). A LID counts on an Active port of an InfiniBand
    link layer; on others it is 0, 65535, or what it was when the port was last up.
    """
    transport = transport_of(device, port.link_layer)
    port = port._replace(transport=transport, reported_lid=port.lid)
    if _has_link(port) is False:
        port = port._replace(rate_gbps=None, effective_rate_gbps=None, width=None, speed=None)
    if port.state != "Active" or port.link_layer != INFINIBAND:
        return port._replace(lid=None, lmc=None, sm_lid=None, sm_sl=None)
    wide = transport == "opa"
    return port._replace(lid=_unicast(port.lid, wide=wide), sm_lid=_unicast(port.sm_lid, wide=wide))


def counted(device: Hca) -> Hca:
    """The device with ``what_counts`` of each port."""
    return device._replace(ports=tuple(what_counts(port, device) for port in device.ports))


def mtu_bytes(code: int | None) -> int | None:
    """The bytes of an MTU's code."""
    return 128 << code if code is not None and 1 <= code <= 5 else None


def transport_of(device: Hca, link_layer: str | None) -> str | None:
    """What a port of this device speaks: ib, roce, iwarp, opa, efa, or None.

    Omni-Path and EFA have no node type of their own, so netlink's protocol, driver and name tell them; udev names
    Omni-Path devices ``opa...`` (rdma-core's ``rdma-persistent-naming.rules``).
    """
    if device.protocol == "opa" or device.driver == "hfi1" or device.name.startswith(_OPA_NAMES):
        return "opa"
    if (device.vendor_id, device.vendor_part_id) in _OPA_PARTS:
        return "opa"
    if device.driver == "efa" or device.name.startswith("efa_") or device.vendor_id == _AMAZON:
        return "efa"
    if device.protocol == "iw" or (device.node_type and "RNIC" in device.node_type):
        return "iwarp"
    if device.node_type not in (None, "CA", "switch", "Switch", "router", "Router"):
        return None
    return {INFINIBAND: "ib", ETHERNET: "roce"}.get(link_layer or "")


def _has_link(port: HcaPort) -> bool | None:
    if port.physical_state in _LINKED_STATES or port.state in ("Initializing", "Armed", "Active"):
        return True
    if port.state == "Down" or port.physical_state in (*_DORMANT_STATES, TRAINING):
        return False
    return None


def _unicast(lid: int | None, *, wide: bool) -> int | None:
    """The LID where it names one port. ``wide`` is for Omni-Path, whose LIDs may have more than 16 bits."""
    if not lid or lid == PERMISSIVE_LID or (lid >= FIRST_MULTICAST_LID and not wide):
        return None
    return lid
