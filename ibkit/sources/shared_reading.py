"""A large log is looked through by several processes.

Each takes parts of the file in turn, reads them itself and gives them back with the lines empty that can say nothing
new (``parsers/bulk_sieve``): numbers and order of the lines stay, and whoever reads the stream finds the same lines
telling as in the file. A line that a process knows was let through by it before, in an earlier part, and the parts come
back in the order in which they stand in the file. Where a line is cut by a part's end, both halves are given back as
they are.

A process has a few parts at a time, so memory is bounded, and what it is asked fits into its pipe, so that neither end
ever waits for the other one to read. It ends when its pipe is closed, by whatever end of this process. What a process
that has died leaves undone is read here.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections import deque
from contextlib import suppress
from io import FileIO
from typing import IO, Protocol, cast

#: From here on (bytes) the time that it takes others to start is saved by them.
LARGE_BYTES = 96 << 20
#: What a process is asked for at once (bytes). Smaller ones cost more turns, larger ones memory.
PART_BYTES = 1 << 20
#: Parts that a process has to do, so that it does not wait for its turn while the one that asks looks into many news.
PARTS_AHEAD = 32
#: What is left of so many parts mostly, and what Linux lets any user have at most, unless told otherwise (bytes).
_PIPE_BYTES = 1 << 20
#: Each takes some 45 MiB of memory.
MAX_WORKERS = 3
_NUMBER_BYTES = 8
#: How many threads numpy starts: one for each core, and needs none.
_THREADS = "OPENBLAS_NUM_THREADS"
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_CHILD = "import sys; sys.path.insert(0, sys.argv[1]); from ibkit.sources.shared_reading import main; main()"


class SharedReading:
    """The text of a plain file of which ``head`` was read already. In a large one lines that can say nothing new may be
    empty. Closes the file when it is closed.
    """

    def __init__(self, head: bytes, file: FileIO) -> None:
        self._ready = head
        self._file = file
        self._next = file.tell()
        self._end = os.fstat(file.fileno()).st_size
        self._workers: list[_Worker] = []
        self._asked: deque[tuple[_Worker, int]] = deque()
        self._is_alone = self._end - self._next < LARGE_BYTES

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, none at the end. Raises OSError."""
        while not self._ready:
            if not self._asked and not self._share_out():
                return self._file.read(size) or b""
            self._ready = self._part()
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def close(self) -> None:
        """End the processes and close the file."""
        self._asked.clear()
        while self._workers:
            self._workers.pop().end()
        self._file.close()

    def _share_out(self) -> bool:
        """Give the file to others, once. False where there are none, or none any more: the rest is read here."""
        if self._is_alone:
            return False
        if not self._workers:
            self._workers = _workers(self._file.fileno())
            for worker in self._workers * PARTS_AHEAD:
                self._ask(worker)
        self._is_alone = not self._asked
        if self._is_alone:
            self._file.seek(min(self._next, self._end))
        return not self._is_alone

    def _ask(self, worker: _Worker) -> None:
        if self._next < self._end:
            worker.ask(self._next, self._length(self._next))
            self._asked.append((worker, self._next))
            self._next += PART_BYTES

    def _length(self, start: int) -> int:
        return min(PART_BYTES, self._end - start)

    def _part(self) -> bytes:
        worker, start = self._asked.popleft()
        text = worker.answer()
        if text is None:
            return _read(self._file.fileno(), start, self._length(start))
        self._ask(worker)
        return text


