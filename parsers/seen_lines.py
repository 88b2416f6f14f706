"""Which lines of a log were seen before, in bounded memory."""

from __future__ import annotations

#: What is remembered of lines seen (bytes, and entries), so that a hostile log costs time and not memory.
MAX_REMEMBERED_BYTES = 16 << 20
MAX_REMEMBERED = 100_000


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
