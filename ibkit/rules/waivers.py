"""Findings that somebody knows of, and has written down why and until when (ibkit.model.expectations)."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence

from ibkit.model.expectations import Waiver
from ibkit.model.findings import Finding
from ibkit.model.node_names import host_of


def split_by_waivers(
    findings: Sequence[Finding], waivers: Sequence[Waiver], day: str
) -> tuple[list[Finding], list[Finding]]:
    """Those to show, and those that a waiver covers on this ISO date. A waiver holds through its last day."""
    holding = _holding(waivers, day)
    shown: list[Finding] = []
    waived: list[Finding] = []
    for finding in findings:
        (waived if _first(finding, holding) else shown).append(finding)
    return shown, waived


def waiver_of(finding: Finding, waivers: Sequence[Waiver], day: str) -> Waiver | None:
    """The first waiver that covers a finding on this ISO date."""
    return _first(finding, _holding(waivers, day))


def _holding(waivers: Sequence[Waiver], day: str) -> list[tuple[Waiver, re.Pattern[str]]]:
    return [(waiver, _pattern(waiver.where)) for waiver in waivers if waiver.until is None or day <= waiver.until]


def _first(finding: Finding, holding: Sequence[tuple[Waiver, re.Pattern[str]]]) -> Waiver | None:
    for waiver, pattern in holding:
        if waiver.rule in (finding.rule, finding.name) and any(map(pattern.fullmatch, _texts(finding))):
            return waiver
    return None


def _pattern(where: str) -> re.Pattern[str]:
    """Only * and ? mean something: names have brackets of their own. The translation never takes long to match."""
    return re.compile(fnmatch.translate(where.replace("[", "[[]")))


def _texts(finding: Finding) -> Iterator[str]:
    """What a waiver may name: the place as it is shown, each end, its host, its GUID."""
    yield finding.where
    for place in finding.places:
        yield place.text
        for text in (place.name, host_of(place.name), place.host, place.guid, place.port_guid):
            if text:
                yield str(text)
