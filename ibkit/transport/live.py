"""What the ranks of a running job use, from two samples of their host.

Proof is what moves in the window: packet numbers of a rank's connected queue pair are RDMA; bytes of a TCP socket whose
both ends are ranks are TCP. An open device, a mapped library, a queue pair that stands still and a socket to a launcher
prove nothing. Shared memory leaves no counter: it is what is left where ranks of one host have no other way.
"""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.collectors.absence import NO_DEVICE
from ibkit.collectors.ranks import SOCKETS, Ranks, Sample
from ibkit.model.consumers import PROCESS, Consumers, QueuePair
from ibkit.model.mpi import JobVerdict, Layer, Pair
from ibkit.parsers.job_facts import Said, Setting
from ibkit.parsers.ss_tcp import TcpSocket
from ibkit.sources.site import Host
from ibkit.transport import words
from ibkit.transport.evidence import Book, Mark
from ibkit.transport.hosts import read_hosts
from ibkit.transport.links import Links
from ibkit.transport.mpi_settings import leaves_no_shared_memory, leaves_tcp_to_openmpi, leaves_tcp_to_ucx
from ibkit.transport.reasons import reasons

#: What barriers, heart beats and stores of a runtime send in a window stays below this (bytes).
CONTROL_BYTES = 1 << 16
#: A queue pair that sets up others, or keeps them alive, sends fewer packets.
CONTROL_PACKETS = 16

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - it is only listed
_NO_VERBS = ("hfi1", "cxi")
_CONNECTED = ("RC", "UC", "XRC_INI", "XRC_TGT")
_PSN_MASK = (1 << 24) - 1
_QUEUE_PAIRS = "rdma -j -d resource show qp"
_SOCKET_COMMAND = " ".join(SOCKETS)
_LAYERS = (("libnccl", "nccl"), ("librccl", "nccl"))
_MPI = ("libmpi", "libmpich", "libopen-pal")


def judge_samples(target: str, host: Host, ranks: Ranks, before: Sample | None, after: Sample) -> JobVerdict:
    """The answer. Without an earlier sample nothing moves, and nothing is proven."""
    return _Judge(target, host, ranks, before, after).answer()


