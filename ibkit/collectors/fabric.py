"""The topology of the subnet: of the SA's records, or of a sweep, or what another tool's saved output shows of it.

An SA is asked first, with one question for each type of record, where a sweep asks each node. Its records are taken for
the subnet where they are whole in themselves: each LID has a node, each port that is up a link, each link both ends.
Where they are not, or no SA answers, ``ibnetdiscover`` sweeps by directed routes, and the two views are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ibkit.collectors.ibdiagnet_tables import SECTIONS, assemble_tables
from ibkit.collectors.link_table import assemble_links
from ibkit.collectors.local_ports import other_subnets
from ibkit.collectors.mad_tools import ANY_PORT, Through, ask, explain_failure, label_of, only_stdout
from ibkit.collectors.routes import EXTENDED_PORT_INFO, describe, with_doubts
from ibkit.collectors.sa import TOOL as SA_TOOL
from ibkit.collectors.sa import read_subnet
from ibkit.collectors.sa_fabric import assemble_records
from ibkit.collectors.subnet_list import assemble_list
from ibkit.collectors.topology import assemble
from ibkit.collectors.two_views import merged
from ibkit.model.fabric import Fabric
from ibkit.model.ids import Guid
from ibkit.parsers import diag_messages as diag
from ibkit.parsers import ibdiagnet_csv, iblinkinfo, ibnetdiscover, subnet_list
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.bulk import no_cyclic_gc
from ibkit.parsers.diag_messages import Message
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, Source
from ibkit.sources.capture import ReplaySource

TOOL, LINK_TOOL = "ibnetdiscover", "iblinkinfo"
SUBNET_LIST, TABLES = "opensm-subnet.lst", "ibdiagnet2.db_csv"
#: Whose outputs are read, where somebody saved one of them.
READS = (TOOL, LINK_TOOL, SA_TOOL, SUBNET_LIST, TABLES)
#: Commands of a sweep, the best first. Only a source that records answers is asked for more than one of them.
_COMMANDS = ((TOOL,), (TOOL, "-p"), (LINK_TOOL,), (LINK_TOOL, "-l"), (SUBNET_LIST,), (TABLES,))
#: A sweep of 11,200 HCAs takes 10 to 20 s; one of a fabric full of nodes that do not answer takes minutes.
DEADLINE_SECONDS = 600.0
#: How long a second try waits for each answer (milliseconds).
LONGER_MS = 3000
#: Messages beyond this are counted, not described one by one.
MAX_MESSAGES = 200


def collect_fabric(source: Source, through: Through = ANY_PORT, *, sweep: bool = False) -> Fabric:
    """The subnet that a port of this host is in, or what a capture or a file holds of one.

    Never raises for missing evidence: ``problems`` says what was not seen, why, and what to do about it. ``sweep`` asks
    the nodes themselves, too, where the SA's records are whole. So is a source that has the answers already.
    """
    with no_cyclic_gc():
        fabric = _seen(source, through, sweep=sweep or isinstance(source, ReplaySource))
    return fabric._replace(problems=(*fabric.problems, *other_subnets(source, through, fabric)))


def _seen(source: Source, through: Through, *, sweep: bool) -> Fabric:
    reading = read_subnet(source, through)
    if reading is None:
        return _swept(source, through)
    picture = assemble_records(reading)
    told = picture.fabric
    if told.complete is True and not picture.may_be_fdr10 and not sweep:
        return told
    swept = _swept(source, through)
    if not swept.nodes:
        why = [problem for problem in swept.problems if told.complete is not True and problem.kind != NOT_RECORDED]
        return told._replace(problems=(*told.problems, *why))
    if picture.is_dangling:
        return swept
    if any(problem.kind == "port-guids" for problem in swept.problems):  # the two have other names for the hosts
        return swept if told.complete is False else told
    return merged(swept, told)


def _swept(source: Source, through: Through) -> Fabric:
    """Sweep the subnet once, or read what a capture or a file holds of a sweep.

    One that shows something is not repeated: what a second one shows would hide that the first one lost something.
    """
    first = ask(source, through, *_COMMANDS[0], deadline_seconds=DEADLINE_SECONDS, longer_ms=LONGER_MS)
    answers = [first]
    for command in _COMMANDS[1:]:
        if answers[-1].failure == NOT_RECORDED:
            answers.append(source.run(through.command(*command), deadline_seconds=DEADLINE_SECONDS))
    told = answers[-1] if answers[-1].failure != NOT_RECORDED else first
    return _fabric_of(source, told)


def _fabric_of(source: Source, answer: CommandAnswer) -> Fabric:
    label = label_of(source, answer)
    errors = diag.parse_lines(answer.err)
    try:
        said, start, assembled = _read(answer, label)
    except NotThisFormat:
        messages = (*errors, *diag.known_lines(answer.out))
        return Fabric({}, (), None, (explain_failure(source, answer, messages),), label)
    failed = answer.failure is not None or answer.exit_status not in (0, None)
    messages = (*said, *errors)
    swept_clean: bool | None = None if only_stdout(answer) else True
    if failed or any(_lost_something(message) for message in messages):
        swept_clean = False
    elif any(message.kind == diag.OTHER for message in messages):
        swept_clean = None
    fabric = assembled(swept_clean)
    problems = [explain_failure(source, answer, messages)] if failed else []
    problems += _described(fabric, start, said, label)
    problems += _described(fabric, start, errors, f"{label} (stderr)")
    fabric = fabric._replace(problems=(*problems, *fabric.problems))
    return with_doubts(fabric, start, messages[:MAX_MESSAGES]) if messages else fabric


def _read(
    answer: CommandAnswer, label: str
) -> tuple[tuple[Message, ...], Guid | None, Callable[[bool | None], Fabric]]:
    """The messages in the text, the node that the sweep started from, and what puts the rest together."""
    if answer.argv[0] == LINK_TOOL:
        table = iblinkinfo.parse(answer.out, source=label)
        return table.value.messages, None, lambda clean: assemble_links(table, source=label, swept_clean=clean)
    if answer.argv[0] == SUBNET_LIST:
        listed = subnet_list.parse(answer.out, source=label)
        return (), None, lambda clean: assemble_list(listed, source=label)
    if answer.argv[0] == TABLES:
        tables = ibdiagnet_csv.parse(answer.out, source=label, sections=SECTIONS)
        if not tables.value:
            raise NotThisFormat(f"{label}: no section of nodes")
        return (), None, lambda clean: assemble_tables(tables, source=label)
    parsed = ibnetdiscover.parse(answer.out, source=label)
    if not (parsed.value.blocks or parsed.value.rows or parsed.value.sweeps):
        raise NotThisFormat(f"{label}: messages only")
    start = None if parsed.value.from_node is None else Guid(parsed.value.from_node)
    return parsed.value.messages, start, lambda clean: assemble(parsed, source=label, swept_clean=clean)


def _lost_something(message: Message) -> bool:
    """Whether a sweep that printed this cannot have seen everything."""
    if message.attribute == EXTENDED_PORT_INFO:
        return False  # it tells FDR10 from QDR, and nothing else depends on it
    return message.kind not in (diag.SIMULATOR, diag.OTHER)


def _described(fabric: Fabric, start: Guid | None, messages: tuple[Message, ...], label: str) -> Iterator[Problem]:
    told = [message for message in messages if message.kind != diag.SIMULATOR]
    for message in told[:MAX_MESSAGES]:
        if message.kind == diag.NO_ANSWER:
            yield Problem("discovery-timeout", describe(fabric, start, message), message.line, label)
        elif message.kind == diag.MAD_STATUS:
            yield Problem("mad-status", describe(fabric, start, message), message.line, label)
        else:
            yield Problem("tool-message", message.text, message.line, label)
    if len(told) > MAX_MESSAGES:
        yield Problem("tool-message", f"{len(told) - MAX_MESSAGES} more messages of the tool", None, label)
