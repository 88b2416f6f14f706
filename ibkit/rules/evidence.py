"""What the rules may look at: everything that was collected, and the ways from one part of it to the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType

from ibkit.model.checks import HostChecks
from ibkit.model.counters import ERRORS, FabricChange, FabricCounters, PortCounters
from ibkit.model.expectations import Expectations, NodeLink, links_by_name
from ibkit.model.fabric import SWITCH, End, Fabric, FabricPort, Link, Node
from ibkit.model.findings import LookedAt, Place
from ibkit.model.graded_links import grade_links
from ibkit.model.hardware import Hardware
from ibkit.model.host import Hca, HcaPort, HostHcas
from ibkit.model.ids import Guid
from ibkit.model.link_grade import LinkGrade
from ibkit.model.partitions import Partitions
from ibkit.model.routes import Routes
from ibkit.model.subnet_manager import SubnetManagers
from ibkit.parsers.records import NamedTuple

#: The parts of the evidence.
HOSTS, HOST_CHECKS, FABRIC, COUNTERS, CHANGE, MANAGERS, PARTITIONS, ROUTES, HARDWARE, EARLIER, EXPECTED = PARTS = (
    "hosts", "host-checks", "fabric", "counters", "two-samples", "subnet-managers", "partitions", "routes", "hardware",
    "earlier-capture", "expectations",
)  # fmt: skip

#: The counters that rules look at.
COUNTED = (*ERRORS, "PortXmitWait")


class Lack(NamedTuple):
    """Why a part is not there, and how to have it."""

    missing: str
    get: str


class Collected(NamedTuple):
    """What the collectors gave; None is a part that is not there, and ``lacks`` says why.

    ``change`` is what the counters counted between two samples. ``earlier`` (the fabric), ``earlier_managers`` and
    ``earlier_hardware`` are of the earlier capture, ``seconds`` before this one; ``since`` says in words from when to
    when things changed. ``counted_at`` is when reading the counters began and ended, by a clock of its own; ``day`` the
    ISO date of the evidence.
    """

    hosts: tuple[HostHcas, ...] | None = None
    checks: tuple[HostChecks, ...] | None = None
    fabric: Fabric | None = None
    counters: FabricCounters | None = None
    managers: SubnetManagers | None = None
    partitions: Partitions | None = None
    routes: Routes | None = None
    hardware: Hardware | None = None
    change: FabricChange | None = None
    earlier: Fabric | None = None
    earlier_managers: SubnetManagers | None = None
    earlier_hardware: Hardware | None = None
    seconds: float | None = None
    since: str | None = None
    expected: Expectations | None = None
    day: str = ""
    counted_at: tuple[float, float] = (0.0, 0.0)
    lacks: Mapping[str, Lack] = MappingProxyType({})
    looked_at: tuple[LookedAt, ...] = ()


class Tally(NamedTuple):
    """What one port counted of something. ``at_least``: it may be more, for the counter stopped or was cleared."""

    end: End
    port: PortCounters
    name: str
    value: int
    at_least: bool

    @property
    def text(self) -> str:
        """``SymbolErrorCounter 35``."""
        return f"{self.name} {'>= ' if self.at_least else ''}{self.value}"


class Evidence:
    """The collected parts with indexes over them, each made when the first rule asks for it."""

    def __init__(self, collected: Collected) -> None:
        self.collected = collected
        self.hosts = collected.hosts or ()
        self.checks = collected.checks or ()
        self.fabric = collected.fabric or Fabric({}, (), None)
        self.counters = collected.counters or FabricCounters((), None)
        self.change = collected.change
        self.managers = collected.managers or SubnetManagers(())
        self.expected = collected.expected or Expectations()
        self.partitions = collected.partitions or Partitions(())
        self.routes = collected.routes or Routes({}, None)
        self.hardware = collected.hardware or Hardware()
        self._links_by_name: dict[str, dict[str, list[NodeLink]]] = {}

    def lack(self, part: str) -> Lack | None:
        """Why a part is not there; None where it is."""
        return self.collected.lacks.get(part)

    # Places

    def place(self, end: End) -> Place:
        """A port of the fabric."""
        node = self.fabric.nodes.get(end.guid)
        port = self.ports.get(end)
        return Place(
            guid=end.guid, name=node.name if node else None, port=end.port,
            label=port.label if port else None, port_guid=port.guid if port else None,
        )  # fmt: skip

    def places_of(self, link: Link) -> tuple[Place, Place]:
        """Both ends."""
        return self.place(link.a), self.place(link.b)

    def place_of_counters(self, port: PortCounters) -> Place:
        """Where something was counted: the fabric's port, or what the counters themselves tell of it."""
        end = self.end_of(port)
        if end in self.ports:
            return self.place(end)
        guid = port.guid or port.port_guid
        name = port.node_name or (f"LID {port.lid}" if guid is None and port.lid is not None else None)
        return Place(guid=guid, name=name, port=port.port, port_guid=port.port_guid)

    # Ways through the fabric

    @cached_property
    def ports(self) -> dict[End, FabricPort]:
        """The fabric's ports by node and number."""
        return {End(node.guid, port.number): port for node in self.fabric.nodes.values() for port in node.ports}

    @cached_property
    def link_at(self) -> dict[End, Link]:
        """Each link under both of its ends."""
        return {end: link for link in self.fabric.links for end in (link.a, link.b)}

    @cached_property
    def end_of_port_guid(self) -> dict[Guid, End]:
        """The fabric's ports by their own GUIDs."""
        return {port.guid: end for end, port in self.ports.items() if port.guid}

    @cached_property
    def _end_of_lid(self) -> dict[int, End]:
        """Of adapters and routers; a LID that two have is nobody's."""
        ends: dict[int, End] = {}
        shared = set()
        for end, port in self.ports.items():
            if port.lid is not None and ends.setdefault(port.lid, end) != end:
                shared.add(port.lid)
        return {lid: end for lid, end in ends.items() if lid not in shared}

    def end_of(self, port: PortCounters) -> End:
        """The fabric's name of a port with counters: by its node's GUID, else by its own, else by its LID.

        One that the fabric does not hold gets the GUID that the counters tell of it.
        """
        if port.guid in self.fabric.nodes:
            return End(port.guid, port.port)
        for guid in (port.port_guid, port.guid):
            if guid in self.end_of_port_guid:
                return self.end_of_port_guid[guid]
        found = self._end_of_lid.get(port.lid) if port.lid is not None else None
        if found and found.port == port.port and port.guid is None:
            return found
        return End(port.guid or port.port_guid or Guid(0), port.port)

    @cached_property
    def grades(self) -> dict[Link, LinkGrade]:
        """Whether each link runs as well as its ends can."""
        return grade_links(self.fabric)

    def peer_of(self, end: End) -> End | None:
        """The other end of the link."""
        link = self.link_at.get(end)
        return None if link is None else link.b if link.a == end else link.a

    @cached_property
    def _peers(self) -> dict[Guid, list[End]]:
        peers: dict[Guid, list[End]] = {}
        for link in self.fabric.links:
            peers.setdefault(link.a.guid, []).append(link.b)
            peers.setdefault(link.b.guid, []).append(link.a)
        return peers

    def neighbours(self, guid: Guid) -> list[End]:
        """The other ends of all links of a node."""
        return self._peers.get(guid, [])

    def number_of_links(self, guid: Guid) -> int:
        """How many links a node has."""
        return len(self.neighbours(guid))

    def is_switch(self, end: End) -> bool:
        """Whether the node of an end is a switch."""
        node = self.fabric.nodes.get(end.guid)
        return node is not None and node.type == SWITCH

    def links_by_name(self, kind: str) -> dict[str, list[NodeLink]]:
        """The links of hosts (channel adapters) or of switches, by name."""
        if kind not in self._links_by_name:
            self._links_by_name[kind] = links_by_name(self.fabric, kind)
        return self._links_by_name[kind]

    def nodes(self, *types: str) -> Iterator[Node]:
        """The nodes of these types."""
        return (node for node in self.fabric.nodes.values() if node.type in types)

    # Counters

    @cached_property
    def tallies(self) -> dict[str, list[Tally]]:
        """By counter the ports that counted something: between the two samples where there are two, else in all."""
        found: dict[str, list[Tally]] = {}
        for port, counters, at_least in self._counted():
            end = None
            for name in COUNTED:
                value = counters.get(name)
                if value:
                    end = end or self.end_of(port)
                    found.setdefault(name, []).append(Tally(end, port, name, value, name in at_least))
        return found

    def _counted(self) -> Iterator[tuple[PortCounters, dict[str, int | None], tuple[str, ...]]]:
        if self.change is None:
            for port in self.counters.ports:
                yield port, port.counters, port.saturated
        else:
            for change in self.change.ports:
                yield change.port, change.counters, change.at_least

    # Hosts

    def host_ports(self) -> Iterator[tuple[HostHcas, Hca, HcaPort]]:
        """The ports of all hosts, without the planes of a link (XDR), which are not ports of their own."""
        for host in self.hosts:
            for hca in host.hcas:
                if hca.planes_of is None:
                    for port in hca.ports:
                        yield host, hca, port


def host_place(host: HostHcas, device: str | None = None, port: int | None = None) -> Place:
    """A host, a device of it or a port of that."""
    hca = next((hca for hca in host.hcas if device is not None and hca.name == device), None)
    found = next((one for one in hca.ports if one.port == port), None) if hca else None
    return Place(
        host=host.host or None, device=device, port=port, guid=hca.node_guid if hca else None,
        port_guid=found.port_guid if found else None,
    )  # fmt: skip
