"""partitions.conf: the file of a recorded fabric, each rule of OpenSM's reader, hostile text."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.partitions_conf import Member, Multicast, Partition, parse

FT12 = (Path(__file__).parents[2] / "fixtures/tools/partitions.conf/ft12.txt").read_text()


def partitions_of(text: str) -> tuple[Partition, ...]:
    parsed = parse(text)
    assert (parsed.problems, parsed.complete, parsed.value.rejected_at) == ((), None, None)
    return parsed.value.partitions


def test_a_recorded_file() -> None:
    default, storage = partitions_of(FT12)
    assert (default.name, default.pkey, default.ipoib) == ("Default", 0x7FFF, True)
    assert default.members == (Member(None, "ALL", "full", 1),)
    assert (storage.name, storage.pkey, storage.ipoib) == ("storage", 1, False)  # 0x8001: only 15 bits count
    assert storage.members == (Member(None, "ALL", "limited", 2), Member(None, "SELF", "full", 2))


def test_default_membership() -> None:
    (partition,) = partitions_of("a=0x80, defmember=full: 0x1, 0x2=limited, 3, 0x4=both;")
    assert [(member.guid, member.membership) for member in partition.members] == [
        (1, "full"), (2, "limited"), (3, "full"), (4, "both"),
    ]  # fmt: skip
    assert partition.default_membership == "full"


def test_over_many_lines() -> None:
    text = (
        "# comment\na = 0x80 ,\tipoib , rate=7,mtu=5, sl=1 :  # head\n"
        " 0x1=full,\n\n 0x2, # two\n ALL_CAS\n;b=0x81:SELF=full;\n"
    )
    first, second = partitions_of(text)
    assert (first.name, first.line, first.flags) == ("a", 2, {"rate": 7, "mtu": 5, "sl": 1})
    assert first.members == (
        Member(1, None, "full", 3), Member(2, None, "limited", 5), Member(None, "ALL_CAS", "limited", 6),
    )  # fmt: skip
    assert (second.name, second.line) == ("b", 7)


def test_words_may_be_abbreviated() -> None:
    """OpenSM takes the first that starts so."""
    (partition,) = partitions_of("a=0x80, ipo, def=f: A=lim, ALL_S=full, S=b, 0x1=fu, NONE, N;")
    assert (partition.ipoib, partition.default_membership) == (True, "full")
    assert [(member.group, member.membership) for member in partition.members] == [
        ("ALL", "limited"), ("ALL_SWITCHES", "full"), ("SELF", "both"), (None, "full"),
    ]  # fmt: skip


def test_numbers_as_c_reads_them() -> None:
    (partition,) = partitions_of("a=0x80: 18446744073709551615=full, 010, 0XaB;")
    assert [member.guid for member in partition.members] == [(1 << 64) - 1, 8, 0xAB]


@pytest.mark.parametrize(
    ("head", "name", "pkey"),
    [
        ("a=0x8001", "a", 1),
        ("a", "a", None),
        ("0x8002", None, 2),
        ("=0x3", None, 3),
        ("3", None, 3),
        ("a=0x8000", "a", None),
    ],
)
def test_names_and_keys(head: str, name: str | None, pkey: int | None) -> None:
    (partition,) = partitions_of(f"{head}: ALL=full;")
    assert (partition.name, partition.pkey) == (name, pkey)


def test_multicast_groups() -> None:
    text = (
        "Default=0x7fff,ipoib:\n mgid=ff12:401b::707,sl=1 # IPv4\n"
        " mgid=ff12::1,Q_Key=0xDEADBEEF,rate=3,mtu=2\n ALL=full;\n"
    )
    (partition,) = partitions_of(text)
    assert partition.multicast == (
        Multicast("ff12:401b:0000:0000:0000:0000:0000:0707", {"sl": 1}, 2),
        Multicast("ff12:0000:0000:0000:0000:0000:0000:0001", {"Q_Key": 0xDEADBEEF, "rate": 3, "mtu": 2}, 3),
    )
    assert partition.members == (Member(None, "ALL", "full", 4),)


@pytest.mark.parametrize(
    "line",
    [
        "b 0x81 ALL=full;",
        "b=zz: ALL=full;",
        "b=0x81: 0xzz=full;",
        "b=0x81: 0=full;",
        "b=0x81: host1=full;",
        "b=0x81x:ALL;",
        "b=0x81: all=full;",
    ],
)
def test_one_error_rejects_the_file(line: str) -> None:
    parsed = parse(f"{FT12}{line}\nc=0x82: ALL=full;\n")
    assert (parsed.value.rejected_at, parsed.complete) == (3, False)
    (problem,) = parsed.problems
    assert (problem.kind, problem.line) == ("rejected", 3)
    assert "nothing of this file" in problem.text
    assert "c" not in [partition.name for partition in parsed.value.partitions]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a=0x80, foo: ALL=full;", "'foo' is no flag"),
        ("a=0x80, mtu=x: ALL=full;", "mtu=x"),
        ("a=0x80, defmember=none: ALL=full;", "defmember=none"),
        ("a=0x80: ALL=ful1;", "takes limited"),
        ("a=0x80: 0x1=full: 0x2;", "takes limited"),
        ("a=0x80: mgid=fe80::1\nALL=full;", "not a multicast GID"),
        ("a=0x80: mgid=ff12::1,x=1\nALL=full;", "'x' is no flag"),
        ("a=0x80: " + "0x1=full, " * 500 + "0x2;", "cuts"),
    ],
    ids=lambda text: text[:20],
)
def test_what_opensm_passes_over(text: str, said: str) -> None:
    parsed = parse(text)
    (problem,) = parsed.problems
    assert said in problem.text
    assert parsed.value.rejected_at is None


def test_a_definition_without_its_end() -> None:
    parsed = parse(FT12.rstrip().rstrip(";"))
    assert (len(parsed.value.partitions), parsed.complete) == (2, False)


@pytest.mark.parametrize(
    "text", ["", "# Default=0x7fff: ALL=full;\n", "hello\n", "a: b\n", "x=0x80\n", "PATH=/a:/b=full\n"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


PIECES = [
    "a=0x80",
    ":",
    ";",
    ",",
    "ALL",
    "=full",
    "0x1",
    "mgid=ff12::1",
    "\n",
    "#",
    "ipoib",
    "defmember=",
    "SELF=",
    "\u00e9",
]


@given(st.lists(st.one_of(st.text(max_size=9), st.sampled_from(PIECES)), max_size=60).map("".join))
def test_never_raises(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    for partition in parsed.value.partitions:
        assert partition.pkey is None or 0 < partition.pkey < 0x8000
        assert all((member.guid is None) != (member.group is None) for member in partition.members)


@pytest.mark.parametrize(
    "line", ["=" * 60_000, ":" * 60_000, ";" * 60_000, "a" * 199 + ":" + "=" * 60_000, ", " * 30_000, "0x1," * 15_000],
    ids=lambda line: line[:4],
)  # fmt: skip
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(FT12 + "z=0x9:\n" + f"0x1,\n{line}\n" * 10)
    assert time.process_time() - started < 2
