"""Devices and ports of the hosts that are in both views: firmware, states, rates, GIDs, P_Keys, netdevs.

A value that one of the two does not know is no change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ibkit.comparison.change import Change, Doubt, Where, changed, one_sided
from ibkit.model.host import Hca, HcaPort, HostHcas
from ibkit.model.ids import PKey
from ibkit.model.rates import width_speed

#: Problems after which a device may be there and not be seen.
_LOST = frozenset({
    "truncated", "bad-line", "lost-heading", "tool-error", "tool-failed", "verbs-failed", "unreadable-file",
})  # fmt: skip


def compare_hosts(before: Sequence[HostHcas], after: Sequence[HostHcas]) -> tuple[list[Change], list[Doubt]]:
    """All differences of hosts with the same name. Hosts that only one of the two looked at are told as such."""
    old, new = ({host.host: host for host in hosts} for hosts in (before, after))
    changes: list[Change] = []
    doubts: list[Doubt] = []
    common = [name for name in old if name in new]
    for name in common:
        found, unsure = _compare_host(old[name], new[name])
        changes += found
        doubts += unsure
    for name in sorted(old.keys() ^ new.keys()) if common else ():
        which = "before" if name in old else "now"
        doubts.append(Doubt("host", Where(host=name), f"what changed on host {name}", f"it was looked at only {which}"))
    return changes, doubts


def _compare_host(before: HostHcas, after: HostHcas) -> tuple[list[Change], list[Doubt]]:
    changes: list[Change] = []
    doubts: list[Doubt] = []
    host = after.host
    left = list(after.hcas)
    for old in before.hcas:
        new = _same(old, left)
        if new is None:
            _only_in(old, after, host, "device-lost", "is not there any more", "device-not-seen", changes, doubts)
            continue
        left.remove(new)
        if old != new:
            changes += _device_changes(host, old, new)
    for new in left:
        _only_in(new, before, host, "device-new", "is new", "device-not-seen-before", changes, doubts)
    return changes, doubts


def _same(device: Hca, others: Sequence[Hca]) -> Hca | None:
    """The device with this GUID, else that in this slot under this name."""
    by_guid = [other for other in others if device.node_guid and other.node_guid == device.node_guid]
    by_name = [other for other in others if other.name == device.name and _slot(other, device)]
    return next(iter(by_guid or by_name), None)


def _slot(one: Hca, other: Hca) -> bool:
    """Whether two devices may be in one slot."""
    return None in (one.bus_address, other.bus_address) or one.bus_address == other.bus_address


def _only_in(
    device: Hca, other: HostHcas, host: str, kind: str, said: str, doubtful: str, changes: list[Change],
    doubts: list[Doubt],
) -> None:  # fmt: skip
    value = {"name": device.name, "node_guid": _guid(device), "hca_type": device.hca_type}
    text = f"{_device(host, device)} {said}"
    where = Where(device.node_guid, host=host, device=device.name)
    if other.has_gaps or any(problem.kind in _LOST for problem in other.problems):
        doubts.append(Doubt(doubtful, where, f"whether {text}", "some of what the host said is missing"))
    else:
        changes.append(one_sided(kind, where, value, text, is_new=kind == "device-new"))


def _device_changes(host: str, old: Hca, new: Hca) -> Iterator[Change]:
    where, name = Where(new.node_guid, host=host, device=new.name), _device(host, new)
    yield from changed("device-swapped", where, name, "the node GUID", _guid(old), _guid(new))
    yield from changed("device-renamed", where, name, "the name", old.name or None, new.name or None)
    yield from changed("firmware-changed", where, name, "the firmware", old.firmware, new.firmware)
    yield from changed("hca-type-changed", where, name, "the type", old.hca_type, new.hca_type)
    yield from changed("board-changed", where, name, "the board id", old.board_id, new.board_id)
    yield from changed("driver-changed", where, name, "the driver", old.driver, new.driver)
    descriptions = old.node_description, new.node_description
    yield from changed("description-changed", where, name, "the node description", *descriptions)
    yield from changed("device-error", where, name, "the error", old.error or "none", new.error or "none")
    ports = {port.port: port for port in new.ports}
    for port in old.ports:
        if port.port in ports and ports[port.port] != port:
            yield from _port_changes(where._replace(port=port.port), f"{name} port {port.port}", port, ports[port.port])


def _port_changes(where: Where, name: str, old: HcaPort, new: HcaPort) -> Iterator[Change]:
    yield from changed("port-state-changed", where, name, "the state", old.state, new.state)
    physical = old.physical_state, new.physical_state
    yield from changed("port-physical-state-changed", where, name, "the physical state", *physical)
    yield from changed("port-link-layer-changed", where, name, "the link layer", old.link_layer, new.link_layer)
    yield from changed("port-lid-changed", where, name, "the LID", old.lid, new.lid)
    yield from changed("port-sm-lid-changed", where, name, "the subnet manager's LID", old.sm_lid, new.sm_lid)
    yield from changed("port-rate-changed", where, name, "the rate", _rate(old), _rate(new))
    mtus = old.active_mtu_bytes, new.active_mtu_bytes
    yield from changed("port-mtu-changed", where, name, "the MTU in bytes", *mtus)
    if old.tables_whole and new.tables_whole:
        yield from _sets("gid", where, name, "the GID", _gids(old), _gids(new))
        yield from _sets("port-p-key", where, name, "the P_Key", _texts(old.pkeys), _texts(new.pkeys))
        yield from _sets("netdev", where, name, "the netdev", old.netdevs, new.netdevs)


def _sets(kind: str, where: Where, name: str, what: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    for value in old:
        if value not in new:
            yield Change(f"{kind}-removed", where, value, None, f"{name} has {what} {value} no more")
    for value in new:
        if value not in old:
            yield Change(f"{kind}-added", where, None, value, f"{name} has {what} {value} now")


def _guid(device: Hca) -> str | None:
    return None if device.node_guid is None else str(device.node_guid)


def _texts(keys: Iterable[PKey]) -> list[str]:
    return [str(key) for key in keys]


def _gids(port: HcaPort) -> list[str]:
    """The GIDs with their types; at which index they stand is not told."""
    return [f"{entry.gid} ({entry.type})" if entry.type else str(entry.gid) for entry in port.gids]


def _rate(port: HcaPort) -> str | None:
    if port.rate_gbps is None:
        return width_speed(port.width, port.speed)
    return f"{port.rate_gbps:g} Gb/s"


def _device(host: str, device: Hca) -> str:
    name = device.name or "a device without a name"
    return f"{host} {name}" if host else name
