"""The counters of hosts' ports in /sys, in the form of those of the fabric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.model.counters import PortCounters, saturated
from ibkit.model.host import HostHcas

#: Names of drivers/infiniband/core/sysfs.c to those of the specification, which perfquery prints.
_NAMES = {
    "symbol_error": "SymbolErrorCounter",
    "link_error_recovery": "LinkErrorRecoveryCounter",
    "link_downed": "LinkDownedCounter",
    "port_rcv_errors": "PortRcvErrors",
    "port_rcv_remote_physical_errors": "PortRcvRemotePhysicalErrors",
    "port_rcv_switch_relay_errors": "PortRcvSwitchRelayErrors",
    "port_xmit_discards": "PortXmitDiscards",
    "port_xmit_constraint_errors": "PortXmitConstraintErrors",
    "port_rcv_constraint_errors": "PortRcvConstraintErrors",
    "local_link_integrity_errors": "LocalLinkIntegrityErrors",
    "excessive_buffer_overrun_errors": "ExcessiveBufferOverrunErrors",
    "VL15_dropped": "VL15Dropped",
    "port_xmit_wait": "PortXmitWait",
    "port_xmit_data": "PortXmitData",
    "port_rcv_data": "PortRcvData",
    "port_xmit_packets": "PortXmitPkts",
    "port_rcv_packets": "PortRcvPkts",
}
#: The kernel reads these from the counters of 64 bits where the port has them, and those are never full.
_WIDE = frozenset({"PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts"})


def host_counters(hosts: Iterable[HostHcas]) -> Iterator[PortCounters]:
    """Those of InfiniBand ports; Ethernet's are counted elsewhere."""
    for host in hosts:
        for hca in host.hcas:
            for port in hca.ports:
                if port.transport != "ib" or port.counters is None or hca.planes_of:
                    continue
                values: dict[str, int | None] = {
                    name: port.counters.values.get(file)
                    for file, name in _NAMES.items()
                    if file in port.counters.values or file in port.counters.unreadable
                }
                name = f"{host.host} {hca.name}".strip()
                yield PortCounters(
                    hca.node_guid, port.port_guid, port.lid, port.port, name, values, saturated(values, _WIDE),
                    None, f"/sys/class/infiniband/{hca.name}/ports/{port.port}/counters",
                )  # fmt: skip
