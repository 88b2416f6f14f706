"""The subnet as tables of nodes and links, and what in it asks for attention."""

from __future__ import annotations

from collections import Counter, defaultdict

from ibkit.model.fabric import (
    AGGREGATION_NODE,
    ASIDES,
    CHANNEL_ADAPTER,
    FINDINGS,
    ROUTER,
    SWITCH,
    End,
    Fabric,
    Link,
    Node,
)
from ibkit.model.ids import Guid
from ibkit.model.rates import rate_gbps, width_speed
from ibkit.parsers.base import Problem
from ibkit.tui.view.level import CRITICAL, OK, UNKNOWN, WARNING, word
from ibkit.tui.view.lines import Line, line, span
from ibkit.tui.view.notices import Notice, Target, folded
from ibkit.tui.view.problems import because, summed_up, told
from ibkit.tui.view.remarks import CROWDS, Remarks
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


class SubnetView:
    """A fabric with all that the screens show of it. Made once per sweep, off the event loop."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.remarks = Remarks(fabric)
        self.nodes = Table("node", NODE_COLUMNS, self._node_rows()).prepare()
        self.links = Table("link", LINK_COLUMNS, self._link_rows()).prepare()

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was seen."""
        return not self.fabric.nodes

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
        for link in self.remarks.links_of.get(end.guid, ()):
            if end in (link.a, link.b):
                return other_end(link, end)
        return None

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
