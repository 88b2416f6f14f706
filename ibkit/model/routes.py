"""Ways through a fabric by the switches' forwarding tables. Pure.

A switch looks a packet's DLID up in its linear forwarding table and sends it out of the port that stands there; 255
means that it drops the packet (InfiniBand Architecture Specification volume 1, 14.2.5.10 and 18.2.4.3.2). That is the
way of packets that are not routed adaptively: where a switch has adaptive routing, it may take another port of a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.model.fabric import SWITCH, End, Fabric, FabricPort, Node
from ibkit.model.ids import Guid
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

#: The exit of a LID that the switch does not forward.
NO_EXIT = 255

#: How following a route ended. The last four are for want of evidence: nothing is known to be wrong.
ARRIVED = "arrived"  # at the port that has the LID
LOOP = "loop"  # a switch for the second time
UNREACHABLE = "unreachable"  # a table has no exit for the LID
PORT_DOWN = "port-down"  # a table names a port without a link
WRONG_NODE = "wrong-node"  # where the way ends, nobody has the LID
NO_TABLE = "no-table"  # the table of a switch, or what it says of this LID, is not known
NO_CABLE = "no-cable"  # what is behind a port is not known
NO_START = "no-start"  # the start is none of the nodes that are known
NO_LID = "no-lid"  # whether the port where the way ends has the LID is not known
UNKNOWN_ENDS = frozenset({NO_TABLE, NO_CABLE, NO_START, NO_LID})


class ForwardingTable(NamedTuple):
    """A switch's table as far as it is known. ``exits`` is indexed by LID: the exit port, NO_EXIT for none or not
    known. ``covers`` are the LIDs, both ends included, of which it is known that those without an exit have none.
    """

    guid: Guid
    exits: bytes
    covers: tuple[tuple[int, int], ...] = ()
    source: str | None = None
    line: int | None = None

    def exit_of(self, lid: int) -> int | None:
        """The exit port of a LID; NO_EXIT where it is known that there is none, None where it is not known."""
        if lid < len(self.exits) and self.exits[lid] != NO_EXIT:
            return self.exits[lid]
        return NO_EXIT if any(first <= lid <= last for first, last in self.covers) else None

    def without(self, lids: Sequence[int]) -> ForwardingTable:
        """The same where nothing is known of some LIDs, which are in order."""
        exits = bytearray(self.exits)
        for lid in lids:
            if lid < len(exits):
                exits[lid] = NO_EXIT
        covers = tuple(part for first, last in self.covers for part in _parts(first, last, lids))
        return self._replace(exits=bytes(exits), covers=covers)


def agreed(tables: Sequence[ForwardingTable]) -> tuple[tuple[ForwardingTable, ...], tuple[int, ...]]:
    """Tables of one switch without the LIDs of which they tell different exits, and these LIDs, in order."""
    size = max((len(table.exits) for table in tables), default=0) if len(tables) > 1 else 0
    told = ([table.exit_of(lid) for table in tables] for lid in range(size))
    disputed = tuple(lid for lid, exits in enumerate(told) if len({*exits} - {None}) > 1)
    return tuple(table.without(disputed) for table in tables) if disputed else tuple(tables), disputed


def _parts(first: int, last: int, lids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """What is left of a range without some of its LIDs."""
    for lid in lids:
        if first <= lid <= last:
            if first < lid:
                yield first, lid - 1
            first = lid + 1
    if first <= last:
        yield first, last


class Routes(NamedTuple):
    """Tables by their switch, of each the one first that is asked first: several are parts of one, from several
    sources. ``complete`` is True where the table of each switch of the fabric is known, False where some are missing,
    None where only some were asked for.
    """

    tables: dict[Guid, tuple[ForwardingTable, ...]]
    complete: bool | None
    problems: tuple[Problem, ...] = ()

    def table_for(self, switch: Guid, lid: int) -> ForwardingTable | None:
        """The table that tells what a switch does with a LID."""
        return next((table for table in self.tables.get(switch, ()) if table.exit_of(lid) is not None), None)


class Hop(NamedTuple):
    """A link on the way: out of one port, into the other."""

    exit: End
    entry: End


class Route(NamedTuple):
    """The way from a port to a LID. ``result`` says how it ended, ``at`` where: at the node that was reached last, by
    the port that it was entered by; ``exit_port`` is the port out of which it does not go on. ``tables`` are those that
    were used, in order. ``lid`` is None of a way that somebody else has followed and tells no LID of.
    """

    start: End
    lid: int | None
    hops: tuple[Hop, ...]
    result: str
    at: End
    exit_port: int | None = None
    tables: tuple[ForwardingTable, ...] = ()

    @property
    def arrived(self) -> bool | None:
        """Whether the packets get there; None where that is not known."""
        if self.result == ARRIVED:
            return True
        return None if self.result in UNKNOWN_ENDS else False


class Owners(NamedTuple):
    """Who has a LID: of each port its base LID and LMC. A port has 2**LMC LIDs from its base LID on; a switch has
    those of its port 0.
    """

    base: dict[int, tuple[End, ...]]
    ranges: tuple[tuple[int, int, End], ...]

    def of(self, lid: int) -> tuple[End, ...]:
        """The ports with this LID: one, none, or several where a LID is given twice."""
        more = tuple(end for first, last, end in self.ranges if first < lid <= last)
        return self.base.get(lid, ()) + more


def owners_of(fabric: Fabric) -> Owners:
    """Everybody's LIDs."""
    base: dict[int, tuple[End, ...]] = {}
    ranges = []
    for node in fabric.nodes.values():
        for end, lid, lmc in _lids(node):
            base[lid] = (*base.get(lid, ()), end)
            if lmc:
                ranges.append((lid, lid + (1 << lmc) - 1, end))
    return Owners(base, tuple(ranges))


