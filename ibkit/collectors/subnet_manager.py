"""The subnet manager that this host's port was told of, from ``sminfo``."""

from __future__ import annotations

from ibkit.collectors.cabling import Findings
from ibkit.collectors.lids import MAX_LID
from ibkit.collectors.mad_tools import explain_failure, label_of
from ibkit.model.ids import Guid
from ibkit.model.subnet_manager import MASTER, NO_SM, SubnetManager, SubnetManagers
from ibkit.parsers import diag_messages as diag
from ibkit.parsers import sminfo
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.diag_messages import Message
from ibkit.sources.base import CommandAnswer, Source

TOOL = "sminfo"
#: It asks one node, four times at most, a second each (seconds).
DEADLINE_SECONDS = 60.0

#: SMInfo has four bits for it (InfiniBand Architecture Specification, 14.2.5.13 SMInfo).
MAX_PRIORITY = 15

#: By the number of the state (InfiniBand Architecture Specification, 14.2.5.13 SMInfo).
_STATES = ("not-active", "discovering", "standby", MASTER)


def collect_subnet_managers(source: Source) -> SubnetManagers:
    """Ask the manager whose LID the port holds. ``complete`` is None: nobody else is asked for.

    Two failures differ: nobody answers as the manager (a finding of kind ``no-sm``), and nothing could be asked.
    """
    answer = source.run([TOOL], deadline_seconds=DEADLINE_SECONDS)
    label = label_of(source, answer)
    errors = diag.parse_lines(answer.err)
    try:
        parsed = sminfo.parse(answer.out, source=label)
    except NotThisFormat:
        return SubnetManagers((), None, (_no_answer(source, answer, errors),))
    messages = (*errors, *parsed.value.messages)
    findings = Findings(label)
    managers: dict[int, SubnetManager] = {}
    for info in parsed.value.answers:
        told = _manager(info, findings)
        known = managers.get(info.guid)
        managers[info.guid] = told if known is None else _agreed(known, told, info.line, findings)
    problems = [*parsed.problems, *findings.problems()]
    if not managers and parsed.complete is not False:
        problems.insert(0, _no_answer(source, answer, messages))
    masters = [manager for manager in managers.values() if manager.state == MASTER]
    if managers and not masters and all(manager.state for manager in managers.values()):
        first = next(iter(managers.values()))
        text = f"the manager that the port was told of, {first.guid}, is {first.state}: nobody is master there"
        problems.append(Problem("no-master", text, None, label))
    if len(masters) > 1:
        text = f"{len(masters)} masters: " + ", ".join(str(master.guid) for master in masters)
        problems.append(Problem("several-masters", text, None, label))
    return SubnetManagers(tuple(managers[guid] for guid in sorted(managers)), parsed.complete, tuple(problems))


def _manager(info: sminfo.SmInfo, findings: Findings) -> SubnetManager:
    """What one answer says; a value that no manager can have is told, and is None."""
    lid, guid = info.lid or None, Guid(info.guid) or None
    priority: int | None = info.priority
    if lid is not None and lid > MAX_LID:
        findings.add("bad-lid", f"the manager's LID is {lid}, which no port can have", info.line)
        lid = None
    if guid is None:
        findings.add("bad-guid", "the manager's GUID is 0", info.line)
    state = None
    if info.state is not None:
        state = _STATES[info.state] if info.state < len(_STATES) else str(info.state)
    if info.priority > MAX_PRIORITY:
        text = f"the manager's priority is {info.priority}, and {MAX_PRIORITY} is the highest there is"
        findings.add("bad-priority", text, info.line)
        priority = None
    return SubnetManager(guid, lid, state, priority, info.activity)


def _agreed(first: SubnetManager, second: SubnetManager, line: int, findings: Findings) -> SubnetManager:
    """What two answers of one manager agree on. The activity is a counter: it is the later one's."""
    for field in ("lid", "state", "priority"):
        one, other = getattr(first, field), getattr(second, field)
        if None not in (one, other) and one != other:
            text = f"the manager {first.guid} answers with two values of {field}: {one} and {other}"
            findings.add("contradiction", text, line)
            second = second._replace(**{field: None})
        elif other is None:
            second = second._replace(**{field: one})
    return second


def _no_answer(source: Source, answer: CommandAnswer, messages: tuple[Message, ...]) -> Problem:
    """Nobody is there, or nobody could be asked."""
    label = label_of(source, answer)
    silent = next((message for message in messages if message.kind in (diag.NO_ANSWER, diag.MAD_STATUS)), None)
    queried = any(message.kind == diag.FAILED and message.reason == "query" for message in messages)
    if answer.failure is None and (silent or queried):
        if silent and silent.lid:
            where = f"the port was told of a subnet manager at LID {silent.lid}, and nobody answers as one there"
        elif silent and silent.route == ():
            where = "no subnet manager has set up this port (its SM LID is 0)"
        else:
            where = "nobody answers as the subnet manager"
        return Problem(
            NO_SM,
            f"{where}: start one (opensm, or that of the switch), or see `ibkit status` whether the port is up",
            None,
            label,
        )
    return explain_failure(source, answer, messages)
