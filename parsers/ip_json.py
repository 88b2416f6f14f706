"""Read ``ip -j -d addr``, ``ip -j link`` and ``ip -j neigh``.

Format: iproute2 ``ip/{ipaddress,ipneigh}.c``. Only rows with an interface's name count; ``ip -j`` leaves empty objects
for what a filter dropped. A link's ``address`` is whole on IPoIB: 20 octets. Only ``link`` lists the virtual functions
of a card.
"""

from __future__ import annotations

import json

from ibkit.parsers.base import NotThisFormat, Parsed, Problem
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple


class IpVirtualFunction(NamedTuple):
    """A virtual function as its physical one lists it. GUIDs, which only InfiniBand has, are octets with colons."""

    number: int
    address: str | None = None
    vlan: int | None = None
    link_state: str | None = None
    trusted: bool | None = None
    node_guid: str | None = None
    port_guid: str | None = None


class IpInterface(NamedTuple):
    """One interface as printed. ``addresses`` are ``ADDRESS/PREFIX``, ``kind`` is what ``-d`` says of a made one, and
    ``vlan`` the number of one on a VLAN.
    """

    name: str
    link_type: str | None = None
    kind: str | None = None
    flags: tuple[str, ...] = ()
    mtu: int | None = None
    address: str | None = None
    addresses: tuple[str, ...] = ()
    master: str | None = None
    link: str | None = None
    vlan: int | None = None
    virtual_functions: tuple[IpVirtualFunction, ...] = ()


class IpNeighbour(NamedTuple):
    """One neighbour as printed; ``lladdr`` is None where the kernel looks for it or failed to find it. ``states`` are
    the kernel's words (REACHABLE, STALE, FAILED ...); ``confirmed_seconds`` (only of ``ip -s``) is how long ago the
    neighbour was known to be there.
    """

    device: str
    address: str
    lladdr: str | None = None
    states: tuple[str, ...] = ()
    confirmed_seconds: int | None = None


def parse_addresses(text: str, *, source: str = "") -> Parsed[tuple[IpInterface, ...]]:
    """Read ``ip -j -d addr`` or ``ip -j link``. Raises NotThisFormat where it is no JSON list."""
    rows = _rows(text, source)
    found = [_interface(row) for row in rows if _text(row, "ifname")]
    return Parsed(tuple(found), _lost(rows, len(found), source), True)


def parse_neighbours(text: str, *, source: str = "") -> Parsed[tuple[IpNeighbour, ...]]:
    """Read ``ip -j neigh`` and ``ip -j -s neigh``. Raises NotThisFormat where it is no JSON list."""
    rows = _rows(text, source)
    found = [_neighbour(row) for row in rows if _text(row, "dev") and _text(row, "dst")]
    return Parsed(tuple(found), _lost(rows, len(found), source), True)


def _neighbour(row: dict[str, Any]) -> IpNeighbour:
    states, confirmed = row.get("state"), row.get("confirmed")
    return IpNeighbour(
        _text(row, "dev") or "",
        _text(row, "dst") or "",
        _text(row, "lladdr"),
        tuple(state for state in states if isinstance(state, str)) if isinstance(states, list) else (),
        confirmed if isinstance(confirmed, int) and 0 <= confirmed < 1 << 32 else None,
    )


def _rows(text: str, source: str) -> list[dict[str, Any]]:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list):
        raise NotThisFormat(f"{source or 'input'}: no JSON list, so not output of ip -j")
    return [row for row in value if isinstance(row, dict) and row]


def _lost(rows: list[dict[str, Any]], found: int, source: str) -> tuple[Problem, ...]:
    if len(rows) == found:
        return ()
    return (Problem("bad-line", f"{len(rows) - found} rows name no interface", None, source or None),)


def _interface(row: dict[str, Any]) -> IpInterface:
    flags, info, mtu, addresses = row.get("flags"), row.get("linkinfo"), row.get("mtu"), row.get("addr_info")
    return IpInterface(
        _text(row, "ifname") or "",
        _text(row, "link_type"),
        _text(info, "info_kind") if isinstance(info, dict) else None,
        tuple(flag for flag in flags if isinstance(flag, str)) if isinstance(flags, list) else (),
        mtu if isinstance(mtu, int) and 0 <= mtu < 1 << 32 else None,
        _text(row, "address"),
        tuple(_addresses(addresses)) if isinstance(addresses, list) else (),
        _text(row, "master"),
        _text(row, "link"),
        _vlan(info),
        tuple(_virtual_functions(row.get("vfinfo_list"))),
    )


def _virtual_functions(rows: Any) -> list[IpVirtualFunction]:
    """The kernel gives each a VLAN, 0 for none; one that has several (QinQ) shows the first."""
    found = []
    for row in rows if isinstance(rows, list) else ():
        number = _number(row, "vf", 1 << 16) if isinstance(row, dict) else None
        if number is None:
            continue
        vlans = row.get("vlan_list")
        first = vlans[0] if isinstance(vlans, list) and vlans and isinstance(vlans[0], dict) else row
        trust = row.get("trust")
        found.append(
            IpVirtualFunction(
                number, _text(row, "address") or _text(row, "mac"), _number(first, "vlan", 4096) or None,
                _text(row, "link_state"), trust if isinstance(trust, bool) else None, _text(row, "node guid"),
                _text(row, "port guid"),
            )
        )  # fmt: skip
    return found


def _vlan(info: Any) -> int | None:
    data = info.get("info_data") if isinstance(info, dict) and info.get("info_kind") == "vlan" else None
    number = data.get("id") if isinstance(data, dict) else None
    return number if isinstance(number, int) and 0 <= number < 4096 else None


def _addresses(rows: list[Any]) -> list[str]:
    return [
        f"{row['local']}/{row['prefixlen']}"
        for row in rows
        if isinstance(row, dict) and _text(row, "local") and isinstance(row.get("prefixlen"), int)
    ]


def _number(row: dict[str, Any], key: str, limit: int) -> int | None:
    value = row.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit else None


def _text(row: dict[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) and value else None
