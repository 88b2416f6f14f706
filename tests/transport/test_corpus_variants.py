"""What must not change a verdict: line ends, what a launcher puts before each line, a log kept twice, the order
in which the lines of different processes arrive. Tried with every job log of fixtures/jobs that is one file.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import random
import re
from collections.abc import Callable, Iterator

import pytest
from test_corpus import JOBS, NAMES, truth_of

from ibkit.cli.main import main

#: Not text of one byte a character, or compressed: a change of its bytes is another file.
OTHER_BYTES = re.compile(rb"^(?:\xff\xfe|\xfe\xff|\x1f\x8b)")
#: The process of a line: NCCL, Open MPI, UCX.
PROCESS = re.compile(
    rb"(?:\[[\d -]+[\d:]+\] )?([\w.-]+:\d+):\d+ \[\d+\] (?:NCCL )?INFO "
    rb"|\[\d+\.\d+\] \[([\w.-]+:\d+) *:\w+\]|\[([\w.-]+:\d+)\] "
)
PREFIXES: tuple[Callable[[int], bytes], ...] = (
    lambda i: b"[1,%d]<stdout>:" % (i % 4),
    lambda i: b"%d: " % (i % 4),
    lambda i: b"2026-02-24T10:11:12.5%03dZ " % (i % 1000),
    lambda i: b"[pod/train-%d/pytorch] " % (i % 2),
    lambda i: b"[default%d]:" % (i % 4),
    lambda i: b"\x1b[36m(W pid=%d, ip=10.0.0.%d)\x1b[0m " % (100 + i % 4, i % 2),
)


def judge(path: str) -> tuple[str, str] | None:
    """Verdict and status; None when the input was refused."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        main(["check-mpi-transport", "--json", path])
    if not out.getvalue().strip():
        return None
    document = json.loads(out.getvalue())
    return document["verdict"], document["status"]


def logs() -> Iterator[tuple[str, bytes]]:
    for name in NAMES:
        truth = truth_of(name)
        if truth["target"] != "job.log" or "open" in truth:
            continue
        with open(os.path.join(JOBS, name, "job.log"), "rb") as file:
            data = file.read()
        if data.strip() and not OTHER_BYTES.match(data):
            yield name, data


def changed(tmp_path: os.PathLike[str], variant: Callable[[str, bytes], bytes | None]) -> list[str]:
    """The logs that the variant makes another verdict of."""
    path = os.path.join(tmp_path, "job.log")
    found = []
    for name, data in logs():
        other = variant(name, data)
        if other is None or (before := judge(os.path.join(JOBS, name, "job.log"))) is None:
            continue
        with open(path, "wb") as file:
            file.write(other)
        if (after := judge(path)) != before:
            found.append(f"{name}: {before} became {after}")
    return found


def test_line_ends(tmp_path: os.PathLike[str]) -> None:
    assert not changed(tmp_path, lambda _, data: None if b"\r" in data else data.replace(b"\n", b"\r\n"))


def test_a_prefix_before_each_line(tmp_path: os.PathLike[str]) -> None:
    turn = itertools.count()

    def variant(name: str, data: bytes) -> bytes | None:
        if "behind" in name:  # has one already
            return None
        # The last two are of Python's launchers: no table of Open MPI stands behind those.
        prefix = PREFIXES[next(turn) % (4 if name.startswith("comm-method") else len(PREFIXES))]
        lines = data.removesuffix(b"\n").split(b"\n")
        end = b"\n" if data.endswith(b"\n") else b""  # a last line that may be cut stays one
        return b"\n".join(prefix(0) + line for line in lines) + end

    assert not changed(tmp_path, variant)


def test_the_lines_of_different_processes_in_another_order(tmp_path: os.PathLike[str]) -> None:
    random_order = random.Random(20260224)

    def variant(name: str, data: bytes) -> bytes | None:
        head: list[bytes] = []
        streams: dict[bytes, list[bytes]] = {}
        for line in data.split(b"\n"):
            if match := PROCESS.match(line):
                streams.setdefault(match.group(match.lastindex or 0), []).append(line)
            elif not streams:
                head.append(line)
            elif line.strip():
                return None  # a line of nobody: its place may matter
        if len(streams) < 2 or "runs" in name or name.startswith(("two-", "restart")):
            return None  # several runs: the order tells them apart
        while streams:
            process = random_order.choice(list(streams))
            head.append(streams[process].pop(0))
            if not streams[process]:
                del streams[process]
        return b"\n".join(head) + b"\n"

    assert not changed(tmp_path, variant)


@pytest.mark.parametrize("times", [2, 3])
def test_a_log_kept_more_than_once(tmp_path: os.PathLike[str], times: int) -> None:
    """Appending a log to itself is a second run like the first: the verdict and the status stay."""
    names = set(random.Random(times).sample(NAMES, 150))
    names.discard("ompi-4.1-daemons-not-started-then-retry")  # the last that is new is then a start that failed

    def variant(name: str, data: bytes) -> bytes | None:
        if not data.endswith(b"\n"):
            return None  # a last line that may be cut would get an end
        return b"\n".join([data] * times) if name in names else None

    assert not changed(tmp_path, variant)
