"""``check-mpi-transport -- COMMAND``: real jobs over rxe, TCP and shared memory are launched by root and by an ordinary
user. What is true of a job stands in tests/support/guest_jobs.py.

One CPU, and ranks poll: most jobs are short and are judged by what they print. Those that are looked at meanwhile go on
until they have been.
"""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.guest_jobs import (
    AT_MOST,
    BOUND_ROOT,
    COMMAND,
    JOBS,
    NOBODY,
    OPENMPI,
    OVER_RXE,
    ROOT,
    Answer,
    Programs,
    answer,
    until_said,
)

pytestmark = [
    pytest.mark.rxe,
    pytest.mark.needs("openmpi", "mpich"),
    pytest.mark.skipif(socket.gethostname() != "rxe-guest", reason="needs rxe0 and rxe1"),
]
USERS = [pytest.param((), id="root"), pytest.param(NOBODY, id="nobody")]
LOOKED_AT = ["ucx-rxe", "ob1-tcp"]
SHORT = [name for name, job in JOBS.items() if job.status != "undecided" and name not in (*LOOKED_AT, "pair")]
STARVED = [name for name, job in JOBS.items() if job.reasons == ("memlock",)]


def until_done(command: tuple[str, ...]) -> tuple[str, ...]:
    """Both ranks have said that they are, and have had time to end."""
    return until_said(" of 2 done", 2, 10, ("timeout", *AT_MOST, *command))


@pytest.mark.parametrize("prefix", USERS)
@pytest.mark.parametrize("name", SHORT)
def test_a_launched_job(programs: Programs, name: str, prefix: tuple[str, ...]) -> None:
    """MPICH sometimes hangs when it has done its work; what it printed has said all by then."""
    job = JOBS[name]
    said = answer("--", *until_done(job.command(programs, ("0",))), prefix=prefix, **job.variables)
    assert said.told[1:] == (job.verdict, job.status, job.reasons), (said.document, said.err)
    assert said.exit_status in (job.exit_status, 124)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where ordinary users make files, too."""
    made = Path("/run/seen")
    made.mkdir()
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


def looked_at(programs: Programs, name: str, prefix: tuple[str, ...], folder: Path) -> Answer:
    """The answer on a job that goes on until a look at it has told what is true; it gives way to who looks."""
    job, file = JOBS[name], str(folder / "seen")
    ibkit = (sys.executable, str(ROOT / "tests/support/until_seen.py"), file, job.verdict, *COMMAND)
    command = ("nice", "-n", "19", *job.command(programs, (*AT_MOST, file)))
    return answer("--window", "1", "--", *command, prefix=prefix, ibkit=ibkit, **job.variables)


@pytest.mark.parametrize("prefix", USERS)
@pytest.mark.parametrize("name", LOOKED_AT)
def test_what_is_printed_and_what_is_seen_agree(
    programs: Programs, name: str, prefix: tuple[str, ...], folder: Path
) -> None:
    """The output tells the devices, or the module; what moves proves that they are used."""
    job, said = JOBS[name], looked_at(programs, name, prefix, folder)
    assert said.told == (job.exit_status, job.verdict, job.status, job.reasons), (said.document, said.err)
    assert ("process", job.verdict) in said.classes
    assert len(said.classes) > 1
    assert {transport for _, transport in said.classes} <= {job.verdict, "rdma"}
    assert "rank 1 of 2 done" in said.err


@pytest.mark.parametrize("prefix", USERS)
def test_a_job_that_prints_nothing_is_seen(programs: Programs, prefix: tuple[str, ...], folder: Path) -> None:
    """It uses verbs itself."""
    job, said = JOBS["pair"], looked_at(programs, "pair", prefix, folder)
    assert said.told == (job.exit_status, job.verdict, job.status, job.reasons), (said.document, said.err)
    assert said.classes == {("process", "roce")}


def test_open_queue_pairs_are_no_traffic(programs: Programs) -> None:
    """Open MPI's pml ucx opens the devices, and sends in shared memory."""
    said = answer("--", *OPENMPI, "-np", "2", "--mca", "pml", "ucx", programs.openmpi, UCX_IB_GID_INDEX="0")
    assert said.told == (0, "shm", "as-expected", ()), (said.document, said.err)


@pytest.mark.parametrize("prefix", [pytest.param(BOUND_ROOT, id="root"), pytest.param(NOBODY, id="nobody")])
@pytest.mark.parametrize("name", STARVED)
def test_too_little_memory_may_be_locked(programs: Programs, name: str, prefix: tuple[str, ...]) -> None:
    """UCX does not end by itself then."""
    job = JOBS[name]
    command = until_said("Cannot allocate memory", 1, 2, job.command(programs, AT_MOST))
    said = answer("--", *command, prefix=prefix, **job.variables)
    assert said.exit_status == 124, said.err
    assert said.document["verdict"] in ("unknown", "none"), (said.document, said.err)
    assert said.document["status"] in ("undecided", "aborted")
    assert said.reasons == job.reasons


def test_a_limit_does_not_bind_who_may_lock_all_memory(programs: Programs) -> None:
    """Root on a host: the limit is as low, and UCX has verbs."""
    job = JOBS["memlock-mpich"]
    command = until_said("the ring goes round", 1, 5, job.command(programs, AT_MOST))
    said = answer("--", *command, **job.variables, UCX_NET_DEVICES="rxe0:1")
    assert said.told[1:] == ("roce", "as-expected", ()), (said.document, said.err)


@pytest.mark.parametrize("prefix", USERS)
def test_a_device_that_is_not_there(programs: Programs, prefix: tuple[str, ...]) -> None:
    """It is all that Open MPI's pml ucx may use: the job ends, and cannot be looked at."""
    command = (*OPENMPI, "-np", "2", "--mca", "pml", "ucx", programs.openmpi)
    said = answer("--", *command, prefix=prefix, **{**OVER_RXE, "UCX_NET_DEVICES": "mlx5_0:1"})
    # mpirun ends the ranks while they speak: the line that tells the abort may be lost, and the reason stays.
    assert said.told in (
        (1, "none", "aborted", ("wrongdev",)),
        (1, "unknown", "undecided", ("wrongdev",)),
    ), (said.document, said.err)
