"""What the subnet administrator tells of the whole subnet: one bulk question to ``saquery`` for each type of record.

An SA tells what its subnet manager knows, and of that what shares a partition with the port that asks (InfiniBand
Architecture Specification volume 1, 15.4.1.2). One question goes to one node, where a sweep asks each switch and host.
"""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.collectors.mad_tools import Through, ask, explain_failure, label_of, only_stdout
from ibkit.parsers import diag_messages as diag
from ibkit.parsers import sa_records
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.records import NamedTuple
from ibkit.parsers.sa_records import SWITCH, SaNode, SaRecords
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, Source
from ibkit.sources.raw import RawSource

TOOL = "saquery"
#: Types of records by the name that the tool has for them.
NODES, PORTS, LINKS, GUIDS, MANAGERS = "NR", "PIR", "LR", "GIR", "SMIR"
#: Other names of the same question, under which a capture may hold the answer.
_OTHER_NAMES = {
    NODES: ("-N", "NodeRecord"), PORTS: ("PortInfoRecord",), LINKS: ("-x", "LinkRecord"), GUIDS: ("GUIDInfoRecord",),
    MANAGERS: ("SMInfoRecord",),
}  # fmt: skip
#: A manager of 10,000 hosts answers within seconds (seconds, and milliseconds of a second try).
DEADLINE_SECONDS = 120.0
LONGER_MS = 20_000
#: The most that is asked for (bytes). Of a larger subnet a sweep tells the links in a tenth of that, and the GUIDs are
#: left out.
MAX_PORTS_BYTES, MAX_GUIDS_BYTES = 100 << 20, 16 << 20
#: What the tool prints of a port, and of eight of its GUIDs (bytes).
_BYTES_OF_A_PORT, _BYTES_OF_GUIDS = 2400, 400


class SaAnswer(NamedTuple):
    """An answer to one question. ``complete`` is False where some is missing, None where nothing speaks against it."""

    records: SaRecords
    complete: bool | None
    problems: tuple[Problem, ...]
    answer: CommandAnswer


class SaReading(NamedTuple):
    """The answers to all questions. ``asked`` are the types that came, ``label`` is what problems name.

    ``ended_well`` is None where nobody knows how the tool ended, as of a capture that was put together by hand.
    ``is_saved``: it is a text that somebody saved, of which nobody knows whether it is all that there was.
    """

    records: SaRecords
    asked: frozenset[str]
    complete: bool | None
    problems: tuple[Problem, ...]
    label: str
    ended_well: bool | None
    is_saved: bool


def read_subnet(source: Source, through: Through) -> SaReading | None:
    """Nodes, links, ports and GUIDs; None where no SA answers, or where there is too much of it for this tool.

    That none answers is no problem here: who manages the subnet is another question, and a sweep needs no manager.
    """
    first = query(source, through, NODES)
    if isinstance(source, RawSource) and first.records != SaRecords():
        label = label_of(source, first.answer)
        return SaReading(first.records, frozenset(), first.complete, first.problems, label, None, is_saved=True)
    if not first.records.nodes:
        return None
    if not ports_fit(first.records.nodes):
        return None
    answers = {NODES: first, LINKS: query(source, through, LINKS), PORTS: query(source, through, PORTS)}
    tables = sum(-(-(port.info.guid_capacity or 0) // 8) for port in answers[PORTS].records.ports)
    if 0 < tables * _BYTES_OF_GUIDS <= MAX_GUIDS_BYTES:
        answers[GUIDS] = query(source, through, GUIDS)
    records = SaRecords(
        first.records.nodes, answers[PORTS].records.ports, answers[LINKS].records.links,
        answers[GUIDS].records.guids if GUIDS in answers else (),
    )  # fmt: skip
    return SaReading(
        records,
        frozenset(name for name, told in answers.items() if told.records != SaRecords()),
        False if any(told.complete is False for name, told in answers.items() if name != GUIDS) else None,
        tuple(problem for told in answers.values() for problem in told.problems),
        " ".join(through.command(TOOL)),
        None if any(only_stdout(told.answer) for told in answers.values()) else True,
        is_saved=False,
    )


def ports_fit(nodes: Sequence[SaNode]) -> bool:
    """Whether the PortInfoRecords of these nodes are few enough to be asked for."""
    ports = sum(node.port_count + 1 if node.type == SWITCH else 1 for node in nodes)
    return ports * _BYTES_OF_A_PORT <= MAX_PORTS_BYTES


def query(source: Source, through: Through, name: str) -> SaAnswer:
    """All records of one type."""
    answer = ask(source, through, TOOL, name, deadline_seconds=DEADLINE_SECONDS, longer_ms=LONGER_MS)
    for other in _OTHER_NAMES[name]:
        if answer.failure == NOT_RECORDED:
            answer = source.run(through.command(TOOL, other), deadline_seconds=DEADLINE_SECONDS)
    label = label_of(source, answer)
    messages = diag.parse_lines(answer.err)
    try:
        parsed = sa_records.parse(answer.out, source=label)
    except NotThisFormat:
        if answer.failure is None and answer.exit_status == 0 and not answer.out.strip() and not _gave_up(messages):
            return SaAnswer(SaRecords(), None, (), answer)  # there are no such records
        return SaAnswer(SaRecords(), False, (explain_failure(source, answer, messages),), answer)
    messages = (*messages, *parsed.value.messages)
    if answer.failure is not None or answer.exit_status not in (0, None) or _gave_up(messages):
        problems = (explain_failure(source, answer, messages), *parsed.problems)
        return SaAnswer(parsed.value, False, problems, answer)
    return SaAnswer(parsed.value, parsed.complete, parsed.problems, answer)


def _gave_up(messages: tuple[diag.Message, ...]) -> bool:
    """The SA refused, or the tool ended early; the exit status does not always say so."""
    return any(message.kind in (diag.SA_STATUS, diag.NO_SM, diag.FAILED) for message in messages)
