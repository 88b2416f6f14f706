"""Text in, records out: one module per tool or log format. No I/O, no clock, nothing from the rest of ibkit.

``FORMATS`` is the list of what is recognised by content; a parser's module is imported only when it is used.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ibkit.parsers.base import NotThisFormat


class Format(NamedTuple):
    """A tool's output: ``mark`` (a multi-line regular expression) recognises it, ``command`` is what reads it.

    ``module`` is the parser's module below ibkit.parsers, None where the format is recognised but not read yet.
    """

    tool: str
    mark: str
    command: str
    module: str | None = None


#: In the order they are tried: the most telling mark first.
FORMATS = (
    Format("ibnetdiscover", r"^(?:Switch|Ca|Rt)\s*\d+\s+\"[SHR]-[0-9a-fA-F]+\"", "fabric", "ibnetdiscover"),
    Format("ibstat", r"^CA '[^'\n]*'\s*$", "status", "ibstat"),
    Format("sminfo", r"^sminfo: sm lid \d+", "sm", "sminfo"),
)


def identify(text: str, *, source: str = "") -> Format:
    """The format of ``text``, by its content alone.

    Raises NotThisFormat listing what was tried.
    """
    plain = text.replace("\r", "")
    for candidate in FORMATS:
        if re.search(candidate.mark, plain, re.MULTILINE):
            return candidate
    tried = ", ".join(candidate.tool for candidate in FORMATS)
    raise NotThisFormat(f"{source or 'input'}: no known format; tried {tried}")
