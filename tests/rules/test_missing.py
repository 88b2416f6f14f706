"""What is not there of a fabric as it was: nodes, links, cables that were moved, cards that were replaced."""

from __future__ import annotations

import pytest
from support.made_fabric import diagnosis, fabric, told

BEFORE = ("h1[1]-s1[1]", "h2[1]-s1[2]", "s1[20]-s2[1]", "s1[21]-s2[2]")


def without(*gone: str) -> list[str]:
    return [cable for cable in BEFORE if cable not in gone]


def test_nothing_is_missing() -> None:
    made = diagnosis("link-gone", fabric=fabric(*BEFORE), earlier=fabric(*BEFORE))
    assert (made.findings, made.undecided) == ((), ())


def test_what_is_new_is_no_finding() -> None:
    made = diagnosis("link-gone", fabric=fabric(*BEFORE, "h3[1]-s1[3]"), earlier=fabric(*BEFORE))
    assert made.findings == ()


def test_a_link_between_nodes_that_are_there() -> None:
    made = diagnosis("link-gone", fabric=fabric(*without("s1[21]-s2[2]")), earlier=fabric(*BEFORE))
    assert told(made) == [("link-gone", "critical", "s1[21] s2[2]")]
    assert made.findings[0].what == "the link is not there, both of its nodes are"


def test_a_host() -> None:
    made = diagnosis("link-gone", fabric=fabric(*without("h2[1]-s1[2]")), earlier=fabric(*BEFORE))
    assert told(made) == [("link-gone", "critical", "h2")]
    assert made.findings[0].what == "the node is not there, nor is its link"


def test_a_cable_that_was_moved() -> None:
    made = diagnosis("link-gone", fabric=fabric(*without("h2[1]-s1[2]"), "h2[1]-s1[9]"), earlier=fabric(*BEFORE))
    assert told(made) == [("link-gone", "info", "s1[2] h2[1]")]
    assert "host2 mlx5_0 port 1" in made.findings[0].what
    assert "is linked to switch1 port 9" in made.findings[0].what


def test_two_cables_that_were_exchanged() -> None:
    now = fabric("h1[1]-s1[2]", "h2[1]-s1[1]", *BEFORE[2:])
    made = diagnosis("link-gone", fabric=now, earlier=fabric(*BEFORE))
    assert told(made) == [("link-gone", "info", "s1[1] h1[1]"), ("link-gone", "info", "s1[2] h2[1]")]


def test_a_card_that_was_replaced() -> None:
    """The host has its name and a new GUID."""
    now = fabric("h1[1]-s1[1]", "h7[1]-s1[2]", *BEFORE[2:], nodes={"h7": {"name": "host2 mlx5_0"}})
    made = diagnosis("link-gone", fabric=now, earlier=fabric(*BEFORE))
    assert told(made) == [("link-gone", "warning", "h2")]
    assert "0x0c00000000000700 has its name now: the card was replaced" in made.findings[0].what


@pytest.mark.parametrize("complete", [None, False])
def test_an_incomplete_sweep_closes_nothing(complete: bool | None) -> None:
    now = fabric(*without("h2[1]-s1[2]", "s1[21]-s2[2]"), complete=complete, ports={"s1[21]": {"linked": None},
                 "s2[2]": {"linked": None}})  # fmt: skip
    made = diagnosis("link-gone", fabric=now, earlier=fabric(*BEFORE))
    assert made.findings == ()
    (undecided,) = made.undecided
    assert undecided.missing.startswith("2 nodes and links in the earlier sweep are not seen now")


def test_a_port_that_is_seen_without_its_neighbour_proves_it() -> None:
    now = fabric(*without("s1[21]-s2[2]"), complete=None, ports={"s1[21]": {"linked": False, "state": "Down"}})
    made = diagnosis("link-gone", fabric=now, earlier=fabric(*BEFORE))
    assert told(made) == [("link-gone", "critical", "s1[21] s2[2]")]


def test_an_earlier_sweep_that_was_incomplete_had_what_it_had() -> None:
    made = diagnosis("link-gone", fabric=fabric(*without("s1[21]-s2[2]")), earlier=fabric(*BEFORE, complete=False))
    assert told(made) == [("link-gone", "critical", "s1[21] s2[2]")]
