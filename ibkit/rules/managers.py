"""Rules about the subnet managers."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.model.findings import CRITICAL, INFO, WARNING, Fact, Finding, Place, Undecided
from ibkit.model.subnet_manager import MASTER, NO_SM, SubnetManager
from ibkit.rules.evidence import EARLIER, MANAGERS, Evidence
from ibkit.rules.rule import Limit, Limits, rule
from ibkit.rules.tallies import spell

_SOURCE = "InfiniBand Architecture Specification volume 1, 14.4 (subnet manager); OpenSM's man page"
_ALL = (
    "whether this subnet has other subnet managers is not known",
    "`saquery SMIR` lists them where the subnet administrator answers, and sminfo LID asks one of them",
)


@rule("R44", "no-subnet-manager", CRITICAL, needs=(MANAGERS,), source=f"{_SOURCE}; facebookresearch/gcm #143")
def no_subnet_manager(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Nobody answers as the master subnet manager.

    Threshold: none.

    Why: what is up stays up, with its LIDs and routes; but no port that goes down comes back, nothing is routed around
    a fault, and no path can be asked for.

    Next: start one (opensm, or that of a managed switch or of UFM), and look into its log why it ended.

    Else: it was just restarted, or the port that asked was told of a manager that has since moved.
    """
    yield from _problems(evidence, NO_SM, "no-master")


@rule("R44", "several-masters", CRITICAL, needs=(MANAGERS,), source=_SOURCE)
def several_masters(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """More than one subnet manager of the subnet acts as the master: says so, or does not answer though ports name it
    as theirs.

    Threshold: none.

    Why: each assigns LIDs and routes of its own, and undoes what the other did.

    Next: end all but one, then let that one sweep (`kill -HUP` of opensm). Look why they do not see each other: other
    subnet prefixes, keys (SM_Key) or a link that came up between two fabrics.

    Else: a handover that is going on: ask again after half a minute.
    """
    named = {one.lid: one.ports for one in evidence.managers.named or ()}
    masters = [
        manager
        for manager in evidence.managers.managers
        if manager.state == MASTER or (manager.state is None and manager.lid in named)
    ]
    if len(masters) > 1:
        told = ", ".join(
            f"{master.guid} (LID {master.lid}, priority {master.priority}"
            f"{f', set up {named[master.lid]} ports' if master.lid in named else ''})"
            for master in masters
        )
        what = f"{len(masters)} subnet managers act as the master: {told}"
        yield Finding(what, tuple(map(_place, masters)), (Fact(what, "sminfo"),))


@rule("R44", "wrong-master", WARNING, needs=(MANAGERS,), source=f"{_SOURCE}; dell/omnia #422")
def wrong_master(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The master is not the subnet manager of the highest priority; of equal ones the lower GUID is to be master.

    Threshold: none. Equal priorities are information, for the default is 0 and the GUID decides then.

    Why: the manager that was meant to rule does not, and the next restart of one of them changes it.

    Next: look why the other one did not take over: it may not handle handovers, or use another SM_Key.

    Else: a manager that joined a moment ago, or one that is told not to take over (its `ignore_other_sm`).
    """
    managers = evidence.managers.managers
    masters = [manager for manager in managers if manager.state == MASTER]
    if len(masters) != 1:
        return
    master = masters[0]
    if evidence.managers.complete is None and len(managers) == 1:
        yield Undecided(*_ALL)
    for other in managers:
        if other.priority is None or master.priority is None or other is master or other.state != "standby":
            continue
        if other.priority > master.priority:
            what = f"the master has priority {master.priority}, and the standby {other.guid} has {other.priority}"
            yield Finding(what, (_place(master), _place(other)), (Fact(what, "sminfo"),))
        elif other.priority == master.priority:
            what = f"master and standby {other.guid} have the same priority, {master.priority}: their GUIDs decide"
            yield Finding(
                what, (_place(master), _place(other)), (Fact(what, "sminfo"),), severity=INFO,
                why="nobody has chosen which of them is to rule; the next one that joins may be another one",
                fix="give the one that is meant to rule a higher priority (opensm --priority, or sm_priority)",
                otherwise="it does not matter which of them rules",
            )  # fmt: skip


@rule("R44", "silent-manager", WARNING, needs=(MANAGERS,), source=_SOURCE)
def silent_manager(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A subnet manager that is listed, or whose port claims to run one, does not answer.

    Threshold: none.

    Why: who counts on that standby has none.

    Next: look at the host that it should run on; start it again, or let its port stop claiming it (opensm that was
    killed leaves the mark).

    Else: it answers only to those who know its SM_Key.
    """
    yield from _problems(evidence, "silent-manager")


@rule("R44", "other-sm-lid", WARNING, needs=(MANAGERS,), source=_SOURCE)
def other_sm_lid(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Ports of the subnet name another LID than the master's as that of their subnet manager.

    Threshold: none.

    Why: what these ports ask for (paths, joining multicast groups) goes to somebody who is not in charge.

    Next: let the master sweep again (`kill -HUP` of opensm); where that does not help, reset the ports.

    Else: a handover that is going on.
    """
    yield from _problems(evidence, "other-sm-lid")


@rule("R44", "impossible-manager", WARNING, needs=(MANAGERS,), source=_SOURCE)
def impossible_manager(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """What a subnet manager says of itself cannot be: a GUID of 0, a LID or a priority out of range, or two values.

    Threshold: priorities have 4 bits; unicast LIDs end at 0xBFFF.

    Why: others decide by these values who is to be the master.

    Next: restart that manager; update it.

    Else: an answer that was damaged: ask again.
    """
    yield from _problems(evidence, "bad-lid", "bad-guid", "bad-priority", "contradiction")


@rule(
    "R44", "stalled-manager", CRITICAL, needs=(MANAGERS, EARLIER), limits=(Limit("seconds", 60, "seconds"),),
    source=f"{_SOURCE} (SMInfo ActCount); facebookresearch/gcm #143",
)  # fmt: skip
def stalled_manager(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The master subnet manager has done nothing since the earlier capture: its activity count stands still.

    Threshold: a minute, in which OpenSM sweeps six times where nobody has told it otherwise.

    Why: it answers, and does not manage: ports that come up stay unconfigured, faults are not routed around.

    Next: look into its log; restart it.

    Else: sweeps are switched off (sweep_interval 0) and nothing has happened in the subnet.
    """
    before = evidence.collected.earlier_managers
    activities = {manager.guid: manager.activity for manager in before.managers} if before else {}
    seconds = evidence.collected.seconds or 0.0
    for manager in evidence.managers.managers:
        count = activities.get(manager.guid)
        if manager.state == MASTER and count is not None and count == manager.activity:
            if seconds >= limits["seconds"]:
                what = f"the activity count of the master was {count} before, and is {count} {spell(seconds)} later"
                yield Finding(what, (_place(manager),), (Fact(what, "sminfo"),), since=evidence.collected.since)
            else:
                yield Undecided("the captures are too close to tell whether the master is alive",
                                f"let {spell(limits['seconds'])} pass between them")  # fmt: skip


def _problems(evidence: Evidence, *kinds: str) -> Iterator[Finding]:
    """What the collector found."""
    for problem in evidence.managers.problems:
        if problem.kind in kinds:
            yield Finding(problem.text, (), (Fact(problem.text, problem.source, problem.line),))


def _place(manager: SubnetManager) -> Place:
    where = f"subnet manager at LID {manager.lid}" if manager.lid else "subnet manager"
    return Place(guid=manager.guid, name=f"{manager.name}, {where}" if manager.name else where)
