"""A large log that several processes look through gives the same answer, line for line, as when one reads it alone."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import termios
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import large_jobs
from support.ended import is_running

from ibkit.errors import UnreadableInput
from ibkit.export.mpi import mpi_document
from ibkit.parsers import bulk_sieve, log_scanner
from ibkit.parsers.bulk_sieve import BulkSieve
from ibkit.parsers.job_log import worths
from ibkit.parsers.log_lines import CONTEXT, IGNORE
from ibkit.parsers.log_scanner import Scanner
from ibkit.sources import log_streams, shared_reading
from ibkit.sources.shared_reading import SharedReading
from ibkit.transport.logs.job import open_job
from ibkit.transport.logs.verdict import judge

JOBS = Path(__file__).parents[2] / "fixtures" / "jobs"


class Here:
    """A worker in this process: what it does, without the cost of starting it for each of a thousand logs."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._sieve = BulkSieve(worths)
        self._asked: deque[tuple[int, int]] = deque()

    def ask(self, start: int, length: int) -> None:
        self._asked.append((start, length))

    def answer(self) -> bytes:
        start, length = self._asked.popleft()
        return self._sieve.sift(os.pread(self._descriptor, length, start))

    def end(self) -> None:
        self._asked.clear()


@contextlib.contextmanager
def shared(part: int = 700, *, here: bool) -> Iterator[None]:
    """Each plain file is read in parts of so many bytes by three workers, new processes where not ``here``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_reading, "_is_single_threaded", lambda: False)  # whatever the tests' process is
        patch.setattr(shared_reading, "LARGE_BYTES", 0)
        patch.setattr(shared_reading, "PART_BYTES", part)
        patch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
        if here:
            patch.setattr(shared_reading, "_Worker", Here)
        yield


def answer(target: str | Path) -> str:
    try:
        return json.dumps(mpi_document(judge(open_job(f"{target}"))))
    except UnreadableInput as error:
        return f"refused: {error}"


def test_all_recorded_logs_give_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_streams, "HEAD_BYTES", 64)  # what is behind it is shared
    monkeypatch.setattr(bulk_sieve, "BLOCK_BYTES", 300)
    targets = [
        (entry / json.loads((entry / "truth.json").read_text("utf-8"))["target"]).resolve()
        for entry in sorted(JOBS.iterdir())
        if entry.is_dir()
    ]
    assert len(targets) > 1000
    different = []
    for target in targets:
        alone = answer(target)
        with shared(here=True):
            if answer(target) != alone:
                different.append(target)
    assert different == []


CHANNEL = b"n%d:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> %d[1] [send] via NET/%s/0"


@pytest.mark.parametrize("part", [10_000, 300_000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_hostile_lines_give_the_same_answer(tmp_path: Path, part: int, end: bytes) -> None:
    """Lines longer than what is looked at, than a part, than what is cut; NUL; a progress bar; a last line that is cut.
    Neither is a problem told or not by where a read ends.
    """
    path = tmp_path / "job.log"
    lines = [CHANNEL % (1, 1, b"IB")]
    for size in (70_000, 262_100, 262_200, 400_000):
        lines += [b"x" * size, CHANNEL % (2, size, b"IB"), CHANNEL % (3, 4, b"IB") + b" " * size, b"\0" * 50]
        lines += [b" 10%\r 20%\r" + CHANNEL % (4, size, b"Socket"), b"step | loss"]
    path.write_bytes(end.join([*lines, (CHANNEL % (5, 6, b"Socket"))[:-3]]))
    alone = answer(path)
    assert "long-line" in alone
    with shared(part, here=True):
        assert answer(path) == alone
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_scanner, "BLOCK_BYTES", 50_001)
        assert answer(path) == alone


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_that_is_cut_is_told_whoever_looks_at_it(tmp_path: Path, end: bytes) -> None:
    """Parts and blocks as large as they are: the longest of these fit into a block, and say nothing."""
    path = tmp_path / "job.log"
    lines = [CHANNEL % (1, 1, b"IB")] * 3
    for size in (131_072, 262_142, 262_143, 262_144, 262_145, 300_000, 524_287, 524_288, 600_000):
        lines += [b"x" * size, *[b"step | loss"] * 20, CHANNEL % (2, size, b"IB") + b" " * (size - 80), b""]
    path.write_bytes(end.join([*lines, CHANNEL % (3, 4, b"Socket"), b""]))
    alone = answer(path)
    assert alone.count('"long-line"') == 5 + 9  # lines of x that are cut where they are read, and those of NCCL
    with shared(1 << 20, here=True):
        assert answer(path) == alone


PIECES = [b"", b"a", b"\n", b"\r", b"\r\n", b"NCCL WARN b", b"x" * 120, b"x" * 100_000, b"x" * 262_144, b"y" * 262_145]


def worths_but_of_x(forms: list[bytes]) -> list[int]:
    return [CONTEXT if form.strip(b"x") else IGNORE for form in forms]


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.integers(30_000, 140_000))
def test_what_of_a_long_line_is_looked_at_does_not_depend_on_where_reads_end(pieces: list[bytes], read: int) -> None:
    found = []
    for size in (1 << 17, read):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(log_scanner, "BLOCK_BYTES", size)
            scanner = Scanner(io.BytesIO(b"".join(pieces)), worths_but_of_x, lambda line: (line, b""))
            found.append(([(number, line) for number, line in scanner if line], scanner.lines, scanner.problems))
    assert found[0] == found[1]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Rings over 1,280 hosts, and one of them is on TCP."""
    path = tmp_path / "job.log"
    with path.open("w", encoding="ascii") as file:
        for number, line in enumerate(large_jobs.nccl_log()):
            file.write(f"{line}\nstep {number} | loss 0.{number}\n")
            if number == 6000:
                break
    return path


