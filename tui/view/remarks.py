"""What is odd about the links and nodes of a fabric, as far as the topology alone shows it.

Each remark states what was seen, and only that: a link is called slow when *both* of its ends run another link with
faster lanes, so that both have shown what they can do. An HCA mostly has no other link; where nearly all others at its
switch are faster, that is a question, not a fault. 2x is no remark: it is normal on a split port. 1x XDR is none
either: it is one plane of a port that has several.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, Fabric, Link
from ibkit.model.ids import Guid
from ibkit.tui.view.level import UNKNOWN, WARNING
from ibkit.tui.view.rates import lane_gbps, lanes, width_speed

#: An HCA is compared with the other HCAs of its switch where there are this many links, and this share is alike.
FEWEST_TO_COMPARE, COMMON_SHARE = 8, 0.9


class Remark(NamedTuple):
    """``kind`` is the same for all that have the same oddity; ``level`` is one of ibkit.tui.view.level."""

    level: int
    kind: str
    text: str


#: How many of one kind are told in one line.
CROWDS = {
    "narrow": "{} links run at 1x, one lane only",
    "slow": "{} links run slower than other links of both their ends",
    "slow-hca": "{} HCA links are slower than those of the other HCAs at their switch",
    "one-end": "{} links are named by one of their ends only",
    "no-rate": "{} links whose width or speed is not known",
    "no-link": "{} nodes without any link",
    "named-only": "{} nodes are only named by their neighbours; their own ports are unknown",
}


class Remarks:
    """The remarks of a fabric, by link and by node; ``links_of`` lists the links of a node."""

    def __init__(self, fabric: Fabric) -> None:
        self.links_of: dict[Guid, list[Link]] = defaultdict(list)
        for link in fabric.links:
            self.links_of[link.a.guid].append(link)
            if link.b.guid != link.a.guid:
                self.links_of[link.b.guid].append(link)
        self._fabric = fabric
        self._fastest = {guid: fastest_lane_gbps(links) for guid, links in self.links_of.items()}
        self._usual_hca_lane = {
            node.guid: usual
            for node in fabric.nodes.values()
            if node.type == SWITCH and (usual := self._common_lane(node.guid))
        }
        self.of_link: dict[Link, Remark] = {}
        for link in fabric.links:
            if remark := self._link(link):
                self.of_link[link] = remark
        self.of_node: dict[Guid, Remark] = {}
        for guid in fabric.nodes:
            if remark := self._node(guid):
                self.of_node[guid] = remark

    def _common_lane(self, switch: Guid) -> float | None:
        """The lane speed that nine of ten HCA links of a switch have, of at least eight; None where there is none."""
        speeds = Counter(
            lane_gbps(link.speed)
            for link in self.links_of.get(switch, ())
            if self._type_of(link.b.guid if link.a.guid == switch else link.a.guid) == CHANNEL_ADAPTER
        )
        if speeds.total() < FEWEST_TO_COMPARE:
            return None
        lane, count = speeds.most_common(1)[0]
        return lane if count >= COMMON_SHARE * speeds.total() else None

    def _type_of(self, guid: Guid) -> str | None:
        node = self._fabric.nodes.get(guid)
        return node and node.type

    def _link(self, link: Link) -> Remark | None:
        lane = lane_gbps(link.speed)
        if lanes(link.width) == 1 and link.speed != "XDR":
            return Remark(WARNING, "narrow", "one lane only")
        if lane is not None and lane < min(self._fastest[link.a.guid], self._fastest[link.b.guid]):
            return Remark(WARNING, "slow", "slow: both ends have faster links")
        if lane is not None and lane < self._usual_lane(link):
            return Remark(UNKNOWN, "slow-hca", "slower than the other HCAs here: an older HCA, or a fault")
        if link.width is None or lane is None:
            return Remark(UNKNOWN, "no-rate", "rate not known")
        if link.seen_from < 2 and all(self._has_ports(end.guid) for end in (link.a, link.b)):
            return Remark(UNKNOWN, "one-end", "named by one end only")
        return None

    def _usual_lane(self, link: Link) -> float:
        """The lane speed of nearly all other HCAs at the switch that an HCA's link leads to, in Gb/s; else 0.0."""
        ends = [self._fabric.nodes.get(end.guid) for end in (link.a, link.b)]
        types = {node.type for node in ends if node is not None}
        if types != {SWITCH, CHANNEL_ADAPTER}:
            return 0.0
        switch = next(node.guid for node in ends if node is not None and node.type == SWITCH)
        return self._usual_hca_lane.get(switch, 0.0)

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


def fastest_lane_gbps(links: list[Link]) -> float:
    """The fastest lane among the links; 0.0 where no speed is known."""
    return max((lane_gbps(link.speed) or 0.0 for link in links), default=0.0)
