"""Is a path into another InfiniBand subnet sound? Eleven tests, each with what it needs where it cannot be made. Pure.

The subnet administrator of the source's subnet knows the way to the router and nothing behind it: its record proves the
first leg. The second leg, and the way back, are known in the destination's subnet. Sources: InfiniBand Architecture
Specification volume 1, chapter 19 (routers) and 8.3 (GRH); upstream OpenSM's ``prefix-routes.conf``; NVIDIA's
documentation of IB routers, whose routers take the low 16 bits of the destination GID for the last LID, so that hosts
need alias GIDs or FLIDs (openucx/ucx issues 9551, 9585, 10515; Mellanox/ip2gid, ``src/path_resolve.c``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ibkit.collectors.path_records import PathAnswer
from ibkit.collectors.sysfs import LINK_LOCAL_PREFIX
from ibkit.model.fabric import ROUTER
from ibkit.model.host import HcaPort
from ibkit.model.ids import Gid, PKey
from ibkit.model.path_record import ROUTED_HOP_LIMIT, PathRecord
from ibkit.model.resolution import SourcePort, Step
from ibkit.model.talk import same_subnet
from ibkit.parsers.records import NamedTuple
from ibkit.resolve.gids import alias_lid, flid_of
from ibkit.resolve.nodes import Nodes, Port

OK, BAD, UNKNOWN = "ok", "bad", "unknown"

#: What all of it shows: both legs and the way back; the way to the router alone; that it cannot work; nothing.
BOTH_LEGS, FIRST_LEG, BROKEN, UNSEEN = "both-legs", "first-leg-only", "broken", "unseen"

_FAR = "a capture of a host in that subnet (--far CAPTURE), or a port of this host in it (--far DEVICE)"


class NextHop(NamedTuple):
    """A row of a router's table, as ibdiagnet prints it: the subnet that it forwards to. ``router`` is its node."""

    router: int
    prefix: int


class Side(NamedTuple):
    """One of the subnets. ``nodes`` is None where it was not seen, ``has_master`` where nobody asked for its manager.

    ``keys`` are P_Key tables by port GUID, ``next_hops`` the tables of its routers, None without ibdiagnet's.
    """

    nodes: Nodes | None = None
    has_master: bool | None = None
    keys: Mapping[int, Sequence[PKey]] = {}
    next_hops: tuple[NextHop, ...] | None = None

    @property
    def routers(self) -> list[Port]:
        """Its routers' ports."""
        return [port for port in self.nodes.ports if port.node.type == ROUTER] if self.nodes else []


class Case(NamedTuple):
    """What is known of a source port, a destination GID in another subnet, and the two subnets.

    ``first`` is what the near SA says of the path, ``second`` what the far one says of that from its router to the
    destination, ``back`` of that from the destination to the source; None is not asked. ``differs``: the sources do
    not agree on the GID. ``gateway`` is that of the IP address that was asked for.
    """

    destination: Gid
    source: SourcePort | None
    port: HcaPort | None
    near: Side
    far: Side | None = None
    first: PathAnswer | None = None
    second: PathAnswer | None = None
    back: PathAnswer | None = None
    differs: bool = False
    gateway: str | None = None


def explain(case: Case) -> tuple[Step, ...]:
    """All eleven."""
    return tuple(Step(number, *told) for number, told in enumerate(_tests(case), 1))


def conclusion(steps: Sequence[Step]) -> str:
    """What they show together. Without the tests of the far side it is the first leg only."""
    state = {step.number: step.state for step in steps}
    if any(state[number] == BAD for number in (1, 2, 3, 4, 5, 6, 7, 8, 10)):
        return BROKEN
    if state[5] != OK:
        return UNSEEN
    return BOTH_LEGS if state[7] == state[8] == OK else FIRST_LEG


_Told = tuple[str, str, str, str | None]


def _tests(case: Case) -> Iterator[_Told]:
    yield _source_port(case)
    yield _source_gid(case)
    yield _destination(case)
    yield _router(case)
    yield _first_leg(case)
    yield _partitions(case)
    yield _second_leg(case)
    yield _way_back(case)
    yield _header(case)
    yield _next_hops(case)
    yield _kernel(case)


