"""What the interpreters that ibkit supports get wrong in regular expressions is not used."""

from __future__ import annotations

import io
import pathlib
import re
import time

import pytest

import ibkit.parsers
from ibkit.parsers.job_log import JobLog

SOURCES = pathlib.Path(ibkit.parsers.__file__).parent
GROUP = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")


@pytest.mark.parametrize("source", sorted(SOURCES.glob("*.py")), ids=lambda path: path.stem)
def test_no_group_is_repeated_possessively(source: pathlib.Path) -> None:
    """Python before 3.11.5 takes half of an iteration into such a match (gh-106052): ``(?:ab?c)*+`` matches ``aca``."""
    assert GROUP.search(source.read_text()) is None


@pytest.mark.parametrize(
    "line",
    [
        b"a= " * 20_000 + b"| mpirun -np 2 --mca btl tcp",  # assignments in front of no command
        b"timeout -a " * 5_000 + b"| mpirun -np 2 --mca btl tcp",
        b"MVAPICH2" + b"[" * 60_000 + b"MV2_",  # the beginning of no process's name
    ],
    ids=lambda line: line[:8].decode(),
)
def test_a_line_costs_its_length_and_not_the_square_of_it(line: bytes) -> None:
    """The first and the last once took half a minute and 20 s of CPU."""
    start = time.process_time()
    list(JobLog(io.BytesIO(line + b"\n")))
    assert time.process_time() - start < 3
