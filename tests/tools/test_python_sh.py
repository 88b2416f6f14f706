"""tools/python.sh: which interpreter is taken, and what is said when there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent.parent / "tools" / "python.sh"

OLD = '#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.18"\nexit 1\n'
SHIM = "#!/bin/sh\necho 'pyenv: python3: command not found' >&2\nexit 127\n"


def run(folder: Path, *arguments: str, python: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script where only ``folder`` is on PATH and /usr/bin/python3 does not exist."""
    copy = folder / "python.sh"
    copy.write_text(SCRIPT.read_text().replace("/usr/bin/python3", str(folder / "no-python")))
    env = {"PATH": f"{folder}:/usr/bin:/bin"}
    if python is not None:
        env["PYTHON"] = python
    return subprocess.run(["/bin/sh", str(copy), *arguments], env=env, capture_output=True, text=True, check=False)


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_an_old_python3_is_passed_over_for_a_newer_one_beside_it(tmp_path: Path) -> None:
    program(tmp_path / "python3", OLD)
    program(tmp_path / "python3.11", SHIM)
    (tmp_path / "python3.12").symlink_to(sys.executable)
    done = run(tmp_path, "-c", "import sys; print(sys.version_info >= (3, 11), sys.argv[1])", "two words")
    assert done.stdout == "True two words\n"


def test_the_exit_status_is_the_scripts_own(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    assert run(tmp_path, "-c", "raise SystemExit(7)").returncode == 7


def test_without_a_new_enough_python_the_packages_are_named(tmp_path: Path) -> None:
    program(tmp_path / "old", OLD)
    done = run(tmp_path, "-c", "pass", python=str(tmp_path / "old"))
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "Python 3.9.18" in done.stderr
    assert "dnf install python3.11" in done.stderr and "apt-get install python3.11" in done.stderr
