"""``ibtracert``: the way through the forwarding tables from one port to another, unicast or (``-m``) multicast.

Read off the program that prints it (rdma-core, ``infiniband-diags/ibtracert.c``). A step is written as the port by
which the node before is left, the node that is reached, and the port by which it is entered. The ends have node GUIDs,
the steps port GUIDs (in the multicast form node GUIDs). The ``To`` line is the end mark.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.diag_messages import Complaints, Message
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

_TYPE = r"(?:(?P<type>ca|switch|router|iwarp rnic|unknown|\?\?\?) )?"
_GUID = r"\{?0x(?P<guid>[0-9a-f]{1,16})\}?"
_TAIL = r'(?: lid (?P<lid>\d{1,5})(?:-(?P<last>\d{1,5}))?(?: "(?P<name>.*)")?)?\s*\Z'
_END = re.compile(
    rf"(?P<which>From|To) {_TYPE}{_GUID}(?:\[(?P<port>\d{{1,3}})\]| port(?:num)? (?P<number>\d{{1,3}})){_TAIL}"
)
_STEP = re.compile(rf"\[(?P<exit>\d{{1,3}})\] -> {_TYPE}(?:port )?{_GUID}\[(?P<port>\d{{1,3}})\]{_TAIL}")
_OWN_FAILURE = re.compile(r"(?:\S*/)?ibtracert: ")


class Stop(NamedTuple):
    """An end of the way, or a step on it. GUIDs are plain integers: a node's at the ends, a port's between them.

    ``exit_port`` is the port by which the stop before was left, None at the ends; ``port`` is the port by which this
    one was entered (0 is a switch itself). ``lid`` to ``last_lid`` are the LIDs of that port.
    """

    guid: int
    port: int
    exit_port: int | None = None
    type: str | None = None
    lid: int | None = None
    last_lid: int | None = None
    name: str | None = None


class Trace(NamedTuple):
    """One way. ``end`` is None where the tool did not get there."""

    start: Stop
    steps: tuple[Stop, ...]
    end: Stop | None
    line: int


class Traces(NamedTuple):
    """The ways in the order of the text, and the tool's complaints found in it."""

    traces: tuple[Trace, ...]
    messages: tuple[Message, ...] = ()


def parse(text: str, *, source: str = "") -> Parsed[Traces]:
    """Read all traces. ``complete`` is True where each one arrived.

    Raises NotThisFormat where there is neither a trace nor a failure of ibtracert.
    """
    lines, long_lines = lines_of(text, source)
    reader = _Reader(Problems(source, long_lines))
    for number, line in enumerate(lines, 1):
        reader.feed(number, line.lstrip(BEFORE))
    reader.close()
    if not reader.traces and not reader.complaints.failed:
        raise NotThisFormat(f"{source or 'input'}: not ibtracert: no line like 'From ca {{0x...}} portnum 1'")
    complete = not reader.complaints.failed and all(trace.end for trace in reader.traces)
    return Parsed(Traces(tuple(reader.traces), tuple(reader.complaints.messages)), reader.problems.all(), complete)


class _Reader:
    """The trace that is being read, and the finished ones."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.traces: list[Trace] = []
        self.complaints = Complaints(_OWN_FAILURE, problems)
        self._start: tuple[Stop, int] | None = None
        self._steps: list[Stop] = []
        self._damaged = False

    def feed(self, number: int, line: str) -> None:
        if end := _END.match(line):
            if end["which"] == "From":
                self.close()
                self._start = _stop(end), number
            else:
                self.close(_stop(end), number)
        elif line.startswith("["):
            self._step(number, line)
        elif not self.complaints.take(number, line):
            self.problems.noise.add(number, line)

    def _step(self, number: int, line: str) -> None:
        step = _STEP.match(line)
        if step and self._start:
            self._steps.append(_stop(step))
        elif self._start:
            self._damaged = True
            self.problems.add("bad-line", f"not a step of the way: {line[:120]!r}", number)
        else:
            self.problems.noise.add(number, line)

    def close(self, end: Stop | None = None, number: int | None = None) -> None:
        """Finish the trace; one with a damaged step has not arrived, for nobody knows where it went."""
        if self._start:
            start, line = self._start
            if end is None:
                self.problems.add("incomplete", "a way without its end", line)
            self.traces.append(Trace(start, tuple(self._steps), None if self._damaged else end, line))
        elif end:
            self.problems.add("bad-line", "the end of a way whose start is lost", number)
        self._start, self._steps, self._damaged = None, [], False


def _stop(found: re.Match[str]) -> Stop:
    groups = found.groupdict()
    lid = int(groups["lid"]) if groups["lid"] else None
    return Stop(
        int(groups["guid"], 16), int(groups["port"] or groups.get("number") or 0),
        int(groups["exit"]) if groups.get("exit") else None, groups["type"], lid,
        int(groups["last"]) if groups["last"] else lid, groups["name"],
    )  # fmt: skip
