"""Whether a user may open a device node: what the kernel decides by mode, owner and groups."""

from __future__ import annotations

from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Entry, Source

_READ_WRITE = 0o6


class Identity(NamedTuple):
    """A user by numbers. ``groups`` holds all of them."""

    uid: int
    groups: frozenset[int]

    def __str__(self) -> str:
        return f"uid {self.uid}"


def read_identity(source: Source) -> Identity | None:
    """Who runs ibkit there; None where ``id`` does not tell."""
    uid = _numbers(source, ("id", "-u"))
    groups = _numbers(source, ("id", "-G"))
    if len(uid) != 1 or not groups:
        return None
    return Identity(uid[0], frozenset(groups))


def may_open(node: Entry, identity: Identity | None) -> bool | None:
    """Whether the node may be opened for reading and writing; None where that is not known.

    Only the first class that fits counts (path_resolution(7)): an owner without the right gets none from the group.
    """
    if node.mode is None:
        return None
    if identity is None:
        return True if node.mode & _READ_WRITE == _READ_WRITE else None
    if identity.uid == 0:
        return True
    if identity.uid == node.uid:
        allowed = node.mode >> 6
    elif node.gid in identity.groups:
        allowed = node.mode >> 3
    else:
        allowed = node.mode
    return allowed & _READ_WRITE == _READ_WRITE


def _numbers(source: Source, argv: tuple[str, ...]) -> list[int]:
    words = source.run(argv, deadline_seconds=5).out.split()
    return [int(word) for word in words if word.isascii() and word.isdigit() and len(word) <= 10]
