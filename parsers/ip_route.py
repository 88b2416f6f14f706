"""Read ``ip -j route`` and ``ip -j -6 route``: which addresses lie on which link, and which behind a gateway.

Format: iproute2 ``ip/iproute.c``. Routes of other tables than the main one are not printed without being asked for.
"""

from __future__ import annotations

import json
from socket import AF_INET, AF_INET6, inet_pton

from ibkit.parsers.base import NotThisFormat, Parsed, Problem
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple

_BITS = {AF_INET: 32, AF_INET6: 128}


class IpRoute(NamedTuple):
    """``network`` is the first address as a number, of ``bits`` (32 or 128) of which the first ``length`` count; the
    default route has length 0. ``gateway`` is None for what lies on the link itself; ``metric`` is 0 where none is
    printed. ``kind`` is unicast, or blackhole, unreachable, prohibit, throw: then there is no device.
    """

    bits: int
    network: int
    length: int
    device: str | None
    gateway: str | None = None
    source: str | None = None
    metric: int = 0
    kind: str = "unicast"

    def holds(self, bits: int, address: int) -> bool:
        """Whether it is a route to the address."""
        return bits == self.bits and (address ^ self.network) >> (self.bits - self.length) == 0


def parse(text: str, *, source: str = "") -> Parsed[tuple[IpRoute, ...]]:
    """All routes, of one hop or several. Raises NotThisFormat where it is no JSON list."""
    try:
        rows = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        rows = None
    if not isinstance(rows, list):
        raise NotThisFormat(f"{source or 'input'}: no JSON list, so not output of ip -j")
    rows = [row for row in rows if isinstance(row, dict) and row]
    family = AF_INET6 if any(":" in str(row.get(key)) for row in rows for key in ("dst", "gateway")) else AF_INET
    found = [route for row in rows for route in _routes(row, family)]
    lost = sum(not _routes(row, family) for row in rows)
    problems = (Problem("bad-line", f"{lost} rows are no routes", None, source or None),) if lost else ()
    return Parsed(tuple(found), problems, True)


def _routes(row: dict[str, Any], family: int) -> list[IpRoute]:
    """One for each of its hops."""
    destination = _text(row, "dst")
    if destination is None:
        return []
    address, _, length = destination.partition("/")
    if address == "default":
        address, length = ("::" if family == AF_INET6 else "0.0.0.0"), "0"  # noqa: S104 - the text of a route
    family = AF_INET6 if ":" in address else AF_INET
    bits = _BITS[family]
    try:
        network = int.from_bytes(inet_pton(family, address), "big")
    except (OSError, ValueError):
        return []
    if not (length.isascii() and length.isdigit() and len(length) < 4) and length:
        return []
    wide = int(length) if length else bits
    metric = row.get("metric")
    hops = row.get("nexthops")
    more = [hop for hop in hops if isinstance(hop, dict)] if isinstance(hops, list) else []
    if wide > bits:
        return []
    return [
        IpRoute(
            bits, network, wide, _text(hop, "dev"), _gateway(hop), _text(row, "prefsrc"),
            metric if isinstance(metric, int) else 0, _text(row, "type") or "unicast",
        )
        for hop in more or [row]
    ]  # fmt: skip


def _gateway(hop: dict[str, Any]) -> str | None:
    """Also one of the other family (``via``)."""
    via = hop.get("via")
    return _text(hop, "gateway") or (_text(via, "host") if isinstance(via, dict) else None)


def _text(row: dict[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) and value else None
