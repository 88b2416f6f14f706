"""``smpquery``, and ``ibportstate``, which prints port information in the same way.

Read off the programs that print it (rdma-core, ``infiniband-diags/smpquery.c``, ``ibportstate.c``). What a reader must
know:

* Most answers have a ``#`` header with the address that was asked; P_Keys, GUIDs and node descriptions have none, so
  that their text alone does not tell of which port they are.
* A node description is padded with dots on its **left** to 32 characters, so a short one that begins with dots cannot
  be told from the padding.
* ``LinkSpeedActive`` is the base field: it says ``Extended speed``, or what it last was, where ``LinkSpeedExtActive``
  counts. ``MLNX ext Port info`` repeats names of ``Port info`` for FDR10.
* P_Keys and GUIDs end with a line that counts the table; other answers have no end mark.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.diag_messages import Complaints, Message
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

NODE_INFO, NODE_DESCRIPTION, PORT_INFO, SWITCH_INFO = "NodeInfo", "NodeDescription", "PortInfo", "SwitchInfo"
PKEYS, GUIDS, SL_TO_VL, VL_ARBITRATION = "P_KeyTable", "GUIDInfo", "SLtoVLMappingTable", "VLArbitrationTable"
PORT_INFO_EXTENDED, MLNX_PORT_INFO = "PortInfoExtended", "MLNXExtendedPortInfo"

_HEADERS = {
    "Node info": NODE_INFO,
    "Port info": PORT_INFO,
    "Port info Extended": PORT_INFO_EXTENDED,
    "Port info ext": PORT_INFO_EXTENDED,
    "MLNX ext Port info": MLNX_PORT_INFO,
    "Switch info": SWITCH_INFO,
    "SL2VL table": SL_TO_VL,
    "VLArbitration tables": VL_ARBITRATION,
}
_PAD_WIDTH = 32

_HEADER = re.compile(
    r"# (?P<what>[A-Z][\w ]{3,24}): (?P<address>(?:Lid|DR path) .*?)(?: port (?P<port>\d{1,3}))?(?: LowCap .*)?\s*\Z"
)
_LID = re.compile(r"Lid (\d{1,5})\b")
_HEADING = re.compile(r"((?:Initial )?(?:Switch|CA/RT|CA|Peer) PortInfo|After \w+ set):\s*\Z")
_NAME = re.compile(r"Node Description:(\.++.*)")
_FIELD = re.compile(r"(?P<name>[A-Za-z]\w{1,40}):\.++(?P<value>.*)")
_FLAG = re.compile(r"Is[A-Z]\w{1,60}\s*\Z")
_PKEY_ROW = re.compile(r"(\d{1,4}):((?: 0x[0-9a-f]{4}){1,8})\s*\Z")
_GUID_ROW = re.compile(r"(\d{1,4}):((?: 0x[0-9a-f]{16}){1,2})\s*\Z")
_CAPACITY = re.compile(r"(\d{1,5}) (pkeys|guids) capacity for this port\s*\Z")
_SL_ROW = re.compile(r"ports: in\s++(\d{1,3}), out\s++(\d{1,3}):((?:\s*+\|\s*+\d{1,2})+)\s*+\|\s*\Z")
_VL_ROW = re.compile(r"(?:VL|WEIGHT)\s*+:((?:\s*+\|0x[0-9A-Fa-f]{1,2})+)\s*+\|\s*\Z")
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|\d+")
_OWN_FAILURE = re.compile(r"(?:\S*/)?(?:smpquery|ibportstate): ")
_NOTES = ("# Low priority", "# High priority", "#                 SL:", "Port is already", "Disable may be")


class Answer(NamedTuple):
    """One answer. ``attribute`` is the management attribute's name, ``heading`` what ibportstate calls the port.

    ``address`` is as printed, None for an answer without a header. ``fields`` maps names to texts, ``flags`` are the
    words below a capability mask. ``rows`` are P_Keys (8 a row), ``(in port, out port, VL of SL 0, ...)``, or VLs and
    weights in turn; a table of GUIDs is in ``guids``. ``capacity`` is the size of a table of P_Keys or GUIDs.
    """

    attribute: str
    address: str | None
    lid: int | None
    port: int | None
    fields: dict[str, str]
    line: int
    flags: tuple[str, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()
    guids: tuple[int, ...] = ()
    capacity: int | None = None
    heading: str | None = None


class Answers(NamedTuple):
    """The answers in the order of the text, and the complaints that somebody's ``2>&1`` mixed in."""

    answers: tuple[Answer, ...]
    messages: tuple[Message, ...] = ()


