"""HCAs from what pyverbs told, and the two views of a device, verbs' and sysfs', made one.

Codes: ``enum ibv_mtu``, ``ibv_port_attr.active_width`` and ``active_speed``, ``enum ibv_gid_type`` and
``enum ibv_node_type`` of libibverbs' ``verbs.h``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.collectors.merging import contradictions, fill
from ibkit.model.host import GidEntry, Hca, HcaPort
from ibkit.model.ids import Guid, PKey, gid_or_none, guid_or_none
from ibkit.model.port_state import (
    ETHERNET,
    INFINIBAND,
    LANES,
    PHYSICAL_STATE_OF_CODE,
    SPEEDS,
    STATE_OF_CODE,
    mtu_bytes,
    what_counts,
)
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Any
from ibkit.sources.base import NOT_RECORDED, Source, VerbsAnswer
from ibkit.sources.verbs import NO_IMPORT

_NODE_TYPES = {
    1: "CA", 2: "switch", 3: "router", 4: "RNIC", 5: "usNIC", 6: "usNIC UDP", 7: "unspecified",
}  # fmt: skip
_LINK_LAYERS = {1: INFINIBAND, 2: ETHERNET}
_GID_TYPES = {0: "IB", 1: "RoCE v1", 2: "RoCE v2"}
#: Where the two views must agree. ``lid`` follows from ``reported_lid``; what one view does not know is no conflict.
_DEVICE_FIELDS = ("node_guid", "system_image_guid", "firmware", "node_type")
_PORT_FIELDS = (
    "state", "physical_state", "link_layer", "reported_lid", "lmc", "sm_lid", "sm_sl", "rate_gbps", "width", "speed",
    "gids", "pkeys", "pkey_indexes",
)  # fmt: skip
_SPEAKERS = ("by verbs", "in sysfs")


def read_verbs(source: Source) -> tuple[dict[str, Hca], list[Problem]]:
    """The devices that pyverbs could open, by name; nothing where pyverbs is not there (``ibkit doctor`` tells)."""
    answer = source.verbs()
    hcas: dict[str, Hca] = {}
    problems = []
    if answer.error and answer.error != NOT_RECORDED and not answer.error.startswith(NO_IMPORT):
        problems.append(Problem("verbs-failed", answer.error, None, "verbs"))
    for told in _devices(answer):
        name = _text(told, "name") or ""
        if error := _text(told, "error"):
            problems.append(Problem("verbs-failed", f"{name}: {error}; sysfs speaks instead", None, "verbs"))
        else:
            hcas[name] = _hca(name, told)
            problems += _unread_ports(name, told)
    return hcas, problems


def merge(sysfs: Hca, verbs: Hca) -> tuple[Hca, list[Problem]]:
    """One device of two views. Verbs speaks, sysfs fills in what verbs does not know; a contradiction is told."""
    problems = list(contradictions(sysfs.name, verbs, sysfs, _DEVICE_FIELDS, _SPEAKERS))
    by_number = {port.port: port for port in verbs.ports}
    ports = []
    for port in sysfs.ports:
        other = by_number.get(port.port)
        if other is None:
            ports.append(port)
        else:
            merged, found = _merge_port(f"{sysfs.name} port {port.port}", port, other)
            ports.append(merged)
            problems += found
    return fill(verbs, sysfs)._replace(ports=tuple(ports)), problems


def _merge_port(where: str, sysfs: HcaPort, verbs: HcaPort) -> tuple[HcaPort, list[Problem]]:
    problems = []
    verbs = verbs._replace(transport=sysfs.transport)  # sysfs knows the driver
    if sysfs.transport == "opa":  # verbs has 16 bits for a LID
        verbs = verbs._replace(lid=sysfs.lid, sm_lid=sysfs.sm_lid, reported_lid=sysfs.reported_lid)
    if verbs.speed is None and sysfs.speed == "SDR":
        # The kernel writes SDR for each speed that it has no name for, and verbs does not know this one either.
        sysfs = sysfs._replace(rate_gbps=None, width=None, speed=None)
        problems.append(Problem("unknown-speed", f"{where}: neither sysfs nor verbs has a name for the link's speed"))
    problems += contradictions(where, verbs, sysfs, _PORT_FIELDS, _SPEAKERS)
    return fill(verbs, sysfs), problems


def _devices(answer: VerbsAnswer) -> list[dict[str, Any]]:
    """A capture's text may be anything; what is no list of objects is nothing."""
    return [told for told in answer.devices if isinstance(told, dict)] if isinstance(answer.devices, list) else []


