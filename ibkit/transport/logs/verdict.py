"""From a job's logs to the answer: judge each layer of each run, combine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibkit.model.mpi import JobVerdict, Layer
from ibkit.parsers.base import Problem
from ibkit.parsers.job_facts import Failure
from ibkit.parsers.torch_distributed import RESTARTED
from ibkit.transport.answer import beside, combine
from ibkit.transport.evidence import Book, File, Mark
from ibkit.transport.fixes import fitted, places_of
from ibkit.transport.host_names import short_name
from ibkit.transport.logs import nccl_run, providers
from ibkit.transport.logs.attempts import Attempts
from ibkit.transport.logs.doubt import agreed, common, settled
from ibkit.transport.logs.faint_runs import (
    HEARD,
    connected_layers,
    ended_layers,
    foreign_layers,
    opened_layers,
    other_builds,
)
from ibkit.transport.logs.heap import Heap
from ibkit.transport.logs.hosts import KnownHosts, read_hosts
from ibkit.transport.logs.job import Job
from ibkit.transport.logs.mpi_run import Run
from ibkit.transport.logs.mpi_runs import Parts, all_lines_of, own_lines_of, runs
from ibkit.transport.logs.nccl_networks import UcxWords
from ibkit.transport.logs.processes import MAX_RUNS, Launches
from ibkit.transport.logs.refusals import refuse, refuse_script
from ibkit.transport.logs.several_mpis import first_of, is_openmpi, kept, regions
from ibkit.transport.logs.sizes import Known
from ibkit.transport.logs.versions import Told, Versions, lines_of, of_runs


def judge(job: Job) -> JobVerdict:
    """The answer about a job. Raises UnreadableInput where nothing of it is a log."""
    heap = Heap(job)
    for order, log in enumerate(job.logs):
        heap.read(log, File(order, log.name))
    if not heap.has_facts:
        refuse(job, heap)
    answer = _answer(job, heap)
    if not answer.layers:
        refuse_script(job)
    return answer


def _answer(job: Job, heap: Heap) -> JobVerdict:
    book = Book()
    heap, *whole = heap.ended()
    hosts = read_hosts(job.hosts, heap.links)
    heap, *by_others = heap.by_command() or [heap]
    layers = _layers(heap, hosts, book)
    others = [_layers(other, read_hosts(job.hosts, other.links), Book()) for other in whole]
    for other in others:
        layers = list(agreed(layers, other))
    for rest in by_others:
        rest_book = Book()
        layers = list(settled(layers, book, _layers(rest, hosts, rest_book), rest_book))
    ends = [
        (failure, mark)
        for failure, mark in heap.mpi.failures
        if failure.runtime == "job" and failure.detail != RESTARTED
    ]
    if not layers:
        heard = [(failure, mark) for failure, mark in heap.mpi.failures if failure.topic in HEARD]
        layers = connected_layers(heard, ends) or ended_layers(ends) or opened_layers(heap.mpi.processes)
        for _, mark in [*heard[:2], *ends[:2]]:
            book.cite(mark, "failure")
    answer = combine(job.target, layers, book, heap.problems)
    for other in others:
        answer = answer._replace(verdict=common(answer.verdict, combine(job.target, other, Book(), []).verdict))
    if ends and not layers:
        answer = answer._replace(status="aborted")
    return fitted(answer, places_of(heap.signs(book)))


def _layers(heap: Heap, hosts: KnownHosts, book: Book) -> list[Layer]:
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
    layers += other_builds(heap, layers)
    silent = list(foreign_layers(heap, layers, book))
    for layer in heap.gloo.layers(heap.launches, attempts, known, heap.links, book):
        layers.append(beside(layer, [*layers, *silent]))
    layers += silent
    heap.problems += problems
    return [_expected(layer, hosts) for layer in layers]


def _named_layers(heap: Heap, known: Known, attempts: Attempts, book: Book) -> list[Layer]:
    """The runs of MPIs that name what they send with, and beside them those of other MPIs in the same logs. None where
    UCX or Open MPI say more than they.
    """
    groups = heap.providers.runs(heap.launches, attempts)
    context = _context(heap, known, attempts)
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
    heap: Heap, lines: Iterable[Iterable[Mark]], parts: Sequence[Parts], attempts: Attempts
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


def _context(heap: Heap, known: Known, attempts: Attempts) -> providers.Context:
    evidence = heap.mpi
    return providers.Context(
        evidence.versions, evidence.settings, evidence.failures, known.ranks, known.hosts, known.names, heap.lines,
        heap.launches, attempts,
    )  # fmt: skip


def _judge(heap: Heap, hosts: KnownHosts, known: Known, ucx_words: UcxWords, attempts: Attempts) -> nccl_run.Judge:
    return nccl_run.Judge(
        heap.device_mark, ucx_words, heap.launches, known.hosts, hosts.without_hca, hosts.has_active_port, attempts
    )


def _expected(layer: Layer, hosts: KnownHosts) -> Layer:
    """TCP between hosts that are known to have no HCA is no fall-back."""
    if (layer.verdict, layer.status, layer.reasons) != ("tcp", "fallback", ()) or not layer.hosts:
        return layer
    have_none = {short_name(host) for host in layer.hosts} <= hosts.without_hca
    return layer._replace(status="as-expected") if have_none else layer
