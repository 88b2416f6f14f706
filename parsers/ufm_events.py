"""UFM's event log (``/opt/ufm/log/event.log``, or its lines in syslog): links, thresholds of counters, modules.

A line is time, number, code, severity, category, the object with its path, and a sentence, as NVIDIA's own analyser
reads it (Mellanox/ufm_sdk_3.0, ``ufm_log_analyzer_plugin``). The ports that it is about are in the path, in the
sentence, or in both, spelled by the version: ``(Switch:leaf7:1/17/1)9c05...:33`` and ``9c05... (Switch: leaf7) : 12``
are ends of a link, ``Peer info: Computer: node1 HCA-1 / 1`` and ``Peer Port leaf7:1/17/1`` the other end (IBM/CAST;
imbue-ai/cluster-health, ``ufm_events``). Times are the server's local ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.port_labels import normalised
from ibkit.parsers.records import NamedTuple

#: A reboot of one switch is hundreds of events within a second (numbers of imbue-ai/cluster-health).
BURST_EVENTS = 50
BURST_GAP_SECONDS = 1.0

_EVENT = re.compile(
    r"(?:\S.{0,300}? eventlog\[\d{1,10}\]: [A-Z]{4,12} - )?"
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?) \[(?P<number>\d{1,18})\] \[(?P<code>\d{1,6})\] "
    r"(?P<severity>[A-Z]{4,12}) (?:Site \[[^\]]{0,80}\] )?\[(?P<category>\w{1,40})\] (?P<type>\w{1,40}) \["
)
_DEVICE = " [dev_id: "
_LABEL = re.compile(r"\d{1,4}(?:/\d{1,4}){0,2}\Z")
_KIND = r"(?P<kind>[A-Z]\w{1,20})"
_ENDS = (
    re.compile(rf"\({_KIND}:(?P<name>[^()]{{1,120}})\)(?P<guid>[0-9a-f]{{16}}):(?P<port>\d{{1,3}})"),
    re.compile(rf"\b(?P<guid>[0-9a-f]{{16}}) \({_KIND}: (?P<name>[^()]{{1,120}})\) : (?P<port>\d{{1,3}})"),
    re.compile(rf"\bPeer info: {_KIND}: (?P<name>.{{1,120}}?) / (?P<port>[\d/]{{1,12}})\b"),
    re.compile(r"\bPeer Port (?P<name>\S{1,120}?):(?P<port>[\d/]{1,12}) "),
)


class EventPort(NamedTuple):
    """A port that an event is about. ``kind`` is UFM's word for its device (Switch, Computer), ``label`` what is on its
    panel (see ``port_labels``), ``port`` its number, each None where the event does not tell.
    """

    kind: str | None
    name: str
    label: str | None = None
    port: int | None = None
    guid: int | None = None


class UfmEvent(NamedTuple):
    """An event. ``number`` counts the events of the server, ``code`` is the kind (329: link went down; UFM's manual,
    Supported Events). ``subject`` is the object's path as it is printed.
    """

    line: int
    time: str
    number: int
    code: int
    severity: str
    category: str
    type: str
    subject: str
    text: str
    ports: tuple[EventPort, ...] = ()


class Burst(NamedTuple):
    """Events of which each came within a second of the one before: mostly one incident. ``codes`` counts them."""

    first_line: int
    last_line: int
    first_time: str
    last_time: str
    codes: dict[int, int]


class UfmLog(NamedTuple):
    """All events in order, and which of them came in bursts."""

    events: tuple[UfmEvent, ...]
    bursts: tuple[Burst, ...] = ()


def parse(text: str, *, source: str = "") -> Parsed[UfmLog]:
    """Read all events. ``complete`` is False where a line of UFM cannot be read, else None: a log has no end.

    Raises NotThisFormat where there is no event.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    events = []
    lost = bool(long_lines)
    for number, raw in enumerate(lines, 1):
        line = raw.lstrip(BEFORE)
        head = _EVENT.match(line)
        if head is None:
            problems.noise.add(number, line)
        elif event := _event(head, line[head.end() :], number):
            events.append(event)
        else:
            lost = True
            problems.add("bad-line", f"an event without its sentence: {line[:80]!r}", number)
    if not events:
        raise NotThisFormat(f"{source or 'input'}: not UFM's event log: no line like '2024-... [1] [329] WARNING [...'")
    return Parsed(UfmLog(tuple(events), tuple(_bursts(events))), problems.all(), False if lost else None)


def _event(head: re.Match[str], rest: str, line: int) -> UfmEvent | None:
    subject, end, text = rest.partition("]: ")
    if not end:
        return None
    path, _, device = subject.partition(f"]{_DEVICE}")
    ports = tuple(dict.fromkeys((*_of_path(path, device), *_of_text(text))))
    return UfmEvent(
        line, head["time"], int(head["number"]), int(head["code"]), head["severity"], head["category"], head["type"],
        path, text.strip(), ports,
    )  # fmt: skip


def _of_path(path: str, device: str) -> Iterator[EventPort]:
    """``default(34) / Switch: leaf01 / NA / 16``: the site, the device, its module, the port."""
    steps = path.split(" / ")
    at = next((index for index, step in enumerate(steps) if re.match(rf"{_KIND}: \S", step)), None)
    if at is None or at == len(steps) - 1 or not _LABEL.match(steps[-1]):
        return
    kind, _, name = steps[at].partition(": ")
    yield _port(kind, name, steps[-1], device)


def _of_text(text: str) -> Iterator[EventPort]:
    for pattern in _ENDS:
        for found in pattern.finditer(text):
            parts = found.groupdict()
            yield _port(parts.get("kind"), parts["name"], parts["port"], parts.get("guid"))


def _port(kind: str | None, name: str, port: str, guid: str | None) -> EventPort:
    """A name may hold the label behind a colon; a device with its vendor's default name has no colon."""
    label = None
    device, colon, tail = name.rpartition(":")
    if colon and _LABEL.match(tail):
        name, label = device, normalised(tail)
    elif "/" in port:
        label = normalised(port)
    number = int(port) if port.isdigit() else None
    is_guid = guid is not None and re.match(r"[0-9a-fA-F]{1,16}\Z", guid)
    return EventPort(kind, name.strip(), label, number, int(guid, 16) if guid and is_guid else None)


def _bursts(events: Iterable[UfmEvent]) -> Iterator[Burst]:
    burst: list[UfmEvent] = []
    last = 0.0
    for event in events:
        now = _seconds(event.time)
        if burst and not 0 <= now - last < BURST_GAP_SECONDS:
            yield from _burst(burst)
            burst = []
        burst.append(event)
        last = now
    yield from _burst(burst)


def _burst(events: list[UfmEvent]) -> Iterator[Burst]:
    if len(events) >= BURST_EVENTS:
        codes = Counter(event.code for event in events)
        yield Burst(events[0].line, events[-1].line, events[0].time, events[-1].time, dict(codes.most_common()))


def _seconds(time: str) -> float:
    """Seconds since some midnight; two days differ by what they are apart."""
    from datetime import datetime

    try:
        return (datetime.fromisoformat(time) - datetime(2000, 1, 1)).total_seconds()
    except ValueError:  # the 99th day of a month
        return -1.0
