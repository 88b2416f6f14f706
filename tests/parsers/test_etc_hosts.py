"""/etc/hosts as the C library reads it (glibc, nss_files)."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.etc_hosts import HostLine, canonical_address, parse

TEXT = """\
# comment
127.0.0.1\tlocalhost
10.10.0.2  n02-ib0 n02-ib0.cluster.example   # the second
FD00:0::1 n01
10.10.0.3
010.0.0.1 octal
fe80::1%eth0 scoped\r
"""


def test_lines_names_and_comments() -> None:
    parsed = parse(TEXT, source="/etc/hosts")
    assert parsed.value == (
        HostLine("127.0.0.1", ("localhost",), 2),
        HostLine("10.10.0.2", ("n02-ib0", "n02-ib0.cluster.example"), 3),
        HostLine("fd00::1", ("n01",), 4),
        HostLine("fe80::1%eth0", ("scoped",), 7),
    )
    assert [(problem.line, problem.source) for problem in parsed.problems] == [(5, "/etc/hosts"), (6, "/etc/hosts")]


@pytest.mark.parametrize("text", ["10.0.0.1/24", "10.0.0", "1::2::3", "10.0.0.1%eth0", "", "n01", "0x0a000001", "\x00"])
def test_what_is_no_address(text: str) -> None:
    assert canonical_address(text) is None


@given(st.integers(0, (1 << 128) - 1))
def test_any_spelling_of_an_address_is_one(number: int) -> None:
    address = ipaddress.IPv6Address(number)
    canonical = canonical_address(address.exploded.upper())
    assert canonical is not None
    assert ipaddress.IPv6Address(canonical) == address


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    parse(text)


def test_a_long_line_costs_that_line() -> None:
    parsed = parse("10.0.0.1 a\n" + "x" * 10_000_000 + "\n10.0.0.2 b\n")
    assert [line.line for line in parsed.value] == [1, 3]
