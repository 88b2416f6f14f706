"""Output of ``ibnetdiscover`` (infiniband-diags): the topology, and the ports report of ``-p``.

The grammar was read off the program that prints it (rdma-core, ``infiniband-diags/ibnetdiscover.c``, checked from
v44 to v64) and off public dumps. What the tool promises, and what this reader relies on:

* a node is a block: identification lines, a header, a row for each port that has a neighbour, in order of port
  number; blocks are parted by a blank line; each link has a row at both of its ends;
* identification lines and port GUIDs in brackets drop leading zeros, the quoted ids are padded;
* names are not escaped and may hold quotes, ``#`` and brackets, so they are read from the outside in;
* nothing marks the end, and a node that did not answer is missing without a word on stdout.

``-g`` adds chassis headers, slots and ``[ext N]`` labels, ``-f`` adds ``s= w= v=``, ``-s`` prints the routes first.
"""

from __future__ import annotations

import re
from operator import lt
from typing import Any, NamedTuple

from ibkit.parsers import diag_messages
from ibkit.parsers.base import NotThisFormat, Parsed, Problem
from ibkit.parsers.bulk import no_cyclic_gc
from ibkit.parsers.diag_messages import Message
from ibkit.parsers.lines import BEFORE, Noise, lines_of

TOPOLOGY, PORTS = "topology", "ports"

#: A port's number is one byte, of which 255 is reserved (InfiniBand Architecture Specification, 14.2.5.3 NodeInfo).
MAX_PORT = 254
MAX_GUID = (1 << 64) - 1
#: More bad lines than this are counted, not listed.
MAX_BAD_LINES = 200
#: What the tool calls the speeds; anything else at a text's very end may be half a word.
SPEEDS = ("SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR", "???")


class PortRow(NamedTuple):
    """A port with a neighbour, as its node's block lists it. Numbers are as printed, GUIDs are plain integers.

    ``lid`` and ``lmc`` are the port's own (channel adapters and routers only). ``width`` is like ``4x`` and ``speed``
    like ``HDR``, both as printed (``??`` and ``???`` where the tool did not know the code), None where absent.
    ``label`` is the number on the chassis' panel.
    """

    line: int
    number: int
    port_guid: int | None
    peer_kind: str
    peer_guid: int
    peer_port: int
    peer_port_guid: int | None
    lid: int | None
    lmc: int | None
    peer_name: str | None
    peer_lid: int | None
    width: str | None
    speed: str | None
    label: int | None = None
    peer_label: int | None = None


class NodeBlock(NamedTuple):
    """A node: ``kind`` is Switch, Ca or Rt; None stands for what its block does not tell.

    ``lid``, ``lmc`` and ``port0`` (base or enhanced) are those of a switch's port 0.
    """

    line: int
    kind: str
    guid: int
    name: str | None
    port_count: int | None
    rows: tuple[PortRow, ...]
    port0: str | None = None
    lid: int | None = None
    lmc: int | None = None
    port_guid: int | None = None
    system_image_guid: int | None = None
    vendor_id: int | None = None
    device_id: int | None = None
    chassis: int | None = None
    slot: str | None = None


class ReportEnd(NamedTuple):
    """One end of a row of the ports report: ``kind`` is SW, CA, RT or ``??``; ``guid`` is the **port** GUID."""

    kind: str
    lid: int
    number: int
    guid: int
    name: str | None


class ReportRow(NamedTuple):
    """A port of the ports report. ``peer`` is None where nothing is connected; width and speed mean nothing then."""

    line: int
    end: ReportEnd
    width: str
    speed: str
    peer: ReportEnd | None = None


class Topology(NamedTuple):
    """All that one text says. ``form`` is ``topology`` or ``ports``; one of ``blocks`` and ``rows`` is empty.

    ``from_node`` and ``from_port`` are the GUIDs of the port that the sweep started from, ``sweeps`` counts the
    headers (two of them: somebody appended a second run), ``messages`` are the tool's complaints found in the text.
    """

    form: str
    blocks: tuple[NodeBlock, ...] = ()
    rows: tuple[ReportRow, ...] = ()
    from_node: int | None = None
    from_port: int | None = None
    sweeps: int = 0
    messages: tuple[Message, ...] = ()