def _unread_ports(name: str, told: dict[str, Any]) -> Iterator[Problem]:
    for port in _objects(told, "ports"):
        if error := _text(port, "error"):
            yield Problem("verbs-failed", f"{name} port {port.get('port')}: {error}", None, "verbs")


def _hca(name: str, told: dict[str, Any]) -> Hca:
    firmware = _text(told, "fw_ver")
    hca = Hca(
        name,
        node_guid=_guid(told, "node_guid"),
        system_image_guid=_guid(told, "sys_image_guid"),
        firmware=firmware if firmware != "0.0.0" else None,  # what libibverbs makes of none
        node_type=_NODE_TYPES.get(_number(told, "node_type") or 0),
        vendor_id=_number(told, "vendor_id"),
        vendor_part_id=_number(told, "vendor_part_id"),
        source="verbs",
    )
    ports = (port for port in _objects(told, "ports") if not port.get("error") and _number(port, "port") is not None)
    return hca._replace(ports=tuple(what_counts(_port(port, hca), hca) for port in ports))


def _port(told: dict[str, Any], hca: Hca) -> HcaPort:
    link_layer = _LINK_LAYERS.get(_number(told, "link_layer") or 0)
    lanes = LANES.get(_number(told, "active_width") or 0)
    speed, lane_gbps = SPEEDS.get(_number(told, "active_speed") or 0, (None, None))
    gids = told.get("gids")
    pkeys = told.get("pkeys")
    table = dict(_pkeys(pkeys)) if isinstance(pkeys, list) else {}
    return HcaPort(
        _number(told, "port") or 0,
        state=_coded(told, "state", STATE_OF_CODE),
        physical_state=_coded(told, "phys_state", PHYSICAL_STATE_OF_CODE),
        link_layer=link_layer,
        lid=_number(told, "lid"),
        lmc=_number(told, "lmc"),
        sm_lid=_number(told, "sm_lid"),
        sm_sl=_number(told, "sm_sl"),
        rate_gbps=lanes * lane_gbps if lanes and lane_gbps else None,
        width=f"{lanes}x" if lanes else None,
        speed=speed,
        capability_mask=_number(told, "port_cap_flags"),
        gids=tuple(_gids(gids, hca)) if isinstance(gids, list) else (),
        pkeys=tuple(table.values()),
        pkey_indexes=tuple(table),
        active_mtu_bytes=_mtu(told, "active_mtu"),
        max_mtu_bytes=_mtu(told, "max_mtu"),
    )


def _gids(told: list[Any], hca: Hca) -> Iterator[GidEntry]:
    for entry in told:
        if not isinstance(entry, dict):
            continue
        index = _number(entry, "index")
        gid = gid_or_none(_text(entry, "gid"))
        if index is not None and gid:
            gid_type = None if hca.node_type == "RNIC" else _GID_TYPES.get(_number(entry, "type") or 0)
            yield GidEntry(index, gid, gid_type, _text(entry, "netdev"))


def _pkeys(told: list[Any]) -> Iterator[tuple[int, PKey]]:
    for entry in told:
        match entry:
            case [int(index), int(value)] if PKey(value).partition and value <= 0xFFFF:
                yield index, PKey(value)


def _mtu(told: dict[str, Any], name: str) -> int | None:
    return mtu_bytes(_number(told, name))


def _guid(told: dict[str, Any], name: str) -> Guid | None:
    return guid_or_none(_text(told, name))


def _coded(told: dict[str, Any], name: str, words: dict[int, str]) -> str | None:
    code = _number(told, name)
    return None if code is None else words.get(code)


def _number(told: dict[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64 else None


def _text(told: dict[str, Any], name: str) -> str | None:
    value = told.get(name)
    return value if isinstance(value, str) and value else None


def _objects(told: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = told.get(name)
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
