"""One record of two views of a thing, and where the two differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Any


def fill(speaker: Any, other: Any) -> Any:
    """The speaker's record with the other's value wherever the speaker knows nothing."""
    gaps = {field for field in speaker._fields if getattr(speaker, field) in (None, ())}
    return speaker._replace(**{field: getattr(other, field) for field in gaps})


def contradictions(
    where: str, one: Any, other: Any, fields: Iterable[str], speakers: tuple[str, str]
) -> Iterator[Problem]:
    """A problem for each field that both know and that differs. ``speakers`` are words like "by verbs"."""
    for field in fields:
        mine, theirs = getattr(one, field), getattr(other, field)
        if mine not in (None, ()) and theirs not in (None, ()) and mine != theirs:
            text = f"{where}: {field} is {_short(mine)} {speakers[0]} and {_short(theirs)} {speakers[1]}"
            yield Problem("contradiction", text)


def _short(value: Any) -> str:
    return f"a table of {len(value)} entries" if isinstance(value, tuple) else str(value)
