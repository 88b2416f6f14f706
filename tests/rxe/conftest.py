"""What the tests of jobs have in common."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.guest_jobs import ROOT, Programs


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    """In a folder that an ordinary user may look into, which pytest's own are not."""
    folder = Path("/run/mpi")
    folder.mkdir(mode=0o755)
    for name in ("openmpi", "mpich"):
        subprocess.run([f"mpicc.{name}", ROOT / "tests/support/ring.c", "-o", folder / name], check=True, timeout=60)
    yield Programs(str(folder / "openmpi"), str(folder / "mpich"))
    shutil.rmtree(folder)
