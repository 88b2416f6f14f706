"""What one host and its subnet hold for the resolver: each piece is asked for when it is needed first, and once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from ibkit.collectors.addresses import HOST_NAMES, collect_addresses, collect_preloads, read_names
from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.local_ports import further_entrances, local_ports
from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.collectors.path_records import OwnPort, ask_own_port
from ibkit.errors import IbkitError
from ibkit.model.acm import AcmService
from ibkit.model.address_cache import Entry
from ibkit.model.addresses import HostAddresses, KernelNeighbour, Preloads
from ibkit.model.host import HcaPort, HostHcas, Interface
from ibkit.model.ids import Gid
from ibkit.model.port_state import INFINIBAND
from ibkit.model.talk import same_subnet
from ibkit.parsers.acm_file import NAME, key_of
from ibkit.parsers.acm_hosts import HostEntry, by_key
from ibkit.parsers.acm_routes import Route, RouteBlock
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import TYPE_CHECKING
from ibkit.parsers.etc_hosts import HostLine, canonical_address
from ibkit.parsers.records import NamedTuple
from ibkit.resolve.administrator import Administrator
from ibkit.resolve.nodes import Nodes, Port, same_host
from ibkit.sources.site import Host, Site

if TYPE_CHECKING:  # sqlite3 is imported where a cache is opened
    from ibkit.resolve.cache import AddressCache

#: From so many queries on, all paths of the source port are asked for at once.
MANY_QUERIES = 16
#: Asking the system's resolver may end at a name server that does not answer (seconds).
GETENT_DEADLINE_SECONDS = 10.0


class EntryIndex:
    """The entries of a hosts file by what they are asked for. Of two lines with one key ibacm believes the last."""

    def __init__(self, entries: Iterable[HostEntry]) -> None:
        self._by_key = by_key(entries)
        self._by_folded: dict[str, list[HostEntry]] = {}
        for entry in self._by_key.values():
            if entry.kind == NAME:
                self._by_folded.setdefault(entry.key.lower(), []).append(entry)

    def of_address(self, address: str) -> list[HostEntry]:
        """The entry of an IP address."""
        entry = self._by_key.get(key_of(address.partition("%")[0]))
        return [entry] if entry else []

    def of_name(self, name: str) -> list[HostEntry]:
        """The entries of a name: ibacm compares letter by letter; else those that differ in case alone."""
        exact = self._by_key.get((NAME, name.encode()))
        return [exact] if exact else self._by_folded.get(name.lower(), [])

    def all(self) -> Iterable[HostEntry]:
        """What ibacm believes in the end."""
        return self._by_key.values()


class OwnInterface(NamedTuple):
    """An interface of a host, and the address on it that was looked for; ``port`` is the RDMA port behind it."""

    host: str
    interface: Interface
    port: HcaPort | None
    device: str | None


class View:
    """The evidence. ``now`` is the time that ages are counted against (seconds since 1970), None where it is not known;
    ``many``: there are so many queries that tables are worth asking for. ``cache`` is ibkit's own.
    """

    def __init__(
        self,
        site: Site,
        host: Host,
        *,
        through: Through = ANY_PORT,
        now: float | None = None,
        many: bool = False,
        cache: AddressCache | None = None,
    ) -> None:
        self.site = site
        self.host = host
        self.source = host.source
        self.subnet = site.subnet
        self.through = through
        self.now = now
        self.is_live = site.origin.kind == "live"
        self.many = many
        self.administrator = Administrator(self.subnet, is_live=self.is_live, many=many)
        self._cache = cache
        self._remembered: dict[str, Sequence[Entry]] = {}

    def remember(self, keys: Iterable[str]) -> None:
        """Look up in the cache what will be asked for, all at once."""
        if self._cache is not None:
            new = [key for key in dict.fromkeys(map(str.lower, keys)) if key not in self._remembered]
            if new:
                self._remembered.update(dict.fromkeys(new, ()))
                self._remembered.update(self._cache.find(new))

    @property
    def has_cache(self) -> bool:
        """Whether there is a cache to look into."""
        return self._cache is not None

    def remembered(self, key: str) -> Sequence[Entry]:
        """What the cache has of an address or a name; of a name in another case only where there is none in this."""
        self.remember([key])
        found = self._remembered.get(key.lower(), ())
        return [entry for entry in found if entry.address == key] or found

    # What the host itself knows.

    @cached_property
    def hcas(self) -> HostHcas:
        """Its devices, interfaces and GID tables."""
        return collect_hcas(self.source, self.host.name)

    @cached_property
    def others(self) -> tuple[HostHcas, ...]:
        """The same of the other hosts of a capture, who know best which addresses they have."""
        return tuple(collect_hcas(host.source, host.name) for host in self.site.hosts if host is not self.host)

    @cached_property
    def addresses(self) -> HostAddresses:
        """Its neighbours and routes."""
        return collect_addresses(self.source)

    @cached_property
    def preloads(self) -> Preloads:
        """Ibacm's files."""
        return collect_preloads(self.source)

    @cached_property
    def host_entries(self) -> EntryIndex:
        """The entries of ibacm_hosts.data."""
        return EntryIndex(self.preloads.hosts or ())

    @cached_property
    def route_blocks(self) -> dict[int, RouteBlock]:
        """The blocks of ibacm_route.data by port GUID."""
        return {block.guid: block for block in self.preloads.routes or ()}

    @cached_property
    def own_routes(self) -> list[tuple[HcaPort, dict[int, Route]]]:
        """The rows of ibacm_route.data that ibacm takes for each of this host's ports, by destination LID."""
        found = []
        for _, port in self.infiniband_ports:
            block = self.route_blocks.get(port.port_guid or 0)
            if block is not None and block.lid == port.lid:
                found.append((port, {route.dlid: route for route in block.routes}))
        return found

    @cached_property
    def acm(self) -> AcmService:
        """The ibacm that runs on the host."""
        from ibkit.collectors.acm import collect_acm

        return collect_acm(self.source)

    @cached_property
    def infiniband_ports(self) -> list[tuple[str, HcaPort]]:
        """Active InfiniBand ports: device and port."""
        return [
            (hca.name, port)
            for hca in self.hcas.hcas
            for port in hca.ports
            if port.state == "Active" and port.link_layer == INFINIBAND and hca.planes_of is None
        ]

    def neighbours_at(self, address: str) -> list[KernelNeighbour]:
        """The entries of the kernel's neighbour table for an address; a scope behind it names the interface."""
        plain, _, scope = address.partition("%")
        return [one for one in self._neighbours.get(plain, ()) if not scope or scope == one.interface]

    @cached_property
    def _neighbours(self) -> dict[str, list[KernelNeighbour]]:
        found: dict[str, list[KernelNeighbour]] = {}
        for one in self.addresses.neighbours or ():
            found.setdefault(one.address.partition("%")[0], []).append(one)
        return found

    def interface(self, name: str | None) -> OwnInterface | None:
        """An interface of the host by its name."""
        return self._interfaces.get(name or "")

    def owners_of(self, address: str) -> list[OwnInterface]:
        """The interfaces, of any host at hand, that have this address."""
        return self._by_address.get(address.partition("%")[0], [])

    @cached_property
    def own_interfaces(self) -> list[OwnInterface]:
        """The host's interfaces, each with the RDMA port behind it."""
        return _interfaces_of(self.hcas)

    @cached_property
    def _interfaces(self) -> dict[str, OwnInterface]:
        return {one.interface.name: one for one in self.own_interfaces}

    @cached_property
    def _by_address(self) -> dict[str, list[OwnInterface]]:
        found: dict[str, list[OwnInterface]] = {}
        for hcas in (self.hcas, *self.others):
            for one in _interfaces_of(hcas):
                for text in one.interface.addresses:
                    address = canonical_address(text.partition("/")[0])
                    if address is not None and not _is_everybodys(address):
                        found.setdefault(address, []).append(one)
        return found

    def ports_of_host(self, name: str) -> list[tuple[str, str, HcaPort]]:
        """Host, device and port of each active InfiniBand port of a host at hand that has this name."""
        return [
            (hcas.host, hca.name, port)
            for hcas in (self.hcas, *self.others)
            if hcas.host and same_host(name, hcas.host)
            for hca in hcas.hcas
            for port in hca.ports
            if port.state == "Active" and port.link_layer == INFINIBAND and hca.planes_of is None
        ]

    # Names.

    @cached_property
    def name_lines(self) -> tuple[HostLine, ...]:
        """The lines of /etc/hosts."""
        return read_names(self.source, HOST_NAMES)[0] or ()

    def addresses_of(self, name: str) -> list[str]:
        """The addresses of a name: by /etc/hosts, else by what the host is set up to ask (``getent``)."""
        wanted = name.lower()
        found = self._addresses_by_name.get(wanted)
        if found is None and not any(entry.startswith(f"{wanted}.") for entry in self._addresses_by_name):
            found = self._asked_addresses(name)
        return [address for address in found or () if not _is_everybodys(address)]

    def names_of(self, address: str) -> list[str]:
        """The names of an address by /etc/hosts."""
        return self._names_by_address.get(address, [])

    @cached_property
    def _addresses_by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for line in self.name_lines:
            for name in line.names:
                found.setdefault(name.lower(), []).append(line.address)
        return found

    @cached_property
    def _names_by_address(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for line in self.name_lines:
            found.setdefault(line.address, []).extend(line.names)
        return found

    def _asked_addresses(self, name: str) -> list[str]:
        answer = self.source.run(("getent", "ahosts", name), deadline_seconds=GETENT_DEADLINE_SECONDS)
        words = [line.split() for line in answer.out.splitlines()]
        addresses = [canonical_address(line[0]) for line in words if line]
        return list(dict.fromkeys(address for address in addresses if address is not None))

    # The subnet.

    @cached_property
    def sees_infiniband(self) -> bool:
        """Whether it is worth asking the subnet: not where all ports are Ethernet, or where a live host has none."""
        layers = {port.link_layer for hca in self.hcas.hcas for port in hca.ports}
        if INFINIBAND in layers:
            return True
        return not self.is_live and (not layers or bool(self.nodes.ports))

    @cached_property
    def nodes(self) -> Nodes:
        """The fabric; of a host with ports in several subnets all of them, unless the user named a port."""
        from ibkit.collectors.fabric import collect_fabric

        first = collect_fabric(self.subnet, self.through)
        further: list[Through] = []
        if self.through == ANY_PORT and len(local_ports(self.subnet)) > 1:
            further = further_entrances(self.subnet, first)
        others = [(through, collect_fabric(self.subnet, through)) for through in further]
        return Nodes([(self.through, first), *others])

    @cached_property
    def sees_all(self) -> bool:
        """Whether a port that is not among ``nodes`` is in no subnet of this host: each was seen whole, and each of the
        host's ports is in one of them. A single port may be a virtual one, which no sweep shows.
        """
        own = [port.port_guid for _, port in self.infiniband_ports] if self.through == ANY_PORT else []
        return self.nodes.is_whole and (len(own) < 2 or all(guid and self.nodes.by_guid(guid) for guid in own))

    @property
    def has_seen_fabric(self) -> bool:
        """Whether the fabric was needed so far."""
        return "nodes" in self.__dict__

    @cached_property
    def own_port(self) -> tuple[OwnPort, Problem | None]:
        """The port that the tools ask through, in their own words."""
        return ask_own_port(self.subnet, self.through)

    @cached_property
    def prefixes(self) -> list[int]:
        """The prefixes of the subnets that the host is in, as far as they are known."""
        device, number = self.through
        own = [port for name, port in self.infiniband_ports if device in (None, name) and number in (None, port.port)]
        told = [entry.gid.subnet_prefix for port in own for entry in port.gids[:1]]
        if not told and (gid := self.own_port[0].gid):
            told = [gid.subnet_prefix]
        if not told:
            told = [port.record.subnet_prefix for port in self.nodes.ports if port.record and port.record.subnet_prefix]
        if not told:  # of a GID in a file whose GUID is in the fabric
            entries = (Gid(entry.gid) for entry in self.preloads.hosts or ())
            told = [gid.subnet_prefix for gid in entries if self.nodes.by_guid(gid.guid)]
        return list(dict.fromkeys(told))

    def is_own_subnet(self, prefix: int) -> bool | None:
        """Whether a GID of this prefix is in a subnet of the host; None where its own prefixes are not known."""
        if prefix == 0xFE80 << 48:
            return True
        if not self.prefixes:
            return None
        return any(same_subnet(prefix, own) for own in self.prefixes)

    def entrance_of(self, port: HcaPort | None) -> Through:
        """The port through which ``nodes`` were seen, and the SA is asked, of the subnet that this port is in."""
        if self.through != ANY_PORT or port is None or port.port_guid is None or len(self.infiniband_ports) < 2:
            return self.through
        if self.has_seen_fabric or not self.is_live:
            seen = self.nodes.by_guid(port.port_guid)
            return seen.through if seen else self.through
        device = next((name for name, own in self.infiniband_ports[1:] if own is port), None)
        return Through(device, port.port) if device else self.through

    def prefix_of(self, port: Port) -> int | None:
        """The prefix of the subnet that a port is in; None where nobody tells it."""
        if port.record and port.record.subnet_prefix is not None:
            return port.record.subnet_prefix
        told = self.prefixes
        if len(told) > 1:
            near = (own for _, own in self.infiniband_ports if self.entrance_of(own) == port.through)
            told = list(dict.fromkeys(entry.gid.subnet_prefix for own in near for entry in own.gids[:1]))
        return told[0] if len(told) == 1 else None


def _interfaces_of(hcas: HostHcas) -> list[OwnInterface]:
    ports = {(hca.name, port.port): port for hca in hcas.hcas for port in hca.ports}
    return [
        OwnInterface(hcas.host, one, ports.get((one.device or "", one.port or 0)), one.device)
        for one in hcas.interfaces or ()
    ]


def _is_everybodys(address: str) -> bool:
    """Whether each host has this address, so that it names none: loopback and "any"."""
    return address.startswith("127.") or address in ("::1", "0.0.0.0", "::")  # noqa: S104 - a comparison


def host_of(site: Site, name: str | None) -> Host:
    """The host that a command looks from. Raises IbkitError for one that the capture does not hold."""
    if name is None and site.hosts:
        return site.hosts[0]
    found = next((host for host in site.hosts if host.name == name), None)
    if found is None and name is None:
        return Host("", site.subnet)
    if found is None:
        names = ", ".join(host.name for host in site.hosts[:20]) or "no host"
        raise IbkitError(f"--host {name}: it is not there; there is {names}")
    return found


def now_of(site: Site) -> float | None:
    """The time that ages are counted against: that of the capture, else now."""
    if site.origin.kind == "live":
        import time

        return time.time()
    if site.origin.time is None:
        return None
    from datetime import datetime

    try:
        return datetime.fromisoformat(site.origin.time).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
