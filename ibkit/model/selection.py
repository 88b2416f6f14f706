"""A part of a fabric that somebody asked for: what is at a switch, the ports without a link, some links. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ibkit.model.fabric import Fabric, FabricPort, Link, Node
from ibkit.model.ids import Guid
from ibkit.model.link_grade import OK, SLOW, SUSPECTED, UNKNOWN
from ibkit.parsers.records import NamedTuple


class Selection(NamedTuple):
    """Links, ports with their nodes, and the nodes that these are of, in the order of the fabric's."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    ports: tuple[tuple[Node, FabricPort], ...]


def everything(fabric: Fabric, *, with_ports: bool = True) -> Selection:
    """All of it; without the ports, of which a large fabric has 100,000, where nobody asked for them."""
    nodes = tuple(fabric.nodes.values())
    ports = [(node, port) for node in nodes for port in node.ports] if with_ports else ()
    return Selection(nodes, fabric.links, tuple(ports))


def at_node(fabric: Fabric, guid: Guid) -> Selection:
    """A node with its ports and links, and its neighbours."""
    node = fabric.nodes[guid]
    links = [link for link in fabric.links if guid in (link.a.guid, link.b.guid)]
    return _with_nodes(fabric, links, [(node, port) for port in node.ports], (guid,))


def only_links(fabric: Fabric, selection: Selection, keep: Callable[[Link], bool]) -> Selection:
    """The links that are kept, and the nodes at their ends."""
    return _with_nodes(fabric, [link for link in selection.links if keep(link)], ())


def only_ports(fabric: Fabric, selection: Selection, keep: Callable[[FabricPort], bool]) -> Selection:
    """The ports that are kept, and their nodes."""
    return _with_nodes(fabric, (), [(node, port) for node, port in selection.ports if keep(port)])


def is_down(port: FabricPort) -> bool | None:
    """Whether a port has no link; None where that is not known, such as of an adapter's port that the sweep did not
    come by.
    """
    if port.state is not None:
        return port.state == "Down"
    return None if port.linked is None else not port.linked


def told_of_ports(down: Iterable[bool | None]) -> str:
    """How many of the ports, of which :func:`is_down` said this, have no link, and of how many it is not known."""
    listed = list(down)
    told = f"{listed.count(True)} of {len(listed)} ports have no link"
    unknown = listed.count(None)
    return f"{told}; of {unknown} it is not known" if unknown else told


def told_of_links(verdicts: Iterable[str]) -> str:
    """How many links are slow, by the verdicts of their grades (ibkit.model.link_grade)."""
    count = Counter(verdicts)
    told = f"of {count.total()} links {count[SLOW]} are slow, {count[SUSPECTED]} are suspected to be"
    return f"{told}, {count[OK]} are as fast as their ends can; of {count[UNKNOWN]} it is not known"


def _with_nodes(
    fabric: Fabric,
    links: Iterable[Link],
    ports: Iterable[tuple[Node, FabricPort]],
    more: Iterable[Guid] = (),
) -> Selection:
    links, ports = tuple(links), tuple(ports)
    wanted = {*more, *(end.guid for link in links for end in link[:2]), *(node.guid for node, _ in ports)}
    return Selection(tuple(node for guid, node in fabric.nodes.items() if guid in wanted), links, ports)
