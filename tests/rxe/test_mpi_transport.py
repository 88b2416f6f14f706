"""``check-mpi-transport`` and real jobs over rxe, TCP and shared memory: launched, and looked at while they run, by
root and by an ordinary user.

One CPU: ranks poll, so each job is as short as a look at it allows.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = [
    pytest.mark.rxe,
    pytest.mark.needs("openmpi", "mpich"),
    pytest.mark.timeout(120),
    pytest.mark.skipif(socket.gethostname() != "rxe-guest", reason="needs rxe0 and rxe1"),
]
ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests/support"
IBKIT = (sys.executable, "-m", "ibkit", "check-mpi-transport", "--json")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")
PAIR = (sys.executable, str(SUPPORT / "rc_pair.py"), "rxe0", "rxe1")
#: UCX's own choice, an IPv4-mapped GID, gets no answer over rxe.
OVER_RXE = {"UCX_TLS": "rc,self", "UCX_IB_GID_INDEX": "0"}
#: Long enough for a look that shares its CPU with two polling ranks, and the machine with other tests (seconds).
LOOKED_AT = 18


class Programs(NamedTuple):
    """The same program for each MPI."""

    openmpi: str
    mpich: str


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    """In a folder that an ordinary user may look into, which pytest's own are not."""
    folder = Path("/run/mpi")
    folder.mkdir(mode=0o755)
    for name in ("openmpi", "mpich"):
        subprocess.run([f"mpicc.{name}", SUPPORT / "ring.c", "-o", folder / name], check=True, timeout=60)
    yield Programs(str(folder / "openmpi"), str(folder / "mpich"))
    shutil.rmtree(folder)


def environment(more: dict[str, str]) -> dict[str, str]:
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**os.environ, **root, "PYTHONPATH": str(ROOT), "TMPDIR": "/tmp", "HOME": "/tmp", **more}


def on_two_devices(program: str, messages: int, seconds: int) -> tuple[str, ...]:
    """A rank on each of the two devices."""
    first, second = (f"-np 1 -x UCX_NET_DEVICES=rxe{n}:1 {program} {messages} 0 {seconds}" for n in (0, 1))
    return tuple(f"mpirun.openmpi --oversubscribe --mca pml ucx {first} : {second}".split())


def answer(*words: str, prefix: Sequence[str] = (), **more: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [*prefix, *IBKIT, *words], env=environment(more), capture_output=True, text=True, timeout=100, check=False,
        stdin=subprocess.DEVNULL, errors="replace",
    )  # fmt: skip
    assert done.stdout, done.stderr[-3000:]
    return done.returncode, json.loads(done.stdout), done.stderr[-3000:]


