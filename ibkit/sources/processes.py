"""Run one command: no shell, a deadline, a process group of its own that is killed whole.

One thing nobody can do from here: where ibkit itself is killed with SIGKILL, a running tool goes on to its own end.
The kernel's parent-death signal is no way out: it goes by the thread that started the tool, and threads of the screen
end before their tools do.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ibkit.sources.base import DENIED, MISSING, TIMEOUT, TOO_MUCH, CommandAnswer

#: How long the pipes may stay silent once the command itself is gone (seconds): a child that it left behind can hold
#: them open for ever.
LEFTOVER_SECONDS = 1.0
#: How long a killed command may take to die (seconds). One that hangs inside a driver does not even die of SIGKILL.
KILL_SECONDS = 2.0
#: How much is kept of an output that is larger than what is allowed (bytes): enough to see what it is. Whoever reads
#: it needs several times its size.
KEPT_OF_TOO_MUCH = 16 << 20


def run_group(
    argv: tuple[str, ...],
    executable: str | None,
    deadline_seconds: float,
    max_output_bytes: int,
    tick: Callable[[str, float], None] | None,
) -> CommandAnswer:
    """Run ``argv`` as ``executable`` and keep stdout and stderr apart.

    ``LC_ALL=C`` keeps the words of the tools English. What was printed before a deadline is kept: half an answer
    with its reason is evidence, too.
    """
    if executable is None:
        return CommandAnswer(argv, failure=MISSING)
    started = time.monotonic()
    child: subprocess.Popen[bytes] | str = MISSING
    with signals_raise():
        try:
            with _signals.held():
                child = _start(argv, executable)
            if isinstance(child, str):
                return CommandAnswer(argv, failure=child)
            run = _Run(child, started, deadline_seconds, max_output_bytes, tick)
            failure = run.read_to_the_end() or run.wait()
        finally:
            # On every way out, an interrupt included: a tool left behind would go on hammering the fabric.
            if not isinstance(child, str):
                _end_group(child)
    return CommandAnswer(
        argv,
        b"".join(run.stdout),
        b"".join(run.stderr),
        child.returncode if failure is None else None,
        round(time.monotonic() - started, 3),
        failure,
    )


def _start(argv: tuple[str, ...], executable: str) -> subprocess.Popen[bytes] | str:
    """The running command, or why there is none."""
    try:
        return subprocess.Popen(
            argv,
            executable=executable,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # no terminal to write on, and a group that can be killed whole
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        return MISSING
    except OSError:
        return DENIED


class _Run:
    """A command that runs: what it printed so far, and when its time is over."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        started: float,
        deadline_seconds: float,
        max_output_bytes: int,
        tick: Callable[[str, float], None] | None,
    ) -> None:
        self.stdout: list[bytes] = []
        self.stderr: list[bytes] = []
        self._child = child
        self._started = started
        self._deadline = started + deadline_seconds
        self._max_output_bytes = max_output_bytes
        self._tick = tick
        self._next_tick = started + 1.0

    def read_to_the_end(self) -> str | None:
        """Read both pipes until they close, or until the command is gone and nothing comes any more."""
        size = 0
        quiet_since = self._started
        is_gone = False
        assert self._child.stdout and self._child.stderr
        with selectors.DefaultSelector() as selector:
            selector.register(self._child.stdout, selectors.EVENT_READ, self.stdout)
            selector.register(self._child.stderr, selectors.EVENT_READ, self.stderr)
            while selector.get_map():
                if (seconds_left := self._seconds_left()) <= 0:
                    return TIMEOUT
                for key, _ in selector.select(min(0.1, seconds_left)):
                    piece = os.read(key.fd, 1 << 18)
                    if not piece:
                        selector.unregister(key.fileobj)
                        continue
                    key.data.append(piece)
                    quiet_since = time.monotonic()
                    size += len(piece)
                    if size > self._max_output_bytes:
                        _shorten(self.stdout)
                        _shorten(self.stderr)
                        return TOO_MUCH
                if not is_gone and _has_exited(self._child):
                    is_gone, quiet_since = True, time.monotonic()
                if is_gone and time.monotonic() - quiet_since > LEFTOVER_SECONDS:
                    break
        return None

    def wait(self) -> str | None:
        """Wait for a command that has closed its pipes, without reaping it."""
        pause = 0.0005
        while not _has_exited(self._child):
            if self._seconds_left() <= 0:
                return TIMEOUT
            time.sleep(pause)
            pause = min(pause * 2, 0.05)
        return None

    def _seconds_left(self) -> float:
        now = time.monotonic()
        if self._tick and now >= self._next_tick:
            self._tick(" ".join(map(str, self._child.args)), now - self._started)  # type: ignore[arg-type]
            self._next_tick = now + 1.0
        return self._deadline - now


def _shorten(pieces: list[bytes]) -> None:
    """Keep about the first KEPT_OF_TOO_MUCH bytes."""
    size = 0
    for number, piece in enumerate(pieces):
        size += len(piece)
        if size > KEPT_OF_TOO_MUCH:
            del pieces[number + 1 :]
            return


def _has_exited(child: subprocess.Popen[bytes]) -> bool:
    """Whether it is gone. It stays a zombie, so that its number still names its group and nobody else's."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(KILL_SECONDS)
    for pipe in (child.stdout, child.stderr):
        if pipe:
            pipe.close()


class _Signals:
    """What asks ibkit to end: an interrupt, SIGTERM, SIGHUP (a lost connection). By default the last two end it at
    once and leave a running tool behind, and so does an interrupt while the tool is being started.
    """

    defaults: Mapping[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }

    def __init__(self) -> None:
        self._hold = False
        self._arrived: int | None = None

    def handle(self, number: int, _frame: object = None) -> None:
        """Raise what ends ibkit, now or after the hold."""
        if self._hold:
            self._arrived = number
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        else:
            raise SystemExit(128 + number)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """What comes meanwhile is raised afterwards. Handlers run in the main thread, so the others need no hold."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._hold = True
        try:
            yield
        finally:
            self._hold = False
        number, self._arrived = self._arrived, None
        if number is not None:
            self.handle(number)


_signals = _Signals()


@contextlib.contextmanager
def signals_raise() -> Iterator[None]:
    """Whatever asks ibkit to end raises, so that ``finally`` runs: KeyboardInterrupt or SystemExit.

    Who ignores a signal (nohup) or has a handler of its own keeps that.
    """
    changed = []
    if threading.current_thread() is threading.main_thread():  # only there may handlers be set
        changed = [number for number, default in _signals.defaults.items() if signal.getsignal(number) is default]
    for number in changed:
        signal.signal(number, _signals.handle)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, _signals.defaults[number])
