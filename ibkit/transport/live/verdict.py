"""What the ranks of running jobs use, from two samples of each of their hosts.

Proof is what moves in the window: packet numbers of a rank's connected queue pair, or packets of a port that nobody but
the ranks uses, are RDMA; bytes of a TCP socket whose both ends are ranks are TCP. An open device, a mapped library, a
queue pair that stands still and a socket to a launcher prove nothing. Shared memory leaves no counter: it is what is
left where ranks of one host have no other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ibkit.collectors.job_processes import TORCH, is_shared
from ibkit.collectors.job_samples import SOCKETS, JobWatch
from ibkit.model.mpi import JobVerdict, Layer, Pair
from ibkit.model.node_set import natural
from ibkit.parsers.base import Problem
from ibkit.transport import words
from ibkit.transport.answer import combine
from ibkit.transport.evidence import Book, Mark
from ibkit.transport.fixes import fitted, places_of
from ibkit.transport.links import Links
from ibkit.transport.live.moves import CONNECTED, Part, RdmaMove, TcpMove, bare, grown_bytes, is_loopback
from ibkit.transport.live.pairs import Queue, SocketPair, join_queue_pairs, join_sockets, moves_of
from ibkit.transport.live.reasons import Marks, asked_for_tcp, reasons_of, settings_of
from ibkit.transport.live.shared_memory import have_no_common_memory, uses_shared_memory
from ibkit.transport.reasons import reasons

#: Beside RDMA, TCP of fewer bytes for each of its packets is control.
_CONTROL_BYTES_PER_PACKET = 64
#: Where RDMA is open and idle, TCP has to move so much to be the job's data path (bytes).
_SURELY_DATA = 10 << 20
_OTHER_SOCKETS = (
    "ranks of one host move data by TCP, and share memory, or their memory maps were not seen: which of the two their "
    "library uses is not proven, the sockets may be the application's own. Give the job's log"
)
_QUEUE_PAIRS = "rdma -j -d resource show qp"
_SOCKET_COMMAND = " ".join(SOCKETS)
_MPI = ("libmpi", "libmpich", "libopen-pal")
_NCCL = ("libnccl.", "librccl.")
#: A library that only one runtime has; libmpi.so.12 is that of MPICH and its children.
_RUNTIMES = (("libopen-pal", "Open MPI"), ("libmpich.", "MPICH"), ("libnccl.", "NCCL"), ("librccl.", "RCCL"))
#: PyTorch's own, which Gloo is a part of. Ranks that torch's variables tell have no MPI, though Debian's links one.
_GLOO = ("libgloo", "libtorch_cpu")
#: A meeting point that each host has for itself: these are jobs of their own.
_OF_ONE_HOST = tuple(f"{TORCH}{address}:" for address in ("localhost", "127.0.0.1", "::1", "[::1]"))
#: What a batch system gives to its jobs; captures keep these names.
_BATCH_JOB = frozenset(("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"))


class _Moved(NamedTuple):
    """One thing that moved: the ranks (None: not known) on two hosts, or on one where the other end is not known."""

    word: str
    evidence: int
    host: str
    rank: int | None
    other_host: str | None = None
    other_rank: int | None = None


def judge_watches(target: str, watches: Sequence[JobWatch]) -> JobVerdict:
    """The answer about all jobs that were watched, each of which may be on several of the hosts."""
    links = Links()
    for watch in watches:
        links.add_ports(watch.hcas)
    book = Book()
    jobs = [_Job(number, parts, links, book) for number, parts in enumerate(_jobs(watches), 1)]
    layers = [job.layer() for job in jobs]
    problems = [problem for watch in watches for problem in _problems(watch, several=len(watches) > 1)]
    answer = combine(target, layers, book, [*problems, *(problem for job in jobs for problem in job.problems)])
    variables = {name for watch in watches for ranks in watch.jobs for name in ranks.environment}
    return fitted(answer, places_of(variables & _BATCH_JOB))


def _problems(watch: JobWatch, *, several: bool) -> Iterator[Problem]:
    for problem in watch.problems:
        yield problem._replace(source=f"{watch.host}: {problem.source or ''}") if several else problem


def _jobs(watches: Sequence[JobWatch]) -> list[list[Part]]:
    """The parts of each job: by what all its ranks share, else by ranks that make each other whole."""
    found: list[list[Part]] = []
    for watch in watches:
        for ranks in watch.jobs:
            part = Part(watch, ranks, is_alone=len(watches) == 1)
            same = next((parts for parts in found if _is_same(parts, part)), None)
            if same is None:
                found.append([part])
            else:
                same.append(part)
    return found


def _is_same(parts: Sequence[Part], part: Part) -> bool:
    mine, theirs = part.ranks, parts[0].ranks
    if any(one.host == part.host for one in parts) or mine.key.startswith(_OF_ONE_HOST):
        return False
    if is_shared(mine.key) or is_shared(theirs.key):
        return mine.key == theirs.key
    taken = {rank for one in parts for rank in one.ranks.ranks.values()}
    return mine.size is not None and mine.size == theirs.size and not taken & {*mine.ranks.values(), None}


class _Job:
    """One job on the hosts that were looked at."""

    def __init__(self, number: int, parts: Sequence[Part], links: Links, book: Book) -> None:
        self.problems: list[Problem] = []
        self._number = number
        self._parts = parts
        self._links = links
        self._book = book
        self._libraries = tuple(_libraries(parts))
        self._has_nccl = any(name.startswith(_NCCL) for name in self._libraries)
        self._name = self._layer_name()
        sizes = {part.ranks.size for part in parts}
        self._size = sizes.pop() if len(sizes) == 1 else None
        self._is_whole = self._sees_all()

    def layer(self) -> Layer:
        """The verdict."""
        queues = list(join_queue_pairs(self._parts, is_whole=self._is_whole))
        rdma = [*self._rdma(queues), *self._ports()]
        packets = {
            part.host: sum([*(move.packets for move in part.rdma), *(move.packets for move in part.ports)])
            for part in self._parts
        }
        between = list(join_sockets(self._parts))
        apart = {
            part.host: have_no_common_memory(part) for part in {id(one.part): one.part for one in between}.values()
        }
        sockets = [
            one
            for one in between
            if one.move.moved > _CONTROL_BYTES_PER_PACKET * packets[one.part.host]
            and (one.part is not one.other_part or apart[one.part.host])
        ]
        tcp = [self._tcp(one) for one in sockets]
        verdict, step = self._verdict(rdma, tcp, sockets)
        if step and not sockets and between:
            step = _OTHER_SOCKETS
        status, why = self._status(verdict)
        pairs = self._pairs(rdma if rdma and self._has_nccl else [*rdma, *tcp], verdict)
        self.problems += [*self._contradictions(sockets), *self._silent_ports(queues)]
        return Layer(
            self._name, verdict, status, self._number, self._runtime(), hosts=tuple(sorted(self._hosts(), key=natural)),
            ranks=self._size, pairs=pairs, reasons=reasons(why, self._book), next_step=step,
        )  # fmt: skip

    # -- what moved

    def _rdma(self, queues: Sequence[tuple[Queue, Queue]]) -> Iterator[_Moved]:
        """The ranks' queue pairs, those with a known peer once for both ends."""
        peers: dict[int, Queue] = {}
        for a, b in queues:
            peers[id(a.after)], peers[id(b.after)] = b, a
        for part in self._parts:
            for move in part.rdma:
                word = self._word(part, move)
                evidence = self._cite(part, _QUEUE_PAIRS, move.after.row, _told(move, part.seconds), move.pid, word)
                peer = peers.get(id(move.after))
                if peer is not None:
                    other = moves_of(peer)
                    word = words.combine((word, self._word(peer.part, other or move._replace(after=peer.after))))
                    rank = peer.part.ranks.ranks.get(peer.pid)
                    yield _Moved(word, evidence, part.host, self._rank(part, move.pid), peer.part.host, rank)
                else:
                    yield _Moved(word, evidence, part.host, self._rank(part, move.pid))

    def _word(self, part: Part, move: RdmaMove) -> str:
        return self._links.word(part.host, f"{move.after.device}:{move.after.port or 1}") or "rdma"

    def _ports(self) -> Iterator[_Moved]:
        for part in self._parts:
            for move in part.ports:
                word = self._links.word(part.host, move.port.replace("/", ":")) or "rdma"
                rate = _rate(move.packets, part.seconds, "packets")
                text = f"{move.port}: {rate}, and only the job's ranks (pid {move.pid}) have queue pairs in RTS there"
                place = f"/sys/class/infiniband/{move.port.replace('/', '/ports/')}"
                yield _Moved(word, self._cite(part, place, 1, text, move.pid, word), part.host, None)

    def _tcp(self, one: SocketPair) -> _Moved:
        part, move = one.part, one.move
        interface = None if one.other_part is part else self._interface(part, move)
        word = "ipoib" if interface in part.watch.interfaces.ipoib else "tcp"
        over = f" over {self._described(part, interface)}" if interface else ""
        text = (
            f"{move.socket.local} {move.socket.peer} pid {move.pid}{over}: {_rate(move.moved, part.seconds, 'bytes')}"
        )
        evidence = self._cite(part, _SOCKET_COMMAND, move.socket.line, text, move.pid, word)
        other = self._rank(one.other_part, one.other_pid)
        return _Moved(word, evidence, part.host, self._rank(part, move.pid), one.other_part.host, other)

    def _interface(self, part: Part, move: TcpMove) -> str | None:
        """The interface that has the socket's address, unless its counters show that the data went another way."""
        name = part.watch.interfaces.by_address.get(bare(move.socket.local.rpartition(":")[0]))
        traffic = part.traffic(name) if name else None
        return None if traffic is not None and traffic < move.moved // 2 else name

    def _described(self, part: Part, interface: str) -> str:
        if interface in part.watch.interfaces.ipoib:
            return f"{interface} (IPoIB)"
        hcas = part.watch.hcas.hcas
        device = next((hca.name for hca in hcas for port in hca.ports if interface in port.netdevs), None)
        return f"{interface}, the interface of {device}" if device else interface

    # -- the verdict

    def _verdict(
        self, rdma: Sequence[_Moved], tcp: Sequence[_Moved], sockets: Sequence[SocketPair]
    ) -> tuple[str, str | None]:
        if rdma:  # NCCL has one network for all; sockets beside it are Gloo's or the application's
            return words.combine(one.word for one in (rdma if self._has_nccl else (*rdma, *tcp))), None
        if tcp and self._is_whole:
            if self._is_tcps(sockets):
                return words.combine(one.word for one in tcp), None
            return "unknown", (
                "the ranks move data to each other by TCP, and have RDMA open, which stood still: what their library "
                "uses is not proven. Look again while they communicate, with a longer --window, or give the job's log"
            )
        settings = [setting for setting, _ in settings_of(self._parts[0])]
        if self._is_whole and len(self._parts) == 1 and uses_shared_memory(self._parts[0], settings):
            self._cite_segment(self._parts[0])
            return "shm", None
        return "unknown", self._step()

    def _cite_segment(self, part: Part) -> None:
        """A segment that a rank has mapped, for people to see: the verdict stands on what is not there."""
        facts = part.watch.facts
        pid = next(pid for pid in sorted(part.ranks.ranks) if facts[pid].segments)
        for segment in (facts[pid].segments or ())[:1]:
            text = f"{segment.name} (inode {segment.place}); no RDMA device open, no TCP between ranks"
            self._cite(part, f"/proc/{pid}/maps", 1, text, pid, "shm")

    def _is_tcps(self, sockets: Sequence[SocketPair]) -> bool:
        """Whether TCP is the data path of the job's library: RDMA is not open, or it is certain to be idle."""
        if any(part.watch.other_fabrics for part in self._parts):
            return False
        if len(self._parts) > 1 and all(one.part is one.other_part for one in sockets):
            return False  # it says nothing about what is between the hosts
        if all(part.has_verbs_open is False for part in self._parts):
            return not self._has_nccl or len(self._parts) > 1  # within a host NCCL has ways that leave no trace
        moved = max(one.move.moved for one in sockets)
        is_idle = all(part.is_quiet and not part.has_connected for part in self._parts)
        return not self._has_nccl and is_idle and moved >= _SURELY_DATA

    def _status(self, verdict: str) -> tuple[str, Marks]:
        if verdict in ("unknown", "mixed"):
            return {"unknown": "undecided", "mixed": "mixed"}[verdict], {}
        if verdict not in ("tcp", "ipoib"):
            return "as-expected", {}
        asked = [mark for part in self._parts for mark in asked_for_tcp(part, self._name)]
        if asked:
            return "by-configuration", {"wrongtls": [(mark, "configuration") for mark in asked]}
        if all(part.watch.lacks_hca for part in self._parts):
            return "as-expected", {}
        return "fallback", reasons_of(self._parts)

    def _pairs(self, moved: Sequence[_Moved], verdict: str) -> tuple[Pair, ...]:
        words_of: dict[tuple[str, str], list[_Moved]] = {}
        for one in moved:
            if one.other_host is not None:
                swapped = natural(one.other_host) < natural(one.host)
                ends = (one.other_host, one.host) if swapped else (one.host, one.other_host)
                if swapped or (one.host == one.other_host and (one.other_rank or 0) < (one.rank or 0)):
                    one = one._replace(rank=one.other_rank, other_rank=one.rank)
                words_of.setdefault(ends, []).append(one)
        if not words_of and self._is_whole and len(self._parts) == 1 and verdict not in ("unknown", "mixed"):
            ids = tuple(one.evidence for one in moved)
            return (Pair(self._parts[0].host, self._parts[0].host, verdict, (), ids),)
        return tuple(
            Pair(
                *ends,
                words.combine(one.word for one in found),
                tuple(
                    sorted(
                        {(a, b) for one in found if (a := one.rank) is not None and (b := one.other_rank) is not None}
                    )
                ),
                tuple(dict.fromkeys(one.evidence for one in found)),
            )
            for ends, found in sorted(words_of.items(), key=lambda item: [natural(name) for name in item[0]])
        )

    def _contradictions(self, sockets: Sequence[SocketPair]) -> Iterator[Problem]:
        """Sockets whose interface's own counters do not know of their bytes."""
        told = set()
        for one in sockets:
            part, move = one.part, one.move
            name = part.watch.interfaces.by_address.get(bare(move.socket.local.rpartition(":")[0]))
            if one.other_part is part or name is None or (part.host, name) in told:
                continue
            if self._interface(part, move) is None:
                told.add((part.host, name))
                text = (
                    f"{part.host}: a socket of address {move.socket.local} moved {move.moved} bytes, and {name}, which "
                    f"has that address, {part.traffic(name)}: they went another way"
                )
                yield Problem("contradiction", text, None, f"/proc/{move.pid}/net/dev")

    def _silent_ports(self, queues: Sequence[tuple[Queue, Queue]]) -> Iterator[Problem]:
        """Ports whose own counters do not know of what their queue pairs sent to other hosts."""
        sent: dict[tuple[str, str], int] = {}
        parts = {part.host: part for part in self._parts}
        for pair in queues:
            for one in pair if pair[0].part is not pair[1].part else ():
                place = one.part.host, f"{one.after.device}/{one.after.port or 1}"
                move = moves_of(one)
                sent[place] = sent.get(place, 0) + (move.packets if move else 0)
        for (host, port), packets in sent.items():
            counted = parts[host].port_packets(port)
            if counted is not None and counted < packets // 4:
                text = f"{host}: queue pairs on {port} moved {packets} packets, and its port counters tell {counted}"
                yield Problem("contradiction", text, None, f"/sys/class/infiniband/{port.replace('/', '/ports/')}")

    # -- what is known of it

    def _sees_all(self) -> bool:
        """Whether each rank of the job was seen, on one host."""
        places: dict[int, set[str]] = {}
        for part in self._parts:
            for rank in part.ranks.ranks.values():
                if rank is None:
                    return False
                places.setdefault(rank, set()).add(part.host)
        twice = [rank for rank, hosts in places.items() if len(hosts) > 1]
        if twice:
            first = min(twice)
            text = (
                f"rank {first} is on {len(places[first])} hosts: these are several jobs, or recordings of several days"
            )
            self.problems.append(Problem("contradiction", text))
        return not twice and self._size is not None and set(places) == set(range(self._size))

    def _hosts(self) -> set[str]:
        return {part.host for part in self._parts}

    def _rank(self, part: Part, pid: int) -> int | None:
        return part.ranks.ranks.get(pid)

    def _cite(self, part: Part, file: str, line: int, text: str, pid: int, word: str) -> int:
        return self._book.cite(Mark(0, line, part.place(file), text, part.host, self._rank(part, pid)), "process", word)

    def _layer_name(self) -> str:
        if self._parts[0].ranks.key.startswith(TORCH) and not self._has_nccl:
            return "gloo" if any(name.startswith(_GLOO) for name in self._libraries) else "mpi"
        if any(name.startswith(_MPI) for name in self._libraries):
            return "mpi"
        return "nccl" if self._has_nccl else "mpi"

    def _runtime(self) -> str | None:
        """Whose library the ranks have loaded, of which torch's ranks have more than they use."""
        if self._name == "gloo":
            return None
        return next(
            (name for library, name in _RUNTIMES if any(one.startswith(library) for one in self._libraries)), None
        )

    def _step(self) -> str:
        if self._size == 1:
            return "the job has one rank, which has no other one to send to"
        if any(True for part in self._parts for _ in part.queue_pairs()):
            shown = any(
                one.sq_psn is not None
                for part in self._parts
                for one, _, _ in part.queue_pairs()
                if one.type in CONNECTED
            )
            why = (
                ""
                if shown
                else "; the driver shows no packet numbers, and others use the device, too: give the job's log"
            )
            return (
                "the ranks have queue pairs, and none moved in the window: look again while they communicate, with a "
                f"longer --window{why}"
            )
        if elsewhere := self._elsewhere():
            return elsewhere
        remote = next((move for part in self._parts for move in part.tcp), None)
        if remote is not None and not self._is_whole:
            return (
                f"a rank moves data by TCP with {remote.socket.peer}, and from here it cannot be seen whether that is "
                "a rank: look on all hosts of the job (--hosts), or give its log"
            )
        return (
            "nothing moved in the window that can be seen and proves it: look again as root while the ranks "
            "communicate, with a longer --window, on each of the job's hosts (--hosts), or give the job's log"
        )

    def _elsewhere(self) -> str | None:
        """What can be told of ranks in a container's network: how many bytes its interfaces moved, and with whom it has
        connections. These have no counters there, so whose bytes they are stays open.
        """
        for part in self._parts:
            for pid in part.ranks.ranks:
                facts = part.watch.facts.get(pid)
                network = facts.network if facts else None
                if network is None or network not in part.watch.after.elsewhere:
                    continue
                before, after = part.watch.before.elsewhere[network], part.watch.after.elsewhere[network]
                moved = {name: grown for name, now in after.items() if (grown := grown_bytes(before.get(name), now))}
                told = ", ".join(
                    f"{name} {moved[name]} bytes" for name in sorted(moved, key=lambda name: -moved[name])[:3]
                )
                connections = part.watch.after.connections.get(network, ())
                peers = sorted({one.peer for one in connections if not is_loopback(f"{one.peer}:0")}, key=natural)
                more = f" and {len(peers) - 3} more" if len(peers) > 3 else ""
                return (
                    f"process {pid} is in a network namespace of its own (a container), whose sockets' bytes are not "
                    f"shown from here; in the window moved there: {told or 'nothing'}; it has TCP connections with "
                    f"{', '.join(peers[:3]) or 'no other host'}{more}, which does not tell whose bytes these are. "
                    f"Look from inside: nsenter --net --target {pid} ibkit check-mpi-transport pid:{pid}"
                )
        return None


def _libraries(parts: Sequence[Part]) -> Iterator[str]:
    """The names of the ranks' libraries of RDMA and MPI."""
    for part in parts:
        for pid in part.ranks.ranks:
            facts = part.watch.facts.get(pid)
            yield from (library.rpartition("/")[2] for library in (facts.libraries if facts else None) or ())


def _told(move: RdmaMove, seconds: float) -> str:
    one = move.after
    peer = f" peer qpn {one.remote_qpn}" if one.type in CONNECTED else ""
    text = f"{one.device}/{one.port} qpn {one.qpn}{peer} {one.type} RTS pid {move.pid}"
    return f"{text}: {_known(move.sent)} packets sent, {_known(move.received)} received in {seconds:.3f} s"


def _rate(count: int, seconds: float, what: str) -> str:
    """``980131 bytes in 2.003 s, 489.3 k/s``."""
    if not seconds:
        return f"{count} {what}"
    rate = count / seconds
    unit, size = next(
        (unit, size) for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0)) if rate >= size or size == 1
    )
    return f"{count} {what} in {seconds:.3f} s, {rate / size:.1f} {unit}{'B' if what == 'bytes' else ''}/s"


def _known(packets: int | None) -> str:
    return "?" if packets is None else str(packets)
