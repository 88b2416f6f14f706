"""The topology of the subnet, from ``ibnetdiscover``, or from a saved output of another tool that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ibkit.collectors.ibdiagnet_tables import SECTIONS, assemble_tables
from ibkit.collectors.link_table import assemble_links
from ibkit.collectors.mad_tools import explain_failure, label_of, only_stdout
from ibkit.collectors.routes import EXTENDED_PORT_INFO, describe
from ibkit.collectors.subnet_list import assemble_list
from ibkit.collectors.topology import assemble
from ibkit.model.fabric import Fabric
from ibkit.model.ids import Guid
from ibkit.parsers import diag_messages as diag
from ibkit.parsers import ibdiagnet_csv, iblinkinfo, ibnetdiscover, subnet_list
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.bulk import no_cyclic_gc
from ibkit.parsers.diag_messages import Message
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, Source

TOOL, LINK_TOOL = "ibnetdiscover", "iblinkinfo"
SUBNET_LIST, TABLES = "opensm-subnet.lst", "ibdiagnet2.db_csv"
#: Whose outputs are read, where somebody saved one of them.
READS = (TOOL, LINK_TOOL, SUBNET_LIST, TABLES)
#: Commands whose answer shows the topology, the best first. Only a source that records answers is asked for more than
#: one of them.
_COMMANDS = ((TOOL,), (TOOL, "-p"), (LINK_TOOL,), (LINK_TOOL, "-l"), (SUBNET_LIST,), (TABLES,))
#: A sweep of 11,200 HCAs takes 10 to 20 s; one of a fabric full of nodes that do not answer takes minutes.
DEADLINE_SECONDS = 600.0
#: Messages beyond this are counted, not described one by one.
MAX_MESSAGES = 200


def collect_fabric(source: Source) -> Fabric:
    """Sweep the subnet once, or read what a capture or a file holds of a sweep.

    Never raises for missing evidence: ``problems`` says what was not seen, why, and what to do about it. It is not
    asked twice: what the second sweep shows would hide that the first one lost something.
    """
    answers = [source.run(_COMMANDS[0], deadline_seconds=DEADLINE_SECONDS)]
    for command in _COMMANDS[1:]:
        if answers[-1].failure == NOT_RECORDED:
            answers.append(source.run(command, deadline_seconds=DEADLINE_SECONDS))
    told = answers[-1] if answers[-1].failure != NOT_RECORDED else answers[0]
    with no_cyclic_gc():
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
    return fabric._replace(problems=(*problems, *fabric.problems))


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
