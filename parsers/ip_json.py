"""Read ``ip -j -d addr`` and ``ip -j neigh``.

Format: iproute2 ``ip/{ipaddress,ipneigh}.c``. Only rows with an interface's name count; ``ip -j`` leaves empty objects
for what a filter dropped. A link's ``address`` is whole on IPoIB: 20 octets.
"""

from __future__ import annotations

import json

from ibkit.parsers.base import NotThisFormat, Parsed, Problem
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple


class IpInterface(NamedTuple):
    """One interface as printed. ``addresses`` are ``ADDRESS/PREFIX``, ``kind`` is what ``-d`` says of a made one."""

    name: str
    link_type: str | None = None
    kind: str | None = None
    flags: tuple[str, ...] = ()
    mtu: int | None = None
    address: str | None = None
    addresses: tuple[str, ...] = ()
    master: str | None = None
    link: str | None = None


class IpNeighbour(NamedTuple):
    """One neighbour as printed; ``lladdr`` is None where the kernel looks for it or failed to find it."""

    device: str
    address: str
    lladdr: str | None = None


def parse_addresses(text: str, *, source: str = "") -> Parsed[tuple[IpInterface, ...]]:
    """Read ``ip -j -d addr``. Raises NotThisFormat where it is no JSON list."""
    rows = _rows(text, source)
    found = [_interface(row) for row in rows if _text(row, "ifname")]
    return Parsed(tuple(found), _lost(rows, len(found), source), True)


def parse_neighbours(text: str, *, source: str = "") -> Parsed[tuple[IpNeighbour, ...]]:
    """Read ``ip -j neigh``. Raises NotThisFormat where it is no JSON list."""
    rows = _rows(text, source)
    found = [
        IpNeighbour(_text(row, "dev") or "", _text(row, "dst") or "", _text(row, "lladdr"))
        for row in rows
        if _text(row, "dev") and _text(row, "dst")
    ]
    return Parsed(tuple(found), _lost(rows, len(found), source), True)


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
    )


def _addresses(rows: list[Any]) -> list[str]:
    return [
        f"{row['local']}/{row['prefixlen']}"
        for row in rows
        if isinstance(row, dict) and _text(row, "local") and isinstance(row.get("prefixlen"), int)
    ]


def _text(row: dict[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) and value else None