class _Worker:
    """A process that reads parts of the file with this descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._process, self._to, self._from = (_forked if _is_single_threaded() else _started)(descriptor)
        with suppress(OSError):  # a user has so many large ones only: it waits more often
            fcntl.fcntl(self._from, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def ask(self, start: int, length: int) -> None:
        """Ask for a part of the file."""
        with suppress(OSError):  # it has died, and gives no answer
            self._to.write(_number(start) + _number(length))
            self._to.flush()

    def answer(self) -> bytes | None:
        """The first part that was asked for and not given yet, None where the process has died."""
        head = self._from.read(_NUMBER_BYTES)
        length = int.from_bytes(head, "little")
        text = self._from.read(length) if len(head) == _NUMBER_BYTES else b""
        return text if len(head) == _NUMBER_BYTES and len(text) == length else None

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        for pipe in (self._to, self._from):
            with suppress(OSError):  # what it did not take
                pipe.close()
        self._process.wait()


class _Process(Protocol):
    """A process of ours, ended and waited for as ``subprocess.Popen`` is."""

    def kill(self) -> None: ...

    def wait(self) -> int: ...


class _Fork:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._status: int | None = None

    def kill(self) -> None:
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._status is None:
            self._status = os.waitpid(self._pid, 0)[1]
        return self._status


def _is_single_threaded() -> bool:
    """A copy of a process has one thread, and what another one had locked stays locked in it."""
    with suppress(OSError):
        return len(os.listdir("/proc/self/task")) == 1
    return False


def _forked(descriptor: int) -> tuple[_Process, IO[bytes], IO[bytes]]:
    """A copy of this process, which has read ibkit's modules already: a tenth of a second less of each large log."""
    asked, to = os.pipe()
    of, given = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            for number in (signal.SIGTERM, signal.SIGHUP):  # what is to be done then is not this one's
                signal.signal(number, signal.SIG_DFL)
            _close_others(asked, given, descriptor)
            _serve(descriptor, os.fdopen(asked, "rb"), os.fdopen(given, "wb"))
        finally:
            os._exit(0)
    os.close(asked)
    os.close(given)
    return _Fork(pid), os.fdopen(to, "wb"), os.fdopen(of, "rb")


def _close_others(*descriptors: int) -> None:
    """What else this process has open belongs to the one that it is a copy of, and whoever reads there waits for the
    last copy of the other end.
    """
    for number in map(int, os.listdir("/proc/self/fd")):
        if number not in descriptors:
            with suppress(OSError):  # the listing's own
                os.close(number)
    while os.open(os.devnull, os.O_RDWR) < 2:  # nothing else gets the numbers of the standard streams
        pass


def _started(descriptor: int) -> tuple[_Process, IO[bytes], IO[bytes]]:
    """A new Python."""
    import subprocess

    process = subprocess.Popen(
        (sys.executable, "-I", "-c", _CHILD, _ROOT, str(descriptor)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        env={**os.environ, _THREADS: "1"},
    )
    return process, cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)


def _workers(descriptor: int) -> list[_Worker]:
    """As many processes as are a help, none where there is one core only."""
    cores = len(os.sched_getaffinity(0))
    workers: list[_Worker] = []
    if cores > 1 and sys.executable:
        _import_sieve()  # copies of this process have it, then
        with suppress(OSError):  # no more processes or memory: those that there are
            workers.extend(_Worker(descriptor) for _ in range(min(cores, MAX_WORKERS)))
    return workers


def _import_sieve() -> None:
    """Without a thread, so that this process can still be copied."""
    was = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        import ibkit.parsers.bulk_sieve  # noqa: F401
    finally:
        del os.environ[_THREADS]
        if was is not None:
            os.environ[_THREADS] = was


def _read(descriptor: int, start: int, length: int) -> bytes:
    """This part of the file; shorter only at its end, though a file system may give less at once."""
    parts: list[bytes] = []
    while length and (part := os.pread(descriptor, length, start)):
        parts.append(part)
        start += len(part)
        length -= len(part)
    return b"".join(parts)


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER_BYTES, "little")


def main() -> None:
    """A new Python that is started for this: give back each part of the file that standard input asks for."""
    _serve(int(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer)


def _serve(descriptor: int, asked: IO[bytes], given: IO[bytes]) -> None:
    from ibkit.parsers.bulk_sieve import BulkSieve
    from ibkit.parsers.job_log import worths

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks decides
    sieve = BulkSieve(worths)
    while len(numbers := asked.read(2 * _NUMBER_BYTES)) == 2 * _NUMBER_BYTES:
        start, length = (int.from_bytes(part, "little") for part in (numbers[:_NUMBER_BYTES], numbers[_NUMBER_BYTES:]))
        text = sieve.sift(_read(descriptor, start, length))
        given.write(_number(len(text)) + text)
        given.flush()
