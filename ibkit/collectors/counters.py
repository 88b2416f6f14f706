"""Port counters of the fabric, from ibqueryerrors; of this host's ports, from perfquery. Nothing is ever cleared.

Of a file that somebody saved, ibdiagnet's ``ibdiagnet2.db_csv`` is read, too.

No command prints all counters of all ports. ibqueryerrors has a form for the data counters of every port, and one for
the error counters of the ports that have any: two sweeps are all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ibkit.collectors.counter_pages import UNKNOWN_PORT, LocalPort, Pages
from ibkit.collectors.counter_sweeps import SweepReading, doubt_of_selection, ports_of, repetitions, summary_of
from ibkit.collectors.counter_tables import SECTIONS, counters_of_tables
from ibkit.collectors.mad_tools import ANY_PORT, Through, explain_failure, label_of
from ibkit.collectors.routes import describe
from ibkit.collectors.sysfs import CLASS
from ibkit.model.counters import FabricCounters
from ibkit.model.fabric import Fabric
from ibkit.model.ids import gid_or_none, guid_or_none
from ibkit.parsers import diag_messages as diag
from ibkit.parsers import ibdiagnet_csv, ibqueryerrors, perfquery
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.bulk import no_cyclic_gc
from ibkit.parsers.diag_messages import Message
from ibkit.parsers.ibqueryerrors import DATA, ERRORS, QueryFailure
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import MISSING, NOT_RECORDED, TIMEOUT, CommandAnswer, Source
from ibkit.sources.raw import RawSource

SWEEP_TOOL, PORT_TOOL, TABLES = "ibqueryerrors", "perfquery", "ibdiagnet2.db_csv"
#: Whose output is read of a file that somebody saved.
READS = (SWEEP_TOOL, PORT_TOOL, TABLES)
#: 11,200 HCAs take half a minute; each port that does not answer costs seconds (seconds).
SWEEP_DEADLINE_SECONDS = 600.0
PORT_DEADLINE_SECONDS = 20.0
#: The link information gives each row its LID. A threshold file without a line: the site's own may hide counters.
DATA_OPTIONS = ("--counters", "--report-port")
ERROR_OPTIONS = ("--details", "--report-port", "--threshold-file", "/dev/null")
#: Do not ask the SA for service levels.
WITHOUT_SA = "--skip-sl"
#: Complaints beyond this are counted, not described one by one.
MAX_MESSAGES = 200

#: Causes that stop perfquery, too (see mad_tools).
_HOPELESS = ("no-rdma-device", "no-umad", "umad-denied", "no-infiniband", "no-port", "timeout")

#: The MAD layer's own words (rdma-core, libibmad/rpc.c), which do not say whose answer it was.
_NO_RECEPTION = re.compile(r"_do_madrpc: (?:recv failed|send failed|timed out)")
#: The macros after which a tool ends.
_GAVE_UP = ("iberror: ", "ibpanic: ")

_NO_FABRIC = Fabric({}, (), None)


@no_cyclic_gc()
def collect_counters(source: Source, through: Through = ANY_PORT) -> FabricCounters:
    """Absolute counters of all ports of the fabric; those of this host's ports where the sweep has nothing to say.

    Of a text that somebody saved, the output of both tools is read; or a file of ibdiagnet.
    """
    raw = isinstance(source, RawSource)
    if raw and (tables := _tables(source)):
        return tables
    fabric = _sweep(source, through)
    if (fabric.ports and not raw) or any(problem.kind in _HOPELESS for problem in fabric.problems):
        return fabric
    local = _query_ports(source, through)
    if not local.source and not local.problems:
        return fabric
    if not fabric.ports and not fabric.sweeps:
        why = [problem for problem in fabric.problems if problem.kind != NOT_RECORDED]
        return local._replace(problems=(*why, *local.problems))
    lids = {(port.lid, port.port) for port in fabric.ports}
    more = tuple(port for port in local.ports if (port.lid, port.port) not in lids)
    complete = False if local.complete is False else fabric.complete
    return fabric._replace(ports=fabric.ports + more, complete=complete, problems=fabric.problems + local.problems)


def _tables(source: Source) -> FabricCounters | None:
    """The file of ibdiagnet; None where it is none, or the text of several tools."""
    answer = source.run((TABLES,))
    if answer.failure:
        return None
    label = label_of(source, answer)
    try:
        return counters_of_tables(ibdiagnet_csv.parse(answer.out, source=label, sections=SECTIONS), label)
    except NotThisFormat:
        return None


# The fabric: ibqueryerrors


class _Reading(NamedTuple):
    """What one run of ibqueryerrors gave."""

    answer: CommandAnswer
    sweeps: tuple[SweepReading, ...] = ()
    problems: tuple[Problem, ...] = ()
    complete: bool = False

    @property
    def is_whole(self) -> bool:
        """The summary is there, which is the tool's end mark."""
        return bool(self.sweeps) and all(reading.sweep.nodes_checked is not None for reading in self.sweeps)


