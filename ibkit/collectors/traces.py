"""Ways that ``ibtracert`` has followed: as routes through a fabric that is known, or as all that is known of one. Pure.

The ends of a trace have node GUIDs, its steps port GUIDs; a switch's are the same. The form ``-n`` has no types, LIDs
and names: what lies between the ends is a switch, and an end with port 0 is one.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.collectors.lids import MAX_LMC
from ibkit.model.fabric import CHANNEL_ADAPTER, ROUTER, SWITCH, UNKNOWN_TYPE, End, Fabric, FabricPort, Node
from ibkit.model.ids import Guid
from ibkit.model.routes import ARRIVED, NO_TABLE, Hop, Route
from ibkit.parsers.ibtracert import Stop, Trace

_TYPES = {"ca": CHANNEL_ADAPTER, "switch": SWITCH, "router": ROUTER}


def route_of(trace: Trace) -> Route:
    """The way as it was followed. Where it did not arrive, it is not known how it goes on."""
    start = End(Guid(trace.start.guid), trace.start.port)
    hops: list[Hop] = []
    at, number = start, start.port
    for step, guid in zip(trace.steps, _node_guids(trace), strict=True):
        entry = End(guid, step.port)
        hops.append(Hop(End(at.guid, number if step.exit_port is None else step.exit_port), entry))
        at, number = entry, step.port
    if trace.end is not None and trace.end.port == 0:
        at = End(at.guid, 0)
    return Route(start, _lid(trace), tuple(hops), NO_TABLE if trace.end is None else ARRIVED, at)


def fabric_of(traces: Iterable[Trace], source: str) -> Fabric:
    """All that traces tell of a fabric: the nodes and cables on the ways. ``complete`` is False."""
    nodes: dict[Guid, Node] = {}
    ports: dict[End, FabricPort] = {}
    for trace in traces:
        stops = [(Guid(trace.start.guid), trace.start, False)]
        stops += [(guid, step, True) for guid, step in zip(_node_guids(trace), trace.steps, strict=True)]
        if trace.end is not None:
            stops.append((Guid(trace.end.guid), trace.end, False))
        for guid, stop, is_between in stops:
            kind = _type(stop, is_last=not is_between or guid == stops[-1][0])
            known = nodes.get(guid)
            if known is None or known.type == UNKNOWN_TYPE:
                nodes[guid] = Node(guid, kind, stop.name, lid=stop.lid if kind == SWITCH else None)
            if kind != SWITCH and stop.port:
                port_guid = Guid(stop.guid) if is_between else None
                _note(ports, End(guid, stop.port), FabricPort(stop.port, port_guid, stop.lid, lmc=_lmc(stop)))
        for hop in route_of(trace).hops:
            for end, peer in ((hop.exit, hop.entry), (hop.entry, hop.exit)):
                _note(ports, end, FabricPort(end.port, peer=peer, linked=True))
    for guid, node in nodes.items():
        own = sorted((end.port, port) for end, port in ports.items() if end.guid == guid)
        nodes[guid] = node._replace(ports=tuple(port for _, port in own))
    return Fabric(dict(sorted(nodes.items())), (), False, (), source)


def _node_guids(trace: Trace) -> list[Guid]:
    """The node of each step: a switch has its own GUID there, the last step's node is that of the end."""
    guids = [Guid(step.guid) for step in trace.steps]
    if guids and trace.end is not None:
        guids[-1] = Guid(trace.end.guid)
    return guids


def _lid(trace: Trace) -> int | None:
    if trace.end is not None and trace.end.lid is not None:
        return trace.end.lid
    return None


def _type(stop: Stop, *, is_last: bool) -> str:
    if stop.type is not None:
        return _TYPES.get(stop.type, UNKNOWN_TYPE)
    if stop.port == 0 or not is_last:
        return SWITCH
    return CHANNEL_ADAPTER


def _lmc(stop: Stop) -> int | None:
    """The LIDs of a port are 2**LMC."""
    if stop.lid is None or stop.last_lid is None:
        return None
    count = stop.last_lid - stop.lid + 1
    return count.bit_length() - 1 if 0 < count <= 1 << MAX_LMC and not count & (count - 1) else None


def _note(ports: dict[End, FabricPort], end: End, port: FabricPort) -> None:
    known = ports.get(end)
    if known is not None:
        told = {field: value for field, value in port._asdict().items() if value is not None}
        port = known._replace(**told)
    ports[end] = port
