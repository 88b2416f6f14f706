"""What a host knows of addresses: its neighbours, routes and list of names, and the files that ibacm would load."""

from __future__ import annotations

from ibkit.model.ids import Gid
from ibkit.parsers.acm_hosts import HostEntry
from ibkit.parsers.acm_opts import Settings
from ibkit.parsers.acm_routes import RouteBlock
from ibkit.parsers.base import Problem
from ibkit.parsers.etc_hosts import HostLine
from ibkit.parsers.ip_route import IpRoute
from ibkit.parsers.records import NamedTuple

#: An IPoIB hardware address: flags, three octets of queue pair number, and the port's GID (RFC 4391, 9.1.1).
IPOIB_OCTETS = 20
_QPN_MASK = 0xFFFFFF
#: States of an entry that the kernel sends by (linux/neighbour.h, NUD_VALID); in the others it has none to send to.
VALID_STATES = frozenset({"PERMANENT", "NOARP", "REACHABLE", "PROBE", "STALE", "DELAY"})


class KernelNeighbour(NamedTuple):
    """An entry of the kernel's neighbour table. ``hardware_address`` is None where nobody answered; ``states`` is empty
    and ``confirmed_seconds`` None where they were not recorded.
    """

    interface: str
    address: str
    hardware_address: str | None = None
    states: tuple[str, ...] = ()
    confirmed_seconds: int | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the kernel would send by it."""
        return self.hardware_address is not None and (not self.states or bool(VALID_STATES.intersection(self.states)))


class IpoibAddress(NamedTuple):
    """The parts of an IPoIB hardware address. Only the GID is the port's; the queue pair's number changes."""

    qpn: int
    gid: Gid


def ipoib_address(text: str | None) -> IpoibAddress | None:
    """``80:00:00:48:fe:80:...`` of 20 octets; None for any other (an Ethernet address has 6)."""
    digits = (text or "").replace(":", "").replace("-", "")
    if len(digits) != 2 * IPOIB_OCTETS:
        return None
    try:
        number = int.from_bytes(bytes.fromhex(digits), "big")
    except ValueError:
        return None
    return IpoibAddress(number >> 128 & _QPN_MASK, Gid(number & (1 << 128) - 1))


class HostAddresses(NamedTuple):
    """None is what nobody could tell. ``vlans`` has the VLAN of an interface by its name."""

    neighbours: tuple[KernelNeighbour, ...] | None = None
    routes: tuple[IpRoute, ...] | None = None
    names: tuple[HostLine, ...] | None = None
    vlans: dict[str, int] = {}  # noqa: RUF012 - a record's default, which nobody changes
    problems: tuple[Problem, ...] = ()


class PreloadFile(NamedTuple):
    """A file that ibacm loads at its start. ``modified`` is the time of its last change in seconds since 1970."""

    path: str
    modified: int | None = None


class Preloads(NamedTuple):
    """ibacm's files on a host, as far as they are there. ``settings`` is None where there is no ibacm_opts.cfg."""

    settings: Settings | None = None
    hosts: tuple[HostEntry, ...] | None = None
    hosts_file: PreloadFile | None = None
    routes: tuple[RouteBlock, ...] | None = None
    routes_file: PreloadFile | None = None
    problems: tuple[Problem, ...] = ()
