"""Put a parsed iblinkinfo text together: the same fabric as from ibnetdiscover, with each port's states. Pure.

The tool names switches by GUID, other nodes by the GUIDs of their ports, and (grouped form) a peer by LID, port and
name only. So a peer is looked up; where the text does not tell which of several ports it is, the link is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ibkit.collectors.cabling import end_key
from ibkit.collectors.ports_report import Unlinked
from ibkit.collectors.topology import assemble_blocks
from ibkit.display import and_more
from ibkit.model.fabric import Fabric, FabricPort, Link, Node
from ibkit.parsers.base import Parsed, Problem
from ibkit.parsers.iblinkinfo import LinkTable, NodeTable, PortLine
from ibkit.parsers.ibnetdiscover import NodeBlock, PortRow
from ibkit.parsers.link_row import LinkRow

_KINDS = {"Switch": ("Switch", "S"), "CA": ("Ca", "H"), "Router": ("Rt", "R"), "??": ("???", "?")}
_PORT_GUIDS = (
    "iblinkinfo prints port GUIDs of channel adapters and routers: each is named by that of its first port in the text"
)


class _Node:
    """A node of the text. ``guid`` is a switch's GUID, else that of its first port."""

    __slots__ = ("guid", "kind", "letter", "line", "name", "rows")

    def __init__(self, table: NodeTable, kind: str, guid: int) -> None:
        self.guid = guid
        self.kind, self.letter = _KINDS[kind]
        self.name = table.name
        self.line = table.line
        self.rows = list(table.rows)

    @property
    def is_switch(self) -> bool:
        return self.kind == "Switch"


def assemble_links(parsed: Parsed[LinkTable], *, source: str, swept_clean: bool | None) -> Fabric:
    """The fabric that one text shows. ``swept_clean`` as for ibnetdiscover (see topology.assemble)."""
    nodes = _nodes_of(parsed.value.nodes)
    peers = _Peers(nodes)
    blocks = []
    unlinked = []
    lost: list[tuple[_Node, LinkRow, int]] = []
    states: dict[int, LinkRow] = {}
    for node in nodes:
        rows = []
        for row in node.rows:
            states.setdefault(end_key(node.guid, row.link.port), row.link)
            found = peers.find(node, row.link)
            if found:
                rows.append(_port_row(node, row, *found))
                continue
            unlinked.append(Unlinked(node.guid, row.link.port, _port_guid(node, row), _own_lid(node, row.link)))
            if not row.link.is_down:
                lost.append((node, row.link, row.line))
        blocks.append(_block(node, rows))
    problems = [*parsed.problems, *_remarks(nodes, lost, source)]
    lacking = parsed.complete is False or bool(lost) or _only_down(nodes)
    fabric = assemble_blocks(blocks, unlinked, tuple(problems), source=source, lacking=lacking, swept_clean=swept_clean)
    return fabric._replace(
        nodes={guid: _with_states(node, states) for guid, node in fabric.nodes.items()},
        links=tuple(_with_hint(link, states) for link in fabric.links),
    )


def _nodes_of(tables: Sequence[NodeTable]) -> list[_Node]:
    """Blocks as they are; of the line form, rows of one GUID make a switch, and rows like one adapter's one adapter.

    All ports of a switch are listed, with its GUID; an adapter's port has a GUID of its own, and is never down, for
    the sweep came through it.
    """
    nodes: list[_Node] = []
    by_guid: dict[int, _Node] = {}
    for table in tables:
        if table.kind is not None:
            guid = table.guid if table.guid is not None else table.rows[0].port_guid or 0
            nodes.append(_Node(table, table.kind, guid))
            continue
        assert table.guid is not None
        known = by_guid.get(table.guid)
        if known:
            known.rows += table.rows
        elif len(table.rows) > 1 or table.rows[0].link.is_down:
            by_guid[table.guid] = _Node(table, "Switch", table.guid)
            nodes.append(by_guid[table.guid])
        elif nodes and _same_adapter(nodes[-1], table):
            nodes[-1].rows += table.rows
        else:
            nodes.append(_Node(table, "CA", table.guid))
    return nodes


def _same_adapter(node: _Node, table: NodeTable) -> bool:
    """Its name is the same, and the GUIDs are as far apart as the numbers, which is how port GUIDs are given out."""
    last, row = node.rows[-1], table.rows[0]
    if node.is_switch or node.name != table.name or last.port_guid is None or row.port_guid is None:
        return False
    return row.port_guid - last.port_guid == row.link.port - last.link.port > 0


