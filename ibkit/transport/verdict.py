"""From a job's logs to the answer: read them once, judge each layer of each run, combine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import NamedTuple

from ibkit.errors import UnreadableInput
from ibkit.model.mpi import STATUSES, JobVerdict, Layer
from ibkit.parsers import nccl
from ibkit.parsers.base import Problem
from ibkit.parsers.job_facts import Failure, Setting, Version
from ibkit.parsers.job_log import Fact, JobLog
from ibkit.sources.site import Host
from ibkit.transport import mpi, words
from ibkit.transport import nccl as nccl_evidence
from ibkit.transport.evidence import Book, File, Mark
from ibkit.transport.job import Job, Log
from ibkit.transport.links import Links
from ibkit.transport.mpi_run import Known, Run, next_step
from ibkit.transport.processes import Group
from ibkit.transport.reasons import reason_of

_GENERAL_STEP = (
    "nothing in it says which transport was used; run again with NCCL_DEBUG=INFO (NCCL, RCCL), UCX_LOG_LEVEL=info "
    "(UCX), --mca btl_base_verbose 100 --mca pml_base_verbose 100 (Open MPI), and give the whole output of all ranks"
)
#: Open MPI's messages that follow others or say nothing about the transport: no layer for them alone.
_NOISE = frozenset(("no-parameters", "openib-init", "connection-lost"))


class _Hosts(NamedTuple):
    """What a capture knows of the job's hosts."""

    without_hca: frozenset[str]
    has_port: bool


def judge(job: Job) -> JobVerdict:
    """The answer about a job. Raises UnreadableInput where nothing of it is a log."""
    links = Links()
    of_nccl, of_mpi = nccl_evidence.Evidence(links), mpi.Evidence(links)
    counts: list[Setting] = []
    problems = list(job.problems)
    recognised, size, nul_bytes = False, 0, 0
    for order, log in enumerate(job.logs):
        file = File(order, log.name)
        reader, failed = _read(log, file, of_nccl, of_mpi, counts)
        recognised |= reader.recognised
        problems += [*failed, *reader.problems]
        size += reader.size
        nul_bytes = max(nul_bytes, reader.nul_bytes)
    if not recognised:
        _refuse(job, size, nul_bytes)
    known_hosts = _read_hosts(job.hosts, links)
    return _answer(job, of_nccl, of_mpi, counts, problems, known_hosts)


class _Read(NamedTuple):
    recognised: bool
    size: int
    nul_bytes: int
    problems: tuple[Problem, ...]


def _read(
    log: Log, file: File, of_nccl: nccl_evidence.Evidence, of_mpi: mpi.Evidence, counts: list[Setting]
) -> tuple[_Read, list[Problem]]:
    recognised, failed = False, []
    with closing(log.open()) as stream:
        facts = JobLog(stream)
        try:
            for fact in facts:
                recognised = True
                _sort(fact, file, of_nccl, of_mpi, counts)
        except (OSError, EOFError) as error:
            failed.append(Problem("unreadable", f"not read to its end: {error}", facts.scanner.lines, log.name))
    scanner = facts.scanner
    problems = [problem._replace(source=log.name) for problem in scanner.problems]
    if scanner.sampled_bytes:
        text = (
            f"{scanner.sampled_bytes >> 20} of {scanner.size >> 20} MiB hold channel lines of kinds that had brought "
            "nothing new for long; of these each eighth block was looked into for more rank pairs"
        )
        problems.append(Problem("sampled", text, None, log.name))
    return _Read(recognised, scanner.size, scanner.nul_bytes, tuple(problems)), failed


def _sort(fact: Fact, file: File, of_nccl: nccl_evidence.Evidence, of_mpi: mpi.Evidence, counts: list[Setting]) -> None:
    """Give a fact to the layer that it is about."""
    if isinstance(fact, Setting) and fact.runtime == "job":
        counts.append(fact)
    elif isinstance(fact, Version):
        (of_nccl if fact.runtime in ("NCCL", "RCCL") else of_mpi).add(fact, file)
    elif isinstance(fact, Setting):
        (of_nccl if fact.runtime == "nccl" else of_mpi).add(fact, file)
    elif isinstance(fact, Failure) and fact.runtime == "verbs":
        of_nccl.add(fact, file)
        of_mpi.add(fact, file)
    elif isinstance(fact, Failure):
        (of_nccl if fact.runtime == "nccl" else of_mpi).add(fact, file)
    elif isinstance(
        fact,
        nccl.Channel | nccl.RankInit | nccl.RankMap | nccl.Network | nccl.Devices | nccl.VirtualDevice
        | nccl.QueuePair | nccl.Interfaces | nccl.Provider | nccl.Connected,
    ):  # fmt: skip
        of_nccl.add(fact, file)
    else:
        of_mpi.add(fact, file)


