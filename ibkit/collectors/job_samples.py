"""What a job's processes on a host move: two samples, as cheap as they can be, and what stands around them.

The first sample finds the processes and which of them have which sockets open, by their lists of open files: `ss -p`
walks through those of the whole host, which costs more than all the rest. The second one asks only for what moves, and
a socket is the same one where its addresses and its inode are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ibkit.collectors.absence import NO_DEVICE
from ibkit.collectors.consumers import command_of
from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.openmpi_modules import Modules, openmpi_modules
from ibkit.collectors.openmpi_parameters import Parameter, openmpi_parameters
from ibkit.collectors.pci import rdma_adapters
from ibkit.collectors.processes import PROC, mapped_libraries
from ibkit.collectors.ranks import Ranks, is_root, ranks_of_target
from ibkit.collectors.sysfs import CLASS
from ibkit.display import first_few
from ibkit.model.host import HostHcas
from ibkit.model.job_watch import RankFacts, Sample, SeenQueuePair, Segment, Traffic
from ibkit.parsers import proc_net_tcp, rdma, ss_tcp
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.ip_json import parse_addresses
from ibkit.parsers.lines import count_of
from ibkit.parsers.rdma import RdmaRow
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import CommandAnswer, Source

SOCKETS = ("ss", "-tineH")
ADDRESSES = ("ip", "-j", "-d", "addr")
#: Netlink dumps of a host with many sockets (seconds).
DEADLINE_SECONDS = 20.0
#: The packets of a port: PortCounters (on Ethernet those of RoCE only), else what the driver counts (rxe; efa, bnxt).
_PACKETS = (
    ("counters/port_xmit_packets", "counters/port_rcv_packets"),
    ("hw_counters/sent_pkts", "hw_counters/rcvd_pkts"),
    ("hw_counters/tx_pkts", "hw_counters/rx_pkts"),
)
#: Device nodes of fabrics that nothing here shows the traffic of: Omni-Path and its forerunner, Slingshot, Aries and
#: Gemini, BXI, Tofu, Myrinet.
_NO_VERBS = ("hfi1", "ipath", "cxi", "kgni", "bxi", "tofu", "myri")
_INTERFACE = re.compile(r"^ *([^\s:]{1,40}): *([0-9 ]{1,400})$", re.MULTILINE)
_MEMLOCK = re.compile(r"^Max locked memory +(unlimited|[0-9]{1,20}) ", re.MULTILINE)
_CAPABILITIES = re.compile(r"^CapEff:\t([0-9a-f]{1,16})$", re.MULTILINE)
_IPC_LOCK = 14
_SOCKET = re.compile(r"socket:\[([0-9]{1,19})\]\Z")
_NETWORK = re.compile(r"net:\[([0-9]{1,19})\]\Z")
_SEGMENT = re.compile(r"([0-9a-f]{1,8}:[0-9a-f]{1,8} [0-9]{1,20}) (/.*)\Z")
#: Ranks of one host whose memory maps are looked at for shared segments.
_MAX_MAPS = 1024


class Interfaces(NamedTuple):
    """The host's addresses with the interface that has each, and which interfaces are IPoIB."""

    by_address: Mapping[str, str]
    ipoib: frozenset[str]


class JobWatch(NamedTuple):
    """A host between two samples, ``seconds`` apart.

    ``owners`` are the processes of the jobs' ranks by the ids of their threads; ``contexts`` the ids that have each
    RDMA device open, None where nobody could list them; ``lacks_hca`` tells whether there is none, not even one
    without a driver; ``facts`` are by process; ``network`` is the network namespace that sockets and interfaces are of;
    ``parameters`` are those of Open MPI's files, by each job's first process, ``modules`` what its installation has;
    ``by_root``: root looked.
    """

    host: str
    jobs: tuple[Ranks, ...]
    seconds: float
    before: Sample
    after: Sample
    owners: Mapping[int, int]
    contexts: Mapping[str, frozenset[int]] | None
    interfaces: Interfaces
    hcas: HostHcas
    lacks_hca: bool | None
    other_fabrics: tuple[str, ...]
    network: int | None
    facts: Mapping[int, RankFacts]
    problems: tuple[Problem, ...] = ()
    parameters: Mapping[int, tuple[Parameter, ...]] = {}
    by_root: bool = False
    modules: Mapping[int, Modules] = {}


