"""How far each switch is from the hosts: level 1 are the leaves, the spines above them 2, and so on. Pure.

A level is for drawing and for counting, and no property that a switch has. Some host (a subnet manager, a gateway) is
often cabled to a spine: a switch with far fewer hosts than others is no leaf for that.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, Fabric
from ibkit.model.ids import Guid

#: A switch with less than this share of the hosts that the fullest leaf has counts by its neighbours alone.
LEAF_SHARE = 0.25


def levels(fabric: Fabric) -> dict[Guid, int]:
    """The level of each switch that hosts can be reached from."""
    hosts: Counter[Guid] = Counter()
    neighbours: dict[Guid, set[Guid]] = defaultdict(set)
    for link in fabric.links:
        for end, peer in (link[:2], link[1::-1]):
            if fabric.nodes[end.guid].type == SWITCH:
                peer_type = fabric.nodes[peer.guid].type
                if peer_type == SWITCH:
                    neighbours[end.guid].add(peer.guid)
                elif peer_type == CHANNEL_ADAPTER:
                    hosts[end.guid] += 1
    level: dict[Guid, int] = {}
    while hosts:  # once, or once for each island
        most = max(hosts.values())
        reached = [guid for guid, count in hosts.items() if count >= LEAF_SHARE * most]
        distance = 1
        while reached:
            level.update(dict.fromkeys(reached, distance))
            distance += 1
            reached = list({peer for guid in reached for peer in neighbours[guid] if peer not in level})
        hosts = Counter({guid: count for guid, count in hosts.items() if guid not in level})
    return level
