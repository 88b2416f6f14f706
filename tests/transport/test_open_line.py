"""A last line without an end may be cut: what it tells counts only if the answer is the same either way."""

from __future__ import annotations

import io
import json
import os
import random
from collections.abc import Iterator

import pytest
from support.job_logs import bml_lines, judged, nccl_lines, text
from test_corpus import JOBS, NAMES, truth_of

from ibkit.errors import UnreadableInput
from ibkit.transport import words
from ibkit.transport.logs.job import Job, Log
from ibkit.transport.logs.verdict import judge

#: Logs of which cuts are tried, and cuts of each: some of all, others with another seed.
LOGS, CUTS = 120, 3


def verdict(data: bytes) -> str:
    try:
        return judge(Job("test", (Log("job.log", lambda: io.BytesIO(data)),))).verdict
    except UnreadableInput:
        return "unknown"


def cuts() -> Iterator[tuple[str, int, bytes, bytes, bytes]]:
    """A log's name, a line's number, what stands before it, its start, and the whole of it."""
    by_seed = random.Random(20261202)
    for name in by_seed.sample(NAMES, LOGS):
        if truth_of(name)["target"] != "job.log":
            continue
        with open(os.path.join(JOBS, name, "job.log"), "rb") as file:
            lines = file.read(40_000).split(b"\n")[:-1]
        for _ in range(CUTS if lines else 0):
            at = by_seed.randrange(len(lines))
            if line := lines[at]:
                before = b"".join(one + b"\n" for one in lines[:at])
                yield name, at + 1, before, line[: by_seed.randrange(1, len(line) + 1)], line


def test_a_cut_line_never_makes_the_answer_stronger() -> None:
    """It is that without the line, or that with the whole line, or a more general word for that, or unknown."""
    wrong = []
    for name, number, before, start, line in cuts():
        told, whole = verdict(before + start), verdict(before + line + b"\n")
        if told not in ("unknown", verdict(before), whole) and words.combine((told, whole)) != told:
            wrong.append(f"{name}:{number}: {start!r} makes it {told}, and the whole line {whole}")
    assert not wrong, json.dumps(wrong, indent=1)


def test_the_other_end_in_a_line_without_an_end_is_not_forgotten() -> None:
    one, other = bml_lines(btl="openib"), bml_lines(btl="tcp", hosts=("n01", "n03"), pid=300)
    whole = text(one, other)
    assert judged(whole).verdict == "mixed"
    assert judged(whole.removesuffix("\n")).verdict in ("mixed", "unknown")


@pytest.mark.parametrize("name", ["libfabric-1.18-processes-differ", "gloo-ibverbs-device", "two-hosts-disagree-e2"])
def test_a_contradiction_in_the_last_line_stays_one(name: str) -> None:
    with open(os.path.join(JOBS, name, "job.log"), "rb") as file:
        data = file.read()
    assert verdict(data.removesuffix(b"\n")) in ("unknown", "mixed")


def test_options_that_are_cut_may_name_a_module() -> None:
    lines = ["SLURM_JOB_NUM_NODES=2", "MPICH Device: ch3:nemesis", "MPICH configure: --prefix=/opt/mpich"]
    assert judged(text(lines)).verdict == "tcp"
    assert judged(text(lines).removesuffix("\n")).verdict == "unknown"


@pytest.mark.parametrize("end", [" -> 2[0] [send] via NET/S", " -> 2[0] [send] via N", " -> 2[0] [send] via "])
def test_a_channel_that_is_cut_may_lead_to_another_host(end: str) -> None:
    lines = [f"n01:{100 + rank}:150 [{rank}] NCCL INFO Channel 00/0 : {rank}[{rank}]" for rank in (0, 1)]
    local = [f"{lines[rank]} -> {1 - rank}[{1 - rank}] via P2P/CUMEM/read" for rank in (0, 1)]
    assert judged(text(local)).verdict == "shm"
    assert judged(text(local) + lines[1] + end).verdict == "unknown"


def test_a_channel_that_is_cut_leads_nowhere_else_where_all_ranks_are_known() -> None:
    channel = "n01:100:150 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via "
    whole = text(nccl_lines(["n01"], network=None), channel + "P2P/CUMEM/read")
    assert judged(whole + channel).verdict == "shm"
    assert judged(whole + channel + "NET/IB").verdict == "unknown"