def watch_job(
    host: str, target: str, first: Source, later: Source, wait: Callable[[dict[int, int | None]], float]
) -> JobWatch:
    """Look at the ranks of ``target`` twice; ``wait`` gets them, lets the window pass and says how long it was (s).

    Raises UnreadableInput where there is no such job on the host.
    """
    jobs = ranks_of_target(first, target)
    pids = sorted({pid for job in jobs for pid in job.ranks})
    hcas = collect_hcas(first, host, whole=False)
    ports = [f"{hca.name}/{port.port}" for hca in hcas.hcas for port in hca.ports]
    owners = {}
    contexts = None
    has_device = bool(first.list(CLASS).names)
    if has_device:
        owners = {thread: pid for pid in pids for thread in _threads(first, pid)}
        contexts = _contexts(first, pids)
    addresses = _interfaces(first)
    before = _sample(first, has_device, ports, _holders(first, pids))
    own, networks = _networks(first, pids, before)
    elsewhere = {number: pid for pid, number in networks.items() if own and number not in (None, own)}
    before = before._replace(elsewhere={number: _traffic(first, pid) for number, pid in elsewhere.items()})
    seconds = wait({pid: rank for job in jobs for pid, rank in job.ranks.items()})
    after = _sample(later, has_device, ports)
    if has_device:  # a rank that has just begun opens its devices and makes their threads in the window
        owners |= {thread: pid for pid in pids for thread in _threads(later, pid)}
        contexts = _joined(contexts, _contexts(later, pids))
    after = after._replace(
        elsewhere={number: _traffic(later, pid) for number, pid in elsewhere.items()},
        connections={number: _connections(later, pid) for number, pid in elsewhere.items()},
    )
    with_maps = set().union(*(_with_maps(before, after, owners, job.ranks) for job in jobs))
    facts = {pid: _facts(first, pid, networks[pid], maps=pid in with_maps, limits=bool(hcas.hcas)) for pid in pids}
    # Why it is not RDMA is asked where there is some.
    modules = {min(job.ranks): found for job in jobs if hcas.hcas and (found := _modules(first, job, facts))}
    fabrics = tuple(name for name in first.list("/dev").names if name.startswith(_NO_VERBS))
    problems = [*(problem for job in jobs for problem in job.problems), *before.problems, *_second(before, after)]
    problems += _ended(first, later, pids)
    by_root = is_root(first)
    if own and (hidden := [pid for pid in pids if networks[pid] is None]):
        what = f"sockets, limits and libraries of process {first_few(map(str, hidden), 1)}"
        who = "they have more rights than root has here" if by_root else "only their user and root may look"
        problems.append(Problem("not-permitted", f"{what}: {who}", None, f"{PROC}/PID"))
    return JobWatch(
        host, jobs, seconds, before, after, owners, contexts, addresses, hcas, _lacks_hca(first, hcas), fabrics, own,
        facts, tuple(problems), {min(job.ranks): _parameters(first, job, facts) for job in jobs},
        by_root, modules,
    )  # fmt: skip


def _parameters(source: Source, job: Ranks, facts: Mapping[int, RankFacts]) -> tuple[Parameter, ...]:
    """Of the job's first process whose libraries were seen: a shell has none."""
    seen = _with_libraries(job, facts)
    return openmpi_parameters(source, *seen, job.environment) if seen else ()


def _modules(source: Source, job: Ranks, facts: Mapping[int, RankFacts]) -> Modules | None:
    seen = _with_libraries(job, facts)
    return openmpi_modules(source, *seen, job.environment) if seen else None


def _with_libraries(job: Ranks, facts: Mapping[int, RankFacts]) -> tuple[int, tuple[str, ...]] | None:
    return next(((pid, libraries) for pid in sorted(job.ranks) if (libraries := facts[pid].libraries)), None)


