"""What the ranks of running jobs use, from two samples of each of their hosts.

Proof is what moves in the window: packet numbers of a rank's connected queue pair, or packets of a port that nobody but
the ranks uses, are RDMA; bytes of a TCP socket whose both ends are ranks are TCP. Where nothing moves, what sockets had
moved before is proof where RDMA is not open. An open device, a mapped library, a queue pair that stands still and a
socket to a launcher prove nothing. Shared memory leaves no counter: it is what is left where ranks of one host have no
other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.collectors.job_samples import JobWatch
from ibkit.model.mpi import JobVerdict, Layer, Pair
from ibkit.model.node_set import natural
from ibkit.parsers.base import Problem
from ibkit.transport import words
from ibkit.transport.answer import combine
from ibkit.transport.evidence import Book
from ibkit.transport.fixes import fitted, places_of
from ibkit.transport.links import Links
from ibkit.transport.live import contradictions
from ibkit.transport.live.jobs import LiveJob, jobs_of
from ibkit.transport.live.lost_verbs import locked_out, wrong_devices
from ibkit.transport.live.moves import SURELY_DATA, address_interface
from ibkit.transport.live.pairs import SocketPair, join_queue_pairs, join_sockets
from ibkit.transport.live.reasons import Marks, asked_for_tcp, reasons_of, settings_of
from ibkit.transport.live.shared_memory import have_no_common_memory, uses_shared_memory
from ibkit.transport.live.steps import IDLE_RDMA, OTHER_SOCKETS, next_step
from ibkit.transport.live.witness import Moved, Witness
from ibkit.transport.reasons import reasons

#: Beside RDMA, TCP of fewer bytes for each of its packets is control.
_CONTROL_BYTES_PER_PACKET = 64
#: What a batch system gives to its jobs; captures keep these names.
_BATCH_JOB = frozenset(("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"))


def judge_watches(target: str, watches: Sequence[JobWatch]) -> JobVerdict:
    """The answer about all jobs that were watched, each of which may be on several of the hosts."""
    links = Links()
    for watch in watches:
        links.add_ports(watch.hcas)
    book = Book()
    jobs = jobs_of(watches)
    layers = [_layer(job, links, book) for job in jobs]
    problems = [problem for watch in watches for problem in _problems(watch, several=len(watches) > 1)]
    answer = combine(target, layers, book, [*problems, *(problem for job in jobs for problem in job.problems)])
    variables = {name for watch in watches for ranks in watch.jobs for name in ranks.environment}
    return fitted(answer, places_of(variables & _BATCH_JOB))


def _problems(watch: JobWatch, *, several: bool) -> Iterator[Problem]:
    for problem in watch.problems:
        yield problem._replace(source=f"{watch.host}: {problem.source or ''}") if several else problem


def _layer(job: LiveJob, links: Links, book: Book) -> Layer:
    """The verdict about one job."""
    witness = Witness(job.parts, links, book)
    queues = list(join_queue_pairs(job.parts, is_whole=job.is_whole))
    rdma = [*witness.queue_pairs(queues), *witness.ports()]
    between = list(join_sockets(job.parts))
    sockets = _of_the_library(job, between)
    earlier = [] if rdma or between else _earlier_sockets(job)
    tcp = [witness.socket(one) for one in earlier or sockets]
    verdict, step = _verdict(job, rdma, tcp, earlier or sockets)
    shared = [witness.segment(job.parts[0])] if verdict == "shm" else []
    if step and not sockets and between:
        step = OTHER_SOCKETS
    status, why = _status(job, verdict)
    pairs = _pairs(job, rdma if rdma and job.has_nccl else [*rdma, *tcp, *shared], verdict)
    job.problems += [*contradictions.of_sockets(sockets), *contradictions.of_ports(job.parts, queues)]
    return Layer(
        job.layer, verdict, status, job.number, job.runtime, hosts=tuple(sorted(job.hosts, key=natural)),
        ranks=job.size, pairs=pairs, reasons=reasons(why, book), next_step=step, process=job.process,
        evidence=book.cited(),
    )  # fmt: skip


def _of_the_library(job: LiveJob, between: Sequence[SocketPair]) -> list[SocketPair]:
    """The sockets between ranks that can be the data path: no control beside RDMA, and within a host none that the
    application may have opened beside its library's shared memory.
    """
    packets = {
        part.host: sum([*(move.packets for move in part.rdma), *(move.packets for move in part.ports)])
        for part in job.parts
    }
    apart = {
        part.host: have_no_common_memory(part, [setting for setting, _ in settings_of(part)])
        for part in {id(one.part): one.part for one in between}.values()
    }
    return [
        one
        for one in between
        if one.move.moved > _CONTROL_BYTES_PER_PACKET * packets[one.part.host]
        and (one.part is not one.other_part or apart[one.part.host])
    ]


def _earlier_sockets(job: LiveJob) -> list[SocketPair]:
    """Where nothing moves now, the sockets between ranks that did, of a job that can have used nothing but TCP: no RDMA
    is open, no memory shared. Which interface carried it is not known any more, so none of an IPoIB address.
    """
    is_open = any(part.watch.other_fabrics or part.has_verbs_open is not False for part in job.parts)
    if not job.is_whole or job.has_nccl or is_open:
        return []
    is_one_host = len(job.parts) == 1
    return [
        one
        for one in _of_the_library(job, list(join_sockets(job.parts, earlier=True)))
        if (one.part is not one.other_part or is_one_host)
        and address_interface(one.part, one.move) not in one.part.watch.interfaces.ipoib
    ]


def _verdict(
    job: LiveJob, rdma: Sequence[Moved], tcp: Sequence[Moved], sockets: Sequence[SocketPair]
) -> tuple[str, str | None]:
    """The word, and where it is unknown the next step."""
    if rdma:  # NCCL has one network for all; sockets beside it are Gloo's or the application's
        return words.combine(one.word for one in (rdma if job.has_nccl else (*rdma, *tcp))), None
    if tcp and job.is_whole:
        if _is_tcps(job, sockets):
            return words.combine(one.word for one in tcp), None
        return "unknown", IDLE_RDMA
    settings = [setting for setting, _ in settings_of(job.parts[0])]
    if job.is_whole and len(job.parts) == 1 and uses_shared_memory(job.parts[0], settings):
        return "shm", None
    return "unknown", next_step(job)


def _is_tcps(job: LiveJob, sockets: Sequence[SocketPair]) -> bool:
    """Whether TCP is the data path of the job's library: RDMA is not open, or it is certain to be idle."""
    if any(part.watch.other_fabrics for part in job.parts):
        return False
    if len(job.parts) > 1 and all(one.part is one.other_part for one in sockets):
        return False  # it says nothing about what is between the hosts
    if all(part.has_verbs_open is False for part in job.parts):
        return not job.has_nccl or len(job.parts) > 1  # within a host NCCL has ways that leave no trace
    moved = max(one.move.moved for one in sockets)
    is_idle = all(part.is_quiet and not part.has_connected for part in job.parts)
    return not job.has_nccl and is_idle and moved >= SURELY_DATA


