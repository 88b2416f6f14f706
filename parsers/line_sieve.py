"""Which lines of a block may say something new: a log's bulk is told from the rest by few C-level operations.

A block of lines is turned into *shapes* (``log_lines.shape``) at once, and only a shape that was not seen before is
looked at by Python. Of the lines with a telling shape those that were let through before are remembered, without the
times in them, and are not let through again. Which question comes first, whether a shape is telling or whether a line
is known, changes the cost only: the one that the last block's lines were for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import compress
from operator import itemgetter

from ibkit.parsers.log_lines import BULK, CONTEXT, IGNORE, KEEP, ONCE, shape
from ibkit.parsers.seen_lines import MAX_REMEMBERED_BYTES, Fingerprints, KnownLines

#: Looked at at once (bytes): small enough to stay in a core's cache, which is worth a third of the time.
BLOCK_BYTES = 1 << 17

#: A block that begins with these among its first bytes is taken to be mostly empty lines.
_EMPTY_LINES = b"\n" * 20
_START_BYTES = 1 << 12
_NOT_EMPTY = re.compile(rb"[^\n]+")

#: A line's place in its block, from 0; the line; the line without its times; what its shape is worth.
Candidate = tuple[int, bytes, bytes, int]


class Sieve:
    """Takes blocks of lines one after another. ``worths`` says of shapes what each of them is worth."""

    def __init__(self, worths: Callable[[list[bytes]], list[int]]) -> None:
        self._shapes = _Shapes(worths)
        self._known: KnownLines | Fingerprints = KnownLines()
        self._clock = _Clock()
        self._is_mostly_known = False
        self._is_empty_nothing = worths([b""]) == [IGNORE]

    def expect_much(self) -> None:
        """From now on remember lines as it is best for a large log."""
        if isinstance(self._known, KnownLines):
            self._known = Fingerprints()

    def candidates(self, block: bytes) -> tuple[int, list[Candidate]]:
        """How many lines the block has, and those of them that may say something new, in order."""
        if self._is_empty_nothing and _EMPTY_LINES in block[:_START_BYTES]:  # as another sieve leaves them
            return self._candidates_between_empty_lines(block)
        count, found = self._by_memory(block) if self._is_mostly_known else self._by_shape(block)
        if found:
            self._known.add([key for _, _, key, worth in found if worth != CONTEXT])
        return count, found

    def _candidates_between_empty_lines(self, block: bytes) -> tuple[int, list[Candidate]]:
        places: list[int] = []
        lines: list[bytes] = []
        place = at = 0
        for filled in _NOT_EMPTY.finditer(block):
            place += block.count(b"\n", at, filled.start())
            at = filled.start()
            places.append(place)
            lines.append(filled[0])
        count = place + block.count(b"\n", at) + 1
        if not lines:
            return count, []
        _, found = self.candidates(b"\n".join(lines))
        return count, [(places[number], line, key, worth) for number, line, key, worth in found]

    def sift(self, text: bytes) -> bytes:
        """A part of a log with each line that is no candidate empty. Left as they are: the first and the last line,
        which may be cut, very long ones, and blocks with lines between carriage returns.
        """
        at, last = text.find(b"\n") + 1, text.rfind(b"\n") + 1
        parts = [text[:at]]
        while at < last:
            end = text.rfind(b"\n", at, at + BLOCK_BYTES) + 1
            if end:
                parts.append(self._sift_block(text[at:end]))
            else:
                end = text.find(b"\n", at) + 1
                parts.append(text[at:end])
            at = end
        return b"".join([*parts, text[last:]])

    def _sift_block(self, block: bytes) -> bytes:
        if b"\r" in block:
            block, was = block.replace(b"\r\n", b"\n"), block
            if b"\r" in block:
                return was
        count, found = self.candidates(block)
        if not found:
            return b"\n" * (count - 1)
        lines = [b""] * count
        for place, line, _, _ in found:
            lines[place] = line
        return b"\n".join(lines)

    def _by_memory(self, block: bytes) -> tuple[int, list[Candidate]]:
        lines = block.split(b"\n")
        keys = self._clock.without_times(lines)
        places = self._known.places_of_others(keys)
        self._is_mostly_known = 2 * len(places) < len(lines)
        if not places:
            return len(lines), []
        keys = [keys[place] for place in places]
        worths = self._shapes.worths(shape(b"\n".join(keys)).split(b"\n"))
        found = zip(places, [lines[place] for place in places], keys, worths, strict=True)
        return len(lines), self._new_without_times(list(compress(found, worths)))

    def _by_shape(self, block: bytes) -> tuple[int, list[Candidate]]:
        worths = self._shapes.worths(shape(block).split(b"\n"))
        if not any(worths):
            return len(worths), []
        lines = list(compress(block.split(b"\n"), worths))
        keys = self._clock.without_times(lines)
        fresh = self._known.places_of_others(keys)
        self._is_mostly_known = 2 * (len(lines) - len(fresh)) > len(worths)
        if not fresh:
            return len(worths), []
        places = list(compress(range(len(worths)), worths))
        found = [(places[at], lines[at], keys[at], worths[places[at]]) for at in fresh]
        return len(worths), self._new_without_times(found)

    def _new_without_times(self, found: list[Candidate]) -> list[Candidate]:
        """Those that are not known without the times inside of them, either."""
        timed = [one for one in found if one[3] == _TIMED]
        if not timed:
            return found
        keys = _INNER_TIME.sub(b"", b"\n".join([key for _, _, key, _ in timed])).split(b"\n")
        others = [one for one in found if one[3] != _TIMED]
        others += [(*timed[at][:2], keys[at], KEEP) for at in self._known.places_of_others(keys)]
        others.sort()
        return others


#: A date and a time: ISO 8601 and its relatives, and Open MPI's --timestamp-output.
_TIME = re.compile(
    rb"[\[(<]?\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?[\])>]?[ :]?"
    rb"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
)
#: UCX puts the time into its own lines.
_INNER_TIME = re.compile(rb"\[\d{9,11}\.\d{1,9}\] ")
_INNER_TIME_SHAPE = b"[.] "
#: KEEP, and a time inside of it.
_TIMED = 1 + max(IGNORE, ONCE, KEEP, CONTEXT, BULK)
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
        heads = list(map(itemgetter(slice(width)), lines))
        if b"".join(heads).translate(_ZEROS) == form * len(heads):
            return list(map(itemgetter(slice(width, None)), lines))
        return [
            line[width:] if head.translate(_ZEROS) == form else line for line, head in zip(lines, heads, strict=True)
        ]


class _Shapes:
    """Which shapes were looked at and what they are worth, forgotten and learned anew when they are too many."""

    def __init__(self, worths: Callable[[list[bytes]], list[int]]) -> None:
        self._worths_of = worths
        self._size = 0
        self._worths: dict[bytes, int] = {}
        #: Whose first line was in the block before: no other one is wanted.
        self._done: list[bytes] = []

    def worths(self, forms: list[bytes]) -> list[int]:
        """What each of these shapes is worth."""
        if self._done:
            self._worths.update(dict.fromkeys(self._done, IGNORE))
            self._done = []
        if self._size > MAX_REMEMBERED_BYTES:
            self._size = 0
            self._worths.clear()
        known = self._worths.__getitem__
        try:
            return list(map(known, forms))
        except KeyError:  # some are new
            self._learn([*{form for form in forms if form not in self._worths}])
            return list(map(known, forms))

    def _learn(self, fresh: list[bytes]) -> None:
        self._size += sum(map(len, fresh)) + 100 * len(fresh)
        worths = self._worths_of(fresh)
        self._worths.update(zip(fresh, map(_with_times, fresh, worths), strict=True))
        self._done = [form for form, worth in zip(fresh, worths, strict=True) if worth == ONCE]


def _with_times(form: bytes, worth: int) -> int:
    return _TIMED if worth == KEEP and _INNER_TIME_SHAPE in form else worth
