"""What is not there of a fabric as it was, or should be: nodes with what is behind them, links, links that were moved.

An object that an incomplete sweep does not show is not gone (infinimap closes nothing on such a sweep). A link is gone
where a port of it is seen without a neighbour, or with another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.display import counted, first_few
from ibkit.model.fabric import SWITCH, End, Fabric, Link, Node
from ibkit.model.findings import INFO, WARNING, Fact, Finding, Place, Undecided
from ibkit.model.ids import Guid
from ibkit.model.node_names import host_of
from ibkit.model.rates import width_speed
from ibkit.rules.evidence import Evidence


def missing_from(evidence: Evidence, before: Fabric, where: str) -> Iterator[Finding | Undecided]:
    """All of it. ``where`` says in which evidence ``before`` is: "in the earlier sweep"."""
    yield from _Comparison(evidence, before, where).result()


class _Comparison:
    """A fabric as it was, next to the one that was seen."""

    def __init__(self, evidence: Evidence, before: Fabric, where: str) -> None:
        self._evidence = evidence
        self._before = before
        self._where = where
        self._now = evidence.fabric
        self._since = evidence.collected.since

    def result(self) -> Iterator[Finding | Undecided]:
        """Nodes that are gone together as one finding, then links."""
        there = {(link.a, link.b) for link in self._now.links}
        gone = [link for link in self._before.links if (link.a, link.b) not in there]
        lost = {guid for guid in self._before.nodes if guid not in self._now.nodes}
        undecided = 0
        if self._now.complete:
            successors = _successors(self._before, self._now)
            for nodes in _islands(lost, gone):
                yield self._nodes(nodes, gone, successors)
        else:
            undecided = len(lost)
        for link in gone:
            if link.a.guid in lost or link.b.guid in lost:
                continue
            found = self._link(link)
            if found is None:
                undecided += 1
            else:
                yield found
        if undecided:
            yield Undecided(
                f"{counted(undecided, 'node or link', 'nodes and links')} {self._where} "
                f"{'is' if undecided == 1 else 'are'} not seen now, and the sweep is not known to be complete",
                "sweep on a host where ibnetdiscover ends well, and keep its stderr: `ibkit capture`",
            )

    def _nodes(self, nodes: set[Guid], gone: Iterable[Link], successors: dict[Guid, Node]) -> Finding:
        """Nodes that are gone together: in front the switch, else the node, that had most links."""
        links = [link for link in gone if link.a.guid in nodes or link.b.guid in nodes]
        counts = dict.fromkeys(sorted(nodes), 0)
        for link in links:
            for guid in {link.a.guid, link.b.guid} & nodes:
                counts[guid] += 1
        known = self._before.nodes
        first = max(counts, key=lambda guid: (known[guid].type == SWITCH, counts[guid]))
        others = [self._place(guid) for guid in counts if guid != first]
        what = f"the node is not there, nor {'is its link' if counts[first] == 1 else f'are its {counts[first]} links'}"
        severity = ""
        replaced: dict[str, str] = {}
        if others:
            what += f"; and what was behind it: {first_few((place.text for place in others), 3)}"
        elif first in successors:
            what += f"; {successors[first].guid} has its name now: the card was replaced"
            severity = WARNING
            replaced = {
                "why": "its GUID is written down in more places than the expectations: partitions.conf, guid2lid, "
                "ibacm's files, licences",
                "fix": "write new expectations or record a new capture, and give the other places the new GUID",
                "otherwise": "two cards of one host, of which one took the other's name",
            }
        fact = Fact(
            f"{self._where}: {counted(len(nodes), 'node')} with {counted(len(links), 'link')}", self._before.source
        )
        members = [Finding("the node is not there", (place,), (fact,)) for place in others]
        if len(links) > 1 or others:
            members += [Finding("the link is not there", self._ends(link), (self._was(link),)) for link in links]
        places = (self._place(first),)
        return Finding(what, places, (fact,), severity, since=self._since, members=tuple(members), **replaced)

    def _link(self, link: Link) -> Finding | None:
        """Both of its nodes are there; None where nobody knows whether the link is."""
        moved = next((end for end in (link.a, link.b) if end in self._evidence.link_at), None)
        peer = self._evidence.peer_of(moved) if moved else None
        if moved is not None and peer is not None:
            now = f"{self._evidence.place(moved).text} is linked to {self._evidence.place(peer).text}"
            return Finding(
                f"the link was moved: {now}", self._ends(link), (self._was(link),), INFO, since=self._since,
                why="nothing is cut off by it; but routing and labels are for the place where it was",
                fix="if it was meant so, record a new capture or new expectations (`ibkit expect init`); else put the "
                "cable back",
                otherwise="work in progress",
            )  # fmt: skip
        if not self._now.complete and not any(map(self._is_seen_unlinked, (link.a, link.b))):
            return None
        return Finding(
            "the link is not there, both of its nodes are", self._ends(link), (self._was(link),), since=self._since
        )

    def _is_seen_unlinked(self, end: End) -> bool:
        port = self._evidence.ports.get(end)
        return port is not None and port.linked is False

    def _was(self, link: Link) -> Fact:
        rate = width_speed(link.width, link.speed)
        return Fact(f"{self._where}: a link{f' at {rate}' if rate else ''}", self._before.source)

    def _ends(self, link: Link) -> tuple[Place, ...]:
        return self._place(link.a.guid, link.a.port), self._place(link.b.guid, link.b.port)

    def _place(self, guid: Guid, number: int | None = None) -> Place:
        node = self._before.nodes[guid]
        port = next((port for port in node.ports if port.number == number), None)
        return Place(
            guid=guid, name=node.name, port=number, label=port.label if port else None,
            port_guid=port.guid if port else None,
        )  # fmt: skip


def _islands(lost: set[Guid], gone: Iterable[Link]) -> Iterator[set[Guid]]:
    """The lost nodes that were linked to each other, together: they are mostly gone because one of them is."""
    peers: dict[Guid, set[Guid]] = {guid: set() for guid in lost}
    for link in gone:
        if link.a.guid in lost and link.b.guid in lost:
            peers[link.a.guid].add(link.b.guid)
            peers[link.b.guid].add(link.a.guid)
    left = set(lost)
    for start in sorted(lost):
        if start in left:
            island: set[Guid] = set()
            queue = [start]
            while queue:
                guid = queue.pop()
                if guid not in island:
                    island.add(guid)
                    queue += peers[guid]
            left -= island
            yield island


def _successors(before: Fabric, now: Fabric) -> dict[Guid, Node]:
    """The new node that has the name of a lost one, where one of each has it."""
    new: dict[str, list[Node]] = {}
    for node in now.nodes.values():
        if node.guid not in before.nodes and node.name and host_of(node.name):
            new.setdefault(node.name.strip(), []).append(node)
    found: dict[str, list[Guid]] = {}
    for node in before.nodes.values():
        if node.guid not in now.nodes and node.name:
            found.setdefault(node.name.strip(), []).append(node.guid)
    return {guids[0]: new[name][0] for name, guids in found.items() if len(guids) == 1 and len(new.get(name, ())) == 1}