def test_processes_give_the_same_answer(log: Path) -> None:
    alone = answer(log)
    with shared(20_000, here=False):
        assert answer(log) == alone
    assert "n0001" in alone


def test_a_file_of_another_form_is_read_as_before(log: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(log.read_bytes()[:100_000], 1))
    plain = tmp_path / "plain"
    plain.write_bytes(log.read_bytes()[:100_000])
    with shared(5000, here=False):
        found = [answer(path).replace(path.name, "log") for path in (packed, plain)]
    assert found[0] == found[1]


def text_of(stream: SharedReading) -> bytes:
    return b"".join(iter(lambda: stream.read(10_000), b""))


def test_what_a_dead_process_leaves_undone_is_read_here(log: Path) -> None:
    """One of them, and all of them."""
    for dead in (1, 3):
        with shared(20_000, here=False), contextlib.closing(opened(log)) as stream:
            start = stream.read(10)
            for worker in stream._workers[:dead]:
                worker._process.kill()
                worker._process.wait()
            text = start + text_of(stream)
        assert text.count(b"\n") == log.read_bytes().count(b"\n")
        assert [line for line in text.split(b"\n") if b"NCCL" in line and b"Init" in line] == [
            line for line in log.read_bytes().split(b"\n") if b"NCCL" in line and b"Init" in line
        ]


def opened(path: Path) -> SharedReading:
    return SharedReading(b"", io.FileIO(path))


def test_a_process_works_ahead_while_nobody_reads(tmp_path: Path) -> None:
    """The first parts of a log have many news, and whoever looks into them is busy for a while."""
    path = tmp_path / "progress.log"
    path.write_bytes(b" 10%\r 20%\n" * 100_000)  # all of it is given back
    with shared(10_000, here=False), contextlib.closing(opened(path)) as stream:
        stream.read(10)
        end = time.monotonic() + 60
        while waiting_bytes(stream._workers[1]) < shared_reading.PARTS_AHEAD * (8 + 10_000):
            assert time.monotonic() < end
            time.sleep(0.01)


