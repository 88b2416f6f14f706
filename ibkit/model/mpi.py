"""Whether the ranks of a job used InfiniBand: the verdict and what it stands on (schema ibkit.mpi/1)."""

from __future__ import annotations

from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

#: Verdict words, see docs/check-mpi-transport.md.
VERDICTS = (
    "ib", "roce", "iwarp", "rdma", "opa", "efa", "slingshot", "ipoib", "tcp", "shm", "mixed", "none", "unknown",
)  # fmt: skip
#: Status words, worst first: the overall status is the first of these that any layer has.
STATUSES = ("aborted", "fallback", "mixed", "undecided", "by-configuration", "as-expected")
#: Evidence classes, strongest first. The last three never decide alone.
EVIDENCE_CLASSES = ("path", "selection", "process", "candidate", "configuration", "failure")


class Evidence(NamedTuple):
    """One line that says something about the transport. ``evidence_class`` is one of EVIDENCE_CLASSES; ``line`` is 0
    for what is no line of its file: ibkit's words for what a table of the kernel holds.
    """

    id: int
    evidence_class: str
    file: str
    line: int
    text: str
    host: str | None = None
    rank: int | None = None
    transport: str | None = None

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}" if self.line else self.file


class Pair(NamedTuple):
    """What moved the data between two hosts (``a`` may equal ``b``); ``ranks`` lists the rank pairs that were named."""

    a: str
    b: str
    transport: str
    ranks: tuple[tuple[int, int], ...] = ()
    evidence: tuple[int, ...] = ()


class Reason(NamedTuple):
    """Why it was not InfiniBand, as far as the evidence proves it. ``id`` is stable (memlock, noport, nolib ...).

    ``hosts`` and ``ranks`` are those whose lines prove it, in the order in which they were hit; empty where no line
    tells.
    """

    id: str
    text: str
    fix: str
    evidence: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()


class Layer(NamedTuple):
    """One independent data path of one job: ``layer`` is mpi, nccl or gloo, or tasks that have no library of any.
    ``remarks`` spoil nothing (peermem). ``process`` is a job of running processes by its first one: ``pid:4711``.
    ``link_layers`` of an ``rdma`` are those that are told of some of its devices, and not of all. ``evidence`` is all
    that this run was judged by, with what its pairs and reasons stand on.
    """

    layer: str
    verdict: str
    status: str
    job: int = 1
    runtime: str | None = None
    version: str | None = None
    hosts: tuple[str, ...] = ()
    ranks: int | None = None
    pairs: tuple[Pair, ...] = ()
    reasons: tuple[Reason, ...] = ()
    next_step: str | None = None
    remarks: tuple[Reason, ...] = ()
    process: str | None = None
    link_layers: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()


class JobVerdict(NamedTuple):
    """The answer about one target."""

    target: str
    verdict: str
    status: str
    layers: tuple[Layer, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    next_step: str | None = None
    problems: tuple[Problem, ...] = ()
