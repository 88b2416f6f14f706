"""``ip -j route`` of iproute2 6.1: recorded lines, and a count by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ip_json import parse_neighbours
from ibkit.parsers.ip_route import parse

#: Recorded on Linux 6.1 (`ip -j route`, `ip -j -6 route`); the multipath row is in the form that ip/iproute.c prints.
FOUR = (
    '[{"dst":"default","gateway":"192.0.2.1","dev":"eth0","flags":[]},'
    '{"dst":"192.0.2.0/24","dev":"eth0","protocol":"kernel","scope":"link","prefsrc":"192.0.2.2","flags":[]},'
    '{"dst":"10.9.0.7","dev":"ib0","scope":"link","metric":50,"flags":[]},'
    '{"type":"blackhole","dst":"10.8.0.0/16","flags":[]},'
    '{"dst":"10.7.0.0/16","flags":[],"nexthops":[{"gateway":"10.0.0.1","dev":"ib0","weight":1,"flags":[]},'
    '{"via":{"family":"inet6","host":"fe80::1"},"dev":"ib1","weight":1,"flags":[]}]},{}]'
)
SIX = (
    '[{"dst":"fd00::/64","dev":"eth0","protocol":"kernel","metric":256,"flags":[],"pref":"medium"},'
    '{"dst":"default","gateway":"fd00::1","dev":"eth0","metric":1024,"flags":[],"pref":"medium"}]'
)


def test_ipv4() -> None:
    routes = parse(FOUR).value
    assert [(one.bits, one.network, one.length, one.device, one.gateway, one.metric) for one in routes] == [
        (32, 0, 0, "eth0", "192.0.2.1", 0),
        (32, 0xC0000200, 24, "eth0", None, 0),
        (32, 0x0A090007, 32, "ib0", None, 50),
        (32, 0x0A080000, 16, None, None, 0),
        (32, 0x0A070000, 16, "ib0", "10.0.0.1", 0),
        (32, 0x0A070000, 16, "ib1", "fe80::1", 0),
    ]
    assert (routes[1].source, routes[3].kind) == ("192.0.2.2", "blackhole")
    assert [one.holds(32, 0xC0000299) for one in routes] == [True, True, False, False, False, False]
    assert not routes[0].holds(128, 1)


def test_ipv6_and_its_default_route() -> None:
    routes = parse(SIX).value
    assert [(one.bits, one.network >> 112, one.length, one.metric) for one in routes] == [
        (128, 0xFD00, 64, 256), (128, 0, 0, 1024),
    ]  # fmt: skip


def test_rows_that_are_no_routes_are_counted() -> None:
    parsed = parse('[{"dst":"10.0.0.0/33"},{"dst":7},{"dst":"x"},{"dst":"10.0.0.0/8","dev":"ib0"}]')
    assert len(parsed.value) == 1
    assert "3 rows" in parsed.problems[0].text


@pytest.mark.parametrize("text", ["", "{}", "Object does not exist", "[" * 100_000])
def test_no_list(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda inner: st.lists(inner)))
def test_any_json_is_read_or_refused(value: object) -> None:
    import json

    for text in (json.dumps([{"dst": value, "nexthops": value, "via": value}]), json.dumps(value)):
        try:
            parse(text)
        except NotThisFormat:
            assert not isinstance(value, list) or text != json.dumps(value)


def test_neighbours_with_their_states_and_ages() -> None:
    """Recorded with `ip -j -s neigh`."""
    text = (
        '[{"dst":"192.0.2.1","dev":"eth0","lladdr":"02:fc:00:00:00:05","used":345,"confirmed":345,"updated":312,'
        '"probes":1,"state":["STALE"]},{"dst":"fd00::1","dev":"eth0","used":688,"confirmed":11786,"updated":687,'
        '"probes":6,"state":["FAILED"]}]'
    )
    first, second = parse_neighbours(text).value
    assert (first.lladdr, first.states, first.confirmed_seconds) == ("02:fc:00:00:00:05", ("STALE",), 345)
    assert (second.lladdr, second.states, second.confirmed_seconds) == (None, ("FAILED",), 11786)
