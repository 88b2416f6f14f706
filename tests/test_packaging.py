"""Wheel and source archive: built, looked into, installed into a clean environment and used from there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.one_port import IBSTAT

ROOT = Path(__file__).parent.parent
#: Where the code and what belongs to it lies; ibkit/parsers and ibkit/tui are links.
SOURCES = ("ibkit", "parsers", "tui")

pytestmark = pytest.mark.slow

IMPORT_ALL = """
import importlib.util, pkgutil, ibkit, ibkit.parsers, ibkit.tui
not_here = ("ibkit.__main__", "ibkit.tui.serving")  # the latter needs the extra: ibkit[serve]
names = [module.name for module in pkgutil.walk_packages(ibkit.__path__, "ibkit.") if module.name not in not_here]
for name in names:
    importlib.import_module(name)
assert importlib.util.find_spec("tui") is None and importlib.util.find_spec("parsers") is None
print(ibkit.__file__)
print(len(names))
"""


def run(*command: str, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive, built from a copy, so that the checkout stays as it is."""
    copy = tmp_path_factory.mktemp("build") / "checkout"
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=unwanted)
    run(sys.executable, "-m", "build", cwd=copy)
    (wheel,) = (copy / "dist").glob("*.whl")
    (source,) = (copy / "dist").glob("*.tar.gz")
    return wheel, source


@pytest.fixture(scope="module")
def installed(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a clean environment that holds the wheel."""
    folder = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", str(folder / "venv"), cwd=folder)
    programs = folder / "venv" / "bin"
    run(str(programs / "python"), "-m", "pip", "install", "--quiet", str(archives[0]), cwd=folder)
    return programs


def shipped_files() -> set[str]:
    """Every file that belongs to the package, by its name in the package."""
    names = set()
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(ROOT).as_posix()
                names.add(name if folder == "ibkit" else f"ibkit/{name}")
    return names


def test_wheel_holds_the_package_and_nothing_else(archives: tuple[Path, Path]) -> None:
    names = set(zipfile.ZipFile(archives[0]).namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"ibkit"}
    assert {name for name in names if ".dist-info/" not in name} == shipped_files()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_source_archive_holds_what_the_wheel_is_built_of(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[1]) as archive:
        members = archive.getmembers()
    names = {member.name.split("/", 1)[1] for member in members if member.isfile()}
    assert shipped_files() <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"} <= names
    assert not [name for name in names if name.startswith(("tests/", "fixtures/", "parsers/", "tui/"))]
    assert not [member.name for member in members if member.issym()]


def test_installed_program_works_away_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    assert "check-mpi-transport" in run(str(installed / "ibkit"), "--help", cwd=tmp_path)
    (tmp_path / "ibstat.txt").write_text(IBSTAT)
    document = json.loads(run(str(installed / "ibkit"), "status", "--from", "ibstat.txt", "--json", cwd=tmp_path))
    assert [device["name"] for device in document["devices"]] == ["mlx5_0"]


def test_installed_modules_import_under_one_name(installed: Path, tmp_path: Path) -> None:
    where, count = run(str(installed / "python"), "-c", IMPORT_ALL, cwd=tmp_path).split()
    assert Path(where).is_relative_to(installed.parent)
    assert int(count) > 20
