"""Real ranks on the Jobs page: found by their launcher, watched when opened."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.tui_pilot import Driver

from ibkit.sources.opening import open_site
from ibkit.tui.app import IbkitApp

RING = Path(__file__).parents[1] / "support/ring.c"


def first_rank(launcher: int) -> int:
    """The rank that came first, once both run the program."""
    argv = ["ps", "--ppid", str(launcher), "-o", "pid=,comm="]
    for _ in range(1200):
        told = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.splitlines()
        ranks = [int(pid) for pid, name in (line.split() for line in told) if name == "ring"]
        if len(ranks) == 2:
            return min(ranks)
        time.sleep(0.1)
    raise AssertionError("mpirun started no ranks")


@pytest.mark.needs("openmpi")
async def test_a_real_job_over_tcp_is_found_watched_and_its_line_is_shown(tmp_path: Path) -> None:
    program = tmp_path / "ring"
    subprocess.run(["mpicc.openmpi", RING, "-o", program], check=True)
    argv = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "tcp,self", "-np", "2"]
    with subprocess.Popen(
        [*argv, program, "10", "0", "120"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as job:
        try:
            rank = first_rank(job.pid)
            app = IbkitApp(open_site(None), page="jobs", interval_seconds=0.0)
            async with app.run_test(size=(120, 40)) as pilot:
                tui = Driver(app, pilot)
                await tui.until(f"pid:{rank}")
                await tui.press("slash")
                await tui.type(str(rank))
                await tui.press("enter", "enter")
                await tui.until("TCP, as configured")
                assert "OMPI_MCA_btl=tcp,self" in tui.words
                await tui.until(" bytes in ")
                assert re.search(r"ss -tineH:\d+ .*:\d+ .*:\d+ pid \d+: \d+ bytes in \d", tui.words)
        finally:
            os.killpg(job.pid, signal.SIGKILL)
