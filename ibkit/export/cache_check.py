"""What is wrong with a cache and with ibacm's files, as a document (schema ibkit.cache_check/1) and as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ibkit.model.findings import Finding
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Any

SCHEMA = "ibkit.cache_check/1"

COLUMNS = ("severity", "name", "file", "line", "what", "why", "fix")


def check_document(findings: Sequence[Finding], problems: Iterable[Problem]) -> dict[str, Any]:
    """All findings in the order of the files and lines."""
    return {
        "schema": SCHEMA,
        "findings": [
            {
                "name": one.name,
                "severity": one.severity,
                "what": one.what,
                "why": one.why or None,
                "fix": one.fix or None,
                "evidence": [{"text": fact.text, "source": fact.source, "line": fact.line} for fact in one.evidence],
            }
            for one in findings
        ],
        "problems": [problem._asdict() for problem in problems],
    }


def check_rows(findings: Iterable[Finding]) -> Iterator[list[Any]]:
    """One row per finding in the order of COLUMNS, with its first line."""
    for one in findings:
        fact = one.evidence[0]
        yield [one.severity, one.name, fact.source, fact.line, one.what, one.why or None, one.fix or None]
