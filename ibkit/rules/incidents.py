"""Put findings of one cause together: one incident with its members, the cause before its symptoms.

In this order: what a missing subnet manager explains; what is about one link; packets that were damaged further up; one
rule that is true of most links of a switch, or of the whole fabric.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from ibkit.display import counted
from ibkit.model.fabric import End
from ibkit.model.findings import Finding, Place, rank
from ibkit.model.ids import Guid
from ibkit.rules.evidence import Evidence

#: What follows from it that nobody configures ports.
_WITHOUT_MANAGER = frozenset({"port-initializing", "host-port-initializing", "no-lid", "host-no-lid"})
#: Rules about a link, the best explanation first: it is gone, it comes and goes, its bits are damaged, it fell back to
#: less than it can, and what is lost thereby.
_OF_A_LINK = (
    "link-gone", "cabling", "port-training", "host-port-training", "flapping-link", "link-downed", "bit-errors",
    "symbol-errors", "receive-errors", "link-error-recovery", "link-integrity", "slow-link", "single-lane",
    "host-single-lane", "planes-differ", "host-planes-differ", "slower-than-its-like", "host-rails-differ", "half-rate",
    "slow-by-configuration", "slower-than-expected", "mtu-differs", "mtu-discards", "discards", "port-initializing",
    "host-port-initializing", "port-armed", "host-port-armed",
)  # fmt: skip
#: Links that are not there, which is why a node has too few of them.
_GONE = frozenset({"link-gone", "cabling"})
#: Damage at a link that makes damaged packets further down.
_DAMAGE = frozenset({"bit-errors", "symbol-errors", "receive-errors", "link-error-recovery", "link-integrity"})
#: The counters of the end that receives what is damaged, and forwards it.
_DAMAGED = ("SymbolErrorCounter", "PortRcvErrors", "LinkErrorRecoveryCounter", "LocalLinkIntegrityErrors")
#: How many switches damaged packets are followed up.
_MAX_HOPS = 5
#: A switch is named, and not its links, where so many of them have the same, and so great a share; so is the fabric.
_FEWEST_OF_A_SWITCH, _SHARE_OF_A_SWITCH = 4, 0.75
_FEWEST_OF_ALL, _SHARE_OF_ALL = 12, 0.5


def into_incidents(findings: Sequence[Finding], evidence: Evidence) -> list[Finding]:
    """The findings, those that follow from another one as its members."""
    found = _below_the_missing_manager(_below_two_masters(list(findings)))
    found = _by_link(found, evidence)
    found = _below_missing_links(found)
    found = _below_their_source(found, evidence)
    return _by_switch_or_all(found, evidence)


def _with(cause: Finding, members: Iterable[Finding]) -> Finding:
    """A cause with more members, which are flat. The worst severity is the incident's."""
    flat = [one for member in members for one in (member._replace(members=()), *member.members)]
    severity = min((cause.severity, *(one.severity for one in flat)), key=rank)
    return cause._replace(severity=severity, members=(*cause.members, *flat))


def _below_the_missing_manager(findings: list[Finding]) -> list[Finding]:
    """Without a manager ports stay unconfigured."""
    cause = next((one for one in findings if one.name == "no-subnet-manager"), None)
    cause = cause or next((one for one in findings if one.name == "no-lid" and not one.places), None)
    if cause is None:
        return findings
    symptoms = [one for one in findings if one.name in _WITHOUT_MANAGER and one is not cause]
    return [_with(cause, symptoms), *(one for one in findings if one is not cause and one not in symptoms)]


def _below_two_masters(findings: list[Finding]) -> list[Finding]:
    """Two masters give ports two managers, and one of them may not be reached over the routes of the other."""
    cause = next((one for one in findings if one.name == "several-masters"), None)
    if cause is None:
        return findings
    symptoms = [one for one in findings if one.name in ("other-sm-lid", "silent-manager")]
    return [_with(cause, symptoms), *(one for one in findings if one is not cause and one not in symptoms)]


