"""The diagnosis: findings worst first, what could not be decided and what is waived below them, and one in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ibkit.model.expectations import Waiver
from ibkit.model.findings import CRITICAL, INFO, WARNING, Diagnosis, Fact, Finding, Undecided
from ibkit.rules import catalogue
from ibkit.rules.evidence import Collected
from ibkit.rules.waivers import waiver_of
from ibkit.tui.view import level as levels
from ibkit.tui.view.lines import BLANK, Line, facts, line, span
from ibkit.tui.view.table import Column, Row, Table

LEVELS = {CRITICAL: levels.CRITICAL, WARNING: levels.WARNING, INFO: levels.INFO}
#: What a row is, beside the severities.
FINDING, UNDECIDED, WAIVED = "finding", "undecided", "waived"
COLUMNS = (
    Column("Severity", tinted=True),
    Column("Rule"),
    Column("What", flexible=True, least=30),
    Column("Where", flexible=True, least=20, turn=1, unknown=""),
    Column("More", right=True, drop=2, unknown=""),
    Column("Since", drop=3, unknown=""),
)
MEMBER_COLUMNS = (
    Column("Is", tinted=True),
    Column("Rule", unknown=""),
    Column("What", flexible=True, least=30),
    Column("Where", flexible=True, least=20, turn=1, unknown=""),
)


class FindingTable(Table):
    """Findings, what is undecided and what is waived are counted each by itself: none of them is one of the others."""

    def counted(self, shown: Sequence[int]) -> str:
        """``4 findings, 25 undecided``; where not all are shown ``1 of 4 findings, 0 of 25 undecided``."""
        all_of, of = (Counter(map(_kind_of, rows)) for rows in (self.rows, (self.rows[i] for i in shown)))
        told = []
        for kind, words in ((FINDING, ("finding", "findings")), (UNDECIDED, 2 * (UNDECIDED,)), (WAIVED, 2 * (WAIVED,))):
            if total := all_of[kind]:
                some = "" if len(shown) == len(self.rows) else f"{of[kind]:,} of "
                told.append(f"{some}{total:,} {words[total > 1]}")
        return ", ".join(told) if FINDING in all_of else ", ".join(["no finding", *told])


def _kind_of(row: Row) -> str:
    return row.values[0] if row.values[0] in (UNDECIDED, WAIVED) else FINDING


def head(diagnosis: Diagnosis) -> list[Line]:
    """What was looked at, for silence about the rest means nothing."""
    words = {True: "complete", False: "not complete", None: "whether that is all is not known"}
    return [
        *facts([(f"{part.what}", f"{part.text} ({words[part.complete]})") for part in diagnosis.looked_at], " "),
        BLANK,
    ]


def table(diagnosis: Diagnosis) -> Table:
    """A row for each incident, then one for each thing that could not be decided, then those that are waived."""
    rows = [
        Row(one, level_of(one), (
            one.severity, one.rule, one.what, one.where or None, len(one.members) or None, one.since,
        ))
        for one in diagnosis.findings
    ]  # fmt: skip
    rows += [
        Row(one, levels.UNKNOWN, (UNDECIDED, one.rule, f"{one.name}: {one.missing}", None, None, None))
        for one in diagnosis.undecided
    ]
    rows += [
        Row(one, levels.OK, (WAIVED, one.rule, one.what, one.where, len(one.members) or None, one.since))
        for one in diagnosis.waived
    ]
    return FindingTable("finding", COLUMNS, rows)


def level_of(finding: Finding) -> int:
    """How bad a finding is; a severity that nobody knows is unknown."""
    return LEVELS.get(finding.severity, levels.UNKNOWN)


def waiver_in(collected: Collected, finding: Finding) -> Waiver | None:
    """The waiver that covers a finding."""
    return waiver_of(finding, collected.expected.waivers, collected.day) if collected.expected else None


def short_lines(one: Finding | Undecided, waiver: Waiver | None = None) -> list[Line]:
    """What the row cuts: the sentence, the evidence, the next step; of one that is waived why that is."""
    if isinstance(one, Undecided):
        return [line(" ", span(one.missing)), line(" to decide it: ", span(one.get or "-"))]
    lines = [line(" ", span(one.what)), line(" ", span(one.where, "dim"))]
    if waiver is not None:
        return [*lines, line(" waived    ", span(_waived(waiver)))]
    if one.evidence:
        lines.append(line(" evidence  ", span(spell(one.evidence[0]))))
    return [*lines, line(" next      ", span(one.fix))]


def full_lines(one: Finding | Undecided, waiver: Waiver | None = None) -> list[Line]:
    """All of it but its members and its evidence, which are rows."""
    if isinstance(one, Undecided):
        return facts([("rule", f"{one.rule} {one.name}"), ("missing", one.missing), ("to decide it", one.get or "-")])
    return [
        *facts(
            [
                ("severity", (span(one.severity, levels.word(level_of(one))),)),
                *([("waived", _waived(waiver))] if waiver else []),
                ("rule", f"{one.rule} {one.name}"),
                ("what", one.what),
                ("where", one.where or "-"),
                *([("since", one.since)] if one.since else []),
                ("why", one.why or "-"),
                ("next", (span(one.fix or "-", "fix"),)),
                ("or else", one.otherwise or "-"),
            ]
        ),
        BLANK,
    ]


def member_table(finding: Finding) -> Table:
    """The pieces of evidence, then the findings that have the same cause."""
    rows = [
        Row((number, fact), levels.OK, ("evidence", None, fact.text, _place(fact)))
        for number, fact in enumerate(finding.evidence)
    ]
    rows += [
        Row((number, member), level_of(member), (member.severity, member.rule, member.what, member.where))
        for number, member in enumerate(finding.members)
    ]
    noun = "piece of evidence" if not finding.members else "piece of evidence or member"
    return Table(noun, MEMBER_COLUMNS, rows, plural=noun.replace("piece", "pieces").replace("member", "members"))


def fact_lines(fact: Fact) -> list[Line]:
    """A piece of evidence in full."""
    return facts([("evidence", fact.text), ("source", fact.source or "-"), ("line", fact.line or "-")], " ")


def rule_lines(number: str, name: str) -> list[Line]:
    """What a rule means, its limits, its source; empty where there is no such rule."""
    rule = next((rule for rule in catalogue.ALL if (rule.number, rule.name) == (number, name)), None)
    if rule is None:
        return []
    about = [
        ("rule", f"{rule.number} {rule.name}"),
        ("severity", rule.severity),
        ("means", rule.paragraph()),
        ("looks at", ", ".join(rule.needs) or "everything"),
        ("threshold", rule.paragraph("Threshold")),
        *((f"limit {limit.name}", f"{limit.default:g} {limit.unit}") for limit in rule.limits),
        ("why it matters", rule.paragraph("Why")),
        ("what to do", rule.paragraph("Next")),
        ("or else", rule.paragraph("Else")),
        ("source", rule.source),
    ]
    return facts([pair for pair in about if pair[1]])


def addition_lines(path: str, is_new: bool, added: Sequence[str]) -> list[Line]:
    """The lines that will be written, for the user to confirm."""
    where = f"{path} will be made, with these lines:" if is_new else f"below all that is in {path} is added:"
    lines = [line("   ", span(text, "fix")) for text in added]
    return [line(" ", span(where)), BLANK, *lines, BLANK, line(" W writes them; esc writes nothing")]


def spell(fact: Fact) -> str:
    """``what was seen (where:line)``."""
    where = _place(fact)
    return f"{fact.text} ({where})" if where else fact.text


def _place(fact: Fact) -> str | None:
    return f"{fact.source}:{fact.line}" if fact.source and fact.line is not None else fact.source


def _waived(waiver: Waiver) -> str:
    until = f", until {waiver.until}" if waiver.until else ""
    line_of_it = f" (line {waiver.line})" if waiver.line else ""
    return f"{waiver.why}{until}{line_of_it}"
