"""The diagnosis: findings worst first, what could not be decided below them, and one of either in full."""

from __future__ import annotations

from ibkit.model.findings import CRITICAL, INFO, WARNING, Diagnosis, Fact, Finding, Undecided
from ibkit.rules import catalogue
from ibkit.tui.view import level as levels
from ibkit.tui.view.lines import BLANK, Line, facts, heading, line, span
from ibkit.tui.view.table import Column, Row, Table

LEVELS = {CRITICAL: levels.CRITICAL, WARNING: levels.WARNING, INFO: levels.INFO}
COLUMNS = (
    Column("Severity", tinted=True),
    Column("Rule"),
    Column("What", flexible=True, least=30),
    Column("Where", flexible=True, least=20, turn=1, unknown=""),
    Column("More", right=True, drop=2, unknown=""),
    Column("Since", drop=3, unknown=""),
)


def head(diagnosis: Diagnosis) -> list[Line]:
    """What was looked at, for silence about the rest means nothing."""
    words = {True: "complete", False: "not complete", None: "whether that is all is not known"}
    return [
        *facts([(f"{part.what}", f"{part.text} ({words[part.complete]})") for part in diagnosis.looked_at], " "),
        BLANK,
    ]


def table(diagnosis: Diagnosis) -> Table:
    """A row for each incident, then one for each thing that could not be decided."""
    rows = [
        Row(one, LEVELS.get(one.severity, levels.UNKNOWN), (
            one.severity, one.rule, one.what, one.where or None, len(one.members) or None, one.since,
        ))
        for one in diagnosis.findings
    ]  # fmt: skip
    rows += [
        Row(one, levels.UNKNOWN, ("undecided", one.rule, f"{one.name}: {one.missing}", None, None, None))
        for one in diagnosis.undecided
    ]
    return Table("finding", COLUMNS, rows)


def short_lines(one: Finding | Undecided) -> list[Line]:
    """What the row cuts: the sentence, the evidence, the next step."""
    if isinstance(one, Undecided):
        return [line(" ", span(one.missing)), line(" to decide it: ", span(one.get or "-"))]
    lines = [line(" ", span(one.what)), line(" ", span(one.where, "dim"))]
    if one.evidence:
        lines.append(line(" evidence  ", span(_spell(one.evidence[0]))))
    return [*lines, line(" next      ", span(one.fix))]


def full_page(one: Finding | Undecided) -> list[Line]:
    """All of it, its members, and what the rule means."""
    if isinstance(one, Undecided):
        lines = facts([("rule", f"{one.rule} {one.name}"), ("missing", one.missing), ("to decide it", one.get or "-")])
        return [*lines, BLANK, *_rule_lines(one.rule, one.name)]
    lines = facts(
        [
            ("severity", (span(one.severity, levels.word(LEVELS.get(one.severity, levels.UNKNOWN))),)),
            ("rule", f"{one.rule} {one.name}"),
            ("what", one.what),
            ("where", one.where or "-"),
            *([("since", one.since)] if one.since else []),
            *(("evidence", _spell(fact)) for fact in one.evidence),
            ("why", one.why or "-"),
            ("next", one.fix or "-"),
            ("or else", one.otherwise or "-"),
        ]
    )
    if one.members:
        lines += [BLANK, heading(f"  {len(one.members)} findings have the same cause")]
        lines += [
            line("  ", span(member.rule, "caption"), " ", span(member.where), ": ", span(member.what))
            for member in one.members
        ]
    return [*lines, BLANK, *_rule_lines(one.rule, one.name)]


def _rule_lines(number: str, name: str) -> list[Line]:
    rule = next((rule for rule in catalogue.ALL if (rule.number, rule.name) == (number, name)), None)
    if rule is None:
        return []
    about = [("means", rule.paragraph()), ("threshold", rule.paragraph("Threshold")), ("source", rule.source)]
    limits = [(f"limit {limit.name}", f"{limit.default:g} {limit.unit}") for limit in rule.limits]
    return [heading("  The rule"), *facts([pair for pair in about if pair[1]] + limits)]


def _spell(fact: Fact) -> str:
    where = f"{fact.source}:{fact.line}" if fact.source and fact.line is not None else fact.source or ""
    return f"{fact.text} ({where})" if where else fact.text
