"""``ibqueryerrors``: the counters of a whole fabric, in two forms.

* errors (the plain form, with ``--data`` and ``--details`` too): only ports with a counter over its threshold;
* data (``--counters``): every port that answered, data counters only.

Read off the program that prints it (rdma-core, ``infiniband-diags/ibqueryerrors.c``) and off public outputs. What a
reader must know:

* The summary is the end mark; the exit status and an empty stdout say nothing. In the summary, a port whose query
  failed is counted as checked, and in the errors form as free of errors.
* GUIDs drop leading zeros. A row's GUID is the port's in the errors form and the node's in the data form.
* A switch's header has its GUID, that of an HCA has its name only: a row is identified by itself.
* ``port ALL`` is a sum over ports, not a port.
* Error counters that the hardware counts in 64 bits are printed with a scaled value in brackets.
* ``--details`` prints the details of PortXmitDiscards under the names of those of PortRcvErrors, and the other way
  round: the tool decodes either answer with the other one's field table. The four fields that both have lie at the
  same offsets, so the right name follows from the position.
* A header and its rows do not tell which nodes were asked: ``--switch``, ``--ca`` and ``-G`` leave no other trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.bulk import no_cyclic_gc
from ibkit.parsers.diag_messages import Complaints, Message
from ibkit.parsers.lines import BEFORE, MAX_COUNT, Problems, lines_of
from ibkit.parsers.link_row import LinkRow, parse_row
from ibkit.parsers.records import NamedTuple

ERRORS, DATA = "errors", "data"

RCV_ERROR_DETAILS = (
    "PortLocalPhysicalErrors",
    "PortMalformedPktErrors",
    "PortBufferOverrunErrors",
    "PortDLIDMappingErrors",
    "PortVLMappingErrors",
    "PortLoopingErrors",
)
XMIT_DISCARD_DETAILS = (
    "PortInactiveDiscards",
    "PortNeighborMTUDiscards",
    "PortSwLifetimeLimitDiscards",
    "PortSwHOQLifetimeLimitDiscards",
)
#: The counter that a group of details belongs to, and what the group's names mean there.
_DETAILS_OF = {
    "PortXmitDiscards": dict(zip(RCV_ERROR_DETAILS, XMIT_DISCARD_DETAILS, strict=False))
    | {name: name for name in XMIT_DISCARD_DETAILS},
    "PortRcvErrors": dict(zip(XMIT_DISCARD_DETAILS, RCV_ERROR_DETAILS, strict=False))
    | {name: name for name in RCV_ERROR_DETAILS},
}
_DETAILS = frozenset((*RCV_ERROR_DETAILS, *XMIT_DISCARD_DETAILS))
_DATA = re.compile(r"Port(?:Unicast|Multicast)?(?:Xmit|Rcv)(?:Data|Pkts)\Z")

_HEADER = re.compile(r'(?:Errors for|(?P<data>Data Counters for)) (?:0x(?P<guid>[0-9a-fA-F]{1,16}) )?"(?P<name>.*)')
_ROW = re.compile(r"GUID 0x(?P<guid>[0-9a-fA-F]{1,16}) port (?P<port>\d{1,3}|ALL):(?P<counters>.*)")
_COUNTER = re.compile(r"\[(\w{1,64}) == ([0-9]{1,20})( \([^()\]]{0,32}\))?\]")
_NAME = re.compile(r"\[(\w{1,64}) == ?")
#: What the second line of a wrapped row starts with, if not in the middle of a counter.
_MORE = re.compile(r"\[[A-Z]\w{1,63}(?: ==|\s*\Z)")
#: A row that a mail program broke is put together up to this length, which none reaches (characters).
_MAX_ROW = 8192
_LINK = re.compile(r"Link info:(?P<row>.*)")
_NODES = re.compile(r"## Summary: (\d{1,9}) nodes checked, (\d{1,9}) bad nodes found")
_PORTS = re.compile(r"##\s+(\d{1,9}) ports checked, (\d{1,9}) ports have errors beyond threshold")
_THRESHOLDS = re.compile(r"## (?:Thresholds:(?P<list>.*)|\(null\))\s*\Z")
_THRESHOLD = re.compile(r"\[(\w{1,64}) = ([0-9]{1,20})\]")
_FAILURES = re.compile(r"##\s+(\d{1,9}) PMA query failures")
_SUPPRESSED = re.compile(r"## Suppressed:(?P<list>.*)\Z")
_QUERY_FAILED = re.compile(
    r"ibwarn: \w+: (?P<query>\S{1,64}) query failed on (?P<name>.*), "
    r"(?:Lid (?P<lid>\d{1,5})|DR path slid \d{1,5}; dlid \d{1,5}; [\d,]{1,400}) port (?P<port>\d{1,3})\Z"
)
_OWN_FAILURE = re.compile(r"(?:\S*/)?ibqueryerrors: ")
#: PortSelect of all ports of a node at once.
ALL_PORTS = 255


class CounterRow(NamedTuple):
    """A port's counters as far as they were printed. GUIDs are plain integers.

    ``port`` is None for the sum over all ports. ``guid`` is the port's GUID (errors) or the node's (data).
    ``counters`` has the details under their right names, and ``printed_as`` maps those that were renamed to the name
    in the text. ``wide`` is True where the error counters have 64 bits. ``whole`` is False for a damaged row;
    ``unread`` has the counters that stand in it without a number that could be read.
    """

    guid: int
    port: int | None
    counters: dict[str, int]
    printed_as: dict[str, str]
    wide: bool
    whole: bool
    node_guid: int | None
    node_name: str | None
    line: int
    link: LinkRow | None = None
    unread: tuple[str, ...] = ()


class Sweep(NamedTuple):
    """One run of the tool. ``form`` is errors, data or None (no row told). What the summary says is None where there
    is none. ``thresholds`` has those above the tool's default, which is 0. ``complete``: the summary is there and all
    rows that it counts, none of them damaged. ``switches`` and ``others`` say whether a node of that kind has a row.
    ``line`` is where the sweep begins.
    """

    form: str | None
    rows: tuple[CounterRow, ...]
    nodes_checked: int | None = None
    bad_nodes: int | None = None
    ports_checked: int | None = None
    bad_ports: int | None = None
    thresholds: dict[str, int] | None = None
    suppressed: tuple[str, ...] | None = None
    query_failures: int = 0
    complete: bool = False
    switches: bool = False
    others: bool = False
    line: int | None = None


class QueryFailure(NamedTuple):
    """A query that a port did not answer: ``query`` is the tool's word for it, ``port`` None for all ports at once."""

    query: str
    node_name: str
    lid: int | None
    port: int | None