class _Peers:
    """Finds the end that a row names."""

    def __init__(self, nodes: Iterable[_Node]) -> None:
        self._by_lid: dict[int, list[_Node]] = defaultdict(list)
        self._by_name: dict[tuple[str, int], list[tuple[_Node, LinkRow]]] = defaultdict(list)
        self._by_guid: dict[int, _Node] = {}
        for node in nodes:
            for lid in {row.link.lid for row in node.rows if row.link.lid}:
                self._by_lid[lid].append(node)
            for row in node.rows:
                self._by_name[node.name, row.link.port].append((node, row.link))
                self._by_guid[node.guid if row.port_guid is None else row.port_guid] = node

    def find(self, node: _Node, link: LinkRow) -> tuple[int, str, int] | None:
        """GUID, type and port of the peer of ``node``'s row; None where there is none or the text does not tell."""
        if link.peer_port is None:
            return None
        if link.peer_guid is not None:
            peer = self._by_guid.get(link.peer_guid)
            return (peer.guid, peer.letter, link.peer_port) if peer else (link.peer_guid, "?", link.peer_port)
        peer = self._by_lid_and_name(link) or self._by_name_and_back(node, link)
        return (peer.guid, peer.letter, link.peer_port) if peer else None

    def _by_lid_and_name(self, link: LinkRow) -> _Node | None:
        """A LID is unique in a subnet, and the name says that the text is not of two."""
        found = [peer for peer in self._by_lid.get(link.peer_lid or 0, ()) if peer.name == link.peer_name]
        return found[0] if len(found) == 1 else None

    def _by_name_and_back(self, node: _Node, link: LinkRow) -> _Node | None:
        """Without LIDs: the only port with that name and number whose own row names this one."""
        candidates = self._by_name.get((link.peer_name or "", link.peer_port or 0), ())
        found = [
            peer
            for peer, back in candidates
            if (back.peer_name, back.peer_port, back.peer_lid, back.lid)
            == (node.name, link.port, link.lid, link.peer_lid)
        ]
        return found[0] if len(found) == 1 and self._is_only(node, link) else None

    def _is_only(self, node: _Node, link: LinkRow) -> bool:
        """Whether no other node of this name has such a row: else either could be meant."""
        same = [
            other
            for other, row in self._by_name[node.name, link.port]
            if (row.peer_name, row.peer_port) == (link.peer_name, link.peer_port)
        ]
        return len(same) == 1


def _port_row(node: _Node, row: PortLine, peer_guid: int, peer_letter: str, peer_port: int) -> PortRow:
    link = row.link
    return PortRow(
        row.line, link.port, _port_guid(node, row), peer_letter, peer_guid, peer_port,
        link.peer_guid if peer_letter != "S" else None, _own_lid(node, link), None, link.peer_name, link.peer_lid,
        link.width, link.speed, link.label, link.peer_label,
    )  # fmt: skip


def _port_guid(node: _Node, row: PortLine) -> int | None:
    """None for a switch, whose ports have no GUIDs of their own."""
    return None if node.is_switch else row.port_guid


def _own_lid(node: _Node, link: LinkRow) -> int | None:
    """The port's own LID; a switch's is its node's."""
    return None if node.is_switch else link.lid


def _block(node: _Node, rows: list[PortRow]) -> NodeBlock:
    """The number of ports is told for a switch, of which all are listed; of an adapter only those that were reached."""
    numbers = sorted(row.link.port for row in node.rows)
    count = len(numbers) if node.is_switch and numbers == list(range(1, len(numbers) + 1)) else None
    lid = node.rows[0].link.lid if node.is_switch else None
    return NodeBlock(node.line, node.kind, node.guid, node.name, count, tuple(rows), lid=lid)


def _only_down(nodes: Sequence[_Node]) -> bool:
    return all(row.link.is_down for node in nodes for row in node.rows)


def _remarks(nodes: Sequence[_Node], lost: Sequence[tuple[_Node, LinkRow, int]], source: str) -> list[Problem]:
    remarks = []
    if _only_down(nodes):
        text = "only ports that are down are listed (--down), so nothing is known of links and of other nodes"
        remarks.append(Problem("partial", text, None, source))
    elif not all(node.is_switch for node in nodes):
        remarks.append(Problem("port-guids", _PORT_GUIDS, None, source))
    unnamed = [entry for entry in lost if entry[1].peer_port is None]
    named = [entry for entry in lost if entry[1].peer_port is not None]
    for entries, what in ((unnamed, "the tool could not see"), (named, "the text does not identify")):
        if entries:
            node, link, line = entries[0]
            more = f"{and_more(len(entries) - 1, 'port')} {'have' if len(entries) > 1 else 'has'}"
            text = f"port {link.port} of {node.name or 'a node without name'}{more} a neighbour that {what}"
            remarks.append(Problem("unknown-neighbour", text, line, source))
    return remarks


def _with_hint(link: Link, states: dict[int, LinkRow]) -> Link:
    """A link with the speed that a row of it says it could have."""
    rows = [states.get(end_key(*end)) for end in link[:2]]
    hint = next((row.could_be_speed for row in rows if row and row.could_be_speed), None)
    return link._replace(could_be=hint) if hint else link


def _with_states(node: Node, states: dict[int, LinkRow]) -> Node:
    ports = []
    for port in node.ports:
        row = states.get(end_key(node.guid, port.number))
        ports.append(_with_state(port, row) if row else port)
    return node._replace(ports=tuple(ports))


def _with_state(port: FabricPort, row: LinkRow) -> FabricPort:
    """A port that is not down has a link, whether or not its neighbour is known."""
    width, speed = (row.width, row.speed) if port.peer is None else (port.width, port.speed)
    return port._replace(
        state=row.state, physical_state=row.physical_state, linked=not row.is_down, width=width, speed=speed
    )
