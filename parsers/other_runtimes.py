"""Which other runtime a line is of: Intel MPI, MPICH, MVAPICH, libfabric. Most have a reader of their own for
what they say of transports; libfabric's lines are recognised only.

Marks are read off the sources and documentations of these runtimes. MPICH's version is read, as its UCX module says the
rest in UCX's own lines, and that MPI_Init failed (src/mpi/errhan/errutil.c; the same in MPICH's derivatives).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Foreign, Said, Version
from ibkit.parsers.log_lines import CONTEXT, IGNORE, KEEP, ONCE, Line, shape

_MARKS = (
    (r"MPI startup\(\): |Intel\(R\) MPI Library", "Intel MPI"),
    (r"MVAPICH2?-\d|\bMV2_\w+ |\[[^\[\]\s]{1,253}:mpi_rank_\d{1,7}\]\[", "MVAPICH"),
    (r"==== Capability set configuration ====|==== UCX netmod Capability ====|MPIR_CVAR_|MPICH Version", "MPICH"),
    (r"provider: [^,]{1,60}, score = ", "MPICH"),
    (r"CRAY MPICH version \d", "Cray MPICH"),
    (r"libfabric:(?:\d+:)?[^\s:]{1,60}:", "libfabric"),
)
_PATTERNS = tuple((re.compile(mark), runtime) for mark, runtime in _MARKS)
#: As mpichversion tells it, and from 5.0 on the summary (src/mpi/init/init_util.c).
_VERSION = re.compile(r"MPICH Version:\s{1,20}(\d[\w.]{0,20})|\AMPICH (\d\.[\w.]{1,18}) - \S{1,40} - ")
#: MPICH 4 names the function internal_Init, older ones PMPI_Init or MPI_Init.
_INIT_FAILED = re.compile(r"Fatal error in (?:P?MPI|internal|MPIR)_Init(?:_thread)?:(?: |\s{0,9}\Z)")
_SHAPES = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b"Fatal error in MPI_Init", b"Fatal error in PMPI_Init", b"Fatal error in internal_Init",
            b"Fatal error in MPIR_Init",
        )
    )
)  # fmt: skip
#: Those of a second run may be alike.
_SHAPES_OF_VERSIONS = re.compile(re.escape(shape(b"MPICH Version")) + rb"|MPICH \.[.rp]{0,4} - ")
#: Of the marks: libfabric's debug output alone is gigabytes.
_SHAPES_OF_MARKS = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b"MPI startup()", b"Intel(R) MPI", b"MVAPICH", b"MV2_", b":mpi_rank_", b"==== Capability set",
            b"==== UCX netmod", b"MPIR_CVAR_", b"CRAY MPICH", b"provider: ", b"libfabric:",
        )
    )
)  # fmt: skip


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    if _SHAPES_OF_VERSIONS.search(form):
        return CONTEXT
    if _SHAPES.search(form):
        return KEEP
    return ONCE if _SHAPES_OF_MARKS.search(form) else IGNORE


def read(line: Line) -> Iterator[Foreign | Version | Failure]:
    """What the line says. Never raises."""
    said = Said(line.number, line.raw, None, None, line.rank)
    if found := _VERSION.search(line.text):
        yield Version(said, "MPICH", found.group(1) or found.group(2))
    if _INIT_FAILED.search(line.text):
        yield Failure(said, "mpich", "init-failed", True)
    for pattern, runtime in _PATTERNS:
        if pattern.search(line.text):
            yield Foreign(said, runtime)
            return
