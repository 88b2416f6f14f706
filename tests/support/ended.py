"""Whether processes have ended. One that was killed goes on for as long as it waits for its turn to end."""

from __future__ import annotations

import time
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether it is there, and no zombie: in a namespace nobody may ask for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_ended(pids: list[int], seconds: float) -> None:
    """Raises AssertionError with those that go on."""
    deadline = time.monotonic() + seconds
    while running := [pid for pid in pids if is_running(pid)]:
        assert time.monotonic() < deadline, f"still running: {running}"
        time.sleep(0.01)
