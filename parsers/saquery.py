"""``saquery``: records of the subnet administrator, one block each.

Read off the program that prints them (rdma-core, ``infiniband-diags/saquery.c``). A block is a title (``NodeRecord
dump:``), fields padded with dots, and for some records a table. What a reader must know:

* An attribute has several forms with other field names (``-p`` and ``PIR``; ``-g``, ``-m`` and ``MCMR``).
* The widths to which names are padded differ, and a node description may itself begin with dots.
* A PortInfoRecord of a port that is down makes the tool complain of ``bad width 0``: its width means nothing.
* Keys are ``<not displayed>`` unless asked for. What the SA refuses is one line on stderr.
* An answer without records is an empty text, and there is no end mark.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from typing import NamedTuple

from ibkit.parsers.base import NotThisFormat, Parsed, Problem
from ibkit.parsers.diag_messages import SA_STATUS, SIMULATOR, Message, parse_line
from ibkit.parsers.lines import BEFORE, Problems, count_of, lines_of

#: Headings over the two lists of ``saquery -s``.
SM_PORTS, DISABLED_SM_PORTS = "IsSM ports", "IsSMdisabled ports"

#: A title -> the type of its record, and the fields of which one ends a whole record.
_TITLES = {
    "NodeRecord dump:": ("NodeRecord", ("NodeDescription",)),
    "PortInfoRecord dump:": ("PortInfoRecord", ("capability_mask", "LinkSpeedExtEnabled", "RoundTrip")),
    "PathRecord dump:": ("PathRecord", ("resv2",)),
    "LinkRecord dump:": ("LinkRecord", ("ToLID",)),
    "SMInfoRecord dump:": ("SMInfoRecord", ("SMState",)),
    "SwitchInfoRecord dump:": ("SwitchInfoRecord", ("flags",)),
    "ServiceRecord dump:": ("ServiceRecord", ("ServiceData64.2",)),
    "InformInfoRecord dump:": ("InformInfoRecord", ("node_type", "vendor_id")),
    "MCMemberRecord group dump:": ("MCMemberRecord", ("SL",)),
    "MCMemberRecord member dump:": ("MCMemberRecord", ("NodeDescription",)),
    "MCMember Record dump:": ("MCMemberRecord", ("ProxyJoin",)),
    "GUIDInfo Record dump:": ("GUIDInfoRecord", ("GUID 7",)),
    "SA ClassPortInfo:": ("ClassPortInfo", ("Trap QKey",)),
    "PKeyTableRecord dump:": ("PKeyTableRecord", ()),
    "LFT Record dump:": ("LFTRecord", ()),
    "MFT Record dump:": ("MFTRecord", ()),
    "SL2VLTableRecord dump:": ("SL2VLTableRecord", ()),
    "VLArbTableRecord dump:": ("VLArbTableRecord", ()),
}
#: How many rows a whole table has.
_ROWS = {"PKeyTableRecord": 4, "LFTRecord": 64, "MFTRecord": 32, "SL2VLTableRecord": 1, "VLArbTableRecord": 4}
#: Titles of a record's parts, and heads of its table.
_PARTS = frozenset({
    "RID", "PortInfo dump:", "SMInfo dump:", "SwitchInfo dump:", "InformInfo dump:", "PKey Table:", "LFT:", "MFT:",
    "LID\tPort Number", "MLID\tPort Mask", "SL: 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|", "=" * 16,
    'LID "name"',
})  # fmt: skip

#: Free text may begin with dots: it starts at the column where the tool's own dots end.
_FREE_TEXT = {"NodeDescription" + 9 * ".": "NodeDescription", "ServiceName" + 13 * ".": "ServiceName"}
_TEXT_COLUMN = 24

_FIELD = re.compile(r"(?P<name>[A-Za-z][\w/]*+(?: [\w/]++)*(?:\.\d{1,2})?)(?:\.{2,}+|:\.++)(?P<value>.*)")
_FLAG = re.compile(r"Is[A-Z]\w{1,60}\Z")
_ROW = re.compile(r"(?:(?:VL|Weight)\s*+:\s*+)?((?:(?:0x[0-9a-fA-F]{1,4}|[0-9]{1,5})[|\s]++)+)\Z")
_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,4}|[0-9]{1,5}")
_NAMED = re.compile(r'(?P<lid>[0-9]{1,5})  "(?P<name>.*)"\Z')
#: The tool's own complaint about a port that is down.
_BAD_WIDTH = ": bad width "


class Record(NamedTuple):
    """A record as printed. ``fields`` maps names to texts; ``flags`` are the words below a capability mask.

    ``rows`` is the table: P_Keys; pairs (LID, port) or (MLID, port mask); VLs; VLs and weights in turn. ``heading`` is
    the list that it stands in (``saquery -s``). ``line`` is the title's.
    """

    type: str
    fields: dict[str, str]
    line: int
    flags: tuple[str, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()
    heading: str | None = None


class Answer(NamedTuple):
    """The records in the order of the text, and the tool's complaints that somebody's ``2>&1`` mixed in."""

    records: tuple[Record, ...]
    messages: tuple[Message, ...] = ()


def parse(text: str, *, source: str = "", fields: Container[str] | None = None) -> Parsed[Answer]:
    """Read all records; of each, the named fields, or all. ``complete`` is False where a record is cut.

    Raises NotThisFormat where there is neither a record nor a refusal of the SA.
    """
    lines, long_lines = lines_of(text, source)
    reader = _Reader(Problems(source, long_lines), fields)
    for number, line in enumerate(lines, 1):
        reader.feed(number, line.lstrip(BEFORE))
    reader.close(open_end=bool(lines[-1]))
    refused = any(message.kind == SA_STATUS for message in reader.messages)
    if not reader.records and not refused and not reader.cut:
        raise NotThisFormat(f"{source or 'input'}: not saquery: no title like 'NodeRecord dump:' in it")
    answer = Answer(tuple(reader.records), tuple(reader.messages))
    return Parsed(answer, reader.problems.all(), False if reader.cut or refused else None)


def parse_some(text: str, record_type: str, field: str, values: Iterable[int], *, source: str = "") -> Parsed[Answer]:
    """The records of one type whose ``field`` has one of these numbers: of a large answer those that are wanted.

    ``complete`` is False where one of them is cut, else None. Raises NotThisFormat where there is none of the type.
    """
    places = places_of(text, record_type, field)
    if not places:
        raise NotThisFormat(f"{source or 'input'}: no {record_type} with a number as its {field} in it")
    return parse_places(text, sorted(place for value in values for place in places.get(value, ())), source=source)


def places_of(text: str, record_type: str, field: str) -> dict[int, list[tuple[int, int]]]:
    """Where the records of one type are, by the number in ``field``, which is one of the first two."""
    title = next(title for title, (kind, _) in _TITLES.items() if kind == record_type)
    number = re.compile(rf"\s*+(?:RID\s++)?{field}\.++(0x[0-9a-fA-F]{{1,8}}|[0-9]{{1,8}})\b")
    places: dict[int, list[tuple[int, int]]] = {}
    start = text.find(title)
    while start >= 0:
        stop = text.find(title, start + len(title))
        found = number.match(text, start + len(title))
        if found:
            places.setdefault(count_of(found[1]) or 0, []).append((start, stop if stop >= 0 else len(text)))
        start = stop
    return places


def parse_places(text: str, places: Iterable[tuple[int, int]], *, source: str = "") -> Parsed[Answer]:
    """The records that are in some places of a text, in order, with the lines of the whole text."""
    records: list[Record] = []
    problems: list[Problem] = []
    complete = None
    line, counted = 0, 0
    for start, stop in places:
        line += text.count("\n", counted, start)
        counted = start
        parsed = parse(text[start:stop], source=source)
        records += [record._replace(line=record.line + line) for record in parsed.value.records]
        problems += [one._replace(line=one.line and one.line + line) for one in parsed.problems]
        complete = False if parsed.complete is False else complete
    return Parsed(Answer(tuple(records)), tuple(problems), complete)


class _Reader:
    """The record that is being read, and the finished ones."""

    def __init__(self, problems: Problems, fields: Container[str] | None) -> None:
        self.problems = problems
        self.records: list[Record] = []
        self.messages: list[Message] = []
        self.cut = False
        self._wanted = fields
        self._heading: str | None = None
        self._record: Record | None = None
        self._flags: list[str] = []
        self._rows: list[tuple[int, ...]] = []
        self._endings: tuple[str, ...] = ()
        self._ended = False
        self._last = ""

    def feed(self, number: int, line: str) -> None:
        title = line.rstrip()
        if title in _TITLES:
            self.close()
            kind, self._endings = _TITLES[title]
            self._record = Record(kind, {}, number, heading=self._heading)
        elif title in (SM_PORTS, DISABLED_SM_PORTS):
            self.close()
            self._heading = title
        elif not title or title in _PARTS:
            return
        elif self._record and line[:_TEXT_COLUMN] in _FREE_TEXT:
            self._field(number, _FREE_TEXT[line[:_TEXT_COLUMN]], line[_TEXT_COLUMN:])
        elif self._record and (field := _FIELD.match(line)):
            self._field(number, field["name"], field["value"].rstrip())
        elif self._record and self._record.type in _ROWS and (row := _ROW.match(f"{title} ")):
            self._rows.append(tuple(int(word, 0) for word in _NUMBER.findall(row[1])))
        elif self._record and _FLAG.match(title):
            self._flags.append(title)
        elif named := _NAMED.match(title):
            self.close()
            fields = {"lid": named["lid"], "NodeDescription": named["name"]}
            self.records.append(Record("NodeRecord", fields, number))
        elif message := parse_line(line, number):
            if message.kind != SIMULATOR and _BAD_WIDTH not in message.text:
                self.messages.append(message)
        else:
            self.problems.noise.add(number, line)

    def _field(self, number: int, name: str, value: str) -> None:
        assert self._record
        self._last = name
        self._ended |= name in self._endings
        if name in self._record.fields:
            self.problems.add("bad-line", f"{name} a second time in one {self._record.type}", number)
        elif self._wanted is None or name in self._wanted:
            self._record.fields[name] = value

    def close(self, *, open_end: bool = False) -> None:
        """Finish the record. ``open_end``: the text's last line may have lost its end, and a value with it."""
        record, self._record = self._record, None
        if record is None:
            return
        rows, flags, ended = self._rows, self._flags, self._ended
        self._rows, self._flags, self._ended = [], [], False
        needed = _ROWS.get(record.type)
        if not (ended if needed is None else len(rows) == needed):
            self.cut = True
            self.problems.add("cut-record", f"a {record.type} without its end", record.line)
            if open_end and rows:
                rows.pop()
            elif open_end:
                record.fields.pop(self._last, None)
        self.records.append(record._replace(rows=tuple(rows), flags=tuple(flags)))
