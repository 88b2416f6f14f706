"""The sieve lets through what may be new, wherever in a block it stands."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.job_log import worths
from ibkit.parsers.line_sieve import Sieve

LINES = [
    b"",
    b"step 12 | loss 0.4",
    b"n01:41:42 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0",
    b"n02:41:42 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [send] via NET/Socket/0",
    b"[n01:00041] mca: bml: Using tcp btl for send to [[1,1],1] on node n02",
]


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(LINES)), min_size=1, max_size=12))
def test_empty_lines_hide_nothing_and_are_counted(parts: list[tuple[int, bytes]]) -> None:
    """Told of the same lines with a word in each empty one, which takes the other way through a block."""
    lines = [line for count, filled in parts for line in (*[b""] * count, filled)]
    count, found = Sieve(worths).candidates(b"\n".join(lines))
    _, same = Sieve(worths).candidates(b"\n".join(line or b"word" for line in lines))
    assert count == len(lines)
    assert found == same


def test_which_lines_are_let_through() -> None:
    block = b"\n" * 30 + b"\n".join(LINES)
    count, found = Sieve(worths).candidates(block)
    assert count == 35
    assert [(place, line) for place, line, _, _ in found] == list(enumerate(LINES[2:], 32))


def test_of_a_shape_whose_first_line_is_enough_no_other_block_is_told() -> None:
    sieve = Sieve(worths)
    line = b"libfabric:4711:1772359200:core:mr:ofi_mr_cache_search():%d<debug> search"
    _, first = sieve.candidates(b"step\n" + line % 1)
    _, second = sieve.candidates(line % 2 + b"\n" + LINES[2])
    assert [told for _, told, _, _ in first] == [line % 1]
    assert [told for _, told, _, _ in second] == [LINES[2]]
