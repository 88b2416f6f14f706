"""All facts of a job's logs, read once and sorted by the layer that they are about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from copy import copy, deepcopy

from ibkit.parsers.base import Problem
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
    Setting,
    SharedMemory,
    Version,
)
from ibkit.parsers.job_log import Fact, JobLog
from ibkit.parsers.log_scanner import MAX_FACTS
from ibkit.parsers.nccl import NcclFact
from ibkit.parsers.platform_mpi import HP as HP_MPI
from ibkit.parsers.platform_mpi import NAME as PLATFORM_NAME
from ibkit.parsers.platform_mpi import RUNTIME as PLATFORM
from ibkit.parsers.platform_mpi import ProtTable
from ibkit.transport.evidence import Book, File, Mark
from ibkit.transport.links import Links
from ibkit.transport.logs import gloo, mpi, nccl, prot_tables, providers
from ibkit.transport.logs.commands import Commands, is_commands
from ibkit.transport.logs.job import Job, Log
from ibkit.transport.logs.sizes import Sizes
from ibkit.transport.reasons import reason_of

#: Open MPI's messages that follow others or say nothing about the transport: no layer for them alone.
_NOISE = frozenset(("no-parameters", "openib-init", "connection-lost", "no-library", "tcp-module"))
#: Topics of MPI's failures that show an HCA.
_SHOW_DEVICE = frozenset(
    ("no-port", "openib-init", "ib-port-refused", "no-parameters", "no-cpc", "memlock", "open-device", "stat-device")
)
#: How facts are marked that are HP-MPI's and Platform MPI's.
_PLATFORM = frozenset((PLATFORM_NAME, HP_MPI, PLATFORM))
#: Facts that tell nothing of a run: the builds and versions that are installed are those of all runs.
_NO_WORD = (Attempt, Cut, Foreign, Launch, Requeue, Version)
_UCX_CONSUMERS = frozenset(("MPICH", "Open MPI"))


class Heap:
    """All facts of a job, sorted by the layer that they are about."""

    def __init__(self, job: Job) -> None:
        self.links = Links()
        self.nccl = nccl.Evidence(self.links)
        self.mpi = mpi.Evidence(self.links)
        self.providers = providers.Evidence()
        self.gloo = gloo.Evidence()
        self.prot = prot_tables.Evidence()
        self.backends: list[tuple[Backend, Mark]] = []
        self.attempts: list[tuple[bool, Mark]] = []
        self.requeues: list[Mark] = []
        self.sizes = Sizes(job.listed)
        self.commands = Commands()
        self.launches: list[Mark] = []
        self.problems = list(job.problems)
        self.has_facts = False
        self.size = 0
        self.nul_bytes = 0
        #: How many lines with an end each log has, by its order.
        self.lines: dict[int, int] = {}
        #: Of last lines without an end: the log, what is sure of them, and what is told if they are whole.
        self._endings: list[tuple[File, list[Fact], list[Fact]]] = []

    def read(self, log: Log, file: File) -> None:
        """Take the facts of one log. What cannot be read to its end is a problem."""
        with closing(log.open()) as stream:
            facts = JobLog(stream)
            try:
                for fact in facts:
                    self.has_facts = True
                    self._sort(fact, file)
            except (OSError, EOFError, ValueError) as error:
                text = f"not read to its end: {error}"
                self.problems.append(Problem("unreadable", text, facts.scanner.lines or None, log.name))
        if any(facts.ending):
            self.has_facts = True
            self._endings.append((file, *facts.ending))
        scanner = facts.scanner
        self.size += scanner.size
        self.lines[file.order] = scanner.lines - scanner.is_open
        self.nul_bytes = max(self.nul_bytes, scanner.nul_bytes)
        self.problems += [problem._replace(source=log.name) for problem in scanner.problems]
        if scanner.is_coarse:
            text = f"more than {MAX_FACTS} different channel lines: all networks are told, but not all pairs"
            self.problems.append(Problem("many-channels", text, None, log.name))

    def ended(self) -> list[Heap]:
        """This one with what is sure of lines that may be cut; and one that takes them as whole, where that is more."""
        endings, self._endings = self._endings, []
        others = []
        if any(sure != whole for _, sure, whole in endings):
            others.append(deepcopy(self))
        for file, sure, whole in endings:
            for fact in sure:
                self._sort(fact, file)
            for other in others:
                for fact in whole:
                    other._sort(fact, file)
        for heap in (self, *others):
            for asked in heap.commands.sizes():
                if isinstance(asked, Setting):
                    heap.sizes.count(asked)
                else:
                    heap.sizes.list_hosts(asked)
        return [self, *others]

    def _sort(self, fact: Fact, file: File) -> None:
        if isinstance(fact, (Setting, Allocation)):
            if is_commands(fact):
                self.commands.ask(fact, file.order)
        elif isinstance(fact, Build):
            self.commands.hear_build(file.order)
        elif not isinstance(fact, _NO_WORD):
            self.commands.hear(file.order, fact.said.line)
        match fact:
            case Launch():
                self.launches.append(file.mark(fact.said))
                self.commands.begin(file.order, fact.said.line)
                self.mpi.launch(self.launches[-1])
            case Cut():
                (self.nccl if fact.is_nccl else self.mpi).cut(fact, file)
            case Foreign():
                if fact.runtime not in self.mpi.foreign:
                    self.mpi.foreign.append(fact.runtime)
            case Setting(runtime="job"):
                if not is_commands(fact):
                    self.sizes.count(fact)
            case ProtTable():
                self.prot.add(fact, file)
            case Version() | Setting() | Failure() if fact.runtime in _PLATFORM:
                self.prot.add(fact, file)
            case Allocation():
                if not is_commands(fact):
                    self.sizes.list_hosts(fact)
            case Attempt():
                self.attempts.append((fact.is_first, file.mark(fact.said)))
            case Requeue():
                self.requeues.append(file.mark(fact.said))
            case Backend():
                self.backends.append((fact, file.mark(fact.said)))
                self.gloo.add(fact, file)
            case Provider(runtime=gloo.NAME) | Mesh() | Failure(runtime="gloo") | Setting(runtime="gloo"):
                self.gloo.add(fact, file)
            case Provider() | RankPlace() | SharedMemory() | Build():
                self.providers.add(fact, file)
                if isinstance(fact, Provider) and fact.below == "psm3":
                    self.mpi.add_psm3(fact, file)
            case Failure(runtime="verbs" | "job"):
                if fact.topic != "not-started":
                    self.nccl.add(fact, file)
                self.mpi.add(fact, file)
            case Version() | Setting() | Failure():
                is_nccl = fact.runtime in ("nccl", "NCCL", "RCCL")
                if isinstance(fact, Version):
                    self.providers.add(fact, file)
                (self.nccl if is_nccl else self.mpi).add(fact, file)
            case _ if isinstance(fact, NcclFact):
                self.nccl.add(fact, file)
            case _:
                self.mpi.add(fact, file)

    def by_command(self) -> list[Heap]:
        """The same with what one command of a script sets, for each that sets something else; empty where all set the
        same. Which of them wrote a log in another file is not told.
        """
        found = []
        for choice in self.commands.choices():
            heap = copy(self)
            heap.mpi, heap.nccl, heap.problems = copy(self.mpi), copy(self.nccl), list(self.problems)
            for evidence in (heap.mpi, heap.nccl):
                evidence.settings = [
                    (setting, mark)
                    for setting, mark in evidence.settings
                    if not is_commands(setting) or self.commands.is_of(choice, mark.order, mark.line)
                ]
            found.append(heap)
        return found

    @property
    def device_mark(self) -> Mark | None:
        """A line that shows that the hosts have HCAs."""
        shown = (mark for failure, mark in self.mpi.failures if failure.topic in _SHOW_DEVICE)
        return self.nccl.device_mark or self.links.any_mark or next(shown, None)

    def signs(self, book: Book) -> Iterator[str]:
        """What may tell the batch system or the container of the ranks."""
        yield from (mark.text for mark in self.launches)
        yield from self.sizes.signs()
        yield from (item.text for item in book.evidence)

    def has_paths(self) -> bool:
        """Whether processes say by what they reach others."""
        return bool(self.mpi.tables) or any(p.is_openmpis or p.endpoints for p in self.mpi.processes)

    def has_broken_ucx(self) -> bool:
        """Whether a queue pair of UCX broke: it tells what UCX used where nothing else does."""
        return any((failure.runtime, failure.topic) == ("ucx", "broken") for failure, _ in self.mpi.failures)

    def is_mpi_spoken(self) -> bool:
        """Whether anything says something about an MPI's transport."""
        return self.has_paths() or any(
            failure.runtime not in ("verbs", "ofi", "job")
            and failure.topic not in _NOISE
            and (reason_of(failure) or failure.is_fatal)
            for failure, _ in self.mpi.failures
        )

    def is_libfabric_nccls(self) -> bool:
        """Whether libfabric's lines are those of NCCL's plugin for it."""
        return any(self.nccl.uses(name) for name in ("AWS Libfabric", "Libfabric", "OFI"))

    def forget_libfabric(self) -> None:
        """Its lines say nothing of an MPI."""
        self.mpi.foreign = [runtime for runtime in self.mpi.foreign if runtime != "libfabric"]
        self.providers.forget_libfabric()

    def is_ucx_nccls(self) -> bool:
        """Whether the UCX lines are those of NCCL's UCX plugin: its channels use it, and no MPI does."""
        return self.nccl.uses("UCX") and not (
            any(p.pml or p.support for p in self.mpi.processes)
            or any(told.runtime in _UCX_CONSUMERS for told in self.mpi.versions)
        )
