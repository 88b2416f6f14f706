"""What meets a requirement, and what cannot tell."""

from __future__ import annotations

import pytest

from ibkit.model.mpi import JobVerdict, Layer, Pair
from ibkit.parsers.base import Problem
from ibkit.transport.require import WORDS, met, undecided


def answer(*layers: Layer) -> JobVerdict:
    return JobVerdict("x", "mixed", "mixed", layers)


def layer(verdict: str, name: str = "mpi", *between: str) -> Layer:
    pairs = tuple(Pair("a", f"b{number}", word) for number, word in enumerate(between))
    return Layer(name, verdict, "mixed", pairs=pairs)


@pytest.mark.parametrize(
    ("verdict", "by"),
    [
        ("ib", {"ib", "rdma"}), ("roce", {"roce", "rdma"}), ("iwarp", {"iwarp", "rdma"}), ("opa", {"opa"}),
        ("efa", {"efa"}), ("slingshot", {"slingshot"}), ("ipoib", set()), ("tcp", set()), ("none", set()),
    ],
)  # fmt: skip
def test_what_is_known_meets_its_own_word_and_rdma(verdict: str, by: set[str]) -> None:
    assert {word for word in WORDS if met(answer(layer(verdict)), word)} == by
    assert {word for word in WORDS if met(answer(layer(verdict)), word) is None} == set()


@pytest.mark.parametrize("verdict", ["unknown", "shm"])
def test_what_shows_nothing_between_hosts_is_not_decided(verdict: str) -> None:
    assert {met(answer(layer(verdict)), word) for word in WORDS} == {None}
    assert met(answer(), "ib") is None


def test_verbs_without_a_link_layer() -> None:
    assert {word: met(answer(layer("rdma")), word) for word in WORDS} == {
        "ib": None, "roce": None, "iwarp": None, "rdma": True, "opa": False, "efa": False, "slingshot": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("layers", "wanted", "is_met"),
    [
        ([layer("ib", "nccl"), layer("tcp")], "ib", False),
        ([layer("ib", "nccl"), layer("unknown")], "ib", None),
        ([layer("ib", "nccl"), layer("shm")], "ib", True),
        ([layer("ib", "nccl"), layer("tcp", "gloo")], "ib", True),
        ([layer("tcp", "gloo")], "ib", False),
        ([layer("unknown"), layer("tcp", "nccl")], "ib", False),
        ([layer("mixed", "mpi", "ib", "roce")], "rdma", True),
        ([layer("mixed", "mpi", "ib", "roce")], "ib", False),
        ([layer("mixed", "mpi", "ib", "tcp")], "rdma", False),
        ([layer("mixed", "mpi", "ib", "opa")], "rdma", False),
        ([layer("mixed", "mpi", "ib")], "rdma", None),
        ([layer("mixed")], "rdma", None),
        ([layer("mixed")], "ib", False),
        ([layer("mixed", "mpi", "ib", "unknown")], "rdma", None),
    ],
)
def test_all_that_went_between_hosts_counts(layers: list[Layer], wanted: str, is_met: bool | None) -> None:
    assert met(answer(*layers), wanted) is is_met


@pytest.mark.parametrize("others", [(), (layer("shm", "nccl"),)])
def test_gloo_of_which_nobody_knows_what_it_carries_is_not_decided(others: tuple[Layer, ...]) -> None:
    gloo = layer("tcp", "gloo")._replace(status="undecided")
    assert met(answer(*others, gloo), "rdma") is None


@pytest.mark.parametrize(
    ("kind", "is_met"),
    [("unreadable", None), ("silent-ranks", None), ("host-failed", None), ("contradiction", None), ("many-files", None),
     ("many-pairs", True), ("many-channels", True), ("many-runs", True)],
)  # fmt: skip
def test_what_was_not_seen_leaves_it_open_and_saves_nothing(kind: str, is_met: bool | None) -> None:
    problems = (Problem("many-pairs", "x"), Problem(kind, "x"))
    assert met(answer(layer("ib", "nccl"))._replace(problems=problems), "ib") is is_met
    assert met(answer(layer("ib", "nccl"))._replace(problems=problems), "roce") is False


@pytest.mark.parametrize(
    ("ranks", "between", "is_met"), [(2, ("ib",), True), (3, ("ib",), None), (2, (), None), (None, ("ib",), None)]
)
def test_one_of_two_ranks_speaks_for_both(ranks: int | None, between: tuple[str, ...], is_met: bool | None) -> None:
    one = layer("ib", "nccl", *between)._replace(ranks=ranks)
    assert met(answer(one)._replace(problems=(Problem("silent-ranks", "x"),)), "ib") is is_met


@pytest.mark.parametrize("verdict", ["ib", "unknown", "none", "shm"])
def test_an_aborted_job_meets_nothing(verdict: str) -> None:
    assert met(answer(layer(verdict))._replace(status="aborted"), "ib") is False


def test_what_is_undecided_is_named() -> None:
    of = answer(layer("ib", "nccl"), layer("unknown", "nccl")._replace(job=2), layer("shm"), layer("tcp", "gloo"))
    assert [one.job for one in undecided(of, "ib")] == [2]
