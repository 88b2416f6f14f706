"""What the rules share: a file whose lines can be quoted, what the fabric knows, and a bound on the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ibkit.model.findings import CRITICAL, WARNING, Fact, Finding
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

#: So many findings of one name are listed; a file of 100,000 bad lines is bad in one way.
MAX_OF_ONE_NAME = 100
#: The longest line that is quoted (characters).
_MAX_QUOTE = 160


class Known(NamedTuple):
    """What the subnet administrator says of its subnet; empty is not known.

    ``prefixes`` are the subnets that there are (64 bits each), the own one first. ``lids`` are the base LIDs of all
    ports by GUID; ``with_aliases`` says whether the alias GUIDs of the SA's GUIDInfo records are among them.
    """

    prefixes: tuple[int, ...] = ()
    lids: Mapping[int, int] = {}
    with_aliases: bool = False


class Page:
    """A file by its name, and its lines."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self._lines = text.split("\n")
        self.has_mark = text.startswith("\ufeff")
        self.is_binary = "\0" in text

    def line(self, number: int | None) -> str:
        """A line for people."""
        text = self._lines[number - 1].strip() if number and number <= len(self._lines) else ""
        return text if len(text) <= _MAX_QUOTE else f"{text[:_MAX_QUOTE]}..."

    def finding(self, name: str, severity: str, what: str, fix: str, *lines: int | None, why: str = "") -> Finding:
        """A finding with these lines as evidence; with none it is about the file."""
        facts = tuple(Fact(self.line(number), self.path, number) for number in lines) or (Fact("", self.path),)
        return Finding(what, (), facts, severity, name=name, why=why, fix=fix)

    def of_problems(self, problems: Iterable[Problem], mends: Mapping[str, tuple[str, str]]) -> Iterator[Finding]:
        """Findings of what the parser could not read, or takes as ibacm does; ``mends``: severity and mend by kind."""
        for problem in problems:
            severity, fix = mends.get(problem.kind, (WARNING, "write it as ibacm's own example does, or remove it"))
            yield self.finding(problem.kind, severity, problem.text, fix, problem.line)

    def of_its_bytes(self) -> Iterator[Finding]:
        """What editors do to a file."""
        if self.has_mark:
            what = "the file starts with a byte order mark, which ibacm takes for a part of the first word"
            yield self.finding("acm-byte-order-mark", CRITICAL, what, "save it as UTF-8 without a byte order mark", 1)
        if self.is_binary:
            what = "the file holds NUL bytes; ibacm ignores what follows one on its line"
            yield self.finding("acm-nul", CRITICAL, what, "save it as plain text")


def limited(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, of each name in each file only the first ones, and one that says how many there are more."""
    counts: Counter[tuple[str, str | None]] = Counter()
    kept = []
    for finding in findings:
        key = finding.name, finding.evidence[0].source
        counts[key] += 1
        if counts[key] <= MAX_OF_ONE_NAME:
            kept.append(finding)
    severities = {finding.name: finding.severity for finding in kept}
    for (name, path), count in counts.items():
        if count > MAX_OF_ONE_NAME:
            what = f"{count - MAX_OF_ONE_NAME} more findings of the kind {name}"
            kept.append(Finding(what, (), (Fact("", path),), severities[name], name=name, fix="as above"))
    return tuple(kept)
