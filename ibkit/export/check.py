"""A diagnosis as a document (schema ibkit.check/1), as CSV rows, as a line for Nagios. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ibkit.model.findings import CRITICAL, INFO, SEVERITIES, WARNING, Diagnosis, Fact, Finding, Place, Undecided
from ibkit.parsers.base import Problem
from ibkit.rules.rule import Rule

SCHEMA = "ibkit.check/1"
COLUMNS = ("severity", "rule", "name", "where", "what", "since", "evidence", "why", "fix", "otherwise", "incident")

#: Exit statuses that Nagios and its kin know.
NAGIOS_OK, NAGIOS_WARNING, NAGIOS_CRITICAL, NAGIOS_UNKNOWN = range(4)
_NAGIOS_WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


_HEAD = """# The rules of `ibkit check`

This page is what `ibkit check --explain all` prints; `ibkit check --explain RULE` prints a part of it. Numbers stand
for subjects, so that several rules may have one; names are unique. Limits can be changed in the file of expectations
(see docs/check.md).
"""


def check_document(diagnosis: Diagnosis, problems: Sequence[Problem], *, complete: bool | None) -> dict[str, Any]:
    """All of it."""
    return {
        "schema": SCHEMA,
        "complete": complete,
        "looked_at": [part._asdict() for part in diagnosis.looked_at],
        "findings": [
            {**_finding(one), "members": [_finding(member) for member in one.members]} for one in diagnosis.findings
        ],
        "undecided": [_undecided(one) for one in diagnosis.undecided],
        "waived": [_finding(one) for one in diagnosis.waived],
        "problems": [problem._asdict() for problem in problems],
    }


def check_rows(diagnosis: Diagnosis) -> Iterator[list[Any]]:
    """A row for each finding and, below it, one for each member, in the order of COLUMNS; ``incident`` counts them."""
    for number, finding in enumerate(diagnosis.findings, 1):
        for one in (finding, *finding.members):
            facts = "; ".join(_spell(fact) for fact in one.evidence)
            yield [
                one.severity, one.rule, one.name, one.where, one.what, one.since, facts, one.why or None,
                one.fix or None, one.otherwise or None, number,
            ]  # fmt: skip


def nagios_line(diagnosis: Diagnosis, *, is_decided: bool) -> tuple[int, str]:
    """The exit status, and the line with its performance data behind the bar."""
    counts = {severity: sum(one.severity == severity for one in diagnosis.findings) for severity in SEVERITIES}
    if counts[CRITICAL]:
        status = NAGIOS_CRITICAL
    elif counts[WARNING]:
        status = NAGIOS_WARNING
    else:
        status = NAGIOS_OK if is_decided else NAGIOS_UNKNOWN
    seen = ", ".join(part.text for part in diagnosis.looked_at) or "nothing"
    shown = [one for one in diagnosis.findings if one.severity != INFO]
    if shown:
        more = f" (and {len(shown) - 1} more)" if len(shown) > 1 else ""
        text = f"{shown[0].rule} {shown[0].where}: {shown[0].what}{more}"
    elif status == NAGIOS_OK:
        text = f"no finding in {seen}"
    else:
        text = f"not decided: {_not_whole(diagnosis)}"
    data = " ".join(f"{severity}={counts[severity]}" for severity in SEVERITIES)
    return (
        status,
        f"IBKIT {_NAGIOS_WORDS[status]} - {text.replace('|', '/')} | {data} undecided={len(diagnosis.undecided)}",
    )


def explained(rule: Rule) -> str:
    """A rule for people who ask what it means, as Markdown."""
    limits = "; ".join(f"`{limit.name} = {limit.default:g}` ({limit.unit})" for limit in rule.limits)
    lines = [
        f"### {rule.number} {rule.name}",
        "",
        rule.paragraph(),
        "",
        f"- **Severity**: {rule.severity}",
        f"- **Looks at**: {', '.join(rule.needs) or 'everything'}",
        f"- **Threshold**: {rule.paragraph('Threshold')}" + (f" Limits: {limits}." if limits else ""),
        f"- **Why it matters**: {rule.paragraph('Why')}",
        f"- **What to do**: {rule.paragraph('Next')}",
    ]
    if otherwise := rule.paragraph("Else"):
        lines.append(f"- **What else could explain it**: {otherwise}")
    lines.append(f"- **Source**: {rule.source}")
    return "\n".join(lines) + "\n"


def rules_page(rules: Sequence[Rule]) -> str:
    """docs/rules.md: all rules."""
    return f"{_HEAD}\n" + "\n".join(map(explained, rules))


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "where": finding.where,
        "places": [_place(place) for place in finding.places],
        "what": finding.what,
        "since": finding.since,
        "evidence": [fact._asdict() for fact in finding.evidence],
        "why": finding.why,
        "fix": finding.fix,
        "otherwise": finding.otherwise,
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        **place._asdict(),
        "guid": None if place.guid is None else str(place.guid),
        "port_guid": None if place.port_guid is None else str(place.port_guid),
    }


def _undecided(one: Undecided) -> dict[str, Any]:
    return {"rule": one.rule, "name": one.name, "missing": one.missing, "get": one.get}


def _spell(fact: Fact) -> str:
    where = fact.source or ""
    if fact.line is not None:
        where += f":{fact.line}"
    return f"{where}: {fact.text}" if where else fact.text


def _not_whole(diagnosis: Diagnosis) -> str:
    parts: dict[str, list[str]] = {}
    for part in diagnosis.looked_at:
        if part.complete is not True:
            parts.setdefault(part.text, []).append(part.what)
    return "; ".join(f"{', '.join(names)} ({text})" for text, names in parts.items()) or "nothing was looked at"
