"""What `ibkit status -v` prints below its table: each device, port and interface, a line for each thing known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.model.host import CounterTable, Hca, HcaPort, HostHcas, Interface, PciLink, VirtualFunction
from ibkit.parsers.erased import Any


def details(hosts: Iterable[HostHcas]) -> Iterator[str]:
    """All lines; what is not known has none."""
    for host in hosts:
        for hca in host.hcas:
            yield ""
            yield f"{f'{host.host} ' if host.host else ''}{hca.name or 'device without a name'}"
            yield from _lines("  ", _device(hca))
            for port in hca.ports:
                yield f"  port {port.port}"
                yield from _lines("    ", _port(port))
        if host.interfaces:
            yield ""
            yield f"{f'{host.host} ' if host.host else ''}interfaces"
            for one in host.interfaces:
                if one.device:
                    yield f"  {_interface(one)}"
                    yield from (f"    {_virtual_function(function)}" for function in one.virtual_functions or ())


def _lines(indent: str, facts: Iterable[tuple[str, Any]]) -> Iterator[str]:
    for name, value in facts:
        if value not in (None, "", ()):
            yield f"{indent}{name:<20} {value}"


def _device(hca: Hca) -> Iterator[tuple[str, Any]]:
    yield "told by", hca.source
    yield "error", hca.error
    yield "type", " ".join(word for word in (hca.node_type, hca.hca_type, hca.board_id) if word)
    yield "planes of", hca.planes_of
    yield "firmware", hca.firmware
    yield "hardware", hca.hardware
    yield "driver", hca.driver
    yield "description", hca.node_description
    yield "node GUID", hca.node_guid
    yield "system image GUID", hca.system_image_guid
    if hca.vendor_id is not None:
        yield "vendor, part", f"0x{hca.vendor_id:06x}, {hca.vendor_part_id}"
    yield "verbs node", hca.uverbs
    yield "PCI", hca.bus_address
    if hca.pci:
        yield "NUMA node", hca.pci.numa_node
        if hca.pci.is_virtual:
            yield "function", "a virtual one"
        if hca.pci.virtual_functions_max:
            yield "virtual functions", f"{hca.pci.virtual_functions} of {hca.pci.virtual_functions_max}"
        for link in hca.pci.links:
            yield f"PCIe {link.address}", _link(link)
    yield from _counters("hw_counters", hca.hw_counters)


def _port(port: HcaPort) -> Iterator[tuple[str, Any]]:
    yield "state", f"{port.state or '?'} / {port.physical_state or '?'}"
    yield "link layer", " ".join(word for word in (port.link_layer, port.transport) if word)
    if port.rate_gbps is not None:
        yield "rate", " ".join(word for word in (f"{port.rate_gbps:g} Gb/s", port.width, port.speed) if word)
    if port.effective_rate_gbps is not None:
        yield "effective rate", f"{port.effective_rate_gbps:g} Gb/s"
    if port.active_mtu_bytes:
        yield "MTU", f"{port.active_mtu_bytes} of {port.max_mtu_bytes} bytes"
    if port.lid is not None:
        yield "LID, LMC", f"{port.lid}, {port.lmc}"
        yield "SM LID, SL", f"{port.sm_lid}, {port.sm_sl}"
    yield "port GUID", port.port_guid
    if port.capability_mask is not None:
        yield "capability mask", f"0x{port.capability_mask:08x}"
    for entry in port.gids:
        yield f"GID {entry.gid_index}", " ".join(word for word in (str(entry.gid), entry.type, entry.netdev) if word)
    yield "P_Keys", " ".join(map(str, port.pkeys))
    yield "netdevs", " ".join(port.netdevs)
    yield "MAD nodes", " ".join(node for node in (port.umad, port.issm) if node)
    yield from _counters("counters", port.counters)
    yield from _counters("hw_counters", port.hw_counters)


def _counters(name: str, table: CounterTable | None) -> Iterator[tuple[str, Any]]:
    """Those that are not zero, and those that tell no value."""
    if table is None:
        return
    if not any(table.values.values()):
        yield name, f"{len(table.values)}, all 0"
    for counter, value in table.values.items():
        if value:
            yield counter, value
    for counter, reason in table.unreadable.items():
        yield counter, f"? ({reason})"


def _link(link: PciLink) -> str:
    def text(width: int | None, speed: float | None) -> str:
        return f"x{'?' if width is None else width} {'?' if speed is None else f'{speed:g}'} GT/s"

    return f"{text(link.width, link.speed_gts)}, both ends can {text(link.ceiling_width, link.ceiling_speed_gts)}"


def _interface(one: Interface) -> str:
    words = [
        f"{one.name:<12}", f"{one.device}/{one.port}", "up" if one.is_up else "down" if one.is_up is False else "?",
        f"P_Key {one.pkey}" if one.pkey is not None else None, f"MTU {one.mtu_bytes}", one.hardware_address,
        f"of {one.master}" if one.master else None, *one.addresses,
    ]  # fmt: skip
    return "  ".join(word for word in words if word)


def _virtual_function(one: VirtualFunction) -> str:
    words = [
        f"VF {one.number:<3}", one.address, f"VLAN {one.vlan}" if one.vlan else None,
        f"link {one.link_state}" if one.link_state else None, "trusted" if one.trusted else None,
        f"port GUID {one.port_guid}" if one.port_guid is not None else None,
    ]  # fmt: skip
    return "  ".join(word for word in words if word)