class Report(NamedTuple):
    """``sweeps`` in the order of the text; ``messages`` are the complaints that somebody's ``2>&1`` mixed in."""

    sweeps: tuple[Sweep, ...]
    messages: tuple[Message, ...] = ()


def query_failure(message: Message) -> QueryFailure | None:
    """The failed query that a message tells of; None for any other message."""
    found = _QUERY_FAILED.match(message.text)
    if not found:
        return None
    port = int(found["port"])
    lid = int(found["lid"]) if found["lid"] else None
    return QueryFailure(found["query"], found["name"], lid, None if port == ALL_PORTS else port)


def parse(text: str, *, source: str = "") -> Parsed[Report]:
    """Read all sweeps in the text. ``complete`` is True where each has its summary, all the rows that it counts, and
    an answer to each query.

    Raises NotThisFormat where there is no header, row, summary or last word of ibqueryerrors.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    reader = _Reader(problems)
    with no_cyclic_gc():
        for number, line in _unbroken(lines):
            reader.feed(number, line)
        reader.close(len(lines))
    if not reader.sweeps and not reader.complaints.failed:
        raise NotThisFormat(f"{source or 'input'}: not ibqueryerrors: no '## Summary', no 'GUID 0x... port' row")
    complete = not reader.complaints.failed and all(
        sweep.complete and not sweep.query_failures for sweep in reader.sweeps
    )
    return Parsed(Report(tuple(reader.sweeps), tuple(reader.complaints.messages)), problems.all(), complete)


def _unbroken(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines by number, without what may stand before them; a row that was wrapped is one line again.

    Half a row would be worse than none: the counters on its second line would pass for zeros.
    """
    held, row = 0, ""
    for number, line in enumerate(lines, 1):
        line = line.lstrip(BEFORE)
        if row:
            if line and len(row) < _MAX_ROW and _continues(row, line):
                row = f"{row.rstrip()} {line}"
                continue
            yield held, row
            row = ""
        if line.startswith("GUID 0x"):
            held, row = number, line[: 2 * _MAX_ROW]
        else:
            yield number, line
    if row:
        yield held, row


