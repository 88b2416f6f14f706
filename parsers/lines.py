"""What the parsers of line-wise tools share: lines, numbers, and a bounded list of what could not be read."""

from __future__ import annotations

import re

from ibkit.parsers.base import MAX_LINE_CHARS, Problem
from ibkit.parsers.escapes import plain, plain_ends

#: The largest counter that a port can hold: 64 bits.
MAX_COUNT = (1 << 64) - 1
#: What may stand before a line's own text: indentation, quotes of a mail.
BEFORE = " \t>|\u2502"
#: More problems than this are one problem: a broken file must not fill the memory with complaints.
MAX_PROBLEMS = 500

_NUMBER = re.compile(r"(?:0x[0-9a-fA-F]{1,16}|[0-9]{1,20})\Z")


def lines_of(text: str, source: str, *, names_unquoted: bool = False) -> tuple[list[str], list[Problem]]:
    """The lines without their ends (also those of a terminal log: CR LF, CR CR LF) and without a terminal's colours,
    and a problem for each line that is too long to be a tool's. Such a line is empty in the result, so that the numbers
    of the others hold. ``names_unquoted``: an escape sequence in the middle of a line may be part of a name.
    """
    if names_unquoted:
        lines = [plain_ends(line) for line in text.replace("\r", "").split("\n")]
    else:
        lines = plain(text).split("\n")
    problems = []
    if len(text) > MAX_LINE_CHARS:
        for index, line in enumerate(lines):
            if len(line) > MAX_LINE_CHARS:
                lines[index] = ""
                problems.append(Problem("bad-line", f"a line of {len(line)} characters", index + 1, source or None))
    return lines, problems


def count_of(text: str) -> int | None:
    """A counter's value, decimal or ``0x``; None where it is no number or over 64 bits."""
    if not _NUMBER.match(text):
        return None
    value = int(text, 16) if text[:2] == "0x" else int(text)
    return value if value <= MAX_COUNT else None


class Noise:
    """Lines that are not the tool's: banners, prompts, blank chatter. They are counted, not listed one by one."""

    def __init__(self) -> None:
        self._count = 0
        self._first: tuple[int, str] = (0, "")

    def add(self, number: int, line: str) -> None:
        """Note line ``number``; blank lines are nobody's."""
        if line.strip():
            if not self._count:
                self._first = number, line.strip()
            self._count += 1

    def problems(self, source: str) -> list[Problem]:
        """One problem for all of them, at the first one's line; none where there was no noise."""
        if not self._count:
            return []
        number, line = self._first
        text = f"{self._count} lines that are not the tool's, the first: {line[:80]!r}"
        return [Problem("noise", text, number, source or None)]


class Problems:
    """What a parser could not read, in the order it met it, within bounds; and the noise."""

    def __init__(self, source: str, first: list[Problem]) -> None:
        self.noise = Noise()
        self._source = source
        self._list = first[:MAX_PROBLEMS]
        self._more = len(first) - len(self._list)

    def add(self, kind: str, text: str, line: int | None) -> None:
        """One problem at ``line``."""
        if len(self._list) < MAX_PROBLEMS:
            self._list.append(Problem(kind, text, line, self._source or None))
        else:
            self._more += 1

    def all(self) -> tuple[Problem, ...]:
        """The list, then one problem for all the noise, then how many did not fit."""
        ends = self.noise.problems(self._source)
        if self._more:
            ends.append(Problem("more-problems", f"{self._more} more problems", None, self._source or None))
        return (*self._list, *ends)
