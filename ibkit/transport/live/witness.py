"""What moved, as evidence: each move is cited with its numbers, and gets the word of its transport."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ibkit.collectors.job_samples import SOCKETS
from ibkit.transport import words
from ibkit.transport.evidence import Book, Mark
from ibkit.transport.links import Links
from ibkit.transport.live.moves import CONNECTED, Part, RdmaMove, interface_of
from ibkit.transport.live.pairs import Queue, SocketPair, moves_of
from ibkit.transport.live.shared_memory import common_segment

_QUEUE_PAIRS = "rdma -j -d resource show qp"
_SOCKET_COMMAND = " ".join(SOCKETS)


class Moved(NamedTuple):
    """One thing that moved: the ranks (None: not known) on two hosts, or on one where the other end is not known."""

    word: str
    evidence: int
    host: str
    rank: int | None
    other_host: str | None = None
    other_rank: int | None = None


class Witness:
    """Puts into a book what the ranks of one job were seen to do."""

    def __init__(self, parts: Sequence[Part], links: Links, book: Book) -> None:
        self._parts = parts
        self._links = links
        self._book = book

    def queue_pairs(self, queues: Sequence[tuple[Queue, Queue]]) -> Iterator[Moved]:
        """The ranks' queue pairs, those with a known peer once for both ends."""
        peers: dict[int, Queue] = {}
        for a, b in queues:
            peers[id(a.after)], peers[id(b.after)] = b, a
        for part in self._parts:
            for move in part.rdma:
                word = self._word(part, move)
                evidence = self._cite(part, _QUEUE_PAIRS, move.after.row, _told(move, part.seconds), move.pid, word)
                peer = peers.get(id(move.after))
                rank = part.ranks.ranks.get(move.pid)
                if peer is not None:
                    other = moves_of(peer)
                    word = words.combine((word, self._word(peer.part, other or move._replace(after=peer.after))))
                    far = peer.part.ranks.ranks.get(peer.pid)
                    yield Moved(word, evidence, part.host, rank, peer.part.host, far)
                else:
                    yield Moved(word, evidence, part.host, rank)

    def ports(self) -> Iterator[Moved]:
        """The ports whose packets are the ranks' own."""
        for part in self._parts:
            for move in part.ports:
                word = self._links.word(part.host, move.port.replace("/", ":")) or "rdma"
                rate = _rate(move.packets, part.seconds, "packets")
                text = f"{move.port}: {rate}, and only the job's ranks (pid {move.pid}) have queue pairs in RTS there"
                place = f"/sys/class/infiniband/{move.port.replace('/', '/ports/')}"
                yield Moved(word, self._cite(part, place, 0, text, move.pid, word), part.host, None)

    def socket(self, one: SocketPair) -> Moved:
        """A socket between two ranks."""
        part, move = one.part, one.move
        interface = None if one.other_part is part or move.is_over else interface_of(part, move)
        word = "ipoib" if interface in part.watch.interfaces.ipoib else "tcp"
        over = f" over {_described(part, interface)}" if interface else ""
        rate = _rate(move.moved, part.seconds, "bytes")
        told = f"{move.moved} bytes until the window began, next to none in it" if move.is_over else rate
        text = f"{move.socket.local} {move.socket.peer} pid {move.pid}{over}: {told}"
        evidence = self._cite(part, _SOCKET_COMMAND, move.socket.line, text, move.pid, word)
        ranks = part.ranks.ranks.get(move.pid), one.other_part.ranks.ranks.get(one.other_pid)
        return Moved(word, evidence, part.host, ranks[0], one.other_part.host, ranks[1])

    def segment(self, part: Part) -> Moved:
        """A segment that two ranks have mapped, for people to see: the verdict stands on what is not there, too."""
        pid, segment = common_segment(part)
        text = f"{segment.name} is mapped (device and inode {segment.place})"
        return Moved("shm", self._cite(part, f"/proc/{pid}/maps", 0, text, pid, "shm"), part.host, None)

    def _word(self, part: Part, move: RdmaMove) -> str:
        return self._links.word(part.host, f"{move.after.device}:{move.after.port or 1}") or "rdma"

    def _cite(self, part: Part, file: str, line: int, text: str, pid: int, word: str) -> int:
        rank = part.ranks.ranks.get(pid)
        return self._book.cite(Mark(0, line, part.place(file), text, part.host, rank), "process", word)


def _described(part: Part, interface: str) -> str:
    if interface in part.watch.interfaces.ipoib:
        return f"{interface} (IPoIB)"
    hcas = part.watch.hcas.hcas
    device = next((hca.name for hca in hcas for port in hca.ports if interface in port.netdevs), None)
    return f"{interface}, the interface of {device}" if device else interface


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
