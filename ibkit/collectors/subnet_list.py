"""Put a parsed ``opensm-subnet.lst`` together: the same fabric as from ibnetdiscover. Pure.

The file lists links only: a node without any is not in it, nor are ports that are down.
"""

from __future__ import annotations

from ibkit.collectors.cabling import end_key
from ibkit.collectors.topology import assemble_blocks
from ibkit.model.fabric import Fabric, FabricPort, Node
from ibkit.parsers.base import Parsed
from ibkit.parsers.ibnetdiscover import NodeBlock, PortRow
from ibkit.parsers.subnet_list import ListedEnd, ListedLink

_KINDS = {"SW": ("Switch", "S"), "CA": ("Ca", "H"), "Rt": ("Rt", "R"), "**": ("???", "?")}


def assemble_list(parsed: Parsed[tuple[ListedLink, ...]], *, source: str) -> Fabric:
    """The fabric that one file shows. Whether OpenSM's sweep reached everything is in its log, not here."""
    rows: dict[int, list[PortRow]] = {}
    ends: dict[int, tuple[ListedEnd, int]] = {}
    states: dict[int, str] = {}
    for link in parsed.value:
        ends.setdefault(link.end.guid, (link.end, link.line))
        rows.setdefault(link.end.guid, []).append(_row(link))
        states[end_key(link.end.guid, link.end.port)] = link.state
    blocks = [_block(end, line, rows[guid]) for guid, (end, line) in ends.items()]
    lacking = parsed.complete is False
    fabric = assemble_blocks(blocks, (), parsed.problems, source=source, lacking=lacking, swept_clean=None)
    return fabric._replace(nodes={guid: _with_states(node, states) for guid, node in fabric.nodes.items()})


def _row(link: ListedLink) -> PortRow:
    end, peer = link.end, link.peer
    letter = _KINDS[peer.kind][1]
    return PortRow(
        link.line, end.port, _port_guid(end), letter, peer.guid, peer.port, _port_guid(peer),
        None if end.kind == "SW" else end.lid, None, peer.name, peer.lid, link.width, link.speed,
    )  # fmt: skip


def _port_guid(end: ListedEnd) -> int | None:
    """None for a switch, whose ports have no GUIDs of their own."""
    return None if end.kind == "SW" else end.port_guid


def _block(end: ListedEnd, line: int, rows: list[PortRow]) -> NodeBlock:
    return NodeBlock(
        line, _KINDS[end.kind][0], end.guid, end.name, end.port_count, tuple(rows),
        lid=end.lid if end.kind == "SW" else None, system_image_guid=end.system_image_guid,
        vendor_id=end.vendor_id, device_id=end.device_id,
    )  # fmt: skip


def _with_states(node: Node, states: dict[int, str]) -> Node:
    ports = tuple(_with_state(port, states.get(end_key(node.guid, port.number))) for port in node.ports)
    return node._replace(ports=ports)


def _with_state(port: FabricPort, state: str | None) -> FabricPort:
    return port if state is None else port._replace(state=state)