def window_for(processes: int) -> float:
    """How long to watch so many (seconds): one costs 1 ms of CPU for both samples (benchmarks/watch_job.py)."""
    return max(4.0, round(processes * 0.12, 1))


def _lacks_hca(source: Source, hcas: HostHcas) -> bool | None:
    if hcas.hcas:
        return False
    return not rdma_adapters(source) if any(problem.kind == NO_DEVICE for problem in hcas.problems) else None


def _second(before: Sample, after: Sample) -> Iterator[Problem]:
    """Problems of the second sample that the first one has not had."""
    told = {(problem.kind, problem.text) for problem in before.problems}
    return (problem for problem in after.problems if (problem.kind, problem.text) not in told)


def _ended(first: Source, later: Source, pids: Sequence[int]) -> Iterator[Problem]:
    """Ranks that were there when the window began, and not at its end; those that /proc hides are in neither."""
    listing = later.list(PROC)
    lost = {*first.list(PROC).names}.difference(listing.names) if listing.entries is not None else set()
    gone = [pid for pid in pids if f"{pid}" in lost]
    if gone:
        text = f"process {first_few(map(str, gone), 1)} ended in the window: what these moved until then was not seen"
        yield Problem("ended", text, None, f"{PROC}/{gone[0]}")


def _with_maps(before: Sample, after: Sample, owners: Mapping[int, int], ranks: Mapping[int, int | None]) -> set[int]:
    """The processes of a job whose memory maps are worth the kernel's work."""
    if len(ranks) <= _MAX_MAPS and _may_share_memory(before, after, owners, ranks):
        return set(ranks)
    return {*_leaders(before, owners, ranks), *_busiest(before, after, ranks)}


def _may_share_memory(
    before: Sample, after: Sample, owners: Mapping[int, int], ranks: Mapping[int, int | None]
) -> bool:
    """Whether segments of memory are of any interest: where queue pairs move or ranks have sockets to each other, which
    is quick to see, they prove nothing, and hundreds of memory maps are work for the kernel.
    """
    old = {(one.device, one.qpn): one for one in before.queue_pairs or ()}
    for one in after.queue_pairs or ():
        was = old.get((one.device, one.qpn))
        if was and was.sq_psn != one.sq_psn and one.pid and owners.get(one.pid, one.pid) in ranks:
            return False
    ends = {(one.local, one.peer) for one in before.sockets or () if any(pid in ranks for pid in one.pids)}
    return not any((peer, local) in ends for local, peer in ends)


def _leaders(before: Sample, owners: Mapping[int, int], ranks: Mapping[int, int | None]) -> set[int]:
    """A job's first process, and the first one of the same rank that has a socket or a queue pair: often the first is a
    shell, which has none of the job's libraries.
    """
    first = min(ranks)
    talking = {pid for one in before.sockets or () for pid in one.pids}
    talking |= {owners.get(one.pid, one.pid) for one in before.queue_pairs or () if one.pid}
    return {first, *[pid for pid in sorted(ranks) if ranks[pid] == ranks[first] and pid in talking][:1]}


def _busiest(before: Sample, after: Sample, ranks: Mapping[int, int | None]) -> set[int]:
    """All processes of the two ranks of this host that moved most by TCP between them, now or before: their memory maps
    tell whether that is the job's data path, or the application's beside shared memory.
    """
    earlier = {(one.local, one.peer): one for one in before.sockets or ()}
    best = 0, 0
    busiest: set[int | None] = set()
    for one in after.sockets or ():
        old, far = earlier.get((one.local, one.peer)), earlier.get((one.peer, one.local))
        moved = (one.acked_bytes or 0) - (old.acked_bytes or 0 if old else 0)
        weight = moved, one.acked_bytes or 0
        if old is not None and far is not None and weight > best:
            ends = {ranks[pid] for end in (old, far) for pid in [pid for pid in end.pids if pid in ranks][:1]}
            if len(ends) == 2:
                best, busiest = weight, ends
    return {pid for pid, rank in ranks.items() if rank in busiest}


