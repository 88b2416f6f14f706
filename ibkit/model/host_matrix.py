"""What moved the data between hosts as a small table: hosts of which nothing different is known are one group. Pure.

1,280 hosts have 818,560 pairs, and mostly one thing is to be told of all of them, and another one of n417. Two hosts
stay in one group as long as no known pair tells them apart. What a log does not say of a pair (a ring names two
neighbours of each host) keeps nobody apart: a cell says of how many of its pairs the transport is known. Time and
memory grow with the known pairs and the hosts, never with all pairs that there could be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ibkit.model import node_set
from ibkit.model.components import components
from ibkit.model.mpi import Layer, Pair
from ibkit.parsers.records import NamedTuple

#: Lines of evidence that a cell names at most.
MAX_EVIDENCE = 16
#: Rounds of splitting after which the hosts that still contradict each other stand alone.
_MAX_ROUNDS = 12

#: Two groups by number, the smaller one first.
_Key = tuple[int, int]


class Group(NamedTuple):
    """Hosts with nothing known that tells them apart. ``name`` is their short form: ``n[001-640]``."""

    name: str
    hosts: tuple[str, ...]


class Cell(NamedTuple):
    """What is known between the hosts of two groups, or of one (``row`` equals ``column``).

    ``transport`` is a verdict word, unknown where no pair is known. ``pairs`` counts the known pairs of hosts, of
    ``possible``.
    """

    row: int
    column: int
    transport: str = "unknown"
    pairs: int = 0
    possible: int = 0
    evidence: tuple[int, ...] = ()


class Matrix(NamedTuple):
    """``between`` holds the cells in which a pair of two different hosts is known, ``on_host`` what hosts do inside.

    Groups come in the order of their size, the largest first.
    """

    groups: tuple[Group, ...] = ()
    between: tuple[Cell, ...] = ()
    on_host: tuple[Cell, ...] = ()

    @property
    def usual(self) -> str | None:
        """The transport of most known pairs of hosts; None where none is known."""
        counts: Counter[str] = Counter()
        for cell in self.between:
            counts[cell.transport] += cell.pairs
        return max(counts, key=lambda word: (counts[word], word), default=None)

    def cell(self, row: int, column: int) -> Cell:
        """The cell of two groups."""
        row, column = min(row, column), max(row, column)
        known = (cell for cell in self.between if (cell.row, cell.column) == (row, column))
        return next(known, Cell(row, column, possible=_possible(self.groups, row, column)))

    def pairs_of(self, cell: Cell, layer: Layer) -> Iterator[Pair]:
        """The known pairs of hosts of one cell of ``between``, or of ``on_host``."""
        is_inside = cell in self.on_host
        row, column = ({*self.groups[number].hosts} for number in (cell.row, cell.column))
        for pair in layer.pairs:
            if (pair.a == pair.b) == is_inside and (
                (pair.a in row and pair.b in column) or (pair.b in row and pair.a in column)
            ):
                yield pair


def fold(layer: Layer) -> Matrix:
    """The layer's hosts and pairs of hosts as groups and cells."""
    group_of = _grouped(layer)
    numbers: dict[int, list[str]] = {}
    for host, number in group_of.items():
        numbers.setdefault(number, []).append(host)
    groups = sorted(map(_group, numbers.values()), key=lambda group: (-len(group.hosts), node_set.natural(group.name)))
    group_of = {host: number for number, group in enumerate(groups) for host in group.hosts}
    between: dict[_Key, _Sum] = {}
    on_host: dict[int, _Sum] = {}
    for pair in layer.pairs:
        if pair.a == pair.b:
            on_host.setdefault(group_of[pair.a], _Sum()).add(pair)
        else:
            between.setdefault(_key(group_of, pair), _Sum()).add(pair)
    return Matrix(
        tuple(groups),
        tuple(between[key].cell(*key, _possible(groups, *key)) for key in sorted(between)),
        tuple(on_host[number].cell(number, number, len(groups[number].hosts)) for number in sorted(on_host)),
    )


