"""Whether two ports can talk to each other: one check for each thing that must hold, and one verdict of all. Pure.

The verdict is yes only where each check is known to hold, and no where one is known not to: what is not known settles
nothing. The rules are those of the InfiniBand Architecture Specification volume 1; a check names the chapter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ibkit.model.ends import EndPort
from ibkit.model.fabric import ROUTER, End, Fabric, FabricPort
from ibkit.model.findings import Fact
from ibkit.model.ids import Gid, Guid
from ibkit.model.partitions import PortKeys, meeting
from ibkit.model.rates import rate_gbps
from ibkit.model.routes import NO_LID, NO_TABLE, UNKNOWN_ENDS, Hop, Owners, Route, describe, port_of
from ibkit.parsers.records import NamedTuple

YES, NO, UNKNOWN = "yes", "no", "unknown"

#: How to have what PortInfo tells, and what a P_Key table does.
_GET_PORT = "`saquery PIR` and `smpquery portinfo LID PORT` tell it"
_GET_KEYS = "`smpquery pkeys LID`, and as root with the manager's key `saquery --smkey KEY PKTR`, tell it"
#: So many names of one kind a sentence has.
_MAX_NAMES = 4

#: A site-local prefix is 10 bits, then the number of the subnet in the last 16. A manager of routers may put a floating
#: LID between them (so UCX and Mellanox's ip2gid read it).
_SITE_LOCAL, _SITE_LOCAL_SHIFT, _SUBNET_BITS = 0x3FB, 54, 0xFFFF

#: The states in which no data passes, in the words of all tools. One that none of them has a word for proves nothing.
_WITHOUT_DATA = frozenset({"Down", "Init", "Initialize", "Initializing"})


class TalkCheck(NamedTuple):
    """One check. ``id`` is a word for scripts, ``answer`` YES, NO or UNKNOWN, ``text`` what was seen, or what is
    missing and how to get it.
    """

    id: str
    answer: str
    text: str
    evidence: tuple[Fact, ...] = ()


class Pair(NamedTuple):
    """What is known of two ports: the ways from ``a`` to ``b`` and back, None where one of them cannot be followed,
    and their P_Key tables, None where they are not known. ``router`` is the port to which the way ``there`` leads
    where ``b`` is in another subnet. ``sources`` is who told of ports that the topology does not tell enough of.
    """

    fabric: Fabric
    owners: Owners
    sources: dict[End, str]
    a: EndPort
    b: EndPort
    there: Route | None
    back: Route | None
    keys: tuple[PortKeys | None, PortKeys | None] = (None, None)
    router: EndPort | None = None

    @property
    def ends(self) -> tuple[EndPort, EndPort]:
        """Both of them."""
        return self.a, self.b

    @property
    def hops(self) -> tuple[Hop, ...]:
        """The links of both ways."""
        return tuple(hop for route in (self.there, self.back) if route for hop in route.hops)

    @property
    def ports(self) -> tuple[End, ...]:
        """The two ports, and all that packets pass in either direction, each once."""
        ends = [one.end for one in self.ends if one.end]
        return tuple(dict.fromkeys([*ends, *(end for hop in self.hops for end in hop)]))


def checks_of(pair: Pair) -> tuple[TalkCheck, ...]:
    """All checks, in the order in which one would look."""
    return tuple(check(pair) for check in _CHECKS)


def can_talk(checks: Iterable[TalkCheck]) -> bool | None:
    """The verdict; None where it cannot be decided."""
    answers = {check.answer for check in checks}
    return False if NO in answers else None if UNKNOWN in answers else True


def same_way(pair: Pair) -> bool | None:
    """Whether packets come back over the cables over which they go; None where a way is not known to its end."""
    if pair.there is None or pair.back is None or not (pair.there.arrived and pair.back.arrived):
        return None
    return pair.there.hops == tuple(Hop(hop.entry, hop.exit) for hop in reversed(pair.back.hops))


def least_mtu_bytes(fabric: Fabric, route: Route) -> int | None:
    """The least MTU of the ports that send on a way; None where one is not known, or where there is no link on it."""
    sizes = [port_at(fabric, hop.exit).mtu_bytes for hop in route.hops]
    known = [size for size in sizes if size is not None]
    return min(known) if known and len(known) == len(sizes) else None


def least_rate_gbps(fabric: Fabric, route: Route) -> float | None:
    """The least rate of the links on a way, in Gb/s; None where one is not known, or where there is none."""
    ports = [port_at(fabric, hop.exit) for hop in route.hops]
    rates = [rate for port in ports if (rate := rate_gbps(port.width, port.speed)) is not None]
    return min(rates) if rates and len(rates) == len(ports) else None


def same_subnet(one: int, other: int) -> bool:
    """Whether two subnet prefixes are those of one subnet."""
    if one >> _SITE_LOCAL_SHIFT == other >> _SITE_LOCAL_SHIFT == _SITE_LOCAL:
        return one & _SUBNET_BITS == other & _SUBNET_BITS
    return one == other


def port_at(fabric: Fabric, end: End) -> FabricPort:
    """What is known of a port; nothing but its number, if that is all."""
    node = fabric.nodes.get(end.guid)
    return (port_of(node, end.port) if node else None) or FabricPort(end.port)


def _link(pair: Pair) -> TalkCheck:
    """Port states (7.2.7): data passes Active ports alone. An armed one takes what comes, and sends management only."""
    bad, armed, unknown = [], [], [one.given for one in pair.ends if one.end is None]
    for end in pair.ports:
        port, where = port_at(pair.fabric, end), _where(pair.fabric, end)
        if port.state == "Armed":
            armed.append(where)
        elif port.state in _WITHOUT_DATA:
            bad.append(f"{where} is {port.state}")
        elif port.state is None and port.linked is False:
            bad.append(f"{where} has no link")
        elif port.state != "Active" and end.port:  # of a switch's own port the state says nothing about forwarding
            unknown.append(where)
    facts = _facts(pair, pair.ports)
    if bad:
        return TalkCheck("link", NO, f"no data passes: {_some(bad)}", facts)
    if armed:
        return TalkCheck("link", UNKNOWN, f"Armed, so the subnet manager did not finish: {_some(armed)}", facts)
    if unknown:
        return TalkCheck("link", UNKNOWN, f"the state of the link is not known of {_some(unknown)}: {_GET_PORT}", facts)
    return TalkCheck("link", YES, "all ports on the way are Active", facts)


def _lid(pair: Pair) -> TalkCheck:
    """LIDs (4.1.3): each port has one, and nobody else has it."""
    facts = _facts(pair)
    for one in pair.ends:
        if one.end is None and one.lid is None:
            return TalkCheck("lid", UNKNOWN, f"{one.given} is no port that was seen here")
        if one.end is None:
            way = pair.there if one is pair.b else None
            if way is not None and way.result == NO_LID:
                text = f"no port with LID {one.lid} was seen; the tables lead to {_where(pair.fabric, way.at)}, which "
                return TalkCheck("lid", UNKNOWN, f"{text}may have it (LMC, or a virtual port): {_GET_PORT}", facts)
            if pair.fabric.complete:
                return TalkCheck("lid", NO, f"no port of this subnet has LID {one.lid}", facts)
            return TalkCheck("lid", UNKNOWN, f"no port with LID {one.lid} was seen, and not all of the subnet was")
        where = _where(pair.fabric, one.end)
        if not one.lid:
            # A whole sweep tells the LID of each port with a link, unless it has heard two.
            disputed = any(problem.kind == "contradiction" for problem in pair.fabric.problems)
            sure = pair.fabric.complete and port_at(pair.fabric, one.end).linked and not disputed
            return TalkCheck("lid", NO if sure else UNKNOWN, f"{where} has no LID that is known", facts)
        others = [end for lid in one.lids for end in pair.owners.of(lid) if end != one.end]
        if others:
            text = f"LID {one.lid} of {where} is that of {_some([_where(pair.fabric, end) for end in others])}, too"
            return TalkCheck("lid", NO, text, facts)
    return TalkCheck("lid", YES, f"LID {pair.a.lid} and LID {pair.b.lid}", facts)


def _manager(pair: Pair) -> TalkCheck:
    """The master's LID that each port was told (14.2.5.6, MasterSMLID)."""
    lids = [port_at(pair.fabric, one.end).sm_lid if one.end else None for one in pair.ends]
    unknown = [_called(one) for one, lid in zip(pair.ends, lids, strict=True) if not lid]
    if unknown:
        text = f"the LID of the subnet manager is not known of {_some(unknown)}: {_GET_PORT}"
        return TalkCheck("sm", UNKNOWN, text)
    if lids[0] != lids[1]:
        # A hand-over in between tells ports different managers for a while, and data passes all the same.
        text = (
            f"{_called(pair.a)} was told LID {lids[0]}, {_called(pair.b)} LID {lids[1]}: two managers, or a hand-over; "
            "`ibkit sm` tells which"
        )
        return TalkCheck("sm", UNKNOWN, text, _facts(pair))
    return TalkCheck("sm", YES, f"both were told of the subnet manager at LID {lids[0]}", _facts(pair))


