"""OpenSM's log: what the subnet manager saw and did, from ``opensm.log`` or, in short, from syslog.

``Dec 01 20:41:30 661035 [1CE2C740] 0x01 -> function: ERR 5411: text``: time without a year, thread, level (bits: 0x01
error, 0x02 info, 0x04 verbose, 0x80 to syslog, too), text. A text may go on in lines without such a head (OpenSM
3.3.24, ``libopensm/osm_log.c``; the messages: ``opensm_messages``). What a reader must know:

* A *heavy* sweep discovers all of the fabric, a *light* one asks the switches whether something changed. Only verbose
  logs and those of NVIDIA's OpenSM tell when a sweep starts; each heavy one of a master ends in ``SUBNET UP`` or in
  ``Errors during initialization``.
* A trap is logged when it comes, and again when it is reported to those who subscribed, but for 129 to 131.
* A request without an answer makes up to four messages of one thread, between which those of others may stand. They
  are one event here.
* What is logged again and again between two milestones is one event with a count.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.log_times import without_year
from ibkit.parsers.opensm_messages import (
    BAD_KEY,
    ERROR,
    HEAVY_SWEEP,
    NO_ANSWER,
    PATH,
    REQUEST,
    SAME_REQUEST,
    SM_PORT,
    START,
    STATE,
    STOP,
    SUBNET_ERRORS,
    SUBNET_UP,
    Event,
    is_open,
    join,
    joined,
    read,
)
from ibkit.parsers.records import NamedTuple

#: Each of these is an event of its own, and what is equal is counted between two of them.
MILESTONES = frozenset({START, STOP, STATE, HEAVY_SWEEP, SUBNET_UP, SUBNET_ERRORS, SM_PORT})
#: More events than this are counted and not kept: a log may be as large as a disk.
MAX_EVENTS = 100_000
#: Lines in which a message goes on, at most. The longest dump has 40.
MAX_MORE_LINES = 64


class SmLog(NamedTuple):
    """The events in order. ``counts`` has how many there were of each kind, ``messages`` how many messages there are,
    telling or not; ``first_time`` and ``last_time`` are the ends of the log, see :mod:`ibkit.parsers.log_times`.
    """

    events: tuple[Event, ...]
    counts: dict[str, int]
    messages: int
    first_time: str | None
    last_time: str | None


_HEAD = re.compile(
    r"(?:OpenSM \$ ){0,9}(?:(?P<month>[A-Z][a-z]{2}|\?{3}) (?P<day>\d\d) )?(?P<clock>\d\d:\d\d:\d\d) "
    r"(?P<fraction>\d{6}) \[(?P<thread>[0-9A-F]{1,16})\] 0x(?P<level>[0-9a-f]{2}) -> ?(?P<text>.*)"
)
#: What rsyslog and journalctl put before a text; the program calls itself OpenSM. ``#012`` is an end of line there.
_SYSLOG = re.compile(
    r"(?:<\d{1,3}>)?(?:(?P<month>[A-Z][a-z]{2}) (?P<day>[ \d]\d) (?P<clock>\d\d:\d\d:\d\d)"
    r"|(?P<iso>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?))"
    r" (?P<host>\S{1,255}) (?:OpenSM|opensm)\[\d{1,10}\]: ?(?P<text>.*)"
)
_VERSION = re.compile(r"(?:(?P<prefix>\S.{0,62}): )?OpenSM (?P<version>\d\S{0,60})\Z")
_FUNCTION = re.compile(r"(\w{3,64}):(?: |\Z)")
_CODE = re.compile(r"ERR ([0-9A-Z]{4}): ?")
_TRANSACTION = re.compile(r"\bTID:? ?0x[0-9a-fA-F]{1,16}|\btrans_id=0x[0-9a-fA-F]{1,16}")


class _Message(NamedTuple):
    """A message as it stands there. ``thread`` is the host in a syslog."""

    line: int
    time: str | None
    thread: str
    level: int | None
    text: str


def parse(text: str, *, source: str = "") -> Parsed[SmLog]:
    """Read all messages. ``complete`` is False where something could not be read or kept, else None: logs do not end.

    Raises NotThisFormat where there is no message.
    """
    lines, long_lines = lines_of(text, source, names_unquoted=True)
    reader = _Reader(Problems(source, long_lines))
    for number, line in enumerate(lines, 1):
        reader.feed(number, line)
    reader.close(is_cut=bool(lines[-1]))
    if not reader.messages:
        raise NotThisFormat(
            f"{source or 'input'}: not a log of OpenSM: no line like 'Dec 01 20:41:30 661035 [1CE2C740] 0x02 -> ...'"
        )
    log = SmLog(reader.events(), reader.counts, reader.messages, reader.first_time, reader.last_time)
    return Parsed(log, reader.problems.all(), False if long_lines or reader.lost else None)


class _Reader:
    """The message that is being read, each thread's last event as long as it may be completed, and the others."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.counts: dict[str, int] = {}
        self.messages = 0
        self.first_time: str | None = None
        self.last_time: str | None = None
        self.lost = False
        self._message: _Message | None = None
        self._more: list[str] = []
        self._prefix = ""
        self._open: dict[str, Event] = {}
        self._events: list[Event] = []
        self._alike: dict[Event, int] = {}
        self._milestone = 0

    def feed(self, number: int, raw: str) -> None:
        line = raw.lstrip(BEFORE)
        if head := _HEAD.match(line):
            time = without_year(head["month"] or "", head["day"] or "", head["clock"], head["fraction"])
            self._start(_Message(number, time, head["thread"], int(head["level"], 16), head["text"]))
        elif head := _SYSLOG.match(line):
            time = head["iso"] or without_year(head["month"], head["day"], head["clock"])
            first, *more = head["text"].split("#012", MAX_MORE_LINES)
            self._start(_Message(number, time, head["host"], None, first))
            self._more += [part.strip() for part in more]
        elif self._message and len(self._more) < MAX_MORE_LINES and (self._message.level is not None or raw[:1] == " "):
            self._more.append(line.strip())  # journalctl indents them, and other programs' lines stand between them
        else:
            self.problems.noise.add(number, line)

    def _start(self, message: _Message) -> None:
        self.close()
        self._message = message
        self.messages += 1
        self.first_time = self.first_time or message.time
        self.last_time = message.time or self.last_time

    def close(self, *, is_cut: bool = False) -> None:
        """Finish the message. ``is_cut``: the text ends inside of it, so it may say less, or something else."""
        message, self._message = self._message, None
        more, self._more = self._more, []
        event = self._event(message, more) if message else None
        if message is None or event is None:
            return
        if is_cut and (event.kind == START or event.kind not in MILESTONES):
            self.lost = True
            self.problems.add("truncated", "the text ends inside this message, so it is not taken", message.line)
            return
        event = event._replace(line=message.line, time=message.time, level=message.level)
        known = self._open.get(message.thread)
        whole = join(known, event) if known else None
        if whole is None:
            self._finish(message.thread)
        self._open[message.thread] = whole or event
        if not is_open(whole or event) or event.kind == SAME_REQUEST:
            self._finish(message.thread)

    def _event(self, message: _Message, more: list[str]) -> Event | None:
        text = message.text.strip()
        if version := _VERSION.match(text):
            self._prefix = f"{version['prefix']}: " if version["prefix"] else ""
            return Event(START, text, version=version["version"])
        text = text.removeprefix(self._prefix)
        function = code = None
        if named := _FUNCTION.match(text):
            function, text = named[1], text[named.end() :]
        if coded := _CODE.match(text):
            code, text = coded[1], text[coded.end() :]
        event = read(text, more)
        if event is None and text and (code or (message.level or 0) & 1):
            event = Event(ERROR, joined(text, more))
        return event._replace(function=function, code=code) if event else None

    def _finish(self, thread: str) -> None:
        if event := self._open.pop(thread, None):
            self._take(event)

    def _take(self, event: Event) -> None:
        if event.kind == REQUEST:  # its first message is lost, or was never printed
            event = event._replace(kind=NO_ANSWER)
        elif event.kind in (PATH, SAME_REQUEST, BAD_KEY):
            return  # a part of something that is told without it
        self.counts[event.kind] = self.counts.get(event.kind, 0) + 1
        if event.kind in MILESTONES:
            self._alike.clear()
            self._milestone = event.line
        elif event.line > self._milestone:
            alike = event._replace(line=0, time=None, text=_TRANSACTION.sub("", event.text))
            place = self._alike.setdefault(alike, len(self._events))
            if place < len(self._events):
                first = self._events[place]
                self._events[place] = first._replace(
                    times=first.times + 1, last_line=event.line, last_time=event.time
                )  # fmt: skip
                return
        if len(self._events) < MAX_EVENTS:
            self._events.append(event)
        elif not self.lost:
            self.lost = True
            self.problems.add(
                "more-events", f"more than {MAX_EVENTS} events: from here on they are counted", event.line
            )

    def events(self) -> tuple[Event, ...]:
        """All of them, by line."""
        for thread in list(self._open):
            self._finish(thread)
        return tuple(sorted(self._events, key=lambda event: event.line))
