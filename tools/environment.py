"""Make or refresh the virtual environment .venv in the checkout, with ibkit in it.

    sh tools/python.sh tools/environment.py run     what `ibkit` needs
    sh tools/python.sh tools/environment.py dev     what the tests and checks need, too

Does nothing when pyproject.toml and this file are those of the last run.
"""

from __future__ import annotations

import glob
import hashlib
import os
import subprocess
import sys

import link_pyverbs
import system_packages
from system_packages import say

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
#: What is installed for which target; dev holds all of run.
EXTRAS = {"run": "", "dev": "[dev]"}


def main(arguments: list[str]) -> int:
    """Make the environment for one target. 0, or 1 with what to do on stderr."""
    if len(arguments) != 1 or arguments[0] not in EXTRAS:
        say(f"usage: environment.py {' | '.join(EXTRAS)}")
        return 2
    target = arguments[0]
    if not _usable() and not _create():
        return 1
    if not _is_fresh(target):
        if not _install(target):
            return 1
        _link_checkout()
        _stamp(target)
    link_pyverbs.link(PYTHON)
    # Where PYTHONDONTWRITEBYTECODE is set, each start would compile all modules again. What is fresh is left alone.
    _runs([PYTHON, "-I", "-m", "compileall", "-qq", "ibkit", "parsers", "tui"])
    return 0


def _usable() -> bool:
    """Whether .venv holds a Python that runs, is new enough (the system's may have been replaced) and has pip."""
    test = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return os.path.exists(PYTHON) and _runs([PYTHON, "-I", "-c", test])


def _create() -> bool:
    if system_packages.install(["venv"]):
        say(f"{sys.executable} cannot make virtual environments: its ensurepip module is missing. Either")
        say(f"  {system_packages.install_command(['venv'])}")
        say("or use another Python 3.11 or newer: PYTHON=/path/to/python3 make ...")
        return False
    say(f"making .venv with {sys.executable} (Python {sys.version.split()[0]})")
    for path in glob.glob(_stamp_path("*")):
        os.unlink(path)
    # Not the venv module of this process: what the package manager just brought is not seen by it.
    return _runs([sys.executable, "-I", "-m", "venv", "--clear", VENV], loud=True)


def _install(target: str) -> bool:
    say("installing ibkit and what it needs into .venv" + (" (with the tests' tools)" if target == "dev" else ""))
    # -I: a cluster's module system likes to set PYTHONPATH, and pip would take what lies there for installed.
    command = [PYTHON, "-I", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if _runs([*command, "--editable", f".{EXTRAS[target]}"], loud=True):
        return True
    say("pip could not install what pyproject.toml names; its message is above. Without a way to a package index, name")
    say("a mirror or a folder of wheels in PIP_INDEX_URL or PIP_FIND_LINKS. All but `ibkit tui` needs no package and")
    say("runs from the checkout as it is: python3 -m ibkit --help")
    return False


def _link_checkout() -> None:
    """Put a plain link to ibkit/ in the place of the import hook of an editable install.

    The hook costs every start of the interpreter about as much as the interpreter itself; the link costs nothing, and
    no other folder of the checkout becomes importable through it.
    """
    packages = _answer([PYTHON, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
    for path in glob.glob(os.path.join(glob.escape(packages), "__editable__*ibkit*")):
        os.unlink(path)
    link = os.path.join(packages, "ibkit")
    if not os.path.lexists(link):
        os.symlink(os.path.relpath(os.path.join(ROOT, "ibkit"), os.path.realpath(packages)), link)


def _is_fresh(target: str) -> bool:
    wanted = _fingerprint()
    return any(
        _read(_stamp_path(name)) == wanted for name in ({"run", "dev"} if target == "run" else {"dev"})
    ) and _runs([PYTHON, "-I", "-c", "import ibkit"])


def _stamp(target: str) -> None:
    with open(_stamp_path(target), "w", encoding="ascii") as file:
        file.write(_fingerprint())


def _stamp_path(target: str) -> str:
    return os.path.join(VENV, f"installed-{target}")


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in (os.path.join(ROOT, "pyproject.toml"), os.path.abspath(__file__)):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def _runs(command: list[str], *, loud: bool = False) -> bool:
    output = sys.stderr if loud else subprocess.DEVNULL
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output).returncode == 0


def _answer(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