def _continues(row: str, line: str) -> bool:
    """A counter follows, or the end of one, or a row that broke before its first counter."""
    return _MORE.match(line) is not None or (
        row.count("[") > row.count("]") and "]" in line and not line.startswith("GUID 0x")
    )


class _Reader:
    """The sweep that is being read, and the finished ones."""

    def __init__(self, problems: Problems) -> None:
        self.sweeps: list[Sweep] = []
        self.complaints = Complaints(_OWN_FAILURE, problems)
        self._problems = problems
        self._start()

    def _start(self) -> None:
        self._rows: list[CounterRow] = []
        self._seen: set[tuple[int, int | None]] = set()
        self._damaged = 0
        self._headers: list[int | None] = []
        self._sweep = Sweep(None, ())
        self._node: tuple[int | None, str | None] = (None, None)

    def feed(self, number: int, line: str) -> None:
        if row := _ROW.match(line):
            self._row(number, row)
        elif link := _LINK.match(line):
            self._link(number, link["row"])
        elif header := _HEADER.match(line):
            self._header(number, header)
        elif line.startswith("##"):
            self._summary(number, line.rstrip())
        elif not self.complaints.take(number, line):
            self._unread(number, line)

    def _unread(self, number: int, line: str) -> None:
        if "GUID 0x" in line:
            self._damaged += 1
            self._problems.add("bad-line", f"a damaged row: {line[:120]!r}", number)
        else:
            self._problems.noise.add(number, line)

    def _header(self, number: int, header: re.Match[str]) -> None:
        form = DATA if header["data"] else ERRORS
        if self._sweep.nodes_checked is not None or self._sweep.form not in (None, form):
            self.close(number)
        self._begin(number, form)
        # The last quote ends the name, because nothing escapes the ones in it.
        self._node = (int(header["guid"], 16) if header["guid"] else None, header["name"].rstrip().removesuffix('"'))
        self._headers.append(self._node[0])

    def _begin(self, number: int, form: str | None) -> None:
        line = self._sweep.line or number
        if (form, line) != (self._sweep.form, self._sweep.line):
            self._sweep = self._sweep._replace(form=form, line=line)

    def _row(self, number: int, row: re.Match[str]) -> None:
        if self._sweep.nodes_checked is not None:
            self.close(number)
        port = None if row["port"] == "ALL" else int(row["port"])
        guid = int(row["guid"], 16)
        if (guid, port) in self._seen:
            self._problems.add("duplicate-row", f"GUID 0x{guid:016x} port {row['port']} a second time", number)
            return
        self._seen.add((guid, port))
        counters, printed_as, wide, unread = self._counters(number, row["counters"].strip())
        if self._sweep.form is None:
            names = (*counters, *(unread or ()))
            self._begin(number, DATA if names and all(_DATA.match(name) for name in names) else ERRORS)
        whole = unread is None
        self._damaged += not whole and port is not None
        self._rows.append(
            CounterRow(guid, port, counters, printed_as, wide, whole, *self._node, number, None, unread or ())
        )

    def _counters(self, number: int, text: str) -> tuple[dict[str, int], dict[str, str], bool, tuple[str, ...] | None]:
        """A row's counters, which of them are renamed, whether they are wide, and which could not be read: None for a
        row without damage.
        """
        counters: dict[str, int] = {}
        printed_as: dict[str, str] = {}
        meanings: dict[str, str] = {}
        end = 0
        wide = False
        whole = True
        for piece in _COUNTER.finditer(text):
            whole &= not text[end : piece.start()].strip()
            end = piece.end()
            name, value = piece[1], int(piece[2])
            if name in _DETAILS:
                if name not in meanings:
                    self._problems.add("bad-line", f"{name} belongs to no counter before it", number)
                    continue
                printed_as.update({meanings[name]: name} if meanings[name] != name else {})
                name = meanings[name]
            else:
                meanings = _DETAILS_OF.get(name, {})
                wide |= piece[3] is not None and not _DATA.match(name)
            if value > MAX_COUNT or name in counters:
                whole = False
            else:
                counters[name] = value
        whole &= not text[end:].strip() and bool(counters)
        if whole:
            return counters, printed_as, wide, None
        self._problems.add("bad-line", f"a damaged row: {text[:120]!r}", number)
        names = dict.fromkeys(_NAME.findall(text[:_MAX_ROW]))
        return counters, printed_as, wide, tuple(n for n in names if n not in counters and n not in _DETAILS)

    def _link(self, number: int, text: str) -> None:
        link = parse_row(text)
        if link is None or not self._rows or self._rows[-1].port != link.port:
            self._problems.add("bad-line", f"link information that fits no row: {text.strip()[:120]!r}", number)
        else:
            self._rows[-1] = self._rows[-1]._replace(link=link)

    def _summary(self, number: int, line: str) -> None:
        if found := _NODES.match(line):
            if self._sweep.nodes_checked is not None:
                self.close(number)
            self._begin(number, self._sweep.form)
            self._sweep = self._sweep._replace(nodes_checked=int(found[1]), bad_nodes=int(found[2]))
        elif found := _PORTS.match(line):
            self._sweep = self._sweep._replace(ports_checked=int(found[1]), bad_ports=int(found[2]))
        elif found := _THRESHOLDS.match(line):
            above = {name: int(value) for name, value in _THRESHOLD.findall(found["list"] or "") if int(value)}
            self._sweep = self._sweep._replace(thresholds=above)
        elif found := _FAILURES.match(line):
            self._sweep = self._sweep._replace(query_failures=int(found[1]))
        elif found := _SUPPRESSED.match(line):
            self._sweep = self._sweep._replace(suppressed=tuple(found["list"].split()))
        else:
            self._damaged += 1
            self._problems.add("bad-line", f"not a line of the summary: {line[:120]!r}", number)

    def close(self, number: int) -> None:
        """Finish the sweep and compare its rows with what its summary counts."""
        sweep = self._sweep._replace(rows=tuple(self._rows))
        headers, damaged = self._headers, self._damaged
        self._start()
        if sweep == Sweep(None, ()):
            return
        lacks = _lacks(sweep, len(headers)) or (f"{damaged} of its lines are damaged" if damaged else None)
        if lacks:
            self._problems.add("incomplete", lacks, number)
        if sweep.query_failures:
            self._problems.add("query-failures", f"{sweep.query_failures} queries were not answered", number)
        form = sweep.form
        if form is None and sweep.bad_nodes == 0 and sweep.nodes_checked:
            form = ERRORS  # --counters prints each port that answers
        switches, others = _kinds(sweep, headers)
        self.sweeps.append(sweep._replace(form=form, complete=lacks is None, switches=switches, others=others))


