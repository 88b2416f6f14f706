"""A launched job is looked at beside it: nothing there may hold it up, fail with it, or outlive it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from ibkit.sources.base import CommandAnswer, FileAnswer
from ibkit.sources.launched import launch
from ibkit.sources.live import LiveSource
from ibkit.sources.site import Host
from ibkit.transport.watching import Watcher


class Broken(LiveSource):
    """A host whose tools break."""

    def read(self, path: str) -> FileAnswer:
        raise RuntimeError("a defect")


class Hanging(LiveSource):
    """A host whose tools do not come back."""

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        time.sleep(30)
        return super().run(argv, deadline_seconds=deadline_seconds)


def host(source: LiveSource) -> Host:
    return Host(socket.gethostname(), source)


@contextmanager
def ranks(seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """A process with two children that are ranks, which do nothing."""
    script = f"for r in 0 1; do PMI_RANK=$r PMI_SIZE=2 sleep {seconds} & done; wait"
    with subprocess.Popen(["sh", "-c", script]) as child:
        yield child
        child.wait(20)


def wait_for(watcher: Watcher) -> None:
    """Its thread ends, however slow the machine is."""
    assert watcher._thread
    watcher._thread.join(100)
    assert not watcher._thread.is_alive()


def test_a_job_that_ends_before_a_look_has_none() -> None:
    watcher = Watcher(host(LiveSource()), 0.2, looks=(300.0,))
    with ranks(0.1) as job:
        watcher.start(job.pid)
    assert watcher.end("job") == ()
    wait_for(watcher)


def test_a_look_that_the_jobs_end_interrupts_is_none() -> None:
    watcher = Watcher(host(LiveSource()), 300.0, looks=(0.0,))
    with ranks(1.0) as job:
        watcher.start(job.pid)
    assert watcher.end("job") == ()
    wait_for(watcher)


def test_ranks_that_ended_in_the_window_have_not_stood_still() -> None:
    watcher = Watcher(host(LiveSource()), 2.0, looks=(0.2,))
    with ranks(1.2) as job:
        watcher.start(job.pid)
        job.wait(20)
        time.sleep(2.5)  # the launcher's own end is not known to the watcher yet
        assert watcher.end("job") == ()


def test_idle_ranks_are_found_and_decide_nothing() -> None:
    watcher = Watcher(host(LiveSource()), 0.2, looks=(0.3, 0.6))
    with ranks(60.0) as job:
        time.sleep(0.5)
        watcher.start(job.pid)
        wait_for(watcher)
        found = watcher.end("job")
        subprocess.run(["pkill", "-P", str(job.pid)], check=True)
    assert len(found) == 2
    assert {one.verdict for one in found} == {"unknown"}
    assert {one.layers[0].ranks for one in found} == {2}


def test_a_program_without_ranks_is_not_judged() -> None:
    watcher = Watcher(host(LiveSource()), 0.1, looks=(0.0,))
    with subprocess.Popen(["sleep", "1.5"]) as job:
        watcher.start(job.pid)
        job.wait(20)
    assert watcher.end("job") == ()


def test_a_defect_in_a_look_is_told_and_the_job_goes_on(capfd: pytest.CaptureFixture[str]) -> None:
    watcher = Watcher(host(Broken()), 0.1, looks=(0.0,))
    out: list[bytes] = []
    script = "import time; time.sleep(0.5); print('done')"
    ended = launch([sys.executable, "-c", script], {}, out.append, out.append, watcher.start)
    assert (ended.exit_status, b"".join(out)) == (0, b"done\n")
    (told,) = watcher.end("job")
    assert (told.verdict, [one.kind for one in told.problems]) == ("unknown", ["watch-failed"])
    assert "a defect" in told.problems[0].text
    assert capfd.readouterr().err == ""


def test_a_look_that_hangs_delays_nothing() -> None:
    watcher = Watcher(host(Hanging()), 0.1, looks=(0.0,))
    started = time.monotonic()
    with ranks(0.5) as job:
        watcher.start(job.pid)
    assert watcher.end("job") == ()
    assert time.monotonic() - started < 5


def test_nothing_of_a_watcher_stays() -> None:
    watcher = Watcher(host(LiveSource()), 0.1, looks=(0.0, 300.0))
    with ranks(1.0) as job:
        watcher.start(job.pid)
    watcher.end("job")
    wait_for(watcher)
    assert not os.path.exists(f"/proc/{job.pid}")
