"""Nodes, links and ports of two sweeps. Nothing is lost or new by the silence of a sweep that may lack something.

A link is proven to be gone without a whole sweep where one of its ports says so: it is Down, or has another neighbour.
A link that shares a port with a new one was moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.comparison.change import Change, Doubt, Where, changed, one_sided
from ibkit.comparison.identity import Swap, aligned, renamed, same_name, swaps
from ibkit.display import and_more, counted
from ibkit.model.fabric import ASIDES, FINDINGS, SWITCH, End, Fabric, FabricPort, Link, Node
from ibkit.model.ids import prefix_text
from ibkit.model.rates import generation, lanes, width_speed
from ibkit.model.routes import port_of
from ibkit.parsers.erased import Any

#: The kind of the doubt that there is no node to compare.
NO_NODE_IN_BOTH = "no-node-in-both"


def compare_fabrics(before: Fabric, after: Fabric) -> tuple[list[Change], list[Doubt]]:
    """All differences of two topologies."""
    before, after = aligned(before, after)
    if before.nodes and after.nodes and not before.nodes.keys() & after.nodes.keys() and not swaps(before, after):
        text = f"no node is in both: {counted(len(before.nodes), 'node')} and {counted(len(after.nodes), 'other')}"
        return [], [Doubt(NO_NODE_IN_BOTH, Where(), text, "these may be two fabrics")]
    return _Fabrics(before, after).compared()


def why_not_whole(fabric: Fabric) -> str | None:
    """Why the silence of a sweep proves nothing; None where it does."""
    if fabric.complete:
        return None
    if fabric.complete is None:
        return "the sweep's messages are not at hand: what did not answer would look the same"
    told = [problem.text for problem in fabric.problems if problem.kind not in ASIDES | FINDINGS]
    return f"the sweep is not whole: {told[0] if told else 'something is known to be missing'}"


class _Fabrics:
    """Two views in which the same node has the same GUID; nodes that were replaced have the new one in both."""

    def __init__(self, before: Fabric, after: Fabric) -> None:
        self._swaps = swaps(before, after)
        self._before = renamed(before, {swap.old.guid: swap.new.guid for swap in self._swaps})
        self._after = after
        self._changes: list[Change] = []
        self._doubts: list[Doubt] = []

    def compared(self) -> tuple[list[Change], list[Doubt]]:
        """Nodes first, then links, then ports."""
        self._changes += [_swap_change(swap, self._after) for swap in self._swaps]
        self._nodes()
        self._links()
        self._rates()
        self._common_nodes()
        return self._changes, self._doubts

    # Nodes

    def _nodes(self) -> None:
        before, after = self._before, self._after
        unsure = why_not_whole(after)
        for guid, node in before.nodes.items():
            if guid not in after.nodes:
                was = f"{_name(node)}{_at(before, node)}"
                if unsure is None:
                    text = f"{was} is not there any more"
                    self._changes.append(Change("node-lost", _where(node), _described(node), None, text))
                else:
                    self._doubts.append(Doubt("node-not-seen", _where(node), f"{was} was not seen again", unsure))
        unsure = why_not_whole(before)
        for guid, node in after.nodes.items():
            if guid not in before.nodes:
                new = f"{_name(node)}{_at(after, node)}"
                if unsure is None:
                    self._changes.append(Change("node-new", _where(node), None, _described(node), f"{new} is new"))
                else:
                    text = f"{new} was not seen before"
                    self._doubts.append(Doubt("node-not-seen-before", _where(node), text, unsure))

    def _common_nodes(self) -> None:
        """What differs of nodes that are in both, and of their ports."""
        half_known = 0
        for guid, old in self._before.nodes.items():
            new = self._after.nodes.get(guid)
            if new is None or new == old:
                continue
            self._changes += _node_changes(old, new)
            ports = {port.number: port for port in new.ports}
            for port in old.ports:
                other = ports.get(port.number)
                if other is not None and other != port:
                    self._changes += _port_changes(new, port, other)
                    if port.peer and other.peer:
                        half_known += (port.lid is None) != (other.lid is None)
            half_known += old.type == SWITCH and (old.lid is None) != (new.lid is None)
        if half_known:
            text = f"whether the LIDs of {counted(half_known, 'port')} changed"
            self._doubts.append(Doubt("lids", Where(), text, "they have one in one of the two only, or it is not told"))

    # Links

    def _links(self) -> None:
        old = {link[:2]: link for link in self._before.links}
        new = {link[:2]: link for link in self._after.links}
        gone = [link for ends, link in old.items() if ends not in new]
        come = [link for ends, link in new.items() if ends not in old]
        moved, gone, come = _moves(gone, come, self._after)
        self._changes += [self._moved(*move) for move in moved]
        for link in gone:
            self._only_in(link, self._before, self._after, "link-lost", "no link any more", "link-not-seen")
        for link in come:
            self._only_in(link, self._after, self._before, "link-new", "a new link", "link-not-seen-before")

    def _only_in(self, link: Link, view: Fabric, other: Fabric, kind: str, said: str, doubtful: str) -> None:
        """A link of one view that the other one has not: known not to be there, or not seen there."""
        unsure, proof = why_not_whole(other), _proof_of_end(link, other)
        implied = any(end.guid not in other.nodes for end in link[:2])
        text = f"{_ends_text(view, link)}{_rate_text(link)}"
        is_new = view is self._after
        if unsure is None or proof:
            text = f"{said}: {text}{proof or ''}"
            implied = implied and unsure is None
            value = _link_value(link)
            self._changes.append(one_sided(kind, self._at(link.a), value, text, is_new=is_new, implied=implied))
        else:
            said = "not seen before" if is_new else "not seen again"
            self._doubts.append(Doubt(doubtful, self._at(link.a), f"{said}: {text}", unsure, implied))

    def _moved(self, kept: End, old: Link, new: Link) -> Change:
        """A cable that keeps one end. An adapter that is plugged in elsewhere has moved itself."""
        was, is_now = _peer(old, kept), _peer(new, kept)
        node = self._after.nodes[kept.guid]
        places = _end_text(self._before, was), _end_text(self._after, is_now)
        if node.type == SWITCH:
            kind, text = "link-moved", f"{_end_text(self._after, kept)} leads to {places[1]}, before to {places[0]}"
        else:
            kind, text = "node-moved", f"{_name(node)} (port {kept.port}) moved from {places[0]} to {places[1]}"
        return Change(kind, _where(node, kept.port), _end_value(was), _end_value(is_now), text)

    def _rates(self) -> None:
        """Width and speed of links that are in both."""
        new = {link[:2]: link for link in self._after.links}
        half_known = 0
        for old in self._before.links:
            later = new.get(old[:2])
            if later is None or later[2:4] == old[2:4]:
                continue
            if None in (lanes(old.width), generation(old.speed), lanes(later.width), generation(later.speed)):
                half_known += 1
                continue
            text = f"{_ends_text(self._after, later)} runs at {_rate(later)}, before at {_rate(old)}"
            was, is_now = ({"width": link.width, "speed": link.speed} for link in (old, later))
            self._changes.append(Change("rate-changed", self._at(old.a), was, is_now, text))
        if half_known:
            text = f"whether width and speed of {counted(half_known, 'link')} changed"
            self._doubts.append(Doubt("rates", Where(), text, "they are known in one of the two only"))

    def _at(self, end: End) -> Where:
        return _where(self._after.nodes.get(end.guid) or self._before.nodes[end.guid], end.port)


def _moves(
    gone: Sequence[Link], come: Sequence[Link], after: Fabric
) -> tuple[list[tuple[End, Link, Link]], list[Link], list[Link]]:
    """Links that share an end with a new one, with that end; then the other old and the other new ones.

    Of several that would fit, the end at an adapter decides: a host is plugged in elsewhere more often than a switch's
    port is given to another host. Else it is the lesser end, so that the same moves are seen from either side.
    """
    by_end = {end: link for link in come for end in link[:2]}
    fits = [(end, link, by_end[end]) for link in gone for end in link[:2] if end in by_end]
    fits.sort(key=lambda fit: (after.nodes[fit[0].guid].type == SWITCH, fit[0]))
    moves = []
    used: set[Link] = set()
    for end, old, new in fits:
        if old not in used and new not in used:
            used.update((old, new))
            moves.append((end, old, new))
    return sorted(moves), [link for link in gone if link not in used], [link for link in come if link not in used]


def _proof_of_end(link: Link, view: Fabric) -> str | None:
    """What a port says that has not this link: nothing where it is not seen, or does not tell."""
    for end in link[:2]:
        node = view.nodes.get(end.guid)
        port = port_of(node, end.port) if node else None
        if port is None:
            continue
        if port.peer is not None and port.peer != _peer(link, end):
            return f"; port {end.port} of {_name(view.nodes[end.guid])} leads to {_end_text(view, port.peer)}"
        if port.state == "Down" and port.peer is None:
            return f"; port {end.port} of {_name(view.nodes[end.guid])} is down"
    return None


def _swap_change(swap: Swap, after: Fabric) -> Change:
    ports = f"{_end_text(after, swap.at[0])}{and_more(len(swap.at) - 1)}"
    text = f"{_name(swap.new)} was replaced: {swap.new.guid} in place of {swap.old.guid}, at {ports}"
    return Change("node-swapped", _where(swap.new), _described(swap.old), _described(swap.new), text)


def _node_changes(old: Node, new: Node) -> Iterator[Change]:
    where = _where(new)
    if old.name and new.name and not same_name(old.name, new.name):
        text = f"{new.guid} is called {new.name.strip()}, before {old.name.strip()}"
        yield Change("node-renamed", where, old.name, new.name, text)
    name = _name(new)
    yield from changed("type-changed", where, name, "the type", old.type, new.type)
    yield from changed("ports-changed", where, name, "the number of ports", old.port_count, new.port_count)
    if new.type == SWITCH:
        yield from changed("lid-changed", where, name, "the LID", old.lid, new.lid)
    yield from changed("lmc-changed", where, name, "the LMC", old.lmc, new.lmc)


def _port_changes(node: Node, old: FabricPort, new: FabricPort) -> Iterator[Change]:
    """Of a port that is in both. That it lost or got a link is told of the link."""
    where, name = _where(node, new.number), f"{_name(node)} port {new.number}"
    yield from changed("lid-changed", where, name, "the LID", old.lid, new.lid)
    yield from changed("mtu-changed", where, name, "the MTU in bytes", old.mtu_bytes, new.mtu_bytes)
    yield from changed("subnet-changed", where, name, "the subnet prefix", _prefix(old), _prefix(new))
    was, is_now = _states(old), _states(new)
    if was and is_now and was != is_now:
        text = f"{name} is {'/'.join(is_now.values())}, before {'/'.join(was.values())}"
        yield Change("state-changed", where, was, is_now, text, (old.peer is None) != (new.peer is None))


def _states(port: FabricPort) -> dict[str, str] | None:
    """Both states; None where one of them is not known."""
    if port.state is None or port.physical_state is None:
        return None
    return {"state": port.state, "physical_state": port.physical_state}


def _prefix(port: FabricPort) -> str | None:
    return None if port.subnet_prefix is None else prefix_text(port.subnet_prefix)


# Words and values


def _where(node: Node, port: int | None = None) -> Where:
    return Where(node.guid, port, node.name)


def _name(node: Node) -> str:
    return (node.name or "").strip() or str(node.guid)


def _described(node: Node) -> dict[str, Any]:
    """A node as a value."""
    peers = [_end_value(port.peer) for port in node.ports if port.peer]
    return {"guid": str(node.guid), "type": node.type, "name": node.name, "linked_to": peers}


def _at(fabric: Fabric, node: Node) -> str:
    """Where an adapter is plugged in; how many links a switch has."""
    peers = [port.peer for port in node.ports if port.peer]
    if not peers:
        return ""
    if node.type == SWITCH:
        return f" (with {counted(len(peers), 'link')})"
    return f" (at {_end_text(fabric, peers[0])}{and_more(len(peers) - 1)})"


def _end_text(fabric: Fabric, end: End) -> str:
    node = fabric.nodes.get(end.guid)
    return f"port {end.port} of {_name(node) if node else end.guid}"


def _ends_text(fabric: Fabric, link: Link) -> str:
    return f"{_end_text(fabric, link.a)} to {_end_text(fabric, link.b)}"


def _rate(link: Link) -> str:
    return width_speed(link.width, link.speed) or "a rate that is not known"


def _rate_text(link: Link) -> str:
    rate = width_speed(link.width, link.speed)
    return f" ({rate})" if rate else ""


def _link_value(link: Link) -> dict[str, Any]:
    return {"a": _end_value(link.a), "b": _end_value(link.b), "width": link.width, "speed": link.speed}


def _end_value(end: End) -> dict[str, Any]:
    return {"guid": str(end.guid), "port": end.port}


def _peer(link: Link, end: End) -> End:
    return link.b if end == link.a else link.a