# Quantifiers over blanks are possessive (``++``, ``*+``), so that a hostile row of blanks costs one pass.
_ID_HEX = r"([0-9a-fA-F]{1,16}+)"
_START = (
    r"\[([0-9]{1,9})\](?:\[ext ([0-9]{1,9})\])?\s*+(?:\(" + _ID_HEX + r"\)\s*+)?"
    r'"([SHR?])-' + _ID_HEX + r'"\[([0-9]{1,9})\](?:\[ext ([0-9]{1,9})\])?\s*+(?:\(' + _ID_HEX + r"\)\s*+)?"
)
_TAIL_PATTERN = (
    r"lid\s++([0-9]{1,9})(?:\s++([0-9]{1,3}x|\?\?)(\S*+))?"
    r"(?:\s++s=[0-9]+ w=[0-9]+ v=[0-9]+)?(?:\s++slot [0-9]+|\s++\(scp\))?\s*+$"
)
_ROW = re.compile(_START + r'(?:#\s*+(?:lid ([0-9]{1,9}) lmc ([0-7])\s++)?"(.*)"\s*+' + _TAIL_PATTERN[:-1] + r")?$")
_ROW_START = re.compile(_START)
_ROW_LIKE = re.compile(r'\[[0-9]{1,9}\][^"]*+"[SHR?]-')
_OWN_LID = re.compile(r"lid\s++([0-9]{1,9})\s++lmc\s++([0-9]++)")
#: PortInfo has three bits for it: one that is higher would give a port more LIDs than anybody could go through.
_LMCS = frozenset("01234567")
_TAIL = re.compile(_TAIL_PATTERN)
_HEADER = re.compile(r'(Switch|Ca|Rt)\s*+([0-9]{1,9})\s*+"([SHR?])-' + _ID_HEX + r'"\s*+(?:#\s*+(.*))?$')
_HEADER_START = re.compile(r'(?:Switch|Ca|Rt)\s*+[0-9]++\s*+"')
_LETTER = {"Switch": "S", "Ca": "H", "Rt": "R"}
_PORT0 = re.compile(r"(base|enhanced) port 0 lid ([0-9]{1,9}) lmc ([0-7])\s*+$")
_ID = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=(?:0[xX])?" + _ID_HEX + r"(?![0-9a-fA-F])(.*)")
_NO_ID: tuple[None, int | None, str] = (None, None, "")
_NO_IDS = (None,) * 6
_MOST = {"vendid": 0xFFFFFF, "devid": 0xFFFF}  # the widths of NodeInfo's fields
_ID_OF = {"Switch": "switchguid", "Ca": "caguid", "Rt": "rtguid"}
_SWITCH_PORT = re.compile(r"\(" + _ID_HEX + r"\)\s*+(?:#\s*+(.*\S))?")
_CHASSIS = re.compile(r"\s*+#\s*+Chassis ([0-9]{1,9})")
_FROM = re.compile(r"#\s*+Initiated from node\s++(?:0[xX])?" + _ID_HEX + r"(?:\s++port\s++(?:0[xX])?" + _ID_HEX + ")?")
_NARRATION = re.compile(
    r"Chassis [0-9]+(?: \(guid 0x[0-9a-fA-F]+\))?\s*$|Non-Chassis Nodes\s*$|Hostname: "
    r"|DR path slid [0-9]+; dlid [0-9]+; \S+ -> (?:new|known) "
)
_END = r"(SW|CA|RT|\?\?)\s*+([0-9]{1,9})\s++([0-9]{1,9})\s++0x" + _ID_HEX + "(?![0-9a-fA-F])"
_REPORT_START = re.compile(_END)
_REPORT = re.compile(
    _END + r"\s++([0-9]{1,3}x|\?\?)\s*+(\S++)"
    r"(?:\s++-\s++" + _END + r"\s*+\((.*)\)\s*+$|(?!\s++-(?:\s|$))(.*)$)"
)


def parse(text: str, *, source: str = "") -> Parsed[Topology]:
    """Read either form, autodetected. ``complete`` is False where the text is cut or a line of it was lost.

    A sweep that failed has messages only. Raises NotThisFormat where there is not even that.
    """
    if "\n" not in text:
        text = text.replace("\r", "\n")
    lines, problems = lines_of(text.removeprefix("\ufeff"), source)
    reader = _Reader(source, lines, {problem.line for problem in problems if problem.line})
    with no_cyclic_gc():
        reader.read()
    if not (reader.blocks or reader.rows or reader.sweeps or reader.messages):
        raise NotThisFormat(f"{source or 'input'}: no node, port or header of ibnetdiscover in it")
    return reader.result(problems, terminated=text.endswith("\n"))


