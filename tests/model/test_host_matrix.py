"""The table of hosts: groups, cells, and that nothing of the pairs is lost or invented."""

from __future__ import annotations

import random
import time
from collections import Counter
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ibkit.model.host_matrix import MAX_EVIDENCE, Cell, Matrix, fold
from ibkit.model.mpi import Layer, Pair

WORDS = ("ib", "tcp", "unknown", "shm")


def layer(pairs: list[Pair], hosts: tuple[str, ...] = ()) -> Layer:
    return Layer("mpi", "mixed", "mixed", hosts=hosts, pairs=tuple(pairs))


def names(count: int, first: int = 1) -> list[str]:
    return [f"n{number:04}" for number in range(first, first + count)]


def ring(hosts: list[str], word: str = "ib") -> list[Pair]:
    return [Pair(*sorted((a, b)), word) for a, b in zip(hosts, [*hosts[1:], hosts[0]], strict=True)]


def told(matrix: Matrix) -> dict[tuple[str, str], tuple[str, int, int]]:
    groups = [group.name for group in matrix.groups]
    return {(groups[c.row], groups[c.column]): (c.transport, c.pairs, c.possible) for c in matrix.between}


def between(matrix: Matrix, a: str, b: str) -> Cell:
    number = {host: index for index, group in enumerate(matrix.groups) for host in group.hosts}
    return matrix.cell(number[a], number[b])


# -- groups and cells


def test_two_hosts() -> None:
    matrix = fold(
        layer([Pair("n01", "n02", "ib", ((0, 2), (1, 3)), (1, 2)), Pair("n01", "n01", "shm", ((0, 1),), (3,))])
    )
    assert [group.name for group in matrix.groups] == ["n[01-02]"]
    assert matrix.between == (Cell(0, 0, "ib", 1, 1, (1, 2)),)
    assert matrix.on_host == (Cell(0, 0, "shm", 1, 2, (3,)),)
    assert matrix.usual == "ib"


def test_a_layer_without_pairs() -> None:
    assert fold(layer([])) == Matrix()
    assert fold(layer([])).usual is None
    matrix = fold(layer([], ("n01", "n02")))
    assert [group.name for group in matrix.groups] == ["n[01-02]"]
    assert matrix.cell(0, 0) == Cell(0, 0, "unknown", 0, 1)


def test_one_bad_host_in_an_all_to_all() -> None:
    pairs = [Pair(a, b, "tcp" if "n0003" in (a, b) else "ib") for a, b in combinations(names(5), 2)]
    assert told(fold(layer(pairs))) == {
        ("n[0001-0002,0004-0005]", "n[0001-0002,0004-0005]"): ("ib", 6, 6),
        ("n[0001-0002,0004-0005]", "n0003"): ("tcp", 4, 4),
    }


def test_a_ring_is_one_group_whose_cell_says_how_much_is_known() -> None:
    assert told(fold(layer(ring(names(1280))))) == {("n[0001-1280]", "n[0001-1280]"): ("ib", 1280, 818_560)}


def test_one_bad_host_in_a_ring() -> None:
    hosts = names(640)
    pairs = [pair._replace(transport="tcp") if "n0417" in (pair.a, pair.b) else pair for pair in ring(hosts)]
    matrix = fold(layer(pairs))
    assert [group.name for group in matrix.groups] == ["n[0001-0415,0419-0640]", "n[0416,0418]", "n0417"]
    assert between(matrix, "n0416", "n0417")[2:5] == ("tcp", 2, 2)
    assert between(matrix, "n0001", "n0417").transport == "unknown", "the ring says nothing of these two"
    assert matrix.usual == "ib"


def test_two_islands_with_tcp_between_them() -> None:
    one, other = names(8), names(8, first=101)
    pairs = [Pair(a, b, "ib") for island in (one, other) for a, b in combinations(island, 2)]
    pairs += [Pair(a, b, "tcp") for a in one for b in other]
    assert told(fold(layer(pairs))) == {
        ("n[0001-0008]", "n[0001-0008]"): ("ib", 28, 28),
        ("n[0001-0008]", "n[0101-0108]"): ("tcp", 64, 64),
        ("n[0101-0108]", "n[0101-0108]"): ("ib", 28, 28),
    }


def test_two_bad_links() -> None:
    bad = {("n0002", "n0003"), ("n0005", "n0006")}
    pairs = [Pair(a, b, "tcp" if (a, b) in bad else "ib") for a, b in combinations(names(8), 2)]
    matrix = fold(layer(pairs))
    assert [group.name for group in matrix.groups] == ["n[0001,0004,0007-0008]", "n[0002-0003]", "n[0005-0006]"]
    assert [cell.transport for cell in matrix.between] == ["ib", "ib", "ib", "tcp", "ib", "tcp"]


def test_a_host_of_which_nothing_is_known_is_not_among_those_that_are_known() -> None:
    matrix = fold(layer(ring(names(4)), (*names(4), "n0009")))
    assert [group.name for group in matrix.groups] == ["n[0001-0004]", "n0009"]
    assert between(matrix, "n0001", "n0009") == Cell(0, 1, "unknown", 0, 4)


