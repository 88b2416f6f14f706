"""``ibroute``, ``dump_fts`` and the old ``dump_lfts`` and ``dump_mfts``: forwarding tables of switches.

Read off the programs that print them (rdma-core, ``infiniband-diags/ibroute.c``, ``dump_fts.c``). A table is a header
with the switch's GUID, a row for each LID that has an exit port, and a line that counts the rows: its end mark. Where a
block of the table does not answer, the tool goes on with the next switch, and the mark is missing. An exit port of 255
(``-a`` prints those rows, too) is none. What is said of a destination is the tool's look-up, not the switch's; of the
LIDs of one port (LMC above 0) all but the first are told as ``path #2 out of 4``.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.diag_messages import Complaints, Message
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

#: Exit port of a LID that the switch does not forward (InfiniBand Architecture Specification volume 1, 14.2.5.10).
NO_PORT = 255
#: The first LID that is multicast.
FIRST_MULTICAST_LID = 0xC000

_HEADER = re.compile(
    r"(?P<kind>Unicast|Multicast) m?lids \[0x(?P<first>[0-9a-f]{1,6})-0x(?P<last>[0-9a-f]{1,6})\] of switch "
    r"(?P<address>Lid \d{1,5}(?: Gid \S{1,45})?|DR path slid \d{1,5}; dlid \d{1,5}; [\d,]{1,400})"
    r" guid 0x(?P<guid>[0-9a-f]{1,16}) \((?P<name>.*)\):\s*\Z"
)
_LID = re.compile(r"Lid (\d{1,5})\b")
_UNICAST = re.compile(r"0x(?P<lid>[0-9a-f]{4}) (?P<port>\d{3})(?: :? ?(?P<info>.*))?\Z")
_DESTINATION = re.compile(r"\((?P<type>[A-Z][\w ]{2,30}) portguid 0x(?P<guid>[0-9a-f]{1,16}): '(?P<name>.*)'\)\s*\Z")
_MULTICAST = re.compile(r"0x(?P<lid>[0-9a-f]{4})      (?P<ports>[x ]*+)\Z")
_MASK = re.compile(r"0x(?P<lid>[0-9a-f]{4})      (?P<mask>(?:[0-9a-f]{4}){1,16})\s*\Z")
_END = re.compile(r"(\d{1,6}) (?:valid )?m?lids dumped\s*\Z")
_HEADS = (
    "Lid  Out   Destination",
    "Port     Info",
    "Ports: ",
    "MLid",
    "Switch multicast mlid capability is ",
    "*** WARNING ***: ",
)
_OWN_FAILURE = re.compile(r"(?:\S*/)?(?:ibroute|dump_fts|dump_lfts|dump_mfts)(?:\.sh)?: ")
_GET_FAILED = re.compile(r"SubnGet\(\w*\) failed")


class Destination(NamedTuple):
    """What the tool found at a LID: the node's type as printed, its port GUID (a plain integer) and its name."""

    type: str
    port_guid: int
    name: str


class ForwardingTable(NamedTuple):
    """A switch's table. ``guid`` is a plain integer, ``lid`` None where a directed route was printed.

    ``exits`` is indexed by LID: the exit port, 255 for none; LIDs past its end, and those below ``first``, were not
    printed. ``groups`` maps multicast LIDs to their ports. ``complete``: the count at its end is that of its rows.
    """

    guid: int
    name: str
    lid: int | None
    address: str
    first: int
    last: int
    exits: bytes
    groups: dict[int, tuple[int, ...]]
    complete: bool
    line: int


class Tables(NamedTuple):
    """All tables; ``destinations`` by LID, as far as the tool looked them up."""

    tables: tuple[ForwardingTable, ...]
    destinations: dict[int, Destination]
    messages: tuple[Message, ...] = ()


def parse(text: str, *, source: str = "") -> Parsed[Tables]:
    """Read all tables. ``complete`` is True where each has its end mark and nothing failed.

    Raises NotThisFormat where there is neither a table nor a failure of one of the tools.
    """
    lines, long_lines = lines_of(text, source)
    reader = _Reader(Problems(source, long_lines))
    for number, line in enumerate(lines, 1):
        reader.feed(number, line)
    reader.close()
    if not reader.tables and not reader.complaints.failed:
        raise NotThisFormat(f"{source or 'input'}: not ibroute or dump_fts: no header like 'Unicast lids [0x0-0xf] of'")
    complete = not reader.complaints.failed and all(table.complete for table in reader.tables)
    tables = Tables(tuple(reader.tables), reader.destinations, tuple(reader.complaints.messages))
    return Parsed(tables, reader.problems.all(), complete)


