"""A 1 GB NCCL log, judged by `ibkit check-mpi-transport`, next to `grep -c NCCL` on the same file.

The log is made for it: 64 hosts with 8 ranks each, 32 channels, device lists, ranks, and training chatter in between,
one tenth of the lines. It lies in a temporary folder that is removed at the end.

    python benchmarks/judge_log.py [MiB]
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Iterator

from frame import Result, Usage, in_turn

MIB = 1024
HOSTS, RANKS_PER_HOST, CHANNELS = 64, 8, 32
MAX_PEAK_BYTES = 200 << 20
MIN_SHARE_OF_GREP = 0.1
IBKIT = [sys.executable, "-m", "ibkit", "check-mpi-transport", "--json"]


def lines(count: int, seed: int) -> Iterator[str]:
    """Channel lines of the ring between the hosts in no order, and chatter."""
    pick = random.Random(seed)
    size = HOSTS * RANKS_PER_HOST
    for step in range(count):
        host, gpu = pick.randrange(HOSTS), pick.randrange(RANKS_PER_HOST)
        rank = host * RANKS_PER_HOST + gpu
        if pick.random() < 0.1:
            rate = pick.randrange(10**6)
            yield f"2026-03-01 12:{step % 60:02d}:07 | step {step} | loss {pick.random():.6f} | {rate} tokens/s\n"
            continue
        if pick.random() < 0.5:
            way, a, b = "send", rank, (rank + RANKS_PER_HOST) % size
        else:
            way, a, b = "receive", (rank - RANKS_PER_HOST) % size, rank
        yield (
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


def measure(mib: int = MIB) -> list[Result]:
    """CPU of both on the same file, in turn, and the memory of ours."""
    with tempfile.TemporaryDirectory(prefix="ibkit-bench-") as folder:
        path = os.path.join(folder, "job.log")
        write_log(path, mib)
        size = os.path.getsize(path)
        # grep that writes to /dev/null stops at the first match: it gets a file.
        grep_to_file = ["sh", "-c", 'grep -c NCCL "$1" > "$2"', "sh", path, os.path.join(folder, "count")]
        ours, grep = in_turn([[*IBKIT, path], grep_to_file], 3)
    return results(size, ours, grep)


def results(size: int, ours: list[Usage], grep: list[Usage]) -> list[Result]:
    """The best round of each: the rest is other people's load."""
    mine = min(usage.cpu_seconds for usage in ours)
    theirs = min(usage.cpu_seconds for usage in grep)
    peak = max(usage.peak_bytes for usage in ours)
    what = f"check-mpi-transport on a NCCL log of {size >> 20} MiB"
    return [
        Result(
            what, f"{mine:.2f} s CPU, {size / mine / 1e6:.0f} MB/s", f"grep -c NCCL: {theirs:.2f} s",
            f"{theirs / mine:.2f} of grep's speed", f"at least {MIN_SHARE_OF_GREP}", theirs / mine >= MIN_SHARE_OF_GREP,
        ),
        Result(
            f"{what}, peak memory", f"{peak / 2**20:.0f} MiB", "-", "-", f"under {MAX_PEAK_BYTES >> 20} MiB",
            peak < MAX_PEAK_BYTES,
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    for result in measure(int(sys.argv[1]) if len(sys.argv) > 1 else MIB):
        print(f"{result.what}: {result.ours}; {result.peer}; {result.ratio}; target {result.target}: "
              f"{'met' if result.met else 'MISSED'}")  # fmt: skip
