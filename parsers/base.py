"""What every parser returns: the value it read, and what it could not read.

A parser is a pure function ``parse(text, *, source="") -> Parsed[...]``. It never raises on a bad line: one bad
line costs that line and leaves a :class:`Problem`. Only text that is not the format at all raises
:class:`NotThisFormat`.
"""

from __future__ import annotations

from ibkit.parsers.erased import Generic, TypeVar
from ibkit.parsers.records import NamedTuple

T = TypeVar("T")

#: Longer lines are not looked at: no tool prints one, and a hostile file must not cost time (characters).
MAX_LINE_CHARS = 65_536


class Problem(NamedTuple):
    """Evidence that could not be read, or that contradicts other evidence.

    ``kind`` is a stable word for scripts (``bad-line``, ``discovery-timeout`` ...), ``text`` a sentence for people,
    ``line`` the 1-based line in ``source`` (a file name or a command as typed), or None where no line applies.
    """

    kind: str
    text: str
    line: int | None = None
    source: str | None = None


class Parsed(NamedTuple, Generic[T]):
    """A parser's result.

    ``complete`` is True when the tool's own end mark was seen, False when the text is known to be cut or to have
    lost something, None when the format has no end mark and nothing speaks against it.
    """

    value: T
    problems: tuple[Problem, ...] = ()
    complete: bool | None = None


class NotThisFormat(ValueError):
    """The text is not what this parser reads. The message says which mark was looked for."""
