"""Text in front of a line's head that makes the line a quotation of another job's, not one that a process has said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ibkit.parsers.log_lines import Line

#: Looked at in front of a head (characters).
_SIGHT = 200
_QUOTE = r"[\"'`(]{0,2}"
_WORD = r"[A-Za-z][a-z']{1,30}(?:[A-Z][a-z']{1,30})?"
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


#: What sets a line off from the others: blanks, and a mail's marks of what it answers.
_SET_OFF = " \t\u00a0>"


def is_set_off(line: Line, before: str) -> bool:
    """Whether a line is indented, or quoted as mails quote, and nothing else stands before its head."""
    own = line.raw.lstrip(_SET_OFF)
    return len(own) < len(line.raw) and not before.strip() and own.startswith(line.text[len(before) :])


#: So many processes are remembered for their lines that nothing stands before.
_MAX_SPEAKERS = 100_000
#: So many quotations are held back until a line stands alone; where there are more, they are the log.
_MAX_HELD = 1000


class Speakers:
    """Who speaks in lines that nothing stands before; programs and their users quote lines of other jobs between them.

    What is not a known launcher's or logger's prefix may be one all the same, on all the lines of a process. So a line
    behind a sentence is a quotation where lines of others stand alone, be it later; behind a label where this process's
    do already. Lines that are set off, of processes that never stand alone, are quotations where they are few beside
    those that do: where they are many, a log was pasted so, and its first line without.
    """

    def __init__(self) -> None:
        self._alone: set[tuple[str, str]] = set()
        self._lines_alone = 0
        self._held: list[Line] = []
        self._is_held = True
        self._set_off: list[tuple[tuple[str, str], Line]] = []
        self._is_set_off_held = True

    def spoken(self, line: Line, before: str, speaker: tuple[str, str]) -> Sequence[Line]:
        """What is to be read now, by what stands before the line's speaker: the line; nothing where it is a quotation
        or may be one yet; all that was held back where that is too much to be quotations.
        """
        if self._is_set_off_held and speaker not in self._alone and is_set_off(line, before):
            self._set_off.append((speaker, line))
            return self._all_set_off() if len(self._set_off) > _MAX_HELD else ()
        if not self._is_quoted(before, speaker):
            return (line,)
        if self._alone:
            return ()
        self._held.append(line)
        return self.rest() if len(self._held) > _MAX_HELD else ()

    def rest(self) -> Sequence[Line]:
        """The lines that were held back and are no quotations."""
        held, self._held = self._held, []
        self._is_held = False
        found = [] if self._alone else held
        if self._set_off:
            found = sorted([*found, *self._own_set_off()], key=lambda line: line.number)
        return found

    def _all_set_off(self) -> Sequence[Line]:
        """They are too many to be quotations."""
        found, self._set_off = self._set_off, []
        self._is_set_off_held = False
        return [line for _, line in found]

    def _own_set_off(self) -> Iterator[Line]:
        """Those of processes that have stood alone, too; all of them where they are many, or one process alone has."""
        others = [line for speaker, line in self._set_off if speaker not in self._alone]
        weight = sum(2 if line.raw.lstrip().startswith(">") else 4 for line in others)  # that of a mark is more sure
        are_few = len(self._alone) > 1 and weight <= self._lines_alone
        found, self._set_off = self._set_off, []
        return (line for speaker, line in found if speaker in self._alone or not are_few)

    def _is_quoted(self, before: str, speaker: tuple[str, str]) -> bool:
        if not before.strip():
            self._lines_alone += 1
            if len(self._alone) < _MAX_SPEAKERS:
                self._alone.add(speaker)
            return False
        if self._alone:
            return is_sentence(before) or (speaker in self._alone and is_label(before))
        return self._is_held and is_sentence(before)
