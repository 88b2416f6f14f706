"""``line_sieve`` for large logs: the lines of a block are looked at all at once, as numpy's arrays.

A block and its shapes have the same lines, one for one. A line is an object of Python's only where its shape is told
for the first time, and where it may say something new; all others are a place, a length and two fingerprints.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ibkit.parsers.erased import TYPE_CHECKING, Any
from ibkit.parsers.fingerprints import PADDING, Hash, Seen, Table, stretches
from ibkit.parsers.line_sieve import (
    TIME,
    TIME_BYTES,
    TIMED,
    Candidate,
    Shapes,
    digits_as_zeros,
    without_inner_times,
)
from ibkit.parsers.log_lines import CONTEXT, IGNORE, KEEP, ONCE, shape
from ibkit.parsers.log_scanner import MAX_UNENDED_BYTES

if TYPE_CHECKING:
    from ibkit.parsers.fingerprints import Places, Prints, Worths

#: Looked at at once (bytes): what is made of it stays in a core's cache, and the calls of numpy are few.
BLOCK_BYTES = 1 << 19
#: More than what is made of a block at any time, and less than the largest piece that the C library goes by.
_LARGEST_BYTES = 16 << 20
#: Of the tables of shapes (half a MiB) and of lines that were seen (8 MiB).
_SHAPE_BITS, _SEEN_BITS = 16, 19
_NEWLINE = ord("\n")
_END = b"\n" + PADDING
#: Whether a time may go on with a byte where it has no blank or colon behind it, and where it has; whether a date may.
_GOES_ON, _GOES_ON_BEHIND, _IN_DATE = (
    np.isin(np.arange(256), list(some)) for some in (b" :.,ZU+-])>0123456789", b"ZU+-", b"-/")
)


class BulkSieve:
    """What ``line_sieve.Sieve`` is, in some 10 MiB however many lines there are, and for a block of the shortest lines
    30 MiB for a moment. A line that was let through is let through again where too many others were in the meantime.
    """

    def __init__(self, worths: Callable[[list[bytes]], list[int]]) -> None:
        self._shapes = Shapes(worths)
        self._hash = Hash()
        self._worths = Table(_SHAPE_BITS)
        self._seen = Seen(_SEEN_BITS)
        #: The last time's form, which the next ones have mostly: its digits are zeros.
        self._form = b""
        # Once a piece of this size was given back, the C library keeps smaller ones for the next time, where it would
        # have had each array's pages anew of the kernel (mallopt(3), M_MMAP_THRESHOLD): half as much time again.
        bytes(_LARGEST_BYTES)

    def candidates(self, block: bytes) -> tuple[int, list[Candidate]]:
        """How many lines the block has, and those of them that may say something new, in order."""
        text = block + _END
        count, places, worths = self._telling(shape(text))
        if not len(places):
            return count, []
        starts, ends = _lines(text)
        starts, ends = starts[places], ends[places]
        keys = starts + self._widths_of_times(text, starts)
        prints = self._hash.prints(text, keys, ends - keys)
        fresh = self._seen.places_of_others(prints)
        rows = np.stack((worths, places, starts, keys, ends), axis=1)[fresh]
        is_timed = rows[:, 0] == TIMED
        self._seen.add(prints[fresh[~is_timed & (rows[:, 0] != CONTEXT)]])
        found = [
            (place, text[start:end], text[key:end], worth) for worth, place, start, key, end in rows[~is_timed].tolist()
        ]
        if is_timed.any():
            found = sorted([*found, *self._new_without_inner_times(text, rows[is_timed])])
        return count, found

    def sift(self, text: bytes) -> bytes:
        """A part of a log with each line that is no candidate empty. Left as they are: the first and the last line,
        which may be cut, those that whoever reads them cuts, and blocks with lines between carriage returns.
        """
        at, last = text.find(b"\n") + 1, text.rfind(b"\n") + 1
        parts = [text[:at]]
        while at < last:
            end = text.rfind(b"\n", at, at + _block_size(text, at)) + 1
            if end:
                parts += (self._sift_block(text[at : end - 1]), b"\n")
            else:
                end = text.find(b"\n", at) + 1
                parts.append(text[at:end])
            at = end
        return b"".join([*parts, text[last:]])

    def _sift_block(self, block: bytes) -> bytes:
        """The same of whole lines, without the last one's end."""
        if b"\r" in block:
            block, was = block.replace(b"\r\n", b"\n").removesuffix(b"\r"), block
            if b"\r" in block:
                return was
        count, found = self.candidates(block)
        parts: list[bytes] = []
        next_place = 0
        for place, line, _, _ in found:
            parts += (b"\n" * (place - next_place), line)
            next_place = place
        return b"".join([*parts, b"\n" * (count - 1 - next_place)])

    def _telling(self, shapes: bytes) -> tuple[int, Places, Worths]:
        """How many lines there are, the places of those whose shape is worth anything, and what they are worth."""
        starts, ends = _lines(shapes)
        lengths = ends - starts
        prints = self._hash.prints(shapes, starts, lengths)
        worths, others = self._worths.numbers(prints)
        if len(others):
            worths[others] = self._learn(shapes, starts[others], lengths[others], prints[others])
        places = np.flatnonzero(worths)
        return len(ends), places, worths[places]

    def _learn(self, shapes: bytes, starts: Places, lengths: Places, prints: Prints) -> Worths:
        forms = [shapes[at : at + length] for at, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
        worths = np.array(self._shapes.worths(forms), np.uint8)
        self._worths.put(prints, np.where(worths == ONCE, IGNORE, worths))  # of ONCE no other block's lines are wanted
        return worths

    def _widths_of_times(self, text: bytes, starts: Places) -> Places:
        """How much of each line is the time in front of it."""
        widths = np.zeros(len(starts), np.intp)
        others = np.arange(len(starts))
        if self._form:
            has_form = self._have_form(text, starts)
            widths[has_form] = len(self._form)
            others = others[~has_form]
        others = others[_may_have_times(text, starts[others])]
        if len(others):
            rows = np.full((len(others), 1 + TIME_BYTES), _NEWLINE, np.uint8)
            rows[:, 1:] = stretches(text, TIME_BYTES)[starts[others]].view(np.uint8).reshape(len(others), TIME_BYTES)
            for found in TIME.finditer(rows.tobytes()):
                row, behind = divmod(found.start(), 1 + TIME_BYTES)
                if not behind:  # else that of the next line, which a short one has behind it in its row
                    widths[others[row]] = len(found[0]) - 1
                    self._form = digits_as_zeros(found[0][1:])
        return widths

    def _have_form(self, text: bytes, starts: Places) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which lines have a time of this form in front, and no longer one."""
        form = self._form
        goes_on = _GOES_ON_BEHIND if form.endswith((b" ", b":")) else _GOES_ON
        is_whole: np.ndarray[Any, np.dtype[np.bool_]] = ~goes_on[np.frombuffer(text, np.uint8)[starts + len(form)]]
        heads = digits_as_zeros(stretches(text, len(form))[starts].tobytes())
        if heads != form * len(starts):
            rows = np.frombuffer(heads, np.uint8).reshape(len(starts), len(form))
            is_whole &= (rows == np.frombuffer(form, np.uint8)).all(axis=1)
        return is_whole

    def _new_without_inner_times(self, text: bytes, rows: Places) -> list[Candidate]:
        """Those that are not known without the times inside of them, either."""
        keys = without_inner_times([text[key:end] for key, end in rows[:, 3:].tolist()])
        prints = self._hash.of_lines(keys)
        fresh = self._seen.places_of_others(prints)
        self._seen.add(prints[fresh])
        return [(rows[at, 1].item(), text[rows[at, 2] : rows[at, 4]], keys[at], KEEP) for at in fresh]


def _may_have_times(text: bytes, starts: Places) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which lines look so at two of their bytes: behind a year, in a bracket or not, or behind two words."""
    third, fourth, fifth, seventh = (np.frombuffer(text, np.uint8)[starts + at] for at in (3, 4, 5, 7))
    found: np.ndarray[Any, np.dtype[np.bool_]] = _IN_DATE[fourth] | _IN_DATE[fifth] | ((third == 32) & (seventh == 32))
    return found


def _block_size(text: bytes, at: int) -> int:
    """How many bytes from here on hold no line that is cut where it is read: its start alone is looked at there."""
    half = MAX_UNENDED_BYTES // 2
    starts = range(at, min(at + BLOCK_BYTES, len(text)), half)
    may_hold_one = any(text.find(b"\n", start, start + half) < 0 for start in starts)
    return min(BLOCK_BYTES, MAX_UNENDED_BYTES) if may_hold_one else BLOCK_BYTES


def _lines(text: bytes) -> tuple[Places, Places]:
    """Where each line starts and ends in a text that ends with _END."""
    size = len(text) - len(PADDING)
    too_many = -size % 8
    is_end = (np.frombuffer(text, np.uint8, size + too_many) == _NEWLINE).view(np.uint64)
    eights = np.flatnonzero(is_end != 0)  # most hold none, and it is quicker to look at them than at each byte
    places = np.flatnonzero(is_end[eights].view(np.bool_))
    ends = (eights * 8)[places >> 3] + (places & 7)
    ends = ends[: len(ends) - too_many]
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    return starts, ends
