"""Directed routes over a fabric: which node a discovery error speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibkit.model.fabric import Fabric, Node
from ibkit.model.ids import Guid
from ibkit.parsers.diag_messages import NO_ANSWER, Message
from ibkit.parsers.records import NamedTuple

PORT_INFO = 0x15
EXTENDED_PORT_INFO = 0xFF90
#: Attributes of subnet management (InfiniBand Architecture Specification, table 14.2.5) and NVIDIA's extension.
ATTRIBUTES = {
    0x10: "NodeDescription", 0x11: "NodeInfo", 0x12: "SwitchInfo", PORT_INFO: "PortInfo", 0x20: "SMInfo",
    EXTENDED_PORT_INFO: "extended PortInfo",
}  # fmt: skip


class Place(NamedTuple):
    """How far a route can be followed: to ``node``, then out of its ``port`` and ``hops`` links into the unknown.

    ``port`` is None and ``hops`` 0 where the route ends at ``node``.
    """

    node: Node
    port: int | None
    hops: int


def follow(fabric: Fabric, start: Guid | None, route: Sequence[int]) -> Place | None:
    """Walk the known links from ``start``, leaving each node by the route's next port. None without a start."""
    node = fabric.nodes.get(start) if start is not None else None
    if node is None:
        return None
    for hop, number in enumerate(route):
        peer = next((port.peer for port in node.ports if port.number == number), None)
        if peer is None:
            return Place(node, number, len(route) - hop)
        node = fabric.nodes[peer.guid]
    return Place(node, None, 0)


def describe(fabric: Fabric, start: Guid | None, message: Message) -> str:
    """A sentence on who did not answer or refused, where that is, and what is missing for it."""
    silent = message.kind == NO_ANSWER
    did = "did not answer" if silent else "refused"
    what = f"{did} {_query(message)}{_status(message)}"
    if message.route is None:
        where = f"the node at LID {message.lid}" if message.lid else "a node"
        return f"{where} {what}"
    path = ",".join(str(hop) for hop in (0, *message.route))
    place = follow(fabric, start, message.route)
    if place is None:
        return f"the node at the end of the route {path} {what}: it may be missing"
    name = f"{place.node.guid} ({place.node.name or 'no name'})"
    if place.port is None:
        return f"{name} {what}, asked along the route {path}"
    where = "the node" if place.hops == 1 else f"the node {place.hops} links away"
    return (
        f"{where} behind port {place.port} of {name} {what}, asked along the route {path}: it is missing, with all "
        "that is reached through it alone"
    )


def with_doubts(fabric: Fabric, start: Guid | None, messages: Iterable[Message]) -> Fabric:
    """The fabric with the nodes and ports marked that did not answer, or behind which nobody did."""
    nodes = dict(fabric.nodes)
    for message in messages:
        if message.kind != NO_ANSWER or message.route is None:
            continue
        place = follow(fabric, start, message.route)
        if place is None:
            continue
        node = nodes[place.node.guid]
        if place.port is None:
            nodes[node.guid] = node._replace(doubt=f"did not answer {_query(message)}")
        else:
            doubt = f"the node {'behind it' if place.hops == 1 else f'{place.hops} links behind it'} did not answer"
            ports = (port._replace(doubt=doubt) if port.number == place.port else port for port in node.ports)
            nodes[node.guid] = node._replace(ports=tuple(ports))
    return fabric._replace(nodes=nodes)


def _query(message: Message) -> str:
    query = ATTRIBUTES.get(message.attribute or 0, "a query")
    if message.modifier and message.attribute in (PORT_INFO, EXTENDED_PORT_INFO):
        query += f" of port {message.modifier}"
    return query


def _status(message: Message) -> str:
    if message.reason:
        return f" ({message.reason})"
    return "" if message.status is None else f" (status {message.status:#x})"
