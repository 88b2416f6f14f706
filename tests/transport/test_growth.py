"""What it costs to judge a log grows as the log does. Operations are counted and not timed, so that the count is the
same on any machine, however busy it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from support import large_jobs

from ibkit.model.mpi import JobVerdict
from ibkit.transport.logs.job import open_job
from ibkit.transport.logs.verdict import judge

HOSTS, TIMES = 32, 4
#: A loop over all ranks for each rank makes it 3 (measured).
MAX_GROWTH = 1.1


def judged(path: Path) -> tuple[int, JobVerdict]:
    """How many lines of Python were run to judge a log, each turn of a loop counted; and the answer."""
    count = 0

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return step

    job = open_job(str(path))
    before = sys.gettrace()
    sys.settrace(step)
    try:
        answer = judge(job)
    finally:
        sys.settrace(before)
    return count, answer


@pytest.mark.parametrize(
    "log", [large_jobs.nccl_start_log, large_jobs.nccl_log, large_jobs.bml_log, large_jobs.comm_method_log]
)
def test_a_byte_of_a_larger_job_costs_no_more(log: Callable[..., Iterator[str]], tmp_path: Path) -> None:
    """Of the table of hosts there are bytes for each pair of hosts."""
    per_byte = []
    for hosts in (HOSTS, HOSTS * TIMES):
        path = tmp_path / f"{hosts}.log"
        path.write_text("".join(f"{line}\n" for line in log(hosts=hosts, odd=hosts // 3)))
        judged(path)  # what is imported, compiled and cached counts once
        count, answer = judged(path)
        assert [(layer.verdict, len(layer.hosts)) for layer in answer.layers] == [("mixed", hosts)]
        per_byte.append(count / path.stat().st_size)
    assert per_byte[1] / per_byte[0] < MAX_GROWTH
