"""What a job's processes on a host did in a window of time: two samples, and what stands around them."""

from __future__ import annotations

from collections.abc import Mapping

from ibkit.parsers.base import Problem
from ibkit.parsers.proc_net_tcp import Connection
from ibkit.parsers.records import NamedTuple
from ibkit.parsers.ss_tcp import TcpSocket


class SeenQueuePair(NamedTuple):
    """A queue pair as the kernel listed it. ``row`` counts the rows of processes; ``pid``, which may be a thread's id,
    is None for the kernel's, and ``name`` the thread's or the kernel module's.
    """

    row: int
    device: str
    port: int | None
    qpn: int
    remote_qpn: int | None
    type: str | None
    state: str | None
    rq_psn: int | None
    sq_psn: int | None
    pid: int | None
    name: str | None


class Traffic(NamedTuple):
    """What a network interface has received and sent since it was made."""

    received_bytes: int
    received_packets: int
    sent_bytes: int
    sent_packets: int


class Sample(NamedTuple):
    """One moment. ``queue_pairs`` and ``sockets`` are None where they could not be listed; ``packets`` are sent and
    received ones by ``DEVICE/PORT``; ``interfaces`` and those of other network namespaces, by the namespace's number,
    as are the ``connections`` there, which have no counters of bytes.
    """

    queue_pairs: tuple[SeenQueuePair, ...] | None
    sockets: tuple[TcpSocket, ...] | None
    packets: Mapping[str, tuple[int, int]] = {}
    interfaces: Mapping[str, Traffic] = {}
    elsewhere: Mapping[int, Mapping[str, Traffic]] = {}
    connections: Mapping[int, tuple[Connection, ...]] = {}
    problems: tuple[Problem, ...] = ()


class Segment(NamedTuple):
    """A mapped piece of shared memory: ``DEVICE INODE`` and its name."""

    place: str
    name: str


class RankFacts(NamedTuple):
    """What /proc tells of one process; None is what could not be looked at.

    ``network`` is the number of its network namespace. ``memlock`` is the soft limit in bytes, or ``unlimited``;
    ``may_lock`` whether it has CAP_IPC_LOCK, for which there is no limit. ``libraries`` are the mapped ones of RDMA and
    MPI, ``nodes`` the device nodes below /dev/infiniband as the process sees that folder.
    """

    network: int | None = None
    memlock: int | str | None = None
    may_lock: bool | None = None
    libraries: tuple[str, ...] | None = None
    segments: tuple[Segment, ...] | None = None
    nodes: tuple[str, ...] | None = None
