"""What launchers print of a rank that died, and of one that was ended."""

from __future__ import annotations

import io

import pytest

from ibkit.parsers.job_facts import Requeue
from ibkit.parsers.job_log import JobLog


def deaths(text: str) -> list[tuple[str, str | None]]:
    facts = JobLog(io.BytesIO(text.encode() + b"\n"))
    return [(fact.topic, fact.host) for fact in facts if getattr(fact, "runtime", None) == "job"]


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("mpirun noticed that process rank 1 with PID 6102 on node n02 exited on signal 9 (Killed).", "n02"),
        (
            "prterun noticed that process rank 3 with PID 71 on node n02 exited on signal 11 (Segmentation fault).",
            "n02",
        ),
        ("MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD", None),
        ("application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0", None),
        (
            "Abort(806995855) on node 3 (rank 3 in comm 0): Fatal error in PMPI_Recv: Other MPI error, error stack:",
            None,
        ),
        ("Abort(271763599) on node 7 (rank 7 in comm 0): Fatal error in internal_Send: Other MPI error", None),
        (
            "[n02:mpispawn_1][child_handler] MPI process (rank: 1, pid: 4711) terminated with signal 11 -> abort job",
            None,
        ),
        ("[n02:mpispawn_1][child_handler] MPI process (rank: 1, pid: 4711) exited with status 137", None),
        ("=   EXIT CODE: 139", None),
        ("=   KILLED BY SIGNAL: 9 (Killed)", None),
        ("srun: error: cn0417: task 0: Exited with exit code 1", "cn0417"),
        ("srun: error: n2: tasks 0-3,7: Segmentation fault (core dumped)", "n2"),
        (
            "mpirun detected that one or more processes exited with non-zero status, thus causing",
            None,
        ),
        (
            "mpirun.openmpi noticed that process rank 1 with PID 0 on node n02 exited on signal 11 (Segmentation).",
            "n02",
        ),
        ("mpiexec.openmpi detected that one or more processes exited with non-zero status, thus causing", None),
        ("prterun detected that one or more processes exited with non-zero status, thus causing the", None),
        ("ORTE has lost communication with a remote daemon.", None),
        ("PRTE has lost communication with a remote daemon.", None),
        ("[1,0]<stderr>:torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", None),
    ],
)
def test_a_death(text: str, host: str | None) -> None:
    assert deaths(text) == [("died", host)]


@pytest.mark.parametrize(
    "text",
    [
        "mpirun noticed that process rank 1 with PID 6102 on node n02 exited on signal 15 (Terminated).",
        "=   EXIT CODE: 15",
        "[n02:mpispawn_1][child_handler] MPI process (rank: 1, pid: 4711) terminated with signal 15 -> abort job",
        "Abort(1091471) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init: Other MPI error, error stack:",
        "=   EXIT CODE: 0",
        "srun: error: n2: task 1: Terminated",
        "slurmstepd: error: *** JOB 4711 ON n1 CANCELLED AT 2025-03-04T12:00:00 DUE TO TIME LIMIT ***",
    ],
)
def test_an_end_that_somebody_wanted(text: str) -> None:
    assert deaths(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "ORTE was unable to reliably start one or more daemons.",
        "PRTE was unable to reliably start one or more daemons.",
        "An ORTE daemon has unexpectedly failed after launch and before",
        "There are not enough slots available in the system to satisfy the 64",
        "mpirun was unable to find the specified executable file, and therefore",
        "prterun was unable to launch the specified application as it could not access",
    ],
)
def test_a_job_that_was_not_started(text: str) -> None:
    assert deaths(text) == [("not-started", None)]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("slurmstepd: error: *** JOB 4711 ON n01 CANCELLED AT 2026-03-01T10:00:00 DUE TO JOB REQUEUE ***", True),
        ("slurmstepd-n01: error: *** JOB 4711 ON n01 CANCELLED AT 2026-03-01T10:00:00 DUE TO PREEMPTION ***", True),
        ("slurmstepd: error: *** STEP 4711.0 ON n02 CANCELLED AT 2026-03-01T10:00:00 ***", False),
    ],
)
def test_a_job_that_its_batch_system_ended(text: str, is_one: bool) -> None:
    facts = JobLog(io.BytesIO(text.encode() + b"\n"))
    assert [type(fact) for fact in facts] == [Requeue] * is_one


@pytest.mark.parametrize("more", [" is printed if the reader fails", " means that a file is missing"])
def test_a_message_that_somebody_explains_is_none(more: str) -> None:
    message = "srun: error: n02: task 2: Exited with exit code 1"
    assert deaths("tip: " + message + more) == []
    assert deaths(message) == [("died", "n02")]
