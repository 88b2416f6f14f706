"""Findings that somebody knows of: by rule, by place, until a day."""

from __future__ import annotations

import pytest
from support.made_fabric import diagnosis, fabric

from ibkit.model.expectations import Expectations, Waiver

SLOW = fabric("h1[1]-s1[1] 1x HDR", "h2[1]-s1[2] 1x HDR")


def shown(*waivers: Waiver, day: str = "2026-12-01") -> tuple[int, int]:
    """How many findings are shown, and how many waived."""
    made = diagnosis("single-lane", fabric=SLOW, expected=Expectations(waivers=waivers), day=day)
    return len(made.findings), len(made.waived)


@pytest.mark.parametrize(
    ("rule", "where", "waived"),
    [
        ("R06", "*", 2),
        ("single-lane", "*", 2),
        ("R04", "*", 0),
        ("R06", "host1", 1),
        ("R06", "host1*", 1),
        ("R06", "host? mlx5_0", 2),
        ("R06", "host3", 0),
        ("R06", "switch1", 2),
        ("R06", "0x0c00000000000200", 1),
        ("R06", "*port 2 (0x0b*", 1),
        ("R06", "host[1]", 0),
        ("R06", "", 0),
        ("R06", "*" * 50 + "x", 0),
        ("R06", "*o" * 40 + "x", 0),
    ],
)
def test_rule_and_place(rule: str, where: str, waived: int) -> None:
    assert shown(Waiver(rule, where, "known")) == (2 - waived, waived)


@pytest.mark.parametrize(("until", "waived"), [(None, 2), ("2026-12-01", 2), ("2026-12-02", 2), ("2026-11-30", 0)])
def test_its_last_day(until: str | None, waived: int) -> None:
    assert shown(Waiver("R06", "*", "known", until)) == (2 - waived, waived)


def test_what_is_left_of_an_incident() -> None:
    """The width of the link is waived, and not that its bits are damaged."""
    from support.made_fabric import counters, port_counters

    parts = {"fabric": SLOW, "counters": counters(port_counters("s1[1]", SymbolErrorCounter=50))}
    made = diagnosis(**parts, expected=Expectations(waivers=(Waiver("R06", "host1", "known"),)), day="2026-12-01")
    assert [(one.name, len(one.members)) for one in made.findings] == [("single-lane", 0), ("symbol-errors", 0)]
    assert [one.name for one in made.waived] == ["single-lane"]
