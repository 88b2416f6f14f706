"""One difference between two views, and all of them."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.model.ids import Guid
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple


class Where(NamedTuple):
    """What a difference is about: a node of the fabric or a port of it, or a device of a host or a port of it."""

    guid: Guid | None = None
    port: int | None = None
    name: str | None = None
    host: str | None = None
    device: str | None = None


class Change(NamedTuple):
    """A difference. ``kind`` is a stable word, ``before`` and ``after`` are plain values (None: was not, or is not
    there), ``text`` is for people. ``implied``: it follows from another one, as a lost node's links are lost.
    """

    kind: str
    where: Where
    before: Any
    after: Any
    text: str
    implied: bool = False


class Doubt(NamedTuple):
    """Something of which it cannot be told whether it changed, and why not."""

    kind: str
    where: Where
    text: str
    why: str
    implied: bool = False


class Part(NamedTuple):
    """A part of the views: fabric, subnet-managers, partitions or hosts. ``missing`` says what is not there, where it
    was not compared.
    """

    name: str
    compared: bool
    missing: str | None = None


class Comparison(NamedTuple):
    """All of it, in a stable order."""

    changes: tuple[Change, ...]
    doubts: tuple[Doubt, ...]
    parts: tuple[Part, ...]
    problems: tuple[Problem, ...] = ()


def changed(kind: str, where: Where, subject: str, what: str, before: Any, after: Any) -> Iterator[Change]:
    """That a value is another one; nothing where either of the two is not known."""
    if before is not None and after is not None and before != after:
        yield Change(kind, where, before, after, f"{subject} has {what} {after}, before {before}")


def one_sided(kind: str, where: Where, value: Any, text: str, *, is_new: bool, implied: bool = False) -> Change:
    """That something is there in one of the two views only."""
    return Change(kind, where, None if is_new else value, value if is_new else None, text, implied)
