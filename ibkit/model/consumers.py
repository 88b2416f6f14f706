"""Who uses a host's RDMA devices: processes and kernel services, their queue pairs, and which of these are joined."""

from __future__ import annotations

from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

PROCESS, KERNEL, UNKNOWN = "process", "kernel", "unknown"

#: What a pair of queue pairs stands on: the connection manager's addresses; packet numbers that fit each other both
#: ways; the queue pairs' numbers alone, which two connections to other hosts may have by chance.
BY_ADDRESS, BY_PACKET_NUMBERS, BY_NUMBERS = "addresses", "packet-numbers", "numbers"


class Owner(NamedTuple):
    """A process, a kernel service, or nobody that can be seen from here.

    ``pid`` is the process (its main thread), ``threads`` the ids that the kernel named, which may be threads of it;
    ``confirmed`` tells whether /proc says so: otherwise ``pid`` is what the kernel named. ``name`` is the process's
    name or the kernel module's, ``service`` what that module does. ``inner_pid`` is its id in its own PID namespace.
    ``locked_bytes`` and ``pinned_bytes`` are VmLck and VmPin; ``memlock`` is the soft limit in bytes or ``unlimited``.
    ``nodes`` are the open device nodes, ``libraries`` the mapped ones of RDMA and MPI, ``environment`` the variables
    that choose a transport. ``namespaces`` are kind (pid, net, mnt, user ...) and number of those that it is in, and
    ``own_namespaces`` the kinds in which that is not the reader's. None is what could not be looked at.
    """

    kind: str
    pid: int | None = None
    name: str | None = None
    service: str | None = None
    threads: tuple[int, ...] = ()
    confirmed: bool = False
    uid: int | None = None
    inner_pid: int | None = None
    cgroup: str | None = None
    container: str | None = None
    memlock: int | str | None = None
    locked_bytes: int | None = None
    pinned_bytes: int | None = None
    nodes: tuple[str, ...] | None = None
    libraries: tuple[str, ...] | None = None
    environment: tuple[tuple[str, str], ...] | None = None
    namespaces: tuple[tuple[str, int], ...] | None = None
    own_namespaces: tuple[str, ...] | None = None


class QueuePair(NamedTuple):
    """A queue pair. ``owner`` is an index into the owners; ``remote_qpn`` is None where it is not connected.

    ``type`` is RC, UC, UD, GSI, SMI ..., ``state`` RESET, INIT, RTR, RTS, SQD, SQE or ERR, as the kernel says.
    ``rq_psn`` and ``sq_psn`` are the packet numbers of the two directions.
    """

    device: str
    port: int | None
    qpn: int
    owner: int
    remote_qpn: int | None = None
    type: str | None = None
    state: str | None = None
    rq_psn: int | None = None
    sq_psn: int | None = None


class Connection(NamedTuple):
    """A connection manager's identifier (cm_id). Addresses are as printed, ``ADDRESS:PORT``."""

    device: str | None
    port: int | None
    owner: int
    qpn: int | None = None
    type: str | None = None
    state: str | None = None
    port_space: str | None = None
    source: str | None = None
    destination: str | None = None


class Pair(NamedTuple):
    """Two queue pairs of this host that talk to each other: indexes, and what that stands on."""

    a: int
    b: int
    basis: str


class Use(NamedTuple):
    """How many objects an owner has on a device. A count is None where the kernel or its tool does not list them."""

    owner: int
    device: str
    qp: int | None = None
    cm_id: int | None = None
    ctx: int | None = None
    pd: int | None = None
    mr: int | None = None
    cq: int | None = None


class Consumers(NamedTuple):
    """All of it for one host. ``listed`` is whether the queue pairs could be listed: else nothing follows from none."""

    host: str
    owners: tuple[Owner, ...] = ()
    queue_pairs: tuple[QueuePair, ...] = ()
    connections: tuple[Connection, ...] = ()
    pairs: tuple[Pair, ...] = ()
    uses: tuple[Use, ...] = ()
    problems: tuple[Problem, ...] = ()
    listed: bool = True
