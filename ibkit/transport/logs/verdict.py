"""From a job's logs to the answer: read them once, judge each layer of each run, combine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from ibkit.errors import UnreadableInput
from ibkit.model.mpi import JobVerdict, Layer
from ibkit.parsers.base import Problem
from ibkit.parsers.job_ends import HYDRA, OPEN_MPI
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
from ibkit.parsers.torch_distributed import RESTARTED
from ibkit.transport import words
from ibkit.transport.answer import beside, combine
from ibkit.transport.evidence import Book, File, Mark
from ibkit.transport.fixes import fitted, places_of
from ibkit.transport.host_names import short_name
from ibkit.transport.links import Links
from ibkit.transport.logs import gloo, mpi, mpi_builds, mpich_steps, nccl, nccl_run, prot_tables, providers
from ibkit.transport.logs.attempts import Attempts
from ibkit.transport.logs.doubt import agreed, common
from ibkit.transport.logs.hosts import KnownHosts, read_hosts
from ibkit.transport.logs.job import Job, Log
from ibkit.transport.logs.mpi_run import Run, next_step
from ibkit.transport.logs.mpi_runs import Parts, runs
from ibkit.transport.logs.nccl_networks import UcxWords
from ibkit.transport.logs.processes import MAX_RUNS, Launches
from ibkit.transport.logs.several_mpis import all_lines_of, first_of, is_openmpi, kept, own_lines_of, regions
from ibkit.transport.logs.sizes import Known, Sizes
from ibkit.transport.logs.versions import Told, Versions, lines_of, of_runs
from ibkit.transport.logs.versions import agreed as agreed_versions
from ibkit.transport.reasons import reason_of

#: Open MPI's messages that follow others or say nothing about the transport: no layer for them alone.
_NOISE = frozenset(("no-parameters", "openib-init", "connection-lost", "no-library", "tcp-module"))
_TCP_STEP = (
    "Open MPI's tcp module had connections between ranks, or asked for them; whether all messages went by it no line "
    "tells: run again with --mca btl_base_verbose 100 --mca pml_base_verbose 100"
)
_QP_STEP = (
    "Open MPI's openib module was refused a queue pair: look at the limit on locked memory (Max locked memory in "
    "/proc/PID/limits of a rank), at the host's memory and how many queue pairs the HCA has (max_qp of ibv_devinfo -v)"
)
_VERBS_STEP = (
    "UCX met an error of an HCA: what the system answered stands at the end of the first line of class failure (Cannot "
    "allocate memory: the limit on locked memory, in /proc/PID/limits of a rank; Bad address: memory of a GPU without "
    "nvidia_peermem or dma-buf); dmesg of that host may tell more. What carried the data no line tells: run again with "
    "UCX_LOG_LEVEL=info on all ranks"
)
#: Modules' complaints that tell no transport, and the step after them where nothing else is told.
_HEARD = {"qp-refused": _QP_STEP, "tcp-module": _TCP_STEP, "verbs-error": _VERBS_STEP}
#: Topics of MPI's failures that show an HCA.
_SHOW_DEVICE = frozenset(
    ("no-port", "openib-init", "ib-port-refused", "no-parameters", "no-cpc", "memlock", "open-device", "stat-device")
)
_BUILD_STEP = (
    "{runtime} with {device} is named as well, by which no run here can have sent: if a job ran with it, give the log "
    "of that job alone"
)
#: Whose runs such a build may be.
_OF_BUILDS = frozenset(("MPICH", "MVAPICH", "MVAPICH2", "libfabric", "UCX"))
#: Layers of the backends that a framework names.
_BACKEND_LAYERS = {"nccl": "nccl", "mpi": "mpi"}
#: What no program prints, a tenth of random bytes: control characters but for NUL, the bell, a spinner's backspaces,
#: tabs, ends of lines and pages and the start of a colour.
_CONTROLS = tuple(bytes((code,)) for code in (*range(1, 7), *range(14, 27), *range(28, 32), 127))
#: How facts are marked that are HP-MPI's and Platform MPI's.
_PLATFORM = frozenset((PLATFORM_NAME, HP_MPI, PLATFORM))
_UCX_CONSUMERS = frozenset(("MPICH", "Open MPI"))


def judge(job: Job) -> JobVerdict:
    """The answer about a job. Raises UnreadableInput where nothing of it is a log."""
    heap = _Heap(job)
    for order, log in enumerate(job.logs):
        heap.read(log, File(order, log.name))
    if not heap.has_facts:
        _refuse(job, heap)
    answer = _answer(job, heap)
    if not answer.layers:
        _refuse_script(job)
    return answer


class _Heap:
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

    def ended(self) -> list[_Heap]:
        """This one with what is sure of lines that may be cut; and one that takes them as whole, where that is more."""
        endings, self._endings = self._endings, []
        others = []
        if any(sure != whole for _, sure, whole in endings):
            from copy import deepcopy

            others.append(deepcopy(self))
        for file, sure, whole in endings:
            for fact in sure:
                self._sort(fact, file)
            for other in others:
                for fact in whole:
                    other._sort(fact, file)
        return [self, *others]

    def _sort(self, fact: Fact, file: File) -> None:
        match fact:
            case Launch():
                self.launches.append(file.mark(fact.said))
                self.mpi.launch(self.launches[-1])
            case Cut():
                (self.nccl if fact.is_nccl else self.mpi).cut(fact, file)
            case Foreign():
                if fact.runtime not in self.mpi.foreign:
                    self.mpi.foreign.append(fact.runtime)
            case Setting(runtime="job"):
                self.sizes.count(fact)
            case ProtTable():
                self.prot.add(fact, file)
            case Version() | Setting() | Failure() if fact.runtime in _PLATFORM:
                self.prot.add(fact, file)
            case Allocation():
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


def _refuse(job: Job, heap: _Heap) -> None:
    """Nothing was recognised: an empty or binary file is no log, and another tool's output has its own command."""
    if heap.size == 0 and (damaged := next((p for p in heap.problems if p.kind == "unreadable"), None)):
        raise UnreadableInput(f"{job.target}: {damaged.text}")
    if heap.size == 0:
        raise UnreadableInput(f"{job.target}: empty; the job has printed nothing (yet)")
    if heap.nul_bytes > 16:
        raise UnreadableInput(f"{job.target}: binary data, not a log")
    from ibkit.parsers import JOB_COMMAND, identify
    from ibkit.parsers.base import NotThisFormat

    if len(job.logs) != 1 or job.target == "-":
        return
    with closing(job.logs[0].open()) as stream:
        head = stream.read(1 << 16)
    if sum(map(head.count, _CONTROLS)) > len(head) // 25:
        raise UnreadableInput(f"{job.target}: binary data, not a log")
    try:
        form = identify(head.decode("utf-8", "replace"), source=job.target)
    except NotThisFormat:
        return
    if form.command != JOB_COMMAND:
        raise UnreadableInput(f"{job.target}: {form.tool} output, not a job's log, {form.reader}")


