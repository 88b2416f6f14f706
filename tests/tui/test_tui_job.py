"""The job page: the answer in words that say no more than the verdict does."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tui_scenes import small_job

from ibkit.export.mpi_sentence import sentence
from ibkit.model.mpi import STATUSES, VERDICTS, JobVerdict, Layer, Pair
from ibkit.sources.opening import open_site
from ibkit.tui.snapshot import read_all
from ibkit.tui.view.job import STATUS_LEVELS, notices, page
from ibkit.tui.view.level import CRITICAL, OK, UNKNOWN
from ibkit.tui.view.lines import plain

JOBS = Path(__file__).parent.parent.parent / "fixtures" / "jobs"


def test_every_status_has_a_level() -> None:
    assert set(STATUS_LEVELS) == set(STATUSES)


@pytest.mark.parametrize(
    ("verdict", "status", "text"),
    [
        ("ib", "as-expected", "InfiniBand, as expected"),
        ("rdma", "as-expected", "RDMA (verbs; the log does not show whether InfiniBand or RoCE), as expected"),
        ("tcp", "fallback", "TCP, not RDMA: a fall-back"),
        ("tcp", "by-configuration", "TCP, as configured, not RDMA"),
        ("tcp", "undecided", "TCP, not RDMA; the log cannot tell whether RDMA was to be had"),
        ("mixed", "mixed", "a mixture of transports"),
        ("mixed", "fallback", "a mixture of transports"),
        ("ib", "mixed", "InfiniBand, but the hosts differ"),
        ("none", "aborted", "no data path was established, the job aborted"),
        ("ib", "aborted", "InfiniBand, then the job aborted"),
        ("unknown", "undecided", "not decided"),
        ("shm", "as-expected", "shared memory on one host, as expected"),
    ],
)
def test_sentence(verdict: str, status: str, text: str) -> None:
    """The same words as on the command line."""
    assert sentence(JobVerdict("x", verdict, status, (Layer("mpi", verdict, status),))) == text


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("status", STATUSES)
def test_any_pair_of_words_has_a_page(verdict: str, status: str) -> None:
    layer = Layer("mpi", verdict, status)
    assert page(JobVerdict("x", verdict, status, (layer, layer._replace(layer="nccl"))))


def test_layers_of_several_jobs_are_told_apart() -> None:
    layers = (Layer("mpi", "ib", "as-expected", 1), Layer("nccl", "tcp", "fallback", 2))
    text = "\n".join(map(plain, page(JobVerdict("x", "mixed", "fallback", layers))))
    assert "job 1, mpi  InfiniBand, as expected" in text
    assert "job 2, nccl  TCP, not RDMA: a fall-back" in text


def test_rare_pairs_come_first_and_a_crowd_is_cut() -> None:
    pairs = (*(Pair(f"n{i:03}", "n999", "ib") for i in range(100)), Pair("n007", "n008", "tcp"))
    text = [
        plain(line).strip()
        for line in page(JobVerdict("x", "mixed", "mixed", (Layer("mpi", "mixed", "mixed", pairs=pairs),)))
    ]
    first, second = [line for line in text if line.startswith("pairs")]
    assert first.endswith("tcp: n007 - n008")
    assert second.endswith("and 88 more")


def test_only_what_is_not_as_expected_is_a_notice() -> None:
    assert [n.level for n in notices(small_job())] == [CRITICAL]
    assert notices(JobVerdict("x", "ib", "as-expected")) == []
    assert notices(JobVerdict("x", "tcp", "by-configuration")) == []
    assert [n.level for n in notices(JobVerdict("x", "unknown", "undecided"))] == [UNKNOWN]


def test_a_log_alone_is_judged() -> None:
    """As `ibkit tui --from job.log`: no capture around it."""
    log = JOBS / "nccl-2.18-ib" / "job.log"
    snapshot = read_all(open_site(str(log)))
    assert snapshot.job is not None
    verdict = snapshot.job.value
    assert verdict is not None, snapshot.job.failure
    assert (verdict.verdict, verdict.status) == ("ib", "as-expected")
    assert {item.file for item in verdict.evidence} == {str(log)}
    assert STATUS_LEVELS[verdict.status] == OK
