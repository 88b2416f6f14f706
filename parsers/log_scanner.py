"""Logs of jobs, line by line, in bounded memory: which lines may say something, and their numbers.

A log of a large job is gigabytes of lines that are all alike, between training chatter: `line_sieve` lets through those
that may say something new. Of lines of a kind that comes in bulk (channels of 64 hosts, printed again by each
communicator) only new facts are told. When a log holds more different facts in bulk than memory should, only what they
are about is still told (``is_coarse``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence

from ibkit.parsers.base import MAX_LINE_CHARS, Problem
from ibkit.parsers.erased import TYPE_CHECKING
from ibkit.parsers.line_sieve import BLOCK_BYTES, Candidate, Sieve
from ibkit.parsers.log_lines import BULK, CONTEXT, IGNORE, Stream
from ibkit.parsers.seen_lines import Memory

if TYPE_CHECKING:
    from ibkit.parsers.bulk_sieve import BulkSieve

#: A line that has no end and no carriage return within this many bytes is cut.
MAX_UNENDED_BYTES = 1 << 18
#: From here on (bytes) the time that it takes to import numpy is saved by it.
LARGE_BYTES = 64 << 20
#: A block is taken to be like its start (bytes).
_START_BYTES = 1 << 12
#: Different facts of bulk lines, see Scanner.
MAX_FACTS = 200_000

_WHOLE, _DROPPED, _CONTINUED = 0, 1, 2
_NOT_EMPTY = re.compile(rb"[^\n]+")


class Scanner:
    """The lines of one stream whose shape ``worths`` finds telling, in order, each with its number.

    ``worths(shapes)`` answers IGNORE, ONCE, KEEP, CONTEXT or BULK for each; ``fact(line)`` is what makes a line of
    bulk different from another, and what it is about, in general. Repetitions are dropped, as far as they are
    remembered; the time in front of a line makes it no other one.

    After the iteration ``lines`` and ``size`` (bytes) tell how much was read, ``problems`` what was cut,
    ``nul_bytes`` is the number of NULs in the first block; ``is_coarse`` is True where there were too many facts in
    bulk to tell all; ``is_open`` is True from the last line on where that has no end: it may be cut.
    """

    def __init__(
        self,
        stream: Stream,
        worths: Callable[[list[bytes]], list[int]],
        fact: Callable[[bytes], tuple[Hashable, Hashable]],
    ) -> None:
        self.lines = 0
        self.size = 0
        self.nul_bytes = 0
        self.is_coarse = False
        self.is_open = False
        self.problems: list[Problem] = []
        self._stream = stream
        self._fact = fact
        self._worths = worths
        self._is_empty_nothing = worths([b""]) == [IGNORE]
        self._sieve: Sieve | BulkSieve = Sieve(worths)
        self._facts: set[Hashable] = set()
        self._seen = Memory()

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        for block, end in self._blocks():
            if end == _DROPPED:
                self._long_line(self.lines + 1)
            if self.size > LARGE_BYTES:
                self._expect_much()
            yield from self._telling(block)
            if end != _WHOLE:
                self.lines -= 1

    def _expect_much(self) -> None:
        """From now on look at blocks as it is best for large logs."""
        if isinstance(self._sieve, Sieve):
            from ibkit.parsers.bulk_sieve import BulkSieve

            self._sieve = BulkSieve(self._worths)

    def _telling(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        first = self.lines + 1
        numbers: Sequence[int] | None = None
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").removesuffix(b"\r")
            if b"\r" in block:
                pieces, numbers = _carriage_returns(block, first)
                block = b"\n".join(pieces)
        count, found = self._candidates(block)
        self.lines = numbers[-1] if numbers else self.lines + count
        for place, line, key, worth in found:
            if worth == CONTEXT or (self._is_news(key) if worth == BULK else self._seen.add(key)):
                number = numbers[place] if numbers else first + place
                yield number, self._cut(number, line)

    def _candidates(self, block: bytes) -> tuple[int, list[Candidate]]:
        """How many lines the block has, and those of them that may say something new, in order. Where another sieve has
        left most of them empty, these cost next to nothing.
        """
        is_mostly_empty = block.count(b"\n", 0, _START_BYTES) > _START_BYTES // 2
        if not (is_mostly_empty and self._is_empty_nothing):
            return self._sieve.candidates(block)
        places, lines = _not_empty(block)
        _, found = self._sieve.candidates(b"\n".join(lines))
        return block.count(b"\n") + 1, [(places[at], line, key, worth) for at, line, key, worth in found]

    def _is_news(self, line: bytes) -> bool:
        """Whether a line of bulk says something new."""
        fine, coarse = self._fact(line)
        thing = coarse if self.is_coarse else fine
        if thing in self._facts:
            return False
        self._facts.add(thing)
        self.is_coarse |= len(self._facts) >= MAX_FACTS
        return True

    def _cut(self, number: int, line: bytes) -> bytes:
        if len(line) > MAX_LINE_CHARS:
            self._long_line(number)
            return line[:MAX_LINE_CHARS]
        return line

    def _long_line(self, number: int) -> None:
        is_told = self.problems and self.problems[-1].line == number  # of another piece of it
        if len(self.problems) < 100 and not is_told:
            text = f"a line of more than {MAX_LINE_CHARS} bytes; only its start was looked at"
            self.problems.append(Problem("long-line", text, number))

    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        """Whole lines without the last line's end, and how the last one ends: whole, or going on in the next block
        after a carriage return, where it is too long only after what is dropped of it.
        """
        rest, dropping = b"", False
        while data := self._stream.read(BLOCK_BYTES):
            if not self.size:
                self.nul_bytes = data.count(b"\0")
            self.size += len(data)
            start = rest.rfind(b"\r") + 1
            data = rest + data
            end = _end_of_piece(data, start)
            if end - start > MAX_UNENDED_BYTES and not dropping:  # wherever the reads end
                if start:
                    yield data[: start - 1], _CONTINUED
                yield data[start : start + MAX_LINE_CHARS], _DROPPED
                rest, dropping = b"", True
            if dropping:
                data, dropping = data[end:], end == len(data)
                if data.startswith(b"\n"):
                    self.lines += 1
                    data = data[1:]
            cut = data.rfind(b"\n")
            if cut >= 0:
                rest = data[cut + 1 :]
                yield data[:cut], _WHOLE
            else:
                rest = data
            if len(rest) > MAX_UNENDED_BYTES:
                cut = rest.rfind(b"\r", 0, len(rest) - 1)
                if cut >= 0:
                    yield rest[:cut], _CONTINUED
                    rest = rest[cut + 1 :]
        self.lines += dropping
        if rest:
            cut = rest.rstrip(b"\r").rfind(b"\r")
            if cut >= 0:
                yield rest[:cut], _CONTINUED
                rest = rest[cut + 1 :]
            self.is_open = not rest.endswith(b"\r")
            yield rest, _WHOLE


def _end_of_piece(text: bytes, start: int) -> int:
    """Where the next carriage return or line's end is, or the text's."""
    newline = text.find(b"\n", start)
    end = newline if newline >= 0 else len(text)
    found = text.find(b"\r", start, end)
    return found if found >= 0 else end


def _not_empty(block: bytes) -> tuple[list[int], list[bytes]]:
    """The places, from 0, of the lines that are not empty, and these."""
    places: list[int] = []
    lines: list[bytes] = []
    place = last = 0
    for found in _NOT_EMPTY.finditer(block):
        place += block.count(b"\n", last, found.start())
        last = found.end()
        places.append(place)
        lines.append(found[0])
    return places, lines


def _carriage_returns(block: bytes, number: int) -> tuple[list[bytes], list[int]]:
    """A progress bar writes its line over and over: what stands between carriage returns is a text of its own."""
    pieces: list[bytes] = []
    numbers: list[int] = []
    for at, line in enumerate(block.split(b"\n"), number):
        parts = line.split(b"\r")
        pieces += parts
        numbers += [at] * len(parts)
    return pieces, numbers