def _sample(
    source: Source, has_device: bool, ports: Sequence[str], holders: Mapping[int, tuple[int, ...]] | None = None
) -> Sample:
    problems: list[Problem] = []
    return Sample(
        _queue_pairs(source, problems) if has_device else (),
        _sockets(source, holders or {}, problems),
        {port: counted for port in ports if (counted := _packets(source, port))},
        _traffic(source, "self"),
        problems=tuple(problems),
    )


def _queue_pairs(source: Source, problems: list[Problem]) -> tuple[SeenQueuePair, ...] | None:
    rows = _rows(source, rdma.QP, problems)
    if rows is None:
        return None
    found = []
    count = 0
    for row in rows:
        pid, number = row.number("pid") or None, row.number("lqpn")
        count += pid is not None
        if number is not None:
            found.append(
                SeenQueuePair(
                    count, row.device, row.port, number, row.number("rqpn"), row.text("type"), row.text("state"),
                    row.number("rq-psn"), row.number("sq-psn"), pid, row.text("comm"),
                )
            )  # fmt: skip
    return tuple(found)


def _rows(source: Source, kind: str, problems: list[Problem] | None) -> list[RdmaRow] | None:
    answer = source.run(command_of(kind), deadline_seconds=DEADLINE_SECONDS)
    if answer.failure or answer.exit_status not in (0, None):
        if problems is not None:
            problems.append(_failed(answer, "queue pairs cannot be listed"))
        return None
    try:
        return [row for row in rdma.parse(answer.out, source=answer.command).value if row.kind == kind]
    except NotThisFormat:
        return None if answer.stdout.strip() else []


def _contexts(source: Source, pids: Iterable[int]) -> Mapping[str, frozenset[int]] | None:
    """Who has each device open, by the kernel's list; where it has none (before 5.14), by the ranks' open files."""
    rows = _rows(source, rdma.CTX, None)
    found: dict[str, set[int]] = {}
    if rows:
        for row in rows:
            found.setdefault(row.device, set()).add(row.number("pid") or 0)
        return {device: frozenset(owners) for device, owners in found.items()}
    devices = {
        entry.name: (source.read(f"/sys/class/infiniband_verbs/{entry.name}/ibdev").text or "").strip()
        for entry in source.list("/sys/class/infiniband_verbs").entries or ()
        if entry.name.startswith("uverbs")
    }
    for pid in pids:
        listing = source.list(f"{PROC}/{pid}/fd")
        if listing.entries is None:
            return None
        for entry in listing.entries:
            node = (entry.target or "").rpartition("/")[2]
            if node.startswith("uverbs"):
                found.setdefault(devices.get(node) or node, set()).add(pid)
    return {device: frozenset(owners) for device, owners in found.items()}


def _joined(
    contexts: Mapping[str, frozenset[int]] | None, more: Mapping[str, frozenset[int]] | None
) -> Mapping[str, frozenset[int]] | None:
    """Who had each device open at the begin or at the end of the window."""
    if contexts is None or more is None:
        return contexts
    nobody: frozenset[int] = frozenset()
    return {device: contexts.get(device, nobody) | more.get(device, nobody) for device in {**contexts, **more}}


