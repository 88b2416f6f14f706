"""What a fabric should be like: hosts and switches in groups, links, partitions, firmware; limits of rules, waivers.

``expectations_of`` takes what is there today for what should be. Names are those of hosts and switches in node
descriptions (ibkit.model.node_names); a host's adapters are told apart by device id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ibkit.model.fabric import CHANNEL_ADAPTER, SWITCH, End, Fabric, Link, Node
from ibkit.model.host import HostHcas
from ibkit.model.node_names import host_of
from ibkit.model.node_set import can_fold, natural
from ibkit.model.partitions import LIMITED, Partitions
from ibkit.model.subnet_manager import SubnetManagers
from ibkit.parsers.records import NamedTuple


class PortGroup(NamedTuple):
    """So many links of one width and speed. ``model`` is the device id of a host's adapters (0x101b); a switch has
    None and counts its links to other switches. What is None is not looked at.
    """

    number: int
    model: str | None = None
    width: str | None = None
    speed: str | None = None


class NodeGroup(NamedTuple):
    """Hosts, or switches, of which each has such links."""

    names: tuple[str, ...]
    ports: tuple[PortGroup, ...]


class ExpectedLink(NamedTuple):
    """A link by its ends; ``text`` says for people what is there, by names and labels."""

    a: End
    b: End
    text: str = ""


class ExpectedPartition(NamedTuple):
    """The hosts that are members; whoever is in neither is none."""

    pkey: int
    full: tuple[str, ...]
    limited: tuple[str, ...]


class Waiver(NamedTuple):
    """A finding that somebody knows of. ``rule`` is a number or a name, ``where`` a pattern with * and ?, ``until`` an
    ISO date, None for ever. ``line`` is where it stands in the file.
    """

    rule: str
    where: str
    why: str
    until: str | None = None
    line: int | None = None


class Expectations(NamedTuple):
    """None is what nobody wrote down, and nothing is compared with. ``firmware`` is by board id."""

    hosts: tuple[NodeGroup, ...] | None = None
    switches: tuple[NodeGroup, ...] | None = None
    links: tuple[ExpectedLink, ...] | None = None
    partitions: tuple[ExpectedPartition, ...] | None = None
    firmware: Mapping[str, str] | None = None
    standbys: int | None = None
    limits: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    waivers: tuple[Waiver, ...] = ()
    source: str | None = None


class NodeLink(NamedTuple):
    """A link of a host's adapter of this model, or of a switch to another switch."""

    model: str | None
    link: Link


def expectations_of(
    fabric: Fabric | None,
    hosts: Iterable[HostHcas] = (),
    partitions: Partitions | None = None,
    managers: SubnetManagers | None = None,
) -> Expectations:
    """What is there today. Nodes that nobody has named are in the links alone."""
    return Expectations(
        hosts=_groups(links_by_name(fabric, CHANNEL_ADAPTER)) if fabric else None,
        switches=_groups(links_by_name(fabric, SWITCH)) if fabric else None,
        links=tuple(ExpectedLink(link.a, link.b, _text(fabric, link.a, link.b)) for link in fabric.links)
        if fabric
        else None,
        partitions=_partitions(partitions) if partitions and partitions.complete else None,
        firmware=_firmware(hosts) or None,
        standbys=sum(manager.state == "standby" for manager in managers.managers)
        if managers and managers.complete
        else None,
    )


def links_by_name(fabric: Fabric, node_type: str) -> dict[str, list[NodeLink]]:
    """The hosts, or the switches, by name with their links, which for a switch are those to other switches."""
    names = {
        node.guid: name
        for node in fabric.nodes.values()
        if node.type == node_type and (name := host_of(node.name)) is not None and can_fold(name) and name.isprintable()
    }
    links: dict[str, list[NodeLink]] = {name: [] for name in names.values()}
    for link in fabric.links:
        for end, peer in ((link.a, link.b), (link.b, link.a)):
            if end.guid in names and (node_type != SWITCH or fabric.nodes[peer.guid].type == SWITCH):
                links[names[end.guid]].append(NodeLink(model_of(fabric.nodes[end.guid]), link))
    return links


def model_of(node: Node) -> str | None:
    """The device id of an adapter as people know it, None for a switch."""
    return None if node.type == SWITCH or node.device_id is None else f"{node.device_id:#x}"


def memberships(partitions: Partitions) -> dict[int, dict[str, bool]]:
    """Partition to host to whether all of the host's ports in it are full members."""
    found: dict[int, dict[str, bool]] = {}
    for table in partitions.ports:
        name = host_of(table.name)
        if name is None or not can_fold(name) or table.type == SWITCH:
            continue
        for number in table.partitions:
            of_it = found.setdefault(number, {})
            of_it[name] = of_it.get(name, True) and table.membership(number) != LIMITED
    return found


def _groups(links: dict[str, list[NodeLink]]) -> tuple[NodeGroup, ...]:
    """Hosts with the same links together, the largest group first."""
    alike: dict[tuple[PortGroup, ...], list[str]] = {}
    for name, own in links.items():
        kinds = Counter((model, link.width, link.speed) for model, link in own)
        groups = sorted(
            (PortGroup(number, *kind) for kind, number in kinds.items()),
            key=lambda group: (-group.number, str(group)),
        )
        alike.setdefault(tuple(groups), []).append(name)
    found = [NodeGroup(tuple(sorted(names, key=natural)), same) for same, names in alike.items()]
    return tuple(sorted(found, key=lambda group: (-len(group.names), group.names)))


def _partitions(partitions: Partitions) -> tuple[ExpectedPartition, ...]:
    return tuple(
        ExpectedPartition(
            number,
            tuple(sorted((name for name, full in of_it.items() if full), key=natural)),
            tuple(sorted((name for name, full in of_it.items() if not full), key=natural)),
        )
        for number, of_it in sorted(memberships(partitions).items())
    )


def _firmware(hosts: Iterable[HostHcas]) -> dict[str, str]:
    """Of each board id the version that most boards run."""
    counts: dict[str, dict[str, int]] = {}
    for host in hosts:
        for hca in host.hcas:
            if hca.board_id and hca.firmware:
                of_board = counts.setdefault(hca.board_id, {})
                of_board[hca.firmware] = of_board.get(hca.firmware, 0) + 1
    return {board: max(sorted(versions), key=lambda one: versions[one]) for board, versions in sorted(counts.items())}


def _text(fabric: Fabric, a: End, b: End) -> str:
    return f"{_end_text(fabric, a)} - {_end_text(fabric, b)}"


def _end_text(fabric: Fabric, end: End) -> str:
    node = fabric.nodes[end.guid]
    port = next((port for port in node.ports if port.number == end.port), None)
    label = f" ({port.label})" if port and port.label else ""
    return f"{node.name or 'no name'} port {end.port}{label}"
