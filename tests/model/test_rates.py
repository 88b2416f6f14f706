"""Ranks of widths and speeds. The order of generations and the words are the specification's and the tools'."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.model.rates import (
    Choice,
    best_common,
    generation,
    generation_of_rank,
    lane_gbps,
    lanes,
    rate_gbps,
    speed_choice,
    speed_rank,
    width_choice,
    width_speed,
)

GENERATIONS = ["SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"]


@pytest.mark.parametrize(
    ("width", "count"),
    [
        ("1x", 1), ("2X", 2), ("4x", 4), ("8X", 8), ("12X", 12), ("16x", None), ("3x", None), ("0x", None),
        (None, None), ("", None), ("??", None), ("???", None), ("undefined (32)", None), ("4", None), ("x", None),
        ("\u0664x", None),
    ],
)  # fmt: skip
def test_a_width_ranks_by_its_lanes(width: str | None, count: int | None) -> None:
    assert lanes(width) == count


def test_the_generations_in_their_order() -> None:
    assert [speed_rank(name) for name in GENERATIONS] == list(range(9))
    assert [generation_of_rank(rank) for rank in range(9)] == GENERATIONS
    rates = [lane_gbps(name) for name in GENERATIONS]
    assert rates == [2.5, 5.0, 10.0, 10.3125, 14.0625, 25.0, 50.0, 100.0, 200.0]


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("2.5 Gbps", "SDR"), ("10.0 Gbps", "QDR"), ("10.0 Gbps (FDR10)", "FDR10"), ("25.78125 Gbps", "EDR"),
        ("53.125 Gbps", "HDR"), ("212.5 Gbps", "XDR"), ("hdr", "HDR"), (" NDR ", "NDR"),
        ("undefined (9)", None), ("Unknown", None), ("???", None), ("425.0 Gbps", None), ("GDR", None), (None, None),
    ],
)  # fmt: skip
def test_a_speed_as_the_tools_print_it(printed: str | None, name: str | None) -> None:
    assert generation(printed) == name
    assert (speed_rank(printed) is None) == (name is None)


@pytest.mark.parametrize(
    ("width", "speed", "gbps"),
    [("4x", "HDR", 200.0), ("2x", "NDR", 200.0), ("12x", "QDR", 120.0), ("4x", "???", None), (None, "HDR", None)],
)
def test_what_a_link_carries(width: str | None, speed: str | None, gbps: float | None) -> None:
    assert rate_gbps(width, speed) == gbps


def test_for_people() -> None:
    assert [width_speed("4x", "HDR"), width_speed(None, "HDR"), width_speed("4x", None), width_speed(None, None)] == [
        "4x HDR", "?x HDR", "4x ?", None,
    ]  # fmt: skip


def choice(*ranks: int, whole: bool = True) -> Choice:
    return Choice(frozenset(ranks), whole)


@pytest.mark.parametrize(
    ("words", "known"),
    [
        ("1X or 4X", choice(1, 4)),
        ("1X or 4X or 8X or 12X or 2X", choice(1, 2, 4, 8, 12)),
        ("4X", choice(4)),
        ("1X or undefined (64)", choice(1, whole=False)),
        ("undefined (0) (IBA extension)", None),
        ("undefined (0)", None),
        ("", None),
        (None, None),
    ],
)
def test_the_widths_of_a_port(words: str | None, known: Choice | None) -> None:
    assert width_choice(words) == known


@pytest.mark.parametrize(
    ("words", "known"),
    [
        ("2.5 Gbps or 5.0 Gbps or 10.0 Gbps", choice(0, 1, 2)),
        ("2.5 Gbps or 5.0 Gbps or 10.0 Gbps or 14.0625 Gbps or 25.78125 Gbps or 53.125 Gbps", choice(0, 1, 2, 4, 5, 6)),
        ("2.5 Gbps or 0", choice(0)),
        ("10.0 Gbps or No Extended Speed", choice(2)),
        ("SDR or FDR10", choice(0, 3)),
        ("HDR,EDR,FDR,QDR,DDR,SDR", choice(0, 1, 2, 4, 5, 6)),
        ("10.0 Gbps or undefined (64)", choice(2, whole=False)),
        ("No Extended Speed", None),
        ("Extended speed", None),
    ],
)
def test_the_speeds_of_a_port(words: str, known: Choice | None) -> None:
    assert speed_choice(words) == known


def test_two_ports_train_to_the_best_that_both_have() -> None:
    assert best_common(choice(1, 2, 4), choice(1, 4, 12)) == (4, True)
    assert best_common(choice(1, 4), choice(1, 2)) == (1, True)
    assert best_common(choice(1, 4), choice(4, whole=False)) == (4, False)
    assert best_common(choice(1), choice(4)) == (None, True)
    assert best_common(None, choice(4)) == best_common(choice(4), None) == (None, False)


@given(st.text())
def test_no_word_makes_it_fail(text: str) -> None:
    assert (rate_gbps(text, text) is None) or text
    for known in (width_choice(text), speed_choice(text)):
        assert known is None or known.ranks
