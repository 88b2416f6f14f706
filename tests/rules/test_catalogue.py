"""What each rule must tell of itself."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from support.made_fabric import diagnosis, fabric

from ibkit.model.expectations import Expectations
from ibkit.model.findings import SEVERITIES
from ibkit.rules import catalogue
from ibkit.rules.evidence import PARTS
from ibkit.rules.rule import Rule


@pytest.mark.parametrize("rule", catalogue.ALL, ids=lambda rule: rule.name)
def test_a_rule_explains_itself(rule: Rule) -> None:
    assert re.fullmatch(r"R\d\d", rule.number)
    assert re.fullmatch(r"[a-z]+(?:-[a-z]+)*", rule.name)
    assert rule.severity in SEVERITIES
    assert rule.needs
    assert set(rule.needs) <= set(PARTS)
    assert rule.source
    for heading in (None, "Threshold", "Why", "Next"):
        text = rule.paragraph(heading)
        assert text.endswith("."), heading
        assert "  " not in text
    for limit in rule.limits:
        assert limit.unit


def test_names_are_unique() -> None:
    assert max(Counter(rule.name for rule in catalogue.ALL).values()) == 1


def test_they_are_found_by_number_name_and_part() -> None:
    assert [rule.name for rule in catalogue.find("R06")] == ["host-single-lane", "single-lane"]
    assert catalogue.find("r06") == catalogue.find("R06")
    assert [rule.number for rule in catalogue.find("single-lane")] == ["R06"]
    assert {rule.number for rule in catalogue.find("subnet-managers")} == {"R44"}
    assert catalogue.find("R99") == ()


@pytest.mark.parametrize("key", ["R20", "symbol-errors"])
def test_limits_are_changed_by_number_or_name(key: str) -> None:
    from support.made_fabric import counters, port_counters

    parts = {"fabric": fabric("h1[1]-s1[1]"), "counters": counters(port_counters("s1[1]", SymbolErrorCounter=50))}
    assert len(diagnosis("symbol-errors", **parts).findings) == 1
    changed = Expectations(limits={key: {"total": 51.0}})
    assert diagnosis("symbol-errors", **parts, expected=changed).findings == ()


def test_findings_come_worst_first() -> None:
    made = diagnosis(
        fabric=fabric(
            "h1[1]-s1[1] 1x HDR", "h2[1]-s1[2]", nodes={"h2": {"name": "MT4123 ConnectX6   Mellanox Technologies"}}
        ),
        earlier=fabric("h1[1]-s1[1] 1x HDR", "h2[1]-s1[2]", "h3[1]-s1[3]"),
    )
    assert [one.severity for one in made.findings] == ["critical", "warning", "info"]
