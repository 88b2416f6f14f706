"""Which of many lines hold one of many words, all of them looked for at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from ibkit.parsers.erased import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

#: From here on (bytes that were searched) the time that it takes to import numpy is saved by it.
LARGE_BYTES = 2 << 20
#: Words are looked for by so many bytes of them; the few that are shorter one after another.
_WINDOW = 3
#: A bit for each value that a window's bytes are hashed to: 64 KiB, which stay in a core's cache.
_HASH_BITS = 16
_MULTIPLIER = 0x9E3779B1  # 2^32 by the golden ratio (Knuth, The Art of Computer Programming, volume 3, 6.4)
_FREQUENT = b"etaoinsrhl"


class Needles:
    """Words without line ends. To search a text for each of them costs some 50 ns a byte where there are 160; from some
    megabytes on the text is therefore searched once, for parts of all words, as Rabin and Karp do it.
    """

    def __init__(self, words: Iterable[bytes]) -> None:
        self._words = tuple(dict.fromkeys(words))
        self._searched = 0
        self._windows: _Windows | None = None

    def places(self, lines: Sequence[bytes]) -> list[int]:
        """Where among these the lines stand that hold a word, in order."""
        text = b"\n".join(lines)
        self._searched += len(text)
        if self._searched > LARGE_BYTES and self._windows is None:
            self._windows = _Windows(word for word in self._words if len(word) >= _WINDOW)
        if self._windows is None:
            return _places(lines, [word for word in self._words if word in text])
        found = _places(lines, [word for word in self._words if len(word) < _WINDOW and _holds(text, word)])
        if inside := self._windows.found(text):
            starts = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
            found = sorted({bisect_right(starts, at) - 1 for at in inside}.union(found))
        return found


def _holds(text: bytes, word: bytes) -> bool:
    return word[:1] in text and word in text  # a single byte is looked for ten times as fast


def _places(lines: Sequence[bytes], words: list[bytes]) -> list[int]:
    return [place for place, line in enumerate(lines) if any(word in line for word in words)] if words else []


class _Windows:
    """Words, each by those three bytes of it that are the least frequent ones in other text."""

    def __init__(self, words: Iterable[bytes]) -> None:
        import numpy

        self._np = numpy
        self._words: dict[bytes, list[tuple[int, bytes]]] = {}
        for word in words:
            at = min(range(len(word) - _WINDOW + 1), key=lambda at: _frequency(word[at : at + _WINDOW]))
            self._words.setdefault(word[at : at + _WINDOW], []).append((at, word))
        self._table = numpy.zeros(1 << _HASH_BITS, numpy.bool_)
        self._table[self._hashes(b"".join(self._words))[::_WINDOW]] = True

    def found(self, text: bytes) -> list[int]:
        """Places in words that the text holds, one for each line that holds any."""
        places: list[int] = []
        done = 0
        for at in self._np.flatnonzero(self._table.take(self._hashes(text))).tolist():
            if at < done:
                continue
            for before, word in self._words.get(text[at : at + _WINDOW], ()):
                if at >= before and text.startswith(word, at - before):
                    places.append(at)
                    done = text.find(b"\n", at)
                    done = done if done >= 0 else len(text)
                    break
        return places

    def _hashes(self, text: bytes) -> np.ndarray[Any, np.dtype[np.uint32]]:
        """Of each three bytes that stand together."""
        numpy = self._np
        fours = numpy.ndarray((max(len(text) - _WINDOW + 1, 0),), "<u4", text + b"\n", 0, (1,))
        hashes: np.ndarray[Any, np.dtype[np.uint32]] = (fours << 8) * numpy.uint32(_MULTIPLIER) >> (32 - _HASH_BITS)
        return hashes


def _frequency(window: bytes) -> int:
    return sum(4 * (byte == 0x20) + 2 * (byte in _FREQUENT) + (0x61 <= byte <= 0x7A) for byte in window)
