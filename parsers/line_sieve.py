"""Which lines of a block may say something new: a log's bulk is told from the rest by few C-level operations.

A block of lines is turned into *shapes* (``log_lines.shape``) at once, and only a shape that was not seen before is
looked at by Python. Of the lines with a telling shape those that were let through before are remembered, without the
times in them, and are not let through again. Nothing of this depends on where blocks begin, but which lines of a shape
that is worth one look are in the block of the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import compress

from ibkit.parsers.log_lines import BULK, CONTEXT, IGNORE, KEEP, ONCE, shape
from ibkit.parsers.seen_lines import MAX_REMEMBERED_BYTES, KnownLines

#: Looked at at once (bytes): small enough to stay in a core's cache, which is worth a third of the time.
BLOCK_BYTES = 1 << 17

#: A line's place in its block, from 0; the line; the line without its times; what its shape is worth.
Candidate = tuple[int, bytes, bytes, int]


class Sieve:
    """Takes blocks of lines one after another. ``worths`` says of shapes what each of them is worth."""

    def __init__(self, worths: Callable[[list[bytes]], list[int]]) -> None:
        self._shapes = Shapes(worths)
        self._known = KnownLines()

    def candidates(self, block: bytes) -> tuple[int, list[Candidate]]:
        """How many lines the block has, and those of them that may say something new, in order."""
        worths = self._shapes.worths(shape(block).split(b"\n"))
        if not any(worths):
            return len(worths), []
        lines = list(compress(block.split(b"\n"), worths))
        keys = without_times(lines)
        places = list(compress(range(len(worths)), worths))
        fresh = self._known.places_of_others(keys)
        found = self._new_without_times([(places[at], lines[at], keys[at], worths[places[at]]) for at in fresh])
        self._known.add([key for _, _, key, worth in found if worth != CONTEXT])
        return len(worths), found

    def _new_without_times(self, found: list[Candidate]) -> list[Candidate]:
        """Those that are not known without the times inside of them, either."""
        timed = [one for one in found if one[3] == TIMED]
        if not timed:
            return found
        keys = without_inner_times([key for _, _, key, _ in timed])
        others = [one for one in found if one[3] != TIMED]
        others += [(*timed[at][:2], keys[at], KEEP) for at in self._known.places_of_others(keys)]
        others.sort()
        return others


#: A date and a time in front of a line, as launchers and collectors put it there, behind the end of the one before: ISO
#: 8601 and its relatives, and Open MPI's --timestamp-output.
TIME = re.compile(
    rb"\n(?:[\[(<]?\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?[\])>]?[ :]?"
    rb"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})"
)
#: The longest one (bytes).
TIME_BYTES = 39
#: UCX puts the time into its own lines.
_INNER_TIME = re.compile(rb"\[\d{9,11}\.\d{1,9}\] ")
_INNER_TIME_SHAPE = b"[.] "
#: KEEP, and a time inside of it.
TIMED = 1 + max(IGNORE, ONCE, KEEP, CONTEXT, BULK)
#: Each digit is as good as another one: what is left is a time's form.
_ZEROS = bytes.maketrans(b"123456789", b"000000000")


def without_times(lines: list[bytes]) -> list[bytes]:
    """Lines without the time in front of each that has one, whatever the lines around it have."""
    text = b"\n".join((b"", *lines))
    return TIME.sub(b"\n", text)[1:].split(b"\n") if TIME.search(text) else lines


def digits_as_zeros(text: bytes) -> bytes:
    """Each digit is as good as another one: what is left of a time is its form."""
    return text.translate(_ZEROS)


def without_inner_times(lines: list[bytes]) -> list[bytes]:
    """Lines without the times inside of them."""
    return _INNER_TIME.sub(b"", b"\n".join(lines)).split(b"\n")


class Shapes:
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
    return TIMED if worth == KEEP and _INNER_TIME_SHAPE in form else worth
