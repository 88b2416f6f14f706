"""Rules about what changed between two samples: links that are gone, links that come and go, bit error rates."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.display import counted
from ibkit.model.findings import CRITICAL, WARNING, Finding, Undecided
from ibkit.model.rates import rate_gbps, speed_rank
from ibkit.rules.evidence import CHANGE, EARLIER, FABRIC, Evidence, Tally
from ibkit.rules.missing import missing_from
from ibkit.rules.rule import Limit, Limits, rule
from ibkit.rules.tallies import by_link, finding_of, spell

#: From here on forward error correction mends what is usual, and the counter shows what it could not.
_CORRECTED = speed_rank("HDR") or 0


@rule(
    "R10", "link-gone", CRITICAL, needs=(FABRIC, EARLIER),
    source="SckyzO/infiniband_exporter docs/alerts.md (port down that was up); infinimap (an incomplete sweep closes "
    "nothing)",
)  # fmt: skip
def link_gone(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A link that was up in the earlier capture is not there any more, or the node behind it is gone as a whole.

    Threshold: none. Ports that were never seen up are no finding; a link that was moved is information. What is merely
    not in a sweep that is not known to be complete is not decided.

    Why: what was behind it is cut off, or the fabric has less bandwidth than it was built for.

    Next: for a host, look whether it is up; for a link between switches, look at both ports (`ibportstate LID PORT`),
    reseat the cable, then swap it.

    Else: a host that was switched off on purpose, or moved to another switch.
    """
    before = evidence.collected.earlier
    if before is not None:
        yield from missing_from(evidence, before, "in the earlier sweep")


@rule(
    "R11", "flapping-link", CRITICAL, needs=(CHANGE,),
    limits=(Limit("downs", 3, "times down between two samples"),),
    source="leptonai/gpud store (three times down and back); Azure health checks (five carrier losses in 24 h)",
)  # fmt: skip
def flapping_link(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A link went down and came back several times between the two samples.

    Threshold: three times.

    Why: a link that is down is routed around; one that comes and goes kills jobs each time, and has the subnet manager
    route the fabric anew.

    Next: disable the port (`ibportstate LID PORT disable`) until the cable is swapped.

    Else: work on the cable or on the host between the two samples.
    """
    limit = limits["downs"]
    found = [tally for tally in evidence.tallies.get("LinkDownedCounter", ()) if tally.value >= limit]
    for group in by_link(evidence, found):
        yield finding_of(evidence, group, limit, meaning="the link comes and goes")


@rule(
    "R21", "bit-errors", WARNING, needs=(CHANGE,),
    limits=(
        Limit("short_window", 720, "seconds for the rate of 1e-14"),
        Limit("long_window", 7500, "seconds for the rate of 1e-15"),
    ),
    source="Mellanox/ufm_sdk_3.0 pdr_deterministic_plugin (windows); InfiniBand Architecture Specification volume 2 "
    "(1e-12)",
)  # fmt: skip
def bit_errors(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The bit error rate of a link is above what it may be.

    Threshold: from HDR on, 1e-14 of the link's bits over 12 minutes, and 1e-15 over 125 minutes (2.88 and 3 errors on
    NDR); up to EDR, which count what no correction has mended, 1e-12 over 12 minutes. With less time there is a verdict
    only where there are already more errors than in the whole of 12 minutes.

    Why: at this rate packets are damaged all the time, and each one stalls its connection.

    Next: clean and reseat both ends, then swap the cable, then the transceiver's port; look at `mlxlink -d DEVICE -c`.

    Else: a reboot of one end in between: training makes symbol errors.
    """
    assert evidence.change is not None
    seconds = evidence.change.seconds
    unknown = 0
    found: list[tuple[Tally, float]] = []
    for tally in evidence.tallies.get("SymbolErrorCounter", ()):
        allowed = _allowed(evidence, tally, seconds, limits)
        if allowed is None:
            unknown += 1
        elif tally.value > allowed:
            found.append((tally, allowed))
    allowances = {tally.end: allowed for tally, allowed in found}
    for group in by_link(evidence, [tally for tally, _ in found]):
        rate = group[0].value / (_bits_a_second(evidence, group[0]) * seconds)
        yield finding_of(evidence, group, allowances[group[0].end], meaning=f"an error rate of {rate:.1e}")
    if unknown:
        yield Undecided(f"the rate of {counted(unknown, 'port')} with symbol errors is not known",
                        "sweep the fabric in the same capture: ibnetdiscover tells width and speed")  # fmt: skip
    if seconds < limits["short_window"]:
        yield Undecided(
            f"the samples are {spell(seconds)} apart, which is too short for a bit error rate",
            f"take the second one {spell(limits['short_window'])} after the first, better "
            f"{spell(limits['long_window'])}, while there is traffic",
        )


def _allowed(evidence: Evidence, tally: Tally, seconds: float, limits: Limits) -> float | None:
    """How many errors the link may make in the time; None where its rate is not known."""
    link = evidence.link_at.get(tally.end)
    bits = _bits_a_second(evidence, tally)
    if not link or not bits:
        return None
    if (speed_rank(link.speed) or 0) < _CORRECTED:
        return bits * max(seconds, limits["short_window"]) * 1e-12
    if seconds >= limits["long_window"]:
        return bits * seconds * 1e-15
    return bits * max(seconds, limits["short_window"]) * 1e-14


def _bits_a_second(evidence: Evidence, tally: Tally) -> float:
    link = evidence.link_at.get(tally.end)
    return (rate_gbps(link.width, link.speed) or 0.0) * 1e9 if link else 0.0
