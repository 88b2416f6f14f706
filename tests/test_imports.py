"""The arrows of docs/architecture.md, and that no module exists twice under two names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

#: Imports every module of ibkit, then prints the loaded names that must not exist.
IMPORT_ALL = """
import importlib, os, sys
sys.path.insert(0, os.getcwd())
import ibkit
for folder, folders, files in os.walk("ibkit", followlinks=True):
    folders[:] = [name for name in folders if name != "__pycache__"]
    for name in files:
        if name.endswith(".py") and name != "__main__.py":
            module = os.path.join(folder, name)[:-3].replace(os.sep, ".").removesuffix(".__init__")
            importlib.import_module(module)
loaded = [name for name in sys.modules if name.split(".")[0] in ("tui", "parsers")]
print(len([name for name in sys.modules if name.startswith("ibkit.")]))
print(" ".join(loaded))
"""


def test_import_rules() -> None:
    """The contracts in pyproject.toml, checked by import-linter."""
    command = [sys.executable, os.path.join(os.path.dirname(sys.executable), "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kept" in done.stdout.lower()


@pytest.mark.parametrize(("link", "target"), [("ibkit/parsers", "../parsers"), ("ibkit/tui", "../tui")])
def test_root_folders_are_linked_into_the_package(link: str, target: str) -> None:
    assert os.path.islink(ROOT / link)
    assert os.readlink(ROOT / link) == target, "a relative link, or a moved checkout would break"


def test_each_module_has_one_name() -> None:
    """``import tui`` works in the checkout, too, and would make a second copy with classes of its own."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    count, loaded = done.stdout.split("\n")[:2]
    assert int(count) > 20
    assert loaded == ""
