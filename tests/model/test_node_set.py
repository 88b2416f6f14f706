"""Sets of node names: by examples from the manuals of Slurm and pdsh, and what holds for any names."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ibkit.model.node_set import BadNodeSet, can_fold, expand, fold, short_names

#: Names as sites give them: one or two numbers, padded or not, among letters and marks.
NAMES = st.builds(
    lambda prefix, numbers, suffix: prefix + "-".join(numbers) + suffix,
    st.sampled_from(["n", "c", "gpu", "rack-a", "", "é", "n0x"]),
    st.lists(st.integers(0, 1200).flatmap(lambda n: st.sampled_from([str(n), f"{n:02}", f"{n:04}"])), max_size=3),
    st.sampled_from(["", "-ib", ".cluster"]),
).filter(bool)


@pytest.mark.parametrize(
    ("short", "names"),
    [
        ("login1", ["login1"]),
        ("n[01-03]", ["n01", "n02", "n03"]),
        ("n[01-03,07],login1", ["n01", "n02", "n03", "n07", "login1"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[098-101]", ["n098", "n099", "n100", "n101"]),
        ("c[1-2]-[01-02]", ["c1-01", "c1-02", "c2-01", "c2-02"]),
        ("n[1-2]-ib", ["n1-ib", "n2-ib"]),
        (" n1 , n2 ", ["n1", "n2"]),
        ("n1,n1", ["n1"]),
        ("é[1-2]", ["é1", "é2"]),
        ("n[5]", ["n5"]),
    ],
)
def test_expand(short: str, names: list[str]) -> None:
    assert list(expand(short)) == names


@pytest.mark.parametrize(
    ("names", "short"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n2", "n10", "n1", "login1", "n3"], "login1,n[1-3,10]"),
        (["n08", "n09", "n10", "n11"], "n[08-11]"),
        (["n8", "n9", "n10"], "n[8-10]"),
        (["n1", "n01", "n02", "n2"], "n[1-2,01-02]"),
        ([f"c{c:03}-{n:02}" for c in range(1, 5) for n in range(1, 35)], "c[001-004]-[01-34]"),
        (["c1-1", "c1-2", "c2-1"], "c1-[1-2],c2-1"),
        (["host-a", "host-b"], "host-a,host-b"),
        (["n1", "n1"], "n1"),
        ([f"n{10**20}", f"n{10**20 + 1}"], f"n{10**20},n{10**20 + 1}"),
    ],
)
def test_fold(names: list[str], short: str) -> None:
    assert fold(names) == short
    assert set(expand(short) if short else ()) == set(names)


def test_names_that_cannot_stand_in_a_short_form_are_parts_of_their_own() -> None:
    assert short_names(["n[2", "n10", "a b", "n1", "n2", "n1"]) == ["n[1-2,10]", "a b", "n[2"]


@given(st.lists(NAMES, max_size=40))
@example(["n9", "n09", "n10", "n010"])
@example(["0", "00", "1", "01"])
def test_folded_and_expanded_are_the_same_names(names: list[str]) -> None:
    short = fold(names)
    assert sorted(expand(short) if short else ()) == sorted(set(names))
    assert fold(reversed(names)) == short, "in whatever order they come"


@given(st.lists(NAMES, min_size=1, max_size=10))
def test_no_set_is_longer_than_its_names(names: list[str]) -> None:
    assert len(fold(names)) <= len(",".join(sorted(set(names)))) + 2 * len(names)


@pytest.mark.parametrize(
    ("short", "word"),
    [
        ("", "no name"), ("n1,,n2", "comma"), ("n[1-2", "partner"), ("n1-2]", "partner"), ("n[a-b]", "no number"),
        ("n[]", "no number"), ("n[3-1]", "backwards"), ("n[1-99999999]", "more than"), ("n[1-]", "no number"),
        ("n[1-1000][1-1000]", "more than"), ("n[-1]", "no number"), ("n 1", "partner"), ("n[1[2]]", "partner"),
    ],
)  # fmt: skip
def test_what_is_no_set_is_told(short: str, word: str) -> None:
    with pytest.raises(BadNodeSet, match=word):
        expand(short)


@given(st.text(alphabet="n1290[],- \t\x1b²٣", max_size=30))
def test_no_text_makes_it_fail_in_another_way(text: str) -> None:
    try:
        names = expand(text)
    except BadNodeSet:
        return
    assert all(map(can_fold, names))
    assert set(expand(fold(names))) == set(names)


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a[1]", "a\nb"])
def test_what_cannot_be_a_name(name: str) -> None:
    assert not can_fold(name)
    with pytest.raises(BadNodeSet):
        fold([name])
