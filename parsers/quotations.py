"""Text in front of a line's head that makes the line a quotation of another job's, not one that a process has said."""

from __future__ import annotations

import re

#: Looked at in front of a head (characters).
_SIGHT = 200
_QUOTE = r"[\"'`(]{0,2}"
_WORD = r"[A-Za-z][a-z']{1,30}"
#: Three words of plain text, one behind the other.
_SENTENCE = re.compile(rf"(?<![\w])(?:{_WORD}[,:;]? ){{2}}{_WORD}[,:]?(?: ?[=>-]{{1,2}})? ?{_QUOTE}\Z")
#: A word with a colon, or a quotation mark. Launchers' and loggers' tags look so, too.
_LABEL = re.compile(rf"(?<![\w]){_WORD}: ?{_QUOTE}\Z|[\"`]\Z")


def is_sentence(before: str) -> bool:
    """Whether what stands in front of a head is a sentence.

    >>> is_sentence("reference line was "), is_sentence("epoch 3 loss ")
    (True, False)
    """
    return bool(_SENTENCE.search(before[-_SIGHT:]))


def is_label(before: str) -> bool:
    """Whether what stands in front of a head may introduce a quotation, and may be a tag as well."""
    return bool(_LABEL.search(before[-_SIGHT:]))