def _refuse(job: Job, size: int, nul_bytes: int) -> None:
    """Nothing was recognised: an empty or binary file is no log, and another tool's output has its own command."""
    if size == 0:
        raise UnreadableInput(f"{job.target}: empty; the job has printed nothing (yet)")
    if nul_bytes > 16:
        raise UnreadableInput(f"{job.target}: binary data, not a log")
    from ibkit.parsers import JOB_COMMAND, identify
    from ibkit.parsers.base import NotThisFormat

    if len(job.logs) != 1 or job.target == "-":
        return
    with closing(job.logs[0].open()) as stream:
        head = stream.read(1 << 16).decode("utf-8", "replace")
    try:
        form = identify(head, source=job.target)
    except NotThisFormat:
        return
    if form.command != JOB_COMMAND:
        raise UnreadableInput(f"{job.target}: {form.tool} output, not a job's log; `ibkit {form.command}` reads it")


def _read_hosts(hosts: Iterable[Host], links: Links) -> _Hosts:
    """Link layers of the hosts of a capture, and which of them have no HCA."""
    without, has_port = set(), False
    for host in hosts:
        from ibkit.collectors.hca import collect_hcas

        found = collect_hcas(host.source, host.name, whole=False)
        for hca in found.hcas:
            for port in hca.ports:
                has_port |= port.state == "Active"
                if link := port.transport or port.link_layer:
                    links.add(host.name, f"{hca.name}:{port.port}", link)
        if not found.hcas and any(problem.kind == "no-device" for problem in found.problems):
            without.add(host.name)
    return _Hosts(frozenset(without), has_port)


def _answer(
    job: Job, of_nccl: nccl_evidence.Evidence, of_mpi: mpi.Evidence, counts: list[Setting],
    problems: list[Problem], known_hosts: _Hosts,
) -> JobVerdict:  # fmt: skip
    book = Book()
    ranks, nodes = _counts(counts, job)
    ucx_is_nccls = of_nccl.uses("UCX") and not _mpi_uses_ucx(of_mpi)
    plugin_words = _ucx_words(of_mpi) if ucx_is_nccls else {}
    device = of_nccl.device_mark or links_mark(of_mpi)
    judge_ = nccl_evidence.Judge(device, plugin_words, [], nodes, known_hosts.without_hca, known_hosts.has_port)
    nccl_layers, found = of_nccl.layers(book, judge_)
    problems += found
    layers: list[Layer] = []
    if not ucx_is_nccls and _mpi_spoke(of_mpi):
        for run in _runs(of_mpi, Known([], ranks, nodes)):
            layers.append(run.layer(book))
            problems += run.problems
    layers += nccl_layers
    foreign = list(_foreign_layers(of_mpi, layers))
    layers += foreign
    problems += _foreign_problems(of_mpi)
    return combine(job.target, layers, book, problems)


def links_mark(of_mpi: mpi.Evidence) -> Mark | None:
    """A line of the MPI layer that shows an HCA."""
    shown = ("no-port", "openib-init", "ib-port-refused", "no-parameters", "no-cpc", "memlock", "open-device")
    return of_mpi.links.any_mark or next((mark for f, mark in of_mpi.failures if f.topic in shown), None)


def combine(target: str, layers: list[Layer], book: Book, problems: list[Problem]) -> JobVerdict:
    """The layers' common verdict, else mixed; the worst status; the first step that is still to be taken."""
    decided = [layer.verdict for layer in layers if layer.verdict not in ("unknown", "none")]
    if decided:
        verdict = words.combine(decided)
    else:
        verdict = "none" if layers and all(layer.verdict == "none" for layer in layers) else "unknown"
        if not layers:
            return JobVerdict(target, "unknown", "undecided", (), book.evidence, _GENERAL_STEP, tuple(problems))
    status = min((layer.status for layer in layers), key=STATUSES.index)
    step = next((layer.next_step for layer in layers if layer.next_step and layer.status == "undecided"), None)
    return JobVerdict(target, verdict, status, tuple(layers), book.evidence, step, tuple(problems))


def _counts(counts: list[Setting], job: Job) -> tuple[int | None, int | None]:
    """Numbers of ranks and of hosts that the environment, the command line or a hostfile tell, if they agree."""
    ranks: set[int] = set()
    nodes: set[int] = set()
    for setting in counts:
        if setting.value.isdigit() and len(setting.value) < 8:
            is_nodes = setting.name in ("nodes", "SLURM_NNODES", "SLURM_JOB_NUM_NODES")
            (nodes if is_nodes else ranks).add(int(setting.value))
    if job.listed_hosts:
        nodes.add(len(job.listed_hosts))
    return (ranks.pop() if len(ranks) == 1 else None), (nodes.pop() if len(nodes) == 1 else None)


