"""Rules about error counters: what a port counted against a limit. The two ends of a link are one finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ibkit.display import counted, first_few
from ibkit.model.congestion import congestion
from ibkit.model.fabric import End
from ibkit.model.findings import INFO, WARNING, Fact, Finding, Undecided, all_of
from ibkit.rules.evidence import CHANGE, COUNTERS, Evidence
from ibkit.rules.rule import Limit, Limits, rule
from ibkit.rules.tallies import at_limit, by_link, finding_of, findings_at_limit, limit_of, period, unknown

_SPECIFICATION = "InfiniBand Architecture Specification volume 1, 16.1.3.5 (PortCounters)"
_CHECKERRS = "infiniband-diags ibcheckerrs (absolute)"
_THRESHOLDS = "infiniband-diags error_thresholds (absolute)"


def _limits(total: float, rise: float, unit: str) -> tuple[Limit, ...]:
    """From how many on it is a finding: ``total`` since the counters were cleared, ``rise`` between two samples."""
    return (
        Limit("total", total, f"{unit} since the counters were cleared"),
        Limit("rise", rise, f"{unit} between two samples"),
    )


@rule(
    "R20", "symbol-errors", WARNING, needs=(COUNTERS,),
    source=f"{_SPECIFICATION}; {_CHECKERRS}; SckyzO/infiniband_exporter docs/alerts.md (per minute)",
    limits=(
        Limit("total", 10, "symbol errors since the counters were cleared"),
        Limit("per_minute", 100, "symbol errors a minute between two samples"),
    ),
)  # fmt: skip
def symbol_errors(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A port receives symbols that it cannot read.

    Threshold: 10 or more in all, with one sample; 100 or more a minute, with two, and 100 in any case. The rule of the
    bit error rate (R21) judges fewer of them, given time.

    Why: the bits are damaged on the way from the other end. Each burst may cost a packet, which is sent again. From HDR
    on the counter counts what forward error correction could not mend, so there any is serious.

    Next: clean and reseat both ends, then swap the cable. Where this is the sum of one sample, read the counters twice
    first (`ibkit check --interval 60`): what no longer grows is the past, such as the day the cable was plugged in.

    Else: the link trained in that time: a reboot of one end makes symbol errors.
    """
    if evidence.change is None:
        limit = limits["total"]
    else:
        limit = limits["per_minute"] * max(evidence.change.seconds, 60.0) / 60
    found = [tally for tally in evidence.tallies.get("SymbolErrorCounter", ()) if tally.value >= limit]
    for group in by_link(evidence, found):
        yield finding_of(evidence, group, limit, meaning="bits are damaged on this link")
    yield from unknown(evidence, "SymbolErrorCounter")