def _refuse_script(job: Job) -> None:
    """A script in which no runtime speaks is no log; batch jobs print theirs before they start."""
    if len(job.logs) != 1 or job.target == "-" or job.logs[0].name != job.target:
        return
    with closing(job.logs[0].open()) as stream:
        if stream.read(2) == b"#!":
            text = f"a script, not a log; to launch it: ibkit check-mpi-transport -- {job.target}"
            raise UnreadableInput(f"{job.target}: {text}")


def _answer(job: Job, heap: _Heap) -> JobVerdict:
    book = Book()
    heap, *whole = heap.ended()
    hosts = read_hosts(job.hosts, heap.links)
    layers = _layers(heap, hosts, book)
    others = [_layers(other, read_hosts(job.hosts, other.links), Book()) for other in whole]
    for other in others:
        layers = list(agreed(layers, other))
    ends = [
        (failure, mark)
        for failure, mark in heap.mpi.failures
        if failure.runtime == "job" and failure.detail != RESTARTED
    ]
    if not layers:
        heard = [(failure, mark) for failure, mark in heap.mpi.failures if failure.topic in _HEARD]
        layers = _connected_layers(heard, ends) or _ended_layers(ends) or _opened_layers(heap.mpi.processes)
        for _, mark in [*heard[:2], *ends[:2]]:
            book.cite(mark, "failure")
    answer = combine(job.target, layers, book, heap.problems)
    for other in others:
        answer = answer._replace(verdict=common(answer.verdict, combine(job.target, other, Book(), []).verdict))
    if ends and not layers:
        answer = answer._replace(status="aborted")
    return fitted(answer, places_of(heap.signs(book)))


