"""The words of all that reads jobs' logs: lines, their shapes, and what a shape is worth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from ibkit.parsers.records import NamedTuple

_VARYING = b"0123456789abcdef"

#: What a shape is worth: nothing, a look at the first such line, a look at each such line that was not seen before, a
#: look at each such line (a row of a table, a field of a message), a look at each new fact among many lines alike.
IGNORE, ONCE, KEEP, CONTEXT, BULK = 0, 1, 2, 3, 4


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


def segments(head: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each match of ``head`` and the text up to the next: processes that share a stream interrupt one another."""
    heads = list(head.finditer(text))
    ends = [*(found.start() for found in heads), len(text)][1:]
    for found, end in zip(heads, ends, strict=False):
        yield found, text[found.end() : end]
