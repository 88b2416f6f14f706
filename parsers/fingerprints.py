"""Fingerprints of many lines of a text at once, and which of them were seen before, by numpy.

A line's fingerprint is a multilinear hash: its 32-bit words, the last one filled up with zeros, each times a random odd
64-bit key, and its length times another one, summed modulo 2**64 (J. L. Carter and M. N. Wegman, "Universal classes of
hash functions", 1979; M. Thorup, "High speed hashing for integers and strings", 2015). The keys are drawn anew in each
process.

Where two lines differ, let 2**v be the largest power of two that divides all differences of their words and lengths.
The keys being odd, lines with one difference have the same sum never. With several of them the chance is 2**(v - 63):
2**-32 at most, for lines made by somebody who does not know the keys, as v is 31 at most; 2**-36 at most for such as
differ in digits only; mostly near 2**-60, as it takes differences in no byte but the last one of each word for a v
above 23. That a sum's lowest bits (one of them here, three in ``Table``) are not compared adds at most 2**-60.
"""

from __future__ import annotations

import os

import numpy as np

from ibkit.parsers.erased import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Prints = np.ndarray[Any, np.dtype[np.uint64]]
    Places = np.ndarray[Any, np.dtype[np.intp]]
    Worths = np.ndarray[Any, np.dtype[np.uint8]]

#: Lines that are longer (bytes) get Python's hash.
MAX_HASHED_BYTES = 1 << 10
#: Shorter ones (bytes) are taken to be of one length, whatever they are, unless that makes so many bytes of them.
_SHORT_BYTES, _MANY_BYTES = 64, 1 << 22
#: What a text must have behind its last line, as each line is taken with what follows it at first.
PADDING = b"\n" * MAX_HASHED_BYTES
_NUMBER = np.uint64(7)


class Hash:
    """Makes fingerprints. None is 0."""

    def __init__(self) -> None:
        keys = np.frombuffer(os.urandom(8 * (1 + MAX_HASHED_BYTES // 4)), np.uint64)
        self._of_length, self._of_words = keys[0] | np.uint64(1), keys[1:] | np.uint64(1)
        self._masks = b"\xff" * MAX_HASHED_BYTES + b"\0" * MAX_HASHED_BYTES

    def prints(self, text: bytes, starts: Places, lengths: Places) -> Prints:
        """The fingerprints of the lines that stand there in ``text``, which ends with PADDING."""
        longest = int(lengths.max(initial=0))
        if longest > MAX_HASHED_BYTES:
            return self._of_two_kinds(text, starts, lengths, MAX_HASHED_BYTES)
        width = max(8, -(-longest // 8) * 8)
        size = width * len(lengths)
        is_large = width > _SHORT_BYTES or (width > 8 and size > _MANY_BYTES)
        if is_large and size > 4 * int(lengths.sum()):  # few are as long as that
            return self._of_two_kinds(text, starts, lengths, width // 2)
        words = stretches(text, width)[starts].view(np.uint64)
        words &= stretches(self._masks, width)[MAX_HASHED_BYTES - lengths].view(np.uint64)
        halves = words.view(np.uint32).reshape(len(starts), width // 4).astype(np.uint64)
        found: Prints = np.einsum("ij,j->i", halves, self._of_words[: width // 4])
        found += lengths.astype(np.uint64) * self._of_length
        return found | np.uint64(1)

    def _of_two_kinds(self, text: bytes, starts: Places, lengths: Places, longest_short: int) -> Prints:
        found = np.empty(len(starts), np.uint64)
        is_long = lengths > longest_short
        found[~is_long] = self.prints(text, starts[~is_long], lengths[~is_long])
        starts, lengths = starts[is_long], lengths[is_long]
        if longest_short < MAX_HASHED_BYTES:
            found[is_long] = self.prints(text, starts, lengths)
        else:
            ends = (starts + lengths).tolist()
            lines = [text[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]
            found[is_long] = self.of_lines(lines)
        return found

    @staticmethod
    def of_lines(lines: list[bytes]) -> Prints:
        """Other ones, of lines that are at hand: Python's 64-bit hashes (SipHash, with another key in each process)."""
        return np.fromiter(map(hash, lines), np.int64, len(lines)).view(np.uint64) | np.uint64(1)


def stretches(text: bytes, width: int) -> np.ndarray[Any, np.dtype[np.void]]:
    """All stretches of so many bytes, one for each byte where one starts: a copy of some is one of memory each."""
    return np.ndarray((len(text) - width + 1,), f"V{width}", text, 0, (1,))


class Seen:
    """Fingerprints that were seen, in 2**(bits + 4) bytes: one of a crowd may be forgotten, and is looked at anew."""

    def __init__(self, bits: int) -> None:
        self._shift = np.uint64(64 - bits)
        self._first, self._second = np.zeros((2, 1 << bits), np.uint64)

    def places_of_others(self, prints: Prints) -> Places:
        """Where among these those stand that are not known."""
        rooms = prints >> self._shift
        others = np.flatnonzero(self._first[rooms] != prints)
        found: Places = others[self._second[rooms[others]] != prints[others]]
        return found

    def add(self, prints: Prints) -> None:
        """Those that are known now."""
        rooms = prints >> self._shift
        is_taken = self._first[rooms] != 0
        self._first[rooms[~is_taken]] = prints[~is_taken]
        self._second[rooms[is_taken]] = prints[is_taken]


class Table:
    """A number from 0 to 7 for each fingerprint: of two at the same place the later one has it."""

    def __init__(self, bits: int) -> None:
        self._shift = np.uint64(64 - bits)
        #: Fingerprints with the number in place of the lowest bits: one array, so that both are always of the same one.
        self._entries = np.zeros(1 << bits, np.uint64)

    def numbers(self, prints: Prints) -> tuple[Worths, Places]:
        """That of each, and the places among these of those that have none."""
        entries = self._entries[prints >> self._shift]
        return (entries & _NUMBER).astype(np.uint8), np.flatnonzero((entries ^ prints) > _NUMBER)

    def put(self, prints: Prints, numbers: Worths) -> None:
        """What each of these has from now on."""
        self._entries[prints >> self._shift] = prints & ~_NUMBER | numbers