def waiting_bytes(worker: shared_reading._Worker) -> int:
    return int.from_bytes(fcntl.ioctl(worker._from, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_no_process_is_left(log: Path) -> None:
    """Neither where reading is given up, nor where this process is gone, and with it its ends of the pipes."""
    with shared(20_000, here=False):
        stream = opened(log)
        stream.read(10)
        processes = [worker._process for worker in stream._workers]
        stream.close()
        assert len(processes) == 3
        assert all(process.returncode is not None for process in processes)
        with log.open("rb") as file:
            worker = shared_reading._Worker(file.fileno())
            worker.ask(0, 100_000)
            worker._to.close()
            worker._from.close()
            worker._process.wait(60)


COPIES = """
import contextlib, hashlib, io, os, sys, threading
from ibkit.sources import shared_reading
shared_reading.LARGE_BYTES, shared_reading.PART_BYTES = 0, 20_000
shared_reading.PARTS_AHEAD = 2  # who is killed has not done all of its parts already
os.sched_getaffinity = lambda _: {0, 1, 2}
def opened():
    return contextlib.closing(shared_reading.SharedReading(b"", io.FileIO(sys.argv[1])))
def kinds(stream):
    return [type(worker._process).__name__ for worker in stream._workers]
with opened() as stream:
    text = stream.read(10)
    print(kinds(stream), flush=True)
    while part := stream.read(10_000):
        text += part
print(hashlib.sha256(text).hexdigest())
with opened() as stream:
    stream.read(10)
    stream._workers[1]._process.kill()
    stream._workers[1]._process.wait()
    print(10 + sum(map(len, iter(lambda: stream.read(10_000), b""))) > len(text))
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError as none:
    print(type(none).__name__)
threading.Thread(target=sys.stdin.read, daemon=True).start()
with opened() as stream:
    stream.read(10)
    print(kinds(stream))
with opened() as stream:
    shared_reading._is_single_threaded = lambda: True
    stream.read(10)
    print(*[worker._process._pid for worker in stream._workers], flush=True)
    threading.Event().wait()
"""


def test_copies_of_this_process_give_the_same_text_and_none_is_left(log: Path) -> None:
    """Only where it has one thread. They hold nothing of it open: its reader sees the end when it is gone."""
    with shared(20_000, here=False), contextlib.closing(opened(log)) as stream:
        text = text_of(stream)
    with subprocess.Popen(
        [sys.executable, "-c", COPIES, f"{log}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = [process.stdout.readline().strip() for _ in range(6)]
        process.kill()
        assert process.stdout.read() == ""
    assert told[0] == "['_Fork', '_Fork', '_Fork']"
    assert told[1:4] == [hashlib.sha256(text).hexdigest(), "True", "ChildProcessError"]
    assert told[4] == "['Popen', 'Popen', 'Popen']"
    pids = list(map(int, told[5].split()))
    assert len(pids) == 3
    deadline = time.monotonic() + 60
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, pids))


def test_without_processes_the_file_is_read_here(log: Path) -> None:
    with shared(20_000, here=False):
        for python in ("", "/nowhere/python"):
            with pytest.MonkeyPatch.context() as patch, contextlib.closing(opened(log)) as stream:
                patch.setattr(shared_reading.sys, "executable", python)
                assert text_of(stream) == log.read_bytes()
        with pytest.MonkeyPatch.context() as patch, contextlib.closing(opened(log)) as stream:
            patch.setattr(os, "sched_getaffinity", lambda _: {0})
            assert text_of(stream) == log.read_bytes()


def test_what_is_written_in_the_meantime_is_read_and_what_is_cut_away_is_not(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"NCCL WARN a\n" * 1000)
    with shared(5000, here=True), contextlib.closing(opened(path)) as stream:
        start = stream.read(10)
        with path.open("ab") as file:
            file.write(b"NCCL WARN last\n")
        assert (start + text_of(stream)).endswith(b"NCCL WARN last\n")
    with shared(5000, here=True), contextlib.closing(opened(path)) as stream:
        start = stream.read(10)
        os.truncate(path, 6000)
        assert (start + text_of(stream)).count(b"\n") == 500


@given(
    st.lists(
        st.sampled_from(
            [b"", b"step 1 | loss 2", b"n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB", b"x" * 400, b"\0", b"a\rb",
             b"n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0"]
        ),
        max_size=60,
    ),
    st.sampled_from([b"\n", b"\r\n"]),
    st.integers(1, 700),
)  # fmt: skip
def test_lines_are_empty_or_as_they_were(lines: list[bytes], end: bytes, block: int) -> None:
    text = end.join(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk_sieve, "BLOCK_BYTES", block)
        sifted = BulkSieve(worths).sift(text)
    before, after = text.split(b"\n"), sifted.split(b"\n")
    assert len(before) == len(after)
    assert (after[0], after[-1]) == (before[0], before[-1])
    seen = {before[0].rstrip(b"\r"), before[-1].rstrip(b"\r")}
    for old, new in zip(before, after, strict=True):
        assert new in (b"", old, old.rstrip(b"\r"))
        if b"NCCL" in old and old.rstrip(b"\r") not in seen:
            assert new
        seen |= {old.rstrip(b"\r")} if new else set()
