"""Ways through forwarding tables: each topology is drawn in its test, and the way followed with a finger."""

from __future__ import annotations

import pytest
from support.drawn import drawn, end, guid, tables

from ibkit.model.fabric import End, FabricPort
from ibkit.model.routes import (
    ARRIVED,
    LOOP,
    NO_CABLE,
    NO_EXIT,
    NO_LID,
    NO_START,
    NO_TABLE,
    PORT_DOWN,
    UNREACHABLE,
    WRONG_NODE,
    ForwardingTable,
    Route,
    Routes,
    agreed,
    describe,
    end_ports,
    lid_of,
    owners_of,
    port_of,
    route_to,
)

#: h1 --1[s1]3--3[s2]1-- h2
#:         4------4          two cables between the switches; h3 is at s2, too.
NET = drawn(
    ["h1/1 s1/1", "s1/3 s2/3", "s1/4 s2/4", "h2/1 s2/1", "h3/1 s2/2"],
    {"h1/1": 1, "h2/1": 2, "h3/1": 3, "s1": 11, "s2": 12},
)
GOOD = tables("s1: 1>1 2>3 3>4 11>0 12>3", "s2: 1>4 2>1 3>2 11>3 12>0")


def hops(route: Route) -> list[tuple[End, End]]:
    return [(hop.exit, hop.entry) for hop in route.hops]


def way(*texts: str) -> list[tuple[End, End]]:
    return [(end(one), end(other)) for one, other in (text.split() for text in texts)]


def test_there_and_back_may_differ() -> None:
    there = route_to(NET, GOOD, end("h1/1"), 2)
    assert (there.result, there.arrived, there.at) == (ARRIVED, True, end("h2/1"))
    assert hops(there) == way("h1/1 s1/1", "s1/3 s2/3", "s2/1 h2/1")
    assert [table.guid for table in there.tables] == [guid("s1"), guid("s2")]
    back = route_to(NET, GOOD, end("h2/1"), 1)
    assert hops(back) == way("h2/1 s2/1", "s2/4 s1/4", "s1/1 h1/1")
    assert describe(NET, there) == "LID 2 is reached over 3 links"


def test_to_and_from_a_switch_itself() -> None:
    route = route_to(NET, GOOD, end("h1/1"), 12)
    assert (route.result, route.at) == (ARRIVED, end("s2/0"))
    assert hops(route) == way("h1/1 s1/1", "s1/3 s2/3")
    route = route_to(NET, GOOD, end("s2/0"), 1)
    assert hops(route) == way("s2/4 s1/4", "s1/1 h1/1")


def test_to_itself() -> None:
    for start, lid in (("h1/1", 1), ("s1/0", 11)):
        route = route_to(NET, Routes({}, None), end(start), lid)
        assert (route.result, route.hops, route.at) == (ARRIVED, (), end(start))


def test_back_to_back_without_a_switch() -> None:
    net = drawn(["h1/1 h2/1"], {"h1/1": 1, "h2/1": 2})
    assert route_to(net, Routes({}, None), end("h1/1"), 2).arrived is True
    assert route_to(net, Routes({}, None), end("h1/1"), 9).result == NO_LID, "it may be a virtual port's"


def test_a_loop() -> None:
    bad = tables("s1: 2>3", "s2: 2>4")
    route = route_to(NET, bad, end("h1/1"), 2)
    assert (route.result, route.arrived) == (LOOP, False)
    assert hops(route) == way("h1/1 s1/1", "s1/3 s2/3", "s2/4 s1/4")
    assert route.at == end("s1/4")
    assert "loop" in describe(NET, route)


def test_no_exit_is_unreachable_and_an_unknown_one_is_not() -> None:
    bad = tables("s1: 1>1 2>255")
    route = route_to(NET, bad, end("h1/1"), 2)
    assert (route.result, route.arrived, route.at) == (UNREACHABLE, False, end("s1/1"))
    assert "0x00000000000000a1 (s1 box) has no exit for LID 2" in describe(NET, route)
    part = tables("s1: 1>1", covers=None)
    route = route_to(NET, part, end("h1/1"), 2)
    assert (route.result, route.arrived, route.at) == (NO_TABLE, None, end("s1/1"))
    assert route_to(NET, part, end("s1/0"), 1).result == ARRIVED, "a row that is there counts"


def test_a_lid_beyond_what_a_table_covers_is_not_known() -> None:
    table = ForwardingTable(guid("s1"), bytes([255, 1, 3]), ((0, 2),))
    assert [table.exit_of(lid) for lid in (0, 1, 2, 3)] == [NO_EXIT, 1, 3, None]
    two = ForwardingTable(guid("s1"), b"", ((0, 63), (65, 49151)))
    assert [two.exit_of(lid) for lid in (63, 64, 65, 49151, 49152)] == [NO_EXIT, None, NO_EXIT, NO_EXIT, None]


def test_the_first_table_that_knows_tells() -> None:
    part = ForwardingTable(guid("s1"), bytes([255, 1]), (), "part")
    whole = ForwardingTable(guid("s1"), bytes([255, 4, 3]), ((0, 2),), "whole")
    routes = Routes({guid("s1"): (part, whole)}, None)
    assert routes.table_for(guid("s1"), 1) is part
    assert routes.table_for(guid("s1"), 2) is whole
    assert routes.table_for(guid("s1"), 9) is None
    assert routes.table_for(guid("s2"), 1) is None


@pytest.mark.parametrize(("exit_port", "text"), [(2, "port 2, which has no link"), (77, "port 77, which has no link")])
def test_a_port_without_a_link_or_none_at_all(exit_port: int, text: str) -> None:
    route = route_to(NET, tables(f"s1: 2>{exit_port}"), end("h1/1"), 2)
    assert (route.result, route.exit_port, route.at) == (PORT_DOWN, exit_port, end("s1/1"))
    assert text in describe(NET, route)


