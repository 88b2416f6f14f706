"""The host's network interfaces by netifaces and psutil: what ``ip`` tells, for hosts and containers without iproute2.

What a reader of the two must know:

- netifaces takes all from ``getifaddrs``: IPv4 has a dotted netmask, IPv6 ``MASK/LENGTH`` and a scope behind ``%``.
- ``getifaddrs`` has room for 24 octets of a hardware address, which is IPoIB's 20 and more.
- psutil's ``isup`` is the flag ``running``, which is the operational state, and not ``up``, which is the operator's.
- psutil's ``speed`` is that of Ethernet (ethtool); 0 is not known.
"""

from __future__ import annotations

from ibkit.parsers.erased import Any
from ibkit.sources.base import InterfacesAnswer

#: First words of ``InterfacesAnswer.error`` where a package is not there.
NO_IMPORT = "netifaces or psutil cannot be imported"


def ask_interfaces() -> InterfacesAnswer:
    """All interfaces and gateways of this network namespace as JSON-like data, or the reason why there is none."""
    try:
        import netifaces
        import psutil
    except ImportError as error:
        return InterfacesAnswer(error=f"{NO_IMPORT}: {error}")
    try:
        states = psutil.net_if_stats()
        found = [
            {"name": name, **_addresses(netifaces, name), **_state(states.get(name))}
            for name in sorted(netifaces.interfaces())
        ]
        return InterfacesAnswer(found, _gateways(netifaces))
    except (OSError, ValueError) as error:  # an interface may go away between two calls
        return InterfacesAnswer(error=f"netifaces or psutil: {error}")


def _addresses(netifaces: Any, name: str) -> dict[str, Any]:
    try:
        told = netifaces.ifaddresses(name)
    except ValueError:  # it went away
        told = {}
    links = [entry.get("addr") for entry in told.get(netifaces.AF_LINK, ())]
    families = (netifaces.AF_INET, netifaces.AF_INET6)
    entries = [entry for family in families for entry in told.get(family, ())]
    return {
        "hardware_address": links[0] if links else None,
        "addresses": [text for entry in entries if (text := with_prefix(entry.get("addr"), entry.get("netmask")))],
    }


def with_prefix(address: str | None, netmask: str | None) -> str | None:
    """``ADDRESS/PREFIX`` as ``ip`` writes it; None where the mask is none."""
    from ipaddress import ip_address

    try:
        bits = int(ip_address((netmask or "").partition("/")[0]))
        width = ip_address((address or "").partition("%")[0]).max_prefixlen
    except ValueError:
        return None
    prefix = bits.bit_count()
    if bits != ((1 << prefix) - 1) << (width - prefix):
        return None
    return f"{(address or '').partition('%')[0]}/{prefix}"


def _state(told: Any) -> dict[str, Any]:
    if told is None:
        return {"flags": None, "mtu_bytes": None, "speed_mbps": None}
    return {"flags": told.flags.split(","), "mtu_bytes": told.mtu, "speed_mbps": told.speed or None}


def _gateways(netifaces: Any) -> list[dict[str, Any]]:
    """The default routes."""
    told = netifaces.gateways()
    return [
        {"address": entry[0], "interface": entry[1]}
        for family in (netifaces.AF_INET, netifaces.AF_INET6)
        for entry in told.get(family, ())
    ]