class _Reader:
    """The state of one pass over the lines."""

    def __init__(self, source: str, lines: list[str], skipped: set[int]) -> None:
        self._source = source
        self._lines = lines
        self._skipped = skipped
        self._noise = Noise()
        self._bad: list[Problem] = []
        self._bad_count = 0
        self._problems: list[Problem] = []
        self._orphans: list[int] = []
        self.blocks: list[NodeBlock] = []
        self.rows: list[ReportRow] = []
        self.from_node: int | None = None
        self.from_port: int | None = None
        self.sweeps = 0
        self.messages: list[Message] = []
        self.lost = bool(skipped)
        # The block that is being read: NodeBlock's fields before its rows, the rows, the fields behind them; and the
        # identification lines since the last header.
        self._head: tuple[int, str, int, str | None, int | None] | None = None
        self._block_rows: list[PortRow] = []
        self._rest: tuple[Any, ...] = (None,) * len(NodeBlock._fields[6:])
        self._ids: dict[str, tuple[int, int, str]] = {}
        self._gap = False  # a blank line since the first of these identification lines

    def read(self) -> None:
        """Look at each line once, by its first character: nine lines of ten are ports' rows."""
        match_row = _ROW.match
        rows = self._block_rows
        # Where each line end was doubled on the way, blank lines part nothing.
        doubled = self._lines.count("") * 2 >= len(self._lines) - 2
        for number, line in enumerate(self._lines, 1):
            first = line[:1]
            if first != "[" and first in BEFORE:
                line = line.lstrip(BEFORE)  # indented or quoted by whoever sent it
                first = line[:1]
            if first == "[":
                found = match_row(line)
                if not found:
                    self._odd_row(number, line)
                elif self._head:
                    rows.append(_row_of(number, found.groups()))
                else:
                    self._row(_row_of(number, found.groups()))
            elif not first:
                if not doubled and number not in self._skipped:
                    self._gap = True
                    if self._head:
                        self._end_block()
            elif first == "#":
                self._comment(line)
            elif first in "vdscr" and self._id(number, line):
                pass
            elif first not in "SCR?" or not (self._header(number, line) or self._report(number, line)):
                self._other(number, line)
        self._end_block()

    def result(self, problems: list[Problem], *, terminated: bool) -> Parsed[Topology]:
        """All of it; the problems in order of line."""
        if not terminated:
            self._end_cut()
        if self._ids:
            self._cut("the text ends inside a node's block")
        form = TOPOLOGY if self.blocks or not self.rows else PORTS
        topology = Topology(
            form,
            tuple(self.blocks),
            () if form == TOPOLOGY else self._named_rows(),
            self.from_node,
            self.from_port,
            self.sweeps,
            tuple(self.messages),
        )
        problems += self._problems + self._bad + self._noise.problems(self._source)
        if self._bad_count > len(self._bad):
            text = f"{self._bad_count - len(self._bad)} more lines that cannot be read"
            problems.append(Problem("bad-line", text, None, self._source or None))
        if self.blocks and self.rows:
            text = "a topology and a ports report in one text; the topology is used"
            problems.append(Problem("several-forms", text, self.rows[0].line, self._source or None))
        if self.sweeps > 1:
            text = f"the text holds {self.sweeps} sweeps; they are read as one"
            problems.append(Problem("several-sweeps", text, None, self._source or None))
        if self._orphans:
            text = f"{len(self._orphans)} rows of ports whose node's header is lost"
            problems.append(Problem("no-header", text, self._orphans[0], self._source or None))
        problems.sort(key=lambda problem: (problem.line is None, problem.line or 0))
        return Parsed(topology, tuple(problems), False if self.lost else None)

    # The topology

    def _comment(self, line: str) -> None:
        if line.startswith("# Topology file:"):
            self.sweeps += 1
        elif "Initiated" in line:
            found = _FROM.match(line)
            if found:
                self.from_node = int(found[1], 16)
                self.from_port = int(found[2], 16) if found[2] else None

    def _id(self, number: int, line: str) -> bool:
        found = _ID.match(line)
        if not found:
            return False
        key, digits, rest = found.groups()
        if key in self._ids or (self._ids and key == "vendid"):
            self._drop_ids()
        if not self._ids:
            self._gap = False
            self._end_block()
        value = int(digits, 16)
        if value > _MOST.get(key, MAX_GUID):
            self._bad_line(number, line, "an identification line")
        else:
            self._ids[key] = number, value, rest
        return True

    def _header(self, number: int, line: str) -> bool:
        found = _HEADER.match(line)
        if not found:
            if not _HEADER_START.match(line):
                return False
            self._end_block()
            self._bad_line(number, line, "a node's header")
            return True
        self._end_block()
        kind, count, letter, digits, comment = found.groups()
        guid = int(digits, 16)
        if letter != _LETTER[kind]:
            text = f"0x{guid:016x} is a {kind}, but its id is of another type"
            self._problems.append(Problem("contradiction", text, number, self._source or None))
        name, port0, lid, lmc = _header_comment(kind, comment or "")
        if name is None or (kind == "Switch" and lid is None):
            self._bad_line(number, line, "the end of a node's header")
        told = self._ids.get(_ID_OF[kind])
        if self._ids and (self._gap or told) and (told is None or told[1] != guid):
            if self._gap:
                self._drop_ids()
            elif told:
                text = f"0x{guid:016x} has 0x{told[1]:016x} in its identification line"
                self._problems.append(Problem("contradiction", text, told[0], self._source or None))
        self._head = number, kind, guid, name, int(count)
        self._rest = port0, lid, lmc, *self._take_ids(kind, number)
        return True

    def _take_ids(self, kind: str, line: int) -> tuple[Any, ...]:
        """What the identification lines say, in the order of NodeBlock's last fields; they are used up."""
        ids = self._ids
        if not ids:
            return _NO_IDS
        self._ids = {}
        if _ID_OF[kind] not in ids:
            self._lose("no-id", "identification lines of this node are missing", line)
        _, vendor_id, _ = ids.get("vendid", _NO_ID)
        _, device_id, _ = ids.get("devid", _NO_ID)
        _, system_image_guid, chassis = ids.get("sysimgguid", _NO_ID)
        _, _, port = ids.get("switchguid", _NO_ID)
        found = _CHASSIS.match(chassis) if chassis else None
        told = _SWITCH_PORT.match(port) if port else None
        return (
            int(told[1], 16) if told else None,
            system_image_guid,
            vendor_id,
            device_id,
            int(found[1]) if found else None,
            told[2] if told else None,
        )

    def _drop_ids(self) -> None:
        """Identification lines that no header follows."""
        self._end_block()
        number = min(line for line, _, _ in self._ids.values())
        self._ids = {}
        self._lose("no-header", "a node without its header", number)

    def _row(self, row: PortRow) -> None:
        if self._ids:
            self._recover_block()
        if self._head:
            self._block_rows.append(row)
        else:
            self._orphans.append(row.line)
            self.lost = True

    def _recover_block(self) -> None:
        """Rows follow identification lines: the header between them is missing, but they may tell the GUID."""
        kind = next((kind for kind, key in _ID_OF.items() if key in self._ids), None)
        if kind is None:
            self._drop_ids()
            return
        number, guid, _ = self._ids[_ID_OF[kind]]
        text = f"0x{guid:016x} has no header, so its name and number of ports are not known"
        self._lose("no-header", text, number)
        self._head = number, kind, guid, None, None
        self._rest = None, None, None, *self._take_ids(kind, number)

    def _end_block(self) -> None:
        if self._head:
            rows = self._block_rows
            own = _own_rows(self._head[1], rows)
            if own < len(rows):
                self._orphans += [row.line for row in rows[own:]]
                self.lost = True
            self.blocks.append(tuple.__new__(NodeBlock, (*self._head, tuple(rows[:own]), *self._rest)))
            self._head = None
            self._block_rows.clear()

    def _odd_row(self, number: int, line: str) -> None:
        """A row that is not as the tool writes it, or no row at all (``[root@head ~]#``, ``[1] 4711``)."""
        found = _ROW_START.match(line)
        if not found:
            if _ROW_LIKE.match(line):
                self._bad_line(number, line, "a port's row")
            else:
                self._other(number, line)
            return
        comment = line[found.end() :].strip()
        lid = lmc = name = None
        link: tuple[str | None, ...] = (None, None, None)
        if comment.startswith("#"):
            comment = comment[1:].lstrip()
            own = _OWN_LID.match(comment)
            if own:
                lid, lmc = own.groups()
                if lmc not in _LMCS:
                    self._bad_line(number, line, "the LMC of a port's row")
                    lmc = None
                comment = comment[own.end() :].lstrip()
            name, tail = _name_and_tail(comment)
            link = tail.groups() if tail else link
        if comment and link[0] is None:
            self._bad_line(number, line, "the end of a port's row")
        self._row(_row_of(number, (*found.groups(), lid, lmc, name, *link)))

    # The ports report

    def _report(self, number: int, line: str) -> bool:
        found = _REPORT.match(line)
        if not found:
            if not _REPORT_START.match(line):
                return False
            self._bad_line(number, line, "a port's row")
            return True
        kind, lid, port, guid, width, speed, peer_kind, peer_lid, peer_port, peer_guid, names, name = found.groups()
        if peer_kind is None:
            end = ReportEnd(kind, int(lid), int(port), int(guid, 16), _unquoted(name, "'"))
            self.rows.append(ReportRow(number, end, width, speed))
        else:
            # Both names stand in one pair of brackets; they are told apart when all rows are known.
            end = ReportEnd(kind, int(lid), int(port), int(guid, 16), names)
            peer = ReportEnd(peer_kind, int(peer_lid), int(peer_port), int(peer_guid, 16), None)
            self.rows.append(ReportRow(number, end, width, speed, peer))
        return True

    def _named_rows(self) -> tuple[ReportRow, ...]:
        """The rows with both names. A name that holds the separator is told by another row of the same port."""
        known: dict[int, str] = {}
        split: list[list[tuple[str, str]]] = []
        for row in self.rows:
            names = _splits(row.end.name or "") if row.peer else []
            split.append(names)
            if row.peer is None and row.end.name is not None:
                known[row.end.guid] = row.end.name
            elif row.peer and len(names) == 1:
                known[row.end.guid], known[row.peer.guid] = names[0]
        rows = []
        for row, names in zip(self.rows, split, strict=True):
            if row.peer is None:
                rows.append(row)
                continue
            if len(names) > 1:
                names = [(a, b) for a, b in names if a == known.get(row.end.guid) or b == known.get(row.peer.guid)]
            name, peer_name = names[0] if len(names) == 1 else (None, None)
            if name is None:
                text = f"the names in {row.end.name or ''!r:.120} cannot be told apart"
                self._problems.append(Problem("bad-name", text, row.line, self._source or None))
            rows.append(row._replace(end=row.end._replace(name=name), peer=row.peer._replace(name=peer_name)))
        return tuple(rows)

    # All other lines

    def _other(self, number: int, line: str) -> None:
        message = diag_messages.parse_line(line, number)
        if message:
            self.messages.append(message)
        elif not _NARRATION.match(line):
            self._noise.add(number, line)

    def _bad_line(self, number: int, line: str, what: str) -> None:
        self.lost = True
        self._bad_count += 1
        if len(self._bad) < MAX_BAD_LINES:
            self._bad.append(
                Problem("bad-line", f"{what} cannot be read: {line[:120]!r}", number, self._source or None)
            )

    # The end of the text

    def _lose(self, kind: str, text: str, line: int) -> None:
        self.lost = True
        self._problems.append(Problem(kind, text, line, self._source or None))

    def _cut(self, text: str) -> None:
        self._lose("cut", text, len(self._lines))

    def _end_cut(self) -> None:
        """The last line has no line end: half a word at the end of a text must not pass for a whole one."""
        last = len(self._lines)
        unnamed = self.rows and self.rows[-1].line == last and self.rows[-1].end.name is None
        if unnamed or any(problem.line == last for problem in self._bad):
            self._cut("the text ends in the middle of a line")
        elif self.blocks and self.blocks[-1].rows and self.blocks[-1].rows[-1].line == last:
            row = self.blocks[-1].rows[-1]
            if row.speed not in SPEEDS:
                self._cut("the text ends in the middle of a line")
                peer_lid = row.peer_lid if row.width else None
                row = row._replace(peer_lid=peer_lid, width=None, speed=None)
                self.blocks[-1] = self.blocks[-1]._replace(rows=(*self.blocks[-1].rows[:-1], row))


