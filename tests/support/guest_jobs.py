"""Jobs in the SoftRoCE guest, each with what is true of it: what moved its data, and why not RDMA."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from support.ended import wait_until_ended

ROOT = Path(__file__).parents[2]
COMMAND = ("check-mpi-transport", "--json")
IBKIT = (sys.executable, "-m", "ibkit", *COMMAND)
#: An ordinary user, and a root that may not lock memory, as in a container.
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")
BOUND_ROOT = ("setpriv", "--inh-caps=-ipc_lock", "--bounding-set=-ipc_lock")
PAIR = (sys.executable, str(ROOT / "tests/support/rc_pair.py"), "rxe0", "rxe1")
#: UCX's own choice, an IPv4-mapped GID, gets no answer over rxe.
OVER_RXE = {"UCX_TLS": "rc,self", "UCX_IB_GID_INDEX": "0"}
OPENMPI = ("mpirun.openmpi", "--oversubscribe")
#: A job that goes on until it is ended.
FOR_LONG = ("600",)
#: How long a job lasts at most that ends before that, and how long an answer on it may take: the guest may be slow.
AT_MOST = ("200",)
ANSWER_SECONDS = 240
_PATIENCE_SECONDS = 150


class Programs(NamedTuple):
    """The same program, tests/support/ring.c, for each MPI."""

    openmpi: str
    mpich: str


#: What makes a job's command line of the programs and of how long it lasts: SECONDS, and a FILE that ends it before.
Command = Callable[[Programs, Sequence[str]], tuple[str, ...]]


class Job(NamedTuple):
    """It prints ``ready`` once it does what it does.

    ``verdict``, ``status`` and ``reasons`` are the truth, ``exit_status`` is that of an answer that tells it.
    """

    command: Command
    verdict: str
    status: str
    exit_status: int
    reasons: tuple[str, ...] = ()
    variables: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    ready: bytes = b"the ring goes round\n"


class Answer(NamedTuple):
    """What ibkit says."""

    exit_status: int
    document: dict[str, Any]
    err: str

    @property
    def told(self) -> tuple[int, str, str, tuple[str, ...]]:
        """The exit status, and what stands in the document for a job's truth."""
        return self.exit_status, self.document["verdict"], self.document["status"], self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(reason["id"] for layer in self.document["layers"] for reason in layer["reasons"])

    @property
    def classes(self) -> set[tuple[str, str]]:
        """What the evidence that names a transport is, and which one it names."""
        return {(one["class"], one["transport"]) for one in self.document["evidence"] if one["transport"]}


def on_two_devices(programs: Programs, lasts: Sequence[str]) -> tuple[str, ...]:
    """A rank on each of the two devices."""
    first, second = (
        ("-np", "1", "-x", f"UCX_NET_DEVICES=rxe{n}:1", programs.openmpi, "5", "0", *lasts) for n in (0, 1)
    )
    return (*OPENMPI, "--mca", "pml", "ucx", *first, ":", *second)


def openmpi(words: str = "") -> Command:
    """Two ranks of it."""
    return lambda programs, lasts: (*OPENMPI, "-np", "2", *words.split(), programs.openmpi, "5", "0", *lasts)


def mpich(programs: Programs, lasts: Sequence[str]) -> tuple[str, ...]:
    """Two ranks of it."""
    return "mpiexec.hydra", "-n", "2", programs.mpich, "5", "0", *lasts


def starved(job: Command) -> Command:
    """With so little memory to lock that UCX can set up no queue pair, and does not end by itself."""
    limited = ("sh", "-c", 'ulimit -l 64; exec "$0" "$@"', "timeout", "-k", "2")
    return lambda programs, lasts: (*limited, lasts[0], *job(programs, lasts))


def until_said(text: str, times: int, seconds: int, command: Sequence[str]) -> tuple[str, ...]:
    """It is ended that much after it has said that so often."""
    return (sys.executable, str(ROOT / "tests/support/until_said.py"), text, str(times), str(seconds), *command)