def _source_port(case: Case) -> _Told:
    """Its port is up, a manager configured it, and the destination is in another subnet."""
    what = "source port"
    own, port = case.source, case.port
    if own is None or own.gid is None:
        return what, UNKNOWN, "the source port or its GID is not known", "`ibaddr`, or /sys of the host"
    name = f"{own.device or 'the port'} ({own.gid})"
    if port is not None and port.state not in (None, "Active"):
        return what, BAD, f"{name} is {port.state}", "a link and a subnet manager"
    if own.gid.subnet_prefix == LINK_LOCAL_PREFIX:
        return (
            what,
            BAD,
            f"{name} has the link-local prefix, which is never routed",
            "a subnet prefix of its own (OpenSM)",
        )
    if same_subnet(own.gid.subnet_prefix, case.destination.subnet_prefix):
        return what, BAD, f"{name} is in the subnet of {case.destination}: no router is needed", None
    if case.near.has_master is False:
        return what, BAD, f"{name}: nobody answers as the subnet manager", "start one"
    if case.near.has_master is None:
        return what, UNKNOWN, f"{name} is up; whether a subnet manager answers is not known", "`sminfo`"
    return what, OK, f"{name} is up, its subnet has a master manager, and the destination is in another subnet", None


def _source_gid(case: Case) -> _Told:
    """The GID that routers send answers to."""
    what = "source GID"
    own, port = case.source, case.port
    if own is None or own.gid is None:
        return what, UNKNOWN, "the source's GIDs are not known", "/sys of the host (ports/N/gids)"
    for index, gid in [(entry.gid_index, entry.gid) for entry in port.gids] if port else []:
        if flid := flid_of(gid):
            return what, OK, f"index {index} is {gid} with FLID {flid}", None
        lid = alias_lid(gid.guid)
        if lid is None or gid.subnet_prefix == LINK_LOCAL_PREFIX:
            continue
        if own.lid is not None and lid != own.lid:
            text = f"index {index} is {gid}, the alias of LID {lid}, and the port has LID {own.lid}"
            return what, BAD, text, "the manager to assign it anew (rtr_aguid_enable)"
        return what, OK, f"index {index} is {gid}, the alias of LID {lid}", None
    text = f"{own.gid} is made of the port's GUID, which routers with prefix routes take, and NVIDIA's do not"
    return what, UNKNOWN, text, "for NVIDIA's routers an alias or FLID GID at index 1 (the manager's rtr_aguid_enable)"


def _destination(case: Case) -> _Told:
    what = "destination GID"
    gid = case.destination
    if case.differs:
        return what, BAD, "the sources differ in the destination's GID", "one GID for the address, on all hosts"
    if gid.subnet_prefix == LINK_LOCAL_PREFIX:
        return what, BAD, f"{gid} is link-local, which is never routed", "the GID with its subnet's prefix"
    lid = _far_lid(case)
    if flid := flid_of(gid):
        return what, OK, f"{gid} has FLID {flid}", None
    alias = alias_lid(gid.guid)
    if alias is not None and lid is not None and alias != lid:
        return what, BAD, f"{gid} is the alias of LID {alias}, and the port has LID {lid} now", "the new alias"
    if alias is not None:
        return what, OK, f"{gid} is the alias of LID {alias} there", None
    if lid is not None and int(gid) & 0xFFFF == lid:
        return what, OK, f"{gid}: its last 16 bits are the port's LID {lid}", None
    text = f"{gid} is made of the port's GUID: a router with prefix routes takes it; to NVIDIA's its last 16 bits"
    return what, UNKNOWN, f"{text}, {int(gid) & 0xFFFF}, are the LID", "for NVIDIA's routers the alias or FLID GID"


def _router(case: Case) -> _Told:
    what = "router"
    if case.near.nodes is None or not case.near.nodes.ports:
        return what, UNKNOWN, "the source's subnet was not seen", "`saquery NR` or a sweep"
    routers = case.near.routers
    if not routers and case.near.nodes.is_whole:
        return what, BAD, "the source's subnet has no router", "a router"
    if not routers:
        return what, UNKNOWN, "no router was seen, and not all of the subnet was", "a whole sweep"
    for port in routers:
        state = port.record.state if port.record else None
        prefix = port.record.subnet_prefix if port.record else None
        own = case.source.gid.subnet_prefix if case.source and case.source.gid else None
        if port.lid is None or state not in (None, "Active") or (prefix and own and not same_subnet(prefix, own)):
            continue
        return what, OK, f"{port}, LID {port.lid}{f', {state}' if state else ''}", None
    return what, BAD, f"{routers[0]} has no LID, is not Active, or has another subnet's prefix", "the router's port up"


