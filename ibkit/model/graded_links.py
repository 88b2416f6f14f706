"""The grades of all links of a fabric: by their ends where those are known, else by chips and by like links.

A chip's fastest speed is a limit from above: it can settle that a link is at its best, and never that it is slow. To
run slower than other links of both ends, or than most like HCAs of the same switch, is a suspicion: an older
card, a longer cable, a long-haul port or a half-rate adapter have their reasons. So it is where two ports support no
more than they run at, while others of the same two chips do.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from ibkit.model.asics import asic_of, has_split_ports
from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, Fabric, FabricPort, Link, Node
from ibkit.model.ids import Guid
from ibkit.model.link_grade import (
    BOTH_FASTER,
    CHIP_LIMIT,
    HCAS_FASTER,
    NO_ABILITIES,
    OK,
    PLANES_DIFFER,
    SLOW,
    SUSPECTED,
    TOOLS_HINT,
    LinkGrade,
    grade_ends,
)
from ibkit.model.rates import generation_of_rank, lane_gbps, lanes, speed_rank, width_speed
from ibkit.model.routes import port_of

#: An HCA is compared with like HCAs of its switch where there are this many links, and more than this share is alike.
#: Of one part all should be alike; where the part is not known, it takes more to wonder.
FEWEST_TO_COMPARE, COMMON_SHARE = 3, 0.5
FEWEST_UNKNOWN, COMMON_UNKNOWN = 8, 0.89

_FOUR_LANES = 4
_XDR = speed_rank("XDR")
#: The only suspicion of which it is known what both ports support.
PORTS_CAN_NO_MORE = LinkGrade(SUSPECTED, BOTH_FASTER, "both ends have faster links; these two ports support no more")
_CHIP_LIMIT = LinkGrade(OK, CHIP_LIMIT, "as fast as the chip of the lesser end can")


def grade_links(fabric: Fabric) -> dict[Link, LinkGrade]:
    """The grades of all links, in their order."""
    grader = _Grader(fabric)
    return {link: grader.grade(link) for link in fabric.links}


class _Grader:
    """What is known of the fabric that a link is graded in. Links that are alike are graded once."""

    def __init__(self, fabric: Fabric) -> None:
        self._nodes = fabric.nodes
        self._planes = _planes(fabric)
        self._like = _LikeLinks(fabric, self._planes)
        self._known: dict[tuple[object, ...], LinkGrade] = {}

    def grade(self, link: Link) -> LinkGrade:
        a, b = self._nodes[link.a.guid], self._nodes[link.b.guid]
        plane = self._planes.get(link)
        grade = self._by_ends(link, a, b, is_plane=plane is not None)
        if grade.verdict == SLOW:
            return grade
        if plane is not None and plane.is_slower(link):
            return plane.grade
        if grade.verdict == OK and plane is None and self._like.is_slower_speed(link):
            return PORTS_CAN_NO_MORE
        if grade.cause != NO_ABILITIES:
            return grade
        if plane is None and _at_chip_limit(link, a, b):
            return _CHIP_LIMIT
        return (None if plane else self._like.suspicion(link, a, b)) or _hinted(link) or grade

    def _by_ends(self, link: Link, a: Node, b: Node, *, is_plane: bool) -> LinkGrade:
        ports = port_of(a, link.a.port), port_of(b, link.b.port)
        has_hca = CHANNEL_ADAPTER in (a.type, b.type)
        key = (link.width, link.speed, has_hca, is_plane, *(_abilities(port) for port in ports))
        grade = self._known.get(key)
        if grade is None:
            grade = self._known[key] = grade_ends(link, *ports, has_hca=has_hca, is_plane=is_plane)
        return grade


def _abilities(port: FabricPort | None) -> tuple[str | None, ...] | None:
    """What grade_ends looks at."""
    if port is None:
        return None
    return port.enabled_width, port.supported_width, port.enabled_speed, port.supported_speed


def _at_chip_limit(link: Link, a: Node, b: Node) -> bool:
    """Whether one end's chip cannot do more. On fewer than four lanes it might."""
    rank = speed_rank(link.speed)
    if rank is None or (lanes(link.width) or 0) < _FOUR_LANES:
        return False
    limits = [speed_rank(asic.fastest) for asic in map(asic_of, (a, b)) if asic]
    return any(limit is not None and rank >= limit for limit in limits)


def _hinted(link: Link) -> LinkGrade | None:
    """What iblinkinfo says ("Could be"): weak evidence, for versions before rdma-core 56 and its kin look at the wrong
    capability word (rdma-core, infiniband-diags/iblinkinfo.c, get_max_msg).
    """
    rank, hint = speed_rank(link.speed), speed_rank(link.could_be)
    if rank is None or hint is None or hint <= rank:
        return None
    return LinkGrade(SUSPECTED, TOOLS_HINT, f"the tool says that it could be {generation_of_rank(hint)}")


# Planes