def _lacks(sweep: Sweep, headers: int) -> str | None:
    """What the text lacks of the sweep, in words; None where it is whole."""
    if sweep.nodes_checked is None or sweep.ports_checked is None:
        return "no summary at the end, so the text is cut or the tool died"
    rows = sum(1 for row in sweep.rows if row.port is not None)
    if sweep.form == DATA:
        least = sweep.ports_checked - sweep.query_failures
        if not least <= rows <= sweep.ports_checked:
            return f"{rows} rows of ports, the summary counts {sweep.ports_checked} ports"
        return None
    if rows != sweep.bad_ports:
        return f"{rows} rows of ports, the summary counts {sweep.bad_ports} ports with errors"
    if headers != sweep.bad_nodes:
        return f"{headers} headers of nodes, the summary counts {sweep.bad_nodes} bad nodes"
    return None


def _kinds(sweep: Sweep, headers: Iterable[int | None]) -> tuple[bool, bool]:
    """Whether a switch has a row, and whether another node has, as far as the form tells.

    In the errors form only a switch's header has a GUID. In the data form port 0 is a switch's (not all have one), and
    a node of one or two ports is none.
    """
    if sweep.form == ERRORS:
        guids = list(headers)
        return any(guid is not None for guid in guids), None in guids
    highest: dict[int, int] = {}
    switches = False
    for row in sweep.rows:
        if row.port is not None:
            switches |= row.port == 0
            highest[row.guid] = max(row.port, highest.get(row.guid, 0))
    return switches, any(0 < port <= 2 for port in highest.values())
