"""Real runs whose data path is known from queue pairs, counters and sockets: fixtures/jobs-recorded/README.md."""

from __future__ import annotations

import os

import pytest

from ibkit.model.mpi import JobVerdict
from ibkit.transport.logs.job import open_job
from ibkit.transport.logs.verdict import judge

RECORDED = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "jobs-recorded")
TRUTH = {
    "mpi-default": ("unknown", "undecided"),
    "mpi-rxe": ("rdma", "as-expected"),
    "mpi-rxe-2dev": ("rdma", "as-expected"),
    "mpi-rxe-orted": ("rdma", "as-expected"),
    "mpi-tcp": ("tcp", "by-configuration"),
    "mpi-tcp-orted": ("tcp", "by-configuration"),
    "mpi-ucx-shm": ("shm", "as-expected"),
    "mpi-ucx-tcp": ("tcp", "by-configuration"),
    "mpich-ucx-rxe": ("rdma", "as-expected"),
    "mpich-ucx-tcp": ("tcp", "by-configuration"),
}


def judged(*parts: str) -> JobVerdict:
    return judge(open_job(os.path.join(RECORDED, *parts)))


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_a_folder_is_judged_as_it_truly_was(name: str) -> None:
    answer = judged(name)
    assert (answer.verdict, answer.status) == TRUTH[name]
    (layer,) = answer.layers
    assert layer.ranks == 2
    assert layer.runtime == ("MPICH" if name.startswith("mpich") else "Open MPI")
    assert layer.version == ("4.0.2" if name.startswith("mpich") else "4.1.4")


@pytest.mark.parametrize("name", ["mpi-rxe-orted", "mpi-tcp-orted"])
def test_two_hosts_are_a_pair(name: str) -> None:
    (layer,) = judged(name).layers
    assert sorted(layer.hosts) == ["nodea", "nodeb"]
    (pair,) = layer.pairs
    assert (pair.a, pair.b, pair.transport) == ("nodea", "nodeb", TRUTH[name][0])


@pytest.mark.parametrize("name", ["mpi-rxe", "mpi-rxe-2dev", "mpi-rxe-orted", "mpi-ucx-shm", "mpi-ucx-tcp"])
def test_the_ucx_lines_alone_are_enough(name: str) -> None:
    assert judged(name, "stdout").verdict == TRUTH[name][0]


@pytest.mark.parametrize("name", ["mpi-rxe", "mpi-rxe-orted", "mpi-ucx-shm", "mpi-ucx-tcp"])
def test_pml_ucx_alone_says_nothing_of_the_transport(name: str) -> None:
    """stderr names pml ucx in the runs over rc_verbs, over TCP and in shared memory alike."""
    answer = judged(name, "stderr")
    assert (answer.verdict, answer.status) == ("unknown", "undecided")
    assert answer.next_step is not None
    assert "UCX_LOG_LEVEL" in answer.next_step


@pytest.mark.parametrize("name", ["mpi-tcp", "mpi-tcp-orted"])
def test_the_loaded_components_show_the_configuration(name: str) -> None:
    """Without the command line: only tcp and self were loaded, though each build has vader."""
    answer = judged(name, "stderr")
    assert (answer.verdict, answer.status) == ("tcp", "by-configuration")


def test_pml_ob1_alone_says_nothing_of_the_transport() -> None:
    """mpi-default used shared memory; with ``btl = tcp,self`` in a parameter file its lines would be the same."""
    answer = judged("mpi-default")
    assert answer.evidence == ()
    assert answer.next_step is not None
    assert "btl_base_verbose" in answer.next_step
    assert "openmpi-mca-params.conf" in answer.next_step


def test_evidence_names_the_deciding_lines() -> None:
    answer = judged("mpi-rxe-orted")
    paths = [(e.file, e.line, e.host, e.transport) for e in answer.evidence]
    assert paths == [("stdout", 8, "nodea", "rdma"), ("stdout", 10, "nodeb", "rdma")]


#: Verdict, status and reasons.
OTHERS = {
    "mpi-two-hosts": ("tcp", "by-configuration", ["wrongtls"]),
    "mpi-two-hosts-tcp": ("tcp", "by-configuration", ["wrongtls"]),
    "mpich-two-hosts": ("tcp", "fallback", []),
    "mpich-two-hosts-ib0": ("ipoib", "by-configuration", ["wrongtls"]),
    "mpich-two-hosts-unreachable": ("none", "aborted", ["wrongtls"]),
    "mpi-rxe-nobody": ("rdma", "as-expected", []),
    "mpi-ucx-idle": ("shm", "as-expected", []),
    "mpi-wrongdev": ("none", "aborted", ["wrongdev"]),
    "mpich-wrongdev": ("shm", "as-expected", []),
    "mpi-memlock": ("unknown", "undecided", ["memlock"]),
    "mpi-memlock-8m": ("unknown", "undecided", ["memlock"]),
    "mpich-memlock": ("unknown", "undecided", ["memlock"]),
    "srun-pmix-tcp": ("tcp", "by-configuration", ["wrongtls"]),
    "srun-pmix-shm": ("shm", "as-expected", []),
    "srun-pmi2-mpich": ("tcp", "by-configuration", ["wrongtls"]),
    "torch-gloo": ("unknown", "undecided", []),
}


def test_every_recorded_run_has_a_truth() -> None:
    assert {entry.name for entry in os.scandir(RECORDED) if entry.is_dir()} == TRUTH.keys() | OTHERS.keys()


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_other_runs_are_judged_as_they_truly_were(name: str) -> None:
    answer = judged(name)
    reasons = [reason.id for layer in answer.layers for reason in layer.reasons]
    assert (answer.verdict, answer.status, reasons) == OTHERS[name]


def test_two_hosts_with_two_ranks_each_are_three_pairs() -> None:
    (layer,) = judged("mpi-two-hosts").layers
    assert {(pair.a, pair.b, pair.transport) for pair in layer.pairs} == {
        ("nodea", "nodea", "shm"), ("nodea", "nodeb", "tcp"), ("nodeb", "nodeb", "shm"),
    }  # fmt: skip


def test_a_choice_that_has_no_memory_to_send_with_proves_nothing() -> None:
    """Both ranks chose rc_verbs, and each message of theirs failed for want of locked memory."""
    answer = judged("mpi-memlock-8m")
    assert any(one.evidence_class == "selection" and one.transport == "rdma" for one in answer.evidence)
    assert answer.verdict == "unknown"