def _mpi_spoke(of_mpi: mpi.Evidence) -> bool:
    """Whether anything says something about an MPI's transport."""
    if of_mpi.tables or any(
        p.pml or p.btls or p.endpoints or p.mtl or p.openib or p.support for p in of_mpi.processes.values()
    ):
        return True
    return any(
        failure.runtime != "verbs" and failure.topic not in _NOISE and (reason_of(failure) or failure.is_fatal)
        for failure, _ in of_mpi.failures
    )


def _mpi_uses_ucx(of_mpi: mpi.Evidence) -> bool:
    return any(p.pml or p.support for p in of_mpi.processes.values()) or any(
        name in ("MPICH", "Open MPI") for name, _, _ in of_mpi.versions
    )


def _ucx_words(of_mpi: mpi.Evidence) -> dict[tuple[str | None, int | None], tuple[str, Mark]]:
    """What UCX lines say of each process's endpoints to other hosts."""
    run = Run(of_mpi, list(of_mpi.processes.values()), [], [], Known([]))
    return run.words_by_process()


def _runs(of_mpi: mpi.Evidence, known: Known) -> Iterator[Run]:
    """Runs by Open MPI's job family; what has no family belongs to the run in whose lines it stands."""
    processes = list(of_mpi.processes.values())
    families = list(dict.fromkeys(p.family for p in processes if p.family is not None))
    if len(families) < 2:
        yield from _runs_by_table(of_mpi, processes, known)
        return
    groups = [Group(p for p in processes if p.family == family) for family in families]
    for process in processes:
        if process.family is None:
            min(groups, key=lambda group: _distance(group, process.first)).processes.append(process)
    for job, group in enumerate(groups, 1):
        tables = [t for t in of_mpi.tables if _nearest(groups, t[2]) is group]
        failures = [f for f in of_mpi.failures if _nearest(groups, f[1]) is group]
        yield Run(of_mpi, group.processes, tables, failures, known._replace(ranks=None, hosts=None), job)


def _runs_by_table(of_mpi: mpi.Evidence, processes: list[mpi.MpiProcess], known: Known) -> Iterator[Run]:
    """Tables of different hosts or ranks are different runs; those of the same may be one run's start and end."""
    layouts = list(dict.fromkeys(table.hosts for table, _, _ in of_mpi.tables))
    if len(layouts) < 2 or processes:
        yield Run(of_mpi, processes, of_mpi.tables, of_mpi.failures, known)
        return
    for job, layout in enumerate(layouts, 1):
        tables = [entry for entry in of_mpi.tables if entry[0].hosts == layout]
        yield Run(of_mpi, [], tables, of_mpi.failures if job == 1 else [], known._replace(ranks=None, hosts=None), job)


def _nearest(groups: list[Group[mpi.MpiProcess]], mark: Mark) -> Group[mpi.MpiProcess]:
    return min(groups, key=lambda group: _distance(group, mark))


def _distance(group: Group[mpi.MpiProcess], mark: Mark) -> tuple[int, int]:
    """How far a line is from a run's lines: 0 inside; a line before a run is nearer to it than one behind it."""
    lines = [m.line for p in group.processes for m in (p.first, p.last) if m.order == mark.order]
    if not lines:
        return 2, 0
    if min(lines) <= mark.line <= max(lines):
        return 0, 0
    return 1, min(lines) - mark.line if mark.line < min(lines) else mark.line - max(lines)


def _foreign_layers(of_mpi: mpi.Evidence, layers: list[Layer]) -> Iterator[Layer]:
    """A runtime that is not read yet is an unknown layer where nothing else was read of it."""
    have = {layer.layer for layer in layers}
    for fact, _ in of_mpi.foreign:
        if fact.layer not in have and not (fact.layer == "gloo" and layers):
            have.add(fact.layer)
            yield Layer(fact.layer, "unknown", "undecided", runtime=fact.runtime, next_step=next_step(fact.runtime))


def _foreign_problems(of_mpi: mpi.Evidence) -> Iterator[Problem]:
    seen: set[str] = set()
    for fact, mark in of_mpi.foreign:
        if fact.runtime not in seen:
            seen.add(fact.runtime)
            yield Problem(
                "not-read-yet", f"lines of {fact.runtime} are recognised, but not read yet", mark.line, mark.file
            )
