"""The SoftRoCE guest itself: what a caller can rely on. Boots it a few times (2 s each)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.rxe_guest

ROOT = Path(__file__).parents[2]


def boot(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run guest.py with these words."""
    return subprocess.run(
        [sys.executable, str(ROOT / "tools/rxe-guest/guest.py"), *words],
        capture_output=True, text=True, timeout=120, cwd=ROOT, env={**os.environ, **environment}, check=False,
    )  # fmt: skip


def test_status_output_folder_and_environment_pass_the_border(tmp_path: Path) -> None:
    script = 'pwd; echo "$WORD"; rdma link | grep -c ACTIVE; echo note >&2; exit 7'
    done = boot("--", "sh", "-c", script, WORD="two words & 'quotes'")
    assert done.returncode == 7
    assert done.stdout.split("\n")[:4] == [str(ROOT), "two words & 'quotes'", "2", "note"]


def test_only_the_named_folder_is_written(tmp_path: Path) -> None:
    kept, lost = tmp_path / "kept", tmp_path / "lost"
    lost.mkdir()
    done = boot(
        "--writable", str(kept), "--", "sh", "-c", f"echo 1 >{kept}/file && echo 2 >{lost}/file && cat {lost}/file"
    )
    assert (done.returncode, done.stdout) == (0, "2\n")
    assert (kept / "file").read_text() == "1\n"
    assert list(lost.iterdir()) == []


def test_a_guest_that_hangs_is_killed_whole() -> None:
    for limit in (4, 16, 64):  # a busy machine may need longer to boot
        done = boot("--limit", f"{limit}", "--", "sh", "-c", "echo before; sleep 4242 & sleep 4242")
        assert done.returncode == 124
        assert f"killed after {limit} s" in done.stderr
        if done.stdout:
            break
    assert done.stdout == "before\n"
    # Of this checkout: another one's tests may have a guest of their own at the same time.
    assert not [line for line in _command_lines() if "ibkit-guest-" in line and f"={ROOT}/" in line]


def test_a_guest_that_does_not_boot_is_told_from_a_failing_command() -> None:
    done = boot("--memory", "8", "--", "true")
    assert done.returncode == 125
    assert "did not run the command" in done.stderr


def test_without_a_kernel() -> None:
    done = boot("--kernel", "/nonexistent", "--", "true")
    assert done.returncode == 126
    assert "build_kernel.py" in done.stderr


def test_a_kernel_with_rdma_and_no_device() -> None:
    # The guest has one terminal for both streams, and a slow pyverbs would show its progress there.
    doctor = ("sh", "-c", 'exec "$0" doctor --json 2>/dev/null', str(ROOT / ".venv/bin/ibkit"))
    done = boot("--no-devices", "--", *doctor)
    document = json.loads(done.stdout)
    states = {check["check"]: check for check in document["checks"]}
    assert states["devices"]["state"] == "missing"
    assert "no driver has made a device" in states["devices"]["text"]
    assert states["pyverbs"]["state"] == "ok", "pyverbs raises where there is no device; that is no fault of it"


def _command_lines() -> list[str]:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return lines
