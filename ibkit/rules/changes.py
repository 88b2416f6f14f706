"""Rules about what changed between two samples: links that are gone, links that come and go, bit error rates."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.model.fabric import SWITCH, Fabric, Link
from ibkit.model.findings import CRITICAL, INFO, WARNING, Fact, Finding, Place, Undecided
from ibkit.model.ids import Guid
from ibkit.model.rates import rate_gbps, speed_rank, width_speed
from ibkit.rules.evidence import CHANGE, EARLIER, FABRIC, Evidence, Tally, counted, first_few
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

    Threshold: none. Ports that were never seen up are no finding, nor is a link that was moved: that is information.
    Where one of the two sweeps is not known to be complete there is no verdict.

    Why: what was behind it is cut off, or the fabric has less bandwidth than it was built for.

    Next: for a host, look whether it is up; for a link between switches, look at both ports (`ibportstate LID PORT`),
    reseat the cable, then swap it.

    Else: a host that was switched off on purpose, or moved to another switch.
    """
    before, now = evidence.collected.earlier, evidence.fabric
    if before is None:
        return
    if not (before.complete and now.complete):
        which = "earlier" if not before.complete else "later"
        yield Undecided(f"the {which} sweep is not known to be complete, so what is missing from it proves nothing",
                        "record a capture on a host where ibnetdiscover ends well")  # fmt: skip
        return
    there = {(link.a, link.b) for link in now.links}
    gone = [link for link in before.links if (link.a, link.b) not in there]
    lost = {guid for guid in before.nodes if guid not in now.nodes}
    for nodes in _islands(lost, gone):
        yield _gone_nodes(evidence, before, nodes, gone)
    for link in gone:
        if link.a.guid not in lost and link.b.guid not in lost:
            yield _gone_link(evidence, before, link)


def _islands(lost: set[Guid], gone: list[Link]) -> Iterator[set[Guid]]:
    """The lost nodes that were linked to each other, together: they are mostly gone because one of them is."""
    peers: dict[Guid, set[Guid]] = {guid: set() for guid in lost}
    for link in gone:
        if link.a.guid in lost and link.b.guid in lost:
            peers[link.a.guid].add(link.b.guid)
            peers[link.b.guid].add(link.a.guid)
    left = dict.fromkeys(sorted(lost))
    while left:
        island: set[Guid] = set()
        queue = [next(iter(left))]
        while queue:
            guid = queue.pop()
            if guid not in island:
                island.add(guid)
                queue += peers[guid]
        left = {guid: None for guid in left if guid not in island}
        yield island


def _gone_nodes(evidence: Evidence, before: Fabric, nodes: set[Guid], gone: list[Link]) -> Finding:
    """One incident for nodes that are gone together: first the switch that had most links."""
    links = [link for link in gone if link.a.guid in nodes or link.b.guid in nodes]
    counts = dict.fromkeys(sorted(nodes), 0)
    for link in links:
        for guid in {link.a.guid, link.b.guid} & nodes:
            counts[guid] += 1
    first = max(counts, key=lambda guid: (before.nodes[guid].type == SWITCH, counts[guid]))
    others = [_place(before, guid) for guid in counts if guid != first]
    what = f"the node is gone, with its {counted(counts[first], 'link')}"
    if others:
        what += f", and so is what was behind it: {first_few((place.text for place in others), 3)}"
    fact = Fact(f"{counted(len(nodes), 'node')} with {counted(len(links), 'link')} in the earlier sweep", before.source)
    since = evidence.collected.since
    members = [Finding("the node is gone", (place,), (), CRITICAL, "R10", "link-gone", since) for place in others]
    members += [
        Finding("the link is gone", _ends(before, link), (_was(before, link),), CRITICAL, "R10", "link-gone", since)
        for link in links
    ]
    return Finding(what, (_place(before, first),), (fact,), since=since, members=tuple(members))


def _gone_link(evidence: Evidence, before: Fabric, link: Link) -> Finding:
    """Both of its nodes are there. Where an end has another link now, it was moved."""
    since = evidence.collected.since
    moved = next((end for end in (link.a, link.b) if end in evidence.link_at), None)
    peer = evidence.peer_of(moved) if moved else None
    if moved is None or peer is None:
        what, severity = "the link is gone; both of its nodes are there", ""
    else:
        what = f"the link was moved: {evidence.place(moved).text} is linked to {evidence.place(peer).text} now"
        severity = INFO
    return Finding(what, _ends(before, link), (_was(before, link),), severity=severity, since=since)


def _was(before: Fabric, link: Link) -> Fact:
    rate = width_speed(link.width, link.speed) or "its rate is not known"
    return Fact(f"in the earlier sweep there is a link here ({rate})", before.source)


def _ends(fabric: Fabric, link: Link) -> tuple[Place, ...]:
    return tuple(_place(fabric, end.guid, end.port) for end in (link.a, link.b))


def _place(fabric: Fabric, guid: Guid, number: int | None = None) -> Place:
    node = fabric.nodes[guid]
    port = next((port for port in node.ports if port.number == number), None)
    return Place(
        guid=guid, name=node.name, port=number, label=port.label if port else None,
        port_guid=port.guid if port else None,
    )  # fmt: skip


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
