"""A job's log as a stream of facts: which lines are looked at, and which readers look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ibkit.parsers import job_settings, nccl, openmpi, other_runtimes, ucx, verbs_messages
from ibkit.parsers.job_facts import Foreign, Launch
from ibkit.parsers.log_lines import IGNORE, Scanner, Stream, shape, to_line

Fact = nccl.NcclFact | openmpi.OpenMpiFact | ucx.UcxFact | Foreign | Launch


class JobLog:
    """Iterate over it once for the facts of one stream, in the order of their lines. Never raises on bad lines."""

    def __init__(self, stream: Stream) -> None:
        self.scanner = Scanner(stream, worth, nccl.fact_of, nccl.NUMBER)

    def __iter__(self) -> Iterator[Fact]:
        of_openmpi, of_ucx, of_settings = openmpi.Reader(), ucx.Reader(), job_settings.Reader()
        for number, raw in self.scanner:
            line = to_line(number, raw)
            yield from nccl.read(line)
            if b" NCCL INFO Channel " in raw and b"[[" not in raw and b"UCX " not in raw:
                continue  # most lines of a large log, and nobody else's
            yield from of_openmpi.read(line)
            yield from of_ucx.read(line)
            yield from verbs_messages.read(line)
            yield from other_runtimes.read(line)
            yield from of_settings.read(line)
        yield from of_openmpi.finish()


_WORTH: tuple[Callable[[bytes], int], ...] = (
    nccl.worth,
    openmpi.worth,
    ucx.worth,
    verbs_messages.worth,
    other_runtimes.worth,
    job_settings.worth,
)
#: Lines that any reader keeps hold one of these (tests/parsers/test_job_log.py looks at all recorded logs). Looking for
#: them is several times cheaper than for all that the readers know, and most text holds none.
_ANCHORS = tuple(
    shape(anchor)
    for anchor in (
        # NCCL, RCCL; 2.2 has no word NCCL in its lines
        b"NCCL", b"RCCL v", b"INFO Ring", b"INFO NET", b"INFO Using", b"INFO Call", b"WARN", b"Error", b"Avg ",
        b"#  Rank", b"unhandled system", b"libibverbs",
        # UCX and the rows of its tables
        b"UCX", b"[1.1] [", b"comp_mask", b"locked memory", b"ibv_",
        # Open MPI
        b"MPI", b"PSM", b"mca: ", b"select: ", b"openib", b"_ucx.", b"mtl:", b"mtl)", b"btl:tcp", b"selected pml",
        b"component ", b"framework", b"help message", b"Open", b"InfiniBand", b"OpenFabrics", b"attributes for",
        b"contexts on", b"unable to find any", b"A process failed", b"Module", b"Host", b"Local ", b"Device", b"CPCs",
        b"Memlock", b"Nonexistent", b"PML ", b"-----------------", b"host | ", b"key: ", b"ucx[", b"Connection s",
        b"-host: ", b"Exceptions", b"host : ", b"    ", b">:",
        # others, settings
        b"provider: ", b"libfabric:", b"MV2_", b"MVAPICH", b"mpi_rank_", b"====", b"Gloo", b"gloo/", b" to perform ",
        b"horovod", b"Intel", b"mpirun", b"mpiexec", b"orterun", b"prterun", b"srun", b"SLURM", b"PMI_", b"WORLD_SIZE",
        b"-mca ", b"\\", b"Fatal error",
    )
)  # fmt: skip


def may_tell(forms: bytes) -> bool:
    """Whether among these shapes, one a line, there may be one that is worth anything."""
    text = b"\n" + forms
    return any(anchor in text for anchor in _ANCHORS)


def worth(form: bytes) -> int:
    """The most that any reader thinks of a shape, or of shapes joined by line ends."""
    return max(reader(form) for reader in _WORTH) if may_tell(form) else IGNORE
