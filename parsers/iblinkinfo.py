"""``iblinkinfo``: every port with its state and its peer, grouped by node or (``-l``) with all of it on each line.

Read off the program that prints it (rdma-core, ``infiniband-diags/iblinkinfo.c``) and off public outputs. What a
reader must know:

* A switch is named by its GUID, other nodes by their name alone; their rows have **port** GUIDs.
* The grouped form names a peer by LID, port number and name; the line form adds the peer's port GUID, pads short
  names to 30 characters on the left, and does not tell what kind of node a row is about.
* Port 0 is not listed. Of an HCA, only ports that the sweep reached are.
* There is no end mark, and a node that did not answer is missing without a word on stdout.
* ``--diff`` prints two fabrics at once, the rows of the first one after ``<``. That is no topology, and is not read.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.diag_messages import SIMULATOR, Message, parse_line
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.link_row import LinkRow, parse_row
from ibkit.parsers.records import NamedTuple

GROUPED, LINES = "grouped", "lines"
#: Width that the line form pads names to.
_NAME_WIDTH = 30

_HEADER = re.compile(r"(Switch|CA|Router|\?\?):? (?:0x([0-9a-fA-F]{1,16}) )?(.*):\s*\Z")
_ROW = re.compile(
    r'(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s++)?(?:"(?P<name>.*?)"\s++)?(?P<row>\d{1,5}\s++\d{1,3}\[[^\]]{0,6}\] ==\(.*)'
)


class PortLine(NamedTuple):
    """A row. ``port_guid`` is None in a switch's block, whose header has it. ``line`` is where it stands."""

    port_guid: int | None
    link: LinkRow
    line: int


class NodeTable(NamedTuple):
    """A node as far as the text tells it apart from others: a block, or the rows of one port GUID (``kind`` None).

    ``kind`` is Switch, CA, Router or ?? as printed; ``guid`` is the switch's, else None (grouped) or the port's.
    """

    kind: str | None
    guid: int | None
    name: str
    rows: tuple[PortLine, ...]
    line: int


class LinkTable(NamedTuple):
    """``form`` is grouped or lines; ``messages`` are the tool's complaints found in the text."""

    form: str
    nodes: tuple[NodeTable, ...]
    messages: tuple[Message, ...] = ()


def parse(text: str, *, source: str = "") -> Parsed[LinkTable]:
    """Read either form. ``complete`` is False where a row was lost, None otherwise: there is no end mark.

    Raises NotThisFormat where there is neither a row nor a last word of iblinkinfo.
    """
    lines, long_lines = lines_of(text, source, names_unquoted=True)
    reader = _Reader(Problems(source, long_lines))
    reader.lost = bool(long_lines)
    for number, line in enumerate(lines, 1):
        reader.feed(number, line)
    reader.close()
    if not reader.nodes and not reader.lost:
        raise NotThisFormat(f"{source or 'input'}: not iblinkinfo: no row with ==(...)==> in it")
    form = LINES if reader.nodes and reader.nodes[0].kind is None else GROUPED
    table = LinkTable(form, tuple(reader.nodes), tuple(reader.messages))
    return Parsed(table, reader.problems.all(), False if reader.lost else None)


def _belongs(node: NodeTable, rows: list[PortLine], guid: int | None, link: LinkRow) -> bool:
    """Whether a row can be of the block that is being read: ports rise in it, and a switch has one LID."""
    if node.kind is None or (guid is None) != (node.guid is not None):
        return False
    if not rows:
        return True
    return link.port > rows[-1].link.port and (node.guid is None or link.lid == rows[0].link.lid)


class _Reader:
    """The node that is being read, and the finished ones."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.nodes: list[NodeTable] = []
        self.messages: list[Message] = []
        self.lost = False
        self._node: NodeTable | None = None
        self._rows: list[PortLine] = []

    def feed(self, number: int, line: str) -> None:
        line = line.lstrip(BEFORE)
        if "==(" in line:
            self._row(number, line)
        elif header := _HEADER.match(line):
            self.close()
            guid = int(header[2], 16) if header[2] else None
            self._node = NodeTable(header[1], guid, header[3], (), number)
        elif message := parse_line(line, number):
            if message.text.startswith("iblinkinfo: "):
                self.lost = True
            if message.kind != SIMULATOR:
                self.messages.append(message)
        else:
            self.problems.noise.add(number, line)

    def _row(self, number: int, line: str) -> None:
        if line.startswith("< "):
            self._bad(number, f"a row of a comparison, which is no topology: {line[:120]!r}")
            return
        found = _ROW.match(line)
        link = parse_row(found["row"]) if found else None
        if not found or not link:
            self._bad(number, f"a damaged row: {line[:120]!r}")
            return
        guid = int(found["guid"], 16) if found["guid"] else None
        if found["name"] is not None and guid is not None:
            name = found["name"].lstrip() if len(found["name"]) <= _NAME_WIDTH else found["name"]
            if self._node is None or self._node.kind is not None or self._node.guid != guid:
                self.close()
                self._node = NodeTable(None, guid, name, (), number)
        elif self._node is None or not _belongs(self._node, self._rows, guid, link):
            self.close()
            self._bad(number, f"a row whose node's line is lost: {line[:120]!r}")
            return
        self._rows.append(PortLine(guid, link, number))

    def _bad(self, number: int, text: str) -> None:
        self.lost = True
        self.problems.add("bad-line", text, number)

    def close(self) -> None:
        """Finish the node. One without a row is none: the tool prints a header with its first row."""
        if self._node and self._rows:
            self.nodes.append(self._node._replace(rows=tuple(self._rows)))
        elif self._node:
            self._bad(self._node.line, f"{self._node.name[:80]!r} has no row, so rows are missing")
        self._node = None
        self._rows = []
