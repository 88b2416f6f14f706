"""Two jobs of one runtime in one file, one over RDMA and one over TCP, in either order, with a command line between
them and without: neither hides the other one.
"""

from __future__ import annotations

import os
from itertools import product

import pytest
from support.job_logs import judged
from test_corpus import JOBS

from ibkit.model.mpi import JobVerdict

#: By runtime: logs of jobs over RDMA, and over TCP. Of two that say the same of themselves there is nothing to hide.
CORPUS = {
    "Open MPI": (
        ("comm-method-ucx-rc", "ompi-1.2-openib-broken-pair", "ompi-4.1.1-support-devices-openib-noise"),
        ("comm-method-5.0-real-shape-tcp", "noports-wording-0", "ompi-5.0-mtl-ofi-sockets"),
    ),
    "UCX": (
        ("ucx-1.17-inter-node-rc", "ucx-ud-endpoint-timeout", "ucx-remote-operation-error-only"),
        ("ucx-1.17-inter-node-tcp-no-ib-module", "ucx-lines-without-heads-ipoib", "ucx-tls-exclude-ib"),
    ),
    "NCCL": (
        ("nccl-2.12-ib-pxn", "nccl-2.26-ib-timestamps", "nccl-completions-only-several-hosts"),
        ("nccl-2.5-socket", "nccl-2.14-socket-wrong-hca", "nccl-2.4-no-choice-line-socket"),
    ),
    "Intel MPI": (
        ("intel-2021-verbs-two-hosts", "intel-2021-efa-two-hosts", "intel-hosts-from-lsf-report"),
        ("intel-2021-tcp-rxm-two-hosts", "intel-2018-tcp-no-dat", "intel-tcp-hosts-from-slurm"),
    ),
    "MPICH": (
        ("mpich-ofi-verbs-two-hosts", "mpich-4.3-cxi-rows-jumbled", "ucx-mpich-netmod-rc"),
        ("mpich-ofi-tcp-two-hosts", "mpich-3.2-ch3-nemesis-two-hosts", "mpich-3.3-hydra-details-ch3-nemesis"),
    ),
    "MVAPICH2": (
        ("mvapich2-two-nodes", "mvapich2-2.0-broken-completion-only", "mvapich2-homogeneous-hint-two-hosts"),
        ("mvapich2-library-version-sock", "mvapich2-2.3-mpiname-sock", "mvapich2-2.2-nemesis-tcp-two-hosts"),
    ),
}  # fmt: skip
PAIRS = [pair for logs in CORPUS.values() for pair in product(*logs)]


def log(name: str) -> str:
    with open(os.path.join(JOBS, name, "job.log"), encoding="utf-8") as file:
        return file.read().rstrip("\n") + "\n"


def of_a_later_start(text: str) -> str:
    """With the process ids and the job family of another start; the hosts are the same."""
    for old, new in (
        (":05101", ":05103"),
        (":06102", ":06104"),
        ("5101 ", "5103 "),
        ("6102 ", "6104 "),
        ("[[31337,", "[[4711,"),
    ):
        text = text.replace(old, new)
    return text


def is_hidden(answer: JobVerdict) -> bool:
    """Whether nothing in it shows that two networks are told of."""
    told = {answer.verdict, *(layer.verdict for layer in answer.layers)}
    return not told & {"mixed", "unknown"}


@pytest.mark.parametrize(("rdma", "tcp"), PAIRS)
def test_neither_hides_the_other(rdma: str, tcp: str) -> None:
    one, other = log(rdma), of_a_later_start(log(tcp))
    for between in ("", "+ mpirun ./a.out\n"):
        for texts in ((one, other), (other, one)):
            assert not is_hidden(judged(between.join(("", *texts)))), (texts, between)


@pytest.mark.parametrize("name", sorted({name for pair in PAIRS for name in pair}))
def test_the_same_job_again_changes_nothing(name: str) -> None:
    """A log that stands twice, and a job that was run again and has said the same."""
    once = judged(log(name))
    for between in ("", "+ mpirun ./a.out\n"):
        again = judged(between.join(("", log(name), log(name))))
        assert (again.verdict, again.status) == (once.verdict, once.status), between
