"""Can A talk to B: each check, known to hold, known not to, and not known. One thing is changed at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.drawn import drawn, end, guid, tables

from ibkit.model.ends import EndPort, end_port
from ibkit.model.fabric import End, Fabric, FabricPort
from ibkit.model.ids import Guid, PKey
from ibkit.model.partitions import PortKeys
from ibkit.model.routes import Routes, owners_of, route_to
from ibkit.model.talk import (
    NO,
    UNKNOWN,
    YES,
    Pair,
    can_talk,
    checks_of,
    least_mtu_bytes,
    least_rate_gbps,
    same_subnet,
    same_way,
)
from ibkit.parsers.base import Problem

FE80 = 0xFE80 << 48
GOOD = {"state": "Active", "mtu_bytes": 4096, "max_mtu_bytes": 4096, "sm_lid": 11, "subnet_prefix": FE80}
NET = drawn(["h1/1 s1/1", "s1/3 s2/3", "s1/4 s2/4", "h2/1 s2/1"], {"h1/1": 1, "h2/1": 2, "s1": 11, "s2": 12}, **GOOD)
TABLES = tables("s1: 1>1 2>3", "s2: 1>3 2>1")
FULL_KEYS, LIMITED_KEYS = (0xFFFF,), (0x7FFF,)


def keys(*values: int, whole: bool = True) -> PortKeys:
    return PortKeys(Guid(1), 1, tuple(map(PKey, values)), whole=whole, source="saquery PKTR", line=7)


FULL_TABLE, LIMITED_TABLE = keys(*FULL_KEYS), keys(*LIMITED_KEYS)


def pair(
    net: Fabric = NET,
    routes: Routes = TABLES,
    *,
    a: str = "h1/1",
    b: str = "h2/1",
    mine: PortKeys | None = FULL_TABLE,
    theirs: PortKeys | None = LIMITED_TABLE,
) -> Pair:
    start, goal = end_port(net, end(a)), end_port(net, end(b))
    there = route_to(net, routes, end(a), goal.lid) if goal.lid else None
    back = route_to(net, routes, end(b), start.lid) if start.lid else None
    return Pair(net, owners_of(net), {}, start, goal, there, back, (mine, theirs))


def changed(where: str, **fields: object) -> Fabric:
    """NET with one port that is different."""
    place = end(where)
    node = NET.nodes[place.guid]
    ports = tuple(port._replace(**fields) if port.number == place.port else port for port in node.ports)
    return NET._replace(nodes={**NET.nodes, node.guid: node._replace(ports=ports)})


def answers(one: Pair) -> dict[str, str]:
    return {check.id: check.answer for check in checks_of(one)}


def the(name: str, one: Pair) -> tuple[str, str]:
    return next((check.answer, check.text) for check in checks_of(one) if check.id == name)


IDS = ["link", "lid", "sm", "prefix", "pkey", "route", "route_back", "mtu", "rate"]


def test_all_holds() -> None:
    checks = checks_of(pair())
    assert [(check.id, check.answer) for check in checks] == [(name, YES) for name in IDS]
    assert can_talk(checks) is True
    texts = {check.id: check.text for check in checks}
    assert texts["mtu"] == "the least MTU on the way is 4096 bytes"
    assert texts["rate"] == "the least rate on the way is 200 Gb/s"
    assert texts["sm"] == "both were told of the subnet manager at LID 11"
    assert texts["prefix"] == "both have the subnet prefix fe80:0000:0000:0000"
    assert [(fact.text, fact.source, fact.line) for fact in checks[4].evidence] == [
        ("0xffff", "saquery PKTR", 7), ("0x7fff", "saquery PKTR", 7),
    ]  # fmt: skip
    assert [fact.text for fact in checks[5].evidence] == ["forwarding table of s1 box", "forwarding table of s2 box"]


@pytest.mark.parametrize(
    ("where", "fields", "name", "answer", "text"),
    [
        ("s1/3", {"state": "Initialize"}, "link", NO, "no data passes: s1 box port 3 is Initialize"),
        ("h2/1", {"state": "Down"}, "link", NO, "no data passes: h2 box port 1 is Down"),
        ("h2/1", {"state": "Armed"}, "link", UNKNOWN, "did not finish: h2 box port 1"),
        ("s2/1", {"state": None}, "link", UNKNOWN, "not known of s2 box port 1"),
        ("h2/1", {"state": "Initializing"}, "link", NO, "no data passes: h2 box port 1 is Initializing"),
        ("h2/1", {"state": "? (9)"}, "link", UNKNOWN, "not known of h2 box port 1"),
        ("h1/1", {"sm_lid": None}, "sm", UNKNOWN, "not known of h1 box port 1"),
        ("h1/1", {"sm_lid": 12}, "sm", UNKNOWN, "h1 box port 1 was told LID 12, h2 box port 1 LID 11"),
        ("h1/1", {"subnet_prefix": None}, "prefix", UNKNOWN, "not known of h1 box port 1"),
        ("h1/1", {"subnet_prefix": 0xFEC0 << 48 | 5}, "prefix", NO, "fec0:0000:0000:0005 and fe80:0000:0000:0000"),
        ("s1/3", {"mtu_bytes": None}, "mtu", UNKNOWN, "not known of s1 box port 3"),
        ("s1/3", {"mtu_bytes": 2048}, "mtu", YES, "the least MTU on the way is 2048 bytes"),
        ("h2/1", {"max_mtu_bytes": 2048}, "mtu", NO, "s2 box port 1 sends up to 4096 bytes, h2 box port 1 takes 2048"),
        ("s1/3", {"speed": None}, "rate", UNKNOWN, "not known of s1 box port 3"),
        ("s1/3", {"speed": "HDR9"}, "rate", UNKNOWN, "not known of s1 box port 3"),
        ("s1/3", {"width": "1x"}, "rate", YES, "the least rate on the way is 50 Gb/s"),
    ],
)  # fmt: skip
def test_one_port_is_different(where: str, fields: dict[str, object], name: str, answer: str, text: str) -> None:
    one = pair(changed(where, **fields))
    assert the(name, one)[0] == answer
    assert text in the(name, one)[1]
    assert can_talk(checks_of(one)) is {YES: True, NO: False, UNKNOWN: None}[answer]
    others = {other for other, told in answers(one).items() if told != YES and other != name}
    assert others <= ({"route", "route_back", "mtu", "rate"} if fields.get("state") == "Down" else set())


def test_a_port_that_is_not_on_the_way_does_not_matter() -> None:
    assert can_talk(checks_of(pair(changed("s1/4", state="Down", mtu_bytes=256, speed=None)))) is True


@pytest.mark.parametrize(
    ("mine", "theirs", "answer", "text"),
    [
        (keys(*FULL_KEYS), keys(*FULL_KEYS), YES, "both are in 0x7fff"),
        (keys(*LIMITED_KEYS), keys(*LIMITED_KEYS), NO, "both are limited members of all that they share: 0x7fff"),
        (keys(0x8001), keys(0x8002), NO, "they share no partition"),
        (keys(*LIMITED_KEYS, whole=False), keys(*LIMITED_KEYS), UNKNOWN, "no partition in common"),
        (None, keys(*FULL_KEYS), UNKNOWN, "the P_Key table is not known of h1 box port 1:"),
        (None, None, UNKNOWN, "the P_Key table is not known of h1 box port 1, h2 box port 1:"),
    ],
)
def test_partitions(mine: PortKeys | None, theirs: PortKeys | None, answer: str, text: str) -> None:
    one = pair(mine=mine, theirs=theirs)
    assert the("pkey", one)[0] == answer
    assert text in the("pkey", one)[1]
    assert can_talk(checks_of(one)) is {YES: True, NO: False, UNKNOWN: None}[answer]


def test_a_no_beats_what_is_not_known() -> None:
    one = pair(changed("s1/3", mtu_bytes=None), mine=keys(1), theirs=keys(2))
    assert can_talk(checks_of(one)) is False


@pytest.mark.parametrize(
    ("routes", "answer", "text"),
    [
        (tables("s1: 1>1 2>4", "s2: 1>3 2>1"), YES, "LID 2 is reached over 3 links"),
        (tables("s1: 1>1 2>255", "s2: 1>3 2>1"), NO, "has no exit for LID 2"),
        (tables("s1: 1>1 2>3", "s2: 1>3 2>3"), NO, "a loop"),
        (tables("s1: 1>1 2>2", "s2: 1>3 2>1"), NO, "port 2, which has no link"),
        (tables("s1: 1>1 2>1", "s2: 1>3 2>1"), NO, "ends at 0x00000000000000b1 (h1 box) port 1"),
        (
            tables("s1: 1>1 2>3", "s2: 1>3", covers=None),
            UNKNOWN,
            "not known: `ibroute 12` and `saquery LFTR 12` tell it",
        ),
    ],
)
def test_the_way_there(routes: Routes, answer: str, text: str) -> None:
    one = pair(routes=routes)
    assert (the("route", one)[0], the("route_back", one)[0]) == (answer, YES)
    assert text in the("route", one)[1]
    if answer != YES:
        assert the("mtu", one)[0] == the("rate", one)[0] == UNKNOWN, "nobody knows the least of a way that is not whole"


def test_ways_may_differ() -> None:
    assert same_way(pair()) is True
    assert same_way(pair(routes=tables("s1: 1>1 2>4", "s2: 1>3 2>1"))) is False
    assert same_way(pair(routes=tables("s1: 1>1 2>255", "s2: 1>3 2>1"))) is None


def without(net: Fabric, change: Callable[[FabricPort], FabricPort]) -> Fabric:
    node = net.nodes[guid("h2")]
    return net._replace(nodes={**net.nodes, node.guid: node._replace(ports=tuple(map(change, node.ports)))})


def test_lids() -> None:
    bare = without(NET, lambda port: port._replace(lid=None))
    assert the("lid", pair(bare)) == (NO, "h2 box port 1 has no LID that is known")
    assert the("lid", pair(bare._replace(complete=None)))[0] == UNKNOWN
    disputed = bare._replace(problems=(Problem("contradiction", "h2 has the LIDs 2, 3"),))
    assert the("lid", pair(disputed))[0] == UNKNOWN, "it has one, and nobody knows which"
    unlinked = without(NET, lambda port: FabricPort(1, port.guid, None, linked=False))
    assert the("lid", pair(unlinked))[0] == UNKNOWN
    assert the("link", pair(unlinked)) == (NO, "no data passes: h2 box port 1 has no link")
    twice = drawn(["h1/1 s1/1", "h2/1 s1/2", "h3/1 s1/3"], {"h1/1": 1, "h2/1": 2, "h3/1": 2, "s1": 11}, **GOOD)
    answer, text = the("lid", pair(twice))
    assert (answer, text) == (NO, "LID 2 of h2 box port 1 is that of h3 box port 1, too")


def test_ranges_of_lids_that_overlap() -> None:
    net = drawn(["h1/1 s1/1", "h2/1 s1/2"], {"h1/1": 4, "h2/1": 6, "s1": 12}, lmc=2, **GOOD)
    assert the("lid", pair(net))[0] == NO


def test_an_end_that_was_not_seen() -> None:
    stranger = EndPort("50", lid=50)
    known = pair()
    there = route_to(NET, TABLES, end("h1/1"), 50)
    one = known._replace(b=stranger, there=there, back=None, keys=(known.keys[0], None))
    assert answers(one) == {
        "link": UNKNOWN, "lid": NO, "sm": UNKNOWN, "prefix": UNKNOWN, "pkey": UNKNOWN, "route": NO,
        "route_back": UNKNOWN, "mtu": UNKNOWN, "rate": UNKNOWN,
    }  # fmt: skip
    assert the("lid", one)[1] == "no port of this subnet has LID 50"
    part = one._replace(fabric=NET._replace(complete=False))
    assert the("lid", part)[0] == UNKNOWN


def test_a_lid_that_the_tables_lead_to_a_host() -> None:
    """It may be one more LID of that host, so nothing says that nobody has it."""
    there = route_to(NET, tables("s1: 50>3", "s2: 50>1"), end("h1/1"), 50)
    one = pair()._replace(b=EndPort("50", lid=50), there=there, back=None)
    assert (answers(one)["lid"], answers(one)["route"]) == (UNKNOWN, UNKNOWN)
    assert "the tables lead to h2 box port 1, which may have it" in the("lid", one)[1]


def test_switches_as_ends() -> None:
    node = NET.nodes[guid("s2")]
    port0 = FabricPort(0, node.guid, 12, sm_lid=11, subnet_prefix=FE80, max_mtu_bytes=4096)
    net = NET._replace(nodes={**NET.nodes, node.guid: node._replace(port0=port0)})
    routes = tables("s1: 1>1 12>3", "s2: 1>3 12>0")
    assert can_talk(checks_of(pair(net, routes, b="s2/0"))) is True


def test_one_port_talks_to_itself() -> None:
    one = pair(b="h1/1", mine=keys(*FULL_KEYS), theirs=keys(*FULL_KEYS))
    assert can_talk(checks_of(one)) is True
    assert the("mtu", one) == (YES, "no link on the way limits the MTU")


ROUTED = drawn(
    ["h1/1 s1/1", "r1/1 s1/2"], {"h1/1": 1, "r1/1": 5, "s1": 11}, **{**GOOD, "subnet_prefix": 0xFEC0 << 48 | 1}
)
FAR = EndPort("fec0::2:0:0:0:b", port_guid=Guid(0xB), subnet_prefix=0xFEC0 << 48 | 2)


def routed(net: Fabric, routes: Routes) -> Pair:
    router = end_port(net, end("r1/1")) if end("r1/1").guid in net.nodes else None
    there = route_to(net, routes, end("h1/1"), 5) if router else None
    return Pair(net, owners_of(net), {}, end_port(net, end("h1/1")), FAR, there, None, (keys(0xFFFF), None), router)


def test_another_subnet_is_reached_through_a_router_and_only_the_first_leg_is_known() -> None:
    one = routed(ROUTED, tables("s1: 5>2"))
    answer, text = the("prefix", one)
    assert answer == UNKNOWN
    assert text.startswith(
        "two subnets, fec0:0000:0000:0001 and fec0:0000:0000:0002: packets need a router; here there is r1 box"
    )
    assert the("route", one)[0] == UNKNOWN
    assert the("route", one)[1].startswith("to the router r1 box port 1: LID 5 is reached over 2 links; how it goes on")
    assert can_talk(checks_of(one)) is None
    blocked = routed(ROUTED, tables("s1: 5>255"))
    assert (the("route", blocked)[0], can_talk(checks_of(blocked))) == (NO, False)


def test_another_subnet_without_a_router() -> None:
    net = drawn(["h1/1 s1/1"], {"h1/1": 1, "s1": 11}, **{**GOOD, "subnet_prefix": 0xFEC0 << 48 | 1})
    answer, text = the("prefix", routed(net, Routes({}, None)))
    assert (answer, text.endswith("and in this subnet there is none")) == (NO, True)
    assert the("prefix", routed(net._replace(complete=None), Routes({}, None)))[0] == UNKNOWN


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (FE80, FE80, True), (FE80, 0xFEC0 << 48, False), (0xFEC0 << 48 | 1, 0xFEC0 << 48 | 1, True),
        (0xFEC0 << 48 | 1, 0xFEC0 << 48 | 2, False),
        # A floating LID (octets 4 and 5) is no part of the subnet's number.
        (0xFEC0_0000_0007_0001, 0xFEC0_0000_0009_0001, True), (0xFEC0_0000_0007_0001, 0xFEC0_0000_0007_0002, False),
        (0x2001_0DB8_0000_0001, 0x2001_0DB8_0001_0001, False),  # global: all 64 bits count
    ],
)  # fmt: skip
def test_prefixes_of_one_subnet(one: int, other: int, same: bool) -> None:
    assert same_subnet(one, other) is same


def test_the_least_of_a_way() -> None:
    net = changed("s1/3", mtu_bytes=2048, width="1x")
    route = pair(net).there
    assert route
    assert (least_mtu_bytes(net, route), least_rate_gbps(net, route)) == (2048, 50.0)
    unknown = changed("s1/3", mtu_bytes=None, width=None)
    assert (least_mtu_bytes(unknown, route), least_rate_gbps(unknown, route)) == (None, None)
    assert least_mtu_bytes(net, route._replace(hops=())) is None


def test_what_is_said_of_ends_without_a_name() -> None:
    nameless = NET._replace(nodes={one: node._replace(name=None) for one, node in NET.nodes.items()})
    one = pair(nameless, mine=None)
    assert "not known of 0x00000000000000b1 port 1" in the("pkey", one)[1]
    assert End(guid("h1"), 1) == end("h1/1")
