"""Start a job, pass its output through as it comes, and keep it for reading.

The job stays the user's: it keeps stdin and the environment, signals for ibkit are passed on to it, and nothing here
ends it. Its output goes into unnamed temporary files, so that a job may print more than the memory holds.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from ibkit.errors import UnreadableInput
from ibkit.sources.processes import LEFTOVER_SECONDS

#: So much is kept of each stream, in bytes. All of it is passed through.
MAX_KEPT_BYTES = 1 << 30

#: So long what is left of a job that has ended may go on to print (seconds).
LAST_WORDS_SECONDS = 5.0

#: What asks a job to end, to stop or to write a checkpoint.
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class Launched(NamedTuple):
    """A job that has ended. ``exit_status`` is as a shell tells it: 128 and the number where a signal ended it.

    ``output_lost`` is the error of the user's own stdout or stderr.
    """

    exit_status: int
    stdout: Kept
    stderr: Kept
    output_lost: Exception | None = None


class Kept:
    """What a stream printed, in a file without a name that goes away with it. ``cut`` says why it is not whole."""

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it lives as long as this
        self._max_bytes = max_bytes
        self.size = 0
        self.cut: str | None = None

    def add(self, data: bytes) -> None:
        """Keep it, while there is room."""
        if self.cut is not None:
            return
        try:
            if self.size + len(data) > self._max_bytes:
                self.cut = f"only the first {self._max_bytes >> 20} MiB were read"
                data = data[: self._max_bytes - self.size]
            while data:
                written = self._file.write(data)
                self.size += written
                data = data[written:]
        except OSError as error:
            self.cut = f"only the first {self.size} bytes were read: {error.strerror}"

    def open(self) -> Reading:
        """A stream of it from its start."""
        return Reading(self._file.fileno())


class Reading:
    """Reads a file without moving a position that others share."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._place = 0

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, none at the end."""
        data = os.pread(self._descriptor, size, self._place)
        self._place += len(data)
        return data

    def close(self) -> None:
        """The file goes on to be kept."""


class _Stream(NamedTuple):
    pipe: IO[bytes]
    kept: Kept
    sink: Callable[[bytes], None]


def launch(
    argv: Sequence[str],
    variables: Mapping[str, str],
    stdout: Callable[[bytes], None],
    stderr: Callable[[bytes], None],
    started: Callable[[int], None] | None = None,
) -> Launched:
    """Run ``argv`` with ``variables`` added to the environment until it ends; the two functions get what it prints.

    ``started`` hears the process that runs then, whose number stays its own until this returns.

    Where stdin is a terminal the job stays in the foreground group, which the terminal's own signals reach; else it has
    a group of its own. Raises UnreadableInput where it cannot be started.
    """
    forwarder = _Forwarder(has_terminal=os.isatty(0))
    with forwarder.installed():
        child = _start(argv, variables, own_group=not forwarder.has_terminal)
        forwarder.start(child.pid)
        if started is not None:
            started(child.pid)
        assert child.stdout and child.stderr
        streams = _Stream(child.stdout, Kept(), stdout), _Stream(child.stderr, Kept(), stderr)
        lost = _pump(child, streams)
        while not _has_exited(child):  # a job that has closed its output goes on
            time.sleep(0.02)
    status = child.wait()  # only now is its number free for another process
    for stream in streams:
        stream.pipe.close()
    return Launched(status if status >= 0 else 128 - status, streams[0].kept, streams[1].kept, lost)


def _start(argv: Sequence[str], variables: Mapping[str, str], *, own_group: bool) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **variables},
            process_group=0 if own_group else None,
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL in a word
        said = getattr(error, "strerror", None) or error
        raise UnreadableInput(f"{argv[0]}: cannot be started: {said}{_why_not(argv[0], error)}") from error


def _why_not(name: str, error: OSError | ValueError) -> str:
    """What the kernel's word is about (execve(2)), and the mend."""
    number = getattr(error, "errno", None)
    if number == errno.ENOEXEC:
        return f"; a script needs a first line such as #!/bin/bash, or its shell: bash {name}"
    if number == errno.EACCES and os.path.isdir(name):
        return "; it is a folder"
    if number == errno.EACCES and os.path.exists(name) and not os.access(name, os.X_OK):
        return f"; it is not executable: chmod +x {name}"
    if number != errno.ENOENT:
        return ""
    if os.path.exists(name) and "/" in name:
        return "; it is there, and the interpreter of its first line, or its loader, is not"
    if " " in name:
        return "; a command line stands behind -- as words of its own, without quotes around all of it"
    return "" if "/" in name else "; no program of this name is on the PATH"


class _Forwarder:
    """Hands signals on to the job; those that come before it runs are kept for it."""

    def __init__(self, *, has_terminal: bool) -> None:
        self.has_terminal = has_terminal
        self._pid: int | None = None
        self._early: list[int] = []

    def start(self, pid: int) -> None:
        """The job runs."""
        self._pid = pid
        for number in self._early:
            self._send(number)

    def _handle(self, number: int, _frame: object) -> None:
        if self._pid is None:
            self._early.append(number)
        else:
            self._send(number)

    def _send(self, number: int) -> None:
        assert self._pid is not None
        with contextlib.suppress(ProcessLookupError):
            if not self.has_terminal:
                os.killpg(self._pid, number)
            elif number not in (signal.SIGINT, signal.SIGQUIT):  # those the terminal has sent to the job, too
                os.kill(self._pid, number)

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Who ignores a signal (nohup) goes on to do so, and so does the job."""
        before = {number: signal.getsignal(number) for number in FORWARDED}
        changed = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
        for number in changed:
            signal.signal(number, self._handle)
        try:
            yield
        finally:
            for number in changed:
                signal.signal(number, before[number])


def _pump(child: subprocess.Popen[bytes], streams: tuple[_Stream, _Stream]) -> Exception | None:
    """Pass on and keep what comes, until both pipes are closed, or the job has ended and what it left is silent, or
    does not come to an end.
    """
    lost: Exception | None = None
    quiet_since = time.monotonic()
    gone_since: float | None = None
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.pipe, selectors.EVENT_READ, stream)
        while selector.get_map():
            for key, _ in selector.select(0.1):
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                    continue
                quiet_since = time.monotonic()
                key.data.kept.add(data)
                try:
                    key.data.sink(data)
                except Exception as error:
                    # The job learns it as it would without us: nobody reads its pipe any more.
                    lost = error
                    selector.unregister(key.fileobj)
                    key.data.pipe.close()
            now = time.monotonic()
            if gone_since is None and _has_exited(child):
                gone_since = quiet_since = now
            if gone_since is not None and (
                now - quiet_since > LEFTOVER_SECONDS or now - gone_since > LAST_WORDS_SECONDS
            ):
                break
    return lost


def _has_exited(child: subprocess.Popen[bytes]) -> bool:
    """Whether it is gone. It stays a zombie, so that its number still names its group and nobody else's."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
