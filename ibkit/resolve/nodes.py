"""Look up a fabric's ports: by GUID, by LID, by the name in the node description. Pure.

A node description is the host's name and the device's (rdma-core's ``rdma-ndd``: ``%h %d``), a switch's is what its
maker or admin wrote. It is no identity: two hosts may have the same, and a host whose daemon did not run has the
device's default, which names nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from ibkit.model.fabric import AGGREGATION_NODE, SWITCH, Fabric, FabricPort, Node
from ibkit.model.ids import Guid
from ibkit.model.node_names import host_of
from ibkit.parsers.records import NamedTuple

#: How a host's names for its addresses go on behind its own name: n01-ib0, n01.ib, n01_hsn1, n01-ipoib.
_SUFFIX = re.compile(r"[-_.](?:ib|ipoib|hsn|opa|fabric|rdma)\d{0,3}(?:[-_.]\S*)?\Z", re.IGNORECASE)


class Port(NamedTuple):
    """A port that has a GUID and perhaps a LID: a channel adapter's or a router's, or a switch's port 0."""

    node: Node
    number: int
    guid: Guid
    lid: int | None
    lmc: int
    record: FabricPort | None = None

    @property
    def host(self) -> str | None:
        """The name in the description, None where it names nobody."""
        return host_of(self.node.name)

    def __str__(self) -> str:
        name = (self.node.name or "").strip()
        return f"{name or 'no name'} ({self.guid}, port {self.number})"


class Nodes:
    """The index of one fabric."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.ports = [port for node in fabric.nodes.values() for port in _ports_of(node)]

    @property
    def is_whole(self) -> bool:
        """Whether what is not here is not in the fabric."""
        return self.fabric.complete is True and bool(self.ports)

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
        return {port.lid: port for port in reversed(self.ports) if port.lid is not None}

    @cached_property
    def _ranges(self) -> list[Port]:
        return [port for port in self.ports if port.lmc]

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