def test_a_start_without_a_link() -> None:
    net = drawn(["h1/1 s1/1"], {"h1/1": 1, "h2/1": 2, "s1": 11})
    route = route_to(net, GOOD, end("h2/1"), 1)
    assert (route.result, route.hops) == (PORT_DOWN, ())
    assert describe(net, route) == "port 1 of 0x00000000000000b2 (h2 box), where the way begins, has no link"


def test_a_port_that_is_down_though_a_cable_is_known() -> None:
    node = NET.nodes[guid("s1")]
    ports = tuple(port._replace(state="Down") if port.number == 3 else port for port in node.ports)
    net = NET._replace(nodes={**NET.nodes, node.guid: node._replace(ports=ports)})
    assert route_to(net, GOOD, end("h1/1"), 2).result == PORT_DOWN


def test_a_cable_that_is_not_known() -> None:
    node = NET.nodes[guid("s1")]
    ports = tuple(FabricPort(port.number) if port.number == 3 else port for port in node.ports)
    net = NET._replace(nodes={**NET.nodes, node.guid: node._replace(ports=ports)})
    route = route_to(net, GOOD, end("h1/1"), 2)
    assert (route.result, route.arrived) == (NO_CABLE, None)
    stranger = NET._replace(nodes={one: node for one, node in NET.nodes.items() if one != guid("s2")})
    assert route_to(stranger, GOOD, end("h1/1"), 2).result == NO_CABLE


def test_the_wrong_host_gets_it() -> None:
    route = route_to(NET, tables("s1: 2>3", "s2: 2>2"), end("h1/1"), 2)
    assert (route.result, route.arrived, route.at) == (WRONG_NODE, False, end("h3/1"))
    route = route_to(NET, tables("s1: 2>0"), end("h1/1"), 2)
    assert (route.result, route.at) == (WRONG_NODE, end("s1/0"))


def test_an_end_whose_lid_is_not_known() -> None:
    net = drawn(["h1/1 s1/1", "h2/1 s1/2"], {"h1/1": 1})
    route = route_to(net, tables("s1: 2>2"), end("h1/1"), 2)
    assert (route.result, route.arrived, route.at) == (NO_LID, None, end("h2/1"))


def test_a_lid_that_only_the_tables_know() -> None:
    """h2 has LID 2, and may have a virtual port with LID 40."""
    route = route_to(NET, tables("s1: 40>3", "s2: 40>1"), end("h1/1"), 40)
    assert (route.result, route.arrived, route.at) == (NO_LID, None, end("h2/1"))


def test_a_start_that_was_not_seen() -> None:
    route = route_to(NET, GOOD, end("h9/1"), 2)
    assert (route.result, route.arrived) == (NO_START, None)


def test_each_lid_of_a_range_has_its_way() -> None:
    """LMC 2: four LIDs a port. LIDs 4 to 7 are h1's, 8 to 11 h2's."""
    net = drawn(["h1/1 s1/1", "s1/3 s2/3", "s1/4 s2/4", "h2/1 s2/1"], {"h1/1": 4, "h2/1": 8}, lmc=2)
    routes = tables("s1: 8>3 9>4 10>3 11>255", "s2: 8>1 9>1 10>1")
    assert [route_to(net, routes, end("h1/1"), lid).result for lid in (8, 9, 10, 11)] == [
        ARRIVED, ARRIVED, ARRIVED, UNREACHABLE,
    ]  # fmt: skip
    assert hops(route_to(net, routes, end("h1/1"), 9))[1] == (end("s1/4"), end("s2/4"))
    owners = owners_of(net)
    assert [owners.of(lid) for lid in (3, 4, 7, 8, 11, 12)] == [
        (), (end("h1/1"),), (end("h1/1"),), (end("h2/1"),), (end("h2/1"),), (),
    ]  # fmt: skip


def test_a_lid_given_twice_has_two_owners() -> None:
    net = drawn(["h1/1 s1/1", "h2/1 s1/2"], {"h1/1": 5, "h2/1": 5, "s1": 9})
    assert set(owners_of(net).of(5)) == {end("h1/1"), end("h2/1")}


def test_ports_and_lids() -> None:
    assert [(one, lid_of(NET, one)) for one in end_ports(NET)] == [
        (end("s1/0"), 11), (end("s2/0"), 12), (end("h1/1"), 1), (end("h2/1"), 2), (end("h3/1"), 3),
    ]  # fmt: skip
    assert lid_of(NET, end("s1/3")) == 11
    node = NET.nodes[guid("s1")]
    assert port_of(node, 0) == FabricPort(0, guid("s1"), 11)
    assert [getattr(port_of(node, number), "number", None) for number in (1, 4, 5)] == [1, 4, None]
    with_zero = node._replace(ports=(FabricPort(0, lid=11), *node.ports))
    assert [getattr(port_of(with_zero, number), "number", None) for number in (0, 1, 4, 5)] == [0, 1, 4, None]


def test_tables_of_one_switch_that_differ() -> None:
    one = ForwardingTable(guid("s1"), bytes([255, 1, 2, 3, 255]), ((0, 9),))
    other = ForwardingTable(guid("s1"), bytes([255, 1, 9, 255, 4]), ((0, 3), (5, 9)))
    tables, disputed = agreed([one, other])
    assert disputed == (2, 3, 4)
    assert [tables[0].exit_of(lid) for lid in range(11)] == [255, 1, None, None, None, 255, 255, 255, 255, 255, None]
    assert tables[1].covers == ((0, 1), (5, 9))
    assert agreed([one, one]) == ((one, one), ())
    assert agreed([]) == ((), ())
