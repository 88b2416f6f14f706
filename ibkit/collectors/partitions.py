"""The P_Key tables of the subnet's ports: from the SA in one answer, from the ports themselves, from this host's /sys.

An SA shows P_Key tables to whoever has its key alone, and refuses others (InfiniBand Architecture Specification volume
1, 15.4.1.2); ``saquery`` takes the key from its configuration, and OpenSM's is 1 where nobody has changed it. A port
tells its own table to anybody who may send subnet management packets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ibkit.collectors import fabric as topology
from ibkit.collectors.intended_partitions import intended_partitions, is_cut
from ibkit.collectors.key_tables import RECORD, RECORD_FIELDS, SECTION, KeyTables
from ibkit.collectors.local_ports import local_ports
from ibkit.collectors.mad_tools import ANY_PORT, Through, explain_failure, label_of
from ibkit.collectors.sysfs import CLASS
from ibkit.model.fabric import SWITCH, End, Fabric
from ibkit.model.ids import Guid
from ibkit.model.partitions import IntendedPartition, Partitions, described, look_at
from ibkit.model.routes import Owners, end_ports, lid_of, owners_of
from ibkit.parsers import diag_messages as diag
from ibkit.parsers import ibdiagnet_csv, partitions_conf, saquery, sminfo, smpquery
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, Source
from ibkit.sources.raw import RawSource

SA_TOOL, PORT_TOOL, TABLES, CONFIGURATION = "saquery", "smpquery", "ibdiagnet2.db_csv", "partitions.conf"
MANAGER_TOOL, SMINFO_MASTER = "sminfo", 3
#: Whose outputs are read, where somebody saved one of them.
READS = (SA_TOOL, PORT_TOOL, TABLES, CONFIGURATION)
#: The question, as a user asks it and as somebody with OpenSM's own key does; other names under which a capture may
#: hold the answer.
_QUESTIONS = (("PKTR",), ("--smkey", "1", "PKTR"))
_OTHER_NAMES = (("PKeyTableRecord",), ("--smkey", "1", "PKeyTableRecord"))
#: A manager of 11,200 HCAs and their switches prints 60 MB (seconds).
SA_DEADLINE_SECONDS = 180.0
PORT_DEADLINE_SECONDS = 20.0
#: Up to so many ports are asked one by one where the SA does not tell, for so long in all (seconds); where the first
#: ones do not answer, the others are not asked.
MAX_PORTS_ASKED = 600
ASKING_SECONDS = 120.0
MAX_SILENT = 3


def collect_partitions(source: Source, fabric: Fabric | None = None, through: Through = ANY_PORT) -> Partitions:
    """The tables of all ports. ``fabric`` is collected where it is not given.

    Never raises for missing evidence: ``problems`` says whose table is missing, and how to get it.
    """
    is_saved = isinstance(source, RawSource)
    if fabric is None:
        fabric = _topology(source, through)
    asking = _Asking(source, through, fabric, owners_of(fabric))
    ends = tuple(end_ports(fabric))
    asking.ask_sa(_QUESTIONS[:1] if is_saved else (*_QUESTIONS, *_OTHER_NAMES))
    if asking.missing(ends):
        asking.tables.doubt_last()
    if is_saved:
        asking.read_saved()
    elif asking.missing(ends):
        asking.ask_ports(ends)  # all of them: an answer that is cut is none to trust
    manager = None if is_saved else _manager(source, through)
    ports, filters = asking.tables.result()
    problems = [*asking.problems, *asking.tables.problems]
    if not ports and not fabric.nodes:
        problems = [*fabric.problems, *problems]  # why nobody can be asked
    complete = fabric.complete if ends else None
    if missing := asking.missing(ends):
        problems.append(_untold(fabric, missing, len(ends)))
    cut = [port for port in ports if not port.whole]
    if cut and not missing:
        text = f"{described(cut)} known by a part of the P_Key table alone: a block or row of it is missing"
        problems.append(Problem("no-table", text, cut[0].line, cut[0].source))
    if missing or cut or asking.is_cut:
        complete = False
    elif ports and complete is False:
        problems.append(
            Problem("partial", "not all of the fabric was seen: there may be more ports", None, fabric.source)
        )
    if not ports and not asking.intended and not problems:
        problems.append(Problem("no-output", "no P_Key table could be read", None, asking.label))
    partitions = Partitions(ports, filters, asking.intended, complete, (), asking.label, manager)
    return partitions._replace(problems=(*problems, *look_at(partitions)))


def collect_tables_of(
    source: Source, fabric: Fabric, owners: Owners, ends: Iterable[End], through: Through = ANY_PORT
) -> Partitions:
    """The tables of some ports alone, by the fewest questions. ``complete`` is None."""
    ends = tuple(ends)
    asking = _Asking(source, through, fabric, owners)
    if isinstance(source, RawSource):
        asking.ask_sa(_QUESTIONS[:1])
        asking.read_saved()
    else:
        asking.ask_ports(ends)
        for end in asking.missing([end for end in ends if lid_of(fabric, end) is not None]):
            asking.ask_sa_for(end)
    ports, filters = asking.tables.result()
    return Partitions(ports, filters, None, None, (*asking.problems, *asking.tables.problems), asking.label)


class _Asking:
    """Asks, and puts what it gets into the tables. ``problems`` are why something could not be had."""

    def __init__(self, source: Source, through: Through, fabric: Fabric, owners: Owners) -> None:
        self.tables = KeyTables(fabric, owners)
        self.problems: list[Problem] = []
        self.label: str | None = None
        self.intended: tuple[IntendedPartition, ...] | None = None
        self.is_cut = False
        self._source = source
        self._through = through
        self._fabric = fabric

    def missing(self, ends: Sequence[End]) -> tuple[End, ...]:
        """The ports whose table is not known, or not all of it."""
        return tuple(end for end in ends if not self.tables.knows(end))

    def ask_sa(self, questions: Iterable[Sequence[str]], lids: Collection[int] | None = None) -> None:
        """Ask until there is an answer with records; only those of ``lids`` are looked at, where they are given."""
        refusals = []
        for words in questions:
            answer = self._source.run(self._through.command(SA_TOOL, *words), deadline_seconds=SA_DEADLINE_SECONDS)
            refusal = self._take_records(answer, lids)
            if refusal is None:
                return
            if refusal.kind != NOT_RECORDED:
                refusals.append(refusal)
        self.problems += refusals[:1]

    def ask_sa_for(self, end: End) -> None:
        """Ask for one port, or look it up in a capture's answer about all."""
        lid = lid_of(self._fabric, end)
        assert lid is not None
        before = len(self.problems)
        self.ask_sa([(*words, str(lid)) for words in _QUESTIONS])
        if not self.tables.knows(end) and len(self.problems) == before:  # nobody has recorded that question
            self.ask_sa((*_QUESTIONS, *_OTHER_NAMES), {lid})

    def ask_ports(self, ends: Sequence[End]) -> None:
        """Each port itself, within bounds, those of this host by /sys, which takes no packet and no privilege."""
        told_by_kernel = self._read_kernel(ends)
        if len(ends) > MAX_PORTS_ASKED:
            text = f"{len(ends)} ports are too many to be asked for their P_Key tables one by one"
            self.problems.append(Problem("not-asked", text, None, PORT_TOOL))
            return
        seconds = 0.0
        told = 0
        refusals: list[Problem] = []
        for end in ends:
            if end in told_by_kernel or lid_of(self._fabric, end) is None:
                continue
            if seconds > ASKING_SECONDS or (len(refusals) == MAX_SILENT and not told):
                break
            answer = self._ask_port(end)
            seconds += answer.seconds
            refusal = self._take_table(answer, end)
            if refusal is None:
                told += 1
            elif refusal.kind != NOT_RECORDED:
                refusals.append(refusal)
        self.problems += refusals[:1]

    def read_saved(self) -> None:
        """What else a text that somebody saved may hold."""
        for tool, read in (
            (PORT_TOOL, self._read_answers), (TABLES, self._read_section), (CONFIGURATION, self._read_configuration),
        ):  # fmt: skip
            answer = self._source.run((tool,))
            if answer.failure == NOT_RECORDED:
                continue
            label = label_of(self._source, answer)
            try:
                self.problems += read(answer.out, label)
                self.label = label
            except NotThisFormat as error:
                self.problems.append(Problem("no-output", str(error), None, label))

    def _ask_port(self, end: End) -> CommandAnswer:
        lid = str(lid_of(self._fabric, end))
        answer = self._source.run(
            self._through.command(PORT_TOOL, "pkeys", lid, str(end.port)), deadline_seconds=PORT_DEADLINE_SECONDS
        )
        if answer.failure == NOT_RECORDED and self._fabric.nodes[end.guid].type != SWITCH:
            # Who typed it need not have named the only port.
            return self._source.run(self._through.command(PORT_TOOL, "pkeys", lid))
        return answer

    def _take_records(self, answer: CommandAnswer, lids: Collection[int] | None) -> Problem | None:
        """Take an answer of the SA; why it holds no table."""
        if answer.failure == NOT_RECORDED:
            return explain_failure(self._source, answer, ())
        label = label_of(self._source, answer)
        messages = diag.parse_lines(answer.err)
        try:
            if lids is None:
                parsed = saquery.parse(answer.out, source=label, fields=RECORD_FIELDS)
            else:
                parsed = saquery.parse_some(answer.out, RECORD, "LID", lids, source=label)
        except NotThisFormat:
            return explain_failure(self._source, answer, (*messages, *diag.known_lines(answer.out)))
        messages = (*messages, *parsed.value.messages)
        if not any(record.type == RECORD for record in parsed.value.records):
            return explain_failure(self._source, answer, messages)
        self.label = label
        self.problems += parsed.problems
        self.is_cut |= parsed.complete is False and not messages
        self.tables.add_records(parsed.value.records, label)
        if answer.failure is not None or answer.exit_status not in (0, None):
            self.problems.append(explain_failure(self._source, answer, messages))
            self.tables.doubt_last()
        return None

    def _take_table(self, answer: CommandAnswer, end: End) -> Problem | None:
        """Take a port's own answer; why it holds no table."""
        if answer.failure == NOT_RECORDED:
            return explain_failure(self._source, answer, ())
        label = label_of(self._source, answer)
        messages = diag.parse_lines(answer.err)
        try:
            parsed = smpquery.parse(answer.out, source=label)
        except NotThisFormat:
            return explain_failure(self._source, answer, (*messages, *diag.known_lines(answer.out)))
        told = next((one for one in parsed.value.answers if one.attribute == smpquery.PKEYS), None)
        if told is None:
            return explain_failure(self._source, answer, (*messages, *parsed.value.messages))
        self.label = self.label or label
        self.tables.add_table(told.rows, parsed.complete is not False, label, told.line, end)
        return None

    def _read_kernel(self, ends: Sequence[End]) -> set[End]:
        """What /sys tells of this host's ports, and which these are. A table is a file for each of its entries."""
        told = set()
        by_guid = {
            port.guid: End(node.guid, port.number)
            for node in self._fabric.nodes.values() if node.type != SWITCH
            for port in node.ports if port.guid is not None
        }  # fmt: skip
        for local in local_ports(self._source):
            end = by_guid.get(local.guid)
            if end not in ends or end is None:
                continue
            folder = f"{CLASS}/{local.device}/ports/{local.port}/pkeys"
            names = sorted((name for name in self._source.list(folder).names if name.isdecimal()), key=int)
            keys = [_key(self._source.read(f"{folder}/{name}").text) for name in names]
            if keys:
                known = [key or 0 for key in keys]
                self.tables.add_table([known], None not in keys, folder, None, end)
                self.label = self.label or folder
                told.add(end)
        return told

    def _read_answers(self, text: str, label: str) -> Iterable[Problem]:
        parsed = smpquery.parse(text, source=label)
        for told in parsed.value.answers:
            if told.attribute == smpquery.PKEYS:
                whole = told.capacity is not None
                self.tables.add_nameless(told.rows, whole, label, told.line)
        return parsed.problems

    def _read_section(self, text: str, label: str) -> Iterable[Problem]:
        parsed = ibdiagnet_csv.parse(text, source=label, sections=(SECTION,))
        for section in parsed.value:
            self.tables.add_section(section, label)
        if not parsed.value:
            return (Problem("no-output", f"the file has no section {SECTION}", None, label), *parsed.problems)
        return parsed.problems

    def _read_configuration(self, text: str, label: str) -> Iterable[Problem]:
        parsed = partitions_conf.parse(text, source=label)
        self.intended = intended_partitions(parsed.value)
        self.is_cut |= is_cut(parsed)
        return parsed.problems


