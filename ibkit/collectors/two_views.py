"""Two views of one subnet merged: a sweep, which asks each node now, and the SA, which tells what its manager knows.

A whole sweep decides what is there, the SA adds what a sweep does not ask for. Where they differ, the sweep is shown
and the difference is a problem: a cable was moved meanwhile, or the manager's picture is old. What a sweep lost, the SA
may have: it is added. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from ibkit.collectors.cabling import UNKNOWN_WORDS, Findings, end_key, end_text
from ibkit.collectors.merging import fill
from ibkit.display import and_more
from ibkit.model.fabric import UNKNOWN_TYPE, End, Fabric, FabricPort, Link, Node
from ibkit.model.ids import Guid
from ibkit.parsers.erased import Any

#: What both views tell of a node or port and must agree on, with the word for people.
_OF_A_NODE = (
    ("type", "type"), ("port_count", "number of ports"), ("system_image_guid", "system image GUID"), ("lid", "LID"),
)  # fmt: skip
_OF_A_PORT = tuple(
    (FabricPort._fields.index(field), word)
    for field, word in (("lid", "LID"), ("width", "width"), ("speed", "speed"), ("state", "state"))
)
#: NodeDescription has 64 bytes; the infiniband-diags showed one less before rdma-core 43.
_MAX_OLD_NAME = 63
#: FDR10 is QDR to the SA.
_SAME = frozenset({("FDR10", "QDR")})


def merged(swept: Fabric, told: Fabric) -> Fabric:
    """The fabric of ``swept`` with what ``told``, the SA's view, adds; its problems are those of both."""
    findings = Findings(told.source or "")
    links = {(link.a, link.b): link for link in swept.links}
    strangers = [node for guid, node in told.nodes.items() if guid not in swept.nodes]
    more = [link for link in told.links if (link.a, link.b) not in links]
    if swept.complete is True:
        _tell_of(strangers, more, findings)
        strangers, more = [], []
    taken = {end for link in swept.links for end in link[:2]}
    added = {(link.a, link.b): link for link in more if taken.isdisjoint(link[:2])}
    peers = {end: peer for a, b in added for end, peer in ((a, b), (b, a))}
    _look_at_names(swept, told, findings)
    nodes = {guid: _node(node, told.nodes.get(guid), peers, findings) for guid, node in swept.nodes.items()}
    nodes |= {node.guid: node for node in strangers}
    return swept._replace(
        nodes=dict(sorted(nodes.items())),
        links=tuple(sorted((links | added).values())),
        problems=(*swept.problems, *findings.problems()),
    )


def _tell_of(nodes: list[Node], links: list[Link], findings: Findings) -> None:
    """What the SA has and a whole sweep did not find."""
    if nodes:
        more = and_more(len(nodes) - 1, "node")
        text = (
            f"the SA still has {nodes[0].guid} ({nodes[0].name or 'no name'}){more}, which the sweep did not find: "
            "gone since the manager last looked"
        )
        findings.add("contradiction", text)
    gone = {node.guid for node in nodes}
    links = [link for link in links if gone.isdisjoint((link.a.guid, link.b.guid))]
    if links:
        more = and_more(len(links) - 1, "link")
        ends = (end_text(end_key(end.guid, end.port)) for end in links[0][:2])
        text = f"the SA still has the link {' to '.join(ends)}{more}, which the sweep did not find"
        findings.add("contradiction", text)


def _look_at_names(swept: Fabric, told: Fabric, findings: Findings) -> None:
    """One problem for all names that differ. Old tools cut a name at 63 bytes."""
    others = []
    for guid, node in swept.nodes.items():
        here, there = node.name, told.nodes[guid].name if guid in told.nodes else None
        if here and there and here.strip() != there.strip():
            shorter, longer = sorted((here, there), key=len)
            if not (len(shorter.encode()) >= _MAX_OLD_NAME and longer.startswith(shorter)):
                others.append((guid, here, there))
    if others:
        guid, here, there = others[0]
        more = and_more(len(others) - 1, "node")
        text = f"{guid} is {here!r} by itself and {there!r} by the SA, which may be old"
        findings.add("other-name", f"{text};{more} with another name" if more else text)


def _node(node: Node, other: Node | None, peers: Mapping[End, End], findings: Findings) -> Node:
    if other is None:
        return node
    if node.type == UNKNOWN_TYPE:
        node = node._replace(type=other.type)
    for field, word in _OF_A_NODE:
        _compare(str(node.guid), word, getattr(node, field), getattr(other, field), findings)
    known = {port.number: port for port in other.ports}
    ports = [_port(node.guid, port, known.pop(port.number, None), peers, findings) for port in node.ports]
    if node.port_count is None:  # it is only named by a neighbour, and so are its ports
        ports += known.values()
    doubt = node.doubt and other.doubt  # what one view lacks the other has
    whole: Node = fill(node, other)
    return whole._replace(doubt=doubt, ports=tuple(sorted(ports, key=lambda port: port.number)))


def _port(
    guid: Guid, port: FabricPort, other: FabricPort | None, peers: Mapping[End, End], findings: Findings
) -> FabricPort:
    peer = port.peer or peers.get(End(guid, port.number))
    if other is None:
        return port._replace(peer=peer)
    if peer is None and port.linked is False and other.linked:  # what the SA has is of a link that is gone
        other = other._replace(width=None, speed=None, state=None, physical_state=None)
    for index, word in _OF_A_PORT:
        if port[index] != other[index]:
            _compare(end_text(end_key(guid, port.number)), word, port[index], other[index], findings)
    known: list[Any] = [there if here in UNKNOWN_WORDS else here for here, there in zip(port, other, strict=True)]
    # The sweep is the one that knows what it missed.
    return FabricPort(*known)._replace(peer=peer, doubt=port.doubt if peer is None else None)


def _compare(where: str, what: str, swept: object, told: object, findings: Findings) -> None:
    if swept == told or swept in UNKNOWN_WORDS or told in UNKNOWN_WORDS or (swept, told) in _SAME:
        return
    findings.add("contradiction", f"the {what} of {where} is {swept} by the sweep and {told} by the SA")
