"""The forwarding tables that OpenSM writes with ``-D 0x43``: ``opensm-lfts.dump``, ``opensm.fdbs``, ``opensm.mcfdbs``.

They are what the SM has computed, which is what the switches hold once the subnet is up. The records are those of
``ibroute``. Read off the program that writes them (OpenSM 3.3.24, ``opensm/osm_dump.c``); NVIDIA's OpenSM and ibdiagnet
(``ibdiagnet2.fdbs``) write the same. What a reader must know:

* ``lfts``: a LID without an exit has no row. The number in the last line is the highest LID, not the number of rows.
* ``fdbs``: each LID from 1 on has a row, ``UNREACHABLE`` where it has no exit. There is no end mark: a table covers the
  LIDs up to its last row, and no more.
* ``mcfdbs``: only switches and multicast LIDs that have a port. Port numbers are hexadecimal. There is no end mark.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.ibroute import FIRST_MULTICAST_LID, NO_PORT, Destination, ForwardingTable, Tables
from ibkit.parsers.lines import BEFORE, Problems, lines_of

_LFT_HEAD = re.compile(
    r"Unicast lids \[0-(?P<last>\d{1,5})\] of switch Lid (?P<lid>\d{1,5}) guid 0x(?P<guid>[0-9a-f]{1,16}) "
    r"\('(?P<name>.*)'\):\s*\Z"
)
_LFT_ROW = re.compile(r"0x(?P<lid>[0-9a-f]{4}) (?P<port>\d{3}) # (?P<whose>.*)")
_WHOSE = re.compile(r"(?P<type>[A-Z][\w ]{2,30}) portguid 0x(?P<guid>[0-9a-f]{1,16}): '(?P<name>.*)'\s*\Z")
_LFT_END = re.compile(r"(\d{1,5}) lids dumped\s*\Z")
_FDB_HEAD = re.compile(r"\w{0,40}dump_ucast_routes: Switch 0x(?P<guid>[0-9a-fA-F]{1,16})\s*\Z")
_FDB_ROW = re.compile(
    r"0x(?P<lid>[0-9a-fA-F]{4}) : (?:UNREACHABLE|(?P<port>\d{3})  : (?:HOPS UNKNOWN|"
    r"\d{2,3} {1,3}: (?:yes|No .{1,80}!)))\s*\Z"
)
_MCFDB_HEAD = re.compile(r"Switch 0x(?P<guid>[0-9a-fA-F]{1,16})\s*\Z")
_MCFDB_ROW = re.compile(r"0x(?P<lid>[0-9a-fA-F]{4}) :(?P<ports>(?: {1,2}0x[0-9a-fA-F]{3})+)\s*\Z")
_CAPTIONS = ("LID    : Port : Hops : Optimal", "LID    : Out Port(s)")


def parse(text: str, *, source: str = "") -> Parsed[Tables]:
    """Read all tables. ``complete`` is True where each has its end mark, False where one is damaged, else None.

    Raises NotThisFormat where there is no table.
    """
    lines, long_lines = lines_of(text, source)
    reader = _Reader(Problems(source, long_lines))
    for number, line in enumerate(lines, 1):
        reader.feed(number, line.lstrip(BEFORE), is_cut=number == len(lines))
    reader.close()
    if not reader.tables:
        raise NotThisFormat(
            f"{source or 'input'}: not a dump of OpenSM's forwarding tables: no line like "
            "'Unicast lids [0-15] of switch Lid 2 guid ...' or 'dump_ucast_routes: Switch 0x...'"
        )
    damaged = reader.damaged or bool(long_lines) or not all(table.complete for table in reader.tables)
    complete = False if damaged else True if reader.all_end else None
    return Parsed(Tables(tuple(reader.tables), reader.destinations), reader.problems.all(), complete)


class _Reader:
    """The table that is being read, and the finished ones."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.tables: list[ForwardingTable] = []
        self.destinations: dict[int, Destination] = {}
        self.damaged = False
        self.all_end = True
        self._table: ForwardingTable | None = None
        self._exits = bytearray()
        self._groups: dict[int, tuple[int, ...]] = {}
        self._whole = True

    def feed(self, number: int, line: str, *, is_cut: bool) -> None:
        if is_cut and line and not _LFT_END.match(line):
            self._bad(number, f"the text ends inside this line, so it is not taken: {line[:80]!r}")
        elif line.startswith("0x") and self._table:
            self._row(number, line)
        elif head := _LFT_HEAD.match(line):
            self.close()
            lid = int(head["lid"])
            self._table = ForwardingTable(
                int(head["guid"], 16), head["name"], lid, f"Lid {lid}", 0, int(head["last"]), b"", {}, False, number
            )
        elif head := _FDB_HEAD.match(line) or _MCFDB_HEAD.match(line):
            self.close()
            self._table = ForwardingTable(int(head["guid"], 16), "", None, "", 1, 0, b"", {}, False, number)
        elif end := _LFT_END.match(line):
            self._end(number, int(end[1]))
        elif line.rstrip() not in _CAPTIONS:
            self.problems.noise.add(number, line)

    def _row(self, number: int, line: str) -> None:
        if row := _LFT_ROW.match(line):
            taken = self._unicast(int(row["lid"], 16), int(row["port"]))
            if taken and (whose := _WHOSE.match(row["whose"])):
                told = Destination(whose["type"], int(whose["guid"], 16), whose["name"])
                self.destinations.setdefault(int(row["lid"], 16), told)
        elif row := _FDB_ROW.match(line):
            lid = int(row["lid"], 16)
            self._whole &= lid == max(1, len(self._exits))
            taken = self._unicast(lid, NO_PORT if row["port"] is None else int(row["port"]))
        elif row := _MCFDB_ROW.match(line):
            lid = int(row["lid"], 16)
            taken = lid >= FIRST_MULTICAST_LID and lid not in self._groups
            if taken:
                self._groups[lid] = tuple(int(port, 16) for port in row["ports"].split())
        else:
            taken = False
        if not taken:
            self._whole = False
            self._bad(number, f"not the next row of a table: {line[:80]!r}")

    def _unicast(self, lid: int, port: int) -> bool:
        """Whether this can be the next row; rows rise."""
        if not len(self._exits) <= lid < FIRST_MULTICAST_LID or port > NO_PORT:
            return False
        self._exits.extend(bytes([NO_PORT]) * (lid - len(self._exits)))
        self._exits.append(port)
        return True

    def _bad(self, number: int, text: str) -> None:
        self.damaged = True
        self.problems.add("bad-line", text, number)

    def _end(self, number: int, highest: int) -> None:
        if self._table is None:
            self._bad(number, "the end of a table whose header is lost")
        else:
            whole = self._whole and highest == self._table.last and len(self._exits) <= highest + 1
            self._table = self._table._replace(complete=whole)
            self.close(ended=True)

    def close(self, *, ended: bool = False) -> None:
        """Finish the table. One of a form without an end covers what it has rows for."""
        table, self._table = self._table, None
        if table and table.lid is None:
            self.all_end = False
            table = table._replace(last=max(len(self._exits) - 1, 0), complete=self._whole)
        elif table and not table.complete:
            text = f"the table of {table.name!r} {'lacks rows' if ended else 'has no end'}"
            self.problems.add("incomplete", text, table.line)
        if table:
            self.tables.append(table._replace(exits=bytes(self._exits), groups=self._groups))
        self._exits, self._groups, self._whole = bytearray(), {}, True
