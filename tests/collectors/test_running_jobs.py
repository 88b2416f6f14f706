"""The jobs of a host: ranks and launchers. Environments are as Open MPI 4.1, MPICH 4.0, Slurm and torchrun set them."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from support.answers import Answers

from ibkit.collectors.running_jobs import running_jobs
from ibkit.sources.base import Entry
from ibkit.sources.live import LiveSource
from ibkit.sources.opening import open_site
from ibkit.sources.private import reduced_file
from ibkit.sources.recording import RecordingSource
from ibkit.sources.writer import Recorded, write_capture


def host(*processes: tuple[int, str, int, str], commands: dict[int, str] | None = None) -> Answers:
    """Processes as pid, name, parent and environment (with blanks for NUL)."""
    files = {"/etc/passwd": "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n"}
    for pid, name, parent, environment in processes:
        files[f"/proc/{pid}/status"] = f"Name:\t{name}\nPPid:\t{parent}\nUid:\t1000\t1000\t1000\t1000\n"
        files[f"/proc/{pid}/environ"] = environment.replace(" ", "\0")
    files |= {f"/proc/{pid}/cmdline": text.replace(" ", "\0") + "\0" for pid, text in (commands or {}).items()}
    return Answers({}, files=files, folders={"/proc": [Entry(str(row[0]), "folder") for row in processes]})


def test_ranks_of_open_mpi_in_a_batch_job_and_not_their_launcher() -> None:
    """A batch script has a SLURM_PROCID, which mpirun and all below it inherit."""
    batch = "SLURM_JOB_ID=12 SLURM_PROCID=0 SLURM_NTASKS=2"
    rank = batch + " PMIX_NAMESPACE=7 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK={0} PMIX_RANK={0}"
    found = running_jobs(
        host(
            (10, "slurmstepd", 1, ""), (11, "bash", 10, batch), (12, "mpirun", 11, batch),
            (13, "a.out", 12, rank.format(0)), (14, "a.out", 12, rank.format(1)),
            commands={12: "mpirun -np 2 ./a.out"},
        )
    )  # fmt: skip
    (job,) = found
    assert (dict(job.ranks), job.size, job.key) == ({13: 0, 14: 1}, 2, "pmix:7")
    assert (job.launcher_pid, job.launcher, job.user, job.command) == (12, "mpirun", "ann", "mpirun -np 2 ./a.out")
    assert job.target == "pid:13"


def test_a_daemon_is_the_launcher_where_mpirun_is_on_another_host() -> None:
    rank = "PMIX_NAMESPACE=7 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=2"
    (job,) = running_jobs(host((20, "orted", 1, ""), (21, "a.out", 20, rank), commands={21: "./a.out in"}))
    assert (job.launcher_pid, job.launcher, job.command, job.size) == (20, "orted", "./a.out in", 4)


def test_two_jobs_of_hydra_are_told_apart_by_their_launchers_address() -> None:
    rank = "PMI_RANK={} PMI_SIZE=2"
    proxy = "hydra_pmi_proxy --control-port n01:{} --pgid 0"
    found = running_jobs(
        host(
            (30, "hydra_pmi_proxy", 1, ""), (31, "bash", 30, rank.format(0)), (32, "a.out", 31, rank.format(0)),
            (33, "a.out", 30, rank.format(1)),
            (40, "hydra_pmi_proxy", 1, ""), (41, "a.out", 40, rank.format(0)),
            commands={30: proxy.format(4001), 40: proxy.format(4002)},
        )
    )  # fmt: skip
    assert [(job.key, dict(job.ranks)) for job in found] == [
        ("hydra:n01:4001", {31: 0, 32: 0, 33: 1}),  # a shell between proxy and rank is of this rank, too
        ("hydra:n01:4002", {41: 0}),
    ]


def test_torchrun_in_a_step_of_slurm_is_the_launcher() -> None:
    step = "SLURM_JOB_ID=12 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2"
    worker = step + " RANK={} WORLD_SIZE=4 TORCHELASTIC_RUN_ID=x MASTER_ADDR=n01 MASTER_PORT=29500"
    found = running_jobs(
        host((50, "python3", 1, step), (51, "python3", 50, worker.format(2)), (52, "python3", 50, worker.format(3)))
    )
    assert [(job.key, dict(job.ranks), job.size, job.launcher_pid) for job in found] == [
        ("torch:n01:29500", {51: 2, 52: 3}, 4, 50)
    ]


def test_what_looks_like_a_rank_and_is_none() -> None:
    """A batch script alone, somebody's variable RANK, a number that is none."""
    found = host(
        (60, "bash", 1, "SLURM_JOB_ID=12 SLURM_PROCID=0 SLURM_NTASKS=64"), (61, "zsh", 1, "RANK=3"),
        (62, "x", 1, "PMI_RANK=" + "9" * 5000),
    )  # fmt: skip
    assert running_jobs(found) == ()