def _row_of(line: int, values: tuple[str | None, ...]) -> PortRow:
    """A row from a match's groups; the groups that ``assert`` names are never empty."""
    number, label, port_guid, kind, guid, peer_port, peer_label, peer_guid, lid, lmc, name, peer_lid, width, speed = (
        values
    )
    assert number and kind and guid and peer_port
    # Not PortRow(...), whose constructor is a call in Python: 70,000 of them are a tenth of the whole time.
    return tuple.__new__(
        PortRow,
        (
            line,
            int(number),
            int(port_guid, 16) if port_guid else None,
            kind,
            int(guid, 16),
            int(peer_port),
            int(peer_guid, 16) if peer_guid else None,
            int(lid) if lid else None,
            int(lmc) if lmc else None,
            name,
            int(peer_lid) if peer_lid else None,
            width,
            speed or None,
            int(label) if label else None,
            int(peer_label) if peer_label else None,
        ),
    )


def _own_rows(kind: str, rows: list[PortRow]) -> int:
    """How many rows are the block's own: from where the port numbers fall, they are of a node whose header is lost.

    So are rows below a switch that tell a port GUID or a LID of their own. A row that is there twice is harmless.
    """
    if len(rows) < 2 and kind != "Switch":
        return len(rows)
    numbers = [row[1] for row in rows]
    rising = all(map(lt, numbers, numbers[1:]))
    if rising and (kind != "Switch" or all(row[2] is None and row[7] is None for row in rows)):
        return len(rows)
    before = None
    for index, row in enumerate(rows):
        if kind == "Switch" and (row.port_guid is not None or row.lid is not None):
            return index
        if before is not None and 0 < row.number <= before.number and row[1:] != before[1:]:
            return index
        before = row if row.number else before  # there is no port 0 to be cabled: that number is damaged
    return len(rows)


