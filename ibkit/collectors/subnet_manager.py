"""The subnet managers: ``sminfo`` asks one, the SA's SMInfoRecords list all, PortInfo says whom each port obeys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ibkit.collectors.cabling import Findings
from ibkit.collectors.lids import MAX_LID
from ibkit.collectors.mad_tools import ANY_PORT, Through, ask, explain_failure, label_of, only_stdout
from ibkit.collectors.sa import MANAGERS, SaAnswer, query, read_subnet
from ibkit.collectors.sa import TOOL as SA_TOOL
from ibkit.collectors.sa_fabric import assemble_records
from ibkit.model.fabric import lid_range
from ibkit.model.ids import Guid
from ibkit.model.subnet_manager import MASTER, NO_SM, NamedLid, SubnetManager, SubnetManagers
from ibkit.parsers import diag_messages as diag
from ibkit.parsers import sminfo
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.diag_messages import Message
from ibkit.parsers.records import NamedTuple
from ibkit.parsers.sa_records import SaPort
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, Source

TOOL = "sminfo"
#: Whose outputs are read, where somebody saved one of them.
READS = (TOOL, SA_TOOL)
#: It asks one node, four times at most, a second each (seconds, and milliseconds of a second try).
DEADLINE_SECONDS = 60.0
LONGER_MS = 3000
#: Of more managers than these, the others are not asked themselves.
MAX_ASKED = 16

#: SMInfo has four bits for it (InfiniBand Architecture Specification, 14.2.5.13 SMInfo).
MAX_PRIORITY = 15

#: By the number of the state (InfiniBand Architecture Specification, 14.2.5.13 SMInfo).
_STATES = ("not-active", "discovering", "standby", MASTER)
#: Why nobody else can be asked, either.
_HOPELESS = frozenset(
    {"tool-missing", "no-rdma-device", "no-umad", "umad-denied", "no-port", "no-infiniband", "timeout"}
)


class _Asked(NamedTuple):
    """What one run of sminfo gave. ``failure`` is the kind of the problem that it had no answer."""

    managers: tuple[SubnetManager, ...]
    problems: tuple[Problem, ...]
    complete: bool | None
    failure: str | None
    label: str


class _Subnet(NamedTuple):
    """Names of nodes by the GUIDs of their ports, and the ports that have a LID: a switch's port 0, others' all."""

    names: dict[int, str]
    ports: tuple[SaPort, ...]


def collect_subnet_managers(source: Source, through: Through = ANY_PORT) -> SubnetManagers:
    """All managers, as far as the SA tells of others than the one whose LID the port holds.

    Two failures differ: nobody answers as the manager (a finding of kind ``no-sm``), and nothing could be asked. Each
    manager is asked itself, and twice, for the SA's record of a standby is what its master last heard of it.
    """
    first = _read(source, ask(source, through, TOOL, deadline_seconds=DEADLINE_SECONDS, longer_ms=LONGER_MS))
    if first.failure in _HOPELESS:
        return SubnetManagers((), None, first.problems)
    listed = query(source, through, MANAGERS)
    if not listed.records.managers:
        return SubnetManagers(first.managers, first.complete, (*first.problems, *_of_masters(first, first.managers)))
    subnet = _subnet(source, through)
    running = [port.info.lid for port in subnet.ports if port.info.is_sm]
    lids = dict.fromkeys(lid for lid in (*(record.lid for record in listed.records.managers), *running) if lid)
    asked = {}
    for lid in list(lids)[:MAX_ASKED]:
        # The second question has other words, so that a capture holds both answers.
        commands = through.command(TOOL, str(lid)), through.command(TOOL, "-L", str(lid))
        asked[lid] = [_read(source, source.run(words, deadline_seconds=DEADLINE_SECONDS)) for words in commands]
    return _Draft(first, listed, label_of(source, listed.answer)).result(subnet, asked)


def _subnet(source: Source, through: Through) -> _Subnet:
    """Nothing where the SA's records are not all of them: a part of the ports would pass for all."""
    reading = read_subnet(source, through)
    if reading is None or assemble_records(reading).is_dangling:
        return _Subnet({}, ())
    names = {node.port_guid: node.name for node in reading.records.nodes}
    return _Subnet(names, tuple(port for port in reading.records.ports if port.info.lid))


