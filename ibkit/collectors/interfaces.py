"""The host's network interfaces, and the RDMA port behind each: by ``ip -j`` and by netifaces and psutil."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.collectors.merging import fill
from ibkit.collectors.sysfs import NETDEV_CLASS
from ibkit.model.host import Hca, HcaPort, Interface, Neighbour, VirtualFunction
from ibkit.model.ids import PKey, guid_or_none
from ibkit.parsers.base import NotThisFormat, Parsed, Problem
from ibkit.parsers.erased import Any
from ibkit.parsers.ip_json import IpInterface, IpVirtualFunction, parse_addresses, parse_neighbours
from ibkit.sources.base import MISSING, NOT_RECORDED, Source
from ibkit.sources.interfaces import NO_IMPORT

ADDRESSES = ("ip", "-j", "-d", "addr")
LINKS = ("ip", "-j", "link")
NEIGHBOURS = ("ip", "-j", "neigh")
#: Netlink dumps (seconds).
DEADLINE_SECONDS = 20.0

LIBRARY = "netifaces and psutil"
#: 20 octets, with colons between them.
IPOIB_ADDRESS_CHARS = 59
#: ``ARPHRD_`` of the kernel's if_arp.h, as /sys tells it.
_KINDS = {"1": "ether", "32": "infiniband", "772": "loopback"}


def read_interfaces(
    source: Source, hcas: Iterable[Hca]
) -> tuple[tuple[Interface, ...] | None, tuple[Neighbour, ...] | None, list[Problem]]:
    """All interfaces and neighbours, None where nobody tells, and problems. ``ip`` speaks, else the library does."""
    problems: list[Problem] = []
    told = _ask(source, ADDRESSES, parse_addresses, problems)
    library = {one.name: one for one in _of_library(source, problems) or ()}
    if told is None and not library:
        return None, None, problems
    ports = {name: (hca, port) for hca in hcas for port in hca.ports for name in port.netdevs}
    links = _ask(source, LINKS, parse_addresses, problems) if told is not None else None
    functions = {one.name: tuple(map(_virtual_function, one.virtual_functions)) for one in links or ()}
    interfaces = []
    for one in library.values() if told is None else (_of_ip(one) for one in told):
        problems += _contradictions(one, library[one.name]) if one.name in library else ()
        one = fill(one, library.get(one.name, one))._replace(virtual_functions=functions.get(one.name))
        interfaces.append(_with_port(source, one, *ports.get(one.name, (None, None))))
    neighbours = _ask(source, NEIGHBOURS, parse_neighbours, problems) if told is not None else None
    known = None if neighbours is None else tuple(
        Neighbour(one.device, one.address, one.lladdr) for one in neighbours if one.lladdr
    )  # fmt: skip
    return tuple(interfaces), known, problems


def _ask(source: Source, argv: tuple[str, ...], parse: Any, problems: list[Problem]) -> Any:
    answer = source.run(argv, deadline_seconds=DEADLINE_SECONDS)
    if answer.failure in (MISSING, NOT_RECORDED):  # doctor tells
        return None
    try:
        if answer.failure or answer.exit_status:
            raise NotThisFormat(answer.failure or answer.err.strip()[:500] or f"exit status {answer.exit_status}")
        parsed: Parsed[Any] = parse(answer.out, source=answer.command)
    except NotThisFormat as error:
        problems.append(Problem("tool-failed", str(error), None, answer.command))
        return None
    problems += parsed.problems
    return parsed.value


def _of_ip(told: IpInterface) -> Interface:
    return Interface(
        told.name,
        told.link_type,
        told.kind,
        "UP" in told.flags if told.flags else None,
        "LOWER_UP" in told.flags if told.flags else None,
        told.mtu,
        told.address,
        told.addresses,
        told.master,
        told.link,
    )


def _virtual_function(told: IpVirtualFunction) -> VirtualFunction:
    """Its GUIDs are octets with colons."""
    node, port = (guid_or_none((text or "").replace(":", "")) for text in (told.node_guid, told.port_guid))
    return VirtualFunction(*told[:5], node, port)


def _of_library(source: Source, problems: list[Problem]) -> list[Interface] | None:
    answer = source.interfaces()
    if answer.error and answer.error != NOT_RECORDED and not answer.error.startswith(NO_IMPORT):
        problems.append(Problem("tool-failed", answer.error, None, LIBRARY))
    if not isinstance(answer.interfaces, list):
        return None
    gateways = answer.gateways if isinstance(answer.gateways, list) else None
    rows = [row for row in answer.interfaces if isinstance(row, dict) and isinstance(row.get("name"), str)]
    return [_of_row(source, row, gateways) for row in rows]


def _of_row(source: Source, row: dict[str, Any], gateways: list[Any] | None) -> Interface:
    """Psutil's ``running`` is the operational state: with it there is a carrier, without it nobody knows."""
    name = row["name"]
    flags = _texts(row.get("flags"))
    kind = _KINDS.get(_attribute(source, name, "type"))
    hardware = row.get("hardware_address")
    if kind == "infiniband" and (not isinstance(hardware, str) or len(hardware) != IPOIB_ADDRESS_CHARS):
        hardware = _attribute(source, name, "address")
    routes = None if gateways is None else tuple(
        one["address"]
        for one in gateways
        if isinstance(one, dict) and one.get("interface") == name and isinstance(one.get("address"), str)
    )  # fmt: skip
    return Interface(
        name,
        kind,
        is_up="up" in flags if flags else None,
        has_carrier=True if "running" in flags else None,
        mtu_bytes=_number(row.get("mtu_bytes")),
        hardware_address=hardware if isinstance(hardware, str) and hardware else None,
        addresses=_texts(row.get("addresses")),
        gateways=routes,
        speed_mbps=_number(row.get("speed_mbps")),
    )


def _contradictions(one: Interface, other: Interface) -> Iterator[Problem]:
    for field in ("is_up", "mtu_bytes", "hardware_address", "addresses"):
        if field == "hardware_address" and one.kind not in _KINDS.values():
            continue  # ip writes a tunnel's end as an IP address (iproute2, ll_addr.c)
        mine, theirs = getattr(one, field), getattr(other, field)
        if field == "addresses":
            mine, theirs = sorted(mine), sorted(theirs)
        if mine is not None and theirs is not None and mine != theirs:
            text = f"{one.name}: {field} is {mine} by ip, {theirs} by {LIBRARY}"
            yield Problem("contradiction", text, None, LIBRARY)


def _with_port(source: Source, one: Interface, hca: Hca | None, port: HcaPort | None) -> Interface:
    return one._replace(
        device=hca.name if hca else None,
        port=port.port if port else None,
        pkey=_pkey(source, one.name) if one.kind == "infiniband" else None,
        gid_indexes=tuple(entry.gid_index for entry in port.gids if entry.netdev == one.name) if port else (),
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32 else None


def _attribute(source: Source, name: str, attribute: str) -> str:
    return (source.read(f"{NETDEV_CLASS}/{name}/{attribute}").text or "").strip()[:100]


def _pkey(source: Source, name: str) -> PKey | None:
    """IPoIB's partition: the kernel writes ``0x8001``, always with the bit of full members."""
    text = _attribute(source, name, "pkey")
    try:
        return PKey(text, 16) if len(text) <= 6 else None
    except ValueError:
        return None
