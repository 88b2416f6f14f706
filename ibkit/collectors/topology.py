"""Put a parsed ibnetdiscover text together: each node once, each link once, what does not fit as problems.

Pure: records in, a Fabric out. The tool prints each link at both of its ends. So a row that only one end has, or a
neighbour without a block of its own, proves that something is missing; and where two ends differ, neither is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ibkit.collectors.cabling import Cable, Cabling, Claim, Findings, end_key, end_text
from ibkit.collectors.lids import Lids
from ibkit.collectors.ports_report import Unlinked, blocks_of
from ibkit.model.components import components
from ibkit.model.fabric import (
    AGGREGATION_NODE,
    CHANNEL_ADAPTER,
    ROUTER,
    SWITCH,
    UNKNOWN_TYPE,
    End,
    Fabric,
    FabricPort,
    Link,
    Node,
)
from ibkit.model.ids import Guid
from ibkit.parsers.base import Parsed, Problem
from ibkit.parsers.ibnetdiscover import MAX_PORT, PORTS, NodeBlock, PortRow, ReportRow, Topology

_TYPES = {
    "Switch": SWITCH, "Ca": CHANNEL_ADAPTER, "Rt": ROUTER, "???": UNKNOWN_TYPE,
    "S": SWITCH, "H": CHANNEL_ADAPTER, "R": ROUTER, "?": UNKNOWN_TYPE,
}  # fmt: skip
#: Node description and device id of the SHARP aggregation node that sits inside NVIDIA's Quantum switches (0xd2f0,
#: 0xd2f2) and looks like a host: so in the dumps of NVIDIA/topograph (40 of them) and Mellanox/ufm_sdk_3.0 (666).
AGGREGATION_NODE_NAME = "Mellanox Technologies Aggregation Node"
AGGREGATION_NODE_DEVICE = 0xCF09
_PORT_GUIDS = (
    "a ports report has port GUIDs only: those shown for channel adapters and routers are the GUIDs of their first "
    "port that is up, and ports that cannot be seen to share an adapter count as one each"
)
DISPUTED = 0  # in place of a port GUID that is told twice and differently
_NAMED_ONLY = "only its neighbours name it"
_NO_BLOCK = NodeBlock(0, "???", 0, None, None, ())  # of a node that only its neighbours name
_NOT_LINKED: tuple[End | None, str | None, str | None] = (None, None, None)
_NOT_NAMED: tuple[int | None, int | None] = (None, None)
#: The fields of a port that no sweep asks for. Records that there are 100,000 of are made by ``tuple.__new__``: their
#: constructors are calls in Python.
_UNTOLD = tuple(FabricPort(0))[8:]
#: What two blocks of one GUID must agree on.
_IDENTITY = ("port_count", "system_image_guid", "vendor_id", "device_id", "kind", "name")


def assemble(parsed: Parsed[Topology], *, source: str, swept_clean: bool | None) -> Fabric:
    """The fabric that one text shows.

    ``swept_clean`` says whether the sweep reached everything: True where the tool ended well and complained of
    nothing, False where it did complain, None where only its stdout is at hand.
    """
    topology = parsed.value
    draft = _Draft(source, repeats=topology.sweeps > 1, has_headings=topology.form != PORTS)
    if topology.form == PORTS:
        blocks, unlinked = blocks_of(topology.rows)
        draft.read(blocks, topology.from_node)
        draft.add_unlinked(unlinked)
        draft.look_for_end(topology.rows)
        if any(block.kind != "Switch" for block in blocks):
            draft.findings.add("port-guids", _PORT_GUIDS)
    else:
        draft.read(topology.blocks, topology.from_node)
    return draft.fabric(parsed.problems, lacking=parsed.complete is False, swept_clean=swept_clean)


def assemble_blocks(
    blocks: Sequence[NodeBlock],
    unlinked: Iterable[Unlinked],
    problems: tuple[Problem, ...],
    *,
    source: str,
    lacking: bool,
    swept_clean: bool | None,
) -> Fabric:
    """The fabric of blocks that another tool's text was turned into. ``lacking``: some of the text could not be."""
    draft = _Draft(source)
    draft.read(blocks, None)
    draft.add_unlinked(unlinked)
    return draft.fabric(problems, lacking=lacking, swept_clean=swept_clean)


