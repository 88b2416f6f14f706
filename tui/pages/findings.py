"""What the rules say: incidents, their members and evidence, the rule behind each; and waivers, after asking."""

from __future__ import annotations

import os
from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

from ibkit.model.findings import Fact, Finding, Undecided
from ibkit.sources.site import Site
from ibkit.tui.pages.page import Ask, Content, DetailPage, Outcome, Page, PageKey, Waive, why_empty
from ibkit.tui.snapshot import WAIVER, Part, Reading, Snapshot, Task
from ibkit.tui.view import findings
from ibkit.tui.view.lines import Line, line, span

if TYPE_CHECKING:
    from ibkit.rules.waiving import Addition

#: Where waivers go that nobody has named a file for.
DEFAULT_FILE = "./expectations.toml"
FOR_EVER = "for ever"
EXPLAIN = PageKey("x", "explain", "what the rule means, its limits, its source", "explain")
WAIVE = PageKey("W", "waive", "write into the expectations that this is known, after asking", "waive", is_private=True)


class FindingsPage(Page):
    """What is wrong, worst first, what could not be decided, and what is waived."""

    name, title = "findings", "Findings"
    detail_rows = 4
    keys = (EXPLAIN, WAIVE)

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """What was looked at, and the table of findings."""
        reading = snapshot.check
        if reading is None or reading.value is None:
            return Content(empty=why_empty(reading or Reading(), "what the rules need"))
        diagnosis = reading.value.diagnosis
        return Content(findings.head(diagnosis), findings.table(diagnosis), "no finding in what was looked at")

    def detail(self, snapshot: Snapshot, key: Hashable) -> list[Line]:
        """The finding in short."""
        if not isinstance(key, Finding | Undecided):
            return []
        return findings.short_lines(key, _waiver(snapshot, key))

    def open(self, snapshot: Snapshot, key: Finding | Undecided) -> Page:
        """All of it."""
        return FindingPage(key)

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """Explain the rule, or waive the finding."""
        if not isinstance(key, Finding | Undecided):
            return "there is no finding here"
        return _explain(key) if name == EXPLAIN.name else _waive(snapshot, key)


class FindingPage(Page):
    """One finding: what to do, on what it stands, what has the same cause."""

    name = "finding"
    detail_rows = 3
    keys = (EXPLAIN, WAIVE)

    def __init__(self, finding: Finding | Undecided) -> None:
        self.finding = finding
        self.title = f"{finding.rule} {finding.name}"

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """All of it, and a row for each piece of evidence and each member."""
        lines = findings.full_lines(self.finding, _waiver(snapshot, self.finding))
        if isinstance(self.finding, Undecided):
            return Content(lines)
        made = findings.member_table(self.finding)
        return Content(lines, made if made.rows else None)

    def detail(self, snapshot: Snapshot, key: Any) -> list[Line]:
        """The piece of evidence, or the member, in short."""
        one = key[1] if isinstance(key, tuple) else None
        if isinstance(one, Fact):
            return findings.fact_lines(one)
        return findings.short_lines(one, _waiver(snapshot, one)) if isinstance(one, Finding) else []

    def open(self, snapshot: Snapshot, key: Any) -> Outcome:
        """The member, or the piece of evidence, in full."""
        one = key[1]
        return FindingPage(one) if isinstance(one, Finding) else DetailPage("evidence", findings.fact_lines(one))

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """Of the member that the cursor is on, else of the finding itself."""
        one = key[1] if isinstance(key, tuple) and isinstance(key[1], Finding) else self.finding
        return _explain(one) if name == EXPLAIN.name else _waive(snapshot, one)


class WaivePage(Page):
    """The lines of a waiver, before they are written."""

    name, title = "waive", "Waive"
    opens = False
    keys = (WAIVE,)

    def __init__(self, task: Task) -> None:
        self._task = task

    def task(self, site: Site) -> Task:
        """Read the file, and find out what would be written."""
        return self._task

    def content(self, snapshot: Snapshot, width: int = 80, height: int = 24) -> Content:
        """The lines, or why there are none."""
        reading: Reading[Addition] = snapshot.readings.get(self._task.part, Reading())
        if reading.failure is not None:
            return Content([line(" ", span(reading.failure, "warning")), line(" nothing is written; esc goes back")])
        if reading.value is None:
            return Content(empty="reading the file ...")
        added = reading.value
        return Content(findings.addition_lines(added.path, added.before is None, added.lines))

    def press(self, name: str, snapshot: Snapshot, key: Any) -> Outcome:
        """Write them."""
        reading: Reading[Addition] = snapshot.readings.get(self._task.part, Reading())
        return Waive(reading.value) if reading.value is not None else "there is nothing to write"


def _waiver(snapshot: Snapshot, one: Finding | Undecided) -> Any:
    sample = snapshot.check.value if snapshot.check else None
    if sample is None or not isinstance(one, Finding):
        return None
    return findings.waiver_in(sample.collected, one)


def _explain(one: Finding | Undecided) -> Outcome:
    lines = findings.rule_lines(one.rule, one.name)
    return DetailPage(f"rule {one.rule}", lines) if lines else f"there is no rule {one.rule} {one.name}"


def _waive(snapshot: Snapshot, one: Finding | Undecided) -> Outcome:
    """Ask for the file, for the reason, for the last day; then show what will be written."""
    sample = snapshot.check.value if snapshot.check else None
    if sample is None or not isinstance(one, Finding):
        return "what is not decided is no finding that could be waived"
    if _waiver(snapshot, one) is not None:
        return "it is waived already"
    expected = sample.collected.expected
    path = (expected.source if expected else None) or DEFAULT_FILE

    def ask_why(given: str) -> Outcome:
        path = os.path.expanduser(given)
        return Ask(f"why is this known? it goes into {path}", partial(ask_until, path))

    def ask_until(path: str, why: str) -> Outcome:
        return Ask("its last day, such as 2027-01-31", partial(show, path, why), FOR_EVER)

    def show(path: str, why: str, until: str) -> Outcome:
        day = sample.collected.day
        arguments = path, one, why, None if until == FOR_EVER else until, day
        return WaivePage(Task(Part(WAIVER, f"{path} {one.name} {one.where} {why} {until}"), partial(_plan, *arguments)))

    return Ask("the file of expectations that the waiver goes into", ask_why, path)


def _plan(path: str, finding: Finding, why: str, until: str | None, day: str) -> Addition:
    from ibkit.rules.waiving import plan

    return plan(path, finding, why, until, day)
