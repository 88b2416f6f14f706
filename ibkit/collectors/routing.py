"""Forwarding tables of the subnet's switches: asked of each switch by ``ibroute``, else of the SA; or saved dumps.

A switch's own answer is what it does with a packet; the SA and OpenSM's dumps tell what the subnet manager has told it
to do. Traps of ``ibroute`` and ``dump_fts`` (rdma-core, ``infiniband-diags/ibroute.c``): the last LID is not read where
it is a multiple of 64, for the block that it begins is left out; rows with a port that the switch does not have are not
printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ibkit.collectors.fabric import collect_fabric
from ibkit.collectors.mad_tools import ANY_PORT, Through, explain_failure, label_of
from ibkit.model.fabric import SWITCH, End, Fabric
from ibkit.model.ids import Guid
from ibkit.model.port_state import FIRST_MULTICAST_LID
from ibkit.model.routes import NO_EXIT, NO_TABLE, ForwardingTable, Owners, Route, Routes, agreed, route_to
from ibkit.parsers import diag_messages as diag
from ibkit.parsers import ibroute, opensm_dumps, saquery
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.bulk import no_cyclic_gc
from ibkit.parsers.diag_messages import Message
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, Source, to_text
from ibkit.sources.raw import RawSource

SWITCH_TOOL, SA_TOOL = "ibroute", "saquery"
LFTS, FDBS = "opensm-lfts.dump", "opensm.fdbs"
#: Whose outputs are read, where somebody saved one of them.
READS = (SWITCH_TOOL, LFTS, FDBS, SA_TOOL)
#: Do not ask each destination who it is: of 11,200 HCAs that would be 36,000 packets for each switch.
NO_NAMES = "-n"
#: The SA's records, by the tool's two names of them, and the records' own.
_SA_NAMES, _RECORD = ("LFTR", "LFTRecord"), "LFTRecord"
_LIDS_PER_BLOCK = 64
LAST_LID = FIRST_MULTICAST_LID - 1
#: What holds the tables of all switches: a capture may have one of them. A live host is not asked for any.
_DUMPS = (("dump_fts",), ("dump_fts", NO_NAMES), ("dump_lfts",), ("dump_lfts.sh",), (LFTS,), (FDBS,))
_RAW_DUMPS = ((SWITCH_TOOL,), (LFTS,), (FDBS,))
#: A table of 12,000 LIDs takes 200 packets (seconds).
DEADLINE_SECONDS = 20.0
SA_DEADLINE_SECONDS = 120.0
#: What a capture takes at most, in seconds and in bytes: the tables of 1,500 switches with 12,700 LIDs each are 210 MB.
RECORDING_SECONDS, RECORDING_BYTES = 900.0, 400 << 20
#: Where the first so many switches do not answer, the others are not asked.
MAX_SILENT = 3

#: Heads of tables in a dump of many, and where they have the switch's GUID.
_HEADS = (
    (b"Unicast lids [", re.compile(rb" guid 0x([0-9a-f]{1,16}) ")),
    (b"dump_ucast_routes: Switch 0x", re.compile(rb"Switch 0x([0-9a-fA-F]{1,16})")),
)
#: The last LID of a table of ibroute.
_LAST = re.compile(rb"lids \[0x[0-9a-f]{1,6}-0x([0-9a-f]{1,6})\] of ")
#: The GUID is within so many bytes of a head: a directed route may be before it.
_MAX_HEAD = 600
#: Of larger dumps no line numbers are told: counting 17 million lines would cost as much as all the rest.
MAX_COUNTED_BYTES = 64 << 20


def collect_routes(source: Source, fabric: Fabric | None = None, through: Through = ANY_PORT) -> Routes:
    """The tables of all switches. ``fabric`` is collected where it is not given.

    Never raises for missing evidence: ``problems`` says which tables are missing, and why. Of a large subnet this is
    slow: who wants to know one way asks ``collect_ways``.
    """
    fabric = collect_fabric(source, through) if fabric is None else fabric
    tables = _Tables(source, through, fabric)
    switches = [guid for guid, node in fabric.nodes.items() if node.type == SWITCH]
    with no_cyclic_gc():
        for guid in switches:
            tables.ask_about(guid, None)
    missing = [guid for guid in switches if not tables.known.get(guid)]
    problems = list(tables.problems)
    if missing:
        name = fabric.nodes[missing[0]].name or "no name"
        text = f"no forwarding table of {len(missing)} of {len(switches)} switches, the first is {missing[0]} ({name})"
        problems.append(Problem("no-table", text))
    complete = False if missing else fabric.complete if switches else None
    return Routes(tables.known, complete, tuple(problems))


def record_tables(source: Source, fabric: Fabric) -> tuple[Problem, ...]:
    """Ask for all tables, so that a capture holds them, within bounds of time and size; what is missing, and why."""
    seconds = 0.0
    size = 0
    silent: list[Problem] = []
    switches = [node for node in fabric.nodes.values() if node.type == SWITCH and node.lid]
    for index, node in enumerate(switches):
        if seconds > RECORDING_SECONDS or size > RECORDING_BYTES:
            text = (
                f"{len(switches) - index} of {len(switches)} switches were not asked for their forwarding tables, for "
                f"the others took {seconds:.0f} s and {size >> 20} MiB: ways through them cannot be replayed"
            )
            return (*silent[:1], Problem("not-asked", text, None, SWITCH_TOOL))
        answer = source.run((SWITCH_TOOL, NO_NAMES, str(node.lid)), deadline_seconds=DEADLINE_SECONDS)
        seconds += answer.seconds
        size += len(answer.stdout)
        failed = answer.exit_status not in (0, None) or answer.failure not in (None, NOT_RECORDED)
        if failed:
            silent.append(explain_failure(source, answer, _messages(answer)))
        if len(silent) == MAX_SILENT == index + 1:
            # Such packets are refused here, or need a key: what the SA has is better than nothing.
            source.run((SA_TOOL, _SA_NAMES[0]), deadline_seconds=SA_DEADLINE_SECONDS)
            break
        last = _LAST.search(answer.stdout, 0, _MAX_HEAD)
        if failed or (last and int(last[1], 16) % _LIDS_PER_BLOCK == 0):
            told = source.run((SA_TOOL, _SA_NAMES[0], str(node.lid)), deadline_seconds=SA_DEADLINE_SECONDS)
            seconds += told.seconds
            size += len(told.stdout)
    return tuple(silent[:1])


def collect_ways(
    source: Source, fabric: Fabric, owners: Owners, ways: Iterable[tuple[End, int]], through: Through = ANY_PORT
) -> tuple[list[Route], tuple[Problem, ...]]:
    """Follow ways, each from a port to a LID, and ask for the tables of the switches that they come to, no others.

    Beside the routes: why a table that one of them lacks could not be had.
    """
    tables = _Tables(source, through, fabric)
    found = []
    for start, lid in ways:
        route = route_to(fabric, tables.routes(), start, lid, owners)
        while route.result == NO_TABLE and tables.ask_about(route.at.guid, lid):
            route = route_to(fabric, tables.routes(), start, lid, owners)
        found.append(route)
    return found, tuple(tables.problems)


class _Tables:
    """Asks for tables and keeps them. ``problems`` are why one could not be had."""

    def __init__(self, source: Source, through: Through, fabric: Fabric) -> None:
        self.known: dict[Guid, tuple[ForwardingTable, ...]] = {}
        self.problems: list[Problem] = []
        self._source = source
        self._through = through
        self._fabric = fabric
        self._is_saved = isinstance(source, RawSource)
        self._asked: set[tuple[Guid, int | None]] = set()
        self._dumps: list[_Dump] | None = None
        self._answers: dict[tuple[str, ...], _Records | None] = {}

    def routes(self) -> Routes:
        """What is known so far."""
        return Routes(self.known, None)

    def ask_about(self, guid: Guid, lid: int | None) -> bool:
        """Ask one after the other who may tell what a switch does with a LID, or, for None, what it does at all;
        whether somebody did.
        """
        if (guid, lid) in self._asked:
            return False
        self._asked.add((guid, lid))
        before = len(self.problems)
        refusals: list[Problem] = []
        for ask in (self._of_switch, self._of_dumps, self._of_sa):
            known = self.known.get(guid, ())
            self.known[guid] = (*known, *(table for table in ask(guid, refusals) if table not in known))
            if self.known[guid] if lid is None else self.routes().table_for(guid, lid):
                return True
        if len(self.problems) == before:
            self.problems += refusals[:1]
        return False

    # The switch itself

    def _of_switch(self, guid: Guid, refusals: list[Problem]) -> list[ForwardingTable]:
        lid = self._fabric.nodes[guid].lid
        if lid is None or isinstance(self._source, RawSource):
            return []
        answer = self._run(SWITCH_TOOL, NO_NAMES, str(lid))
        if answer.failure == NOT_RECORDED:
            self._is_saved = True
            answer = self._run(SWITCH_TOOL, str(lid))
        if answer.failure == NOT_RECORDED:
            return []
        label = label_of(self._source, answer)
        try:
            parsed = ibroute.parse(answer.out, source=label)
        except NotThisFormat:
            refusals.append(explain_failure(self._source, answer, _messages(answer)))
            return []
        if not parsed.value.tables or parsed.complete is False:
            messages = (*_messages(answer), *parsed.value.messages)
            refusals += [explain_failure(self._source, answer, messages)] if messages else parsed.problems
        told = [table for table in parsed.value.tables if table.guid == guid]
        if parsed.value.tables and not told:
            other = parsed.value.tables[0]
            text = f"{Guid(other.guid)} answers at the LID of {guid}, {lid}: a LID given twice, or a way astray"
            self.problems.append(Problem("wrong-switch", text, other.line, label))
        return [_table(table, label, LAST_LID) for table in told]

    # What a capture or a file holds of all switches

    def _of_dumps(self, guid: Guid, refusals: list[Problem]) -> list[ForwardingTable]:
        if not self._is_saved:
            return []
        if self._dumps is None:
            self._dumps = list(self._open_dumps())
        found: list[ForwardingTable] = []
        for dump in self._dumps:
            told = tuple(dump.tables_of(guid))
            self.problems += (problem for _, problems in told for problem in problems)
            tables, disputed = agreed([table for table, _ in told])
            if disputed:
                lines = " and ".join(str(table.line) for table in tables if table.line is not None)
                text = (
                    f"tables of {guid} that differ for {len(disputed)} LIDs, the first is {disputed[0]}"
                    f"{f' (lines {lines})' if lines else ''}: what the switch does with them is not known"
                )
                self.problems.append(Problem("contradiction", text, tables[-1].line, tables[-1].source))
            found += tables
        return found

    def _open_dumps(self) -> Iterator[_Dump]:
        for words in _RAW_DUMPS if isinstance(self._source, RawSource) else _DUMPS:
            answer = self._source.run(words)
            if answer.failure != NOT_RECORDED:
                yield _Dump(
                    answer.stdout, label_of(self._source, answer), is_whole=not isinstance(self._source, RawSource)
                )
                if isinstance(self._source, RawSource):
                    return  # it is one text, whatever of these is in it

    # The subnet administrator

    def _of_sa(self, guid: Guid, refusals: list[Problem]) -> list[ForwardingTable]:
        lid = self._fabric.nodes[guid].lid
        if lid is None:
            return []
        for words in ((_SA_NAMES[0], str(lid)), *((name,) for name in _SA_NAMES)):
            if words not in self._answers:
                self._answers[words] = self._ask_sa(words, refusals)
            told = self._answers[words]
            if told and lid in told.places:
                parsed = saquery.parse_places(told.text, told.places[lid], source=told.label)
                return [_of_records(guid, parsed.value.records, told.label)]
            if told:
                break  # only a capture that does not hold the one question may hold the other
        return []

    def _ask_sa(self, words: tuple[str, ...], refusals: list[Problem]) -> _Records | None:
        """An answer, and where in it are the records of which switch, by its LID; None where it is not recorded."""
        answer = self._run(SA_TOOL, *words)
        if answer.failure == NOT_RECORDED:
            return None
        label, text = label_of(self._source, answer), to_text(answer.stdout)
        places = saquery.places_of(text, _RECORD, "LID")
        if not places:
            refusals.append(explain_failure(self._source, answer, _messages(answer)))
        return _Records(label, text, places)

    def _run(self, tool: str, *words: str) -> CommandAnswer:
        seconds = SA_DEADLINE_SECONDS if tool == SA_TOOL else DEADLINE_SECONDS
        return self._source.run(self._through.command(tool, *words), deadline_seconds=seconds)


class _Records(NamedTuple):
    """An answer of the SA, and the places of its records by the LID of the switch that they are about."""

    label: str
    text: str
    places: dict[int, list[tuple[int, int]]]


class _Dump:
    """A text with the tables of many switches, each read when somebody asks for it: all together may be 200 MB.

    ``is_whole``: nobody has asked for a range of LIDs alone.
    """

    def __init__(self, data: bytes, label: str, *, is_whole: bool) -> None:
        self._data = data
        self._label = label
        self._last = LAST_LID if is_whole else None
        self._starts = sorted(data.rfind(b"\n", 0, place) + 1 for head, _ in _HEADS for place in _places_of(head, data))
        self._tables: dict[int, list[int]] = {}
        for index, start in enumerate(self._starts):
            guid = _guid_at(data, start)
            if guid is not None:
                self._tables.setdefault(guid, []).append(index)

    def tables_of(self, guid: Guid) -> Iterator[tuple[ForwardingTable, tuple[Problem, ...]]]:
        """The tables of a switch, and what could not be read of them."""
        for index in self._tables.get(guid, ()):
            start, stop = [*self._starts, len(self._data)][index : index + 2]
            piece, line = to_text(self._data[start:stop]), self._line_of(index)
            for parser in (ibroute, opensm_dumps):
                try:
                    parsed = parser.parse(piece, source=self._label)
                except NotThisFormat:
                    continue
                problems = tuple(one._replace(line=_moved(one.line, line)) for one in parsed.problems)
                for table in parsed.value.tables:
                    if table.guid == guid:  # tables of multicast LIDs, of any switch, may follow in the same piece
                        yield _table(table, self._label, self._last, line), problems if not table.complete else ()
                break

    def _line_of(self, index: int) -> int | None:
        """How many lines are before a table; None where they are too many to be counted."""
        if len(self._data) > MAX_COUNTED_BYTES:
            return None
        return self._data.count(b"\n", 0, self._starts[index])


def _places_of(head: bytes, data: bytes) -> Iterator[int]:
    place = data.find(head)
    while place >= 0:
        yield place
        place = data.find(head, place + len(head))


def _guid_at(data: bytes, start: int) -> int | None:
    """The GUID in the head that begins there."""
    line = data[start : start + _MAX_HEAD].split(b"\n", 1)[0]
    found = next((found for head, pattern in _HEADS if head in line and (found := pattern.search(line))), None)
    return int(found[1], 16) if found else None


def _moved(line: int | None, by: int | None) -> int | None:
    """A piece's line number as that of the whole text, where it is known how far it is in."""
    return None if line is None or by is None else line + by