class _Judge:
    def __init__(self, target: str, host: Host, ranks: Ranks, before: Sample | None, after: Sample) -> None:
        self._target = target
        self._host = host.name
        self._ranks = ranks
        self._before = before
        self._after = after
        self._source = host.source
        self._ends = {(one.local, one.peer): one for one in after.sockets or ()}
        self._book = Book()
        self._links = Links()
        read_hosts((host,), self._links)
        self._problems = [*ranks.problems, *after.problems, *after.consumers.problems]

    def answer(self) -> JobVerdict:
        rdma = list(self._rdma())
        tcp = list(self._tcp())
        moving = [*rdma, *tcp]
        on_host = {rank for rank in self._ranks.ranks.values() if rank is not None}
        is_whole = self._ranks.size is not None and len(on_host) == self._ranks.size
        step = None
        if rdma or (tcp and is_whole):
            verdict = words.combine(word for word, _ in moving)
        elif is_whole and len(on_host) > 1 and self._has_no_network():
            verdict = "shm"
        else:
            verdict, step = "unknown", self._step()
        status, why = self._status(verdict)
        pairs: tuple[Pair, ...] = ()
        on_host_word = words.combine(word for word, _ in tcp) if verdict == "unknown" and tcp else verdict
        if (is_whole or verdict == "unknown") and on_host_word not in ("unknown", "mixed"):
            ids = tuple(dict.fromkeys(id for _, id in moving))
            pairs = (Pair(self._host, self._host, on_host_word, (), ids),)
        layer = Layer(
            self._layer(), verdict, status, hosts=(self._host,), ranks=self._ranks.size, pairs=pairs,
            reasons=reasons(why, self._book), next_step=step,
        )  # fmt: skip
        return JobVerdict(self._target, verdict, status, (layer,), self._book.evidence, step, tuple(self._problems))

    # -- what moves

    def _rdma(self) -> Iterator[tuple[str, int]]:
        """Transport and evidence of each queue pair of a rank that has moved."""
        earlier = _queue_pairs(self._before.consumers) if self._before else {}
        for row, (key, (one, pid)) in enumerate(_queue_pairs(self._after.consumers).items(), 1):
            if pid not in self._ranks.ranks or one.state != "RTS" or key not in earlier:
                continue
            old = earlier[key][0]
            sent, received = _moved(old.sq_psn, one.sq_psn), _moved(old.rq_psn, one.rq_psn)
            if max(sent or 0, received or 0) <= CONTROL_PACKETS:
                continue
            word = self._links.word(self._host, f"{one.device}:{one.port or 1}") or "rdma"
            peer = f" peer qpn {one.remote_qpn}" if one.type in _CONNECTED else ""
            text = f"{one.device}/{one.port} qpn {one.qpn}{peer} {one.type} RTS pid {pid}"
            text += f": {_known(sent)} packets sent, {_known(received)} received"
            yield word, self._cite(_QUEUE_PAIRS, row, text, pid, word)

    def _tcp(self) -> Iterator[tuple[str, int]]:
        """Transport and evidence of each TCP socket between ranks that has moved data."""
        for one, moved, pid in self._moving_sockets():
            if not self._is_between_ranks(one):
                continue
            word = "ipoib" if _address(one.local) in self._after.ipoib else "tcp"
            text = f"{one.local} {one.peer} pid {pid}: {moved} bytes in the window"
            yield word, self._cite(_SOCKET_COMMAND, one.line, text, pid, word)

    def _moving_sockets(self) -> Iterator[tuple[TcpSocket, int, int]]:
        earlier = {(one.local, one.peer): one for one in (self._before.sockets or () if self._before else ())}
        for one in self._after.sockets or ():
            pid = next((pid for pid in one.pids if pid in self._ranks.ranks), None)
            old = earlier.get((one.local, one.peer))
            if pid is None or old is None or one.state != "ESTAB" or None in (one.acked_bytes, old.acked_bytes):
                continue
            moved = (one.acked_bytes or 0) - (old.acked_bytes or 0)
            moved += (one.received_bytes or 0) - (old.received_bytes or 0)
            if moved > CONTROL_BYTES:
                yield one, moved, pid

    def _is_between_ranks(self, one: TcpSocket) -> bool:
        """Whether the other end is a rank of this host. Where it is on another host, nobody here knows whose it is."""
        other = self._ends.get((one.peer, one.local))
        mine = {pid for pid in one.pids if pid in self._ranks.ranks}
        return other is not None and any(pid in self._ranks.ranks and pid not in mine for pid in other.pids)

    def _has_no_network(self) -> bool:
        """Whether ranks of one host have neither queue pairs nor sockets to each other, all of which could be seen, and
        each has its segment of Open MPI 4's module for shared memory, which is not there where that is excluded.
        """
        after = self._after
        if not after.consumers.listed and not any(problem.kind == NO_DEVICE for problem in after.consumers.problems):
            return False
        if any(name.startswith(_NO_VERBS) for name in self._source.list("/dev").names):
            return False  # Omni-Path and Slingshot: nothing shows what went through them
        if not self._has_segments() or any(_excludes_shared_memory(setting) for setting, _ in self._settings()):
            return False
        if after.sockets is None or any(problem.kind == "not-permitted" for problem in self._problems):
            return False
        owned = {pid for one in after.sockets for pid in one.pids}
        if not owned & self._ranks.ranks.keys():
            return False  # their sockets may lie in a network namespace of their own, which ss does not show
        if any(pid in self._ranks.ranks for _, pid in _queue_pairs(after.consumers).values()):
            return False
        return not any(
            self._is_between_ranks(one) for one in after.sockets if any(pid in self._ranks.ranks for pid in one.pids)
        )

    def _has_segments(self) -> bool:
        """opal/mca/btl/vader: ``vader_segment.HOST.UID.JOB.RANK`` with the number of the job in hexadecimal."""
        space = self._ranks.environment.get("PMIX_NAMESPACE", "")
        if not (space.isascii() and space.isdigit() and len(space) < 11):
            return False
        ends = {".".join(name.rsplit(".", 2)[-2:]) for name in self._segments()}
        return all(f"{int(space):x}.{rank}" in ends for rank in self._ranks.ranks.values())

    def _segments(self) -> Iterator[str]:
        return (name for name in self._source.list(_SHARED_MEMORY).names if name.startswith("vader_segment."))

    # -- words about it

    def _step(self) -> str:
        have = any(pid in self._ranks.ranks for _, pid in _queue_pairs(self._after.consumers).values())
        if self._before is None:
            return "one sample shows nothing that moves: look at the running job itself"
        if have:
            return (
                "the ranks have queue pairs, and none moved in the window: look again while they communicate, with a "
                "longer --window; where the driver shows no packet numbers (sq-psn), give the job's log"
            )
        remote = next((one for one, _, _ in self._moving_sockets() if not self._is_between_ranks(one)), None)
        if remote is not None:
            return (
                f"a rank moves data by TCP with {remote.peer}, and from here it cannot be seen whether that is a rank: "
                "give the job's log, or launch it with ibkit check-mpi-transport -- mpirun ..."
            )
        return (
            "nothing moved in the window that can be seen and proves it: look again as root while the ranks "
            "communicate, with a longer --window, on each of the job's hosts, or give the job's log"
        )

    def _status(self, verdict: str) -> tuple[str, dict[str, list[tuple[Mark, str]]]]:
        if verdict == "unknown":
            return "undecided", {}
        if verdict == "mixed":
            return "mixed", {}
        if verdict not in ("tcp", "ipoib"):
            return "as-expected", {}
        asked = [
            mark
            for setting, mark in self._settings()
            if (setting.runtime == "ucx" and leaves_tcp_to_ucx(setting))
            or (setting.runtime == "ompi" and leaves_tcp_to_openmpi(setting, None, has_module=False))
        ]
        if asked:
            return "by-configuration", {"wrongtls": [(mark, "configuration") for mark in asked]}
        return "fallback", {}

    def _settings(self) -> Iterator[tuple[Setting, Mark]]:
        pid = min(self._ranks.ranks)
        for number, (name, value) in enumerate(self._ranks.environment.items(), 1):
            text = f"{name}={value}"[:400]
            mark = Mark(0, number, f"/proc/{pid}/environ", text, self._host, self._ranks.ranks[pid])
            said = Said(number, text, self._host, pid, self._ranks.ranks[pid])
            if name.startswith("UCX_"):
                yield Setting(said, "ucx", name, value), mark
            elif name.startswith("OMPI_MCA_"):
                yield Setting(said, "ompi", name.removeprefix("OMPI_MCA_"), value), mark

    def _layer(self) -> str:
        libraries = [
            name.rpartition("/")[2]
            for owner in self._after.consumers.owners
            if owner.pid in self._ranks.ranks
            for name in owner.libraries or ()
        ]
        if any(name.startswith(_MPI) for name in libraries):
            return "mpi"
        return next((layer for library, layer in _LAYERS if any(name.startswith(library) for name in libraries)), "mpi")

    def _cite(self, file: str, line: int, text: str, pid: int, word: str) -> int:
        return self._book.cite(Mark(0, line, file, text, self._host, self._ranks.ranks.get(pid)), "process", word)


def _queue_pairs(consumers: Consumers) -> dict[tuple[str, int, int | None], tuple[QueuePair, int]]:
    """Queue pairs of processes with their owner's pid, by device, number and peer."""
    return {
        (one.device, one.qpn, one.remote_qpn): (one, owner.pid)
        for one in consumers.queue_pairs
        if (owner := consumers.owners[one.owner]).kind == PROCESS and owner.pid is not None
    }


def _moved(before: int | None, after: int | None) -> int | None:
    """Packets between two packet numbers, which have 24 bits; None where the driver shows none."""
    return None if before is None or after is None else (after - before) & _PSN_MASK


def _address(text: str) -> str:
    """``10.0.0.1:22``, ``[::ffff:10.0.0.1]:22``, ``[fe80::1%ib0]:22`` without its port, brackets and zone."""
    address = text.rpartition(":")[0].strip("[]").partition("%")[0]
    return address.removeprefix("::ffff:") if "." in address else address


def _known(packets: int | None) -> str:
    return "?" if packets is None else str(packets)


def _excludes_shared_memory(setting: Setting) -> bool:
    return leaves_no_shared_memory(setting) or setting.name == "UCX_TLS"
