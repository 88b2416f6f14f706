"""The last line of a text that has no end: a line that was cut, or the prompt of a terminal log."""

from __future__ import annotations

from collections.abc import Iterable


def is_cut(line: str) -> bool:
    """Whether a last line without its end has lost it: it is no prompt of a terminal log."""
    return bool(line.strip()) and line.rstrip()[-1] not in "$#>%"


def is_fragment(line: str, starts: Iterable[str]) -> bool:
    """Whether ``line`` may be the beginning of a tool's line. ``starts`` are the beginnings of all of them."""
    line = line.lower()
    return bool(line) and any(start.startswith(line) or line.startswith(start) for start in map(str.lower, starts))
