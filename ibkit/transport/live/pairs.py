"""Which ranks of a job talk to each other: both ends of a queue pair or socket, on whatever hosts they are.

The kernel tells a queue pair's number and its peer's, not the peer's host, and numbers are alike on all hosts (see
ibkit.collectors.pairing). Two queue pairs are joined where each names the other, and nobody else in the whole job fits;
packet numbers, where they are shown, have to fit as well, and where they began at random they may decide alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ibkit.model.job_watch import SeenQueuePair
from ibkit.parsers.ss_tcp import TcpSocket
from ibkit.transport.live.moves import CONNECTED, Part, RdmaMove, TcpMove, bare, endpoint, is_loopback

_PSN_BITS = 24
#: Two hosts' samples are not taken at the same moment (seconds).
_SKEW_SECONDS = 5.0
_CLOSE = 1 << 12
#: Where a link moves so many packets in that time, packet numbers tell nothing.
_TOO_FAST = 1 << 21
#: Numbers that begin at 0 look alike on every host; most libraries start at a random one.
_RANDOM_FROM = 1 << 16
#: So many hosts with the same two numbers are not told apart: each would be compared with each.
_MAX_ALIKE = 256


class Queue(NamedTuple):
    """A rank's connected queue pair in both samples."""

    part: Part
    pid: int
    before: SeenQueuePair
    after: SeenQueuePair


class SocketPair(NamedTuple):
    """A socket of a rank and, on the same or another host, the one at its other end, which is a rank's, too."""

    part: Part
    move: TcpMove
    other_part: Part
    other_pid: int


def join_queue_pairs(parts: Sequence[Part], *, is_whole: bool) -> Iterator[tuple[Queue, Queue]]:
    """Pairs of which at least one has moved. ``is_whole``: all ranks of the job are seen, so all peers are, too."""
    queues = [
        Queue(part, pid, old, one)
        for part in parts
        for one, old, pid in part.queue_pairs()
        if old is not None and one.state == "RTS" and one.type in CONNECTED and one.remote_qpn is not None
    ]
    by_numbers: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, queue in enumerate(queues):
        by_numbers[queue.after.qpn, queue.after.remote_qpn or 0].append(index)

    def match(index: int) -> int | None:
        mine = queues[index]
        numbers = mine.after.remote_qpn or 0, mine.after.qpn
        if len(by_numbers[numbers]) > _MAX_ALIKE:
            return None
        fitting = [other for other in by_numbers[numbers] if other != index and _fits(mine, queues[other])]
        sharp = [other for other in fitting if _is_sharp(mine, queues[other])]
        if len(fitting) == 1 and is_whole:
            return fitting[0]
        return sharp[0] if len(sharp) == 1 else None

    moved = {(part.host, move.after.device, move.after.qpn) for part in parts for move in part.rdma}
    for index, queue in enumerate(queues):
        other = match(index)
        if other is None or other < index or match(other) != index:
            continue
        peer = queues[other]
        if any((one.part.host, one.after.device, one.after.qpn) in moved for one in (queue, peer)):
            yield queue, peer


def join_sockets(parts: Sequence[Part], *, earlier: bool = False) -> Iterator[SocketPair]:
    """The sockets that moved, in the window or only before it, and whose other end is seen, and is another rank's."""
    hosts_of_address = Counter(address for part in parts for address in {*part.watch.interfaces.by_address})
    ends: dict[tuple[str, str], list[tuple[Part, TcpSocket]]] = defaultdict(list)
    for part in parts:
        later = {(one.local, one.peer) for one in part.watch.after.sockets or ()}
        for socket in part.watch.before.sockets or ():
            if any(pid in part.ranks.ranks for pid in socket.pids) and (socket.local, socket.peer) in later:
                ends[endpoint(socket.local), endpoint(socket.peer)].append((part, socket))
    for part in parts:
        for move in part.earlier_tcp if earlier else part.tcp:
            local, peer = endpoint(move.socket.local), endpoint(move.socket.peer)
            is_local = is_loopback(peer) or is_loopback(local)
            addresses = bare(local.rpartition(":")[0]), bare(peer.rpartition(":")[0])
            is_ambiguous = any(hosts_of_address[address] > 1 for address in addresses)
            found = [
                (other, pid)
                for other, socket in ends.get((peer, local), ())
                if other is part or not (is_local or is_ambiguous)
                for pid in [pid for pid in socket.pids if pid in other.ranks.ranks][:1]
                if is_another(part, move.pid, other, pid)
            ]
            if len(found) == 1:
                yield SocketPair(part, move, *found[0])


def is_another(part: Part, pid: int, other: Part, other_pid: int) -> bool:
    """Whether two processes are of different ranks: a rank's own children have its number, too."""
    mine, theirs = part.ranks.ranks.get(pid), other.ranks.ranks.get(other_pid)
    if mine is not None and theirs is not None:
        return mine != theirs
    return part is not other or pid != other_pid


def moves_of(queue: Queue) -> RdmaMove | None:
    """What this queue pair moved."""
    return queue.part.move_of(queue.after)


def _fits(a: Queue, b: Queue) -> bool:
    if a.after.type != b.after.type and {a.after.type, b.after.type} != {"XRC_INI", "XRC_TGT"}:
        return False
    if a.part is b.part and a.pid == b.pid:
        return False
    allowed = _allowed(a, b)
    return allowed is None or all(_distance(*numbers) <= allowed for numbers in _directions(a, b))


def _is_sharp(a: Queue, b: Queue) -> bool:
    """Whether packet numbers alone prove it: they fit in both samples, and are no small ones."""
    numbers = list(_directions(a, b))
    return _allowed(a, b) is not None and len(numbers) == 4 and all(min(pair) >= _RANDOM_FROM for pair in numbers)


def _allowed(a: Queue, b: Queue) -> int | None:
    """How far apart the numbers of one direction may be; None where that tells nothing."""
    moved = max((move.packets for one in (a, b) if (move := moves_of(one))), default=0)
    seconds = min(a.part.seconds, b.part.seconds)
    if not seconds:
        return None
    skew = 0.0 if a.part is b.part else _SKEW_SECONDS
    allowed = _CLOSE + int(moved / seconds * skew)
    return allowed if allowed < _TOO_FAST else None


def _directions(a: Queue, b: Queue) -> Iterator[tuple[int, int]]:
    """What one end has sent and the other expects, both ways, in both samples, as far as it is shown."""
    for mine, theirs in ((a.before, b.before), (a.after, b.after)):
        for sent, expected in ((mine.sq_psn, theirs.rq_psn), (theirs.sq_psn, mine.rq_psn)):
            if sent is not None and expected is not None:
                yield sent, expected


def _distance(a: int, b: int) -> int:
    apart = (a - b) % (1 << _PSN_BITS)
    return min(apart, (1 << _PSN_BITS) - apart)
