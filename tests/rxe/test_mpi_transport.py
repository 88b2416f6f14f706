"""``check-mpi-transport`` and real Open MPI ranks over rxe: launched, and watched while they run."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.rxe,
    pytest.mark.needs("openmpi"),
    pytest.mark.skipif(socket.gethostname() != "rxe-guest", reason="needs rxe0 and rxe1"),
]
RING = Path(__file__).parents[1] / "support/ring.c"
#: UCX's own choice, an IPv4-mapped GID, gets no answer over rxe.
ENVIRONMENT = {
    **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_TLS": "rc,self",
    "UCX_IB_GID_INDEX": "0",
}  # fmt: skip


def job(folder: Path, messages: int) -> list[str]:
    """A rank on each of the two devices."""
    program = folder / "ring"
    subprocess.run(["mpicc.openmpi", RING, "-o", program], check=True)
    first, second = (f"-np 1 -x UCX_NET_DEVICES=rxe{n}:1 {program} {messages}" for n in (0, 1))
    return f"mpirun.openmpi --oversubscribe --mca pml ucx {first} : {second}".split()


def answer(*words: str) -> tuple[int, dict[str, Any], str]:
    command = [sys.executable, "-m", "ibkit", "check-mpi-transport", "--json", *words]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def test_a_launched_job_over_rxe(tmp_path: Path) -> None:
    status, document, err = answer("--", *job(tmp_path, 20))
    assert (status, document["verdict"], document["status"]) == (0, "roce", "as-expected"), (document, err)
    assert "rank 1 of 2 done" in err


def test_ranks_over_rxe_are_watched(tmp_path: Path) -> None:
    """By packet numbers that move, of the queue pairs of both ranks."""
    with subprocess.Popen(job(tmp_path, 1_000_000), env=ENVIRONMENT, stdin=subprocess.DEVNULL) as running:
        try:
            time.sleep(12)
            status, document, err = answer(f"pid:{running.pid}", "--window", "5")
        finally:
            running.terminate()
    assert (status, document["verdict"]) == (0, "roce"), (document, err)
    assert {one["class"] for one in document["evidence"]} == {"process"}
    assert {one["rank"] for one in document["evidence"]} == {0, 1}
