"""Lines of logs: their numbers, their prefixes, their bounds."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import log_scanner
from ibkit.parsers.line_prefixes import peel, to_line
from ibkit.parsers.log_lines import BULK, CONTEXT, IGNORE, KEEP, shape
from ibkit.parsers.log_scanner import Scanner


def scanned(data: bytes, worth: int = KEEP) -> list[tuple[int, bytes]]:
    worths = each(lambda form: worth if form.strip() else IGNORE)
    return list(Scanner(io.BytesIO(data), worths, lambda line: (line, b"")))


def each(worth: Callable[[bytes], int]) -> Callable[[list[bytes]], list[int]]:
    return lambda forms: list(map(worth, forms))


class Dribble(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._stream = io.BytesIO(data)
        self._sizes = sizes or [1]
        self._turn = 0

    def read(self, size: int = -1) -> bytes:
        self._turn += 1
        return self._stream.read(min(size, self._sizes[self._turn % len(self._sizes)] or 1))


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_numbers_are_those_of_an_editor(ending: bytes) -> None:
    data = ending.join([b"one", b"", b"three", b"four"])
    assert [(number, line.rstrip(b"\r")) for number, line in scanned(data)] == [
        (1, b"one"),
        (3, b"three"),
        (4, b"four"),
    ]


def test_carriage_returns_part_a_line_and_not_its_number() -> None:
    data = b"first\n 10%\r 20%\rhost:1:2 text\n\rlast\n"
    assert scanned(data) == [(1, b"first"), (2, b" 10%"), (2, b" 20%"), (2, b"host:1:2 text"), (3, b"last")]


def test_a_repetition_is_dropped_unless_it_is_context() -> None:
    data = b"same\nother\nsame\n"
    assert [number for number, _ in scanned(data, KEEP)] == [1, 2]
    assert [number for number, _ in scanned(data, CONTEXT)] == [1, 2, 3]


def test_lines_of_bulk_are_new_by_their_fact() -> None:
    data = b"ch 1 a\nch 2 a\nch 3 b\n"
    scanner = Scanner(io.BytesIO(data), each(lambda form: BULK), lambda line: (line[-1:], b""))
    assert [number for number, _ in scanner] == [1, 3]


def test_a_line_without_end_is_cut_and_told() -> None:
    data = b"x" * (3 << 20) + b"\nafter\n"
    scanner = Scanner(io.BytesIO(data), each(lambda form: KEEP), lambda line: (line, b""))
    lines = list(scanner)
    assert [(number, len(line)) for number, line in lines] == [(1, 65_536), (2, 5)]
    assert [(problem.kind, problem.line) for problem in scanner.problems] == [("long-line", 1)]


def test_a_progress_bar_of_megabytes_keeps_its_number() -> None:
    data = b"first\n" + b"\r".join(b"%d%%" % n for n in range(300_000)) + b"\rhost:1:2 [0] NCCL INFO x\nlast\n"
    keep = Scanner(
        io.BytesIO(data), each(lambda form: KEEP if b"NCCL" in form or b"lst" in form else IGNORE), lambda x: (x, x)
    )
    assert [number for number, _ in keep] == [2, 3]
    assert keep.problems == []


def test_memory_does_not_grow_with_facts() -> None:
    facts = b"".join(b"f %d\n" % n for n in range(log_scanner.MAX_FACTS + 5000))
    scanner = Scanner(
        io.BytesIO(facts + b"f last other\n"), each(lambda form: BULK), lambda line: (line, line.split()[2:] != [])
    )
    lines = [line for _, line in scanner]
    assert scanner.is_coarse
    assert len(lines) <= log_scanner.MAX_FACTS + 2
    assert lines[-1] == b"f last other"  # of another kind: told even now


def test_one_line_among_megabytes_of_bulk_is_not_missed() -> None:
    pick = random.Random(0)
    row = b"n01:1:2 [0] NCCL INFO Channel %02d/0 : 0[0] -> 1[1] [send] via NET/IB/0 " + b"." * 400 + b"\n"
    block = b"".join(row % pick.randrange(32) for _ in range(30_000))
    odd = b"n01:1:2 [0] NCCL INFO Channel 00/0 : 5[0] -> 6[1] [send] via NET/IB/1\n"  # the same letters
    data = block + odd + block + odd.rstrip()
    found = Scanner(io.BytesIO(data), each(lambda form: BULK), lambda line: (line.partition(b" : ")[2], b""))
    assert [at for at, _ in found] == [1, 30_001]
    assert found.lines == 60_002


GAPS = st.lists(st.tuples(st.integers(0, 9000), st.binary(max_size=9).map(lambda line: line.translate(None, b"\r\n"))))


@given(st.integers(3000, 9000), GAPS, st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_lines_among_thousands_of_empty_ones_keep_their_numbers(
    first: int, gaps: list[tuple[int, bytes]], ending: bytes, are_empty_told: bool
) -> None:
    lines = [b""] * first
    for count, line in gaps:
        lines += (*[b""] * count, line)
    worths = each(lambda form: CONTEXT if form or are_empty_told else IGNORE)
    scanner = Scanner(io.BytesIO(ending.join([*lines, b""])), worths, lambda line: (line, b""))
    told = [one for one in enumerate(lines, 1) if shape(one[1]) or are_empty_told]
    assert list(scanner) == told
    assert scanner.lines == len(lines)


def test_a_progress_bar_among_empty_lines_keeps_its_number() -> None:
    data = b"\n" * 5000 + b"1%\r2%\rNCCL\n" + b"\n" * 5000 + b"NCCL end"
    worths = each(lambda form: CONTEXT if b"NCCL" in form else IGNORE)
    scanner = Scanner(io.BytesIO(data), worths, lambda line: (line, b""))
    assert list(scanner) == [(5001, b"NCCL"), (10_002, b"NCCL end")]


@pytest.mark.parametrize(
    ("data", "is_open"),
    [(b"a\nb\n", False), (b"a\nb", True), (b"a\rb\r", False), (b"a\rb", True), (b"a\r\nb", True), (b"", False)],
)
def test_a_last_line_without_end_is_told(data: bytes, is_open: bool) -> None:
    scanner = Scanner(io.BytesIO(data), each(lambda form: KEEP), lambda line: (line, b""))
    told = [(line, scanner.is_open) for _, line in scanner if line]
    assert [line for line, _ in told] == data.split()
    assert [known for _, known in told][-1:] == ([is_open] if data else [])
    assert not any(known for _, known in told[:-1])


@given(
    st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b"")), max_size=60),
    st.lists(st.integers(1, 50), max_size=5),
)
def test_whatever_the_reads_the_lines_are_the_same(lines: list[bytes], sizes: list[int]) -> None:
    data = b"\n".join(lines)
    scanner = Scanner(Dribble(data, sizes), each(lambda form: CONTEXT), lambda line: (line, b""))
    expected = [(number, line) for number, line in enumerate(lines, 1)]
    if lines and not lines[-1]:
        expected = expected[:-1]  # a file that ends with a line end has no line behind it
    assert list(scanner) == (expected if data else [])
    assert scanner.size == len(data)


@pytest.mark.parametrize(
    ("raw", "text", "rank"),
    [
        ("[1,3]<stdout>:text", "text", 3),
        ("[1,12]<stderr>: text", "text", 12),
        ("[prterun-n01-2283@1,5]<stdout>: text", "text", 5),
        ("[prterun-n01-2283@1,5][n01:2290]<stdout>: text", "text", 5),
        ("Tue Nov  3 10:00:00 2020[1,0]<stdout>:text", "text", 0),
        ("[3] text", "text", 3),
        ("3: text", "text", 3),
        (" 13: text", "text", 13),
        ("[rank7]: text", "text", 7),
        ("[default0]:text", "text", None),
        ("2024-05-01T10:00:00.123456789Z text", "text", None),
        ("2024-05-01 10:00:00,123 text", "text", None),
        ("[2024-05-01 10:00:00] text", "text", None),
        ("2024-05-01T10:00:00+02:00 stdout F text", "text", None),
        ("May  1 10:00:00 n01 slurmstepd[4711]: text", "text", None),
        ("[pod/trainer-0/main] text", "text", None),
        ("trainer-1  | text", "text", None),
        ("(train pid=123, ip=10.0.0.1) text", "text", None),
        ("\x1b[32m[1,3]<stdout>:\x1b[0mtext", "text", 3),
        ("\ufefftext", "text", None),
        ("[2024-05-01 10:00:00] [1,2]<stdout>:\x1b[1m7: text", "text", 7),
        # these are no prefixes
        ("[1796162458.038742] [nodea:89   :0]  x.c:1 UCX  INFO  y",) * 2 + (None,),
        ("[nodea:00089] select: x",) * 2 + (None,),
        (" host | 0 1",) * 2 + (None,),
        ("    0 : sm   tcp",) * 2 + (None,),
        ("key: A == tcp",) * 2 + (None,),
        ("n01:1:2 [0] NCCL INFO x",) * 2 + (None,),
    ],
)
def test_prefixes_are_peeled(raw: str, text: str, rank: int | None) -> None:
    assert peel(raw) == (text, rank)


def test_a_json_log_gives_its_message() -> None:
    line = to_line(4, b'{"log":"[1,2]<stdout>:n01:1:2 [0] NCCL INFO x\\n","stream":"stdout","time":"2024"}')
    assert (line.text, line.rank) == ("n01:1:2 [0] NCCL INFO x", 2)
    assert line.raw.startswith('{"log"')


@pytest.mark.parametrize("raw", [b"{", b'{"log": 5}', b"[" * 70_000, b'{"a":' * 20_000])
def test_broken_json_is_text(raw: bytes) -> None:
    assert to_line(1, raw).raw == raw.decode()


def test_broken_utf8_is_kept_readable() -> None:
    assert to_line(1, b"a\xff\x00b").text == "a\\xff\x00b"


@given(st.text(max_size=300))
def test_peeling_never_fails(text: str) -> None:
    peeled, rank = peel(text)
    assert rank is None or rank >= 0
    assert len(peeled) <= len(text)


@pytest.mark.parametrize("part", ["[1,1]<stdout>:", "\x1b[", "[", "2024-05-01 ", "(pid=1 ", "a | ", "1: ", "\x1b]"])
def test_long_lines_take_linear_time(part: str) -> None:
    start = time.perf_counter()
    peel(part * (65_536 // len(part)))
    assert time.perf_counter() - start < 2


@given(st.integers(0, 2**32), st.booleans())
def test_a_large_log_is_told_as_a_small_one(seed: int, is_mostly_noise: bool) -> None:
    """From the first block on by fingerprints, or never: the same lines with the same numbers."""
    pick = random.Random(seed)
    kinds = [b"%d | loss x%d\n"] * (9 if is_mostly_noise else 1) + [b"ch %d via NET/%d\n", b"\n", b"row %d %d\n"] * 2
    log = b"".join(
        b"2026-03-01T00:00:%02dZ " % pick.randrange(60)
        + (kind % (pick.randrange(5), pick.randrange(5)) if b"%" in kind else kind)
        for kind in pick.choices(kinds, k=400)
    )
    told = []
    for large in (0, 1 << 40):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(log_scanner, "BLOCK_BYTES", 1000)
            patch.setattr(log_scanner, "LARGE_BYTES", large)
            scanner = Scanner(
                io.BytesIO(log),
                each(
                    lambda form: (
                        BULK if b"NET" in form else CONTEXT if b"row" in form else KEEP if b"|" not in form else IGNORE
                    )
                ),
                lambda line: (line.partition(b"via")[2], b""),
            )
            told.append((list(scanner), scanner.lines))
    assert told[0] == told[1]
    assert told[0][0]