def test_what_hosts_do_inside_tells_them_apart_only_where_it_is_known() -> None:
    pairs = [
        *ring(names(4)),
        Pair("n0001", "n0001", "shm"),
        Pair("n0002", "n0002", "tcp"),
        Pair("n0003", "n0003", "shm"),
    ]
    matrix = fold(layer(pairs))
    assert [group.name for group in matrix.groups] == ["n[0001,0003-0004]", "n0002"]
    assert [(c.transport, c.pairs, c.possible) for c in matrix.on_host] == [("shm", 2, 3), ("tcp", 1, 1)]


def test_a_pair_that_is_told_twice_and_differently_is_mixed() -> None:
    matrix = fold(layer([Pair("a", "b", "ib"), Pair("b", "a", "tcp"), Pair("a", "c", "ib")]))
    assert between(matrix, "a", "b").transport == "mixed"
    assert between(matrix, "a", "c").transport == "ib"


def test_names_that_cannot_stand_in_a_short_form() -> None:
    matrix = fold(layer([Pair("n[1]", "n2", "ib"), Pair("n2", "", "ib")]))
    assert matrix.groups[0].hosts == ("", "n2", "n[1]")
    assert matrix.groups[0].name == "n2,,n[1]"


def test_a_cell_names_some_lines_of_evidence() -> None:
    pairs = [pair._replace(evidence=(number,)) for number, pair in enumerate(ring(names(100)), 1)]
    assert fold(layer(pairs)).between[0].evidence == tuple(range(1, MAX_EVIDENCE + 1))


def test_the_pairs_of_a_cell() -> None:
    pairs = [Pair("a", "b", "ib"), Pair("c", "a", "tcp"), Pair("c", "b", "tcp"), Pair("a", "a", "shm")]
    matrix = fold(layer(pairs))
    assert [group.name for group in matrix.groups] == ["a,b", "c"]
    assert list(matrix.pairs_of(matrix.cell(0, 1), layer(pairs))) == pairs[1:3]
    assert list(matrix.pairs_of(matrix.cell(0, 0), layer(pairs))) == pairs[:1]
    assert list(matrix.pairs_of(matrix.on_host[0], layer(pairs))) == pairs[3:]


def test_an_all_to_all_of_many_hosts_is_folded_in_time() -> None:
    bad = {"n0003", "n0100"}
    found = layer([Pair(a, b, "tcp" if {a, b} & bad else "ib") for a, b in combinations(names(300), 2)])
    start = time.process_time()
    matrix = fold(found)
    assert time.process_time() - start < 2, "44,850 pairs"
    assert [len(group.hosts) for group in matrix.groups] == [298, 2]


def test_random_transports_fold_nothing() -> None:
    """Nothing to be folded: as many groups as hosts, and as many cells as pairs."""
    chance = random.Random(7)
    pairs = [Pair(a, b, chance.choice(WORDS)) for a, b in combinations(names(60), 2)]
    matrix = fold(layer(pairs))
    assert (len(matrix.groups), len(matrix.between)) == (60, len(pairs))


# -- properties

HOSTS = names(9)
PAIRS = st.dictionaries(
    st.tuples(st.sampled_from(HOSTS), st.sampled_from(HOSTS)).map(lambda ends: tuple(sorted(ends))),
    st.tuples(st.sampled_from(WORDS), st.integers(0, 3)),
    max_size=45,
)


@given(PAIRS)
def test_unfolding_gives_the_pairs_back(found: dict[tuple[str, str], tuple[str, int]]) -> None:
    pairs = [
        Pair(a, b, word, tuple((0, rank) for rank in range(ranks)), (number,))
        for number, ((a, b), (word, ranks)) in enumerate(found.items())
    ]
    a_layer = layer(pairs, tuple(HOSTS))
    matrix = fold(a_layer)
    assert sorted(host for group in matrix.groups for host in group.hosts) == HOSTS
    unfolded = {
        (pair.a, pair.b): cell.transport
        for cell in (*matrix.between, *matrix.on_host)
        for pair in matrix.pairs_of(cell, a_layer)
    }
    assert unfolded == {pair[:2]: pair.transport for pair in pairs}
    for cells, is_inside in ((matrix.between, False), (matrix.on_host, True)):
        mine = [pair for pair in pairs if (pair.a == pair.b) == is_inside]
        assert sum(cell.pairs for cell in cells) == len(mine)
        assert {number for cell in cells for number in cell.evidence} <= {n for pair in mine for n in pair.evidence}
        assert all(cell.pairs <= cell.possible for cell in cells)


@given(st.lists(st.sampled_from(("ib", "tcp", "roce")), min_size=10, max_size=10))
def test_where_all_is_known_groups_are_hosts_with_equal_rows(transports: list[str]) -> None:
    hosts = HOSTS[:5]
    known = dict(zip(combinations(hosts, 2), transports, strict=True))
    word = {**known, **{(b, a): word for (a, b), word in known.items()}}
    matrix = fold(layer([Pair(a, b, transport) for (a, b), transport in known.items()]))
    group_of = {host: group.name for group in matrix.groups for host in group.hosts}
    for a, b in combinations(hosts, 2):
        others = [host for host in hosts if host not in (a, b)]
        if group_of[a] == group_of[b]:
            assert [word[a, other] for other in others] == [word[b, other] for other in others]
    sizes = Counter(group_of.values())
    assert (len(sizes) == 1) == (len(set(transports)) == 1)
