"""A job's log as a stream of facts: which lines are looked at, and which readers look at them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ibkit.parsers import (
    allocations,
    gloo,
    horovod,
    intel_mpi,
    job_ends,
    job_settings,
    libfabric,
    mca_parameters,
    mpich,
    mvapich2,
    nccl,
    openmpi,
    other_runtimes,
    platform_mpi,
    psm3,
    torch_distributed,
    ucx,
    verbs_messages,
)
from ibkit.parsers.job_facts import (
    Allocation,
    Attempt,
    Backend,
    Build,
    Cut,
    Failure,
    Foreign,
    Launch,
    Mesh,
    Provider,
    RankPlace,
    Requeue,
    Said,
    Setting,
    SharedMemory,
    Version,
)
from ibkit.parsers.line_prefixes import HostLabels, plain_shapes, to_line, without_bullet
from ibkit.parsers.log_lines import IGNORE, Line, Stream, shape
from ibkit.parsers.log_scanner import Scanner
from ibkit.parsers.needles import Needles

Fact = (
    nccl.NcclFact
    | openmpi.OpenMpiFact
    | ucx.UcxFact
    | platform_mpi.ProtTable
    | Provider
    | Build
    | Mesh
    | Backend
    | RankPlace
    | SharedMemory
    | Foreign
    | Launch
    | Attempt
    | Requeue
    | Allocation
    | Cut
)


class JobLog:
    """Iterate over it once for the facts of one stream, in the order of their lines. Never raises on bad lines.

    After the iteration ``ending`` holds what a last line without an end tells, and what was not ended before it: what
    is sure if the line was cut, and what is told if it is whole. Both are empty where the last line has an end.
    """

    def __init__(self, stream: Stream) -> None:
        self.scanner = Scanner(stream, worths, nccl.fact_of)
        self.ending: tuple[list[Fact], list[Fact]] = [], []

    def __iter__(self) -> Iterator[Fact]:
        readers = _TextReaders()
        labels = HostLabels()
        for number, raw in self.scanner:
            line = labels.without(to_line(number, raw))
            if self.scanner.is_open:
                yield from readers.settle()
                self.ending = readers.read_open(line)
                return
            yield from readers.read(line, shape(line.text.encode()))
        yield from readers.finish()


_MAX_SHAPES = 10_000
#: Readers for which each line stands alone.
_STATELESS = (
    verbs_messages, mpich, mvapich2, libfabric, psm3, gloo, horovod, torch_distributed, other_runtimes,
    job_ends, mca_parameters,
)  # fmt: skip


class _Readers:
    """All readers of one stream, and which of them a line's shape is worth something to."""

    def __init__(self) -> None:
        self._of_nccl = nccl.Reader()
        self._of_openmpi = openmpi.Reader()
        self._of_ucx = ucx.Reader()
        self._of_intel = intel_mpi.Reader()
        self._of_platform = platform_mpi.Reader()
        self._of_settings = job_settings.Reader()
        self._of_allocations = allocations.Reader()
        self._all: tuple[tuple[Callable[[bytes], int], Callable[[Line], Iterator[Fact]]], ...] = (
            (nccl.worth, self._of_nccl.read),
            (openmpi.worth, self._of_openmpi.read),
            (ucx.worth, self._of_ucx.read),
            (intel_mpi.worth, self._of_intel.read),
            (platform_mpi.worth, self._of_platform.read),
            *((reader.worth, reader.read) for reader in _STATELESS),
            (job_settings.worth, self._of_settings.read),
            (allocations.worth, self._of_allocations.read),
        )
        self._by_shape: dict[bytes, list[Callable[[Line], Iterator[Fact]]]] = {}

    def read(self, line: Line, form: bytes) -> Iterator[Fact]:
        """What they say of a line of this shape."""
        readers = self._by_shape.get(form)
        if readers is None:
            if len(self._by_shape) >= _MAX_SHAPES:
                self._by_shape.clear()
            readers = self._by_shape[form] = [read for worth, read in self._all if worth(form) != IGNORE]
        for read in readers:
            yield from read(line)

    def finish(self) -> Iterator[Fact]:
        """What was not ended when the stream did."""
        yield from self._of_nccl.finish()
        yield from self._of_openmpi.finish()
        yield from self._of_ucx.finish()
        yield from self._of_intel.finish()
        yield from self._of_platform.finish()
        yield from self._of_allocations.finish()

    def read_open(self, line: Line) -> tuple[list[Fact], list[Fact]]:
        """What they say of a last line that may be cut, and at the end of the stream: what is sure, and what is told.

        What a longer line would not say as well is left out: ``psm`` may be the start of ``psm2``. Failures and
        settings stay: they decide nothing, and a failure must not be missed.
        """
        import copy

        def told(text: str) -> list[Fact]:
            readers = copy.deepcopy(self)
            return [*readers.read(line._replace(text=text), shape(text.encode())), *readers.finish()]

        found, longer = told(line.text), [told(line.text + more) for more in ("7", "x", " x")]
        sure = [_without_end(fact) for fact in found]
        sure = [
            fact
            for fact in sure
            if isinstance(fact, _SIDE_FACTS)
            or (not _is_list(fact) and all(fact in map(_without_end, other) for other in longer))
        ]
        if len(sure) == len(found):
            sure = [
                whole if all(whole in other for other in longer) else fact
                for whole, fact in zip(found, sure, strict=True)
            ]
        else:
            sure += [fact for fact in self.finish() if fact not in sure]
        host, pid = _speaker(line.text)
        if pid is not None and (not found or len(sure) < len(found)):
            sure = [Cut(Said(line.number, line.raw, host, pid, line.rank), " NCCL " in line.text), *sure]
        return sure, found


