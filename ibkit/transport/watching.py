"""A job that was launched is looked at while it runs, in a thread of its own: whatever happens there, the job goes on.

Each look is two samples of this host. The looks come at growing distance: a job that sets itself up shows nothing yet,
and one that runs for hours need not be looked at more than a few times.
"""

from __future__ import annotations

import re
import threading
import time

from ibkit.collectors.job_samples import JobWatch, watch_job
from ibkit.collectors.processes import PROC
from ibkit.errors import UnreadableInput
from ibkit.model.mpi import JobVerdict
from ibkit.parsers.base import Problem
from ibkit.sources.site import Host
from ibkit.transport.live.verdict import judge_watches

#: When the looks begin, after the job's start (seconds).
LOOKS = (3.0, 15.0, 60.0)
#: The answer waits no longer for a look that the job's end has made worthless (seconds).
_PATIENCE_SECONDS = 1.0
_GONE = re.compile(r"^State:\t[ZX]", re.MULTILINE)


class Watcher:
    """Looks at the ranks below a process of this host, ``window`` seconds each time."""

    def __init__(self, host: Host, window: float, looks: tuple[float, ...] = LOOKS) -> None:
        self._host = host
        self._window = window
        self._looks = looks
        self._over = threading.Event()
        self._watches: list[JobWatch] = []
        self._problems: list[Problem] = []
        self._thread: threading.Thread | None = None

    def start(self, pid: int) -> None:
        """The job runs: ``pid`` is the process that was started."""
        self._thread = threading.Thread(target=self._look, args=(pid, time.monotonic()), daemon=True)
        self._thread.start()

    def end(self, target: str) -> tuple[JobVerdict, ...]:
        """The job has ended: what each whole look says, the earliest first."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE_SECONDS)
        seen = tuple(judge_watches(target, [watch]) for watch in tuple(self._watches))
        if self._problems:
            seen += (JobVerdict(target, "unknown", "undecided", problems=tuple(self._problems)),)
        return seen

    def ranks(self) -> dict[str, frozenset[int]]:
        """The processes of each run that was seen, by its first one as ``Layer.process`` has it."""
        return {f"pid:{min(job.ranks)}": frozenset(job.ranks) for watch in tuple(self._watches) for job in watch.jobs}

    def _look(self, pid: int, started: float) -> None:
        for after in self._looks:
            if self._over.wait(max(0.0, started + after - time.monotonic())):
                return
            try:
                watch = watch_job(
                    self._host.name, f"pid:{pid}", self._host.source, self._host.source, lambda _: self._wait()
                )
            except _Over:
                return
            except UnreadableInput:  # there are no ranks, or none any more
                continue
            except Exception as error:  # the job's output and its verdict are worth more than this look
                self._problems.append(Problem("watch-failed", f"the running job could not be looked at: {error!r}"))
                return
            if self._over.is_set():
                return
            if self._is_whole(watch):
                self._watches.append(watch)

    def _wait(self) -> float:
        started = time.monotonic()
        if self._over.wait(self._window):
            raise _Over
        return round(time.monotonic() - started, 3)

    def _is_whole(self, watch: JobWatch) -> bool:
        """Whether it found ranks, all of which still run: what is no longer there has not stood still."""
        ranks = {pid: rank for job in watch.jobs for pid, rank in job.ranks.items()}
        return any(rank is not None for rank in ranks.values()) and all(self._is_running(pid) for pid in ranks)

    def _is_running(self, pid: int) -> bool:
        text = self._host.source.read(f"{PROC}/{pid}/status").text
        return text is not None and not _GONE.search(text)


class _Over(Exception):
    """The job ended while it was looked at."""
