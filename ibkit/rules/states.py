"""Rules about the logical and physical states of the fabric's ports, as far as the evidence tells them."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.model.fabric import FabricPort
from ibkit.model.findings import CRITICAL, WARNING, Fact, Finding, Undecided
from ibkit.rules.evidence import FABRIC, Evidence
from ibkit.rules.rule import Limits, rule

_NO_STATES = Undecided(
    "the states of the fabric's ports are not known",
    "`ibnetdiscover` prints none: give check the output of `iblinkinfo`, or record a capture where the SA answers",
)

_SPECIFICATION = "InfiniBand Architecture Specification volume 1, 14.2.5.6 (PortInfo: PortState, PortPhysicalState)"


@rule(
    "R01", "port-initializing", WARNING, needs=(FABRIC,),
    source=f"{_SPECIFICATION}; facebookresearch/gcm check_iblink; infiniband-diags ibcheckport",
)  # fmt: skip
def port_initializing(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The link is up, and the port has stayed in the state Initialize: no subnet manager has configured it.

    Threshold: none. A port passes through this state in seconds; where it was in it in an earlier capture, too, that is
    critical.

    Why: nothing but management packets passes such a port.

    Next: see whether a subnet manager runs (`ibkit sm`) and whether it reaches the port; its log names ports that it
    could not set up.

    Else: the cable was plugged in a moment ago, and the subnet manager has not come by yet.
    """
    yield from _in_state(evidence, "ini", "is in the state Initialize")


@rule("R02", "port-armed", WARNING, needs=(FABRIC,), source=f"{_SPECIFICATION}; infiniband-diags ibcheckport")
def port_armed(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The port is Armed and not Active: the subnet manager began to set it up and did not end.

    Threshold: none.

    Why: a port that is Armed sends no data; it becomes Active by itself when a packet arrives, which a dead peer never
    sends.

    Next: look into the subnet manager's log whether it died or was stopped meanwhile, then let it sweep again
    (`kill -HUP` of opensm).

    Else: nothing has been sent to it since the subnet was brought up.
    """
    yield from _in_state(evidence, "arm", "is in the state Armed")


@rule("R03", "port-training", WARNING, needs=(FABRIC,), source=f"{_SPECIFICATION}; leptonai/gpud #482")
def port_training(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """There is a neighbour, and the link does not come up, or it recovers from errors right now.

    Threshold: none. A port that polls has no neighbour or no cable and is no finding, nor is one that somebody has
    disabled.

    Why: the link carries nothing, or will not for long.

    Next: look at cable and transceivers (`mlxlink -d DEVICE -m`), reseat them, try another cable, compare the firmware
    of both ends.

    Else: the port was looked at in the second in which it trained.
    """
    for end, port in evidence.ports.items():
        if port.physical_state in ("PortConfigurationTraining", "LinkErrorRecovery", "Training"):
            if port.physical_state == "LinkErrorRecovery":
                what = "the link is in error recovery"
            else:
                what = f"the link does not come up: the port's physical state is {port.physical_state}"
            yield Finding(what, (evidence.place(end),), (_fact(evidence, port),))
    if not _states_known(evidence):
        yield _NO_STATES


def state_of(port: FabricPort) -> str | None:
    """``dow``, ``ini``, ``arm`` or ``act``: the tools write the words in several ways (Init, Initialize, INI)."""
    return port.state[:3].lower() if port.state else None


def _in_state(evidence: Evidence, state: str, what: str) -> Iterator[Finding | Undecided]:
    """One finding for each link with such an end."""
    seen = set()
    for end, port in evidence.ports.items():
        if state_of(port) != state or end.port == 0:
            continue
        peer = evidence.peer_of(end)
        if peer in seen:
            continue
        seen.add(end)
        ends = [end, peer] if peer else [end]
        facts = tuple(_fact(evidence, evidence.ports[one]) for one in ends if one in evidence.ports)
        before = evidence.collected.earlier
        was = before and any(
            state_of(one) == state
            for one in (before.nodes[end.guid].ports if end.guid in before.nodes else ())
            if one.number == end.port
        )
        also = ", as it was in the earlier capture" if was else ""
        yield Finding(
            f"the link is up, and the port {what}{also}",
            tuple(map(evidence.place, ends)),
            facts,
            severity=CRITICAL if was else "",
            since=evidence.collected.since if was else None,
            otherwise="the port went away and came back between the two captures" if was else "",
        )
    if not _states_known(evidence):
        yield _NO_STATES


def _fact(evidence: Evidence, port: FabricPort) -> Fact:
    words = [word for word in (port.state, port.physical_state) if word]
    return Fact(f"port {port.number}: {'/'.join(words) or 'state not known'}", evidence.fabric.source)


def _states_known(evidence: Evidence) -> bool:
    """Whether each port that has a link shows its state."""
    return all(port.state for port in evidence.ports.values() if port.linked is not False)