class _TextReaders:
    """The readers of a stream that may be a text about a log, whose lines stand behind bullets or between backticks.

    Such a text quotes what a job should print as well: as soon as any line without a bullet tells something, those with
    one are read as they stand, behind bullets that most readers do not take for a job's.
    """

    def __init__(self) -> None:
        self._readers = _Readers()
        self._is_list = False
        #: Until that is decided: readers of the lines without bullets, what both have told, and the lines with one.
        self._of_items: _Readers | None = _Readers()
        self._told: list[Fact] = []
        self._told_of_items: list[Fact] = []
        self._items: set[int] = set()

    def read(self, line: Line, form: bytes) -> Iterator[Fact]:
        """What they say of a line of this shape, or have said before."""
        if self._of_items is None:
            yield from self._readers.read((self._is_list and without_bullet(line)) or line, form)
            return
        item = without_bullet(line)
        if item is not None:
            self._items.add(line.number)
        facts = list(self._readers.read(line, form))
        self._told += facts
        self._told_of_items += self._of_items.read(item or line, form)
        if self._stands_alone(facts):
            yield from self._decide(self._told)
        elif len(self._items) > _MAX_ITEMS:
            yield from self.settle()

    def settle(self) -> Iterator[Fact]:
        """Decide now, by what was read so far."""
        import copy

        if self._of_items is None:
            return
        if self._stands_alone(copy.deepcopy(self._readers).finish()):
            yield from self._decide(self._told)
        else:
            self._readers, self._is_list = self._of_items, True
            yield from self._decide(self._told_of_items)

    def finish(self) -> Iterator[Fact]:
        """What was not ended when the stream did."""
        yield from self.settle()
        yield from self._readers.finish()

    def read_open(self, line: Line) -> tuple[list[Fact], list[Fact]]:
        """The same of a last line that may be cut."""
        return self._readers.read_open((self._is_list and without_bullet(line)) or line)

    def _decide(self, told: list[Fact]) -> Iterator[Fact]:
        self._of_items = None
        yield from told
        self._told, self._told_of_items = [], []

    def _stands_alone(self, facts: Iterable[Fact]) -> bool:
        return any(fact.said.line not in self._items for fact in facts)


#: A list of more items than these is a log.
_MAX_ITEMS = 10_000
#: What explains and never decides.
_SIDE_FACTS = (Failure, Setting, Launch, Foreign, Version, Attempt, Requeue)
_SPEAKER = re.compile(r"(?:\[|(?<![^\s\]>]))(?P<host>[A-Za-z][\w.-]{0,252}) *:(?P<pid>\d{1,10}) *[:\]]")


def _speaker(text: str) -> tuple[str | None, int | None]:
    """Who says a line that is cut: the common start of what NCCL, Open MPI and UCX say."""
    found = _SPEAKER.search(text[:400])
    return (found["host"], int(found["pid"])) if found else (None, None)


#: libfabric's providers: what may follow such a name is what is layered on it.
_PROVIDERS = ("tcp", "verbs", "sockets", "udp", "efa", "cxi", "opx", "mlx", "psm2", "psm3")


def _is_list(fact: Fact) -> bool:
    """Whether it stands on what a line does not list: its end may."""
    return isinstance(fact, Build) and fact.is_option


def _without_end(fact: Fact) -> Fact:
    """What is whole before the line's end: a channel's network where its number begins, a btl and the peer's rank where
    its host's name does, a provider of libfabric before what is layered on it and its fabric.
    """
    match fact:
        case nccl.Channel():
            return fact._replace(device=None)
        case openmpi.Btl():
            return fact._replace(node="")
        case Provider(detail=None):
            return fact._replace(provider=next(filter(fact.provider.startswith, _PROVIDERS), fact.provider))
        case Provider(runtime=mpich.NAME):
            return fact._replace(detail=None)
        case _:
            return fact


