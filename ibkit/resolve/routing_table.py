"""Out of which interface an address is reached: the host's own routes, else its interfaces' networks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from socket import AF_INET, AF_INET6, inet_pton

from ibkit.model.host import Interface
from ibkit.parsers.ip_route import IpRoute
from ibkit.parsers.records import NamedTuple


class WayOut(NamedTuple):
    """``gateway`` is None for an address on the link itself, ``source`` the host's own address there."""

    interface: str
    gateway: str | None = None
    source: str | None = None


def way_out(address: str, interfaces: Sequence[Interface], routes: Iterable[IpRoute] | None) -> WayOut | None:
    """The way to an address: its scope, else the longest prefix that holds it, of equals the least metric.

    None where there is no route, or where none of it is known.
    """
    plain, _, scope = address.partition("%")
    if scope:
        return WayOut(scope)
    family = AF_INET6 if ":" in plain else AF_INET
    try:
        number = int.from_bytes(inet_pton(family, plain), "big")
    except (OSError, ValueError):
        return None
    bits = 128 if family == AF_INET6 else 32
    if family == AF_INET6 and number >> 118 == 0x3FA:  # link-local: on each interface, so the scope would have to tell
        return None
    known = routes if routes is not None else _of_interfaces(interfaces)
    found = [route for route in known if route.holds(bits, number) and route.kind == "unicast" and route.device]
    best = min(found, key=lambda route: (-route.length, route.metric), default=None)
    return WayOut(best.device or "", best.gateway, best.source) if best else None


def _of_interfaces(interfaces: Iterable[Interface]) -> list[IpRoute]:
    """The networks of the interfaces that are up, as the kernel makes routes of them."""
    routes = []
    for one in interfaces:
        for text in one.addresses:
            address, _, length = text.partition("/")
            family = AF_INET6 if ":" in address else AF_INET
            bits = 128 if family == AF_INET6 else 32
            try:
                number = int.from_bytes(inet_pton(family, address), "big")
            except (OSError, ValueError):
                continue
            if one.is_up is not False and length.isascii() and length.isdigit() and int(length[:3]) <= bits:
                mask = bits - int(length[:3])
                routes.append(IpRoute(bits, number >> mask << mask, int(length[:3]), one.name, None, address))
    return routes