class _DraftNode:
    """A node while statements about it are gathered. ``key`` is that of its port 0, ``most`` the greatest number that a
    port of it can have. By number of port: ``ports`` has (port GUID, panel label), ``links`` (other end, width, speed).
    """

    __slots__ = ("block", "guid", "key", "links", "lmc", "most", "name", "ports", "type")

    def __init__(self, guid: Guid, node_type: str, name: str | None, block: NodeBlock | None = None) -> None:
        self.guid = guid
        self.key = end_key(guid, 0)
        self.type = node_type
        self.name = name
        self.lmc = block.lmc if block else None
        self.ports: dict[int, tuple[int | None, int | None]] = {}
        self.links: dict[int, tuple[End, str | None, str | None]] = {}
        self.take(block)

    def take(self, block: NodeBlock | None) -> None:
        """Its block, which may know the number of its ports."""
        self.block = block
        count = block.port_count if block else None
        self.most = MAX_PORT if count is None else count


class _Draft:
    """All statements of a text."""

    def __init__(self, source: str, *, repeats: bool = False, has_headings: bool = False) -> None:
        self.findings = Findings(source)
        self._repeats = repeats  # two sweeps in one text: each node has two blocks
        self._has_headings = has_headings  # a row does not name its own node
        self._cabling = Cabling(self.findings)
        self._nodes: dict[int, _DraftNode] = {}
        self._lids = Lids(self.findings, self._line_of)

    # Reading

    def read(self, blocks: Iterable[NodeBlock], from_node: int | None) -> None:
        """All blocks first, so that a row knows its neighbour's type and port count."""
        blocks = [self._add_block(block) for block in blocks]
        for block in blocks:
            node = self._nodes[block.guid]
            if block.lid is not None:
                self._lids.state(end_key(block.guid, 0), block.lid, block.lmc)
            self._add_rows(node, block.rows)
        if not self._nodes:
            self.findings.add("no-block", "the text tells of no node: it is cut, or holds something else", lacking=True)
        elif from_node is not None and from_node not in self._nodes:
            text = f"the node that the sweep started from, {Guid(from_node)}, is not in the text"
            self.findings.add("no-block", text, lacking=True)
        if len(self._nodes) == 1 and not self._cabling:
            text = f"{Guid(blocks[0].guid)} has no neighbour: its port is not cabled, not up, or nobody answered"
            self.findings.add("no-neighbour", text, blocks[0].line)

    def add_unlinked(self, ports: Iterable[Unlinked]) -> None:
        """Ports that are listed without a neighbour."""
        for port in ports:
            known = self._name_port(self._nodes[port.guid], port.number, (port.port_guid, None), None)
            if known and port.lid is not None:
                self._lids.state(end_key(port.guid, port.number), port.lid)

    def look_for_end(self, rows: Sequence[ReportRow]) -> None:
        """A switch's rows are printed down to port 1, so a report that ends before that is cut."""
        last = rows[-1].end
        numbers = [row.end.number for row in rows if row.end.guid == last.guid]
        if last.kind == "SW" and last.number != 1 and numbers == sorted(numbers, reverse=True):
            text = f"the report ends at port {last.number} of {Guid(last.guid)}: rows are missing"
            self.findings.add("cut", text, rows[-1].line, lacking=True)

    def _add_block(self, block: NodeBlock) -> NodeBlock:
        guid = Guid(block.guid)
        if not guid:
            self.findings.add("bad-guid", "a node with the GUID 0", block.line)
        if block.port_count is not None and not 0 < block.port_count <= MAX_PORT:
            text = f"{guid} has {block.port_count} ports by its header, which no node can have"
            self.findings.add("bad-port", text, block.line)
            block = block._replace(port_count=None)
        node = self._nodes.get(guid)
        if node is None or node.block is None:
            self._nodes[guid] = _DraftNode(guid, _TYPES[block.kind], block.name, block)
            return block
        if not self._repeats:
            text = (
                f"{guid} has blocks at lines {node.block.line} and {block.line}: two nodes with one GUID, or two sweeps"
            )
            self.findings.add("duplicate-guid", text, block.line)
        node.take(self._merged(node.block, block))
        node.name = node.block.name
        return block

    def _merged(self, first: NodeBlock, second: NodeBlock) -> NodeBlock:
        """What two blocks of one GUID agree on. Their type and name stay the first's, the rest becomes unknown."""
        for field in _IDENTITY:
            one: Any = getattr(first, field)
            other: Any = getattr(second, field)
            if one is None:
                first = first._replace(**{field: other})
            elif other is not None and one != other:
                text = f"{Guid(first.guid)} has two values of {field}: {one!r} and {other!r}"
                self.findings.add("contradiction", text, second.line, lacking=True)
                unknown: dict[str, Any] = {} if field in ("kind", "name") else {field: None}
                first = first._replace(**unknown)
        return first

    def _add_rows(self, node: _DraftNode, rows: Iterable[PortRow]) -> None:
        """All rows of a block. What is common is done in place: this loop is most of the work."""
        nodes, state, claim, new = self._nodes, self._lids.state, self._cabling.add, tuple.__new__
        own_key, ports, most = node.key, node.ports, node.most
        for row in rows:
            (
                line, number, port_guid, peer_kind, peer_guid, peer_port, peer_port_guid, lid, lmc, _, peer_lid, width,
                speed, label, peer_label,
            ) = row  # fmt: skip
            peer = nodes.get(peer_guid)
            if peer is None or peer.type != _TYPES[peer_kind] or not peer.name:
                peer = self._neighbour(row)
            known, named = ports.get(number), (port_guid, label)
            if known is None and 0 < number <= most:
                ports[number] = named
            elif known != named and not self._name_port(node, number, named, line):
                continue
            known, named = peer.ports.get(peer_port), (peer_port_guid, peer_label)
            if known is None and 0 < peer_port <= peer.most:
                peer.ports[peer_port] = named
            elif known != named and not self._name_port(peer, peer_port, named, line):
                continue
            key, peer_key = own_key | number, peer.key | peer_port
            if lid is not None:
                state(key, lid, lmc)
                node.lmc = lmc
            if peer_lid is not None:
                state(peer.key if peer.type == SWITCH else peer_key, peer_lid)
            claim(key, new(Claim, (peer_key, width, speed, line)))

    def _neighbour(self, row: PortRow) -> _DraftNode:
        """The node that a row names; a new one where this is the first that is heard of it."""
        node = self._nodes.get(row.peer_guid)
        node_type = _TYPES[row.peer_kind]
        if node is None:
            node = self._nodes[row.peer_guid] = _DraftNode(Guid(row.peer_guid), node_type, row.peer_name)
        elif node.type != node_type:
            text = f"{node.guid} is both a {node.type} and a {node_type}"
            self.findings.add("contradiction", text, row.line, lacking=True)
        if not node.name and row.peer_name:
            node.name = row.peer_name
        return node

    def _name_port(self, node: _DraftNode, number: int, named: tuple[int | None, int | None], line: int | None) -> bool:
        """Note that a node has a port, with its GUID and label where told. Whether there can be such a port.

        One beyond the header's count is reported, but kept: its link was seen.
        """
        known = node.ports.get(number)
        if known is not None:
            guid, label = named if known[0] is None else known
            if named[0] not in (None, guid) and guid != DISPUTED:
                where = end_text(end_key(node.guid, number))
                text = f"{where} has the port GUIDs {Guid(guid or 0)} and {Guid(named[0] or 0)}"
                self.findings.add("contradiction", text, line)
                guid = DISPUTED
            node.ports[number] = guid, named[1] if label is None else label
            return True
        if not 0 < number <= MAX_PORT:
            self.findings.add("bad-port", f"{node.guid} cannot have a port {number}", line, lacking=True)
            return False
        if number > node.most:
            text = f"{node.guid} has {node.most} ports by its header, but uses port {number}"
            self.findings.add("bad-port", text, line)
        node.ports[number] = named
        return True

    # What follows from all of it

    def _line_of(self, key: int) -> int | None:
        """Where the text tells a port's LID: in its row, or in its switch's header."""
        block = self._nodes[key >> 8].block
        return block.line if not key & 0xFF and block else self._cabling.line_of(key)

    def fabric(self, problems: tuple[Problem, ...], *, lacking: bool, swept_clean: bool | None) -> Fabric:
        """All of it, with the problems of reading it before those of putting it together."""
        cables = self.cables()
        complete = False if lacking or swept_clean is False or self.findings.lacking else swept_clean
        nodes, links = self.result(cables, unlisted_linked=False if complete else None)
        self._look_at_lids(cables, swept_clean)
        if self._repeats:
            self._look_for_parts(cables)
        return Fabric(nodes, links, complete, problems + self.findings.problems(), self.findings.source)

    def cables(self) -> list[Cable]:
        """Each link once. Tells which nodes and rows must be missing."""
        listed = {guid for guid, node in self._nodes.items() if node.block}
        strayed = self._cabling.take_strayed(listed) if self._has_headings else []
        if strayed:
            some = "a row is" if len(strayed) == 1 else f"{len(strayed)} rows are"
            text = f"{some} of another node, whose heading is lost, and not used"
            self.findings.add("no-header", text, strayed[0], lacking=True)
        cables = self._cabling.cables()
        strangers = [node for node in self._nodes.values() if node.block is None]
        if strangers:
            first = strangers[0]
            more = f" and {len(strangers) - 1} more nodes are" if len(strangers) > 1 else " is"
            text = f"{first.guid} ({first.name or 'no name'}){more} named by neighbours but not listed: the text is cut"
            self.findings.add("no-block", text, lacking=True)
        linked = {cable.a >> 8 for cable in cables}
        linked.update(cable.b >> 8 for cable in cables)
        alone = [node for guid, node in self._nodes.items() if guid not in linked] if len(self._nodes) > 1 else []
        if alone:
            more = f" and {len(alone) - 1} more nodes have" if len(alone) > 1 else " has"
            text = f"{alone[0].guid}{more} no link, though a sweep reaches nodes by links alone: rows are missing"
            self.findings.add("no-link", text, lacking=True)
        rows = [(key, claim) for key, claim in self._cabling.one_sided() if self._nodes[claim.peer >> 8].block]
        if rows:
            key, claim = rows[0]
            more = f" and {len(rows) - 1} more are" if len(rows) > 1 else " is"
            link = f"{end_text(key)} to {end_text(claim.peer)}"
            text = f"the link from {link}{more} listed at one end only: rows are missing"
            self.findings.add("one-sided", text, claim.line, lacking=True)
        return cables

    def result(self, cables: list[Cable], *, unlisted_linked: bool | None) -> tuple[dict[Guid, Node], tuple[Link, ...]]:
        """The nodes in order of GUID and the links in order of their ends."""
        links = []
        drafts, new = self._nodes, tuple.__new__
        for a, b, width, speed, seen_from in cables:
            node, port, peer, peer_port = drafts[a >> 8], a & 0xFF, drafts[b >> 8], b & 0xFF
            end, peer_end = new(End, (node.guid, port)), new(End, (peer.guid, peer_port))
            links.append(new(Link, (end, peer_end, width, speed, seen_from, None)))
            node.links.setdefault(port, (peer_end, width, speed))
            peer.links.setdefault(peer_port, (end, width, speed))
        unlinked = [FabricPort(number, linked=unlisted_linked) for number in range(MAX_PORT + 1)]
        images = {node.block.system_image_guid for node in self._nodes.values() if node.block and node.type == SWITCH}
        nodes = {}
        for _, draft in sorted(self._nodes.items()):
            block = draft.block or _NO_BLOCK
            image = block.system_image_guid
            told = (
                draft.guid,
                _type_of(draft, shares_switch=image is not None and image in images),
                draft.name or None,  # an empty name is what the tool prints of a node that did not tell it
                block.port_count,
                self._ports(draft, unlinked),
                self._lids.settle(draft.key) if draft.type == SWITCH else None,
                draft.lmc,
                None if image is None else Guid(image),
                block.vendor_id,
                block.device_id,
                None,
                None if block.port0 is None else block.port0 == "enhanced",
                block.chassis,
                block.slot,
                None if draft.block else _NAMED_ONLY,
            )
            nodes[draft.guid] = new(Node, told)
        return nodes, tuple(links)

    def _ports(self, draft: _DraftNode, unlinked: list[FabricPort]) -> tuple[FabricPort, ...]:
        """Ports that were named, and the others up to the header's count.

        A sweep asks a switch for all of its ports, an adapter only for those that it was reached by. ``unlinked`` are
        a switch's ports without a link.
        """
        is_switch = draft.type == SWITCH
        count = (draft.block.port_count if draft.block else None) or 0
        numbers: Iterable[int] = range(1, count + 1)
        if draft.ports and max(draft.ports) > count:
            numbers = sorted({*draft.ports, *numbers})
        ports = []
        link_of, name_of, own_key, new = draft.links.get, draft.ports.get, draft.key, tuple.__new__
        for number in numbers:
            peer, width, speed = link_of(number, _NOT_LINKED)
            guid, label = name_of(number, _NOT_NAMED)
            if is_switch and not (peer or guid or label):
                ports.append(unlinked[number])
                continue
            told = (
                number,
                Guid(guid) if guid else None,
                None if is_switch else self._lids.settle(own_key | number),
                peer,
                width,
                speed,
                True if peer else unlinked[number].linked if is_switch else None,
                None if label is None else f"ext {label}",
            )
            ports.append(new(FabricPort, told + _UNTOLD))
        return tuple(ports)

    def _look_at_lids(self, cables: list[Cable], swept_clean: bool | None) -> None:
        switches = {guid for guid, node in self._nodes.items() if node.type == SWITCH}
        ends = (key for cable in cables for key in cable[:2])
        in_use = dict.fromkeys(key & ~0xFF if key >> 8 in switches else key for key in ends)
        subnets: dict[int, int] = {}

        def may_share(first: int, second: int) -> bool:
            """In two subnets, as of two sweeps in one text, or as planes of one link (XDR)."""
            if not subnets:
                subnets.update(self._subnets(cables))
            return subnets[first] != subnets[second] or self._are_planes(first, second, cables)

        self._lids.look_for_bare(in_use, all_answered=swept_clean)
        self._lids.look_for_shared(in_use, may_share)

    def _owner(self, key: int) -> int:
        """What has the LID of a port: a switch's port 0 has that of all its ports."""
        return key & ~0xFF if self._nodes[key >> 8].type == SWITCH else key

    def _look_for_parts(self, cables: list[Cable]) -> None:
        """Whether the sweeps of one text are of several fabrics, which have no link between them."""
        nodes = components((cable.a >> 8, cable.b >> 8) for cable in cables)
        parts = len(set(nodes.values()))
        if parts > 1:
            text = f"the nodes are in {parts} parts without a link between them, as of {parts} fabrics; all are counted"
            self.findings.add("several-fabrics", text)

    def _subnets(self, cables: list[Cable]) -> dict[int, int]:
        """A number for each owner of a LID, the same for all that are linked; an adapter links nothing."""
        return components((self._owner(cable.a), self._owner(cable.b)) for cable in cables)

    def _are_planes(self, first: int, second: int, cables: list[Cable]) -> bool:
        """An XDR link has planes, and each looks like a port of its own, in one device or in several of one card."""
        blocks = [self._nodes[owner >> 8].block for owner in (first, second)]
        images = {block.system_image_guid if block else None for block in blocks}
        if first >> 8 != second >> 8 and (len(images) > 1 or None in images):
            return False
        links = [cable for cable in cables if {first, second} & {self._owner(cable.a), self._owner(cable.b)}]
        return all(link.speed == "XDR" for link in links)


def _type_of(draft: _DraftNode, *, shares_switch: bool) -> str:
    """The node's type; of two of three signs an aggregation node, or by name alone where nothing else is known."""
    if draft.type != CHANNEL_ADAPTER:
        return draft.type
    named = (draft.name or "").strip() == AGGREGATION_NODE_NAME
    device = draft.block.device_id if draft.block else None
    if device is None and not shares_switch:
        return AGGREGATION_NODE if named else CHANNEL_ADAPTER
    signs = named + (device == AGGREGATION_NODE_DEVICE) + shares_switch
    return AGGREGATION_NODE if signs >= 2 else CHANNEL_ADAPTER