_WORTH: tuple[Callable[[bytes], int], ...] = (
    nccl.worth,
    openmpi.worth,
    ucx.worth,
    intel_mpi.worth,
    platform_mpi.worth,
    *(reader.worth for reader in _STATELESS),
    job_settings.worth,
    allocations.worth,
)
#: Lines that any reader keeps hold one of these (tests/parsers/test_job_log.py looks at all recorded logs). Looking for
#: them is several times cheaper than for all that the readers know, and most text holds none.
_ANCHORS = Needles(
    shape(anchor)
    for anchor in (
        # NCCL, RCCL; 2.2 has no word NCCL in its lines
        b"NCCL", b"RCCL v", b"INFO Ring", b"INFO 0 -> ", b"INFO NET", b"INFO Using", b"INFO Call", b"WARN", b"Error",
        b"Avg ", b"  Rank ", b"unhandled system", b"libibverbs", b"Got completion", b"Last error:",
        # UCX and the rows of its tables
        b"UCX", b"ucp_context_", b"[1.1] [", b"comp_mask", b"locked memory", b"ibv_", b"completion with",
        b"unhandled timeout",
        # Open MPI
        b"MPI", b"PSM", b"mca: ", b"select: ", b"openib", b"_ucx.", b"mtl:", b"mtl)", b"btl:tcp", b"btl_tcp",
        b"selected pml", b"component ", b" polling ", b"framework", b"help message", b"Open", b"InfiniBand",
        b"OpenFabrics", b"attributes for", b"device context for", b"creating qp",
        b"contexts on", b"unable to find any", b"unable to open", b"A process failed", b"Module", b"Host", b"Local ",
        b"Device", b"CPCs", b"Peer host",
        b"Memlock", b"Nonexistent", b"PML ", b"-----------------", b"host | ", b"key: ", b"ucx[", b"Connection s",
        b"-host: ", b"Exceptions", b"host : ",
        # blanks of word processors, which are none here
        b"\xc2\xa0",
        # Platform MPI; rows of its tables by their diagonal
        b"SHM", b"-node communication is", b"MPIRUN_OPTIONS", b" -fabric ",
        # others, settings
        b"provider: ", b"libfabric:", b"MV2_", b"MVAPICH", b"mpi_rank_", b"====", b"Gloo", b"gloo/", b" to perform ",
        b"horovod", b"Intel", b"TMI provider", b"fabric is not", b"library libdat", b"tmi.conf", b"getaddr_netdev",
        b"MEMLOCK", b"Local_rank", b"OFI addrinfo", b"OFI fi_getinfo", b"No ibverbs", b"HCA", b"IB device", b"rdma_iba",
        b"Using ibverbs", b"tcp, pci=", b"GLOO", b"FI_", b"mpirun", b"mpiexec", b"orterun", b"prterun", b"srun",
        b"SLURM", b"PMI_", b"WORLD_SIZE", b"valid libfabric", b"MVP_",
        b"LSB_HOSTS", b"LSB_MCPU", b"LSBATCH", b" NodeList=", b"exec_host", b"executed on host", b"<8*", b"prun ",
        # PyTorch, Horovod
        b"HOROVOD", b"elastic_operator", b"restart worker", b"workers for entry", b"backend_name", b"gloo_",
        *torch_distributed.BACKEND_WORDS, b"_process_group(", b" backend=", b"is using nccl==",
        b"/vllm/", b"/sglang/", b"/megatron/", b"/deepspeed/", b" as DP rank ", b"Backend: ", b"initialization opt",
        b" connected to", b"Unable to find", b"-library=",
        b"PSM3", b"MPICH_", b"] btl", b"] pml=", b"] mtl=", b"][rdma_", b"ICH configure", b"ICH2 configure",
        b"of rcvhdrq", b"psm_ep.c:", b"OFI netmod", b"CRAY MPICH", b" (synd ", b"an internal queue", b" (MCA v",
        b"DAPL", b"Device", b"=ch3:", b"handle_cqe", b"QP to INIT",
        b"Opened fabric",
        b"-mca ", b"Fatal error", b"Configure options",
        # Open MPI's parameter files, ompi_info
        b"btl =", b"btl=", b"btl\t", b"pml =", b"pml=", b"pml\t", b'" (current value', b"btl:value:",
        b"pml:value:",
        # how it ended
        b"noticed that", b"MPI_Abort", b"=   EXIT", b"=   KILLED", b"ChildFailed", b"OFI will now",
        b"slurmstepd", b"remote daemon", b"more daemons", b"E daemon has", b"enough slots",
    )
)  # fmt: skip
#: Rows of tables, and command lines that go on, hold none of these. What they hold is frequent in other text, too.
_ROW_ANCHORS = Needles((b"    ", b">:", b"\\"))


def worths(forms: list[bytes]) -> list[int]:
    """The most that any reader thinks of each of these shapes."""
    found = [IGNORE] * len(forms)
    for place, form in _plain(forms, may_tell(forms)):
        found[place] = max(worth(form) for worth in _WORTH)
    for place, form in _plain(forms, [place for place in _ROW_ANCHORS.places(forms) if found[place] == IGNORE]):
        found[place] = max(openmpi.worth_as_row(form), job_settings.worth(form))
    return found


def _plain(forms: list[bytes], places: list[int]) -> Iterator[tuple[int, bytes]]:
    return zip(places, plain_shapes(b"\n".join([forms[place] for place in places])).split(b"\n"), strict=False)


def may_tell(forms: list[bytes]) -> list[int]:
    """Where among these shapes those stand that may be worth anything."""
    return _ANCHORS.places(forms)