def _by_link(findings: list[Finding], evidence: Evidence) -> list[Finding]:
    """What is wrong with one link: the best explanation, with the others as its members."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        key = _link_of(finding, evidence) if finding.name in _OF_A_LINK and not finding.members else None
        groups.setdefault(key or (number,), []).append(finding)
    found = []
    for group in groups.values():
        cause, *others = sorted(group, key=lambda one: _OF_A_LINK.index(one.name)) if len(group) > 1 else group
        found.append(_with(cause, others) if others else cause)
    return found


def _below_missing_links(findings: list[Finding]) -> list[Finding]:
    """That a node has fewer links than expected: below the first of its links that is not there."""
    gone: dict[Guid, int] = {}
    for index, finding in enumerate(findings):
        if finding.name in _GONE:
            for one in (finding, *finding.members):
                for place in one.places:
                    if place.guid is not None:
                        gone.setdefault(place.guid, index)
    members: dict[int, list[Finding]] = {}
    kept = []
    for index, finding in enumerate(findings):
        causes = [gone[place.guid] for place in finding.places if place.guid in gone]
        if finding.name == "missing-ports" and causes:
            members.setdefault(causes[0], []).append(finding)
        else:
            kept.append(index)
    return [_with(findings[index], members[index]) if index in members else findings[index] for index in kept]


def _link_of(finding: Finding, evidence: Evidence) -> tuple[object, ...] | None:
    """The link that a finding is about, by the end that it names first; of a port without a known peer the port."""
    if not finding.places:
        return None
    end = _end(finding.places[0], evidence)
    if end is None:
        return finding.places[0]
    link = evidence.link_at.get(end)
    return (link.a, link.b) if link else (end,)


def _end(place: Place, evidence: Evidence) -> End | None:
    """The fabric's port that a place is; a host's port by its GUID, where the fabric is known."""
    if place.host is not None and place.port_guid in evidence.end_of_port_guid:
        return evidence.end_of_port_guid[place.port_guid]
    return None if place.guid is None or place.port is None else End(place.guid, place.port)


def _below_their_source(findings: list[Finding], evidence: Evidence) -> list[Finding]:
    """Packets that were marked as damaged: below the nearest link up from there that damages packets."""
    sources: dict[Guid, list[int]] = {}
    receivers = {tally.end for name in _DAMAGED for tally in evidence.tallies.get(name, ())}
    for index, finding in enumerate(findings):
        if {finding.name, *(member.name for member in finding.members)} & _DAMAGE:
            for end in receivers & {_end(place, evidence) for place in finding.places}:
                sources.setdefault(end.guid, []).append(index)
    members: dict[int, list[Finding]] = {}
    for finding in findings:
        if finding.name == "remote-physical-errors" and (found := _nearest(finding, sources, evidence)) is not None:
            members.setdefault(found, []).append(finding)
    below = {id(finding) for victims in members.values() for finding in victims}
    return [
        _with(finding, members[index]) if index in members else finding
        for index, finding in enumerate(findings)
        if id(finding) not in below
    ]


def _nearest(finding: Finding, sources: dict[Guid, list[int]], evidence: Evidence) -> int | None:
    """The only damaging link of the nearest switch, up from the port that counted; None where it cannot be told."""
    start = _end(finding.places[0], evidence)
    peer = evidence.peer_of(start) if start else None
    queue = deque([(peer.guid, 0)] if peer and start else [])
    seen = {start.guid} if start else set()
    while queue:
        guid, hops = queue.popleft()
        if guid in seen or hops > _MAX_HOPS:
            continue
        seen.add(guid)
        if guid in sources:
            return sources[guid][0] if len(sources[guid]) == 1 else None
        queue.extend((end.guid, hops + 1) for end in evidence.neighbours(guid) if evidence.is_switch(end))
    return None


def _by_switch_or_all(findings: list[Finding], evidence: Evidence) -> list[Finding]:
    """One rule that holds for most links of a switch, or of the fabric, is one incident."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.name if finding.name in _OF_A_LINK and finding.places else "", []).append(finding)
    found = by_rule.pop("", [])
    for same in by_rule.values():
        links = len(evidence.fabric.links) + (len(same) if same[0].name in _GONE else 0)
        if len(same) >= _FEWEST_OF_ALL and len(same) >= _SHARE_OF_ALL * links:
            found.append(_many(same, f"{len(same)} of {counted(links, 'link')} of the fabric", ()))
        else:
            found += _by_switch(same, evidence)
    return found


def _by_switch(same: list[Finding], evidence: Evidence) -> list[Finding]:
    found = []
    rest = list(same)
    while len(rest) >= _FEWEST_OF_A_SWITCH:
        guid, of_it = _most_hit(rest, evidence)
        links = evidence.number_of_links(guid) if guid is not None else 0
        links += len(of_it) if same[0].name in _GONE else 0
        if guid is None or len(of_it) < _FEWEST_OF_A_SWITCH or len(of_it) < _SHARE_OF_A_SWITCH * links:
            break
        place = Place(guid=guid, name=evidence.fabric.nodes[guid].name)
        found.append(_many(of_it, f"{len(of_it)} of {counted(links, 'link')} of {place.text}", (place,)))
        taken = set(map(id, of_it))
        rest = [one for one in rest if id(one) not in taken]
    return found + rest


def _most_hit(findings: list[Finding], evidence: Evidence) -> tuple[Guid | None, list[Finding]]:
    """The switch that most of the findings are about, and these."""
    guids = [
        {place.guid for place in one.places if place.guid is not None and evidence.is_switch(End(place.guid, 0))}
        for one in findings
    ]
    counts = Counter(guid for of_one in guids for guid in of_one)
    if not counts:
        return None, []
    guid = max(counts, key=lambda one: (counts[one], -one))
    return guid, [one for one, of_one in zip(findings, guids, strict=True) if guid in of_one]


def _many(same: list[Finding], where: str, places: tuple[Place, ...]) -> Finding:
    first = same[0]
    what = f"{where}: the same cause is likely; the first one: {first.what}"
    return _with(first._replace(what=what, places=places, evidence=(), members=()), same)
