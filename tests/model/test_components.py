"""Connected components against a search from each thing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ibkit.model.components import components

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=20)


def reached(start: int, pairs: list[tuple[int, int]]) -> set[int]:
    """All that can be reached, pair by pair."""
    found = {start}
    while more := {b for pair in pairs for a, b in (pair, pair[::-1]) if a in found} - found:
        found |= more
    return found


@given(PAIRS)
def test_the_same_one_for_all_that_are_connected_and_no_others(pairs: list[tuple[int, int]]) -> None:
    found = components(pairs)
    assert set(found) == {one for pair in pairs for one in pair}
    for one, its in found.items():
        assert its in found
        assert {other for other in found if found[other] == its} == reached(one, pairs)


def test_nothing() -> None:
    assert components([]) == {}


def test_a_long_chain_is_no_recursion() -> None:
    assert set(components((n, n + 1) for n in range(50_000)).values()) == {50_000}