class _Draft:
    """What the SA lists, and what each manager says of itself."""

    def __init__(self, first: _Asked, listed: SaAnswer, label: str) -> None:
        self._first = first
        self._listed = listed
        self._label = label
        self._problems: list[Problem] = []
        self._counts: dict[Guid | None, list[int]] = {}
        self._managers = {manager.guid: manager for manager in first.managers}
        for manager in first.managers:
            self._count(manager)

    def _count(self, manager: SubnetManager) -> None:
        if manager.activity is not None:
            self._counts.setdefault(manager.guid, []).append(manager.activity)

    def result(self, subnet: _Subnet, asked: dict[int, list[_Asked]]) -> SubnetManagers:
        """All managers in order of GUID, and what is not as it should be."""
        findings = Findings(self._label)
        silent = {lid for lid, answers in asked.items() if _is_silent(answers)}
        listed = {}
        for record in self._listed.records.managers:
            manager = _manager(
                record.line, record.lid, record.guid, record.activity, record.priority, record.state, findings
            )
            if record.lid in silent:
                manager = manager._replace(state=None, activity=None)
            listed[record.lid] = manager
            self._managers.setdefault(manager.guid, manager)
        for lid, answers in asked.items():
            for answer in answers:
                for manager in answer.managers:
                    self._managers[manager.guid] = manager
                    self._count(manager)
            if lid in silent:
                known = listed.get(lid)
                who = (
                    f"the manager {known.guid}, which the SA lists"
                    if known
                    else "the manager that its port claims to have"
                )
                text = f"{who}, does not answer at LID {lid}: it ended, hangs, or cannot be reached"
                self._problems.append(Problem("silent-manager", text, None, answers[0].label))
        managers = tuple(
            manager._replace(activity_moving=self._is_moving(guid), name=subnet.names.get(guid or 0))
            for guid, manager in sorted(self._managers.items(), key=lambda item: item[0] or 0)
        )
        named = Counter(port.info.sm_lid for port in subnet.ports if port.info.sm_lid)
        first_problems = [problem for problem in self._first.problems if problem.kind != NOT_RECORDED]
        problems = (
            *first_problems, *self._listed.problems, *findings.problems(), *self._problems,
            *_of_masters(self._first, managers), *_strays(managers, named, subnet, self._label),
        )  # fmt: skip
        return SubnetManagers(
            managers,
            self._complete(),
            problems,
            tuple(NamedLid(lid, count) for lid, count in named.most_common()) if subnet.ports else None,
        )

    def _is_moving(self, guid: Guid | None) -> bool | None:
        counts = self._counts.get(guid, [])
        return len(set(counts)) > 1 if len(counts) > 1 else None

    def _complete(self) -> bool | None:
        if False in (self._first.complete, self._listed.complete):
            return False
        return None if only_stdout(self._listed.answer) else True


def _is_silent(answers: list[_Asked]) -> bool:
    """It was asked, and had no answer either time."""
    return all(not answer.managers and answer.failure != NOT_RECORDED for answer in answers)


def _of_masters(first: _Asked, managers: Iterable[SubnetManager]) -> Iterator[Problem]:
    """That there is none or more than one. ``first`` is what the port that asked was told."""
    managers = tuple(managers)
    masters = [manager for manager in managers if manager.state == MASTER]
    told = first.managers[0] if first.managers else None
    if managers and not masters and all(manager.state for manager in managers):
        text = f"of {len(managers)} managers none is master"
        if told:
            text = f"the manager that the port was told of, {told.guid}, is {told.state}: nobody is master there"
        yield Problem("no-master", text, None, first.label)
    if len(masters) > 1:
        text = f"{len(masters)} masters: " + ", ".join(str(master.guid) for master in masters)
        yield Problem("several-masters", text, None, first.label)


def _strays(managers: Iterable[SubnetManager], named: Counter[int], subnet: _Subnet, label: str) -> Iterator[Problem]:
    """Ports that obey somebody else than the one master."""
    masters = [manager for manager in managers if manager.state == MASTER]
    if len(masters) != 1 or masters[0].lid is None:
        return
    lmcs = {port.info.lid: port.info.lmc for port in subnet.ports}
    own = lid_range(masters[0].lid, lmcs.get(masters[0].lid))
    others = {lid: count for lid, count in named.items() if lid not in own}
    if others:
        first = next(port for port in subnet.ports if port.info.sm_lid in others)
        told = ", ".join(f"{count} ports name LID {lid}" for lid, count in others.items())
        text = f"{told} as their manager's, the first at LID {first.lid}; the master is at LID {masters[0].lid}"
        yield Problem("other-sm-lid", text, None, label)


def _read(source: Source, answer: CommandAnswer) -> _Asked:
    """One run of sminfo, or a text that somebody saved of several."""
    label = label_of(source, answer)
    errors = diag.parse_lines(answer.err)
    try:
        parsed = sminfo.parse(answer.out, source=label)
    except NotThisFormat:
        problem = _no_answer(source, answer, errors)
        return _Asked((), (problem,), None, problem.kind, label)
    messages = (*errors, *parsed.value.messages)
    findings = Findings(label)
    managers: dict[Guid | None, SubnetManager] = {}
    for info in parsed.value.answers:
        told = _manager(info.line, info.lid, info.guid, info.activity, info.priority, info.state, findings)
        known = managers.get(told.guid)
        managers[told.guid] = told if known is None else _agreed(known, told, info.line, findings)
    problems = [*parsed.problems, *findings.problems()]
    failure = None
    if not managers and parsed.complete is not False:
        problems.insert(0, _no_answer(source, answer, messages))
        failure = problems[0].kind
    ordered = tuple(managers[guid] for guid in sorted(managers, key=lambda guid: guid or 0))
    return _Asked(ordered, tuple(problems), parsed.complete, failure, label)


def _manager(
    line: int, lid: int, guid: int, activity: int, priority: int, state: int | None, findings: Findings
) -> SubnetManager:
    """What one answer says; a value that no manager can have is told, and is None."""
    if lid > MAX_LID:
        findings.add("bad-lid", f"the manager's LID is {lid}, which no port can have", line)
    if not guid:
        findings.add("bad-guid", "the manager's GUID is 0", line)
    if priority > MAX_PRIORITY:
        text = f"the manager's priority is {priority}, and {MAX_PRIORITY} is the highest there is"
        findings.add("bad-priority", text, line)
    word = None
    if state is not None:
        word = _STATES[state] if state < len(_STATES) else str(state)
    return SubnetManager(
        Guid(guid) if guid else None, lid if 0 < lid <= MAX_LID else None, word,
        priority if priority <= MAX_PRIORITY else None, activity,
    )  # fmt: skip


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
