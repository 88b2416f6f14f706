"""Connected components: which things belong together, by pairs of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.parsers.erased import TypeVar

Thing = TypeVar("Thing")


def components(pairs: Iterable[tuple[Thing, Thing]]) -> dict[Thing, Thing]:
    """For each thing in a pair one of those that pairs connect it with, the same one for all of them.

    >>> found = components([("a", "b"), ("c", "d"), ("b", "e")])
    >>> found["a"] == found["b"] == found["e"] != found["c"] == found["d"]
    True
    """
    above: dict[Thing, Thing] = {}

    def top(one: Thing) -> Thing:
        while (higher := above.setdefault(one, one)) != one:
            above[one] = above[higher]
            one = higher
        return one

    for a, b in pairs:
        above[top(a)] = top(b)
    return {one: top(one) for one in list(above)}
