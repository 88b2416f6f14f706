"""A piece of a log around one line, and the table that shows it."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple, Protocol

from ibkit.tui.view.level import INFO, OK
from ibkit.tui.view.lines import Line, line, span
from ibkit.tui.view.table import Column, Row, Table

#: How many lines before and behind the one that is meant are kept, how much of each (bytes).
BEFORE, BEHIND, MOST_BYTES = 300, 300, 4000
_BLOCK_BYTES = 1 << 20

COLUMNS = (Column("Line", right=True), Column("Text", flexible=True, least=40, unknown="", tinted=True))


class Stream(Protocol):
    """What a log gives."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, none at the end."""
        ...


class Excerpt(NamedTuple):
    """Lines of a file from number ``first`` on; ``marked`` is the number of the one that is meant."""

    first: int
    lines: tuple[str, ...]
    marked: int


def excerpt_of(stream: Stream, marked: int) -> Excerpt:
    """The lines around number ``marked``, counted by their ends from 1, in the memory of those that are kept.

    Raises ValueError where the stream has fewer.
    """
    kept: deque[bytes] = deque(maxlen=BEFORE + 1 + BEHIND)
    number, rest, last = 0, b"", marked + BEHIND
    while number < last and (data := stream.read(_BLOCK_BYTES)):
        ends = data.count(b"\n")
        if number + ends < marked - BEFORE:  # nothing of it will be shown
            number += ends
            rest = (data[data.rfind(b"\n") + 1 :] if ends else rest + data)[:MOST_BYTES]
            continue
        *whole, tail = data.split(b"\n")
        for piece in whole[: last - number]:
            kept.append((rest + piece)[:MOST_BYTES])
            rest = b""
            number += 1
        rest = (rest + tail)[:MOST_BYTES]
    if number < last and rest:
        kept.append(rest)
        number += 1
    if not 1 <= marked <= number:
        raise ValueError(f"it has {number} lines, and no line {marked}")
    first = number - len(kept) + 1
    while first < marked - BEFORE:
        kept.popleft()
        first += 1
    return Excerpt(first, tuple(piece.decode("utf-8", "backslashreplace").rstrip("\r") for piece in kept), marked)


def table(excerpt: Excerpt) -> Table:
    """A row for each line, the one that is meant marked."""
    rows = [
        Row(number, INFO if number == excerpt.marked else OK, (number, text.expandtabs()))
        for number, text in enumerate(excerpt.lines, excerpt.first)
    ]
    return Table("line", COLUMNS, rows)


def line_lines(excerpt: Excerpt, number: int) -> list[Line]:
    """One line, whole as far as it is kept."""
    place = number - excerpt.first
    if not 0 <= place < len(excerpt.lines):
        return []
    sign = "the line that is meant" if number == excerpt.marked else f"line {number}"
    return [line(span(f" {sign}  ", "caption"), span(excerpt.lines[place].expandtabs(), limit=MOST_BYTES))]
