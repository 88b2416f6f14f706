"""The subnet as tables of nodes and links, and what in it asks for attention."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from ibkit.model.fabric import (
    AGGREGATION_NODE,
    ASIDES,
    CHANNEL_ADAPTER,
    FINDINGS,
    ROUTER,
    SWITCH,
    End,
    Fabric,
    FabricPort,
    Link,
    Node,
)
from ibkit.model.ids import Guid
from ibkit.model.rates import rate_gbps, width_speed
from ibkit.model.routes import port_of
from ibkit.model.selection import is_down
from ibkit.parsers.base import Problem
from ibkit.tui.view.level import CRITICAL, OK, UNKNOWN, WARNING, word
from ibkit.tui.view.lines import Line, line, span
from ibkit.tui.view.notices import Notice, Target, folded
from ibkit.tui.view.problems import because, summed_up, told
from ibkit.tui.view.remarks import CROWDS, Remark, Remarks
from ibkit.tui.view.table import Column, Row, Table, sort_key

#: What people call the types (one, several), in the order they are listed.
TYPE_WORDS = {
    SWITCH: ("switch", "switches"),
    ROUTER: ("router", "routers"),
    AGGREGATION_NODE: ("aggregation", "aggregation nodes"),
    CHANNEL_ADAPTER: ("HCA", "HCAs"),
}

#: Findings that stop packets, of ibkit.model.fabric.FINDINGS.
_CRITICAL = ("no-lid", "duplicate-lid", "duplicate-guid")

NODE_COLUMNS = (
    Column("Type"),
    Column("Name", flexible=True, least=20),
    Column("LID", right=True, unknown="-"),
    Column("Links", right=True),
    Column("Ports", right=True, drop=2),
    Column("GUID", drop=3),
    Column("Remark", flexible=True, least=22, turn=1, drop=1, unknown="", tinted=True),
)
LINK_COLUMNS = (
    Column("From", flexible=True, least=18),
    Column("Port", right=True),
    Column("To", flexible=True, least=18),
    Column("Port", right=True),
    Column("Rate"),
    Column("Gb/s", right=True, drop=3),
    Column("Remark", flexible=True, least=13, turn=1, drop=1, unknown="", tinted=True),
    Column("From GUID", drop=5),
    Column("To GUID", drop=4),
)


PORT_COLUMNS = (
    Column("Node", flexible=True, least=18),
    Column("Port", right=True),
    Column("Link"),
    Column("Rate", unknown=""),
    Column("Neighbour", flexible=True, least=16, unknown=""),
    Column("Port", right=True, unknown=""),
    Column("Remark", flexible=True, least=13, turn=1, drop=1, unknown="", tinted=True),
    Column("LID", right=True, unknown="", drop=2),
    Column("GUID", drop=4),
    Column("Neighbour GUID", unknown="", drop=3),
    Column("Label", unknown="", drop=5),
)


class SubnetView:
    """A fabric with all that the screens show of it. Made once per sweep, off the event loop."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.remarks = Remarks(fabric)
        self.nodes = Table("node", NODE_COLUMNS, self._node_rows()).prepare()
        self.links = Table("link", LINK_COLUMNS, self._link_rows()).prepare()
        self.link_at = {end: link for link in fabric.links for end in (link.a, link.b)}
        self.ports = Table("port", PORT_COLUMNS, self._port_rows()).prepare()
        #: The rows of ``ports`` that are of a node, in the order of the ports.
        self.ports_of = self._ports_by_node()
        #: The rows of ``nodes`` at the top of a tree: the others are behind a switch's ports, with all of their own.
        self.tops = [i for i, row in enumerate(self.nodes.rows) if self._is_top(self.fabric.nodes[row.key])]  # type: ignore[index]

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was seen."""
        return not self.fabric.nodes

    @property
    def problems(self) -> Sequence[Problem]:
        """What could not be read."""
        return self.fabric.problems

    def name(self, guid: Guid) -> str:
        """What a node is called: its description, else its GUID."""
        node = self.fabric.nodes.get(guid)
        return (node and node.name and node.name.strip(" ")) or str(guid)

    def owner_of(self, guid: Guid) -> Guid | None:
        """The node that has this GUID, itself or on a port."""
        if guid in self.fabric.nodes:
            return guid
        return next(
            (node.guid for node in self.fabric.nodes.values() if any(port.guid == guid for port in node.ports)), None
        )

    def owner_name(self, guid: Guid) -> str | None:
        """The name of the node that has this GUID."""
        owner = self.owner_of(guid)
        return None if owner is None else self.name(owner)

    def peer_of(self, end: End) -> End | None:
        """The other end of the link that a port has; None without a link."""
        link = self.link_at.get(end)
        return None if link is None else other_end(link, end)

    def counts(self) -> list[tuple[int, str]]:
        """How many nodes of each type, and how many links. Rare types are told only where there are any."""
        by_type = Counter(node.type for node in self.fabric.nodes.values())
        rare = (ROUTER, AGGREGATION_NODE)
        found = [
            counted(by_type[node_type], *words)
            for node_type, words in TYPE_WORDS.items()
            if by_type[node_type] or node_type not in rare
        ]
        return [*found, counted(len(self.fabric.links), "link", "links")]

    def rates(self) -> list[tuple[str, int]]:
        """How many links run at each width and speed, the fastest first."""
        found = Counter((link.width, link.speed) for link in self.fabric.links)
        ordered = sorted(found.items(), key=lambda item: (-(rate_gbps(*item[0]) or 0.0), str(item[0])))
        return [(width_speed(*rate) or "not known", count) for rate, count in ordered]

    def notices(self) -> list[Notice]:
        """What to look at; a crowd of the same kind is one notice."""
        crowds: dict[str, list[Notice]] = defaultdict(list)
        for link, remark in self.remarks.of_link.items():
            target = Target("links", link.a.guid, link.a.port)
            what = f"link at {width_speed(link.width, link.speed) or 'unknown rate'}, {remark.text}"
            crowds[remark.kind].append(Notice(remark.level, what, self.where(link), target))
        for guid, remark in self.remarks.of_node.items():
            if remark.kind in CROWDS:  # the others repeat what a link says
                crowds[remark.kind].append(Notice(remark.level, remark.text, self.name(guid), Target("fabric", guid)))
        found = self._reading()
        for kind, members in crowds.items():
            found += folded(members, CROWDS[kind], members[0].target.screen)
        return found

    def _reading(self) -> list[Notice]:
        """Whether the sweep saw all, what it found, and what could not be read of it."""
        if self.is_empty:
            return []
        findings = [problem for problem in self.fabric.problems if problem.kind in FINDINGS]
        others = [problem for problem in self.fabric.problems if problem.kind not in FINDINGS]
        target = Target("problems")
        by_kind: dict[str, list[Problem]] = defaultdict(list)
        for problem in findings:
            by_kind[problem.kind].append(problem)
        found = [
            Notice(CRITICAL if kind in _CRITICAL else WARNING, summed_up(members), "fabric", target)
            for kind, members in by_kind.items()
        ]
        if self.fabric.complete:
            return found + told("fabric", others)
        reasons = [problem for problem in self.fabric.problems if problem.kind not in ASIDES]
        if self.fabric.complete is False:
            text = f"the sweep did not see the whole fabric{because(reasons)}"
            return [*found, Notice(WARNING, text, "fabric", target)]
        reasons = [problem for problem in reasons if problem.kind not in FINDINGS]
        why = because(reasons) or ": what the tool complained of is not at hand"
        return [*found, Notice(UNKNOWN, f"whether this is the whole fabric cannot be told{why}", "fabric", target)]

    def where(self, link: Link) -> str:
        """Both ends of a link."""
        return f"{self.end(link.a)} -- {self.end(link.b)}"

    def end(self, end: End) -> str:
        """``name [port]``, as ibnetdiscover writes an end."""
        return f"{self.name(end.guid)} [{end.port}]"

    def node_lines(self, guid: Guid) -> list[Line]:
        """A node in two lines: its whole name, and its remark."""
        remark = self.remarks.of_node.get(guid)
        lines = [line(" ", span(self.name(guid)))]
        return [*lines, line(" ", span(remark.text, word(remark.level)))] if remark else lines

    def port_lines(self, end: End) -> list[Line]:
        """A port without a link in two lines: where it is, and why not all is known of it."""
        node = self.fabric.nodes.get(end.guid)
        remark = self.port_remark(end, port_of(node, end.port) if node else None)
        lines = [line(" ", span(self.end(end)))]
        return [*lines, line(" ", span(remark.text, word(remark.level)))] if remark else lines

    def link_lines(self, link: Link) -> list[Line]:
        """A link in two lines: both ends in full, and its remark."""
        remark = self.remarks.of_link.get(link)
        rate = width_speed(link.width, link.speed) or "rate not known"
        lines = [line(" ", span(f"{self.where(link)}   {rate}"))]
        return [*lines, line(" ", span(remark.text, word(remark.level)))] if remark else lines

    def _node_rows(self) -> list[Row]:
        rows = []
        for guid, node in self.fabric.nodes.items():
            remark = self.remarks.of_node.get(guid)
            values = (
                type_word(node.type),
                self.name(guid),
                lids_of(node),
                len(self.remarks.links_of.get(guid, ())),
                node.port_count,
                str(guid),
                remark and remark.text,
            )
            rows.append(Row(guid, remark.level if remark else OK, values))
        places = {words[0]: place for place, words in enumerate(TYPE_WORDS.values())}
        rows.sort(key=lambda row: (-row.level, places.get(row.values[0], len(places)), sort_key(row.values[1])))
        return rows

    def _link_rows(self) -> list[Row]:
        rows = []
        for link in self.fabric.links:
            remark = self.remarks.of_link.get(link)
            values = (
                self.name(link.a.guid),
                link.a.port,
                self.name(link.b.guid),
                link.b.port,
                width_speed(link.width, link.speed),
                rate_gbps(link.width, link.speed),
                remark and remark.text,
                str(link.a.guid),
                str(link.b.guid),
            )
            rows.append(Row(link, remark.level if remark else OK, values))
        names = {row.values[0] for row in rows}
        keys = {name: sort_key(name) for name in names}
        rows.sort(key=lambda row: (-row.level, keys[row.values[0]], row.values[1]))
        return rows

    def _port_rows(self) -> list[Row]:
        """All ports, those of each node together."""
        names: dict[Guid, str] = {}
        rates: dict[tuple[str | None, str | None], str | None] = {}
        rows: list[Row] = []
        for node_row in self.nodes.rows:
            guid: Guid = node_row.key  # type: ignore[assignment]
            node = self.fabric.nodes[guid]
            name = names.setdefault(guid, self.name(guid))
            ports = {port.number: port for port in node.ports}
            linked = {end.port for link in self.remarks.links_of.get(guid, ()) for end in link[:2] if end.guid == guid}
            for number in sorted({*ports, *linked}):
                end, port = End(guid, number), ports.get(number)
                link = self.link_at.get(end)
                other = None if link is None else other_end(link, end)
                remark = self.port_remark(end, port)
                rate = None
                if link is not None:
                    pair = link.width, link.speed
                    rate = rates[pair] if pair in rates else rates.setdefault(pair, width_speed(*pair) or "?")
                neighbour = None
                if other is not None:
                    neighbour = names.get(other.guid) or names.setdefault(other.guid, self.name(other.guid))
                values = (
                    name, number, link_word(port, link), rate, neighbour, other and other.port, remark and remark.text,
                    port and port.lid, guid, other and other.guid, port and port.label,
                )  # fmt: skip
                rows.append(Row(end, remark.level if remark else OK, values))
        rows.sort(key=lambda row: -row.level)
        return rows

    def _ports_by_node(self) -> dict[Hashable, list[int]]:
        found: dict[Hashable, list[int]] = defaultdict(list)
        for index, row in enumerate(self.ports.rows):
            found[row.key.guid].append(index)  # type: ignore[attr-defined]
        for indexes in found.values():
            indexes.sort(key=lambda index: self.ports.rows[index].values[1])
        return dict(found)

    def _is_top(self, node: Node) -> bool:
        if node.type == SWITCH:
            return True
        links = self.remarks.links_of.get(node.guid, ())
        others = [end.guid for link in links for end in link[:2] if end.guid != node.guid]
        is_behind = bool(others) and all(self._is_switch(guid) for guid in others)
        return not is_behind or len(others) < len(node.ports)

    def _is_switch(self, guid: Guid) -> bool:
        node = self.fabric.nodes.get(guid)
        return node is not None and node.type == SWITCH

    def port_remark(self, end: End, port: FabricPort | None) -> Remark | None:
        """What is odd about a port: of its link, else why not all is known of it."""
        link = self.link_at.get(end)
        remark = self.remarks.of_link.get(link) if link is not None else None
        if remark is None and port is not None and port.doubt is not None:
            return Remark(UNKNOWN, "doubt", port.doubt)
        return remark


def link_word(port: FabricPort | None, link: Link | None) -> str:
    """``up``, ``no link``, a state between these, or ``?``."""
    if port is not None and port.state not in (None, "Active", "Down"):
        return str(port.state)
    if link is not None:
        return "up"
    down = None if port is None else is_down(port)
    return "?" if down is None else "no link" if down else "up"


def other_end(link: Link, end: End) -> End:
    """The end of the link that is not this one."""
    return link.b if link.a == end else link.a


def type_word(node_type: str) -> str:
    """``HCA`` for a channel adapter, and so on; a type that is not known stays as it is."""
    return TYPE_WORDS[node_type][0] if node_type in TYPE_WORDS else node_type


def lids_of(node: Node) -> int | str | None:
    """A switch's LID, or those of an HCA's ports; None where none is assigned."""
    if node.lid is not None:
        return node.lid
    found = list(dict.fromkeys(port.lid for port in node.ports if port.lid is not None))
    if len(found) < 2:
        return found[0] if found else None
    return ", ".join(map(str, found))


def counted(number: int, one: str, many: str) -> tuple[int, str]:
    """The number with the right word."""
    return number, one if number == 1 else many
