"""Which port of a fabric a person means by a LID, a GUID, a GID or a name. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.model.fabric import SWITCH, End, Fabric, FabricPort, Node
from ibkit.model.ids import Gid, Guid, gid_or_none
from ibkit.model.node_lookup import nodes_named
from ibkit.model.port_state import FIRST_MULTICAST_LID
from ibkit.model.routes import Owners, port_of
from ibkit.parsers.records import NamedTuple

#: Prefix of GIDs that are never routed (InfiniBand Architecture Specification volume 1, 4.1.1).
LINK_LOCAL_PREFIX = 0xFE80 << 48

#: How many candidates a person reads.
MAX_CANDIDATES = 12

_LID = re.compile(r"(?:0[xX]([0-9a-fA-F]{1,4})|([0-9]{1,5}))\Z")
#: Also in the four groups in which /sys and ``ibv_devinfo`` have it.
_GUID = re.compile(r"(?:0[xX][0-9a-fA-F]{5,16}|[0-9a-fA-F]{16}|[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3})\Z")
_KINDS = ("lid", "guid", "gid", "name")


class EndPort(NamedTuple):
    """An end of a way. ``end`` is None where no port of the fabric is meant: then ``lid``, ``port_guid`` and
    ``subnet_prefix`` are what the text itself says. ``lid`` is the base LID, ``subnet_prefix`` a number.
    """

    given: str
    end: End | None = None
    port_guid: Guid | None = None
    lid: int | None = None
    lmc: int | None = None
    name: str | None = None
    type: str | None = None
    subnet_prefix: int | None = None

    @property
    def lids(self) -> range:
        """All LIDs of the port; none where it has none."""
        return range(self.lid, self.lid + (1 << (self.lmc or 0))) if self.lid else range(0)


class NotOne(ValueError):
    """Not exactly one port is meant; the message names the candidates."""


def find_end(fabric: Fabric, owners: Owners, text: str) -> EndPort:
    """The port that ``text`` means: a LID (decimal, ``0x``), a GUID of a node or port, a GID, or a node's name.

    ``lid:``, ``guid:``, ``gid:`` and ``name:`` before it say which of them it is; ``/2`` behind a name or GUID is the
    port. A name may be a part of one, if only one node has it. What nobody has is an end without a port: a LID, GUID
    or GID, and a name where not all of the fabric was seen. Raises NotOne for a name that no node or more than one has,
    and for a node of which the port is not clear.
    """
    kind, colon, rest = text.partition(":")
    if not (colon and kind in _KINDS):
        kind, rest = "", text
    rest = rest.strip()
    found = [end for known, look in _LOOKS if kind in ("", known) for end in look(fabric, owners, rest)]
    ports = list(dict.fromkeys(found))
    if len(ports) > 1:
        raise NotOne(f"{text!r} is more than one port: {_listed(fabric, ports)}")
    if ports:
        return end_port(fabric, ports[0], text)
    stranger = _stranger(kind, rest, text)
    if stranger:
        return stranger
    if kind in ("lid", "guid", "gid"):
        raise NotOne(f"{text!r} is not a {kind.upper()}")
    if not fabric.nodes or fabric.complete is False:
        return EndPort(text)
    _refuse_port(fabric, rest, text)
    raise NotOne(f"no node of this fabric is called {rest!r}; `ibkit fabric nodes` lists them")


def end_port(fabric: Fabric, end: End, given: str | None = None) -> EndPort:
    """A port of the fabric as an end."""
    node = fabric.nodes[end.guid]
    port = port_of(node, end.port)
    lid = node.lid if node.type == SWITCH else port.lid if port else None
    return EndPort(
        f"{end.guid}/{end.port}" if given is None else given,
        end,
        port.guid if port else None,
        lid,
        node.lmc if port is None or port.lmc is None else port.lmc,
        node.name,
        node.type,
        port.subnet_prefix if port else None,
    )


def _by_lid(fabric: Fabric, owners: Owners, text: str) -> Iterator[End]:
    found = _LID.match(text)
    if found:
        yield from owners.of(int(found[1], 16) if found[1] else int(found[2]))


def _by_guid(fabric: Fabric, owners: Owners, text: str) -> Iterator[End]:
    text, number = _split(text)
    if not _GUID.match(text):
        return
    guid = Guid.parse(text)
    ports = list(_with_port_guid(fabric, guid)) if number is None else []
    if ports:
        yield from ports  # an adapter's own GUID is often that of its first port
    elif guid in fabric.nodes:
        yield from _ports(fabric.nodes[guid], number)


def _by_gid(fabric: Fabric, owners: Owners, text: str) -> Iterator[End]:
    gid = _gid(text)
    if gid is None:
        return
    for end in _with_port_guid(fabric, gid.guid):
        port = port_of(fabric.nodes[end.guid], end.port)
        prefix = port.subnet_prefix if port else None
        # Each port answers to the link-local prefix within its subnet, too.
        if prefix is None or gid.subnet_prefix in (prefix, LINK_LOCAL_PREFIX):
            yield end


def _by_name(fabric: Fabric, owners: Owners, text: str) -> Iterator[End]:
    name, number = _split(text)
    for wanted, port in ((text, None), (name, number)):
        nodes = _named(fabric, wanted)
        if nodes:
            for node in nodes:
                yield from _ports(node, port)
            return


_LOOKS = (("lid", _by_lid), ("guid", _by_guid), ("gid", _by_gid), ("name", _by_name))


def _named(fabric: Fabric, text: str) -> list[Node]:
    """The nodes with this name. What could be a LID, GUID or GID is a name only if it is the whole of one."""
    if _LID.match(text) or _GUID.match(text) or _gid(text) is not None:
        return [node for node in fabric.nodes.values() if node.name and node.name.strip() == text]
    return nodes_named(fabric.nodes.values(), text)


def _ports(node: Node, number: int | None) -> Iterator[End]:
    """A node's ports that can be meant: the named one; a switch's port 0; those with a link, else all."""
    if number is not None:
        # A switch's other ports have no LID, so nothing can be sent to them.
        if number == 0 if node.type == SWITCH else port_of(node, number) or not node.ports:
            yield End(node.guid, number)
        return
    if node.type == SWITCH:
        yield End(node.guid, 0)
        return
    linked = [port for port in node.ports if port.peer or port.linked]
    for port in linked or node.ports or [FabricPort(1)]:
        yield End(node.guid, port.number)


def _with_port_guid(fabric: Fabric, guid: Guid) -> Iterator[End]:
    for node in fabric.nodes.values():
        if node.type == SWITCH:
            if node.guid == guid:
                yield End(guid, 0)
            continue
        for port in node.ports:
            if port.guid == guid or guid in (port.virtual_guids or ()):
                yield End(node.guid, port.number)


def _split(text: str) -> tuple[str, int | None]:
    """``c001/2`` as the name and the port."""
    name, slash, number = text.rpartition("/")
    if slash and number.isascii() and number.isdigit() and len(number) < 4 and name:
        return name, int(number)
    return text, None


def _gid(text: str) -> Gid | None:
    if text.count(":") < 2 or not re.match(r"[0-9a-fA-F:.]{2,45}\Z", text):
        return None
    return gid_or_none(text)


def _stranger(kind: str, text: str, given: str) -> EndPort | None:
    """An end of which the text alone is known."""
    found = _LID.match(text)
    if found and kind in ("", "lid"):
        lid = int(found[1], 16) if found[1] else int(found[2])
        if 0 < lid < FIRST_MULTICAST_LID:
            return EndPort(given, lid=lid)
        raise NotOne(f"{given!r}: a port's LID is from 1 to {FIRST_MULTICAST_LID - 1}")
    if kind in ("", "guid") and _GUID.match(text):
        return EndPort(given, port_guid=Guid.parse(text))
    gid = _gid(text) if kind in ("", "gid") else None
    if gid is not None:
        if gid.not_a_ports:
            raise NotOne(f"{given!r} is {gid.not_a_ports}")
        return EndPort(given, port_guid=gid.guid, subnet_prefix=gid.subnet_prefix)
    return None


def _refuse_port(fabric: Fabric, text: str, given: str) -> None:
    """Raise NotOne where a node is meant, and a port of it that it does not have or that nothing can be sent to."""
    name, number = _split(text)
    if number is None:
        return
    nodes = [fabric.nodes[Guid.parse(name)]] if _GUID.match(name) and Guid.parse(name) in fabric.nodes else []
    for node in nodes or _named(fabric, name):
        if node.type == SWITCH:
            why = "the ports of a switch share the LID of its port 0, so name the switch alone"
        else:
            ports = ", ".join(str(port.number) for port in node.ports[:MAX_CANDIDATES])
            why = f"its ports that were seen are {ports}" if ports else "none of its ports was seen"
        raise NotOne(f"{given!r}: {node.name or node.guid} has no such port to send to; {why}")


def _listed(fabric: Fabric, ports: list[End]) -> str:
    names = [f"{end.guid}/{end.port} ({fabric.nodes[end.guid].name or 'no name'})" for end in ports[:MAX_CANDIDATES]]
    more = f" and {len(ports) - MAX_CANDIDATES} more" if len(ports) > MAX_CANDIDATES else ""
    return f"{', '.join(names)}{more}; give one of these"
