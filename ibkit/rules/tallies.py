"""What rules about counters share: the ports where one has reached a limit, and a finding for each link of such ports.

With two samples what was counted between them is compared; with one, what was counted since the counters were cleared,
and nobody knows when that was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ibkit.display import counted
from ibkit.model.findings import Fact, Finding, Undecided
from ibkit.rules.evidence import Evidence, Tally
from ibkit.rules.rule import Limits


def at_limit(evidence: Evidence, limits: Limits, *names: str) -> list[Tally]:
    """The ports where one of these counters has reached the rule's limit."""
    limit = limit_of(evidence, limits)
    return [tally for name in names for tally in evidence.tallies.get(name, ()) if tally.value >= limit]


def findings_at_limit(evidence: Evidence, limits: Limits, *names: str, meaning: str) -> Iterator[Finding | Undecided]:
    """A finding for each link with such a port, and of how many ports the counters are not known."""
    limit = limit_of(evidence, limits)
    for group in by_link(evidence, at_limit(evidence, limits, *names)):
        yield finding_of(evidence, group, limit, meaning=meaning)
    yield from unknown(evidence, *names)


def by_link(evidence: Evidence, found: Iterable[Tally]) -> Iterator[list[Tally]]:
    """Those of the two ends of one link together, the end that counted more of the first kind in front."""
    groups: dict[tuple[object, ...], list[Tally]] = {}
    for tally in found:
        link = evidence.link_at.get(tally.end)
        # Of a port without a GUID its LID tells it from others.
        groups.setdefault((link.a, link.b) if link else (tally.end, tally.port.lid), []).append(tally)
    for group in groups.values():
        yield sorted(group, key=lambda tally: -tally.value)


def finding_of(evidence: Evidence, group: Sequence[Tally], limit: float, *, meaning: str) -> Finding:
    """What the ends of a link counted and what that means, with the end to look at first in front."""
    ends = list(dict.fromkeys(tally.end for tally in group))
    peer = evidence.peer_of(ends[0])
    places = [evidence.place_of_counters(group[0].port)]
    if peer is not None:
        places.append(evidence.place(peer))
    told = "; ".join(
        f"{', '.join(tally.text for tally in group if tally.end == end)}{' at the other end' if index else ''}"
        for index, end in enumerate(ends)
    )
    facts = tuple(
        Fact(f"port {tally.port.port}: {tally.text}, limit {limit:g}", tally.port.source, tally.port.line)
        for tally in group
    )
    what = f"{told} {period(evidence)}: {meaning}"
    return Finding(what, tuple(places), facts, since=evidence.collected.since)


def period(evidence: Evidence) -> str:
    """When it was counted."""
    if evidence.change is None:
        return "since the counters were last cleared, nobody knows when"
    return f"in {spell(evidence.change.seconds)}"


def spell(seconds: float) -> str:
    """``45 s``, ``12.5 min``, ``3.0 h``, ``2.1 days``."""
    for limit, unit, size in ((120, "s", 1), (7200, "min", 60), (172_800, "h", 3600)):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}" if size == 1 else f"{seconds / size:.1f} {unit}"
    return f"{seconds / 86_400:.1f} days"


def limit_of(evidence: Evidence, limits: Limits) -> float:
    """The rule's limit, which is a finding itself, for one sample (``total``) or two (``rise``)."""
    return limits["total" if evidence.change is None else "rise"]


def unknown(evidence: Evidence, *names: str) -> Iterator[Undecided]:
    """The ports of which one of these counters is not known. What a port does not have is none of them."""
    if evidence.change is None:
        ports = [(port.counters, port.unsupported) for port in evidence.counters.ports]
    else:
        ports = [(change.counters, change.port.unsupported) for change in evidence.change.ports]
    missing = sum(
        any(counters.get(name) is None and name not in unsupported for name in names) for counters, unsupported in ports
    )
    if missing:
        yield Undecided(
            f"the counters that this is about are not known of {counted(missing, 'port')}",
            "the port does not count it, or did not answer: see `ibkit counters --json` and its problems",
        )
