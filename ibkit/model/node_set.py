"""Sets of node names in the short form that Slurm, pdsh and clush use: ``n[01-16,20],login1``. Pure.

Several brackets in one name are a product, as in Slurm: ``c[1-2]-[01-34]`` are 68 names. The digits of a range's start
say how many the names have at least: ``n[08-11]`` are n08, n09, n10, n11. Source: the man pages of ``scontrol``
(show hostnames) and ``pdsh`` (hostlist expressions).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

#: More names than any cluster has; a slip of the pen such as n[1-99999999] is told and not expanded.
MAX_NAMES = 200_000
#: Longer runs of digits are no numbers of nodes.
_MAX_DIGITS = 12

_DIGITS = re.compile(rf"(?<![0-9])([0-9]{{1,{_MAX_DIGITS}}})(?![0-9])")
_RANGE = re.compile(rf"([0-9]{{1,{_MAX_DIGITS}}})(?:-([0-9]{{1,{_MAX_DIGITS}}}))?\Z")
#: What a name cannot have, for the short form means something by it.
_MARKS = re.compile(r"[\[\],\s]")

#: A name in parts: text and, in every second place, the digits that stand there in the names of a set.
_Parts = tuple[tuple[str, ...], ...]


class BadNodeSet(ValueError):
    """What is wrong with a text that should be a set of names."""


def expand(text: str) -> tuple[str, ...]:
    """The names of a short form, in its order, each once. Raises BadNodeSet.

    >>> expand("n[01-03,07],login1")
    ('n01', 'n02', 'n03', 'n07', 'login1')
    """
    names: dict[str, None] = {}
    for word in _words(text):
        parts: list[Sequence[str]] = []
        count = 1
        for index, piece in enumerate(re.split(r"\[([^\[\]]*)\]", word)):
            if index % 2 == 0 and _MARKS.search(piece):
                raise BadNodeSet(f"{_short(word)}: a blank, or a bracket without its partner")
            parts.append(_numbers(piece, word, MAX_NAMES // count) if index % 2 else (piece,))
            count *= len(parts[-1])
        for name in itertools.product(*parts):
            names["".join(name)] = None
        if len(names) > MAX_NAMES:
            raise BadNodeSet(f"{_short(text)}: more than {MAX_NAMES} names")
    return tuple(names)


def fold(names: Iterable[str]) -> str:
    """The short form of some names, in natural order. Raises BadNodeSet for a name with a bracket, comma or blank.

    >>> fold(["n2", "n10", "n1", "login1", "n3"])
    'login1,n[1-3,10]'
    """
    return ",".join(folded(names))


def folded(names: Iterable[str]) -> list[str]:
    """The parts of the short form, which ``fold`` joins. Raises BadNodeSet as it does."""
    sets: list[_Parts] = []
    for name in sorted(set(names), key=natural):
        if not can_fold(name):
            raise BadNodeSet(f"{_short(name)}: no name of a node")
        sets.append(tuple((part,) for part in _DIGITS.split(name)))
    longest = max(map(len, sets), default=0)
    for place in range(longest - 1 - longest % 2, 0, -2):
        sets = _merged(sets, place)
    return ["".join(_written(parts)) for parts in sets]


def short_names(names: Iterable[str]) -> list[str]:
    """The parts of the short form of any names. One that cannot stand in it is a part of its own, behind the others.

    >>> short_names(["n2", "n1", "leaf 7"])
    ['n[1-2]', 'leaf 7']
    """
    ordered = sorted(set(names), key=natural)
    return folded(filter(can_fold, ordered)) + [name for name in ordered if not can_fold(name)]


def can_fold(name: str) -> bool:
    """Whether it can stand in a short form."""
    return bool(name) and not _MARKS.search(name)


def natural(name: str) -> list[tuple[int, str]]:
    """A key that puts n2 before n10, and n01 before n1."""
    return [(int(part), part) if index % 2 else (-1, part) for index, part in enumerate(_DIGITS.split(name))]


def _words(text: str) -> Iterator[str]:
    """What stands between the commas that are outside of brackets."""
    for word in re.split(r",(?![^\[\]]*\])", text):
        if not word.strip():
            raise BadNodeSet(f"{_short(text)}: no name before or after a comma" if text.strip() else "no name at all")
        yield word.strip()


def _numbers(text: str, word: str, limit: int) -> list[str]:
    """The numbers of a bracket, with their leading zeros."""
    found: list[str] = []
    for piece in text.split(","):
        match = _RANGE.match(piece.strip())
        if not match:
            raise BadNodeSet(f"{_short(word)}: {_short(piece)!r} is no number and no range of numbers")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise BadNodeSet(f"{_short(word)}: the range {_short(piece)} goes backwards")
        if last - first >= limit - len(found):
            raise BadNodeSet(f"{_short(word)}: more than {MAX_NAMES} names")
        found += [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
    return found


def _merged(sets: list[_Parts], place: int) -> list[_Parts]:
    """Sets that differ in one place alone become one."""
    merged: dict[_Parts, list[str]] = {}
    for parts in sets:
        if place < len(parts):
            merged.setdefault((*parts[:place], *parts[place + 1 :]), []).extend(parts[place])
        else:
            merged[(*parts, ())] = []  # too short to have the place: kept as it is
    return [
        (*rest[:place], tuple(numbers), *rest[place:]) if numbers else rest[:-1] for rest, numbers in merged.items()
    ]


def _written(parts: _Parts) -> Iterator[str]:
    for index, texts in enumerate(parts):
        if index % 2 == 0 or len(texts) == 1:
            yield texts[0]
        else:
            yield f"[{','.join(_ranges(texts))}]"


def _ranges(numbers: Iterable[str]) -> Iterator[str]:
    """Consecutive numbers as ``first-last``, which stands for those with as many digits as the first at least."""
    left = dict.fromkeys(sorted(numbers, key=lambda text: (int(text), len(text))))
    for first in list(left):
        last = first
        while last in left:
            del left[last]
            following = str(int(last) + 1).zfill(len(first))
            if following not in left:
                yield first if last == first else f"{first}-{last}"
            last = following


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