def port_of(node: Node, number: int) -> FabricPort | None:
    """A node's port by its number; None where nothing is known of it. A switch has its LID at port 0."""
    ports = node.ports
    for guess in (number - 1, number):  # they mostly begin with 1, or with a switch's port 0, and leave none out
        if 0 <= guess < len(ports) and ports[guess].number == number:
            return ports[guess]
    found = next((port for port in ports if port.number == number), None)
    if found is None and number == 0 and node.type == SWITCH:
        return node.port0 or FabricPort(0, node.guid, node.lid, lmc=node.lmc)
    return found


def lid_of(fabric: Fabric, end: End) -> int | None:
    """The base LID of an end port; a switch's is that of all its ports."""
    node = fabric.nodes.get(end.guid)
    if node is None or node.type == SWITCH:
        return node.lid if node else None
    port = port_of(node, end.port)
    return port.lid if port else None


def end_ports(fabric: Fabric) -> Iterator[End]:
    """The ports that something can be sent to: those that have a LID."""
    for node in fabric.nodes.values():
        for end, _, _ in _lids(node):
            yield end


def route_to(fabric: Fabric, routes: Routes, start: End, lid: int, owners: Owners | None = None) -> Route:
    """Follow the tables from a port to a LID. Of an adapter or a router ``start`` is the port that sends; of a switch
    it is port 0. ``owners`` are those of the fabric, for who follows many routes.
    """
    ends = (owners or owners_of(fabric)).of(lid)
    walk = _Walk(fabric, routes, start, lid, ends)
    return walk.route()