def test_of_other_users_jobs_those_below_a_launcher() -> None:
    both = host((70, "orted", 1, ""), (71, "a.out", 70, ""), (72, "sshd", 1, ""))
    for pid in (71, 72):
        del both._files[f"/proc/{pid}/environ"]  # type: ignore[attr-defined]
        both._errors = {**both._errors, f"/proc/{pid}/environ": "EACCES"}
    assert [(dict(job.ranks), job.launcher) for job in running_jobs(both)] == [({71: None}, "orted")]


def test_a_loop_of_parents_ends() -> None:
    """/proc is no snapshot: what is read of two processes may contradict each other."""
    assert running_jobs(host((80, "a", 81, "PMI_RANK=0"), (81, "b", 80, "PMI_RANK=0"))) == ()


def test_command_lines_lose_their_secrets() -> None:
    words = (
        b"mpirun", b"-x", b"UCX_TLS=tcp", b"-x", b"AWS_KEY=abc", b"--api-token", b"xyz", b"--password=p", b"--key-file",
        b"k", b"lr=3", b"",
    )  # fmt: skip
    assert reduced_file("/proc/7/cmdline", b"\0".join(words)).split(b"\0") == [
        b"mpirun", b"-x", b"UCX_TLS=tcp", b"-x", b"AWS_KEY=removed", b"--api-token", b"removed", b"--password=removed",
        b"--key-file", b"k", b"lr=removed", b"",
    ]  # fmt: skip


def test_a_capture_shows_the_same_jobs(tmp_path: Path) -> None:
    rank = "PMIX_NAMESPACE=7 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0"
    asked = RecordingSource(host((20, "orted", 1, ""), (21, "a.out", 20, rank), commands={21: "./a.out in"}))
    jobs = running_jobs(asked)
    assert len(jobs) == 1
    write_capture(str(tmp_path / "c"), Recorded("n", None, (("n", asked),), RecordingSource(Answers({}))))
    (replayed,) = open_site(str(tmp_path / "c")).hosts
    assert running_jobs(replayed.source) == jobs


@pytest.mark.needs("mpich")
def test_a_real_job_is_found() -> None:
    job = subprocess.Popen(["mpiexec.hydra", "-n", "2", "sleep", "30"], stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        found = []
        while not found and time.monotonic() < deadline:
            time.sleep(0.2)
            found = [one for one in running_jobs(LiveSource()) if one.launcher_pid == job.pid and len(one.ranks) == 2]
    finally:
        job.terminate()
        job.wait(20)
    (one,) = found
    assert (sorted(one.ranks.values()), one.size, one.uid) == ([0, 1], 2, os.getuid())
    assert (one.launcher, one.command) == ("mpiexec.hydra", "mpiexec.hydra -n 2 sleep 30")


def test_runs_of_two_containers_with_the_same_name_space_are_two() -> None:
    """With the host's network mpirun has one host name and number in both, of which Open MPI makes the name space."""
    rank = "PMIX_NAMESPACE=7 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK={0} PMIX_RANK={0}"
    processes = [
        (10, "mpirun", 1, ""), (11, "a.out", 10, rank.format(0)), (12, "a.out", 10, rank.format(1)),
        (20, "mpirun", 1, ""), (21, "a.out", 20, rank.format(0)), (22, "a.out", 20, rank.format(1)),
    ]  # fmt: skip
    found = running_jobs(host(*processes))
    assert [(dict(job.ranks), job.launcher_pid) for job in found] == [({11: 0, 12: 1}, 10), ({21: 0, 22: 1}, 20)]
    daemon = (30, "helper", 1, rank.format(0))  # of rank 0, and in the background
    (one,) = running_jobs(host(*processes[:3], daemon))
    assert (dict(one.ranks), one.key) == ({11: 0, 12: 1, 30: 0}, "pmix:7")