@contextmanager
def running(*command: str, prefix: Sequence[str] = (), **more: str) -> Iterator[subprocess.Popen[str]]:
    """A program that goes on meanwhile, and of which nothing stays."""
    child = subprocess.Popen(
        [*prefix, *command], env=environment(more), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        yield child
    finally:
        os.killpg(child.pid, signal.SIGTERM)  # mpirun ends its ranks then
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait(10)


def classes(document: dict[str, Any]) -> set[tuple[str, str]]:
    """What the evidence that names a transport is, and which one it names."""
    return {(one["class"], one["transport"]) for one in document["evidence"] if one["transport"]}


def reasons(document: dict[str, Any]) -> list[str]:
    return [reason["id"] for layer in document["layers"] for reason in layer["reasons"]]


# -- launched, and looked at meanwhile


def test_open_mpi_over_rxe(programs: Programs) -> None:
    """The log tells the devices, the moving packet numbers of both ranks that they are used."""
    status, document, err = answer("--", *on_two_devices(programs.openmpi, 5, LOOKED_AT), **OVER_RXE)
    assert (status, document["verdict"], document["status"]) == (0, "roce", "as-expected"), (document, err)
    told = classes(document)
    assert {kind for kind, _ in told} == {"selection", "process"}, (document, err)
    assert ("process", "roce") in told
    assert "rank 1 of 2 done" in err


def test_open_mpi_over_rxe_of_an_ordinary_user(programs: Programs) -> None:
    status, document, err = answer("--", *on_two_devices(programs.openmpi, 5, 0), prefix=NOBODY, **OVER_RXE)
    assert (status, document["verdict"], document["status"]) == (0, "roce", "as-expected"), (document, err)
    assert "rank 1 of 2 done" in err


def test_open_mpi_over_tcp(programs: Programs) -> None:
    command = ("mpirun.openmpi", "--oversubscribe", "-np", "2", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self")
    status, document, err = answer("--", *command, programs.openmpi, "5", "0", str(LOOKED_AT))
    assert (status, document["verdict"], document["status"]) == (1, "tcp", "by-configuration"), (document, err)
    assert classes(document) == {("path", "tcp"), ("process", "tcp")}
    assert reasons(document) == ["wrongtls"]


@pytest.mark.parametrize("prefix", [(), NOBODY], ids=["root", "nobody"])
def test_open_mpi_in_shared_memory(programs: Programs, prefix: tuple[str, ...]) -> None:
    """Though there are devices."""
    command = ("mpirun.openmpi", "--oversubscribe", "-np", "2", programs.openmpi)
    status, document, err = answer("--", *command, prefix=prefix)
    assert (status, document["verdict"], document["status"]) == (0, "shm", "as-expected"), (document, err)


def test_open_queue_pairs_are_no_traffic(programs: Programs) -> None:
    """Open MPI's pml ucx opens the devices, and sends in shared memory."""
    command = ("mpirun.openmpi", "--oversubscribe", "-np", "2", "--mca", "pml", "ucx", programs.openmpi)
    status, document, err = answer("--", *command, UCX_IB_GID_INDEX="0")
    assert (status, document["verdict"], document["status"]) == (0, "shm", "as-expected"), (document, err)


def test_mpich_over_rxe(programs: Programs) -> None:
    command = ("mpiexec.hydra", "-n", "2", programs.mpich, "5")
    status, document, err = answer("--", *command, UCX_NET_DEVICES="rxe0:1", **OVER_RXE)
    assert (status, document["verdict"], document["status"]) == (0, "roce", "as-expected"), (document, err)


def test_mpich_over_tcp(programs: Programs) -> None:
    """It sometimes hangs when it has done its work; the log has said all by then."""
    command = ("timeout", "8", "mpiexec.hydra", "-n", "2", programs.mpich, "5")
    status, document, err = answer("--", *command, UCX_TLS="tcp,self")
    assert status in (1, 124)
    assert (document["verdict"], document["status"]) == ("tcp", "by-configuration"), (document, err)
    assert reasons(document) == ["wrongtls"]


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_too_little_memory_may_be_locked(programs: Programs, name: str) -> None:
    """UCX 1.13 can set up no queue pair then, says so some 1000 times a second, and does not end by itself."""
    launchers = {
        "openmpi": "mpirun.openmpi --oversubscribe -np 2 --mca pml ucx",
        "mpich": "mpiexec.hydra -n 2",
    }
    job = f"ulimit -l 64; exec timeout -k 2 5 {launchers[name]} {getattr(programs, name)} 5"
    status, document, err = answer("--", "sh", "-c", job, prefix=NOBODY, **OVER_RXE)
    assert status not in (0, 1), err  # timeout's, or mpirun's own for what timeout has ended
    assert document["verdict"] in ("unknown", "none"), (document, err)
    assert document["status"] in ("undecided", "aborted")
    assert reasons(document) == ["memlock"]


def test_a_device_that_is_not_there(programs: Programs) -> None:
    command = ("mpirun.openmpi", "--oversubscribe", "-np", "2", "--mca", "pml", "ucx", programs.openmpi)
    status, document, err = answer("--", *command, UCX_NET_DEVICES="mlx5_0:1", **OVER_RXE)
    # mpirun ends the ranks while they speak: the line that tells the abort may be lost, and the reason stays.
    said = document["verdict"], document["status"]
    assert (status, said) in ((1, ("none", "aborted")), (1, ("unknown", "undecided"))), (document, err)
    assert reasons(document) == ["wrongdev"]


# -- looked at alone


def test_an_ordinary_users_ranks_are_watched_by_him_and_by_root(programs: Programs) -> None:
    """By packet numbers that move, of the queue pairs of both ranks."""
    with running(*on_two_devices(programs.openmpi, 5, 60), prefix=NOBODY, **OVER_RXE) as job:
        time.sleep(6)
        for prefix in (NOBODY, ()):
            status, document, err = answer(f"pid:{job.pid}", "--window", "2", prefix=prefix)
            assert (status, document["verdict"]) == (0, "roce"), (document, err)
            assert {one["class"] for one in document["evidence"]} == {"process"}
            assert {one["rank"] for one in document["evidence"]} == {0, 1}


def test_roots_ranks_are_watched_by_root_and_not_guessed_about_by_others(programs: Programs) -> None:
    """An ordinary user sees root's queue pairs, and not whose ranks they are."""
    with running(*on_two_devices(programs.openmpi, 5, 60), **OVER_RXE) as job:
        time.sleep(6)
        status, document, err = answer(f"pid:{job.pid}", "--window", "2")
        other, others, _ = answer(f"pid:{job.pid}", "--window", "2", prefix=NOBODY)
    assert (status, document["verdict"]) == (0, "roce"), (document, err)
    assert (other, others["verdict"]) in ((3, "unknown"), (0, "roce")), others
    assert any(problem["kind"] == "not-permitted" for problem in others["problems"]), others


@pytest.mark.parametrize("prefix", [(), NOBODY], ids=["root", "nobody"])
def test_a_job_that_uses_verbs_itself(prefix: tuple[str, ...]) -> None:
    """Its queue pair is proof while it moves."""
    with running(*PAIR, "send", prefix=prefix) as job:
        assert job.stdout
        job.stdout.readline()
        status, document, err = answer(f"pid:{job.pid}", "--window", "1", prefix=prefix)
    assert (status, document["verdict"], document["layers"][0]["ranks"]) == (0, "roce", 2), (document, err)


def test_a_queue_pair_that_stands_still_is_no_proof() -> None:
    with running(*PAIR) as job:
        assert job.stdout
        job.stdout.readline()
        status, document, err = answer(f"pid:{job.pid}", "--window", "1")
    assert (status, document["verdict"]) == (3, "unknown"), (document, err)
