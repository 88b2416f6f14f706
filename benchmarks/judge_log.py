"""Large logs, judged by `ibkit check-mpi-transport`, next to `grep -c NCCL` on the same file.

They are made for it: 64 hosts with 8 ranks each. The first is NCCL's (32 channels, device lists, ranks, and training
chatter in between, one tenth of the lines), the second is of NCCL, UCX, Open MPI and an application, each line behind
a time and mpirun's tag. They lie in a temporary folder that is removed at the end. 1,024 MiB are a gigabyte.

Speed is by the clock, as several processes look through a large log; the CPU of all of them is told beside it. On a
machine whose cores others use there is nothing to be gained by them.

    python benchmarks/judge_log.py [MiB]
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator

from frame import Result, Usage, in_turn
from ibkit.sources.shared_reading import MAX_WORKERS

MIB = 1024
ROUNDS = 3
HOSTS, RANKS_PER_HOST, CHANNELS = 64, 8, 32
MAX_PEAK_BYTES = 200 << 20
MIN_SHARE_OF_GREP = 0.1
IBKIT = [sys.executable, "-m", "ibkit", "check-mpi-transport", "--json"]


def lines(count: int, seed: int) -> Iterator[str]:
    """Channel lines of the ring between the hosts in no order, and chatter."""
    pick = random.Random(seed)
    for step in range(count):
        if pick.random() < 0.1:
            rate = pick.randrange(10**6)
            yield f"2026-03-01 12:{step % 60:02d}:07 | step {step} | loss {pick.random():.6f} | {rate} tokens/s\n"
        else:
            yield channel_line(pick, pick.randrange(HOSTS), pick.randrange(RANKS_PER_HOST))


def channel_line(pick: random.Random, host: int, gpu: int) -> str:
    """What this process says of one of its channels."""
    size, rank = HOSTS * RANKS_PER_HOST, host * RANKS_PER_HOST + gpu
    if pick.random() < 0.5:
        way, a, b = "send", rank, (rank + RANKS_PER_HOST) % size
    else:
        way, a, b = "receive", (rank - RANKS_PER_HOST) % size, rank
    return (
        f"gpu{host:03d}:{4100 + gpu}:{4200 + gpu} [{gpu}] NCCL INFO Channel {pick.randrange(CHANNELS):02d}/0 : "
        f"{a}[{a % RANKS_PER_HOST}] -> {b}[{b % RANKS_PER_HOST}] [{way}] via NET/IB/{gpu}/GDRDMA\n"
    )


def write_log(path: str, mib: int) -> None:
    """The head that a job prints once, then blocks of lines, each with its own order, until the size is reached."""
    with open(path, "w", encoding="ascii") as file:
        for host in range(HOSTS):
            for gpu in range(RANKS_PER_HOST):
                who = f"gpu{host:03d}:{4100 + gpu}:{4200 + gpu} [{gpu}] NCCL INFO"
                devices = " ".join(f"[{n}]mlx5_{n}:1/IB" for n in range(RANKS_PER_HOST))
                rank = host * RANKS_PER_HOST + gpu
                file.write(f"{who} NET/IB : Using {devices} [RO]; OOB eth0:10.0.0.{host}<0>\n{who} Using network IB\n")
                file.write(
                    f"{who} comm 0x7f{rank:010x} rank {rank} nranks {HOSTS * RANKS_PER_HOST} cudaDev {gpu} "
                    f"nvmlDev {gpu} busId 1b000 commId 0x3d0a71c55e1f2b90 - Init START\n"
                )
        blocks = ["".join(lines(20_000, seed)) for seed in range(16)]
        pick = random.Random(0)
        while file.tell() < mib << 20:
            file.write(pick.choice(blocks))


def mixed_lines(count: int, seed: int, start: int) -> Iterator[str]:
    """Three tenths channel lines, a tenth of UCX's and Open MPI's, the rest the application's, each behind a time and
    mpirun's tag. ``start`` is the first line's time in milliseconds: no two lines have the same.
    """
    pick = random.Random(seed)
    for step in range(count):
        host, place = pick.randrange(HOSTS), pick.randrange(RANKS_PER_HOST)
        rank, now = host * RANKS_PER_HOST + place, start + step
        head = (
            f"2026-03-01T{now // 3_600_000 % 24:02d}:{now // 60_000 % 60:02d}:{now // 1000 % 60:02d}.{now % 1000:03d}Z "
            f"[1,{rank}]<stdout>:"
        )
        kind = pick.random()
        if kind < 0.3:
            yield head + channel_line(pick, host, place)
        elif kind < 0.35:
            yield (
                f"{head}[1772359200.{now % 10**6:06d}] [gpu{host:03d}:{4100 + place}:0]      ucp_worker.c:1855 "
                "UCX  INFO    mpi inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)\n"
            )
        elif kind < 0.4:
            peer = (rank + 1 + pick.randrange(16)) % (HOSTS * RANKS_PER_HOST)
            yield (
                f"{head}[gpu{host:03d}:{4100 + place:05d}] mca: bml: Using openib btl for send to [[31337,1],{peer}] "
                f"on node gpu{peer // RANKS_PER_HOST:03d}\n"
            )
        else:
            rate = pick.randrange(10**6)
            yield f"{head}step {now} | loss {pick.random():.6f} | lr 3e-4 | {rate} tokens/s | grad {kind}\n"


def write_mixed_log(path: str, mib: int) -> None:
    """All lines different, as their times are: the same on four days."""
    with open(path, "w", encoding="ascii") as file:
        seed = 0
        while file.tell() < mib << 20:
            lines = "".join(mixed_lines(50_000, seed, seed * 50_000))
            file.writelines(lines.replace("2026-03-01T", f"2026-03-0{day}T") for day in (1, 2, 3, 4))
            seed += 1


def measure(mib: int = MIB) -> list[Result]:
    """Both kinds of log."""
    return [*measure_one("NCCL log", write_log, mib), *measure_one("mixed log", write_mixed_log, mib)]


def measure_one(kind: str, write: Callable[[str, int], None], mib: int) -> list[Result]:
    """Time and CPU of both programs on the same file, in turn, and the memory of ours."""
    with tempfile.TemporaryDirectory(prefix="ibkit-bench-") as folder:
        path = os.path.join(folder, "job.log")
        write(path, mib)
        size = os.path.getsize(path)
        # grep that writes to /dev/null stops at the first match: it gets a file.
        grep_to_file = ["sh", "-c", 'grep -c NCCL "$1" > "$2"', "sh", path, os.path.join(folder, "count")]
        ours, grep = in_turn([[*IBKIT, path], grep_to_file], ROUNDS)
    return results(kind, size, ours, grep)


def results(kind: str, size: int, ours: list[Usage], grep: list[Usage]) -> list[Result]:
    """The best round of each: the rest is other people's load."""
    mine, theirs = (min(usage.seconds for usage in usages) for usages in (ours, grep))
    my_cpu, their_cpu = (min(usage.cpu_seconds for usage in usages) for usages in (ours, grep))
    processes = 1 + min(len(os.sched_getaffinity(0)), MAX_WORKERS)
    peak = max(usage.peak_bytes for usage in ours)
    what = f"check-mpi-transport on a {kind} of {size >> 20} MiB"
    return [
        Result(
            what, f"{mine:.2f} s ({my_cpu:.2f} s CPU), {size / mine / 1e6:.0f} MB/s",
            f"grep -c NCCL: {theirs:.2f} s ({their_cpu:.2f} s CPU)",
            f"{theirs / mine:.2f} of grep's speed (by CPU {their_cpu / my_cpu:.2f})", f"at least {MIN_SHARE_OF_GREP}",
            theirs / mine >= MIN_SHARE_OF_GREP,
        ),
        Result(
            f"{what}, peak memory", f"{processes} processes of at most {peak / 2**20:.0f} MiB", "-", "-",
            f"together under {MAX_PEAK_BYTES >> 20} MiB", processes * peak < MAX_PEAK_BYTES,
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    for result in measure(int(sys.argv[1]) if len(sys.argv) > 1 else MIB):
        print(f"{result.what}: {result.ours}; {result.peer}; {result.ratio}; target {result.target}: "
              f"{'met' if result.met else 'MISSED'}")  # fmt: skip