def _holders(source: Source, pids: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Which of the processes have a socket open, by its inode."""
    found: dict[int, tuple[int, ...]] = {}
    for pid in pids:
        mine = (pid,)
        for entry in source.list(f"{PROC}/{pid}/task/{pid}/fd").entries or ():
            if socket := _SOCKET.match(entry.target or ""):
                inode = int(socket[1])
                others = found.get(inode, ())
                found[inode] = others if pid in others else others + mine if others else mine
    return found


def _sockets(
    source: Source, holders: Mapping[int, tuple[int, ...]], problems: list[Problem]
) -> tuple[ss_tcp.TcpSocket, ...] | None:
    answer = source.run(SOCKETS, deadline_seconds=DEADLINE_SECONDS)
    if answer.failure or answer.exit_status not in (0, None):
        problems.append(_failed(answer, "TCP sockets cannot be listed"))
        return None
    return ss_tcp.parse(answer.out, source=answer.command, holders=holders).value


def _failed(answer: CommandAnswer, what: str) -> Problem:
    said = answer.failure or next(iter(answer.err.strip().splitlines()), f"exit status {answer.exit_status}")
    return Problem("tool-failed", f"{what}: {said[:400]}", None, answer.command)


def _packets(source: Source, port: str) -> tuple[int, int] | None:
    device, _, number = port.partition("/")
    for names in _PACKETS:
        counts = [
            count_of((source.read(f"{CLASS}/{device}/ports/{number}/{name}").text or "").strip()) for name in names
        ]
        if counts[0] is not None and counts[1] is not None:
            return counts[0], counts[1]
    return None


def _traffic(source: Source, pid: int | str) -> dict[str, Traffic]:
    """proc_pid_net(5): received bytes and packets are columns 1 and 2, sent ones 9 and 10."""
    found = {}
    for name, text in _INTERFACE.findall(source.read(f"{PROC}/{pid}/net/dev").text or ""):
        numbers = [int(word) for word in text.split() if len(word) < 21]
        if len(numbers) >= 10:
            found[name] = Traffic(numbers[0], numbers[1], numbers[8], numbers[9])
    return found


def _connections(source: Source, pid: int) -> tuple[proc_net_tcp.Connection, ...]:
    texts = (source.read(f"{PROC}/{pid}/net/{name}").text or "" for name in ("tcp", "tcp6"))
    return tuple(one for text in texts for one in proc_net_tcp.parse(text))


def _interfaces(source: Source) -> Interfaces:
    answer = source.run(ADDRESSES, deadline_seconds=DEADLINE_SECONDS)
    try:
        found = parse_addresses(answer.out).value
    except NotThisFormat:
        return Interfaces({}, frozenset())
    by_address = {address.split("/")[0]: one.name for one in found for address in one.addresses}
    return Interfaces(by_address, frozenset(one.name for one in found if one.link_type == "infiniband"))


def _threads(source: Source, pid: int) -> Iterator[int]:
    yield pid
    yield from (int(name) for name in source.list(f"{PROC}/{pid}/task").names if name.isdigit() and len(name) < 11)


def _networks(source: Source, pids: Sequence[int], seen: Sample) -> tuple[int | None, dict[int, int | None]]:
    """The network namespace of the reader, and of each process: who has a socket that is seen here is in the same."""
    own = _network(source, "self")
    here = {pid for one in seen.sockets or () for pid in one.pids}
    return own, {pid: own if pid in here else _network(source, pid) for pid in pids}


def _network(source: Source, pid: int | str) -> int | None:
    for entry in source.list(f"{PROC}/{pid}/ns").entries or ():
        if found := _NETWORK.match(entry.target or ""):
            return int(found[1])
    return None


def _facts(source: Source, pid: int, network: int | None, *, maps: bool, limits: bool) -> RankFacts:
    """Its limits are of interest where there is an HCA."""
    facts = RankFacts(network)
    if maps and (text := source.read(f"{PROC}/{pid}/maps").text) is not None:
        segments = (_SEGMENT.match(line) for line in text.split("\n"))
        facts = facts._replace(
            libraries=mapped_libraries(text),
            segments=tuple(Segment(found[1], found[2]) for found in segments if found),
        )
    if not limits:
        return facts
    limit = _MEMLOCK.search(source.read(f"{PROC}/{pid}/limits").text or "")
    rights = _CAPABILITIES.search(source.read(f"{PROC}/{pid}/status").text or "")
    nodes = source.list(f"{PROC}/{pid}/root/dev/infiniband")
    return facts._replace(
        memlock=None if not limit else limit[1] if limit[1] == "unlimited" else int(limit[1]),
        may_lock=bool(int(rights[1], 16) >> _IPC_LOCK & 1) if rights else None,
        nodes=nodes.names if nodes.entries is not None else () if nodes.error == "ENOENT" else None,
    )