def _sweep(source: Source, through: Through) -> FabricCounters:
    readings = [_read(source, through, DATA_OPTIONS)]
    # A text that somebody saved is one answer, whatever it is that we ask for.
    if readings[0].answer.failure not in (MISSING, TIMEOUT) and not isinstance(source, RawSource):
        readings.append(_read(source, through, ERROR_OPTIONS))
    sweeps = [sweep for reading in readings for sweep in reading.sweeps]
    problems = tuple(dict.fromkeys(problem for reading in readings for problem in reading.problems))
    if not sweeps:
        return FabricCounters((), False, problems)
    ports, doubts = ports_of(sweeps)
    label = label_of(source, readings[0].answer)
    problems += (*doubts, *repetitions(sweeps))
    complete: bool | None = all(reading.complete for reading in readings)
    if len(readings) > 1 and {sweep.sweep.form for sweep in sweeps} != {DATA, ERRORS}:
        complete = False
    if complete and isinstance(source, RawSource) and (why := doubt_of_selection(sweeps)):
        complete = None
        problems += (Problem("unknown-nodes", why, sweeps[-1].sweep.line, label),)
    return FabricCounters(ports, complete, problems, label, tuple(map(summary_of, sweeps)))


def _read(source: Source, through: Through, options: Sequence[str]) -> _Reading:
    """One sweep. Where it ends without its summary, once more without asking the SA.

    So it ends, with exit status 0 and nothing on stdout, where no SA answers; and by a signal, where the SA's answer
    has a LID beyond the tool's table.
    """
    first = _run(source, through, options)
    if first.is_whole or first.answer.failure or isinstance(source, RawSource):
        return first
    second = _run(source, through, (*options, WITHOUT_SA))
    return second if second.is_whole else first


def _run(source: Source, through: Through, options: Sequence[str]) -> _Reading:
    answer = source.run(through.command(SWEEP_TOOL, *options), deadline_seconds=SWEEP_DEADLINE_SECONDS)
    label = label_of(source, answer)
    errors = diag.parse_lines(answer.err)
    try:
        parsed = ibqueryerrors.parse(answer.out, source=label)
    except NotThisFormat:
        return _Reading(answer, problems=(explain_failure(source, answer, errors),))
    if not parsed.value.sweeps:
        messages = (*errors, *parsed.value.messages, *diag.known_lines(answer.out))
        return _Reading(answer, problems=(explain_failure(source, answer, messages),))
    failures = _query_failures((*errors, *parsed.value.messages))
    lost = _lost_something(errors, failures) or _lost_something(parsed.value.messages, failures)
    sweeps = tuple(SweepReading(sweep, failures, lost, label) for sweep in parsed.value.sweeps)
    # Exit status 1 says that there are errors, which is why the tool was asked.
    failed = answer.failure is not None or (answer.exit_status or 0) not in (0, 1)
    problems = [explain_failure(source, answer, errors)] if failed else []
    problems += _unanswered(failures, label)
    problems += _described(parsed.value.messages, failures, label)
    problems += _described(errors, failures, f"{label} (stderr)")
    complete = parsed.complete is True and not lost and not failed
    return _Reading(answer, sweeps, (*problems, *parsed.problems), complete)


def _lost_something(messages: Sequence[Message], failures: Sequence[QueryFailure]) -> bool:
    """Whether a message tells of a loss that is none of ``failures``: a node that discovery did not reach, an answer
    that was waited for in vain, a tool that gave up.

    A query without an answer makes up to three lines, of which the last one says whose it was.
    """
    lids = {failure.lid for failure in failures}
    for message, following in zip(messages, (*messages[1:], None), strict=False):
        if message.kind in (diag.NO_ANSWER, diag.FAILED):
            if message.route is not None or message.lid not in lids:
                return True
        elif message.text.startswith(_GAVE_UP) or (
            _NO_RECEPTION.search(message.text)
            and not (following and (following.kind == diag.NO_ANSWER or ibqueryerrors.query_failure(following)))
        ):
            return True
    return False


