"""The CPU of looking at a running job of 128 ranks twice, against the tools that it asks, run once.

python benchmarks/watch_job.py [ROUNDS]

The ranks are sleeping processes, each with TCP connections to 16 others, as a job over TCP has them. What is counted is
all that happens from looking for the ranks to the end of the second sample, tools included.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys

from frame import Result, cpu_floor, in_turn, milliseconds, print_results
from ibkit.collectors.job_samples import watch_job, window_for
from ibkit.sources.live import LiveSource
from ibkit.sources.recording import RecordingSource

ROUNDS = 10
RANKS = 128
NEIGHBOURS = 8
#: Of a core, in the window that is chosen for so many ranks.
TARGET = 0.01
#: The sockets with their owners, the addresses, the processes; `rdma` where there is no device has nothing to list.
ASKED = (("ss", "-tinepH"), ("ip", "-j", "-d", "addr"), ("ls", "/proc"))


def measure(rounds: int = ROUNDS) -> list[Result]:
    """CPU of the two samples, and its share of a window."""
    ranks = _start_ranks()
    try:
        command = [sys.executable, os.path.abspath(__file__), "--inside", str(ranks[0].pid)]
        ours = min(
            json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout) for _ in range(rounds)
        )
        peer = sum(cpu_floor(usages) for usages in in_turn(ASKED, rounds))
    finally:
        for rank in ranks:
            rank.kill()
        for rank in ranks:
            rank.wait()
    window = window_for(RANKS)
    share = ours / window
    return [
        Result(
            f"the two samples of a running job of {RANKS} ranks, {RANKS * NEIGHBOURS * 2:,} sockets",
            f"{milliseconds(ours)} CPU, {share:.2%} of a core in {window:.1f} s",
            f"`ss -tinepH`, `ip addr`, `ls /proc` once {milliseconds(peer)}",
            f"{ours / peer:.1f}",
            f"under {TARGET:.0%} of a core",
            share < TARGET,
        )
    ]


def _start_ranks() -> list[subprocess.Popen[bytes]]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=RANKS)
    ends: list[list[socket.socket]] = [[] for _ in range(RANKS)]
    for rank in range(RANKS):
        for distance in range(1, NEIGHBOURS + 1):
            ends[rank].append(socket.create_connection(listener.getsockname()))
            ends[(rank + distance) % RANKS].append(listener.accept()[0])
    ranks = []
    for rank, held in enumerate(ends):
        environment = {
            **os.environ, "PMIX_NAMESPACE": "77", "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(RANKS)
        }  # fmt: skip
        ranks.append(subprocess.Popen(["sleep", "600"], env=environment, pass_fds=[one.fileno() for one in held]))
    for one in (listener, *(end for held in ends for end in held)):
        one.close()
    return ranks


def _inside(pid: int) -> None:
    """Look at the job, and print the CPU that it took (seconds)."""
    before = _cpu_seconds()
    watch_job("here", f"pid:{pid}", RecordingSource(LiveSource()), RecordingSource(LiveSource()), lambda _: 1.0)
    print(_cpu_seconds() - before)


def _cpu_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        _inside(int(sys.argv[2]))
    else:
        print_results(measure(*map(int, sys.argv[1:2])))
