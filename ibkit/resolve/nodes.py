"""Look up a fabric's ports: by GUID, by LID, by the name in the node description. Pure.

A node description is the host's name and the device's (rdma-core's ``rdma-ndd``: ``%h %d``), a switch's is what its
maker or admin wrote. It is no identity: two hosts may have the same, and a host whose daemon did not run has the
device's default, which names nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.model.fabric import AGGREGATION_NODE, SWITCH, Fabric, FabricPort, Node
from ibkit.model.ids import Guid
from ibkit.model.node_names import host_of
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

#: How a host's names for its addresses go on behind its own name: n01-ib0, n01.ib, n01_hsn1, n01-ipoib.
_SUFFIX = re.compile(r"[-_.](?:ib|ipoib|hsn|opa|fabric|rdma)\d{0,3}(?:[-_.]\S*)?\Z", re.IGNORECASE)


class Port(NamedTuple):
    """A port that has a GUID and perhaps a LID: a channel adapter's or a router's, or a switch's port 0. ``through`` is
    the port of this host that shows its subnet.
    """

    node: Node
    number: int
    guid: Guid
    lid: int | None
    lmc: int
    record: FabricPort | None = None
    through: Through = ANY_PORT

    @property
    def host(self) -> str | None:
        """The name in the description, None where it names nobody."""
        return host_of(self.node.name)

    def __str__(self) -> str:
        name = (self.node.name or "").strip()
        return f"{name or 'no name'} ({self.guid}, port {self.number})"


class Nodes:
    """The index of the subnets that a host is in, each with the port that shows it, the one of the tools' choice first.

    Two subnets may have the same LIDs, so a LID is one of the first subnet.
    """

    def __init__(self, fabrics: Sequence[tuple[Through, Fabric]]) -> None:
        self.fabrics = fabrics
        self.ports = [
            port._replace(through=through)
            for through, fabric in fabrics
            for node in fabric.nodes.values()
            for port in _ports_of(node)
        ]

    @property
    def fabric(self) -> Fabric:
        """The first subnet."""
        return self.fabrics[0][1]

    @property
    def is_whole(self) -> bool:
        """Whether what is not here is in none of the subnets."""
        return all(fabric.complete is True for _, fabric in self.fabrics) and bool(self.ports)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was seen."""
        return not any(fabric.nodes for _, fabric in self.fabrics)

    @property
    def problems(self) -> Iterator[Problem]:
        """Why not all was seen."""
        for _, fabric in self.fabrics:
            if fabric.complete is not True:
                yield from fabric.problems if fabric.nodes else fabric.problems[:1]

    def within(self, through: Through) -> Nodes:
        """One subnet of them."""
        if len(self.fabrics) == 1:
            return self
        return Nodes([pair for pair in self.fabrics if pair[0] == through] or self.fabrics[:1])

    def source_of(self, port: Port) -> str | None:
        """What showed it."""
        return next(fabric.source for through, fabric in self.fabrics if through == port.through)

    def by_guid(self, guid: int) -> Port | None:
        """The port with this GUID, or with a virtual port of this GUID."""
        return self._by_guid.get(guid)

    def of_node(self, guid: int) -> list[Port]:
        """The ports of the node, or of the card, with this node or system image GUID."""
        return self._by_node.get(guid) or self._by_image.get(guid, [])

    def by_lid(self, lid: int) -> Port | None:
        """The port that has this LID, or whose range of LIDs (LMC) holds it."""
        exact = self._by_lid.get(lid)
        if exact is not None:
            return exact
        return next((port for port in self._ranges if port.lid and port.lid <= lid < port.lid + (1 << port.lmc)), None)

    def named(self, name: str) -> list[Port]:
        """The ports of the host or switch with this name, with or without its domain; those in use if there are any.

        Two hosts of the same short name and different domains are both meant by the short name.
        """
        wanted = name.lower()
        found = self._by_name.get(wanted, [])
        if not found and "." in wanted:
            short = wanted.partition(".")[0]
            found = [port for port in self._by_name.get(short, []) if "." not in (port.host or "")]
        return [port for port in found if port.lid is not None] or found

    def of_address_name(self, name: str) -> list[Port]:
        """The ports of the host that a name such as ``n01-ib0`` is an address of."""
        found = self.named(name)
        if not found and (suffix := _SUFFIX.search(name)):
            found = self.named(name[: suffix.start()])
        return found

    @cached_property
    def _by_guid(self) -> dict[int, Port]:
        found: dict[int, Port] = {}
        for port in self.ports:
            found.setdefault(port.guid, port)
        for port in self.ports:
            for guid in (port.record.virtual_guids or ()) if port.record else ():
                found.setdefault(guid, port)
        return found

    @cached_property
    def _by_node(self) -> dict[int, list[Port]]:
        found: dict[int, list[Port]] = {}
        for port in self.ports:
            found.setdefault(port.node.guid, []).append(port)
        return found

    @cached_property
    def _by_image(self) -> dict[int, list[Port]]:
        found: dict[int, list[Port]] = {}
        for port in self.ports:
            found.setdefault(port.node.system_image_guid or 0, []).append(port)
        return found

    @cached_property
    def _by_lid(self) -> dict[int, Port]:
        first = [port for port in self.ports if port.through == self.fabrics[0][0]]
        return {port.lid: port for port in reversed(first) if port.lid is not None}

    @cached_property
    def _ranges(self) -> list[Port]:
        return [port for port in self.ports if port.lmc and port.through == self.fabrics[0][0]]

    @cached_property
    def _by_name(self) -> dict[str, list[Port]]:
        found: dict[str, list[Port]] = {}
        for port in self.ports:
            host = port.host
            if host is None:
                continue
            full = host.lower()
            for key in dict.fromkeys((full, full.partition(".")[0], (port.node.name or "").strip().lower())):
                found.setdefault(key, []).append(port)
        return found


def same_host(name: str, host: str) -> bool:
    """Whether a name of an address can be one of the host's: the same, with or without domain and interface."""
    name, host = name.lower(), host.lower()
    names = {name, name.partition(".")[0]}
    names |= {text[: suffix.start()] for text in names if (suffix := _SUFFIX.search(text))}
    return bool(names & {host, host.partition(".")[0]})


def _ports_of(node: Node) -> Iterator[Port]:
    if node.type == AGGREGATION_NODE:
        return
    if node.type == SWITCH:
        guid = node.port0.guid if node.port0 and node.port0.guid else node.guid
        yield Port(node, 0, guid, node.lid, node.lmc or 0, node.port0)
        return
    for port in node.ports:
        if port.guid is not None:
            yield Port(node, port.number, port.guid, port.lid, port.lmc or node.lmc or 0, port)
