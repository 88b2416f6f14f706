"""Which lines of a log were seen before, in bounded memory."""

from __future__ import annotations

from ibkit.parsers.erased import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

#: What is remembered of lines seen (bytes, and entries), so that a hostile log costs time and not memory.
MAX_REMEMBERED_BYTES = 16 << 20
MAX_REMEMBERED = 100_000
#: Of Fingerprints, a power of two: 8 MiB.
_PLACES = 1 << 20


class KnownLines:
    """Lines that were looked into and need not be again, within bounds."""

    def __init__(self) -> None:
        self._lines: set[bytes] = set()
        self._size = 0

    def places_of_others(self, lines: list[bytes]) -> list[int]:
        """Where among these the lines stand that are not known."""
        known = self._lines
        return [place for place, line in enumerate(lines) if line not in known]

    def add(self, lines: list[bytes]) -> None:
        """Lines that were looked into."""
        for line in lines:
            if self._size >= MAX_REMEMBERED_BYTES:
                return
            if line not in self._lines:
                self._lines.add(line)
                self._size += len(line) + 100


class Fingerprints:
    """The same for large logs, by Python's 64-bit hashes of the lines (SipHash, with another key in each process).

    A set of lines costs several misses of the processor's caches for each line of the log, this table one, and numpy
    looks up a block at once. Of two lines with the same place in the table the later one is known. That a line is
    taken for another one is as likely as that 44 bits, those that its place does not say, are alike by chance.
    """

    def __init__(self) -> None:
        import numpy as np

        self._np = np
        self._table = np.zeros(_PLACES, np.int64)
        self._table[0] = 1  # which is not at home here; 0, an empty line's, would be

    def places_of_others(self, lines: list[bytes]) -> list[int]:
        """Where among these the lines stand that are not known."""
        prints = self._prints(lines)
        found: list[int] = self._np.flatnonzero(self._table[prints & (_PLACES - 1)] != prints).tolist()
        return found

    def add(self, lines: list[bytes]) -> None:
        """Lines that were looked into."""
        prints = self._prints(lines)
        self._table[prints & (_PLACES - 1)] = prints

    def _prints(self, lines: list[bytes]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return self._np.fromiter(map(hash, lines), self._np.int64, len(lines))


class Memory:
    """What was seen, within bounds."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._size = 0

    def add(self, thing: bytes) -> bool:
        """Whether it is new, as far as is remembered."""
        if thing in self._seen:
            return False
        if self._size > MAX_REMEMBERED_BYTES or len(self._seen) >= MAX_REMEMBERED:
            self._seen.clear()
            self._size = 0
        self._seen.add(thing)
        self._size += len(thing)
        return True
