"""What the benchmarks share: run commands in turn, count their CPU and memory, state a ratio and its target.

A wall clock on a shared machine says little. So a figure here is CPU (user and system) of whole processes, next to a
peer that does comparable work, both measured in turn in the same run; what is compared and promised is their ratio.
A benchmark is a module with ``measure() -> list[Result]``; ``benchmarks/run.py`` runs all and writes the table.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple


class Usage(NamedTuple):
    """What one run of a process took, with those that it started: CPU in seconds (user and system), the peak of the
    resident memory of the largest one in bytes, and how long it ran (s).
    """

    cpu_seconds: float
    peak_bytes: int
    seconds: float


class Result(NamedTuple):
    """One line of the table. ``met`` says whether the target holds; texts carry their units."""

    what: str
    ours: str
    peer: str
    ratio: str
    target: str
    met: bool


def run(argv: Sequence[str], *, statuses: Sequence[int] = (0,), stdin: str = os.devnull) -> Usage:
    """Run a program to its end with its output thrown away. Raises RuntimeError on an exit status not expected."""
    start = time.perf_counter()
    child = os.posix_spawnp(
        argv[0],
        list(argv),
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    if code not in statuses:
        raise RuntimeError(f"{' '.join(argv)}: exit status {code}")
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, seconds)


def in_turn(commands: Sequence[Sequence[str]], rounds: int, *, statuses: Sequence[int] = (0,)) -> list[list[Usage]]:
    """Run all commands once per round, so that a busy spell of the machine meets all of them."""
    usages: list[list[Usage]] = [[] for _ in commands]
    for _ in range(rounds):
        for command, runs in zip(commands, usages, strict=True):
            runs.append(run(command, statuses=statuses))
    return usages


def cpu_floor(usages: Sequence[Usage]) -> float:
    """The least CPU of the runs, in seconds: what the work itself costs, without the disturbances."""
    return min(usage.cpu_seconds for usage in usages)


def cpu_median(usages: Sequence[Usage]) -> float:
    """The median CPU of the runs, in seconds."""
    return statistics.median(usage.cpu_seconds for usage in usages)


def ibkit(*arguments: str) -> list[str]:
    """The command as installed in this environment."""
    return [os.path.join(os.path.dirname(sys.executable), "ibkit"), *arguments]


def milliseconds(seconds: float) -> str:
    """``12.3 ms``."""
    return f"{seconds * 1000:.1f} ms"


def print_results(results: Sequence[Result]) -> int:
    """For a benchmark that is run alone; the exit status is 1 when a target is missed."""
    for result in results:
        mark = "ok  " if result.met else "MISS"
        print(f"{mark} {result.what}: {result.ours}, {result.peer}: {result.ratio} (target {result.target})")
    return 0 if all(result.met for result in results) else 1