def _prefix(pair: Pair) -> TalkCheck:
    """Subnet prefixes (4.1.1). Between two subnets packets need a router (19.2)."""
    one, other = pair.a.subnet_prefix, pair.b.subnet_prefix
    if one is None or other is None:
        unknown = [_called(end) for end in pair.ends if end.subnet_prefix is None]
        return TalkCheck("prefix", UNKNOWN, f"the subnet prefix is not known of {_some(unknown)}: {_GET_PORT}")
    facts = _facts(pair)
    if same_subnet(one, other):
        return TalkCheck("prefix", YES, f"both have the subnet prefix {_prefix_text(one)}", facts)
    text = f"two subnets, {_prefix_text(one)} and {_prefix_text(other)}: packets need a router"
    routers = [_called_node(pair.fabric, guid) for guid, node in pair.fabric.nodes.items() if node.type == ROUTER]
    if not routers and pair.fabric.complete:
        return TalkCheck("prefix", NO, f"{text}, and in this subnet there is none", facts)
    here = f"here there is {_some(routers)}" if routers else "none was seen"
    return TalkCheck("prefix", UNKNOWN, f"{text}; {here}, and what lies behind it is not known here", facts)


def _partition(pair: Pair) -> TalkCheck:
    """P_Keys (10.9): one in common, and not both limited members."""
    mine, theirs = pair.keys
    if mine is None or theirs is None:
        unknown = [_called(one) for one, keys in zip(pair.ends, pair.keys, strict=True) if keys is None]
        return TalkCheck("pkey", UNKNOWN, f"the P_Key table is not known of {_some(unknown)}: {_GET_KEYS}")
    facts = tuple(Fact(" ".join(map(str, keys.keys)), keys.source, keys.line) for keys in (mine, theirs))
    met = meeting(mine, theirs)
    if met.can_talk:
        text = f"both are in {_numbers(met.open)}, one of them at least as a full member"
        return TalkCheck("pkey", YES, text, facts)
    if met.can_talk is None:
        return TalkCheck("pkey", UNKNOWN, "what is known of the two P_Key tables has no partition in common", facts)
    if met.limited:
        return TalkCheck("pkey", NO, f"both are limited members of all that they share: {_numbers(met.limited)}", facts)
    return TalkCheck("pkey", NO, "they share no partition", facts)


