"""A fabric as a document for other programs (schema ibkit.fabric/1) and as rows. See docs/json.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ibkit.model.fabric import AGGREGATION_NODE, CHANNEL_ADAPTER, ROUTER, SWITCH, End, Fabric, FabricPort, Link, Node
from ibkit.model.ids import prefix_text
from ibkit.model.link_grade import OK, SLOW, SUSPECTED, UNKNOWN, LinkGrade
from ibkit.model.node_names import place_of
from ibkit.model.selection import Selection, everything

SCHEMA = "ibkit.fabric/1"

NODE_COLUMNS = ("guid", "type", "name", "ports", "linked_ports", "lid", "system_image_guid", "vendor_id", "device_id")
LINK_COLUMNS = ("a_guid", "a_port", "a_name", "b_guid", "b_port", "b_name", "width", "speed")
GRADED_LINK_COLUMNS = (*LINK_COLUMNS, "verdict", "cause", "text")
PORT_COLUMNS = (
    "guid", "port", "name", "lid", "linked", "width", "speed", "peer_guid", "peer_port", "peer_name", "state",
    "physical_state",
)  # fmt: skip


def summary(fabric: Fabric) -> dict[str, int | None]:
    """How many of each were seen; None where nothing was. Aggregation nodes only look like channel adapters.

    Several nodes without a link are no subnet: what was seen does not tell the links.
    """
    if not fabric.nodes:
        return dict.fromkeys(("switches", "channel_adapters", "routers", "aggregation_nodes", "links"))
    return {
        "switches": fabric.number_of(SWITCH),
        "channel_adapters": fabric.number_of(CHANNEL_ADAPTER),
        "routers": fabric.number_of(ROUTER),
        "aggregation_nodes": fabric.number_of(AGGREGATION_NODE),
        "links": len(fabric.links) if fabric.links or len(fabric.nodes) == 1 else None,
    }


def rates(fabric: Fabric) -> dict[str, int]:
    """How many links run at each width and speed, the most frequent first: ``{"4x HDR": 208, "1x HDR": 3}``."""
    counts: dict[str, int] = {}
    for link in fabric.links:
        rate = f"{link.width or 'unknown'} {link.speed or 'unknown'}"
        counts[rate] = counts.get(rate, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def verdicts(grades: Mapping[Link, LinkGrade]) -> dict[str, int]:
    """How many links have each verdict, the worst first."""
    counts = Counter(grade.verdict for grade in grades.values())
    return {verdict: counts[verdict] for verdict in (SLOW, SUSPECTED, UNKNOWN, OK)}


def fabric_document(
    fabric: Fabric,
    selection: Selection | None = None,
    *,
    with_ports: bool = False,
    grades: Mapping[Link, LinkGrade] | None = None,
) -> dict[str, Any]:
    """All of it or what was selected, in order of GUID and port; the ports one by one only where asked for. With the
    ``grades`` of all links, those that are shown have theirs.
    """
    selection = selection or everything(fabric)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "summary": summary(fabric),
        "complete": fabric.complete,
        "problems": [problem._asdict() for problem in fabric.problems],
        "nodes": [_node(node) for node in selection.nodes],
        "systems": [
            {"system_image_guid": str(guid), "nodes": [str(node.guid) for node in nodes]}
            for guid, nodes in fabric.systems().items()
        ],
    }
    if grades is None:
        document["links"] = [_link(link) for link in selection.links]
    else:
        document["verdicts"] = verdicts(grades)
        document["links"] = [_link(link) | grades[link]._asdict() for link in selection.links]
    if with_ports:
        document["ports"] = [_port(node, port) for node, port in selection.ports]
    return document


def node_rows(fabric: Fabric, selection: Selection | None = None) -> Iterator[list[Any]]:
    """One row per node in the order of NODE_COLUMNS."""
    for node in (selection or everything(fabric)).nodes:
        linked = sum(port.linked is True for port in node.ports)
        yield [
            node.guid, node.type, node.name, node.port_count, linked, lid_of(node), node.system_image_guid,
            _id(node.vendor_id), _id(node.device_id),
        ]  # fmt: skip


def link_rows(fabric: Fabric, selection: Selection | None = None) -> Iterator[list[Any]]:
    """One row per link in the order of LINK_COLUMNS."""
    for link in (selection or everything(fabric)).links:
        yield [
            link.a.guid, link.a.port, fabric.nodes[link.a.guid].name,
            link.b.guid, link.b.port, fabric.nodes[link.b.guid].name, link.width, link.speed,
        ]  # fmt: skip


def port_rows(fabric: Fabric, selection: Selection | None = None) -> Iterator[list[Any]]:
    """One row per port in the order of PORT_COLUMNS."""
    for node, port in (selection or everything(fabric)).ports:
        peer = port.peer
        peer_cells = [peer.guid, peer.port, fabric.nodes[peer.guid].name] if peer else [None] * 3
        linked = None if port.linked is None else "yes" if port.linked else "no"
        states = port.state, port.physical_state
        yield [node.guid, port.number, node.name, port.lid, linked, port.width, port.speed, *peer_cells, *states]


def graded_link_rows(fabric: Fabric, selection: Selection, grades: Mapping[Link, LinkGrade]) -> Iterator[list[Any]]:
    """One row per link in the order of GRADED_LINK_COLUMNS."""
    for link, row in zip(selection.links, link_rows(fabric, selection), strict=True):
        yield [*row, *grades[link]]


def lid_of(node: Node) -> int | None:
    """A switch has one LID; so has another node if its ports do not differ."""
    if node.type == SWITCH:
        return node.lid
    lids = {port.lid for port in node.ports if port.lid is not None}
    return lids.pop() if len(lids) == 1 else None


def _node(node: Node) -> dict[str, Any]:
    return {
        "guid": str(node.guid),
        "type": node.type,
        "name": node.name,
        "ports": node.port_count,
        "lid": lid_of(node),
        "lmc": node.lmc,
        "system_image_guid": None if node.system_image_guid is None else str(node.system_image_guid),
        "vendor_id": _id(node.vendor_id),
        "device_id": _id(node.device_id),
        "enhanced_port0": node.enhanced_port0,
        "port0": None if node.port0 is None else _port_info(node.port0),
        "chassis": node.chassis,
        "slot": node.slot,
        "hints": place_of(node.name)._asdict(),
        "doubt": node.doubt,
    }


def _link(link: Link) -> dict[str, Any]:
    return {
        "a": _end(link.a),
        "b": _end(link.b),
        "width": link.width,
        "speed": link.speed,
        "seen_from": link.seen_from,
    }


def _port(node: Node, port: FabricPort) -> dict[str, Any]:
    return {
        "guid": str(node.guid),
        "port": port.number,
        "port_guid": None if port.guid is None else str(port.guid),
        "lid": port.lid,
        "linked": port.linked,
        "width": port.width,
        "speed": port.speed,
        "peer": None if port.peer is None else _end(port.peer),
        "label": port.label,
        "plane": port.plane,
        "virtual_guids": None if port.virtual_guids is None else [str(guid) for guid in port.virtual_guids],
        **_port_info(port),
        "doubt": port.doubt,
    }


def _port_info(port: FabricPort) -> dict[str, Any]:
    """What PortInfo tells of any port."""
    return {
        "state": port.state,
        "physical_state": port.physical_state,
        "lmc": port.lmc,
        "sm_lid": port.sm_lid,
        "subnet_prefix": prefix_text(port.subnet_prefix),
        "mtu_bytes": port.mtu_bytes,
        "max_mtu_bytes": port.max_mtu_bytes,
        "enabled_width": port.enabled_width,
        "supported_width": port.supported_width,
        "enabled_speed": port.enabled_speed,
        "supported_speed": port.supported_speed,
    }


def _end(end: End) -> dict[str, Any]:
    return {"guid": str(end.guid), "port": end.port}


def _id(number: int | None) -> str | None:
    """``0x2c9``, as the tools print vendor and device ids."""
    return None if number is None else f"{number:#x}"