def _first_leg(case: Case) -> _Told:
    """The record that the source's SA gives: the DGID as asked, and the router's LID."""
    what = "first leg"
    if case.first is None or case.first.problem:
        why = case.first.problem.text if case.first and case.first.problem else "nobody asked"
        return what, UNKNOWN, why, "`saquery PR --sgid SGID --dgid DGID` as root, or ibacm"
    if not case.first.records:
        text = f"the subnet administrator has no path to {case.destination}"
        return what, BAD, text, "a route to that prefix in the manager (prefix-routes.conf), and a partition in common"
    path = case.first.records[0]
    told = f"DLID {path.dlid}, hop limit {path.hop_limit}, P_Key {path.pkey}"
    if path.dgid != case.destination:
        return what, BAD, f"the record is of another GID, {path.dgid}", None
    if path.hop_limit is not None and path.hop_limit < ROUTED_HOP_LIMIT:
        return what, BAD, f"{told}: with that hop limit no packet passes a router", None
    port = case.near.nodes.by_lid(path.dlid) if case.near.nodes and path.dlid else None
    if port is None:
        return what, UNKNOWN, f"{told}; whose LID it is was not seen", "a sweep, or `saquery NR LID`"
    if port.node.type != ROUTER:
        return what, BAD, f"{told}: the LID is that of {port}, which is no router", None
    if path.reversible is False:
        return what, BAD, f"{told}, the LID of {port}: not reversible", None
    return what, OK, f"{told}, the LID of {port}", None


def _partitions(case: Case) -> _Told:
    """The P_Key at both ends of both legs: a full member at one of each two at least."""
    what = "partition"
    pkey = next((path.pkey for path in (case.first.records if case.first else ()) if path.pkey), None)
    if pkey is None:
        return what, UNKNOWN, "the partition of the path is not known", "the first leg"
    missing = []
    router = _router_of(case)
    far_router, far_port = _far_ports(case)
    legs = (
        ("source", _own_keys(case), "router", _keys(case.near, router)),
        ("far router", _keys(case.far, far_router), "destination", _keys(case.far, far_port)),
    )
    for one, mine, other, theirs in legs:
        for name, keys in ((one, mine), (other, theirs)):
            if not keys:
                missing.append(name)
            elif not any(key.partition == pkey.partition for key in keys):
                return what, BAD, f"the {name} is not in partition {pkey}", "the same partition on all four ports"
        if (
            mine
            and theirs
            and not any(key.partition == pkey.partition and key.is_full_member for key in (*mine, *theirs))
        ):
            return what, BAD, f"{one} and {other} are limited members of {pkey}, both", "a full member on each leg"
    if missing:
        text = f"{pkey}; the P_Key tables are not known of: {', '.join(missing)}"
        return what, UNKNOWN, text, f"`saquery --smkey KEY PKTR` in each subnet; for the far one {_FAR}"
    return what, OK, f"all four ports are in {pkey}, one of each leg as a full member", None


def _second_leg(case: Case) -> _Told:
    what = "second leg"
    if case.far is None or case.second is None:
        return what, UNKNOWN, "the destination's subnet was not looked into: only the first leg is shown", _FAR
    if case.second.problem:
        return what, UNKNOWN, case.second.problem.text, "`saquery PR --sgid ROUTER --dgid DGID` in that subnet"
    if not case.second.records:
        text = f"the subnet administrator there has no path from its router to {case.destination}"
        return what, BAD, text, "the destination's port, its alias, and a partition in common with the router"
    path = case.second.records[0]
    first = case.first.records[0] if case.first and case.first.records else PathRecord()
    mtu, rate = _least(path.mtu_bytes, first.mtu_bytes), _least(path.rate_gbps, first.rate_gbps)
    text = f"LID {path.slid} to LID {path.dlid}; over both legs at most MTU {_shown(mtu)} bytes, {_shown(rate)} Gb/s"
    return what, OK, text, None