def _way_there(pair: Pair) -> TalkCheck:
    if pair.router is not None and pair.there is not None:
        told = _way("route", pair, pair.there, pair.a, pair.router)
        if told.answer != YES:
            return told
        text = f"to the router {_called(pair.router)}: {told.text}; how it goes on from there is not known here"
        return told._replace(answer=UNKNOWN, text=text)
    return _way("route", pair, pair.there, pair.a, pair.b)


def _way_back(pair: Pair) -> TalkCheck:
    return _way("route_back", pair, pair.back, pair.b, pair.a)


def _way(name: str, pair: Pair, route: Route | None, start: EndPort, target: EndPort) -> TalkCheck:
    """A way through the forwarding tables (14.2.5.10)."""
    if route is None:
        why = (
            f"{start.given} is no port that was seen here"
            if start.end is None
            else f"{_called(target)} has no LID here"
        )
        return TalkCheck(name, UNKNOWN, f"{why}, so there is no way to follow")
    names = [_called_node(pair.fabric, table.guid) for table in route.tables]
    facts = tuple(
        Fact(f"forwarding table of {name}", table.source, table.line)
        for name, table in zip(names, route.tables, strict=True)
    )
    text = describe(pair.fabric, route)
    if route.result not in UNKNOWN_ENDS:
        return TalkCheck(name, YES if route.arrived else NO, text, facts)
    node = pair.fabric.nodes.get(route.at.guid)
    if route.result == NO_TABLE and node and node.lid:
        text += f": `ibroute {node.lid}` and `saquery LFTR {node.lid}` tell it"
    return TalkCheck(name, UNKNOWN, text, facts)