def _ended_layers(ends: Sequence[tuple[Failure, Mark]]) -> list[Layer]:
    """The layer of a run of which only its MPI's launcher or last message spoke: that it died, or did not start."""
    launchers = [failure.detail for failure, _ in ends if failure.detail]
    if not launchers:
        return []
    runtime = next((name for name in launchers if name != HYDRA), None)
    verdict = "none" if all(failure.topic == "not-started" for failure, _ in ends) else "unknown"
    step = next_step(runtime or HYDRA) if verdict == "unknown" else None
    return [Layer("mpi", verdict, "aborted", runtime=runtime, next_step=step)]


def _connected_layers(heard: Sequence[tuple[Failure, Mark]], ends: Sequence[tuple[Failure, Mark]]) -> list[Layer]:
    """The layer of a run of which only complaints are in the log, of Open MPI's modules or UCX, and how it ended."""
    launchers = {failure.detail for failure, _ in ends if failure.detail} - {OPEN_MPI}
    if not heard or any(failure.topic == "not-started" for failure, _ in ends):
        return []
    hosts = tuple(dict.fromkeys(failure.host for failure, _ in heard if failure.host))
    topics = {failure.topic for failure, _ in heard}
    step = next(step for topic, step in _HEARD.items() if topic in topics)
    is_ucx = all(failure.runtime == "ucx" for failure, _ in heard)
    runtime = OPEN_MPI if not is_ucx or (ends and not launchers) else "UCX"
    status = "aborted" if ends else "undecided"
    return [Layer("mpi", "unknown", status, runtime=runtime, hosts=hosts, next_step=step)]


def _opened_layers(processes: Sequence[mpi.MpiProcess]) -> list[Layer]:
    """The layer of a run of Open MPI's that tells no more than which modules it has opened."""
    opened = [process.host for process in processes if process.components]
    if not opened:
        return []
    hosts = tuple(dict.fromkeys(host for host in opened if host))
    return [Layer("mpi", "unknown", "undecided", runtime=OPEN_MPI, hosts=hosts, next_step=next_step(OPEN_MPI))]


def _layers(heap: _Heap, hosts: KnownHosts, book: Book) -> list[Layer]:
    known = heap.sizes.known(fills_cores=heap.providers.is_intels())
    attempts = Attempts(heap.attempts, heap.requeues)
    ucx_words: UcxWords = {}
    layers: list[Layer] = []
    if heap.is_libfabric_nccls():
        heap.forget_libfabric()
    if heap.is_ucx_nccls():
        every = Parts(heap.mpi.processes, [], [], [])
        ucx_words = Run(heap.mpi, every, Known()).words_by_process()
    elif heap.providers.facts:
        layers += _named_layers(heap, known, attempts, book)
    if not layers and heap.is_mpi_spoken() and not ucx_words:
        parts = runs(heap.mpi, heap.launches, attempts, heap.providers.ucx_netmods())
        size = known if known.ranks is not None else known._replace(ranks=heap.providers.ranks_in_table())
        versions = _versions(heap, [all_lines_of(part) for part in parts], parts, attempts)
        for number, (part, own) in enumerate(zip(parts, versions, strict=True), 1):
            run = Run(heap.mpi, part, size if len(parts) == 1 else Known(), number, own)
            layers.append(run.layer(book))
            heap.problems += run.problems
    if heap.prot.tables or not layers:
        others = [one for one in heap.mpi.failures if one[0].runtime in ("verbs", "job")]
        layers += heap.prot.layers(heap.launches, others, len(layers) + 1, book)
    heap.problems += heap.prot.problems
    found, problems = nccl_run.layers(heap.nccl, book, _judge(heap, hosts, known, ucx_words, attempts))
    layers += found
    if any(layer.job == MAX_RUNS for layer in layers):
        text = f"run {MAX_RUNS} is that and all later ones"
        heap.problems.append(Problem("many-runs", text))
    layers += _other_builds(heap, layers)
    silent = list(_foreign_layers(heap, layers, book))
    for layer in heap.gloo.layers(heap.launches, attempts, known, heap.links, book):
        layers.append(beside(layer, [*layers, *silent]))
    layers += silent
    heap.problems += problems
    return [_expected(layer, hosts) for layer in layers]


