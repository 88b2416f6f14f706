"""Put findings of one cause together: one incident with its members, the cause before its symptoms."""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.model.findings import Finding
from ibkit.rules.evidence import Evidence


def into_incidents(findings: Sequence[Finding], evidence: Evidence) -> list[Finding]:
    """The findings, those that follow from another one as its members."""
    return list(findings)
