"""A launcher's word that a rank has died or that the program gave up: whatever carried the data, the run has failed.

Formats: open-mpi/ompi orte/tools/orterun/help-orterun.txt, help-errmgr-base.txt, help-orte-rmaps-base.txt,
help-mpi-api.txt and openpmix/prrte's of the same names;
pmodels/mpich src/pm/hydra (pmiserv) and src/mpi/init/abort.c; MVAPICH2 src/pm/mpirun/mpispawn.c; slurm
src/srun/libsrun/launch.c (task states); torchrun's ChildFailedError. A run that somebody ended (SIGINT, SIGTERM,
scancel, a time limit) has not failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Launch, Requeue, Said
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape
from ibkit.parsers.mpich import CRAY

OPEN_MPI, HYDRA = "Open MPI", "Hydra"
#: A launcher by the name that it was called by: Debian has mpirun.openmpi.
_LAUNCHER = r"(?:mpirun|mpiexec|orterun|prterun|prun)(?:\.[\w.-]{1,20})?"
#: What ends a run, and whose launcher says it where only one does.
_DEATH = re.compile(
    rf"(?P<openmpi>{_LAUNCHER} (?:noticed that process rank \d{{1,9}} with PID \d{{1,10}} "
    r"on node (?P<node>\S{1,253}) exited\b(?! on signal (?:2|15)\b)"
    r"|detected that one or more processes exited with non-zero status)"
    r"|BTL OFI will now abort\."  # what failed before, as it was set up or later, is not always told
    r"|MPI_ABORT was invoked on rank \d{1,9} in communicator"
    r"|(?:ORTE|PRTE) has lost communication with a remote daemon)"
    # MPICH's and Intel MPI's; where MPI_Init failed, nothing has died that had begun (src/mpi/errhan/errutil.c)
    r"|(?P<hydra>application called MPI_Abort\("
    r"|(?<![\"'`(])\bAbort\(\d{1,12}\) (?:on node \d{1,9} )?\(rank \d{1,9} in comm \d{1,9}\): "
    r"Fatal error in (?!\w{1,30}_Init)"
    r"|MPI process \(rank: \d{1,9}, pid: \d{1,10}\) "  # mpirun_rsh's
    r"(?:terminated with signal (?!(?:2|15)\b)\d{1,3} -> abort job|exited with status [1-9])"
    r"|=   (?:EXIT CODE|EXIT STATUS|KILLED BY SIGNAL): (?!(?:0|2|15|130|143)\b)\d)"
    r"|srun: error: (?P<host>[\w.-]{1,253}): tasks? [\d,-]{1,200}: "
    r"(?:Segmentation fault|Killed|Aborted|Bus error|Floating point exception|Illegal instruction|Out Of Memory"
    r"|Exited with exit code \d{1,5}\b)(?! [a-z]{2,30} [a-z])"  # nothing follows, unless somebody explains the message
    r"|torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError"
)
#: What Open MPI's launcher says when all of the run's ranks have ended: what follows it is another run.
_LAST_WORD = re.compile(rf"{_LAUNCHER} (?:noticed that process rank \d|detected that one or more processes exited)")
#: What HPE Cray's MPICH puts before MPICH's words.
_CRAY = re.compile(
    r"MPICH ERROR \[Rank \d{1,9}\] \[job id [^\[\]]{1,40}\] \[[^\[\]]{1,40}\] \[(?P<host>[\w.-]{1,253})\] - "
)
#: Open MPI's launchers: no rank was started.
_NOT_STARTED = re.compile(
    r"(?:ORTE|PRTE) was unable to reliably start one or more daemons"
    r"|An (?:ORTE|PRTE) daemon has unexpectedly failed after launch and before"
    r"|There are not enough slots available in the system"
    rf"|{_LAUNCHER} was unable to (?:launch the specified appl|find the specified exec)"
)
#: slurmd's word in the job's own file (slurm src/slurmd/slurmstepd/req.c): requeued, its file goes on.
_REQUEUE = re.compile(r"slurmstepd(?:-\S{1,80})?: error: \*\*\* JOB \d{1,12} ON \S{1,253} CANCELLED AT \d")
_SHAPES = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b" noticed that process rank ", b" detected that one or more processes exited", b"MPI_ABORT was invoked on",
            b" has lost communication with a remote daemon", b"BTL OFI will now abort",
            b"application called MPI_Abort(",
            b"): Fatal error in ", b"MPI process (rank: ",
            b"=   EXIT CODE: ", b"=   EXIT STATUS: ", b"=   KILLED BY SIGNAL: ", b"srun: error: ",
            b" CANCELLED AT ", b"errors.ChildFailedError", b" was unable to reliably start",
            b" daemon has unexpectedly failed",
            b"not enough slots available", b" was unable to launch the specified", b" was unable to find the specified",
        )
    )
)  # fmt: skip


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    return CONTEXT if _SHAPES.search(form) else IGNORE  # the next run may end with the same words


def read(line: Line) -> Iterator[Failure | Launch | Requeue]:
    """What the line says; ``detail`` is the MPI that says it, or Hydra, which several have. Never raises."""
    said = Said(line.number, line.raw, None, None, line.rank)
    if found := _DEATH.search(line.text):
        host = found["node"] or found["host"]
        launcher = OPEN_MPI if found["openmpi"] else HYDRA if found["hydra"] else None
        if cray := _CRAY.search(line.text):
            host, launcher = cray["host"], CRAY
        yield Failure(said, "job", "died", True, host, detail=launcher)
        if _LAST_WORD.search(line.text):
            yield Launch(said._replace(line=line.number + 1))
    elif _NOT_STARTED.search(line.text):
        yield Failure(said, "job", "not-started", True, detail=OPEN_MPI)
    elif _REQUEUE.search(line.raw):  # its host looks like a label
        yield Requeue(said)
