"""Which node of one view is which of the other: by GUID, with the ways around it that tools and repairs make.

* A ports report (``ibnetdiscover -p``) and ``iblinkinfo`` have no node GUIDs of adapters: there the GUID is that of a
  port, and which one depends on which port was up. Nodes are then the same if they share a port's GUID.
* An HCA that was replaced has a new GUID at the same port of the same switch, and its host's name.
"""

from __future__ import annotations

from collections.abc import Mapping

from ibkit.model.fabric import SWITCH, End, Fabric, Link, Node
from ibkit.model.ids import Guid
from ibkit.model.node_names import is_default
from ibkit.parsers.records import NamedTuple

#: The kind of the problem with which a topology says that its GUIDs of adapters are those of ports.
PORT_GUIDS = "port-guids"
#: Tools before infiniband-diags of rdma-core 43 cut names here (bytes).
CUT_NAME = 63


class Swap(NamedTuple):
    """A node that was replaced by another one with its name, at the same ports of the same neighbours."""

    old: Node
    new: Node
    at: tuple[End, ...]


def aligned(before: Fabric, after: Fabric) -> tuple[Fabric, Fabric]:
    """Both views with one GUID for each node, where one of them has only port GUIDs of adapters."""
    if not any(problem.kind == PORT_GUIDS for fabric in (before, after) for problem in fabric.problems):
        return before, after
    canonical: dict[Guid, Guid] = {}  # a port's GUID -> the node's
    for fabric in sorted((before, after), key=_has_port_guids):
        for node in fabric.nodes.values():
            ports = [port.guid for port in node.ports if port.guid] or [node.guid]
            known = next((canonical[guid] for guid in ports if guid in canonical), node.guid)
            for guid in ports:
                canonical.setdefault(guid, known)
    views = []
    for fabric in (before, after):
        names = {}
        for node in fabric.nodes.values():
            ports = [port.guid for port in node.ports if port.guid] or [node.guid]
            if node.type != SWITCH and (known := canonical.get(ports[0], node.guid)) != node.guid:
                names[node.guid] = known
        views.append(renamed(fabric, names))
    return views[0], views[1]


def swaps(before: Fabric, after: Fabric) -> list[Swap]:
    """The nodes that were replaced. A name that firmware gives says nothing."""
    gone = [node for guid, node in before.nodes.items() if guid not in after.nodes and not is_default(node.name)]
    if not gone:
        return []
    neighbour = {port.peer: node for node in after.nodes.values() for port in node.ports if port.peer}
    found = []
    taken: set[Guid] = set()
    for old in gone:
        ends = [port.peer for port in old.ports if port.peer]
        fits = [
            node
            for end in ends
            if (node := neighbour.get(end)) is not None
            and node.guid not in before.nodes
            and node.guid not in taken
            and node.type == old.type
            and same_name(node.name, old.name)
        ]
        if not fits:
            continue
        new = max(fits, key=fits.count)
        at = tuple(end for end in ends if neighbour.get(end) is new)
        if old.type == SWITCH and 2 * len(at) < len(ends):
            continue  # an adapter has one cable, or two; a switch that shares a few of many was cabled anew
        taken.add(new.guid)
        found.append(Swap(old, new, at))
    return found


def same_name(one: str | None, other: str | None) -> bool:
    """Whether two descriptions are of one name: blanks around it do not count, and old tools cut it."""
    a, b = (one or "").strip(), (other or "").strip()
    if a == b:
        return True
    shorter, longer = sorted((a, b), key=len)
    return len(shorter.encode()) == CUT_NAME and longer.startswith(shorter)


def renamed(fabric: Fabric, names: Mapping[Guid, Guid]) -> Fabric:
    """The fabric with other GUIDs for some nodes. Nodes that get one GUID become one node, with the ports of both."""
    if not names:
        return fabric

    def end(old: End) -> End:
        return End(names.get(old.guid, old.guid), old.port)

    nodes: dict[Guid, Node] = {}
    for node in fabric.nodes.values():
        guid = names.get(node.guid, node.guid)
        ports = tuple(port._replace(peer=end(port.peer)) if port.peer else port for port in node.ports)
        other = nodes.get(guid)
        if other is not None:
            merged = {port.number: port for port in (*ports, *other.ports)}
            node, ports = other, tuple(merged[number] for number in sorted(merged))
        nodes[guid] = node._replace(guid=guid, ports=ports)
    links = []
    for link in fabric.links:
        a, b = sorted((end(link.a), end(link.b)))
        links.append(link._replace(a=a, b=b))
    return fabric._replace(nodes=dict(sorted(nodes.items())), links=tuple(sorted(links, key=_ends)))


def _ends(link: Link) -> tuple[End, End]:
    return link.a, link.b


def _has_port_guids(fabric: Fabric) -> bool:
    return any(problem.kind == PORT_GUIDS for problem in fabric.problems)