@rule(
    "R22", "link-downed", WARNING, needs=(COUNTERS,), limits=_limits(10, 1, "times"),
    source=f"{_SPECIFICATION}; {_CHECKERRS}; SckyzO/infiniband_exporter docs/alerts.md (any rise); "
    "Mellanox/ufm_sdk_3.0 pdr_deterministic_plugin (both ends)",
)  # fmt: skip
def link_downed(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A link went down, and came up again.

    Threshold: 10 times or more in all, with one sample; once, with two. Where only the switch's end counted it and
    the other end is an adapter, the host was probably restarted, which is told as information.

    Why: whatever was on the way is lost, routes are worked out anew, and jobs with a queue pair over the link may die.

    Next: look for a reboot of the other end at that time; if there was none, reseat and swap the cable.

    Else: reboots, driver restarts and cable work count as well, each once.
    """
    for group in by_link(evidence, at_limit(evidence, limits, "LinkDownedCounter")):
        limit = limit_of(evidence, limits)
        finding = finding_of(evidence, group, limit, meaning="the link went down")
        if evidence.change is not None and _is_restart_of_a_host(evidence, group[0].end, len(group)):
            text = f"{finding.what}; only the switch counted it, so the host was probably restarted"
            finding = finding._replace(what=text, severity=INFO)
        yield finding
    yield from unknown(evidence, "LinkDownedCounter")


def _is_restart_of_a_host(evidence: Evidence, end: End, ends: int) -> bool:
    peer = evidence.peer_of(end)
    return ends == 1 and peer is not None and evidence.is_switch(end) and not evidence.is_switch(peer)


@rule(
    "R23", "link-error-recovery", WARNING, needs=(COUNTERS,), limits=_limits(10, 1, "times"),
    source=f"{_SPECIFICATION}; {_CHECKERRS}",
)  # fmt: skip
def link_error_recovery(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A link had so many errors that it trained anew, and recovered.

    Threshold: 10 times or more in all, with one sample; once, with two.

    Why: while it trains nothing passes; it is what comes before a link goes down.

    Next: reseat both ends, then swap the cable.

    Else: cable work, and restarts of the other end, in that time.
    """
    yield from findings_at_limit(
        evidence, limits, "LinkErrorRecoveryCounter", meaning="the link had to recover from errors"
    )


@rule(
    "R24", "receive-errors", WARNING, needs=(COUNTERS,), limits=_limits(10, 2, "packets"),
    source=f"{_SPECIFICATION}; {_CHECKERRS}; OPA FastFabric opamon.conf (rise)",
)  # fmt: skip
def receive_errors(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A port receives damaged packets.

    Threshold: 10 or more in all, with one sample; 2 or more, with two.

    Why: each is sent again by the other end after a timeout that is thousands of times longer than a packet takes.

    Next: reseat and swap the cable of this link, unless the finding says that most of the packets are malformed
    (PortMalformedPktErrors): then the sender of such packets is to be found.

    Else: the link trained, or a neighbour was restarted, in that time.
    """
    malformed = {tally.end: tally.value for tally in evidence.tallies.get("PortMalformedPktErrors", ())}
    limit = limit_of(evidence, limits)
    for group in by_link(evidence, at_limit(evidence, limits, "PortRcvErrors")):
        worst = group[0]
        if 2 * malformed.get(worst.end, 0) > worst.value:
            meaning = "most of the packets are malformed, so the fault is where they are made, not on this link"
            yield finding_of(evidence, group, limit, meaning=meaning)._replace(
                fix="leave this cable alone. Find the sender of such packets: the adapters behind the other end, their "
                "firmware and drivers first",
                otherwise="a program that makes packets of its own, as a test of the fabric does",
            )
        else:
            yield finding_of(evidence, group, limit, meaning="packets arrive damaged over this link")
    yield from unknown(evidence, "PortRcvErrors")


@rule(
    "R25", "remote-physical-errors", WARNING, needs=(COUNTERS,), limits=_limits(100, 100, "packets"),
    source=f"{_SPECIFICATION}; {_THRESHOLDS}",
)  # fmt: skip
def remote_physical_errors(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A port receives packets that were marked as damaged further up: it is a victim, not the culprit.

    Threshold: 100 or more.

    Why: a switch that receives a damaged packet forwards it with a mark (EBP), for it had begun to send it before it
    saw the end. So every port on its way counts it here, and the first one as a receive or symbol error.

    Next: do not touch this cable. Follow the packets up: look for symbol and receive errors at the ports of the switch
    at the other end, and so on. Where such a link was found, this is a member of its incident.

    Else: a sender that aborts its own packets.
    """
    meaning = "packets that were damaged further up, not on this link"
    yield from findings_at_limit(evidence, limits, "PortRcvRemotePhysicalErrors", meaning=meaning)


@rule(
    "R26", "undeliverable-packets", INFO, needs=(COUNTERS,), limits=_limits(100, 10, "packets"),
    source="InfiniBand Architecture Specification volume 1, 16.1.4.4 (PortRcvErrorDetails); openfabrics.org, Overview "
    "of Error Counters; infiniband-diags ibqueryerrors --suppress-common",
)  # fmt: skip
def undeliverable_packets(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A switch receives packets for which it has no way out.

    Threshold: 100 or more of PortDLIDMappingErrors, PortVLMappingErrors or PortLoopingErrors in all, with one sample;
    10 or more, with two. PortRcvSwitchRelayErrors alone is no finding: each multicast packet that comes back over the
    port that it went out of counts there.

    Why: packets for a LID that no forwarding table knows are thrown away, and their sender waits in vain.

    Next: look whether the subnet manager has routed since (`ibkit sm`), and for jobs or services that still use an old
    LID.

    Else: the fabric was routed anew while packets were on the way.
    """
    names = ("PortDLIDMappingErrors", "PortVLMappingErrors", "PortLoopingErrors")
    limit = limit_of(evidence, limits)
    for group in by_link(evidence, at_limit(evidence, limits, *names)):
        yield finding_of(evidence, group, limit, meaning="packets that the switch cannot forward")


@rule(
    "R27", "discards", WARNING, needs=(COUNTERS,), limits=_limits(100, 100, "packets"),
    source=f"{_SPECIFICATION}; {_THRESHOLDS}; UFM event 116",
)  # fmt: skip
def discards(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A port throws packets away that it should send.

    Threshold: 100 or more.

    Why: an InfiniBand fabric is lossless, so a discard is a port that is down, a packet that is too long for the
    neighbour, or one that waited so long that its lifetime ended. Its sender repeats it after a timeout.

    Next: the details say which: PortInactiveDiscards (the port was down), PortNeighborMTUDiscards (see R46),
    PortSwLifetimeLimitDiscards and PortSwHOQLifetimeLimitDiscards (the receiver does not take its packets: look for a
    host that hangs, or for congestion behind the port).

    Else: a host that was switched off while others still sent to it.
    """
    limit = limit_of(evidence, limits)
    details = {detail: {tally.end: tally for tally in evidence.tallies.get(detail, ())} for detail in _DISCARD_DETAILS}
    for group in by_link(evidence, at_limit(evidence, limits, "PortXmitDiscards")):
        told = [
            f"{found.text} ({meaning})"
            for detail, meaning in _DISCARD_DETAILS.items()
            if (found := details[detail].get(group[0].end))
        ]
        yield finding_of(evidence, group, limit, meaning="; ".join(told))
    yield from unknown(evidence, "PortXmitDiscards")


_DISCARD_DETAILS = {
    "PortInactiveDiscards": "the port was down",
    "PortNeighborMTUDiscards": "too long for the neighbour",
    "PortSwLifetimeLimitDiscards": "older than the switch lets packets become",
    "PortSwHOQLifetimeLimitDiscards": "the receiver did not take them",
}


@rule(
    "R28", "congestion", INFO, needs=(CHANGE,), limits=(Limit("share", 0.1, "parts of the time, 1 being all of it"),),
    source="NVIDIA's ibdiagnet manual, Congestion Assessment on InfiniBand Links (the unit of PortXmitWait)",
)  # fmt: skip
def congested(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A port had data and could not send it for a great part of the time.

    Threshold: a tenth of the time between two samples, worked out from PortXmitWait by the chip's own unit; raw counts
    of different chips cannot be compared, and what adapters count is not known. Nobody has published a limit for the
    share: this one is ours.

    Why: somebody behind the port is slower than those who send to it, and all flows through the port wait with them.

    Next: look where the waiting ends: the port whose own neighbour does not wait sends to the cause, mostly a host that
    reads too slowly, or a slow link (`ibkit counters --interval 10` shows the shares).

    Else: a job that writes to one storage server, as it should.
    """
    assert evidence.change is not None
    known = False
    for one in evidence.change.ports:
        told = congestion(one, evidence.change.seconds, evidence.fabric)
        known |= told.ratio is not None
        if told.ratio is not None and told.ratio >= limits["share"]:
            end = evidence.end_of(one.port)
            least = "at least " if told.at_least else ""
            what = f"data waited {least}{told.ratio:.0%} of the time {period(evidence)}"
            fact = Fact(f"PortXmitWait {one.counters['PortXmitWait']}, {told.ratio:.3f} of what the link carries",
                        one.port.source, one.port.line)  # fmt: skip
            peer = evidence.peer_of(end)
            places = (evidence.place_of_counters(one.port), *((evidence.place(peer),) if peer else ()))
            yield Finding(what, places, (fact,), since=evidence.collected.since)
    if not known:
        yield Undecided("no port's PortXmitWait can be converted to time",
                        "read data counters of all ports together with the topology, twice")  # fmt: skip


@rule(
    "R29", "constraint-errors", WARNING, needs=(COUNTERS,), limits=_limits(100, 10, "packets"),
    source=f"{_SPECIFICATION}; {_THRESHOLDS}; OPA FastFabric opamon.conf (rise); UFM event 117",
)  # fmt: skip
def constraint_errors(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A switch port turns packets away because of their partition, or because it filters raw packets.

    Threshold: 100 or more in all, with one sample; 10 or more, with two.

    Why: somebody sends in a partition that the port is not a member of, or the tables of two ends do not fit.

    Next: compare the P_Key tables of both ends (`smpquery pkeys LID PORT`) with partitions.conf.

    Else: a job that began before the partitions were changed.
    """
    yield from findings_at_limit(
        evidence, limits, "PortXmitConstraintErrors", "PortRcvConstraintErrors",
        meaning="packets of a partition that the port does not let pass",
    )  # fmt: skip


@rule(
    "R30", "link-integrity", WARNING, needs=(COUNTERS,), limits=_limits(10, 1, "times"),
    source=f"{_SPECIFICATION}; {_CHECKERRS}; UFM event 120",
)  # fmt: skip
def link_integrity(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The errors of a port went over the limit of the hardware itself.

    Threshold: 10 or more of LocalLinkIntegrityErrors or ExcessiveBufferOverrunErrors in all, with one sample; once,
    with two: each of them stands for many errors in a short time. Both counters have 4 bits and stop at 15.

    Why: the first means physical errors, the second a neighbour that sends more than the buffers take.

    Next: reseat and swap the cable; for buffer overruns compare the firmware of both ends.

    Else: cable work in that time.
    """
    yield from findings_at_limit(
        evidence, limits, "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors",
        meaning="more errors in a short time than the port tolerates",
    )  # fmt: skip


@rule(
    "R31", "management-dropped", INFO, needs=(COUNTERS,), limits=_limits(100, 50, "packets"),
    source=f"{_SPECIFICATION}; {_THRESHOLDS}; UFM event 121",
)  # fmt: skip
def management_dropped(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A port drops management packets (VL15), which have no flow control.

    Threshold: 100 or more in all, with one sample; 50 or more, with two.

    Why: sweeps take longer, and answers that are lost look like nodes that are gone.

    Next: see how many programs sweep the fabric, and how often; let them ask for less at a time.

    Else: our own sweep.
    """
    yield from findings_at_limit(evidence, limits, "VL15Dropped", meaning="management packets are dropped")


@rule("R32", "saturated-counters", INFO, needs=(COUNTERS,), source=_SPECIFICATION)
def saturated_counters(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Counters stand at their maximum: they count no further, and what they show is "at least".

    Threshold: the counter's maximum, which has 4, 8, 16, 32 or 64 bits. All ports are one finding.

    Why: what happens from now on is not seen. Data counters of 32 bits are full after seconds.

    Next: clear them when nobody else depends on them (`perfquery -R LID PORT`, `ibqueryerrors -k`).

    Else: an old device that has no extended counters, whose data counters always stand there.
    """
    members = tuple(
        Finding(f"at its maximum: {', '.join(port.saturated)}", (evidence.place_of_counters(port),))
        for port in evidence.counters.ports
        if port.saturated
    )
    if members:
        counts = Counter(name for port in evidence.counters.ports for name in port.saturated)
        told = first_few(f"{name} of {counted(number, 'port')}" for name, number in counts.most_common())
        fact = Fact(f"at its maximum: {told}", evidence.counters.source)
        yield all_of(f"counters of {counted(len(members), 'port')} stand at their maximum: {told}", members, fact)


@rule("R33", "cleared-counters", INFO, needs=(COUNTERS,), source="OPA FastFabric opatop, which marks them")
def cleared_counters(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Counters were cleared between the two samples.

    Threshold: a value that is lower than before. All ports are one finding.

    Why: what was counted before that is lost, so that the change is "at least" what it shows. It is no recovery.

    Next: find out who clears them (a monitoring agent, `ibqueryerrors -k`), and let him stop or take the samples
    between two of his.

    Else: a port whose device was restarted counts from zero as well.
    """
    if evidence.change is None:
        return
    members = tuple(
        Finding(f"cleared: {', '.join(change.cleared)}", (evidence.place_of_counters(change.port),))
        for change in evidence.change.ports
        if change.cleared
    )
    if members:
        names = sorted({name for change in evidence.change.ports for name in change.cleared})
        fact = Fact(f"lower than before: {first_few(names)}", evidence.change.source)
        what = f"counters of {counted(len(members), 'port')} were cleared {period(evidence)}: {first_few(names)}"
        yield all_of(what, members, fact)