class _Sum:
    """What the pairs of one cell have in common."""

    def __init__(self) -> None:
        self._words: set[str] = set()
        self._pairs = 0
        self._evidence: dict[int, None] = {}

    def add(self, pair: Pair) -> None:
        self._words.add(pair.transport)
        self._pairs += 1
        if len(self._evidence) < MAX_EVIDENCE:
            self._evidence.update(dict.fromkeys(pair.evidence))

    def cell(self, row: int, column: int, possible: int) -> Cell:
        word = self._words.pop() if len(self._words) == 1 else "mixed"
        return Cell(row, column, word, self._pairs, possible, tuple(self._evidence)[:MAX_EVIDENCE])


def _group(hosts: list[str]) -> Group:
    hosts.sort(key=node_set.natural)
    return Group(",".join(node_set.short_names(hosts)), tuple(hosts))


def _possible(groups: tuple[Group, ...] | list[Group], row: int, column: int) -> int:
    size = len(groups[row].hosts)
    return size * (size - 1) // 2 if row == column else size * len(groups[column].hosts)


def _key(group_of: dict[str, int], pair: Pair) -> _Key:
    one, other = group_of[pair.a], group_of[pair.b]
    return (one, other) if one <= other else (other, one)


# -- which hosts are one group


def _grouped(layer: Layer) -> dict[str, int]:
    """Each host's group by number, such that the known pairs of two groups have one transport."""
    group_of = dict.fromkeys(layer.hosts, 0)
    inside: dict[str, set[str]] = {}
    for pair in layer.pairs:
        if pair.a == pair.b:
            group_of.setdefault(pair.a, 0)
            inside.setdefault(pair.a, set()).add(pair.transport)
        else:
            group_of[pair.a] = group_of[pair.b] = 1
    usual = Counter(map(frozenset, inside.values())).most_common(1)
    group_of = _split(group_of, inside, usual[0][0] if usual else frozenset())
    for _ in range(_MAX_ROUNDS):
        against = _contradictions(layer, group_of)
        if not against:
            return group_of
        finer = _by_words(layer, group_of, against)
        if _count(finer) == _count(group_of):
            finer = _by_islands(layer, group_of, against)
        if _count(finer) == _count(group_of):
            break
        group_of = finer
    alone = {number for key in _contradictions(layer, group_of) for number in key}
    return _split(group_of, {host: (host,) for host, number in group_of.items() if number in alone}, frozenset())


def _split(group_of: dict[str, int], marks: Mapping[str, Iterable[object]], none: frozenset[object]) -> dict[str, int]:
    """Groups by the old group and the marks of each host; ``none`` are those of a host without any."""
    numbers: dict[tuple[int, frozenset[object]], int] = {}
    return {
        host: numbers.setdefault((number, frozenset(marks[host]) if host in marks else none), len(numbers))
        for host, number in group_of.items()
    }


def _count(group_of: dict[str, int]) -> int:
    return len({*group_of.values()})


def _contradictions(layer: Layer, group_of: dict[str, int]) -> set[_Key]:
    """The pairs of groups between which more than one transport is known."""
    first: dict[_Key, str] = {}
    return {
        key
        for pair in layer.pairs
        if pair.a != pair.b and first.setdefault(key := _key(group_of, pair), pair.transport) != pair.transport
    }


def _against(layer: Layer, group_of: dict[str, int], against: set[_Key]) -> Iterator[Pair]:
    return (pair for pair in layer.pairs if pair.a != pair.b and _key(group_of, pair) in against)


def _by_words(layer: Layer, group_of: dict[str, int], against: set[_Key]) -> dict[str, int]:
    """Hosts that reach another group by different transports are different: the one whose pairs are all TCP."""
    seen: dict[str, set[tuple[int, str]]] = {}
    for pair in _against(layer, group_of, against):
        seen.setdefault(pair.a, set()).add((group_of[pair.b], pair.transport))
        seen.setdefault(pair.b, set()).add((group_of[pair.a], pair.transport))
    return _split(group_of, seen, frozenset())


def _by_islands(layer: Layer, group_of: dict[str, int], against: set[_Key]) -> dict[str, int]:
    """Hosts that one transport connects, and no pair of it with the others: two subnets with TCP between them."""
    counts = Counter(pair.transport for pair in _against(layer, group_of, against))
    for word in sorted(counts, key=lambda word: (counts[word], word)):
        mine = (pair for pair in _against(layer, group_of, against) if pair.transport == word)
        islands = components((pair.a, pair.b) for pair in mine)
        finer = _split(group_of, {host: (island,) for host, island in islands.items()}, frozenset())
        if _count(finer) > _count(group_of):
            return finer
    return group_of