def _named_layers(heap: _Heap, known: Known, attempts: Attempts, book: Book) -> list[Layer]:
    """The runs of MPIs that name what they send with, and beside them those of other MPIs in the same logs. None where
    UCX or Open MPI say more than they.
    """
    groups = heap.providers.runs(heap.launches, attempts)
    context = _context(heap, known)
    if not heap.has_paths() and not (heap.has_broken_ucx() and any(group.is_ucx for group in groups)):
        told = _versions(heap, [group.marks() for group in groups], [], attempts)
        return providers.layers(groups, told, context, book)
    named = [group for group in groups if group.is_own_word]
    headers = heap.providers.headers
    netmods = heap.providers.ucx_netmods()
    parts = runs(heap.mpi, heap.launches, attempts, netmods)
    both = kept(named, parts, heap.launches, headers, has_ucx_netmod=bool(netmods))
    if not both.groups:
        return []
    launches = Launches(heap.launches)
    lines = [*(all_lines_of(part) for part in both.parts), *(group.marks() for group in both.groups)]
    told = _versions(heap, lines, both.parts, attempts)
    of_parts, of_groups = told[: len(both.parts)], told[len(both.parts) :]
    if both.parts:
        own = [mark for group in both.groups for mark in group.marks()]
        context = context._replace(failures=_near(context.failures, own, launches))
    found = [
        (group.first, layer)
        for group, layer in zip(both.groups, providers.layers(both.groups, of_groups, context, book), strict=True)
    ]
    for number, part in enumerate(both.parts):
        mine = _near(part.failures, own_lines_of(part), launches)
        run = Run(heap.mpi, part._replace(failures=mine), Known(), versions=of_parts[number])
        layer = run.layer(book)
        heap.problems += run.problems
        if not is_openmpi(part):
            name = both.above.get(number, "UCX")
            layer = layer._replace(runtime=name, version=of_parts[number].get(name))
        found.append((first_of(part), layer))
    found.sort(key=lambda one: (one[0].order, one[0].line))
    return [layer._replace(job=number) for number, (_, layer) in enumerate(found, 1)]


def _versions(
    heap: _Heap, lines: Iterable[Iterable[Mark]], parts: Sequence[Parts], attempts: Attempts
) -> list[Versions]:
    """What is told of the version of each run, of which these are the lines; ``parts`` are the first of the runs."""
    owners = {id(process): number for number, part in enumerate(parts) for process in part.processes}

    def speaker(told: Told) -> int | None:
        process = heap.mpi.by_key.get((told.mark.host, told.pid)) if told.pid is not None else None
        return owners.get(id(process)) if process is not None and process.generation == 0 else None

    return of_runs(heap.mpi.versions, [lines_of(own) for own in lines], Launches(heap.launches), attempts, speaker)


def _near(
    failures: Iterable[tuple[Failure, Mark]], own: Sequence[Mark], launches: Launches
) -> list[tuple[Failure, Mark]]:
    """The failures that no launcher's command line separates from a run's lines, and those in other files."""
    places = regions(own, launches)
    files = {order for order, _ in places}
    return [one for one in failures if one[1].order not in files or not regions([one[1]], launches).isdisjoint(places)]


