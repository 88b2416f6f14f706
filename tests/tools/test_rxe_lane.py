"""The lane of tests in the SoftRoCE guest: which of its two steps gets what."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("arguments", [[], ["-k", "pid and not tui", "-x"]])
def test_arguments_reach_the_tests_inside_alone(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools/rxe-guest")
    monkeypatch.chdir(ROOT)
    lane = importlib.import_module("lane")
    steps: list[list[str]] = []
    monkeypatch.setattr(lane.system_packages, "install", lambda names: [])
    monkeypatch.setattr(lane, "build", lambda jobs: None)
    monkeypatch.setattr(
        lane.subprocess, "run", lambda argv, check: steps.append(argv) or subprocess.CompletedProcess(argv, 0)
    )
    monkeypatch.setattr(lane.guest, "main", lambda argv: steps.append(argv) or 3)
    assert lane.main(["--required", *arguments]) == 3
    of_the_guest, inside = steps
    assert of_the_guest[-3:] == ["-m", "rxe_guest", "tests/rxe_guest"]
    assert inside[inside.index("tests/rxe") :] == ["tests/rxe", *arguments]
