"""What is odd about the links and nodes of a fabric, as far as it shows: links by their grades, nodes by their links.

A link at its best is no remark, and neither is one of which nobody knows what its ends can do. A link that is slower
than others of both its ends is a warning here, as one that is proven slow: its text says what was seen. One that is
only slower than the HCAs beside it is a question.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from ibkit.model import link_grade
from ibkit.model.fabric import Fabric, Link
from ibkit.model.graded_links import grade_links
from ibkit.model.ids import Guid
from ibkit.model.rates import width_speed
from ibkit.tui.view.level import UNKNOWN, WARNING


class Remark(NamedTuple):
    """``kind`` is the same for all that have the same oddity; ``level`` is one of ibkit.tui.view.level."""

    level: int
    kind: str
    text: str


#: The causes of a link's grade that are worth a remark: their level and kind.
_OF_CAUSE = {
    link_grade.ONE_LANE: (WARNING, "narrow"),
    link_grade.BELOW_ENABLED: (WARNING, "below-enabled"),
    link_grade.BELOW_SUPPORTED: (WARNING, "below-supported"),
    link_grade.PLANES_DIFFER: (WARNING, "planes"),
    link_grade.BOTH_FASTER: (WARNING, "slow"),
    link_grade.HCAS_FASTER: (UNKNOWN, "slow-hca"),
    link_grade.HALF_RATE: (UNKNOWN, "half-rate"),
    link_grade.TOOLS_HINT: (UNKNOWN, "hint"),
    link_grade.NO_RATE: (UNKNOWN, "no-rate"),
}
#: How many of one kind are told in one line.
CROWDS = {
    "narrow": "{} links run at 1x, one lane only",
    "below-enabled": "{} links run below what both of their ends have enabled",
    "below-supported": "{} links run below what both of their ends support",
    "planes": "{} planes of XDR links are slower than the others of their link",
    "slow": "{} links run slower than other links of both their ends",
    "slow-hca": "{} HCA links are slower than those of the other HCAs at their switch",
    "half-rate": "{} HCA links run at half of what their ends have enabled",
    "hint": "{} links could be faster, the tool says",
    "one-end": "{} links are named by one of their ends only",
    "no-rate": "{} links whose width or speed is not known",
    "no-link": "{} nodes without any link",
    "named-only": "{} nodes are only named by their neighbours; their own ports are unknown",
}


class Remarks:
    """The remarks of a fabric, by link and by node; ``links_of`` lists the links of a node, ``grades`` are those of all
    links.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.links_of: dict[Guid, list[Link]] = defaultdict(list)
        for link in fabric.links:
            self.links_of[link.a.guid].append(link)
            if link.b.guid != link.a.guid:
                self.links_of[link.b.guid].append(link)
        self._fabric = fabric
        self.of_link: dict[Link, Remark] = {}
        self.grades = grade_links(fabric)
        for link, grade in self.grades.items():
            if remark := self._link(link, grade):
                self.of_link[link] = remark
        self.of_node: dict[Guid, Remark] = {}
        for guid in fabric.nodes:
            if remark := self._node(guid):
                self.of_node[guid] = remark

    def _link(self, link: Link, grade: link_grade.LinkGrade) -> Remark | None:
        if grade.cause in _OF_CAUSE:
            level, kind = _OF_CAUSE[grade.cause]
            return Remark(level, kind, grade.text)
        if link.seen_from < 2 and all(self._has_ports(end.guid) for end in (link.a, link.b)):
            return Remark(UNKNOWN, "one-end", "named by one end only")
        return None

    def _has_ports(self, guid: Guid) -> bool:
        node = self._fabric.nodes.get(guid)
        return node is not None and node.port_count is not None

    def _node(self, guid: Guid) -> Remark | None:
        node = self._fabric.nodes[guid]
        links = self.links_of.get(guid, [])
        if node.port_count is None:
            return Remark(UNKNOWN, "named-only", "only named by its neighbours")
        if not links and not any(port.linked is None for port in node.ports):
            return Remark(WARNING, "no-link", "no port is linked")
        odd = [(link, self.of_link[link]) for link in links if link in self.of_link]
        if not odd:
            return None
        link, worst = max(odd, key=lambda pair: pair[1].level)
        if len(odd) > 1:
            return Remark(worst.level, "links", f"{len(odd)} links with a remark")
        port = link.a.port if link.a.guid == guid else link.b.port
        rate = width_speed(link.width, link.speed) or "unknown rate"
        return Remark(worst.level, "links", f"port {port} at {rate}, {worst.text}")