class _Reader:
    """The table that is being read, and the finished ones."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.tables: list[ForwardingTable] = []
        self.destinations: dict[int, Destination] = {}
        self.complaints = Complaints(_OWN_FAILURE, problems)
        self._table: ForwardingTable | None = None
        self._exits = bytearray()
        self._groups: dict[int, tuple[int, ...]] = {}
        self._rows = 0
        self._multicast = False

    def feed(self, number: int, line: str) -> None:
        line = line.lstrip(BEFORE)
        if line.startswith("0x") and self._table:
            self._row(number, line)
        elif header := _HEADER.match(line):
            self.close()
            lid = _LID.match(header["address"])
            self._multicast = header["kind"] == "Multicast"
            self._table = ForwardingTable(
                int(header["guid"], 16), header["name"], int(lid[1]) if lid else None, header["address"],
                int(header["first"], 16), int(header["last"], 16), b"", {}, False, number,
            )  # fmt: skip
        elif end := _END.match(line):
            self._end(number, int(end[1]))
        elif _GET_FAILED.match(line):
            self.problems.add("no-answer", f"a block of a table did not answer: {line[:120]}", number)
        elif line and not (line.startswith(_HEADS) or _is_ruler(line) or self.complaints.take(number, line)):
            self.problems.noise.add(number, line)

    def _row(self, number: int, line: str) -> None:
        if self._multicast:
            found = _MULTICAST.match(line) or _MASK.match(line)
            lid = int(found["lid"], 16) if found else 0
            if not found or lid < FIRST_MULTICAST_LID:
                self.problems.add("bad-line", f"not a row of a multicast table: {line[:80]!r}", number)
                return
            self._rows += 1
            self._groups[lid] = _ports(found.groupdict().get("ports"), found.groupdict().get("mask"))
            return
        found = _UNICAST.match(line)
        lid_text, port_text, info = found.groups() if found else ("0", "0", None)  # a table has 12,000 of them
        lid, port = int(lid_text, 16), int(port_text)
        if not found or lid >= FIRST_MULTICAST_LID or port > NO_PORT:
            self.problems.add("bad-line", f"not a row of a unicast table: {line[:80]!r}", number)
            return
        self._rows += 1
        exits = self._exits
        if lid == len(exits):
            exits.append(port)
        else:
            exits.extend(bytes([NO_PORT]) * (lid + 1 - len(exits)))
            exits[lid] = port
        if info and lid not in self.destinations and (told := _DESTINATION.match(info)):
            self.destinations[lid] = Destination(told["type"], int(told["guid"], 16), told["name"])

    def _end(self, number: int, count: int) -> None:
        if self._table is None:
            self.problems.add("bad-line", "the end of a table whose header is lost", number)
            return
        if count == self._rows:
            self._table = self._table._replace(complete=True)
        else:
            text = f"{self._rows} rows of the table of {self._table.name!r}, its end counts {count}"
            self.problems.add("incomplete", text, number)
        self._finish()

    def close(self) -> None:
        """Finish a table that has no end mark."""
        if self._table:
            text = f"the table of {self._table.name!r} has no end: the text is cut, or the switch did not answer"
            self.problems.add("incomplete", text, self._table.line)
            self._finish()

    def _finish(self) -> None:
        assert self._table
        self.tables.append(self._table._replace(exits=bytes(self._exits), groups=self._groups))
        self._table, self._exits, self._groups, self._rows = None, bytearray(), {}, 0


def _ports(crosses: str | None, mask: str | None) -> tuple[int, ...]:
    """Ports of a multicast group: crosses two columns apart, or words of 16 bits, the first of which has port 0."""
    if crosses is not None:
        return tuple(column // 2 for column, mark in enumerate(crosses) if mark == "x")
    words = [int((mask or "")[start : start + 4], 16) for start in range(0, len(mask or ""), 4)]
    return tuple(16 * index + bit for index, word in enumerate(words) for bit in range(16) if word >> bit & 1)


def _is_ruler(line: str) -> bool:
    """The digits over the columns of a multicast table."""
    return all(character in "0123456789 " for character in line)
