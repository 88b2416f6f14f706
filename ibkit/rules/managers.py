"""Rules about the subnet managers."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.model.findings import CRITICAL, INFO, WARNING, Fact, Finding, Place, Undecided
from ibkit.model.subnet_manager import MASTER, NO_SM, SubnetManager
from ibkit.rules.evidence import MANAGERS, Evidence
from ibkit.rules.rule import Limits, rule

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
    for problem in evidence.managers.problems if evidence.managers else ():
        if problem.kind in (NO_SM, "no-master"):
            yield Finding(problem.text, (), (Fact(problem.text, problem.source, problem.line),))


@rule("R44", "several-masters", CRITICAL, needs=(MANAGERS,), source=_SOURCE)
def several_masters(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """More than one subnet manager of the subnet says that it is the master.

    Threshold: none.

    Why: each assigns LIDs and routes of its own, and undoes what the other did.

    Next: end all but one, then let that one sweep (`kill -HUP` of opensm). Look why they do not see each other: other
    subnet prefixes, keys (SM_Key) or a link that came up between two fabrics.

    Else: a handover that is going on: ask again after half a minute.
    """
    masters = [manager for manager in _managers(evidence) if manager.state == MASTER]
    if len(masters) > 1:
        told = ", ".join(f"{master.guid} (LID {master.lid}, priority {master.priority})" for master in masters)
        what = f"{len(masters)} subnet managers say that they are the master: {told}"
        yield Finding(what, tuple(map(_place, masters)), (Fact(what, "sminfo"),))


@rule("R44", "wrong-master", WARNING, needs=(MANAGERS,), source=f"{_SOURCE}; dell/omnia #422")
def wrong_master(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The master is not the subnet manager of the highest priority; of equal ones the lower GUID is to be master.

    Threshold: none. Equal priorities are information, for the default is 0 and the GUID decides then.

    Why: the manager that was meant to rule does not, and the next restart of one of them changes it.

    Next: look why the other one did not take over: it may not handle handovers, or use another SM_Key.

    Else: a manager that joined a moment ago, or one that is told not to take over (its `ignore_other_sm`).
    """
    managers = _managers(evidence)
    masters = [manager for manager in managers if manager.state == MASTER]
    if len(masters) != 1:
        return
    master = masters[0]
    if len(managers) == 1:
        yield Undecided(*_ALL)
        return
    for other in managers:
        if other.priority is None or master.priority is None or other is master or other.state != "standby":
            continue
        if other.priority > master.priority:
            what = f"the master has priority {master.priority}, and the standby {other.guid} has {other.priority}"
            yield Finding(what, (_place(master), _place(other)), (Fact(what, "sminfo"),))
        elif other.priority == master.priority:
            what = f"master and standby {other.guid} have the same priority, {master.priority}: their GUIDs decide"
            yield Finding(what, (_place(master), _place(other)), (Fact(what, "sminfo"),), severity=INFO)


def _managers(evidence: Evidence) -> tuple[SubnetManager, ...]:
    return evidence.managers.managers if evidence.managers else ()


def _place(manager: SubnetManager) -> Place:
    return Place(guid=manager.guid, name=f"subnet manager at LID {manager.lid}" if manager.lid else "subnet manager")
