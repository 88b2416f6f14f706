"""Real Open MPI, MPICH and PyTorch jobs on two hosts, which are namespaces of this one: launched, and looked at while
they run, from one host and from both.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.namespaces import Cluster, NoNamespaces, cluster

from ibkit.collectors.job_samples import JobWatch
from ibkit.sources.launched import launch
from ibkit.sources.opening import open_site
from ibkit.sources.site import Host
from ibkit.transport.launching import judge_launched, prepare
from ibkit.transport.live.verdict import judge_watches
from ibkit.transport.log_and_live import joined
from ibkit.transport.watching import Watcher

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests/support"
IBKIT = (sys.executable, "-m", "ibkit", "check-mpi-transport", "--json")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PYTHONPATH": str(ROOT)}

pytestmark = [pytest.mark.needs("openmpi", "mpich", "iproute", "gcc", "libc"), pytest.mark.timeout(120)]


class Place(NamedTuple):
    """Two hosts, and the program for each MPI."""

    hosts: Cluster
    openmpi: str
    mpich: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place | None]:
    folder = tmp_path_factory.mktemp("hosts")
    for name in ("openmpi", "mpich"):
        subprocess.run([f"mpicc.{name}", SUPPORT / "ring.c", "-o", folder / name], check=True, timeout=60)
    try:
        with cluster(folder) as hosts:
            (folder / "ibkit").write_text(f'#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m ibkit "$@"\n')
            (folder / "ibkit").chmod(0o755)
            hosts.environment["PATH"] = f"{folder}:{os.environ['PATH']}"
            yield Place(hosts, str(folder / "openmpi"), str(folder / "mpich"))
    except NoNamespaces as error:
        # A container may make none, and no package mends that: it is told, and CI does not fail for it.
        warnings.warn(f"no network namespaces here: {error}", stacklevel=1)
        yield None


def openmpi(place: Place, *words: str, ranks: int = 2, seconds: float = 0) -> tuple[str, ...]:
    each = ranks // 2
    rsh = ("--mca", "plm_rsh_agent", str(place.hosts.rsh), "--mca", "pml", "ob1")
    where = ("--host", f"nodea:{each},nodeb:{each}")
    return ("mpirun.openmpi", *where, *rsh, *words, "-np", str(ranks), place.openmpi, "20", "0", str(seconds))


def mpich(place: Place, *words: str, seconds: float = 0) -> tuple[str, ...]:
    rsh = ("-launcher", "ssh", "-launcher-exec", str(place.hosts.rsh))
    return ("mpiexec.hydra", *rsh, "-hosts", "nodea,nodeb", *words, "-n", "2", place.mpich, "20", "0", str(seconds))


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, **AS_ROOT, **more}


def answer(place: Place, *words: str, **more: str) -> tuple[int, dict[str, Any], str]:
    """ibkit's exit status, document and stderr, on nodea."""
    done = place.hosts.run("nodea", *IBKIT, *words, env=environment(**more), cwd=ROOT)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@contextmanager
