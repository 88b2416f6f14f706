"""Forwarding tables that do not lead where they should, on two switches with three hosts."""

from __future__ import annotations

import pytest
from support.made_fabric import diagnosis, routed, short

from ibkit.model.routes import NO_EXIT

GOOD = {1: 1, 2: 2, 3: 20}, {1: 20, 2: 20, 3: 3}


def test_every_way_arrives() -> None:
    made = diagnosis("broken-routes", **routed(*GOOD))
    assert (made.findings, made.undecided) == ((), ())


@pytest.mark.parametrize(
    ("first", "second", "place", "words"),
    [
        ({3: NO_EXIT}, {}, "s1", "switch1 has no exit for LID 3 (host3 mlx5_0)"),
        ({}, {1: NO_EXIT, 2: NO_EXIT}, "s2", "has no exit for LID 1 (host1 mlx5_0), LID 2 (host2 mlx5_0)"),
        ({3: 7}, {}, "s1[7]", "sends LID 3 (host3 mlx5_0) out of port 7, which has no link"),
        ({1: 2}, {}, "s1[2]", "sends LID 1 (host1 mlx5_0) out of port 2, behind which they are not"),
        ({1: 20}, {}, "s1", "is on a loop for LID 1 (host1 mlx5_0)"),
    ],
)
def test_a_fault(first: dict[int, int], second: dict[int, int], place: str, words: str) -> None:
    made = diagnosis("broken-routes", **routed(GOOD[0] | first, GOOD[1] | second))
    (finding,) = made.findings
    assert short(finding) == place
    assert words in finding.what
    assert made.undecided == ()


def test_two_faults_of_one_switch_are_two_findings() -> None:
    made = diagnosis("broken-routes", **routed(GOOD[0] | {3: NO_EXIT, 2: 7}, GOOD[1]))
    assert sorted(short(finding) for finding in made.findings) == ["s1", "s1[7]"]


def test_a_table_that_is_missing_leaves_its_ways_undecided() -> None:
    made = diagnosis("broken-routes", **routed(GOOD[0] | {2: NO_EXIT}, None))
    assert [short(finding) for finding in made.findings] == ["s1"]
    assert "4 of 6 ways" in made.undecided[0].missing