def _status(job: LiveJob, verdict: str) -> tuple[str, Marks]:
    if verdict == "mixed":
        return "mixed", {}
    if verdict == "unknown":
        return "undecided", locked_out(job.parts)
    if verdict not in ("tcp", "ipoib"):
        return "as-expected", {}
    is_one_host = len(job.parts) == 1
    asked = [mark for part in job.parts for mark in asked_for_tcp(part, job.layer, is_one_host=is_one_host)]
    if asked:
        return "by-configuration", {"wrongtls": [(mark, "configuration") for mark in asked]}
    if all(part.watch.lacks_hca for part in job.parts):
        return "as-expected", {}
    return "fallback", {**wrong_devices(job.parts), **reasons_of(job.parts)}


def _pairs(job: LiveJob, moved: Sequence[Moved], verdict: str) -> tuple[Pair, ...]:
    """What is between each two hosts of which both ends were seen."""
    words_of: dict[tuple[str, str], list[Moved]] = {}
    for one in moved:
        if one.other_host is not None:
            swapped = natural(one.other_host) < natural(one.host)
            ends = (one.other_host, one.host) if swapped else (one.host, one.other_host)
            if swapped or (one.host == one.other_host and (one.other_rank or 0) < (one.rank or 0)):
                one = one._replace(rank=one.other_rank, other_rank=one.rank)
            words_of.setdefault(ends, []).append(one)
    if not words_of and job.is_whole and len(job.parts) == 1 and verdict not in ("unknown", "mixed"):
        ids = tuple(one.evidence for one in moved)
        return (Pair(job.parts[0].host, job.parts[0].host, verdict, (), ids),)
    return tuple(
        Pair(
            *ends,
            words.combine(one.word for one in found),
            tuple(
                sorted({(a, b) for one in found if (a := one.rank) is not None and (b := one.other_rank) is not None})
            ),
            tuple(dict.fromkeys(one.evidence for one in found)),
        )
        for ends, found in sorted(words_of.items(), key=lambda item: [natural(name) for name in item[0]])
    )
