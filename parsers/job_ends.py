"""A launcher's word that a rank has died or that the program gave up: whatever carried the data, the run has failed.

Formats: open-mpi/ompi orte/tools/orterun/help-orterun.txt, help-mpi-api.txt and openpmix/prrte's help-prun.txt;
pmodels/mpich src/pm/hydra (pmiserv) and src/mpi/init/abort.c; slurm src/srun/libsrun/launch.c (task states);
torchrun's ChildFailedError. A run that somebody ended (SIGINT, SIGTERM, scancel, a time limit) has not failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Said
from ibkit.parsers.log_lines import IGNORE, KEEP, Line, shape

_DEATH = re.compile(
    r"(?:mpirun|mpiexec|orterun|prterun|prun) noticed that process rank \d{1,9} with PID \d{1,10} "
    r"on node (?P<node>\S{1,253}) exited\b(?! on signal (?:2|15)\b)"
    r"|MPI_ABORT was invoked on rank \d{1,9} in communicator"
    r"|application called MPI_Abort\("
    r"|=   (?:EXIT CODE|EXIT STATUS|KILLED BY SIGNAL): (?!(?:0|2|15|130|143)\b)\d"
    r"|srun: error: (?P<host>[\w.-]{1,253}): tasks? [\d,-]{1,200}: "
    r"(?:Segmentation fault|Killed|Aborted|Bus error|Floating point exception|Illegal instruction|Out Of Memory"
    r"|Exited with)"
    r"|torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError"
)
_SHAPES = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b" noticed that process rank ", b"MPI_ABORT was invoked on rank", b"application called MPI_Abort(",
            b"=   EXIT CODE: ", b"=   EXIT STATUS: ", b"=   KILLED BY SIGNAL: ", b"srun: error: ",
            b"errors.ChildFailedError",
        )
    )
)  # fmt: skip


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    return KEEP if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Failure]:
    """What the line says. Never raises."""
    if found := _DEATH.search(line.text):
        host = found["node"] or found["host"]
        yield Failure(Said(line.number, line.raw, None, None, line.rank), "job", "died", True, host)