def _context(heap: _Heap, known: Known) -> providers.Context:
    evidence = heap.mpi
    return providers.Context(
        evidence.versions, evidence.settings, evidence.failures, known.ranks, known.hosts, known.names, heap.lines,
        heap.launches,
    )  # fmt: skip


def _judge(heap: _Heap, hosts: KnownHosts, known: Known, ucx_words: UcxWords, attempts: Attempts) -> nccl_run.Judge:
    return nccl_run.Judge(
        heap.device_mark, ucx_words, heap.launches, known.hosts, hosts.without_hca, hosts.has_active_port, attempts
    )


def _expected(layer: Layer, hosts: KnownHosts) -> Layer:
    """TCP between hosts that are known to have no HCA is no fall-back."""
    if (layer.verdict, layer.status, layer.reasons) != ("tcp", "fallback", ()) or not layer.hosts:
        return layer
    have_none = {short_name(host) for host in layer.hosts} <= hosts.without_hca
    return layer._replace(status="as-expected") if have_none else layer


def _silent(heap: _Heap, runtime: str) -> tuple[str, str | None, str]:
    """The name and the version of a runtime that tells no transport, and the step that makes it: MPICH's depends on
    its release and its device.
    """
    versions = agreed_versions(heap.mpi.versions)
    if runtime == "libfabric" and "MPICH" in versions:
        runtime = "MPICH"  # it asks libfabric
    version = versions.get(runtime)
    if runtime != "MPICH":
        return runtime, version, next_step(runtime, version)
    return runtime, version, mpich_steps.transport_step(version, heap.providers.devices())


def _other_builds(heap: _Heap, layers: Sequence[Layer]) -> list[Layer]:
    """A layer for a build of MPICH or MVAPICH2 by which none of the runs can have sent: whether a job ran with it, or
    somebody only asked what is installed, no line tells.
    """
    ran = [layer for layer in layers if layer.layer == "mpi"]
    told = {layer.verdict for layer in ran if layer.runtime in _OF_BUILDS}
    for provider, _ in heap.providers.built():
        word = mpi_builds.word(provider)
        against = words.RDMA if word == "tcp" else frozenset(("tcp", "ipoib")) if word in words.RDMA else frozenset()
        if told and told <= against:
            step = _BUILD_STEP.format(runtime=provider.runtime, device=provider.provider)
            job = max(layer.job for layer in ran) + 1
            return [Layer("mpi", "unknown", "undecided", job, runtime=provider.runtime, next_step=step)]
    return []


def _is_death(failure: Failure) -> bool:
    """Whether it is a launcher's word, or an MPI's, that a rank has died."""
    return (failure.runtime, failure.topic) == ("job", "died") and failure.detail != RESTARTED


def _foreign_layers(heap: _Heap, layers: list[Layer], book: Book) -> Iterator[Layer]:
    """A runtime that is used and whose own lines say nothing is an unknown layer where nothing else was read of it.

    Beside NCCL's own lines the framework's other backends, and MPI under Horovod, coordinate the ranks.
    """
    have = {layer.layer for layer in layers}
    # A plugin of NCCL's asks libfabric.
    spoken = next((name for name in heap.mpi.foreign if not (name == "libfabric" and "nccl" in have)), None)
    if spoken is not None and "mpi" not in have:
        have.add("mpi")
        name, version, step = _silent(heap, spoken)
        ends = [] if layers else [mark for failure, mark in heap.mpi.failures if _is_death(failure)]
        for mark in ends[:2]:
            book.cite(mark, "failure")
        yield Layer("mpi", "unknown", "aborted" if ends else "undecided", runtime=name, version=version, next_step=step)
    for backend, _ in heap.backends:
        layer = _BACKEND_LAYERS.get(backend.name)
        if backend.purpose == "data" and layer and layer not in have and "nccl" not in have:
            have.add(layer)
            step = nccl_run.NEXT_STEP if layer == "nccl" else next_step(backend.framework)
            runtime = "NCCL" if layer == "nccl" else None
            yield Layer(layer, "unknown", "undecided", runtime=runtime, next_step=step)
