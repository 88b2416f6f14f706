"""Both sieves let through what may be new, wherever in a block it stands, and the same lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.bulk_sieve import BulkSieve
from ibkit.parsers.job_log import worths
from ibkit.parsers.line_sieve import TIME_BYTES, TIMED, Candidate, Sieve
from ibkit.parsers.log_lines import CONTEXT

LINES = [
    b"",
    b"step 12 | loss 0.4",
    b"n01:41:42 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0",
    b"n02:41:42 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [send] via NET/Socket/0",
    b"[n01:00041] mca: bml: Using tcp btl for send to [[1,1],1] on node n02",
]
UCX = b"[1772359200.%06d] [n01:41:0]      ucp_worker.c:1855 UCX  INFO    mpi inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)"
VERSION = b"NCCL version 2.18.5+cuda12.2"
MORE = [
    b"x" * 3000,
    b"12",
    b"NCCL " + b"y" * 2000,
    UCX % 1,
    UCX % 2,
    b"libfabric:1:1:core:mr:f():1<debug> search",
    VERSION,
]
TIMES = [
    b"",
    b"2026-03-01T12:00:%02d ",
    b"[2026-03-01 12:00:%02d] ",
    b"2026/03/01_12:00:%02d",
    b"2026-03-01T12:00:%02d.5",
    b"2026-03-01T12:00:%02d,123456789+01:00:",
    b"<2026-03-01 12:00:%02d.123456789 +01:00>:",
    b"2026-03-01 12:00:%02d UTC ",
    b"Sun Mar  1 12:00:%02d 2026",
]
NO_TIMES = [b"2026-03-01 ", b"node-1 ", b"Sun Mar ", b"12-3/45", b"[", b"+01:00 ", b" "]

BOTH = pytest.mark.parametrize("kind", [Sieve, BulkSieve])


@BOTH
@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(LINES)), min_size=1, max_size=12))
def test_empty_lines_hide_nothing_and_are_counted(
    kind: type[Sieve | BulkSieve], parts: list[tuple[int, bytes]]
) -> None:
    """Told of the same lines with a word in each empty one."""
    lines = [line for count, filled in parts for line in (*[b""] * count, filled)]
    count, found = kind(worths).candidates(b"\n".join(lines))
    _, same = kind(worths).candidates(b"\n".join(line or b"word" for line in lines))
    assert count == len(lines)
    assert found == same


@BOTH
def test_which_lines_are_let_through(kind: type[Sieve | BulkSieve]) -> None:
    block = b"\n" * 30 + b"\n".join(LINES)
    count, found = kind(worths).candidates(block)
    assert count == 35
    assert [(place, line) for place, line, _, _ in found] == list(enumerate(LINES[2:], 32))


@BOTH
def test_of_a_shape_whose_first_line_is_enough_no_other_block_is_told(kind: type[Sieve | BulkSieve]) -> None:
    sieve = kind(worths)
    line = b"libfabric:4711:1772359200:core:mr:ofi_mr_cache_search():%d<debug> search"
    _, first = sieve.candidates(b"step\n" + line % 1)
    _, second = sieve.candidates(line % 2 + b"\n" + LINES[2])
    assert [told for _, told, _, _ in first] == [line % 1]
    assert [told for _, told, _, _ in second] == [LINES[2]]


@BOTH
def test_a_time_makes_a_line_no_other_one(kind: type[Sieve | BulkSieve]) -> None:
    sieve = kind(worths)
    _, first = sieve.candidates(b"2026-03-01T12:00:01Z " + UCX % 7 + b"\n" + b"2026-03-01T12:00:01Z " + LINES[2])
    _, second = sieve.candidates(b"2026-03-01T12:00:02Z " + UCX % 8 + b"\n" + b"2026-03-01T12:00:03Z " + LINES[2])
    _, third = sieve.candidates(b"2026-03-01T12:00:02Z " + (UCX % 8)[:-1] + b"\n" + LINES[2])
    assert [key for _, _, key, _ in first] == [(UCX % 7).partition(b"] ")[2], LINES[2]]
    assert second == []
    assert [place for place, _, _, _ in third] == [0]


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(TIMES + NO_TIMES), st.integers(0, 99), st.sampled_from(LINES + MORE)),
            min_size=1,
            max_size=30,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_both_let_the_same_lines_through(blocks: list[list[tuple[bytes, int, bytes]]]) -> None:
    small, bulk = Sieve(worths), BulkSieve(worths)
    for parts in blocks:
        block = b"\n".join((time % second if b"%" in time else time) + line for time, second, line in parts)
        assert bulk.candidates(block) == small.candidates(block)


@BOTH
@pytest.mark.parametrize("time", TIMES[1:])
@pytest.mark.parametrize("other", [b"", *TIMES])
def test_what_a_line_is_without_its_time_does_not_depend_on_the_lines_around_it(
    kind: type[Sieve | BulkSieve], time: bytes, other: bytes
) -> None:
    """Else whether a line is known would depend on where a block begins."""
    line = b"n01:41:42 [0] NCCL WARN a"
    before = (other % 7 if other else b"") + b"n02:41:42 [0] NCCL WARN b"
    sieve = kind(worths)
    _, alone = sieve.candidates(time % 1 + line)
    _, among = kind(worths).candidates(before + b"\n" + time % 2 + line + b"\n" + line)
    _, known = sieve.candidates(before + b"\n" + time % 3 + line + b"\n" + line)
    assert [key for _, _, key, _ in alone] == [line]
    assert [key for _, _, key, _ in among] == [b"n02:41:42 [0] NCCL WARN b", line, line]
    assert [place for place, _, _, _ in known] == [0]


def test_the_longest_time_is_as_long_as_it_is_said() -> None:
    assert len(b"<2026-03-01 12:00:00.123456789 +01:00>:") == TIME_BYTES


def test_what_another_run_says_again_is_let_through_again() -> None:
    for sieve in (Sieve(worths), BulkSieve(worths)):
        told: list[list[Candidate]] = [sieve.candidates(VERSION)[1] for _ in range(2)]
        assert [[worth for _, _, _, worth in found] for found in told] == [[CONTEXT], [CONTEXT]]


def test_what_a_shape_is_worth_fits_into_a_table_of_fingerprints() -> None:
    assert TIMED < 8


def test_lines_that_end_as_on_windows_are_sifted_as_others_are() -> None:
    text = b"\r\n".join([b"cut", *LINES, b"step 13 | loss 0.3", b"cut"])
    assert BulkSieve(worths).sift(text).split(b"\n") == [b"cut\r", b"", b"", *LINES[2:], b"", b"cut"]
