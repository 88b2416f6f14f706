"""Fingerprints are of a line alone, and those of different lines differ."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.fingerprints import MAX_HASHED_BYTES, PADDING, Hash, Seen, Table

HASH = Hash()


def prints(lines: list[bytes]) -> list[int]:
    """As lines of one text."""
    lengths = np.array([len(line) for line in lines], np.intp)
    starts = np.cumsum(lengths + 1) - lengths - 1
    found: list[int] = HASH.prints(b"\n".join(lines) + b"\n" + PADDING, starts, lengths).tolist()
    return found


LINES = st.one_of(
    st.binary(max_size=40),
    st.builds(lambda byte, count: byte * count, st.binary(min_size=1, max_size=2), st.integers(0, 2500)),
)


@given(st.lists(LINES, min_size=1, max_size=20))
def test_two_lines_have_the_same_one_where_they_are_the_same(lines: list[bytes]) -> None:
    found = prints(lines)
    assert len(set(found)) == len(set(lines))
    assert dict(zip(lines, found, strict=True)) == {line: prints([line])[0] for line in lines}
    assert 0 not in found


def test_lines_that_differ_in_one_bit_or_in_their_length() -> None:
    line = bytearray(b"n01:41:42 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0")
    lines = {bytes(line), *(bytes(line) + b"\0" * count for count in range(1, 40))}
    for place in range(len(line)):
        for bit in range(8):
            line[place] ^= 1 << bit
            lines.add(bytes(line))
            line[place] ^= 1 << bit
    assert len(lines) == 40 + 8 * len(line)
    assert len(set(prints(sorted(lines)))) == len(lines)


def test_numbers_that_are_counted_up_have_each_its_own() -> None:
    lines = [b"%d[%d] -> %d[0] rank %09d" % (n, n % 8, n + 8, n) for n in range(200_000)]
    found = prints(lines)
    assert len(set(found)) == len(lines)
    upper = np.array(found, np.uint64) >> np.uint64(48)  # what places in tables are made of
    assert len(np.unique(upper)) > 0.9 * (1 << 16)


@given(st.lists(LINES, min_size=1, max_size=20))
def test_one_is_the_sum_of_words_times_odd_keys(lines: list[bytes]) -> None:
    of_length, *of_words = [int(HASH._of_length), *HASH._of_words.tolist()]
    assert all(key % 2 for key in (of_length, *of_words))  # a difference in one word cannot become none
    for line, found in zip(lines, prints(lines), strict=True):
        filled = line + b"\0" * (-len(line) % 4)
        words = [int.from_bytes(filled[at : at + 4], sys.byteorder) for at in range(0, len(filled), 4)]
        total = len(line) * of_length + sum(word * key for word, key in zip(words, of_words, strict=False))
        assert found == (total if len(line) <= MAX_HASHED_BYTES else hash(line)) % 2**64 | 1


def test_one_line_that_is_longer_than_many_short_ones_does_not_make_them_wide() -> None:
    lines = [b"a"] * 240_000 + [b"b" * 64]
    lengths = np.array([len(line) for line in lines], np.intp)
    starts = np.cumsum(lengths + 1) - lengths - 1
    text = b"\n".join(lines) + b"\n" + PADDING
    tracemalloc.start()
    try:
        found = HASH.prints(text, starts, lengths)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20  # 64 MiB for the words of lines of 64 bytes
    finally:
        tracemalloc.stop()
    assert len(np.unique(found)) == 2
    assert len(np.unique(HASH.prints(b"\n" * 600_000 + PADDING, np.arange(600_000), np.zeros(600_000, np.intp)))) == 1


def test_no_lines_have_no_fingerprints() -> None:
    none = np.array([], np.intp)
    assert HASH.prints(PADDING, none, none).tolist() == []
    assert HASH.of_lines([]).tolist() == []


def test_long_lines_among_short_ones_take_no_memory_of_all() -> None:
    """100,000 rows as long as the longest line would be of 100 MiB."""
    lines = [b"", b"a"] * 50_000 + [b"b" * MAX_HASHED_BYTES, b"b" * (MAX_HASHED_BYTES + 1)]
    assert len(set(prints(lines))) == 4


def test_what_was_seen_is_known_and_what_is_crowded_out_is_looked_at_anew() -> None:
    seen = Seen(4)
    crowd = np.array([1, 2, 3], np.uint64)  # all in room 0
    assert seen.places_of_others(crowd).tolist() == [0, 1, 2]
    seen.add(crowd[:1])
    seen.add(crowd[1:2])
    assert seen.places_of_others(crowd).tolist() == [2]
    seen.add(crowd[2:])
    assert seen.places_of_others(crowd).tolist() == [1]
    assert seen.places_of_others(crowd + (np.uint64(1) << np.uint64(60))).tolist() == [0, 1, 2]


def test_a_table_has_no_number_for_what_it_does_not_know() -> None:
    table = Table(4)
    prints = np.array([16, 32, 1 << 60], np.uint64)
    assert table.numbers(prints)[1].tolist() == [0, 1, 2]
    table.put(prints[[0, 2]], np.array([7, 5], np.uint8))
    numbers, others = table.numbers(prints)
    assert (numbers.tolist()[0], numbers.tolist()[2], others.tolist()) == (7, 5, [1])
