"""What the lines of a job's log say about its transports, whichever runtime printed them: the common records.

A record is what one line (or one table) says, no more. What follows from all of them together is decided elsewhere.
"""

from __future__ import annotations

from ibkit.parsers.records import NamedTuple


class Said(NamedTuple):
    """Which line said it and who: ``host`` and ``pid`` from the runtime's own prefix, ``rank`` in MPI_COMM_WORLD from
    the launcher's prefix or from the line. ``text`` is the line as it is in the file.
    """

    line: int
    text: str
    host: str | None = None
    pid: int | None = None
    rank: int | None = None


class Version(NamedTuple):
    """A runtime tells its version: NCCL, RCCL, Open MPI, UCX, MPICH ..."""

    said: Said
    runtime: str
    version: str


class Setting(NamedTuple):
    """A variable or parameter that is set: by the runtime's own word, in an environment dump or on a command line.

    MCA parameters are named without ``OMPI_MCA_``; ``runtime`` is nccl, ucx, ompi or job (counts of ranks and nodes).
    """

    said: Said
    runtime: str
    name: str
    value: str


class Launch(NamedTuple):
    """A launcher's command line: what follows it is another run than what stands before."""

    said: Said


class Failure(NamedTuple):
    """Something did not work. ``topic`` is stable (see the reader), ``runtime`` nccl, ucx or ompi.

    ``is_fatal``: the process or the job ends by it, there is no way round. ``host`` and ``device`` are what it is
    about.
    """

    said: Said
    runtime: str
    topic: str
    is_fatal: bool = False
    host: str | None = None
    device: str | None = None
    detail: str | None = None


class Foreign(NamedTuple):
    """A line of a runtime that is recognised and not read."""

    said: Said
    runtime: str
    layer: str


class Cut(NamedTuple):
    """The last line has no end, and what it says depends on what may be missing. Only who said it is sure."""

    said: Said
    is_nccl: bool
