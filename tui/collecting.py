"""Runs the collectors beside the event loop, so that keys never wait for a tool."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ibkit.tui.snapshot import Part, Reading, Task

#: How often a task that waits for another one looks whether it is to stop (seconds).
WAIT_SECONDS = 0.2


class Stopped(BaseException):
    """Unwinds a collector whose screen was closed. Not an Exception: no collector may take it for a failure."""


class Collecting:
    """Each task has a daemon thread of its own: one that hangs in the kernel delays neither the others nor the exit.

    :meth:`tick` goes into the live source, which calls it about once a second while a tool runs. It keeps what is
    running for the screen, and after :meth:`stop` it raises, so that the source kills the tool's process group.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._running: dict[Part, tuple[threading.Thread, str]] = {}
        self._read: dict[Part, Reading[Any]] = {}
        self._lock = threading.Lock()

    def tick(self, command: str, seconds: float) -> None:
        """A tool has been running for so many seconds. Called in the collector's thread."""
        if self._stopping.is_set():
            raise Stopped
        me = threading.current_thread()
        with self._lock:
            for part, (thread, _) in self._running.items():
                if thread is me:
                    self._running[part] = thread, f"{command} {seconds:.0f} s"

    def running(self) -> dict[Part, str]:
        """What is being read, and by which command for how long, where that is known."""
        with self._lock:
            return {part: text for part, (_, text) in self._running.items()}

    def start(self, tasks: Iterable[Task], deliver: Callable[[Part, Reading[Any]], None]) -> None:
        """Begin the tasks that are not running already. ``deliver`` is called in their threads.

        One that needs others waits for those of them that are running; of the rest it takes what they read last.
        """
        for task in tasks:
            with self._lock:
                if task.part in self._running or self._stopping.is_set():
                    continue
                awaited = [self._running[part][0] for part in task.needs if part in self._running]
                thread = threading.Thread(
                    target=self._work, args=(task, awaited, deliver), name=task.part.title, daemon=True
                )
                self._running[task.part] = thread, ""
            thread.start()

    def _work(
        self, task: Task, awaited: Sequence[threading.Thread], deliver: Callable[[Part, Reading[Any]], None]
    ) -> None:
        try:
            for thread in awaited:
                while thread.is_alive():
                    thread.join(WAIT_SECONDS)
                    if self._stopping.is_set():
                        return
            reading = task.read(dict(self._read))
            self._read[task.part] = reading
        except Stopped:
            return
        finally:
            with self._lock:
                del self._running[task.part]
        if not self._stopping.is_set():
            deliver(task.part, reading)

    def stop(self, patience_seconds: float = 2.0) -> None:
        """Let no collector deliver any more, and give their tools the time to be killed."""
        self._stopping.set()
        with self._lock:
            threads = [thread for thread, _ in self._running.values()]
        for thread in threads:
            thread.join(patience_seconds / len(threads))
