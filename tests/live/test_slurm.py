"""Jobs of a real Slurm: looked at by their number while they run, and their ``srun -l`` output."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.slurm import Slurm, slurm

ROOT = Path(__file__).parents[2]
IBKIT = (sys.executable, "-m", "ibkit", "check-mpi-transport", "--json")

NEEDS = ("slurmctld", "slurmd", "srun", "munge", "openmpi", "mpich", "iproute", "gcc", "libc")
pytestmark = [pytest.mark.needs(*NEEDS), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Slurm | None]:
    if os.geteuid():
        # slurmd starts jobs as their users; an ordinary user's slurmd is refused. It is told; CI runs as root.
        warnings.warn("Slurm's daemons are started by root alone", stacklevel=1)
        yield None
        return
    # Two of them on one host number their jobs alike, and a job's ranks are found by that number.
    with Path(tempfile.gettempdir(), "ibkit-slurm-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with slurm() as made:
            yield made


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("openmpi", "mpich"):
        source = ROOT / "tests/support/ring.c"
        subprocess.run([f"mpicc.{name}", source, "-o", folder / name], check=True, timeout=60)
    return folder


READY = "the ring goes round\n"


@contextmanager
def running(cluster: Slurm, *command: str, **more: str) -> Iterator[str]:
    """The number of a job that goes on meanwhile, from when its ranks have sent to each other."""
    with tempfile.TemporaryFile("w+b", buffering=0) as out:
        child = subprocess.Popen(
            command, env={**cluster.environment, **more}, stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        number = ""
        try:
            until(lambda: READY.encode() in os.pread(out.fileno(), 1 << 16, 0))
            number = cluster.run("squeue", "-h", "-t", "R", "-o", "%A").stdout.strip()
            yield number
        finally:
            cluster.run("scancel", "--full", "--signal=KILL", *([number] if number else ["--user=root"]))
            child.wait(30)


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end, "the ranks did not send to each other"
        time.sleep(0.1)


def answer(cluster: Slurm, *words: str) -> tuple[int, dict[str, Any], str]:
    done = cluster.run(*IBKIT, *words, PYTHONPATH=str(ROOT))
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.parametrize(
    ("mpi", "name", "settings", "judged"),
    [
        ("pmix", "openmpi", {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1"}, (1, "tcp", "by-configuration")),
        ("pmi2", "mpich", {"UCX_TLS": "tcp,self"}, (1, "tcp", "by-configuration")),
    ],
)
def test_a_running_step(
    cluster: Slurm | None,
    programs: Path,
    mpi: str,
    name: str,
    settings: dict[str, str],
    judged: tuple[int, str, str],
) -> None:
    if cluster is None:
        return
    with running(cluster, "srun", f"--mpi={mpi}", "-n2", str(programs / name), "20", "0", "90", **settings) as number:
        status, document, err = answer(cluster, f"slurm:{number}", "--window", "1")
        step, of_step, _ = answer(cluster, f"slurm:{number}.0", "--window", "1")
        required, of_prolog, said = answer(cluster, f"slurm:{number}", "--window", "1", "--require", "rdma")
    (layer,) = document["layers"]
    assert (status, layer["verdict"], layer["status"]) == judged, err
    assert layer["ranks"] == 2
    assert {one["rank"] for one in document["evidence"] if one["class"] == "process"} in ({0, 1}, set())
    assert (step, of_step["verdict"]) == judged[:2]
    assert (required, of_prolog["require"]) == (1, {"wanted": "rdma", "met": False}), said
    assert "--require rdma is not met: the verdict is tcp" in said


def test_a_batch_job_with_its_own_launcher(cluster: Slurm | None, programs: Path, tmp_path: Path) -> None:
    if cluster is None:
        return
    script = f"mpirun.openmpi --allow-run-as-root {programs}/openmpi 20 0 90"
    out = tmp_path / "out"
    done = cluster.run("sbatch", "-n2", "-o", str(out), "--parsable", "--wrap", script)
    number = done.stdout.strip()
    try:
        until(lambda: out.exists() and READY in out.read_text())
        status, document, err = answer(cluster, f"slurm:{number}", "--window", "1")
        required, of_prolog, said = answer(cluster, f"slurm:{number}", "--window", "1", "--require", "ib")
    finally:
        cluster.run("scancel", "--full", "--signal=KILL", number)
    assert (status, document["verdict"], document["status"]) == (0, "shm", "as-expected"), (document, err)
    assert (required, of_prolog["require"]["met"]) == (3, None), said
    assert "give the job two hosts" in said


def test_a_job_that_is_over_is_said_to_be_nowhere(cluster: Slurm | None) -> None:
    if cluster is None:
        return
    cluster.run("srun", "-n1", "true")
    done = cluster.run(*IBKIT, "slurm:999999", PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stdout) == (2, "")
    assert "slurm:999999" in done.stderr


@pytest.mark.parametrize(
    ("mpi", "name", "settings"),
    [("pmix", "openmpi", {"OMPI_MCA_btl": "tcp,self"}), ("pmi2", "mpich", {"UCX_TLS": "tcp,self"})],
)
def test_labelled_output_of_a_launched_step(
    cluster: Slurm | None, programs: Path, mpi: str, name: str, settings: dict[str, str]
) -> None:
    if cluster is None:
        return
    command = ("srun", "-l", f"--mpi={mpi}", "-n2", str(programs / name), "20")
    done = cluster.run(*IBKIT, "--", *command, PYTHONPATH=str(ROOT), **settings)
    document = json.loads(done.stdout)
    (layer,) = document["layers"]
    assert (done.returncode, layer["verdict"], layer["status"]) == (1, "tcp", "by-configuration"), done.stderr
    assert layer["ranks"] == 2
    assert layer["hosts"] == [socket.gethostname()]
    assert "1: rank 1 of 2 done" in done.stderr