def _mtu(pair: Pair) -> TalkCheck:
    """What a port may send (14.2.5.6, NeighborMTU) must fit into what the other end of the link takes (MTUCap)."""
    for hop in pair.hops:
        sends, takes = port_at(pair.fabric, hop.exit).mtu_bytes, port_at(pair.fabric, hop.entry).max_mtu_bytes
        if sends is not None and takes is not None and takes < sends:
            exit_port, entry = _where(pair.fabric, hop.exit), _where(pair.fabric, hop.entry)
            text = f"{exit_port} sends up to {sends} bytes, {entry} takes {takes}: larger packets are lost"
            return TalkCheck("mtu", NO, text, _facts(pair, hop))
    return _least(pair, "mtu", "MTU", "bytes", lambda port: port.mtu_bytes)


def _rate(pair: Pair) -> TalkCheck:
    """Width times speed of each link (14.2.5.6, LinkWidthActive and the speeds)."""
    return _least(pair, "rate", "rate", "Gb/s", lambda port: rate_gbps(port.width, port.speed))


def _least(pair: Pair, name: str, word: str, unit: str, value_of: Callable[[FabricPort], float | None]) -> TalkCheck:
    values = {hop.exit: value_of(port_at(pair.fabric, hop.exit)) for hop in pair.hops}
    unknown = [_where(pair.fabric, end) for end, value in values.items() if value is None]
    if unknown:
        return TalkCheck(name, UNKNOWN, f"the {word} is not known of {_some(unknown)}: {_GET_PORT}")
    if pair.router or not (pair.there and pair.back and pair.there.arrived and pair.back.arrived):
        return TalkCheck(name, UNKNOWN, f"the {word} of the way is not known, for not all of the way is")
    known = [value for value in values.values() if value is not None]
    text = f"the least {word} on the way is {min(known):g} {unit}" if known else f"no link on the way limits the {word}"
    return TalkCheck(name, YES, text, _facts(pair, values))


_CHECKS: tuple[Callable[[Pair], TalkCheck], ...] = (
    _link, _lid, _manager, _prefix, _partition, _way_there, _way_back, _mtu, _rate,
)  # fmt: skip


def _facts(pair: Pair, ends: Iterable[End] | None = None) -> tuple[Fact, ...]:
    """Who told of the two ports, or of others."""
    if ends is None:
        ends = [one.end for one in pair.ends if one.end]
    told = {pair.sources.get(end, pair.fabric.source): end for end in ends}
    return tuple(
        Fact("topology" if source == pair.fabric.source else _where(pair.fabric, end), source)
        for source, end in told.items()
    ) or (Fact("topology", pair.fabric.source),)


def _where(fabric: Fabric, end: End) -> str:
    return f"{_called_node(fabric, end.guid)} port {end.port}"


def _called_node(fabric: Fabric, guid: Guid) -> str:
    node = fabric.nodes.get(guid)
    return (node.name or "").strip() or str(guid) if node else str(guid)


def _called(one: EndPort) -> str:
    if one.end is None:
        return one.given
    return f"{(one.name or '').strip() or one.end.guid} port {one.end.port}"


def _prefix_text(prefix: int) -> str:
    return str(Gid(prefix << 64))[:19]


def _numbers(partitions: Iterable[int]) -> str:
    return " ".join(f"{partition:#06x}" for partition in partitions)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more