def running(
    place: Place, command: Sequence[str], host: str = "nodea", ready: bytes = b"the ring goes round\n", **more: str
) -> Iterator[None]:
    """A job that goes on meanwhile, from when it has printed ``ready``; whatever becomes of it, nothing of it stays."""
    with tempfile.TemporaryFile(buffering=0) as out:
        child = subprocess.Popen(
            place.hosts.inside(host, *command), env=environment(**more), stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            end = time.monotonic() + 60
            while ready not in (printed := os.pread(out.fileno(), 1 << 16, 0)):
                assert child.poll() is None and time.monotonic() < end, printed
                time.sleep(0.05)
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # what it started on the other host ends when it is gone
            child.wait(10)


def rank_of(place: Place, name: str, host: str = "nodea") -> int:
    """The number of a process that runs a program, as its host calls it."""
    return int(place.hosts.run(host, "pgrep", "-f", name).stdout.split()[-1])


def looked_at(place: Place, verdict: str, folder: Path, *command: str, **more: str) -> tuple[int, dict[str, Any], str]:
    """What ibkit says of a job that it launches on nodea, and that lasts until a look at it has found the verdict."""
    file = str(folder / "seen")
    ibkit = (sys.executable, str(SUPPORT / "until_seen.py"), file, verdict, *IBKIT[3:], "--window", "1", "--")
    done = place.hosts.run("nodea", *ibkit, *command, "90", file, env=environment(**more), cwd=ROOT, timeout=110)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def pairs_of(layer: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(pair["a"], pair["b"], pair["transport"]) for pair in layer["pairs"]}


# -- launched


def test_open_mpi_over_tcp_because_it_was_asked_to(place: Place | None) -> None:
    if place is None:
        return
    status, document, err = answer(place, "--", *openmpi(place, "--mca", "btl", "tcp,self"))
    (layer,) = document["layers"]
    assert (status, layer["verdict"], layer["status"]) == (1, "tcp", "by-configuration"), err
    assert pairs_of(layer) == {("nodea", "nodeb", "tcp")}
    assert [reason["id"] for reason in layer["reasons"]] == ["wrongtls"]
    assert "rank 1 of 2 done" in err


def test_open_mpi_with_shared_memory_within_each_host(place: Place | None) -> None:
    if place is None:
        return
    _, document, err = answer(place, "--", *openmpi(place, ranks=4))
    (layer,) = document["layers"]
    assert (layer["verdict"], layer["ranks"]) == ("tcp", 4), err
    assert pairs_of(layer) == {("nodea", "nodea", "shm"), ("nodea", "nodeb", "tcp"), ("nodeb", "nodeb", "shm")}


def test_mpich_over_ucx_between_hosts(place: Place | None) -> None:
    if place is None:
        return
    status, document, err = answer(place, "--", *mpich(place))
    (layer,) = document["layers"]
    assert (status, layer["verdict"], layer["runtime"]) == (1, "tcp", "MPICH"), err
    assert {*layer["hosts"]} == {"nodea", "nodeb"}


def test_a_longer_job_is_looked_at_while_it_runs_and_both_agree(place: Place | None, tmp_path: Path) -> None:
    """On one host, where all of its ranks are seen."""
    if place is None:
        return
    command = ("mpirun.openmpi", "--oversubscribe", "--mca", "btl", "tcp,self", "-np", "2", place.openmpi, "20", "0")
    status, document, err = looked_at(place, "tcp", tmp_path, *command)
    assert (status, document["verdict"], document["status"]) == (1, "tcp", "by-configuration"), err
    seen = [one for one in document["evidence"] if one["class"] == "process"]
    assert {(one["host"], one["rank"], one["transport"]) for one in seen} == {("nodea", 0, "tcp"), ("nodea", 1, "tcp")}
    assert document["problems"] == []


def test_what_the_log_does_not_tell_is_seen(place: Place | None, tmp_path: Path) -> None:
    """The user has silenced the runtime; what the ranks move is seen all the same."""
    if place is None:
        return
    silent = {f"OMPI_MCA_{name}_base_verbose": "0" for name in ("pml", "btl", "mtl")}
    command = ("mpirun.openmpi", "--oversubscribe", "--mca", "btl", "tcp,self", "-np", "2", place.openmpi, "20", "0")
    status, document, err = looked_at(place, "tcp", tmp_path, *command, **silent, UCX_LOG_LEVEL="error")
    assert (status, document["verdict"], document["status"]) == (1, "tcp", "by-configuration"), (document, err)
    assert {one["class"] for one in document["evidence"] if one["transport"]} == {"process"}


# -- running


@pytest.mark.parametrize("runtime", ["openmpi", "mpich"])
def test_a_running_job_is_undecided_from_one_host_and_tcp_from_both(place: Place | None, runtime: str) -> None:
    if place is None:
        return
    program = place.openmpi if runtime == "openmpi" else place.mpich
    command = openmpi(place, seconds=90) if runtime == "openmpi" else mpich(place, seconds=90)
    with running(place, command):
        rank = rank_of(place, f"{program} 20")
        alone, one_host, _ = answer(place, f"pid:{rank}", "--window", "1")
        both, two_hosts, err = answer(
            place, f"pid:{rank}", "--window", "2", "--hosts", "nodea,nodeb", "--rsh", str(place.hosts.rsh)
        )
    assert (alone, one_host["verdict"]) == (3, "unknown")
    (layer,) = two_hosts["layers"]
    assert (layer["verdict"], layer["ranks"]) == ("tcp", 2), err
    assert both in (0, 1)  # there is no HCA on either host
    assert pairs_of(layer) == {("nodea", "nodeb", "tcp")}
    assert all("over ve0" in one["text"] for one in two_hosts["evidence"] if one["class"] == "process")


def test_ip_over_infiniband_is_told_by_its_link_type(place: Place | None) -> None:
    """The interface is called net3; the kernel says that its link is InfiniBand."""
    if place is None:
        return
    try:
        place.hosts.add_ipoib("net3")
    except NoNamespaces as error:
        warnings.warn(str(error), stacklevel=1)
        return
    command = openmpi(place, "--mca", "btl_tcp_if_include", "net3", seconds=90)
    with running(place, command):
        rank = rank_of(place, f"{place.openmpi} 20")
        status, document, err = answer(
            place, f"pid:{rank}", "--window", "2", "--hosts", "nodea,nodeb", "--rsh", str(place.hosts.rsh)
        )
    assert (status, document["verdict"]) == (1, "ipoib"), (document, err)
    assert pairs_of(document["layers"][0]) == {("nodea", "nodeb", "ipoib")}


# -- PyTorch over Gloo

#: The distribution's PyTorch is for the distribution's Python.
TORCH = ("/usr/bin/python3", str(SUPPORT / "gloo_ranks.py"))


def gloo_rank(place: Place, rank: int) -> dict[str, str]:
    return {
        "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": place.hosts.hosts["nodea"], "MASTER_PORT": "29511",
        "GLOO_SOCKET_IFNAME": "ve0", "TORCH_DISTRIBUTED_DEBUG": "INFO", "TORCH_CPP_LOG_LEVEL": "INFO",
        "OMP_NUM_THREADS": "1",
    }  # fmt: skip


@pytest.mark.needs("torch")
def test_pytorch_over_gloo(place: Place | None) -> None:
    """Its rank on nodea is launched by ibkit; both are looked at meanwhile."""
    if place is None:
        return
    with (
        running(place, (*TORCH, "90"), "nodeb", b"", **gloo_rank(place, 1)),
        running(place, (*TORCH, "90"), "nodea", b"rank 0 has summed up\n", **gloo_rank(place, 0)),
    ):
        rank = rank_of(place, "gloo_ranks.py")
        alone, one_host, _ = answer(place, f"pid:{rank}", "--window", "1")
        both, two_hosts, err = answer(
            place, f"pid:{rank}", "--window", "2", "--hosts", "nodea,nodeb", "--rsh", str(place.hosts.rsh)
        )
    assert (alone, one_host["verdict"]) == (3, "unknown")
    (layer,) = two_hosts["layers"]
    assert (layer["layer"], layer["verdict"], layer["ranks"]) == ("gloo", "tcp", 2), (two_hosts, err)
    assert both in (0, 1)
    assert pairs_of(layer) == {("nodea", "nodeb", "tcp")}


class Until(Watcher):
    """Ends the job by making a file, once a look at it has told what moves its data."""

    def __init__(self, host: Host, file: Path) -> None:
        super().__init__(host, 1.0, looks=tuple(range(2, 90, 3)))
        self._file = file

    def _is_whole(self, watch: JobWatch) -> bool:
        is_whole = super()._is_whole(watch)
        if is_whole and judge_watches("job", [watch]).verdict == "tcp":
            self._file.touch()
        return is_whole


@pytest.mark.needs("torch")
def test_a_launched_job_of_pytorch(tmp_path: Path) -> None:
    """What PyTorch 1.13 prints tells the store's sockets, which are no data path; what the ranks move is seen."""
    (here,) = open_site(None).hosts
    variables = {
        "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port()), "GLOO_SOCKET_IFNAME": "lo",
        "TORCH_CPP_LOG_LEVEL": "INFO", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    file = tmp_path / "seen"
    each = " ".join(f"RANK={rank} {' '.join(TORCH)} 90 {file} &" for rank in (0, 1))
    argv = ("sh", "-c", f"{each} wait")
    ready = prepare(here.source, argv, {})
    watcher = Until(here, file)
    out: list[bytes] = []
    ended = launch(argv, {**ready.variables, **variables}, out.append, out.append, watcher.start)
    seen = watcher.end("job")
    told = judge_launched("job", argv, ready, ended, {}, here)
    assert (told.verdict, told.status) == ("unknown", "undecided"), told
    answer = joined(told, seen)
    (layer,) = answer.layers
    assert (layer.layer, layer.verdict, layer.ranks) == ("gloo", "tcp", 2), (answer, seen)
    assert {one.evidence_class for one in answer.evidence if one.transport} == {"process"}
    assert b"rank 0 done" in b"".join(out)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
