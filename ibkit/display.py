"""Text from outside, made safe to show: no terminal escape, no line break, no invisible control reaches a screen."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Spaces of other widths (Unicode's category Zs): Python calls them not printable, and they are harmless.
_SPACES = frozenset("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000")
#: What a spreadsheet takes for the beginning of a formula, and the numbers that begin so.
_FORMULA = ("=", "+", "-", "@")
_NUMBER = r"[+-]\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_FIELD_CHARS = 4096


def clean(text: str, limit: int = 200) -> str:
    r"""One line of printable text: what is not becomes ``\xNN`` or ``\uNNNN``, what is over ``limit`` a ``...``.

    Not printable is what ``repr`` escapes: controls, line separators, lone surrogates, what XML refuses; and Unicode's
    format characters, which turn text round or have no width, so that two names that differ look alike.

    >>> clean("sw\x1b[31m1")
    'sw\\x1b[31m1'
    """
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _SPACES else _escaped(char) for char in text)


def csv_field(value: object, text: str | None = None) -> str:
    """A field of a CSV file; ``text`` is how the value is shown, where that is not its own text. None is empty.

    A spreadsheet takes a text that begins with one of ``=+-@`` for a formula, which may start programs: one ``'`` goes
    before it, as OWASP's "CSV Injection" has it (tab and CR, its other characters, are escaped). Numbers stay as they
    are, and so does a sign alone, such as the ``-`` of standard input, which is no formula.

    >>> csv_field("=HYPERLINK(1)"), csv_field(-3), csv_field("-")
    ("'=HYPERLINK(1)", '-3', '-')
    """
    if value is None:
        return ""
    shown = clean(str(value) if text is None else text, _FIELD_CHARS)
    if not shown.startswith(_FORMULA) or len(shown) == 1 or isinstance(value, (int, float)):
        return shown
    return shown if re.fullmatch(_NUMBER, shown) else f"'{shown}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 link``, ``1,024 links``."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def first_few(texts: Iterable[str], limit: int = 5) -> str:
    """The first ones of a list, and how many more there are."""
    texts = list(texts)
    return ", ".join(texts[:limit]) + and_more(len(texts) - limit)


def and_more(number: int, one: str = "") -> str:
    """`` and 1 more``, `` and 3 more links``; empty where there are none."""
    if number < 1:
        return ""
    return f" and {counted(number, f'more {one}')}" if one else f" and {number:,} more"


def _escaped(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # a byte of a file's name, where the locale has no letter for it
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()