def parse(text: str, *, source: str = "") -> Parsed[Answers]:
    """Read all answers. ``complete`` is False where the tool failed or a table lacks its end.

    Raises NotThisFormat where there is neither an answer nor a failure of either tool.
    """
    lines, long_lines = lines_of(text, source)
    reader = _Reader(Problems(source, long_lines))
    for number, line in enumerate(lines, 1):
        reader.feed(number, line.lstrip(BEFORE))
    reader.close()
    if not reader.answers and not reader.complaints.failed:
        raise NotThisFormat(f"{source or 'input'}: not smpquery: no header like '# Port info: Lid 4 port 1' in it")
    answers = Answers(tuple(reader.answers), tuple(reader.complaints.messages))
    return Parsed(answers, reader.problems.all(), False if reader.complaints.failed or reader.cut else None)


def active_speed(port_info: Answer) -> str | None:
    """The speed that a port runs at, as printed: the extended field where that one tells."""
    extended = port_info.fields.get("LinkSpeedExtActive")
    if extended and extended not in ("0", "No Extended Speed"):
        return extended
    return port_info.fields.get("LinkSpeedActive")


class _Reader:
    """The answer that is being read, and the finished ones."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.answers: list[Answer] = []
        self.complaints = Complaints(_OWN_FAILURE, problems)
        self.cut = False
        self._heading: str | None = None
        self._answer: Answer | None = None
        self._rows: list[tuple[int, ...]] = []
        self._flags: list[str] = []

    def feed(self, number: int, line: str) -> None:
        if line.startswith(("#", "Node Description:")):
            self._header(number, line)
        elif found := _HEADING.match(line):
            self.close()
            self._heading = found[1]
        elif row := _PKEY_ROW.match(line):
            self._table_row(number, PKEYS, int(row[1]), row[2])
        elif row := _GUID_ROW.match(line):
            self._table_row(number, GUIDS, int(row[1]), row[2])
        elif found := _CAPACITY.match(line):
            self._capacity(number, int(found[1]), PKEYS if found[2] == "pkeys" else GUIDS)
        elif self._answer and (row := _SL_ROW.match(line)):
            self._rows.append((int(row[1]), int(row[2]), *(int(word) for word in _NUMBER.findall(row[3]))))
        elif self._answer and (row := _VL_ROW.match(line)):
            self._rows.append(tuple(int(word, 16) for word in _NUMBER.findall(row[1])))
        elif self._answer and (field := _FIELD.match(line)):
            self._answer.fields.setdefault(field["name"], field["value"].rstrip())
        elif self._answer and _FLAG.match(line):
            self._flags.append(line.rstrip())
        elif not self.complaints.take(number, line) and not line.startswith(_NOTES):
            self.problems.noise.add(number, line)

    def _header(self, number: int, line: str) -> None:
        if line.startswith(_NOTES):
            return
        self.close()
        if named := _NAME.match(line):
            padded = named[1]
            # Exactly as wide as the padding goes: dots belong to it. Wider: one dot, then the name.
            name = padded.lstrip(".") if len(padded) <= _PAD_WIDTH else padded[1:]
            self._answer = Answer(NODE_DESCRIPTION, None, None, None, {"NodeDescription": name}, number)
            self.close()
        elif (found := _HEADER.match(line)) and found["what"] in _HEADERS:
            lid = _LID.match(found["address"])
            self._answer = Answer(
                _HEADERS[found["what"]], found["address"], int(lid[1]) if lid else None,
                int(found["port"]) if found["port"] else None, {}, number, heading=self._heading,
            )  # fmt: skip
        else:
            self.problems.noise.add(number, line)  # another tool's header

    def _table_row(self, number: int, attribute: str, index: int, words: str) -> None:
        row = tuple(int(word, 16) for word in words.split())
        if self._answer is None or self._answer.attribute != attribute or (index == 0 and self._rows):
            self.close()
            self._answer = Answer(attribute, None, None, None, {}, number)
        if index != sum(len(known) for known in self._rows):
            self.cut = True
            self.problems.add("bad-line", f"row {index} of a table does not follow the one before", number)
            return
        self._rows.append(row)

    def _capacity(self, number: int, capacity: int, attribute: str) -> None:
        if self._answer is None or self._answer.attribute != attribute:
            self.close()
            self._answer = Answer(attribute, None, None, None, {}, number)
        self._answer = self._answer._replace(capacity=capacity)
        self.close()

    def close(self) -> None:
        """Finish the answer."""
        answer, self._answer = self._answer, None
        rows, flags = self._rows, self._flags
        self._rows, self._flags = [], []
        if answer is None:
            return
        if answer.attribute in (PKEYS, GUIDS):
            short = answer.capacity is None or sum(map(len, rows)) < answer.capacity
        else:
            short = not rows and not answer.fields
        if short:
            self.cut = True
            self.problems.add("cut-answer", f"{answer.attribute} without its end", answer.line)
        if answer.attribute == GUIDS:
            answer = answer._replace(guids=tuple(guid for row in rows for guid in row))
        else:
            answer = answer._replace(rows=tuple(rows))
        self.answers.append(answer._replace(flags=tuple(flags)))