def _query_failures(messages: Iterable[Message]) -> tuple[QueryFailure, ...]:
    found = map(ibqueryerrors.query_failure, messages)
    return tuple(failure for failure in found if failure)


def _unanswered(failures: Sequence[QueryFailure], label: str) -> Iterator[Problem]:
    """One problem for each node that left queries without an answer."""
    ports: dict[tuple[str, int | None], list[int | None]] = {}
    for failure in failures:
        ports.setdefault((failure.node_name, failure.lid), []).append(failure.port)
    for (name, lid), numbers in list(ports.items())[:MAX_MESSAGES]:
        unique = sorted({number for number in numbers if number is not None})
        which = f"ports {', '.join(map(str, unique[:40]))}" if unique else "all of its ports"
        text = f"{name} (LID {lid}) did not answer {len(numbers)} queries for counters, of {which}"
        yield Problem("no-answer", text, None, label)


def _described(messages: Sequence[Message], failures: Sequence[QueryFailure], label: str) -> Iterator[Problem]:
    """The other complaints. A query without an answer makes two lines, of which the second one says more."""
    lids = {failure.lid for failure in failures}
    told = 0
    for message in messages:
        doubled = message.kind == diag.NO_ANSWER and message.lid in lids
        if message.kind == diag.SIMULATOR or doubled or ibqueryerrors.query_failure(message):
            continue
        told += 1
        if told > MAX_MESSAGES:
            continue
        if message.kind == diag.NO_ANSWER and message.route is not None:
            yield Problem("discovery-timeout", describe(_NO_FABRIC, None, message), message.line, label)
        else:
            yield Problem("tool-message", message.text, message.line, label)
    if told > MAX_MESSAGES:
        yield Problem("tool-message", f"{told - MAX_MESSAGES} more messages of the tool", None, label)


# Single ports: perfquery


def _query_ports(source: Source, through: Through) -> FabricCounters:
    """The plain and the extended page of each local port; ``complete`` is None, for it is not the fabric."""
    pages = Pages()
    problems: list[Problem] = []
    labels = []
    failed = False
    for options, whose in _local_ports(source, through):
        for extended in ((),) if isinstance(source, RawSource) else ((), ("-x",)):
            answer = source.run((PORT_TOOL, *extended, *options), deadline_seconds=PORT_DEADLINE_SECONDS)
            label = label_of(source, answer)
            errors = diag.parse_lines(answer.err)
            try:
                parsed = perfquery.parse(answer.out, source=label)
            except NotThisFormat:
                if answer.failure != NOT_RECORDED:
                    problems.append(explain_failure(source, answer, errors))
                continue
            pages.add(parsed.value, label, whose)
            problems += parsed.problems
            failed |= parsed.complete is False
            labels.append(label)
    ports = pages.ports()
    return FabricCounters(ports, False if failed else None, (*problems, *pages.problems), labels[0] if labels else None)


def _local_ports(source: Source, through: Through) -> list[tuple[tuple[str, ...], LocalPort]]:
    """Options of perfquery for each InfiniBand port with a link, and whose it is; the tool's own choice elsewhere."""
    ports: list[tuple[tuple[str, ...], LocalPort]] = []
    for device in source.list(CLASS).names:
        folder = f"{CLASS}/{device}"
        if through.device not in (None, device):
            continue
        node_guid = guid_or_none(source.read(f"{folder}/node_guid").text)
        for number in source.list(f"{folder}/ports").names:
            port = f"{folder}/ports/{number}"
            layer, state = (source.read(f"{port}/{name}").text or "" for name in ("link_layer", "state"))
            asked = through.port is None or number == str(through.port)
            if asked and layer.strip() == "InfiniBand" and "ACTIVE" in state:
                gid = gid_or_none(source.read(f"{port}/gids/0").text)
                name = (source.read(f"{folder}/node_desc").text or "").strip() or None
                ports.append((("-C", device, "-P", number), LocalPort(node_guid, gid.guid if gid else None, name)))
    return ports or [(through.command("")[1:], UNKNOWN_PORT)]
