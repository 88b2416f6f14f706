r"""Escape sequences in what somebody recorded or coloured: of a terminal, a pager, ``grep --color``, ``script``.

They are the recorder's, not the tool's, and would hide every mark and value. Only inside double quotes they stay: what
stands there is a name that a node gave itself, and data keeps names as they are.
"""

from __future__ import annotations

import re

# Control sequences (colour, erase, cursor, bracketed paste), window titles, character sets: ECMA-48, and xterm's OSC.
_SEQUENCE = r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[()][A-Z0-9])"


def plain(text: str) -> str:
    r"""The text without carriage returns and without escape sequences, but for those in quoted names.

    >>> plain('\x1b[32m[1]\t"S-01"[2]\x1b[0m # "a\x1b[1m"\r\n')
    '[1]\t"S-01"[2] # "a\x1b[1m"\n'
    """
    text = text.replace("\r", "")
    if "\x1b" not in text:
        return text
    if '"' not in text:
        return re.sub(_SEQUENCE, "", text)  # six times as fast, which megabytes of colours notice
    # Compiled only for the texts that need it, line by line so that a lone quote costs its own line.
    return re.sub(rf'("[^"\n]*")|{_SEQUENCE}', r"\1", text)


def plain_ends(line: str) -> str:
    """A line without escape sequences at its ends: for tools that print names without quotes."""
    if "\x1b" not in line:
        return line
    return re.sub(rf"(?:{_SEQUENCE}|\s)+\Z", "", re.sub(rf"\A(?:{_SEQUENCE})+", "", line))