def _way_back(case: Case) -> _Told:
    what = "way back"
    if case.far is None or case.back is None:
        return what, UNKNOWN, "whether the destination's subnet has a way back is not known", _FAR
    if case.back.problem:
        return what, UNKNOWN, case.back.problem.text, "`saquery PR --sgid DGID --dgid SGID` in that subnet"
    if not case.back.records:
        text = "the subnet administrator there has no path back to the source"
        return what, BAD, text, "a route to the source's prefix in that manager"
    path = case.back.records[0]
    port = case.far.nodes.by_lid(path.dlid) if case.far.nodes and path.dlid else None
    if port is not None and port.node.type != ROUTER:
        return what, BAD, f"it leads to LID {path.dlid}, {port}, which is no router", None
    if port is None:
        return what, UNKNOWN, f"it leads to LID {path.dlid}; whose that is was not seen", "a sweep of that subnet"
    return what, OK, f"by LID {path.dlid}, {port}", None


def _header(case: Case) -> _Told:
    """What a connection must set; nobody checks it but the connection itself."""
    what = "global header"
    index = _routable_index(case)
    text = f"connections need a GRH: is_global, hop limit 255, SGID index {'?' if index is None else index}"
    need = f"`ib_send_bw -x {'1' if index is None else index}` or with -R between the two hosts: it is the last test"
    return what, UNKNOWN, text, need


def _next_hops(case: Case) -> _Told:
    what = "router tables"
    near, far = case.near.next_hops, case.far.next_hops if case.far else None
    if near is None and far is None:
        return what, UNKNOWN, "the routers' tables are not at hand", "`ibdiagnet --routers` in each subnet"
    own = case.source.gid.subnet_prefix if case.source and case.source.gid else None
    wanted = [("there", near, case.destination.subnet_prefix), ("back", far, own)]
    found = []
    for word, rows, prefix in wanted:
        if rows is None or prefix is None:
            continue
        if not any(same_subnet(row.prefix, prefix) for row in rows):
            return what, BAD, f"no router has a next hop {word}, to {prefix:#018x}", "the routers' configuration"
        found.append(word)
    if len(found) < len(wanted):
        return what, UNKNOWN, f"a next hop {' and '.join(found)}", "`ibdiagnet --routers` in the other subnet"
    return what, OK, "each direction has a next hop", None


def _kernel(case: Case) -> _Told:
    what = "rdma_cm by IP"
    if case.gateway is None:
        text = "it was not asked for by an IP address behind an IPoIB gateway"
        return what, UNKNOWN, text, "the peer's IPoIB address, and rping or ucmatose to it"
    text = f"the address lies behind the gateway {case.gateway}, so the kernel asks a local service for the GID"
    return (
        what,
        UNKNOWN,
        text,
        "ibarr on both hosts (`ibkit resolve --via ibarr IP`): without it connections end in error 99",
    )


def _far_lid(case: Case) -> int | None:
    """The LID of the destination in its own subnet, as far as the far side tells."""
    if case.second and case.second.records:
        return case.second.records[0].dlid
    port = case.far.nodes.by_guid(case.destination.guid) if case.far and case.far.nodes else None
    return port.lid if port else None


def _router_of(case: Case) -> Port | None:
    path = case.first.records[0] if case.first and case.first.records else None
    return case.near.nodes.by_lid(path.dlid) if path and path.dlid and case.near.nodes else None


def _far_ports(case: Case) -> tuple[Port | None, Port | None]:
    """The router's port and the destination's in the far subnet."""
    nodes = case.far.nodes if case.far else None
    path = case.second.records[0] if case.second and case.second.records else None
    if nodes is None or path is None:
        return None, None
    return (nodes.by_lid(path.slid) if path.slid else None), (nodes.by_lid(path.dlid) if path.dlid else None)


def _keys(side: Side | None, port: Port | None) -> Sequence[PKey] | None:
    return side.keys.get(port.guid) if side and port else None


def _own_keys(case: Case) -> Sequence[PKey] | None:
    """The source's own table, by its host or else by the fabric."""
    if case.port and case.port.pkeys:
        return case.port.pkeys
    nodes, own = case.near.nodes, case.source.gid if case.source else None
    return _keys(case.near, nodes.by_guid(own.guid) if nodes and own else None)


def _routable_index(case: Case) -> int | None:
    """An alias or FLID GID if there is one, else the port's own."""
    gids = case.port.gids if case.port else ()
    for entry in gids:
        if flid_of(entry.gid) or (
            alias_lid(entry.gid.guid) is not None and entry.gid.subnet_prefix != LINK_LOCAL_PREFIX
        ):
            return entry.gid_index
    return next((entry.gid_index for entry in gids if entry.gid.subnet_prefix != LINK_LOCAL_PREFIX), None)


def _shown(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


def _least(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else min(one, other)
