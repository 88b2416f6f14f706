"""A cluster of one node: munged, slurmctld and slurmd of this machine in a folder of their own. As root.

No cgroup, no accounting, no DNS, no port that is known before: what is asked with ``environment`` asks this one.
Sources: slurm.conf(5) of Slurm 22.05, munged(8).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

#: Longer than a start ever takes (seconds): about one is usual.
START_SECONDS = 20.0

_CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SchedulerType=sched/builtin
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8
PartitionName=all Nodes={host} Default=YES State=UP
"""


class Slurm:
    """``environment`` makes Slurm's commands talk to this cluster."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def run(self, *command: str, seconds: float = 30, **more: str) -> subprocess.CompletedProcess[str]:
        """A command to its end, with its output as text."""
        return subprocess.run(
            command, env={**self.environment, **more}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=seconds, check=False,
        )  # fmt: skip


@contextlib.contextmanager
def slurm() -> Iterator[Slurm]:
    """The cluster, idle. What still runs there when it is left is cancelled."""
    folder = Path(tempfile.mkdtemp(prefix="ibkit-slurm-"))
    daemons: list[subprocess.Popen[bytes]] = []
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    made = Slurm(environment)
    try:
        _write(folder)
        log = (folder / "log").open("wb")
        munged = (
            "munged", "--foreground", "--force", f"--key-file={folder}/key", f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/seed", f"--log-file={folder}/munged.log",
        )  # fmt: skip
        for command in (munged, ("slurmctld", "-D"), ("slurmd", "-D")):
            daemons.append(
                subprocess.Popen(_found(command), env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            )
            if command is munged:
                _wait(lambda: (folder / "munge.socket").exists(), daemons, folder)
        log.close()
        _wait(lambda: made.run("sinfo", "-h", "-o", "%T").stdout == "idle\n", daemons, folder)
        yield made
    finally:
        if len(daemons) == 3:
            with contextlib.suppress(subprocess.TimeoutExpired):
                made.run("scancel", "--user=root", "--full", "--signal=KILL", seconds=5)
                _wait_quietly(lambda: not made.run("squeue", "-h").stdout, 5)
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path) -> None:
    folder.chmod(0o755)  # munged insists that others can reach its socket
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o400)
    text = _CONFIGURATION.format(folder=folder, host=socket.gethostname(), controller=_port(), daemon=_port())
    (folder / "slurm.conf").write_text(text)
    (folder / "cgroup.conf").write_text("CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n")


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _found(command: tuple[str, ...]) -> tuple[str, ...]:
    """Daemons lie in folders that an ordinary PATH lacks."""
    return (shutil.which(command[0], path=f"/usr/sbin:/sbin:{os.environ['PATH']}") or command[0], *command[1:])


def _wait(condition: object, daemons: list[subprocess.Popen[bytes]], folder: Path) -> None:
    if not _wait_quietly(condition, START_SECONDS, daemons):
        raise AssertionError(f"Slurm did not start:\n{(folder / 'log').read_text(errors='replace')[-3000:]}")


def _wait_quietly(condition: object, seconds: float, daemons: list[subprocess.Popen[bytes]] | None = None) -> bool:
    assert callable(condition)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        if any(daemon.poll() is not None for daemon in daemons or ()):
            return False
        time.sleep(0.1)
    return False
