"""The CPU of `ibkit check-mpi-transport` on NCCL's logs of 10,240 ranks, against that on a job an eighth as large.

1,280 hosts with eight ranks each, and 160: what NCCL prints with its channels, and what it prints with
NCCL_DEBUG_SUBSYS=INIT,NET, where each rank's communicator is looked at instead. `tests/transport/test_growth.py` counts
the operations of smaller ones.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from frame import Result, cpu_median, ibkit, in_turn, print_results

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests"))

from support.large_jobs import HOSTS, RANKS_PER_HOST, nccl_log, nccl_start_log

ROUNDS = 5
LESS = 8
MAX_GROWTH = 1.2


def measure() -> list[Result]:
    """Both kinds of log."""
    return [growth("NCCL's log", nccl_log), growth("NCCL's log without channels", nccl_start_log)]


def growth(what: str, log: Callable[..., Iterator[str]]) -> Result:
    """The CPU of a byte of the large log, over that of the small one, both beyond a start of the program."""
    with tempfile.TemporaryDirectory(prefix="ibkit-bench-") as folder:
        paths = [Path(folder) / f"{hosts}.log" for hosts in (HOSTS, HOSTS // LESS)]
        for path, hosts in zip(paths, (HOSTS, HOSTS // LESS), strict=True):
            with path.open("w", encoding="ascii") as file:
                file.writelines(f"{line}\n" for line in log(hosts=hosts, odd=hosts // 3))
        programs = [ibkit("check-mpi-transport", "--json", str(path)) for path in paths]
        # One host is on TCP, which is a finding; help is none.
        large, small, start = (
            cpu_median(usages)
            for usages in in_turn([*programs, ibkit("check-mpi-transport", "--help")], ROUNDS, statuses=(0, 1))
        )
        times = paths[0].stat().st_size / paths[1].stat().st_size
    ratio = (large - start) / (small - start) / times
    return Result(
        f"check-mpi-transport on {what} of {HOSTS * RANKS_PER_HOST:,} ranks on {HOSTS:,} hosts",
        f"{large:.2f} s CPU",
        f"{HOSTS // LESS} hosts {small:.2f} s; the log is {times:.1f} times as long",
        f"{ratio:.2f} a byte, beyond the start",
        f"at most {MAX_GROWTH:g}",
        ratio <= MAX_GROWTH,
    )


if __name__ == "__main__":
    raise SystemExit(print_results(measure()))