def pair(_: Programs, lasts: Sequence[str]) -> tuple[str, ...]:
    """Two processes that use verbs themselves, until their stdin ends."""
    seconds, *file = lasts
    words = f'timeout {seconds} sh -c "until [ -e {file[0]} ]; do sleep 0.1; done"' if file else f"sleep {seconds}"
    return ("sh", "-c", f'{words} | "$0" "$@"', *PAIR, "send")


#: A job for each way, by its name.
JOBS = {
    "ucx-rxe": Job(on_two_devices, "roce", "as-expected", 0, variables=OVER_RXE),
    "mpich-rxe": Job(mpich, "roce", "as-expected", 0, variables={**OVER_RXE, "UCX_NET_DEVICES": "rxe0:1"}),
    "ob1-tcp": Job(openmpi("--mca pml ob1 --mca btl tcp,self"), "tcp", "by-configuration", 1,
                   ("wrongtls",)),
    "shared-memory": Job(openmpi(), "shm", "as-expected", 0),
    "mpich-tcp": Job(mpich, "tcp", "by-configuration", 1, ("wrongtls",), {"UCX_TLS": "tcp,self"}),
    # UCX leaves out the device that is not there; what is left is an interface.
    "wrong-device": Job(openmpi("--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any"), "tcp",
                        "fallback", 1, ("wrongdev",), {"UCX_NET_DEVICES": "mlx5_0:1,ve0", "UCX_TLS": "tcp,rc,self"}),
    # UCX 1.13 says 1000 times a second that it can set up no queue pair.
    "memlock-openmpi": Job(starved(openmpi("--mca pml ucx")), "unknown", "undecided", 3, ("memlock",), OVER_RXE,
                           b"Cannot allocate memory"),
    "memlock-mpich": Job(starved(mpich), "unknown", "undecided", 3, ("memlock",), OVER_RXE, b"Cannot allocate memory"),
    "pair": Job(pair, "roce", "as-expected", 0, ready=b"[{"),
}  # fmt: skip


def environment(**more: str) -> dict[str, str]:
    """Of jobs and of ibkit, for every user."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**os.environ, **root, "PYTHONPATH": str(ROOT), "TMPDIR": "/tmp", "HOME": "/tmp", **more}


def answer(*words: str, prefix: Sequence[str] = (), ibkit: Sequence[str] = IBKIT, **more: str) -> Answer:
    """What ``ibkit check-mpi-transport --json WORDS`` says."""
    done = subprocess.run(
        [*prefix, *ibkit, *words], env=environment(**more), capture_output=True, text=True,
        timeout=ANSWER_SECONDS, check=False, stdin=subprocess.DEVNULL, errors="replace",
    )  # fmt: skip
    assert done.stdout, done.stderr[-3000:]
    return Answer(done.returncode, json.loads(done.stdout), done.stderr[-3000:])


@contextmanager
def running(command: Sequence[str], ready: bytes, nice: int = 19, **more: str) -> Iterator[int]:
    """The process of a job that goes on meanwhile, from the moment in which it has printed ``ready``.

    It gives way to who looks at it, unless several do: there is one CPU, and ranks poll. Nothing of it stays.
    """
    with open("/run/job.out", "w+b", buffering=0) as out:
        child = subprocess.Popen(
            ["nice", "-n", str(nice), *command], env=environment(**more), stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            _wait(lambda: child.poll() is not None or ready in os.pread(out.fileno(), 1 << 20, 0), "it printed nothing")
            assert child.poll() is None, os.pread(out.fileno(), 1 << 12, 0)
            yield child.pid
        finally:
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """Launchers end their ranks when they are asked to; what is left is killed."""
    below = _below(child.pid)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait(10)
    for pid in below:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until_ended(below, _PATIENCE_SECONDS)


def _below(pid: int) -> list[int]:
    told = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    children = [int(word) for word in told.split()]
    return [*children, *(below for child in children for below in _below(child))]


def _wait(is_so: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(otherwise)
        time.sleep(0.05)
