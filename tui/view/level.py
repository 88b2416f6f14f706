"""How bad something is. A level is shown by a mark and a word first; colour only repeats it.

Unknown ranks above ok and below a warning: what was not seen is not healthy, and it is not proven broken either.
"""

from __future__ import annotations

OK, INFO, UNKNOWN, WARNING, CRITICAL = range(5)

#: One column wide, and ASCII: a serial console shows them too.
MARKS = ("", "i", "?", "!", "x")
#: The names of the levels, which are the names of their styles as well.
WORDS = ("ok", "info", "unknown", "warning", "critical")


def mark(level: int) -> str:
    """The one-letter mark; empty where all is well, so that the eye falls on the others."""
    return MARKS[level]


def word(level: int) -> str:
    """The level's name."""
    return WORDS[level]
