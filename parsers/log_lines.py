"""Logs of jobs, line by line, in bounded memory: which lines may say something, and their numbers.

A log of a large job is gigabytes of lines that are all alike, between training chatter. Each line is compared by its
*shape*, the bytes without digits and hexadecimal letters (ranks, process ids, pointers, times): a whole block of lines
is turned into shapes by two C-level operations, and only a shape that was not seen before is looked at by Python.
Of lines of a kind that comes in bulk (channels of 64 hosts, printed again by each communicator) those that were looked
into are remembered as they are, and what is left is looked into, all of it. Which question comes first, whether a shape
is telling or whether a line is known, changes the cost only: the one that the last block's lines were for.
When a log holds more different facts in bulk than memory should, only what they are about is still told
(``is_coarse``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import compress
from typing import Protocol

from ibkit.parsers.base import MAX_LINE_CHARS, Problem
from ibkit.parsers.records import NamedTuple
from ibkit.parsers.seen_lines import MAX_REMEMBERED_BYTES, Fingerprints, KnownLines, Memory

#: Read at once (bytes): small enough to stay in a core's cache, which is worth a third of the time.
BLOCK_BYTES = 1 << 17
#: A line that has no end within this many bytes is cut.
MAX_UNENDED_BYTES = 1 << 18
#: From here on (bytes) the time that it takes to import numpy is saved by it.
LARGE_BYTES = 32 << 20
#: Different facts of bulk lines, see Scanner.
MAX_FACTS = 200_000

_VARYING = b"0123456789abcdef"

#: What a shape is worth: nothing, a look at each such line that was not seen before, a look at each such line (a row
#: of a table, a field of a message), a look at each new fact among many lines alike.
IGNORE, KEEP, CONTEXT, BULK = 0, 1, 2, 3

_WHOLE, _DROPPED, _CONTINUED = 0, 1, 2


class Stream(Protocol):
    """A binary file, a pipe, a decompressor."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, none at the end."""
        ...


class Line(NamedTuple):
    """A line that may say something: ``number`` is 1-based, ``text`` has no prefix, ``raw`` is as in the file.

    ``rank`` is the rank in MPI_COMM_WORLD where the launcher put it in front.
    """

    number: int
    text: str
    raw: str
    rank: int | None = None


def shape(line: bytes) -> bytes:
    """What is left of a line when everything that varies is gone.

    >>> shape(b"n01:4711 [0] NCCL INFO Channel 00/0") == shape(b"n02:4712 [1] NCCL INFO Channel 31/1")
    True
    """
    return line.translate(None, _VARYING)


class Scanner:
    """The lines of one stream whose shape ``worth`` finds telling, in order, each with its number.

    ``worth(shape)`` answers IGNORE, KEEP, CONTEXT or BULK; ``fact(line)`` is what makes a line of bulk different from
    another, and what it is about, in general. Repetitions are dropped, as far as they are remembered; the time in front
    of a line makes it no other one.

    After the iteration ``lines`` and ``size`` (bytes) tell how much was read, ``problems`` what was cut,
    ``nul_bytes`` is the number of NULs in the first block; ``is_coarse`` is True where there were too many facts in
    bulk to tell all; ``is_open`` is True from the last line on where that has no end: it may be cut.
    """

    def __init__(
        self,
        stream: Stream,
        worth: Callable[[bytes], int],
        fact: Callable[[bytes], tuple[Hashable, Hashable]],
    ) -> None:
        self.lines = 0
        self.size = 0
        self.nul_bytes = 0
        self.is_coarse = False
        self.is_open = False
        self.problems: list[Problem] = []
        self._stream = stream
        self._worth = worth
        self._fact = fact
        self._shapes = _Shapes(worth)
        self._facts: set[Hashable] = set()
        self._seen = Memory()
        self._known: KnownLines | Fingerprints = KnownLines()
        self._clock = _Clock()
        self._is_mostly_known = False

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        for block, end in self._blocks():
            if end == _DROPPED:
                self._long_line(self.lines + 1)
            if self.size > LARGE_BYTES and isinstance(self._known, KnownLines):
                self._known = Fingerprints()
            yield from self._telling(block)
            if end == _CONTINUED:
                self.lines -= 1

    def _telling(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        first = self.lines + 1
        numbers: Sequence[int] | None = None
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").removesuffix(b"\r")
            if b"\r" in block:
                pieces, numbers = _carriage_returns(block, first)
                block = b"\n".join(pieces)
        looked_into = []
        lines = block.split(b"\n")
        self.lines = numbers[-1] if numbers else self.lines + len(lines)
        for place, key, worth in self._by_memory(lines) if self._is_mostly_known else self._by_shape(block, lines):
            is_news = worth == CONTEXT
            if worth == BULK:
                is_news = self._is_news(key)
                looked_into.append(key)
            elif worth == KEEP:
                timeless = _INNER_TIME.sub(b"", key)
                is_news = self._seen.add(timeless)
                if timeless == key:
                    looked_into.append(key)
            if is_news:
                number = numbers[place] if numbers else first + place
                yield number, self._cut(number, lines[place])
        self._known.add(looked_into)

    def _by_memory(self, lines: list[bytes]) -> Iterator[tuple[int, bytes, int]]:
        """Places of telling lines that are not known, the lines without their times, and what they are worth."""
        bare = self._clock.without_times(lines)
        places = self._known.places_of_others(bare)
        self._is_mostly_known = 2 * len(places) < len(lines)
        fresh = [bare[place] for place in places]
        worths = self._shapes.worths(shape(b"\n".join(fresh)).split(b"\n")) if fresh else []
        yield from compress(zip(places, fresh, worths, strict=True), worths)

    def _by_shape(self, block: bytes, lines: list[bytes]) -> Iterator[tuple[int, bytes, int]]:
        """The same, with the other question first: lines that are not telling cost the least."""
        worths = self._shapes.worths(shape(block).split(b"\n"))
        places = list(compress(range(len(worths)), worths))
        bare = self._clock.without_times([lines[place] for place in places]) if places else []
        fresh = self._known.places_of_others(bare)
        self._is_mostly_known = 2 * (len(bare) - len(fresh)) > len(lines)
        for at in fresh:
            yield places[at], bare[at], worths[places[at]]

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
        if len(self.problems) < 100:
            text = f"a line of more than {MAX_LINE_CHARS} bytes; only its start was looked at"
            self.problems.append(Problem("long-line", text, number))

    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        """Whole lines without the last line's end, and how the last one ends: whole, dropped from here on, or going
        on in the next block after a carriage return.
        """
        rest, dropping = b"", False
        while data := self._stream.read(BLOCK_BYTES):
            if not self.size:
                self.nul_bytes = data.count(b"\0")
            self.size += len(data)
            if dropping:
                end = data.find(b"\n")
                if end < 0:
                    continue
                data, dropping = data[end + 1 :], False
            data = rest + data
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
                else:
                    yield rest[:MAX_LINE_CHARS], _DROPPED
                    rest, dropping = b"", True
        if rest:
            cut = rest.rstrip(b"\r").rfind(b"\r")
            if cut >= 0:
                yield rest[:cut], _CONTINUED
                rest = rest[cut + 1 :]
            self.is_open = not rest.endswith(b"\r")
            yield rest, _WHOLE


def _carriage_returns(block: bytes, number: int) -> tuple[list[bytes], list[int]]:
    """A progress bar writes its line over and over: what stands between carriage returns is a text of its own."""
    pieces: list[bytes] = []
    numbers: list[int] = []
    for at, line in enumerate(block.split(b"\n"), number):
        parts = line.split(b"\r")
        pieces += parts
        numbers += [at] * len(parts)
    return pieces, numbers


#: A date and a time: ISO 8601 and its relatives, and Open MPI's --timestamp-output.
_TIME = re.compile(
    rb"[\[(<]?\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?[\])>]?[ :]?"
    rb"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
)
#: UCX puts the time into its own lines.
_INNER_TIME = re.compile(rb"\[\d{9,11}\.\d{1,9}\] ")
#: Each digit is as good as another one: what is left is a time's form.
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


class _Clock:
    """The time that stands in front of a log's lines, as launchers and collectors put it there."""

    def __init__(self) -> None:
        self._width = 0
        self._form = b""

    def without_times(self, lines: list[bytes]) -> list[bytes]:
        """The lines of a block without their times; those that have none, or another form of it, are as they are."""
        width, form = self._width, self._form
        if not width or lines[0][:width].translate(_ZEROS) != form:
            found = _TIME.match(lines[0])
            self._width = width = found.end() if found else 0
            self._form = form = lines[0][:width].translate(_ZEROS)
        if not width:
            return lines
        heads = [line[:width] for line in lines]
        if b"".join(heads).translate(_ZEROS) == form * len(heads):
            return [line[width:] for line in lines]
        return [
            line[width:] if head.translate(_ZEROS) == form else line for line, head in zip(lines, heads, strict=True)
        ]


class _Shapes:
    """Which shapes were looked at and what they are worth, forgotten and learned anew when they are too many."""

    def __init__(self, worth: Callable[[bytes], int]) -> None:
        self._worth = worth
        self._size = 0
        self._worths: dict[bytes, int] = {}

    def worths(self, forms: list[bytes]) -> list[int]:
        """What each of these shapes is worth."""
        if self._size > MAX_REMEMBERED_BYTES:
            self._size = 0
            self._worths.clear()
        known = self._worths.__getitem__
        try:
            return list(map(known, forms))
        except KeyError:  # some are new
            self._learn(set(forms) - self._worths.keys())
            return list(map(known, forms))

    def _learn(self, fresh: set[bytes]) -> None:
        self._size += sum(map(len, fresh)) + 100 * len(fresh)
        self._worths.update(dict.fromkeys(fresh, IGNORE))
        if self._worth(b"\n".join(fresh)) != IGNORE:
            self._worths.update((form, self._worth(form)) for form in fresh)


def segments(head: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each match of ``head`` and the text up to the next: processes that share a stream interrupt one another."""
    heads = list(head.finditer(text))
    ends = [*(found.start() for found in heads), len(text)][1:]
    for found, end in zip(heads, ends, strict=False):
        yield found, text[found.end() : end]
