"""What the lines of a job's log say about its transports, whichever runtime printed them: the common records.

A record is what one line (or one table) says, no more. What follows from all of them together is decided elsewhere.
"""

from __future__ import annotations

from typing import Literal

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


#: Whose a setting is: somebody's who printed it, a process or a program that lists an environment; of the run that a
#: command line starts; of all that a shell starts behind a statement; of the job whose report a batch system writes; a
#: parameter file's, before which all of these go.
Scope = Literal["printed", "command", "shell", "report", "parameters"]


class Setting(NamedTuple):
    """A variable or parameter that is set: by the runtime's own word, in an environment dump or on a command line.

    MCA parameters are named without ``OMPI_MCA_``; ``runtime`` is who reads it: nccl, ucx, ompi, intel, ofi
    (libfabric), mpich, mvapich2, gloo, psm3, or job (counts of ranks and nodes). ``scope`` is whose it is; ``start``
    is the line on which its command begins, where that one goes on behind a backslash.
    """

    said: Said
    runtime: str
    name: str
    value: str
    scope: Scope = "printed"
    start: int | None = None


class Allocation(NamedTuple):
    """The hosts that a batch system or a command line gave to the job, each once; ``slots`` is how many ranks they have
    room for, None if not told. ``source`` is a variable's name, scontrol, qstat, bjobs or command.
    """

    said: Said
    source: str
    hosts: tuple[str, ...]
    slots: int | None = None


class Launch(NamedTuple):
    """A launcher's command line, or the line behind its last word: from here on it is another run than before."""

    said: Said


class Failure(NamedTuple):
    """Something did not work. ``topic`` is stable (see the reader), ``runtime`` nccl, ucx, ompi, intel ...

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


class Provider(NamedTuple):
    """A runtime names what it sends with: one of libfabric's providers (``verbs;ofi_rxm``), of TMI's (psm2), an old
    fabric of Intel MPI (dapl), or ``mrail``, MVAPICH2's own channel. ``detail`` is what stands beside it: a fabric, a
    device. ``below`` is the provider or fabric that stands on this one: psm3 on verbs or sockets, tmi on psm2.
    """

    said: Said
    runtime: str
    provider: str
    detail: str | None = None
    below: str | None = None


class Build(NamedTuple):
    """An MPICH or MVAPICH2 tells the device that it was built for: ``ch3:nemesis``, ``ch3:mrail``, ``ch3:psm:psm2``.

    ``is_option``: it is told by the options of ``configure``, which name the network modules, too
    (``ch3:nemesis:mxm``); an empty device is that of the release. What was asked may be another MPI than the job's.
    """

    said: Said
    runtime: str
    device: str
    is_option: bool = False


class Mesh(NamedTuple):
    """Gloo's TCP transport has connected ``rank`` to ``connected`` of the other ``ranks`` - 1."""

    said: Said
    rank: int
    connected: int
    ranks: int


class Backend(NamedTuple):
    """A framework (PyTorch, Horovod) tells the library that it uses: nccl, gloo, mpi ... ``purpose`` is data, or
    control where it only coordinates the ranks.
    """

    said: Said
    framework: str
    name: str
    purpose: str


class Attempt(NamedTuple):
    """A launcher starts all its workers anew, or, with ``is_first``, begins."""

    said: Said
    is_first: bool = False


class Requeue(NamedTuple):
    """A batch system has ended all of the job's processes: those that speak later were started anew."""

    said: Said


class RankPlace(NamedTuple):
    """A row of a table of ranks: where this rank runs, by the name of its host, or by its number among its host's
    ranks; ``nic`` is the device or interface that it was given.
    """

    said: Said
    runtime: str
    rank: int
    host: str | None = None
    local_rank: int | None = None
    nic: str | None = None


class SharedMemory(NamedTuple):
    """A runtime says that ranks of one host talk through shared memory; with ``is_only`` that they can by nothing else:
    the run has no other host.
    """

    said: Said
    runtime: str
    is_only: bool = False


class Foreign(NamedTuple):
    """A line of an MPI or of libfabric, which is known by it whatever else it says."""

    said: Said
    runtime: str


class Cut(NamedTuple):
    """The last line has no end, and what it says depends on what may be missing. Only who said it is sure."""

    said: Said
    is_nccl: bool