def _header_comment(kind: str, comment: str) -> tuple[str | None, str | None, int | None, int | None]:
    """Name, and for a switch ``base`` or ``enhanced``, LID and LMC of port 0; from the end, where the name is not."""
    if kind != "Switch":
        return _unquoted(comment.removesuffix(" (scp)"), '"'), None, None, None
    start = max(comment.rfind("base port 0"), comment.rfind("enhanced port 0"))
    found = _PORT0.match(comment, start) if start >= 0 else None
    if not found:
        return _unquoted(comment, '"') if comment[:1] == '"' else None, None, None, None
    return _unquoted(comment[:start], '"'), found[1], int(found[2]), int(found[3])


def _name_and_tail(comment: str) -> tuple[str | None, re.Match[str] | None]:
    """A name and the match of ``lid 4 4xHDR`` behind it, where it stands at the end."""
    start = comment.rfind("lid ")
    found = _TAIL.match(comment, start) if start >= 0 else None
    if not found:
        return _unquoted(comment, '"') if comment[:1] == '"' else None, None
    return _unquoted(comment[:start], '"'), found


def _unquoted(text: str, quote: str) -> str | None:
    """What the outermost quotes hold, blanks included; all of it, trimmed, where it has none.

    A text with one of the two is cut or torn, and what is left of it is no name.
    """
    text = text.strip()
    if text[:1] == quote or text[-1:] == quote:
        return text[1:-1] if len(text) >= 2 and text[0] == text[-1] else None
    return text or None


def _splits(names: str) -> list[tuple[str, str]]:
    """Every way to read ``'a' - 'b'``; names may hold the separator, and quotes may be missing."""
    names = names.strip()
    quoted = len(names) >= 2 and names[0] == names[-1] == "'"
    separator = "' - '" if quoted and "' - '" in names else " - "
    pieces = names.split(separator)
    if len(pieces) > 16:
        return []
    found = []
    for i in range(1, len(pieces)):
        left, right = separator.join(pieces[:i]), separator.join(pieces[i:])
        if separator == "' - '":
            found.append((left[1:], right[:-1]))
        else:
            found.append((left.strip().strip("'"), right.strip().strip("'")))
    return found
