"""How wide a text is on a terminal: a letter of Chinese, Japanese or Korean takes two cells, a combining mark none.

What paints measures with rich, and so does this; the plain text of a pipe comes without rich, and asks Python's own
table of the same property (Unicode's annex 11, East Asian Width).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache


def width_of(text: str) -> int:
    """The cells that a text takes."""
    return len(text) if text.isascii() else _measure()(text)


def widest(texts: Sequence[str]) -> int:
    """The cells that the widest of them takes. 73,520 plain names cost no more than their lengths."""
    if "".join(texts).isascii():
        return max(map(len, texts), default=0)
    return max(map(width_of, set(texts)))


def padded(text: str, width: int, right: bool = False) -> str:
    """A text with blanks behind it, or before it, up to so many cells."""
    blanks = " " * (width - width_of(text))
    return blanks + text if right else text + blanks


@cache
def _measure() -> Callable[[str], int]:
    try:
        from rich.cells import cell_len
    except ModuleNotFoundError:
        return _by_property
    return cell_len


def _by_property(text: str) -> int:
    from unicodedata import category, east_asian_width

    return sum(
        0 if category(letter) in ("Mn", "Me", "Cf") else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )
