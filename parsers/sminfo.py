"""Output of ``sminfo`` (infiniband-diags): the subnet manager that a port was told of.

One line, read off ``infiniband-diags/sminfo.c`` (rdma-core): the GUID drops leading zeros, the state is a number with
its name behind it. A failure is said on stdout, its cause on stderr.
"""

from __future__ import annotations

import re

from ibkit.parsers import diag_messages
from ibkit.parsers.base import NotThisFormat, Parsed, Problem
from ibkit.parsers.diag_messages import Message
from ibkit.parsers.lines import BEFORE, Noise, lines_of
from ibkit.parsers.records import NamedTuple

#: The names that the program gives to the states of SMInfo (InfiniBand Architecture Specification, 14.2.5.13).
STATES = ("SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", "SMINFO_MASTER")


class SmInfo(NamedTuple):
    """One answer. ``lid`` is where it was asked (0: by directed route), ``state`` the number of the state, which is
    None where number and name contradict each other.
    """

    line: int
    lid: int
    guid: int
    activity: int
    priority: int
    state: int | None


class SmInfoReport(NamedTuple):
    """The answers in a text, and the tool's complaints."""

    answers: tuple[SmInfo, ...]
    messages: tuple[Message, ...] = ()


_START = re.compile(r"(?:\S{0,200}/)?sminfo: sm lid ")
_ANSWER = re.compile(
    r"(?:\S{0,200}/)?sminfo: sm lid ([0-9]{1,5}) sm guid (?:0[xX])?([0-9a-fA-F]{1,16}), activity count ([0-9]{1,10}) "
    r"priority ([0-9]{1,2}) state ([0-9]{1,2})(?: (\S+))?\s*$"
)


def parse(text: str, *, source: str = "") -> Parsed[SmInfoReport]:
    """Read the answers; normally there is one. ``complete`` is False where one could not be read.

    Raises NotThisFormat where the text holds neither an answer nor a complaint of sminfo.
    """
    lines, problems = lines_of(text, source)
    noise = Noise()
    answers = []
    messages = []
    for number, line in enumerate(lines, 1):
        line = line.strip(BEFORE)
        found = _ANSWER.match(line)
        if found:
            lid, guid, activity, priority, state, word = found.groups()
            told: int | None = int(state)
            if word in STATES and STATES.index(word) != told:
                text = f"state {state} and {word} contradict each other"
                problems.append(Problem("contradiction", text, number, source or None))
                told = None
            answers.append(SmInfo(number, int(lid), int(guid, 16), int(activity), int(priority), told))
        elif _START.match(line):
            problems.append(
                Problem("bad-line", f"an answer that cannot be read: {line[:120]!r}", number, source or None)
            )
        else:
            message = diag_messages.parse_line(line, number)
            if message:
                messages.append(message)
            else:
                noise.add(number, line)
    if not (answers or messages or problems):
        raise NotThisFormat(f"{source or 'input'}: no answer of sminfo in it (sminfo: sm lid ...)")
    complete = False if any(problem.kind == "bad-line" for problem in problems) else None
    problems += noise.problems(source)
    return Parsed(SmInfoReport(tuple(answers), tuple(messages)), tuple(problems), complete)
