"""What a text is taken for: by RFC 1123, inet_pton(3) and the InfiniBand specification, and as ibacm would not say."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.resolve.queries import BAD, GID, GUID, IP4, IP6, LID, NAME, cache_key, read_list, read_queries, read_query


@pytest.mark.parametrize(
    ("text", "kind", "name", "value"),
    [
        ("10.10.0.2", IP4, "10.10.0.2", 0x0A0A0002),
        ("ip:10.10.0.2", IP4, "10.10.0.2", 0x0A0A0002),
        ("FE80::A", IP6, "fe80::a", 0xFE80 << 112 | 10),
        ("fe80::a%ib0", IP6, "fe80::a%ib0", 0xFE80 << 112 | 10),
        ("gid:fe80::a", GID, "fe80:0000:0000:0000:0000:0000:0000:000a", 0xFE80 << 112 | 10),
        ("12", LID, "12", 12),
        ("0x0c", LID, "12", 12),
        ("lid:49151", LID, "49151", 49151),
        ("0xc42a10300000001", GUID, "0x0c42a10300000001", 0x0C42A10300000001),
        ("0c42a10300000001", GUID, "0x0c42a10300000001", 0x0C42A10300000001),
        ("0c42:a103:0000:0001", GUID, "0x0c42a10300000001", 0x0C42A10300000001),
        ("guid:1", GUID, "0x0000000000000001", 1),
        ("name:12", NAME, "12", 0),
        ("n01-ib0.cluster.example.", NAME, "n01-ib0.cluster.example", 0),
        ("deadbeef", NAME, "deadbeef", 0),
    ],
)
def test_forms(text: str, kind: str, name: str, value: int) -> None:
    query = read_query(text)
    assert (query.kind, query.name, query.value, query.bad, query.text) == (kind, name, value, None, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("010.010.000.011", "leading zeros"),
        ("10.10.0.256", "IPv4"),
        ("10.10.0.10/24", "network"),
        ("fd00::/64", "network"),
        ("1::2::3", "no IPv6"),
        ("10.0.0.1%ib0", "no address"),
        ("0", "none is assigned"),
        ("65535", "none is assigned"),
        ("0xc001", "multicast"),
        ("70000", "49151"),
        ("127.0.0.1", "loopback"),
        ("127.9.8.7", "loopback"),
        ("0.0.0.0", "no address at all"),
        ("224.0.0.251", "multicast"),
        ("239.1.2.3", "multicast"),
        ("255.255.255.255", "broadcast"),
        ("::1", "loopback"),
        ("::", "no address at all"),
        ("ff12::1", "multicast"),
        ("gid:ff12:401b:ffff::ffff:ffff", "multicast"),
        ("ip:ff02::1", "multicast"),
        ("::ffff:127.0.0.1", "loopback"),
        ("0000:0000:0000:0000:0000:ffff:e000:0001", "multicast"),
        ("0xzz", "no address"),
        ("", "empty"),
        ("a b", "blanks"),
        ("x" * 300, "too long"),
        ("n\x1b[31m01", "control"),
        ("-rf", "no address"),
        ("lid:n01", "no lid"),
        ("ip:n01", "no address"),
        ("guid:xyz", "no guid"),
    ],
)
def test_what_cannot_be_asked_for_is_no_name(text: str, words: str) -> None:
    query = read_query(text)
    assert query.bad is not None
    assert words in query.bad
    assert cache_key(query) is None


@given(st.text(max_size=60))
def test_no_text_raises(text: str) -> None:
    query = read_query(text)
    assert query.text == text
    assert query.bad is not None or query.kind != BAD


@given(st.integers(0, (1 << 32) - 1))
def test_every_ipv4_address(number: int) -> None:
    text = str(ipaddress.IPv4Address(number))
    query = read_query(text)
    assert query[:4] == (text, IP4, text, number)
    first = number >> 24
    assert (query.bad is not None) == (first in (0, 127) or 224 <= first < 240 or number == (1 << 32) - 1)


@given(st.integers(0, (1 << 128) - 1), st.booleans())
def test_every_ipv6_address_in_either_spelling(number: int, exploded: bool) -> None:
    address = ipaddress.IPv6Address(number)
    query = read_query(address.exploded if exploded else address.compressed)
    assert (query.kind, query.value) == (IP6, number)


def test_sets_and_lists() -> None:
    texts = [query.text for query in read_queries(["n[01-03]", "10.0.0.1", "a,b"])]
    assert texts == ["n01", "n02", "n03", "10.0.0.1", "a", "b"]
    assert read_list("# nodes\n10.0.0.1  n01 # the first\r\n\n5\n") == ["10.0.0.1", "n01", "5"]
    bad, good = read_queries(["n[3-1]", "n2"])
    assert (bad.kind, bad.text, bad.bad, good.kind) == (BAD, "n[3-1]", "the range 3-1 goes backwards", NAME)
