"""What single ports tell where the topology does not: their PortInfo by ``smpquery``, their counters by ``perfquery``.

Both go to the node itself, and are asked for a handful of ports: those that packets pass between two others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ibkit.collectors.counter_pages import LocalPort, Pages
from ibkit.collectors.counters import DATA_OPTIONS, SWEEP_TOOL, TABLES, collect_counters
from ibkit.collectors.mad_tools import ANY_PORT, Through, explain_failure, label_of
from ibkit.collectors.sa_fabric import with_info
from ibkit.model.counters import PortCounters
from ibkit.model.fabric import SWITCH, End, Fabric, FabricPort, Node
from ibkit.model.routes import lid_of
from ibkit.model.talk import port_at
from ibkit.parsers import diag_messages as diag
from ibkit.parsers import perfquery, saquery, smpquery
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.records import NamedTuple
from ibkit.parsers.sa_records import PortInfo, is_sound, port_info
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, Source
from ibkit.sources.raw import RawSource

INFO_TOOL, COUNTER_TOOL = "smpquery", "perfquery"
SA_QUESTION, SA_RECORD = ("saquery", "PIR"), "PortInfoRecord"
DEADLINE_SECONDS = 20.0
#: Where so many have not answered, no more are asked.
MAX_SILENT = 2
#: So many ports are asked for a capture, and so long (seconds): each takes 10 ms, on a busy host 100.
MAX_RECORDED, RECORDING_SECONDS = 2000, 15.0
#: A saved sweep of counters is looked at up to this size (bytes), unless somebody wants it: that of 1,000 HCAs has
#: 1.3 MB, that of 11,000 takes longer to read than all the rest.
MAX_SWEEP_BYTES = 4 << 20


class Details(NamedTuple):
    """The fabric with the PortInfo of some ports, which command told it of each, and why it could not be had."""

    fabric: Fabric
    sources: dict[End, str]
    problems: tuple[Problem, ...]


def with_details(source: Source, fabric: Fabric, ends: Iterable[End], through: Through = ANY_PORT) -> Details:
    """Ask those of the ports that lack what PortInfo tells."""
    asking = _Asking(source, through)
    nodes = dict(fabric.nodes)
    sources = {}
    lacking = list(_lacking(fabric, ends))
    for end, lid in lacking:
        told = asking.info(lid, end.port)
        if told is None and asking.is_saved:
            told = asking.record_of({lid for _, lid in lacking}, lid, end.port)
        if told is not None:
            info, sources[end] = told
            port = port_at(fabric._replace(nodes=nodes), end)
            nodes[end.guid] = _with_port(nodes[end.guid], with_info(port, info, None))
    return Details(fabric._replace(nodes=nodes), sources, tuple(asking.problems))


def record_details(source: Source, fabric: Fabric) -> tuple[Problem, ...]:
    """Ask all ports with a link that lack it, so that a capture holds it of those on any way, within bounds."""
    ends = [End(guid, 0) for guid, node in fabric.nodes.items() if node.type == SWITCH]
    ends += [End(node.guid, port.number) for node in fabric.nodes.values() for port in node.ports if port.peer]
    lacking = list(_lacking(fabric, ends))
    if len(lacking) > MAX_RECORDED:
        text = f"the SA does not tell PortInfo, and {len(lacking)} ports are too many to be asked for it one by one"
        return (Problem("not-asked", text, None, INFO_TOOL),)
    asking = _Asking(source, ANY_PORT)
    for index, (end, lid) in enumerate(lacking):
        if asking.seconds > RECORDING_SECONDS:
            text = (
                f"the SA does not tell PortInfo; {len(lacking) - index} of {len(lacking)} ports were not asked in time"
            )
            return (*asking.problems, Problem("not-asked", text, None, INFO_TOOL))
        asking.info(lid, end.port)
    return tuple(asking.problems)


def counters_of(
    source: Source, fabric: Fabric, ends: Iterable[End], through: Through = ANY_PORT, *, whole_sweep: bool = False
) -> tuple[dict[End, PortCounters], tuple[Problem, ...]]:
    """The counters of some ports: asked of each, or looked up in a saved sweep; ``whole_sweep`` reads a large one."""
    asking = _Asking(source, through)
    found: dict[End, PortCounters] = {}
    missing = []
    for end in ends:
        lid = lid_of(fabric, end)
        counters = None if lid is None or end.guid not in fabric.nodes else asking.counters(lid, end)
        if counters is None:
            missing.append(end)
        else:
            found[end] = counters
    if missing and (asking.is_saved or isinstance(source, RawSource)):
        told, problems = _from_sweep(source, through, whole_sweep=whole_sweep)
        found |= {end: told[end] for end in missing if end in told}
        return found, (*asking.problems, *problems)
    return found, tuple(asking.problems)


class _Asking:
    """Asks single ports. ``is_saved``: the answers are a capture's, which does not hold some of them."""

    def __init__(self, source: Source, through: Through) -> None:
        self.problems: list[Problem] = []
        self.is_saved = False
        self.seconds = 0.0
        self._records: tuple[str, tuple[saquery.Record, ...]] | None = None
        self._source = source
        self._through = through
        self._silent = 0

    def info(self, lid: int, port: int) -> tuple[PortInfo, str] | None:
        """A port's PortInfo, and the command that told it."""
        answer = self._run(INFO_TOOL, "portinfo", lid, port)
        if answer.failure == NOT_RECORDED:
            answer = self._run(INFO_TOOL, "pi", lid, port)
        if answer.failure == NOT_RECORDED:
            self.is_saved = True
            return None
        label = label_of(self._source, answer)
        try:
            parsed = smpquery.parse(answer.out, source=label)
            told = [one for one in parsed.value.answers if one.attribute == smpquery.PORT_INFO and one.lid == lid]
        except NotThisFormat:
            told = []
        info = port_info(told[0].fields) if told else None
        if info is None or not is_sound(info):
            self._refused(answer)
            return None
        return info, label

    def record_of(self, lids: Collection[int], lid: int, port: int) -> tuple[PortInfo, str] | None:
        """The same from the SA's records: a capture may hold them without those of nodes or links, and then they are
        not part of its topology. ``lids`` are all that will be looked for.
        """
        if self._records is None:
            self._records = self._read_records(lids)
        label, records = self._records
        for record in records:
            named = record.fields.get("EndPortLid"), record.fields.get("PortNum")
            if named == (str(lid), str(port)):
                info = port_info(record.fields)
                return (info, label) if is_sound(info) else None
        return None

    def _read_records(self, lids: Collection[int]) -> tuple[str, tuple[saquery.Record, ...]]:
        answer = self._source.run(self._through.command(*SA_QUESTION), deadline_seconds=DEADLINE_SECONDS)
        label = label_of(self._source, answer)
        try:
            parsed = saquery.parse_some(answer.out, SA_RECORD, "EndPortLid", lids, source=label)
        except NotThisFormat:
            return label, ()
        # Of a record that is cut the last field may be, too.
        return label, parsed.value.records if parsed.complete is not False else ()

    def counters(self, lid: int, end: End) -> PortCounters | None:
        """A port's counters."""
        answer = self._run(COUNTER_TOOL, None, lid, end.port)
        if answer.failure == NOT_RECORDED:
            self.is_saved = True
            return None
        label = label_of(self._source, answer)
        try:
            parsed = perfquery.parse(answer.out, source=label)
        except NotThisFormat:
            self._refused(answer)
            return None
        pages = Pages()
        pages.add(parsed.value, label, LocalPort(end.guid))
        return next((port for port in pages.ports() if port.port == end.port), None)

    def _run(self, tool: str, word: str | None, lid: int, port: int) -> CommandAnswer:
        if self._silent >= MAX_SILENT or isinstance(self._source, RawSource):
            return CommandAnswer((tool,), failure=NOT_RECORDED)
        words = (str(lid), str(port)) if word is None else (word, str(lid), str(port))
        answer = self._source.run(self._through.command(tool, *words), deadline_seconds=DEADLINE_SECONDS)
        self.seconds += answer.seconds
        return answer

    def _refused(self, answer: CommandAnswer) -> None:
        self._silent += 1
        messages = (*diag.parse_lines(answer.err), *diag.known_lines(answer.out))
        self.problems.append(explain_failure(self._source, answer, messages))