def _table(table: ibroute.ForwardingTable, source: str, last: int | None, line: int | None = 0) -> ForwardingTable:
    """A parsed table. ``last`` is the last LID that has no exit where there is no row for it, None for the text's own:
    somebody may have asked for those alone. ``line`` is how many lines are before it.
    """
    covers: tuple[tuple[int, int], ...] = ()
    if table.complete:
        # The block that a multiple of 64 begins is not read where it would be the last one.
        unread = table.last % _LIDS_PER_BLOCK == 0 and table.last and table.last >= len(table.exits)
        covers = ((table.first, table.last - 1),) if unread else ((table.first, table.last),)
        if last is not None:
            covers = (*covers, (table.last + 1, last))
    return ForwardingTable(Guid(table.guid), table.exits, covers, source, _moved(table.line, line))


def _of_records(guid: Guid, records: Iterable[saquery.Record], source: str) -> ForwardingTable:
    """An SA's blocks of one switch."""
    exits = bytearray()
    covers = []
    line = None
    for record in records:
        line = record.line if line is None else line
        if len(record.rows) == _LIDS_PER_BLOCK:
            covers.append((record.rows[0][0], record.rows[-1][0]))
        for lid, port in (row for row in record.rows if len(row) == 2):
            if lid <= LAST_LID and port < NO_EXIT:
                exits.extend(bytes([NO_EXIT]) * (lid + 1 - len(exits)))
                exits[lid] = port
    return ForwardingTable(guid, bytes(exits), tuple(covers), source, line)


def _messages(answer: CommandAnswer) -> tuple[Message, ...]:
    return (*diag.parse_lines(answer.err), *diag.known_lines(answer.out))
