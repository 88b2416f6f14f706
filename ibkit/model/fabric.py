"""A subnet as it was seen: nodes, ports, links, and whether that is all of it."""

from __future__ import annotations

from ibkit.model.ids import Guid
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

SWITCH = "switch"
CHANNEL_ADAPTER = "channel_adapter"
ROUTER = "router"
AGGREGATION_NODE = "aggregation_node"
UNKNOWN_TYPE = "unknown"  # NodeInfo holds a type that no specification names

#: Kinds of problems that are about the fabric, not about what could be read of it.
FINDINGS = frozenset(
    {"no-neighbour", "no-lid", "duplicate-lid", "duplicate-guid", "contradiction", "bad-guid", "bad-lid", "bad-port"}
)
#: Kinds that say nothing about whether all of the fabric was seen.
ASIDES = frozenset(
    {"noise", "port-guids", "bad-name", "several-forms", "several-sweeps", "several-fabrics", "no-lid", "duplicate-lid"}
)


def lid_range(lid: int | None, lmc: int | None) -> range:
    """The LIDs from ``lid`` on that an LMC gives (InfiniBand Architecture Specification volume 1, 4.1.3)."""
    return range(0) if lid is None else range(lid, lid + (1 << (lmc or 0)))


class End(NamedTuple):
    """One end of a link: a node's GUID and the port number on it."""

    guid: Guid
    port: int


class Link(NamedTuple):
    """A cable or trace. ``a`` is the lesser end, so each link has one spelling. ``width`` is like 4x, ``speed`` like
    HDR, both as printed; None where not known. ``seen_from`` counts the ends that named it (1 or 2). ``could_be`` is a
    faster speed that the tool says both ends can do: some versions work that out wrong.
    """

    a: End
    b: End
    width: str | None = None
    speed: str | None = None
    seen_from: int = 2
    could_be: str | None = None


class FabricPort(NamedTuple):
    """A port of a node as the topology tells it. ``peer`` is None where nothing is connected or nothing is known;
    ``linked`` is True with a link, False where the node was listed whole without it, None where unknown. ``state`` and
    ``physical_state`` are the tool's words (Active, Down; LinkUp, Polling), None where it does not print them.

    What follows is of its PortInfo (InfiniBand Architecture Specification volume 1, 14.2.5.6), None where only the
    topology is known: ``mtu_bytes`` is NeighborMTU and ``max_mtu_bytes`` MTUCap; the enabled and supported widths and
    speeds are the tool's words (1X or 4X); ``subnet_prefix`` is the GID prefix as a number; ``plane`` is the number of
    the XDR plane that this port is of; ``virtual_guids`` are those of the port's table behind its own (virtual
    functions have them, or IPoIB children). ``doubt`` says why not all of the port is known: nobody answers behind it.
    """

    number: int
    guid: Guid | None = None
    lid: int | None = None
    peer: End | None = None
    width: str | None = None
    speed: str | None = None
    linked: bool | None = None
    label: str | None = None
    state: str | None = None
    physical_state: str | None = None
    lmc: int | None = None
    sm_lid: int | None = None
    mtu_bytes: int | None = None
    max_mtu_bytes: int | None = None
    enabled_width: str | None = None
    supported_width: str | None = None
    enabled_speed: str | None = None
    supported_speed: str | None = None
    subnet_prefix: int | None = None
    plane: int | None = None
    virtual_guids: tuple[Guid, ...] | None = None
    doubt: str | None = None

    @property
    def lids(self) -> range:
        """All LIDs of the port: an LMC gives it 2**LMC, beginning with its own; none where that is not known."""
        return lid_range(self.lid, self.lmc)


class Node(NamedTuple):
    """``name`` is the raw node description. ``port_count`` is None for a node that is only named by a neighbour.
    ``lid`` is port 0's for a switch and None where none is assigned; ``ports`` is in order of number, from 1.
    ``port0`` is a switch's management port, where PortInfo is known of it, and ``enhanced_port0`` whether it has what
    an adapter's has (volume 1, 18.2.4.1). ``chassis`` and ``slot`` are the tool's number and words.
    ``doubt`` says why not all of the node is known, None where nothing speaks against it.
    """

    guid: Guid
    type: str
    name: str | None = None
    port_count: int | None = None
    ports: tuple[FabricPort, ...] = ()
    lid: int | None = None
    lmc: int | None = None
    system_image_guid: Guid | None = None
    vendor_id: int | None = None
    device_id: int | None = None
    port0: FabricPort | None = None
    enhanced_port0: bool | None = None
    chassis: int | None = None
    slot: str | None = None
    doubt: str | None = None

    @property
    def lids(self) -> range:
        """All LIDs of a switch, which are those of its port 0."""
        return lid_range(self.lid, self.lmc)


class Fabric(NamedTuple):
    """``complete`` is True when the sweep reached everything, False when it is known to lack something, None when
    that cannot be told. ``source`` is the command or file that spoke.
    """

    nodes: dict[Guid, Node]
    links: tuple[Link, ...]
    complete: bool | None
    problems: tuple[Problem, ...] = ()
    source: str | None = None

    def systems(self) -> dict[Guid, list[Node]]:
        """By system image GUID: switches and routers that are one box, such as the chips of a director or of a router,
        or the virtual switches (SWIDs) of one switch.
        """
        systems: dict[Guid, list[Node]] = {}
        for node in self.nodes.values():
            if node.system_image_guid and node.type in (SWITCH, ROUTER):
                systems.setdefault(node.system_image_guid, []).append(node)
        return {guid: nodes for guid, nodes in systems.items() if len(nodes) > 1}

    def number_of(self, node_type: str) -> int:
        """How many nodes have this type."""
        return sum(1 for node in self.nodes.values() if node.type == node_type)
