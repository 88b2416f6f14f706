"""tools/environment.py: the virtual environment that `make run` uses, in a copy whose path has a blank."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.slow


def make(checkout: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # A make that runs these tests would hand down its own flags.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))} | variables
    return subprocess.run(
        ["make", *arguments], cwd=checkout, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("a b") / "my checkout"
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=unwanted)
    return copy


def test_make_run_on_a_fresh_copy_and_again(checkout: Path, tmp_path: Path) -> None:
    """One test, because each step needs the one before."""
    # A module system's PYTHONPATH must neither break the installation nor get into it.
    (tmp_path / "textual").mkdir()
    (tmp_path / "textual" / "__init__.py").write_text("raise ImportError('somebody else')\n")
    first = make(checkout, "run", PYTHONPATH=str(tmp_path))
    assert first.returncode == 0, first.stdout + first.stderr
    assert "making .venv with" in first.stderr
    assert first.stdout.strip(), "without a terminal the tables go to stdout"

    packages = next((checkout / ".venv" / "lib").glob("python3.*")) / "site-packages"
    link = packages / "ibkit"
    assert link.is_symlink() and not os.path.isabs(os.readlink(link))
    assert link.resolve() == (checkout / "ibkit").resolve()
    assert not list(packages.glob("__editable__*"))
    program = checkout / ".venv" / "bin" / "ibkit"
    done = subprocess.run([program, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("ibkit "), done.stderr

    second = make(checkout, "run")
    assert second.returncode == 0, second.stderr
    assert "installing" not in second.stderr and "making" not in second.stderr
    assert second.stdout == first.stdout

    with (checkout / "pyproject.toml").open("a") as file:
        file.write("# other needs\n")
    assert "installing" in make(checkout, "run").stderr


def test_a_broken_environment_is_made_anew(checkout: Path) -> None:
    """As after an upgrade of the distribution that took the old Python away."""
    shutil.rmtree(checkout / ".venv", ignore_errors=True)
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to("/nonexistent/python3.11")
    done = make(checkout, "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "making .venv with" in done.stderr


def test_without_a_package_index_the_message_says_so(checkout: Path) -> None:
    shutil.rmtree(checkout / ".venv", ignore_errors=True)
    variables = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    done = make(checkout, "run", **variables)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "mirror" in done.stderr and "python3 -m ibkit" in done.stderr
