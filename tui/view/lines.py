"""Lines of styled text: what a page is made of. Text from outside is neutralised where it enters a span."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ibkit.display import clean
from ibkit.parsers.records import NamedTuple
from ibkit.tui.view import level as levels
from ibkit.tui.view.cells import padded, widest, width_of

#: Roles besides the words of the levels: plain text, a caption, a heading, what matters less.
PLAIN, CAPTION, HEADING, DIM = "", "caption", "heading", "dim"


class Span(NamedTuple):
    """A piece of a line; ``role`` names its style."""

    text: str
    role: str = PLAIN


Line = tuple[Span, ...]
BLANK: Line = ()


def span(text: Any, role: str = PLAIN, limit: int = 2000) -> Span:
    """A piece of text, safe to show; None is an unknown value."""
    return Span("?" if text is None else clean(str(text), limit), role)


def line(*parts: str | Span) -> Line:
    """A line of spans; a bare text is our own words."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def heading(text: str) -> Line:
    """A heading."""
    return (Span(text, HEADING),)


def marked(level: int, *parts: str | Span) -> Line:
    """A line led by the level's mark."""
    return (Span(f"{levels.mark(level) or 'ok':<2} ", levels.word(level)), *line(*parts))


def facts(pairs: Iterable[tuple[str, Any]], indent: str = "  ", role: str = CAPTION) -> list[Line]:
    """``caption  value`` lines with aligned values. A value may be a line of its own."""
    listed = list(pairs)
    width = widest([caption for caption, _ in listed])
    return [
        (Span(f"{indent}{padded(caption, width)}  ", role), *(value if _is_line(value) else (span(value),)))
        for caption, value in listed
    ]


def _is_line(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, Span) for part in value)


def beside(left: list[Line], right: list[Line], column: int) -> list[Line]:
    """Two blocks side by side, the right one from ``column`` on."""
    lines = []
    for number in range(max(len(left), len(right))):
        first = left[number] if number < len(left) else BLANK
        second = right[number] if number < len(right) else BLANK
        gap = max(1, column - sum(width_of(part.text) for part in first))
        lines.append((*first, Span(" " * gap), *second) if second else first)
    return lines


def plain(parts: Line) -> str:
    """The line without its styles."""
    return "".join(part.text for part in parts)