class _PlaneGroup:
    """The planes of one link, or of all links between two devices where it cannot be told which are of one."""

    def __init__(self, links: list[Link], numbers: list[int | None]) -> None:
        self._fastest = max((rank for link in links if (rank := speed_rank(link.speed)) is not None), default=0)
        text = f"other planes of it run at {generation_of_rank(self._fastest)}"
        is_one = None not in numbers and len(set(numbers)) == len(numbers)
        self.grade = LinkGrade(SLOW if is_one else SUSPECTED, PLANES_DIFFER, text)

    def is_slower(self, link: Link) -> bool:
        """Whether another plane is faster."""
        rank = speed_rank(link.speed)
        return rank is not None and rank < self._fastest


def _planes(fabric: Fabric) -> dict[Link, _PlaneGroup]:
    """The links that are planes: those whose port is known to be one, and 1x XDR links that lie side by side."""
    groups: dict[tuple[Guid, ...], list[tuple[Link, int | None]]] = defaultdict(list)
    for link in fabric.links:
        if lanes(link.width) != 1:
            continue
        nodes = [fabric.nodes[end.guid] for end in link[:2]]
        ports = [port_of(node, end.port) for node, end in zip(nodes, (link.a, link.b), strict=True)]
        number = next((port.plane for port in ports if port and port.plane is not None), None)
        if number is not None or speed_rank(link.speed) == _XDR:
            devices = [node.system_image_guid or node.guid for node in nodes]
            adapters = [device for device, node in zip(devices, nodes, strict=True) if node.type == CHANNEL_ADAPTER]
            groups[tuple(sorted(adapters or devices))].append((link, number))
    planes = {}
    for members in groups.values():
        if len(members) > 1 or members[0][1] is not None:
            group = _PlaneGroup([link for link, _ in members], [number for _, number in members])
            planes.update(dict.fromkeys((link for link, _ in members), group))
    return planes


# Like links


class _LikeLinks:
    """What the other links of the two ends run at."""

    def __init__(self, fabric: Fabric, planes: dict[Link, _PlaneGroup]) -> None:
        self._nodes = fabric.nodes
        self._best: dict[Guid, float] = {}
        self._best_lane: dict[Guid, float] = {}
        self._hcas: dict[tuple[Guid, int | None], Counter[tuple[float, str]]] = defaultdict(Counter)
        for link in fabric.links:
            rate = _rate(link)
            if rate is None or link in planes or lanes(link.width) == 1:
                continue  # a link of one lane is no measure for others
            for end, peer in (link[:2], link[1::-1]):
                if rate > self._best.get(end.guid, 0.0):
                    self._best[end.guid] = rate
                lane = lane_gbps(link.speed) or 0.0
                if lane > self._best_lane.get(end.guid, 0.0):
                    self._best_lane[end.guid] = lane
                hca = self._nodes[peer.guid]
                if hca.type == CHANNEL_ADAPTER and self._nodes[end.guid].type == SWITCH:
                    self._hcas[end.guid, hca.device_id][rate, width_speed(link.width, link.speed) or "?"] += 1

    def is_slower_speed(self, link: Link) -> bool:
        """Whether both ends have links with faster lanes: then their chips can do more."""
        lane = lane_gbps(link.speed)
        return lane is not None and lane < min(self._best_lane.get(end.guid, 0.0) for end in link[:2])

    def suspicion(self, link: Link, a: Node, b: Node) -> LinkGrade | None:
        """That it is slower than like links; None where it is not, or where none are like it."""
        rate = _rate(link)
        if rate is None or (lanes(link.width) == 2 and (has_split_ports(a) or has_split_ports(b))):
            return None
        if rate < min(self._best.get(guid, 0.0) for guid in (a.guid, b.guid)):
            return LinkGrade(SUSPECTED, BOTH_FASTER, "both ends have faster links")
        usual = self._usual(a, b)
        if usual is not None and rate < usual[0]:
            text = f"most HCAs of this kind here run at {usual[1]}: another card, or a fault"
            return LinkGrade(SUSPECTED, HCAS_FASTER, text)
        return None

    def _usual(self, a: Node, b: Node) -> tuple[float, str] | None:
        """The rate of nearly all HCAs of one kind at a switch."""
        switch, hca = (a, b) if a.type == SWITCH else (b, a)
        if switch.type != SWITCH or hca.type != CHANNEL_ADAPTER:
            return None
        rates = self._hcas[switch.guid, hca.device_id]
        usual, count = rates.most_common(1)[0]
        part = hca.device_id
        fewest, share = (FEWEST_UNKNOWN, COMMON_UNKNOWN) if part is None else (FEWEST_TO_COMPARE, COMMON_SHARE)
        return usual if rates.total() >= fewest and count > share * rates.total() else None


def _rate(link: Link) -> float | None:
    """Gb/s, of four lanes at most: how many more a chassis has inside says nothing about its other ports."""
    count, lane = lanes(link.width), lane_gbps(link.speed)
    return None if count is None or lane is None else min(count, _FOUR_LANES) * lane
