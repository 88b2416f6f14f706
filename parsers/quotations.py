"""Text in front of a line's head that makes the line a quotation of another job's, not one that a process has said."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ibkit.parsers.log_lines import Line

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


#: So many processes are remembered for their lines that nothing stands before.
_MAX_SPEAKERS = 100_000
#: So many quotations are held back until a line stands alone; where there are more, they are the log.
_MAX_HELD = 1000


class Speakers:
    """Who speaks in lines that nothing stands before; programs and their users quote lines of other jobs between them.

    What is not a known launcher's or logger's prefix may be one all the same, on all the lines of a process. So a line
    behind a sentence is a quotation where lines of others stand alone, be it later; behind a label where this process's
    do already.
    """

    def __init__(self) -> None:
        self._alone: set[tuple[str, str]] = set()
        self._held: list[Line] = []
        self._is_held = True

    def spoken(self, line: Line, before: str, speaker: tuple[str, str]) -> Sequence[Line]:
        """What is to be read now, by what stands before the line's speaker: the line; nothing where it is a quotation
        or may be one yet; all that was held back where that is too much to be quotations.
        """
        if not self._is_quoted(before, speaker):
            return (line,)
        if self._alone:
            return ()
        self._held.append(line)
        return self.rest() if len(self._held) > _MAX_HELD else ()

    def rest(self) -> Sequence[Line]:
        """The lines that were held back, if no line stood alone: then they are no quotations."""
        held, self._held = self._held, []
        self._is_held = False
        return () if self._alone else held

    def _is_quoted(self, before: str, speaker: tuple[str, str]) -> bool:
        if not before.strip():
            if len(self._alone) < _MAX_SPEAKERS:
                self._alone.add(speaker)
            return False
        if self._alone:
            return is_sentence(before) or (speaker in self._alone and is_label(before))
        return self._is_held and is_sentence(before)
