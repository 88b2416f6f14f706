"""Devices and ports of the hosts that are in both views: firmware, states, rates, GIDs, P_Keys, netdevs.

A value that one of the two does not know is no change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ibkit.comparison.change import Change, Doubt, Where, changed, one_sided
from ibkit.model.host import Hca, HcaPort, HostHcas
from ibkit.model.ids import PKey
from ibkit.model.rates import width_speed

#: The kind of the doubt that there is no host to compare.
NO_HOST_IN_BOTH = "no-host-in-both"
#: Problems after which a device may be there and not be seen.
_LOST = frozenset({
    "truncated", "bad-line", "lost-heading", "tool-error", "tool-failed", "verbs-failed", "unreadable-file",
})  # fmt: skip


def compare_hosts(before: Sequence[HostHcas], after: Sequence[HostHcas]) -> tuple[list[Change], list[Doubt]]:
    """All differences of hosts that are in both. Those that only one of the two looked at are told as such."""
    changes: list[Change] = []
    doubts: list[Doubt] = []
    pairs, alone = _pairs(before, after)
    if before and after and not pairs:
        names = [" and ".join(_called(host.host) for host in hosts) for hosts in (before, after)]
        why = f"no host is in both, by name or by a device's GUID: before {names[0]}, now {names[1]}"
        doubts.append(Doubt(NO_HOST_IN_BOTH, Where(), "what changed of the hosts", why))
    for old, new in pairs:
        found, unsure = _compare_host(old, new)
        changes += found
        doubts += unsure
    for host, which in alone:
        where, text = Where(host=host.host), f"what changed on {_called(host.host)}"
        doubts.append(Doubt("host", where, text, f"it was looked at only {which}", implied=not pairs))
    return changes, doubts


def _pairs(
    before: Sequence[HostHcas], after: Sequence[HostHcas]
) -> tuple[list[tuple[HostHcas, HostHcas]], list[tuple[HostHcas, str]]]:
    """The same host in both: by its name, or the short form of it. Then those of one of the two only, with which.

    A tool's output does not say whose it is: there the devices tell, by their GUIDs.
    """
    old, new = ({host.host: host for host in hosts} for hosts in (before, after))
    same = {name: name for name in old if name in new}
    for names, others in ((old, new), (new, old)):
        for full in names.keys() - others.keys():
            short = full.partition(".")[0]
            if short in others and short not in names and [one.partition(".")[0] for one in names].count(short) == 1:
                same.update({full: short} if names is old else {short: full})
    if len(old) == len(new) == 1:
        same = dict(zip(old, new, strict=True)) if same or "" in (*old, *new) else {}
        same = {one: other for one, other in same.items() if (one and other) or _may_be_one(old[one], new[other])}
    alone = [(old[name], "before") for name in old if name not in same]
    alone += [(new[name], "now") for name in new if name not in same.values()]
    return [(old[one], new[other]) for one, other in same.items()], sorted(alone, key=lambda one: one[0].host)


def _may_be_one(one: HostHcas, other: HostHcas) -> bool:
    """Whether nothing shows that these are two hosts: all of their devices have GUIDs, and other ones."""
    guids = [{device.node_guid for device in host.hcas} for host in (one, other)]
    return not all(guids) or None in guids[0] | guids[1] or not guids[0].isdisjoint(guids[1])


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
            doubts += _unsure_of_device(host, old, new)
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


def _unsure_of_device(host: str, old: Hca, new: Hca) -> Iterator[Doubt]:
    """Ports that one of the two does not show, and tables that are not whole and might hold a change."""
    numbers = [{port.port: port for port in device.ports} for device in (old, new)]
    for number in sorted(numbers[0].keys() ^ numbers[1].keys()):
        which = "before" if number in numbers[0] else "now"
        where = Where(new.node_guid, number, host=host, device=new.name)
        text = f"what changed of {_device(host, new)} port {number}"
        yield Doubt("port", where, text, f"it was looked at only {which}")
    for number in sorted(numbers[0].keys() & numbers[1].keys()):
        tables = [(ports[number].tables_whole, ports[number].gids, ports[number].pkeys) for ports in numbers]
        if (
            tables[0] != tables[1]
            and False in (tables[0][0], tables[1][0])
            and None not in (tables[0][0], tables[1][0])
        ):
            where = Where(new.node_guid, number, host=host, device=new.name)
            text = f"whether the GIDs and P_Keys of {_device(host, new)} port {number} changed"
            yield Doubt("tables", where, text, "only the start of the tables was looked at")


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


def _called(host: str) -> str:
    return f"host {host}" if host else "a host without a name"
