"""Run one command: no shell, a deadline, a process group of its own that is killed whole."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable

from ibkit.sources.base import DENIED, MISSING, TIMEOUT, TOO_MUCH, CommandAnswer


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
    try:
        child = subprocess.Popen(
            argv,
            executable=executable,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        return CommandAnswer(argv, failure=MISSING)
    except OSError:
        return CommandAnswer(argv, failure=DENIED)
    failure: str | None = None
    streams: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    size = 0
    next_tick = started + 1.0
    try:
        with selectors.DefaultSelector() as selector:
            assert child.stdout and child.stderr
            selector.register(child.stdout, selectors.EVENT_READ, "stdout")
            selector.register(child.stderr, selectors.EVENT_READ, "stderr")
            while selector.get_map() and failure is None:
                now = time.monotonic()
                if tick and now >= next_tick:
                    tick(" ".join(argv), now - started)
                    next_tick = now + 1.0
                if now - started >= deadline_seconds:
                    failure = TIMEOUT
                for key, _ in selector.select(min(0.2, max(0.0, deadline_seconds - (now - started)))):
                    piece = os.read(key.fd, 1 << 18)
                    if not piece:
                        selector.unregister(key.fileobj)
                        continue
                    streams[key.data].append(piece)
                    size += len(piece)
                    if size > max_output_bytes:
                        failure = TOO_MUCH
        if failure is None:
            try:
                child.wait(max(0.1, deadline_seconds - (time.monotonic() - started)))
            except subprocess.TimeoutExpired:
                failure = TIMEOUT
    finally:
        # On every way out, an interrupt included: a tool left behind would go on hammering the fabric.
        _kill_group(child)
    return CommandAnswer(
        argv,
        b"".join(streams["stdout"]),
        b"".join(streams["stderr"]),
        child.returncode if failure is None else None,
        round(time.monotonic() - started, 3),
        failure,
    )


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdout, child.stderr):
        if pipe:
            pipe.close()
