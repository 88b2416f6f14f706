"""The HCAs of hosts as documents: schema ibkit.status/1 and one CSV row per port. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.export.problems import problems_of
from ibkit.model.host import CounterTable, Hca, HcaPort, HostHcas, Interface, PciFunction
from ibkit.model.host_findings import Finding, findings, is_decided
from ibkit.parsers.erased import Any

SCHEMA = "ibkit.status/1"

#: ``verdict``: all is as it should be; something is not; the evidence does not tell.
OK, FINDING, UNKNOWN = "ok", "finding", "unknown"

COLUMNS = (
    "host", "device", "port", "state", "physical_state", "link_layer", "transport", "lid", "sm_lid", "rate_gbps",
    "width", "speed", "port_guid", "node_guid", "system_image_guid", "hca_type", "firmware", "board_id", "netdevs",
)  # fmt: skip


def verdict(hosts: Sequence[HostHcas]) -> str:
    """A finding weighs more than what is unknown, and no device at all is unknown, never ok."""
    if findings(hosts):
        return FINDING
    return OK if hosts and all(is_decided(host) for host in hosts) else UNKNOWN


def status_document(hosts: Sequence[HostHcas]) -> dict[str, Any]:
    """All of it. Nothing in it depends on when or from where it was read."""
    return {
        "schema": SCHEMA,
        "verdict": verdict(hosts),
        "hosts": [
            {
                "host": host.host or None,
                "interfaces_known": host.interfaces is not None,
                "neighbours_known": host.neighbours is not None,
            }
            for host in hosts
        ],
        "devices": [_device(host, hca) for host in hosts for hca in host.hcas],
        "interfaces": [_interface(host, one) for host in hosts for one in host.interfaces or ()],
        "neighbours": [{"host": host.host or None, **one._asdict()} for host in hosts for one in host.neighbours or ()],
        "findings": [_finding(finding) for finding in findings(hosts)],
        "problems": [problem._asdict() for problem in problems_of(hosts)],
    }


def status_rows(hosts: Sequence[HostHcas]) -> Iterator[list[Any]]:
    """One row per port in the order of COLUMNS; a device without ports has one, too."""
    for host in hosts:
        for hca in host.hcas:
            for port in hca.ports or (None,):
                yield [host.host or None, hca.name or None, *_cells(port), *_device_cells(hca), _netdev_cell(port)]


def _cells(port: HcaPort | None) -> list[Any]:
    if port is None:
        return [None] * 11
    return [
        port.port, port.state, port.physical_state, port.link_layer, port.transport, port.lid, port.sm_lid,
        _number(port.rate_gbps), port.width, port.speed, port.port_guid,
    ]  # fmt: skip


def _device_cells(hca: Hca) -> list[Any]:
    return [hca.node_guid, hca.system_image_guid, hca.hca_type, hca.firmware, hca.board_id]


def _netdev_cell(port: HcaPort | None) -> str | None:
    return " ".join(port.netdevs) if port and port.netdevs else None


def _device(host: HostHcas, hca: Hca) -> dict[str, Any]:
    return {
        "host": host.host or None,
        "name": hca.name or None,
        "source": hca.source,
        "node_guid": _text(hca.node_guid),
        "system_image_guid": _text(hca.system_image_guid),
        "node_type": hca.node_type,
        "hca_type": hca.hca_type,
        "firmware": hca.firmware,
        "hardware": hca.hardware,
        "board_id": hca.board_id,
        "driver": hca.driver,
        "bus_address": hca.bus_address,
        "vendor_id": None if hca.vendor_id is None else f"0x{hca.vendor_id:06x}",
        "vendor_part_id": hca.vendor_part_id,
        "node_description": hca.node_description,
        "planes_of": hca.planes_of,
        "protocol": hca.protocol,
        "uverbs": hca.uverbs,
        "pci": None if hca.pci is None else _pci(hca.pci),
        "hw_counters": _counters(hca.hw_counters),
        "error": hca.error,
        "ports": [_port(port) for port in hca.ports],
    }


def _port(port: HcaPort) -> dict[str, Any]:
    looked = port.tables_whole is not None
    return {
        "port": port.port,
        "state": port.state,
        "physical_state": port.physical_state,
        "link_layer": port.link_layer,
        "transport": port.transport,
        "lid": port.lid,
        "lmc": port.lmc,
        "sm_lid": port.sm_lid,
        "sm_sl": port.sm_sl,
        "reported_lid": port.reported_lid,
        "rate_gbps": _number(port.rate_gbps),
        "effective_rate_gbps": _number(port.effective_rate_gbps),
        "width": port.width,
        "speed": port.speed,
        "active_mtu_bytes": port.active_mtu_bytes,
        "max_mtu_bytes": port.max_mtu_bytes,
        "port_guid": _text(port.port_guid),
        "capability_mask": None if port.capability_mask is None else f"0x{port.capability_mask:08x}",
        "gids": [
            {"index": entry.gid_index, "gid": str(entry.gid), "type": entry.type, "netdev": entry.netdev}
            for entry in port.gids
        ] if looked or port.gids else None,
        "pkeys": [str(pkey) for pkey in port.pkeys] if looked else None,
        "pkey_table": [
            {"index": index, "pkey": str(pkey), "membership": "full" if pkey.is_full_member else "limited"}
            for index, pkey in zip(port.pkey_indexes, port.pkeys, strict=False)
        ] if looked else None,
        "netdevs": list(port.netdevs) if looked or port.netdevs else None,
        "umad": port.umad,
        "issm": port.issm,
        "counters": _counters(port.counters),
        "hw_counters": _counters(port.hw_counters),
        "unreadable_counters": {
            name: reason
            for table in (port.counters, port.hw_counters)
            if table
            for name, reason in table.unreadable.items()
        },
    }  # fmt: skip


def _counters(table: CounterTable | None) -> dict[str, int | None] | None:
    """None where there is no such folder; a counter that has a file and no value is None."""
    return None if table is None else {**table.values, **dict.fromkeys(table.unreadable)}


def _pci(pci: PciFunction) -> dict[str, Any]:
    return {**pci._asdict(), "links": [link._asdict() for link in pci.links]}


def _interface(host: HostHcas, one: Interface) -> dict[str, Any]:
    return {
        "host": host.host or None,
        **one._asdict(),
        "addresses": list(one.addresses),
        "pkey": _text(one.pkey),
        "gid_indexes": list(one.gid_indexes),
        "gateways": None if one.gateways is None else list(one.gateways),
        "virtual_functions": None
        if one.virtual_functions is None
        else [
            {**function._asdict(), "node_guid": _text(function.node_guid), "port_guid": _text(function.port_guid)}
            for function in one.virtual_functions
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind, "text": finding.text, "host": finding.host, "device": finding.device,
        "port": finding.port,
    }  # fmt: skip


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _number(value: float | None) -> float | int | None:
    """A whole rate as a whole number: 400, not 400.0."""
    return int(value) if value is not None and value.is_integer() else value