def _topology(source: Source, through: Through) -> Fabric:
    """Of a text that somebody saved, what it may show beside the P_Keys."""
    if isinstance(source, RawSource) and not any(map(source.holds, topology.READS)):
        return Fabric({}, (), None)
    return topology.collect_fabric(source, through)


def _manager(source: Source, through: Through) -> Guid | None:
    """The port GUID of the master subnet manager, as it tells it itself."""
    answer = source.run(through.command(MANAGER_TOOL), deadline_seconds=PORT_DEADLINE_SECONDS)
    try:
        told = sminfo.parse(answer.out).value.answers
    except NotThisFormat:
        return None
    masters = {info.guid for info in told if info.state == SMINFO_MASTER}
    return Guid(masters.pop()) if len(masters) == 1 else None


def _untold(fabric: Fabric, missing: Sequence[End], count: int) -> Problem:
    first = missing[0]
    name = fabric.nodes[first.guid].name or first.guid
    text = (
        f"no whole P_Key table of {len(missing)} of {count} ports, the first is {name} port {first.port}: the SA tells "
        "them to root with the manager's key, `saquery --smkey KEY PKTR`; a port itself `smpquery pkeys LID`"
    )
    return Problem("no-table", text, None, None)


def _key(text: str | None) -> int | None:
    """``0xffff`` as the kernel writes it; None for a file that could not be read."""
    try:
        key = int((text or "").strip(), 16)
    except ValueError:
        return None
    return key if 0 <= key <= 0xFFFF else None