def _from_sweep(
    source: Source, through: Through, *, whole_sweep: bool
) -> tuple[dict[End, PortCounters], tuple[Problem, ...]]:
    """What a capture or a text holds of all ports' counters."""
    if isinstance(source, RawSource):
        if not (source.holds(SWEEP_TOOL) or source.holds(TABLES)):
            return {}, ()
    else:
        size = len(source.run((SWEEP_TOOL, *DATA_OPTIONS)).stdout)
        if size > MAX_SWEEP_BYTES and not whole_sweep:
            text = f"the recorded counters are not looked at, for they are {size >> 20} MB; --counters does"
            return {}, (Problem("counters-not-read", text, None, SWEEP_TOOL),)
    ports = collect_counters(source).ports
    return {End(port.guid, port.port): port for port in ports if port.guid is not None}, ()


def _lacking(fabric: Fabric, ends: Iterable[End]) -> Iterator[tuple[End, int]]:
    """The ports of which something is not known that PortInfo tells, with the LID to ask at. An outer port of a switch
    has no manager's LID and no prefix.
    """
    for end in ends:
        node, lid, port = fabric.nodes.get(end.guid), lid_of(fabric, end), port_at(fabric, end)
        if node is None or lid is None or port.state == "Down":
            continue
        needed: list[object] = [port.state, port.mtu_bytes, port.max_mtu_bytes]
        if node.type != SWITCH or end.port == 0:
            needed += [port.sm_lid, port.subnet_prefix]
        if None in needed:
            yield end, lid


def _with_port(node: Node, port: FabricPort) -> Node:
    if port.number == 0:
        return node._replace(port0=port)
    others = [one for one in node.ports if one.number != port.number]
    return node._replace(ports=tuple(sorted((*others, port), key=lambda one: one.number)))
