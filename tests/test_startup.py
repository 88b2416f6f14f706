"""What a plain command may not import: these cost more than all the rest of a start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.one_port import IBSTAT

#: Third-party packages, and the dear parts of the standard library. Source of the prices: ``python -X importtime``.
HEAVY = {
    "asyncio", "concurrent.futures", "csv", "dataclasses", "datetime", "http", "inspect", "ipaddress", "logging",
    "netifaces", "numpy", "pandas", "pathlib", "psutil", "rich", "socket", "subprocess", "tarfile", "tempfile",
    "textual", "tomllib", "typing", "urllib", "ibkit.tui", "ibkit.transport",
}  # fmt: skip

#: Runs ibkit as its console script does, then writes the names of all modules that are loaded.
PROBE = """
import sys
from ibkit.cli.main import main
try:
    main(sys.argv[2:])
except SystemExit:
    pass
with open(sys.argv[1], "w") as file:
    file.write("\\n".join(sys.modules))
"""


#: What the first frame of `ibkit tui` may not wait for: pages that are not shown, and all that reads and judges.
BEHIND_THE_FIRST_FRAME = (
    "ibkit.collectors", "ibkit.comparison", "ibkit.export", "ibkit.model", "ibkit.resolve", "ibkit.rules",
    "ibkit.transport", "ibkit.tui.asking", "ibkit.tui.choosing", "ibkit.tui.diagnosing", "ibkit.tui.exporting",
    "ibkit.tui.help", "ibkit.tui.palette", "ibkit.tui.timeline", "ibkit.tui.view.subnet", "csv", "numpy", "pandas",
    "sqlite3", "subprocess", "tarfile", "tomllib",
)  # fmt: skip


def modules_after(tmp_path: Path, *arguments: str) -> set[str]:
    names = tmp_path / "modules"
    # -I -S: neither the environment's start-up files nor the caller's variables decide what is loaded.
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    probe = f"import sys; sys.path.insert(0, {root!r})\n{PROBE}"
    command = [sys.executable, "-I", "-S", "-c", probe, str(names), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert names.exists(), done.stderr
    return set(names.read_text().split())


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A capture of one host whose ibstat was recorded (docs/capture.md)."""
    folder = tmp_path / "capture"
    folder.mkdir()
    (folder / "ibstat.out").write_text(IBSTAT)
    manifest = {
        "format": "ibkit-capture/1",
        "hosts": [
            {
                "name": "n01",
                "answers": [{"kind": "command", "argv": ["ibstat"], "exit_status": 0, "stdout": "ibstat.out"}],
            }
        ],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    modules = modules_after(tmp_path, "--help")
    assert "ibkit.cli.main" in modules
    assert sorted(modules & HEAVY) == []
    commands = {name for name in modules if name.startswith("ibkit.cli.")}
    assert commands == {"ibkit.cli.main"}, "--help lists the commands from a table and imports none of them"


def test_status_of_a_capture_imports_nothing_heavy(tmp_path: Path, capture: Path) -> None:
    modules = modules_after(tmp_path, "status", "--from", str(capture))
    assert "ibkit.cli.status" in modules
    assert sorted(modules & HEAVY) == []


def test_status_of_a_raw_file_imports_nothing_heavy(tmp_path: Path) -> None:
    text = tmp_path / "ibstat.txt"
    text.write_text(IBSTAT)
    modules = modules_after(tmp_path, "status", "--from", str(text))
    assert "ibkit.cli.status" in modules
    assert sorted(modules & HEAVY) == []


def test_the_probe_sees_what_it_looks_for(tmp_path: Path) -> None:
    """The names in HEAVY are names that a module table really has."""
    names = tmp_path / "modules"
    code = "import asyncio, subprocess, pathlib, sys; open(sys.argv[1], 'w').write('\\n'.join(sys.modules))"
    subprocess.run([sys.executable, "-I", "-S", "-c", code, str(names)], check=True, timeout=60)
    assert {"asyncio", "subprocess", "pathlib"} <= set(names.read_text().split()) & HEAVY


def test_the_first_frame_of_the_tui_imports_what_it_shows() -> None:
    probe = (
        "import sys, textual.app\nbefore = set(sys.modules)\nfrom ibkit.tui import start\n"
        "from ibkit.tui.pages import PAGES\nPAGES[0].page()\nprint(*(set(sys.modules) - before))"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=root, capture_output=True, text=True, timeout=120, check=True
    )
    loaded = done.stdout.split()
    assert "ibkit.tui.pages.overview" in loaded
    behind = [name for name in loaded for part in BEHIND_THE_FIRST_FRAME if f"{name}.".startswith(f"{part}.")]
    assert behind == []
    pages = {name for name in loaded if name.startswith("ibkit.tui.pages.")}
    assert pages == {"ibkit.tui.pages.page", "ibkit.tui.pages.overview"}


@pytest.mark.slow
def test_a_start_costs_at_most_four_times_the_bare_interpreter() -> None:
    """The promise of docs/performance.md, with fewer rounds than `make bench` makes."""
    root = Path(__file__).parent.parent
    for _ in range(3):  # other tests run beside this one, and only the best of a few looks at the code itself
        done = subprocess.run(
            [sys.executable, "benchmarks/startup.py", "15"],
            cwd=root, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert "ok  " in done.stdout, done.stdout + done.stderr
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok  ") == 4
