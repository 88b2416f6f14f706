"""Run the rules over the evidence: findings, worst first, and what could not be decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ibkit.model.findings import Diagnosis, Finding, Undecided, rank
from ibkit.rules.evidence import CHANGE, PARTS, Evidence
from ibkit.rules.incidents import into_incidents
from ibkit.rules.rule import Limits, Rule
from ibkit.rules.waivers import split_by_waivers


def diagnose(evidence: Evidence, rules: Sequence[Rule]) -> Diagnosis:
    """What all rules say, with the limits and the waivers of the expectations, where there are any."""
    findings: list[Finding] = []
    undecided: list[Undecided] = []
    for rule in rules:
        for said in _run(rule, evidence, limits_of(rule, evidence.expected.limits)):
            if isinstance(said, Finding):
                findings.append(said)
            else:
                undecided.append(said)
    shown, waived = split_by_waivers(findings, evidence.expected.waivers, evidence.collected.day)
    found = sorted(into_incidents(shown, evidence), key=order)
    return Diagnosis(tuple(found), tuple(dict.fromkeys(undecided)), evidence.collected.looked_at, tuple(waived))


def is_complete(diagnosis: Diagnosis, parts: Sequence[str]) -> bool | None:
    """Whether each of ``parts`` was looked at and nothing is missing in any."""
    seen = {part.what: part.complete for part in diagnosis.looked_at}
    states = [seen.get(part, False) for part in parts]
    return False if False in states else None if None in states else True


def is_decided(diagnosis: Diagnosis, parts: Sequence[str], chosen: Sequence[str] = ()) -> bool:
    """Whether that nothing was found means that nothing is there: what was looked at is complete.

    A part that nobody recorded was not asked for, but a rule that the user named was (``chosen``): it must not be
    undecided.
    """
    seen = [part for part in diagnosis.looked_at if part.what in (*parts, CHANGE)] or diagnosis.looked_at
    named = {word.lower() for word in chosen} - set(PARTS)
    open_ones = [one for one in diagnosis.undecided if {one.rule.lower(), one.name} & named]
    return bool(seen) and all(part.complete for part in seen) and not open_ones


def limits_of(rule: Rule, overrides: Mapping[str, Mapping[str, float]]) -> Limits:
    """A rule's limits; its name says more than its number, which several may share."""
    limits = {limit.name: limit.default for limit in rule.limits}
    for key in (rule.number, rule.name):
        limits |= {name: value for name, value in overrides.get(key, {}).items() if name in limits}
    return limits


def order(finding: Finding) -> tuple[object, ...]:
    """Worst first, then by number of the rule and by place."""
    return rank(finding.severity), finding.rule, finding.name, finding.where


def _run(rule: Rule, evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    lacks = [lack for part in rule.needs if (lack := evidence.lack(part))]
    for lack in lacks:
        yield Undecided(lack.missing, lack.get, rule.number, rule.name)
    if lacks:
        return
    for said in rule.check(evidence, limits):
        if isinstance(said, Undecided):
            yield said._replace(rule=rule.number, name=rule.name)
        else:
            yield _complete(said, rule)


def _complete(said: Finding, rule: Rule) -> Finding:
    """With what is the same for all findings of the rule; members that a rule made itself are its own, too."""
    return said._replace(
        rule=said.rule or rule.number,
        name=said.name or rule.name,
        severity=said.severity or rule.severity,
        why=said.why or rule.paragraph("Why"),
        fix=said.fix or rule.paragraph("Next"),
        otherwise=said.otherwise or rule.paragraph("Else"),
        members=tuple(_complete(member, rule) for member in said.members),
    )