class _Walk:
    """One way, node by node."""

    def __init__(self, fabric: Fabric, routes: Routes, start: End, lid: int, ends: tuple[End, ...]) -> None:
        self._nodes = fabric.nodes
        self._routes = routes
        self._start = start
        self._lid = lid
        self._ends = ends
        self._hops: list[Hop] = []
        self._used: list[ForwardingTable] = []

    def route(self) -> Route:
        """Go on until there is a result."""
        if self._start.guid not in self._nodes:
            return self._ended(NO_START, self._start)
        if self._start in self._ends:
            return self._ended(ARRIVED, self._start)
        at = self._start
        seen: set[Guid] = set()
        while True:
            node = self._nodes[at.guid]
            if node.type == SWITCH:
                exit_port = self._exit(node, at, seen)
            elif self._hops:
                return self._delivered(at)
            else:
                exit_port = at.port
            if isinstance(exit_port, Route):
                return exit_port
            entry = self._leave(node, exit_port, at)
            if isinstance(entry, Route):
                return entry
            at = entry

    def _exit(self, node: Node, at: End, seen: set[Guid]) -> int | Route:
        """The port by which a switch sends the packet on; how the way ends, where it does."""
        own = End(node.guid, 0)
        if own in self._ends:
            return self._ended(ARRIVED, own)
        if node.guid in seen:
            return self._ended(LOOP, at)
        seen.add(node.guid)
        table = self._routes.table_for(node.guid, self._lid)
        exit_port = table.exit_of(self._lid) if table else None
        if table is None or exit_port is None:
            return self._ended(NO_TABLE, at)
        self._used.append(table)
        if exit_port == NO_EXIT:
            return self._ended(UNREACHABLE, at)
        return self._delivered(own) if exit_port == 0 else exit_port

    def _leave(self, node: Node, number: int, at: End) -> End | Route:
        """The port that the cable at a port leads to; how the way ends, where there is none."""
        port = port_of(node, number)
        if port is None:
            beyond = node.port_count is not None and number > node.port_count
            return self._ended(PORT_DOWN if beyond else NO_CABLE, at, number)
        if port.linked is False or port.state == "Down":
            return self._ended(PORT_DOWN, at, number)
        if port.peer is None or port.peer.guid not in self._nodes:
            return self._ended(NO_CABLE, at, number)
        self._hops.append(Hop(End(node.guid, number), port.peer))
        return port.peer

    def _delivered(self, entry: End) -> Route:
        """The end of the way, whoever's LID it is. One that nobody is known to have may be another LID of an adapter's
        port: by an LMC that is not known, or of a virtual port, which no sweep shows.
        """
        if entry in self._ends:
            return self._ended(ARRIVED, entry)
        is_switch = self._nodes[entry.guid].type == SWITCH
        return self._ended(WRONG_NODE if self._ends or (is_switch and self._nodes[entry.guid].lid) else NO_LID, entry)

    def _ended(self, result: str, at: End, exit_port: int | None = None) -> Route:
        return Route(self._start, self._lid, tuple(self._hops), result, at, exit_port, tuple(self._used))


def _lids(node: Node) -> Iterator[tuple[End, int, int]]:
    """The ports of a node that have LIDs, each with its base LID and LMC."""
    if node.type == SWITCH:
        if node.lid:
            yield End(node.guid, 0), node.lid, node.lmc or 0
        return
    for port in node.ports:
        if port.lid:
            yield End(node.guid, port.number), port.lid, (node.lmc if port.lmc is None else port.lmc) or 0


def describe(fabric: Fabric, route: Route) -> str:
    """A sentence on how the way ended."""
    where = _name(fabric, route.at.guid)
    count = len(route.hops)
    target = "the other end" if route.lid is None else f"LID {route.lid}"
    if route.result == ARRIVED:
        return f"{target} is reached over {count} link{'' if count == 1 else 's'}"
    if route.result == LOOP:
        return f"the way to {target} comes to {where} for the second time: a loop, packets never arrive"
    if route.result == UNREACHABLE:
        return f"the table of {where} has no exit for {target}: the switch drops the packets"
    if route.result == PORT_DOWN:
        port = f"port {route.exit_port}"
        if not route.hops and not route.tables:
            return f"{port} of {where}, where the way begins, has no link"
        return f"the table of {where} sends {target} out of {port}, which has no link"
    if route.result == WRONG_NODE:
        return f"the way to {target} ends at {where} port {route.at.port}, which has another LID"
    if route.result == NO_LID:
        return f"the way to {target} ends at {where} port {route.at.port}, of which it is not known whether it has it"
    if route.result == NO_TABLE:
        return f"what the table of {where} says of {target} is not known"
    if route.result == NO_CABLE:
        return f"what is behind port {route.exit_port} of {where} is not known"
    return f"{where}, where the way begins, is none of the nodes that were seen"


def _name(fabric: Fabric, guid: Guid) -> str:
    node = fabric.nodes.get(guid)
    return f"{guid} ({node.name})" if node and node.name else str(guid)
