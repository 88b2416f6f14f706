"""Which queue pairs of one host talk to each other.

The kernel tells a queue pair's number and its peer's, not the peer's host, and the numbers of two hosts are alike:
jobs allocate in the same order everywhere. So two queue pairs that name each other may still have peers elsewhere, and
a pair says what it stands on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ibkit.model.consumers import BY_ADDRESS, BY_NUMBERS, BY_PACKET_NUMBERS, Connection, Pair, QueuePair

_CONNECTED_TYPES = ("RC", "UC", "XRC_INI", "XRC_TGT")
_PSN_BITS = 24
#: Packets between the two reads of a pair at most: a dump of all queue pairs takes microseconds each.
_CLOSE = 1 << 12
#: Within the time of a dump no link carries that many packets.
_FAR = 1 << 20
#: Most libraries start at a random number of 24 bits. Those that start at 0 look alike on every host, so small numbers
#: prove nothing.
_RANDOM_FROM = 1 << 16


def pair_up(queue_pairs: Sequence[QueuePair], connections: Sequence[Connection]) -> list[Pair]:
    """All pairs, each queue pair in one at most, in the order of the first member."""
    matcher = _Matcher(queue_pairs, connections)
    for basis in (BY_ADDRESS, BY_PACKET_NUMBERS, BY_NUMBERS):
        matcher.match(basis)
    return sorted(matcher.pairs)


class _Matcher:
    """Joins queue pairs that name each other, where each is the only one that fits the other."""

    def __init__(self, queue_pairs: Sequence[QueuePair], connections: Sequence[Connection]) -> None:
        self.pairs: list[Pair] = []
        self._queue_pairs = queue_pairs
        self._ends = {(one.device, one.qpn): one for one in connections if one.qpn and one.source and one.destination}
        self._free: dict[tuple[int, int], list[int]] = defaultdict(list)
        for index, one in enumerate(queue_pairs):
            if one.remote_qpn is not None and one.type in _CONNECTED_TYPES:
                self._free[one.qpn, one.remote_qpn].append(index)

    def match(self, basis: str) -> None:
        """Join all that can be joined on this basis."""
        for index in [index for indexes in self._free.values() for index in indexes]:
            other = self._only_match(index, basis)
            if other is not None and index < other and self._only_match(other, basis) == index:
                self.pairs.append(Pair(index, other, basis))
                for taken in (index, other):
                    self._free[self._numbers(taken)].remove(taken)

    def _numbers(self, index: int) -> tuple[int, int]:
        one = self._queue_pairs[index]
        return one.qpn, one.remote_qpn or 0

    def _only_match(self, index: int, basis: str) -> int | None:
        mine, theirs = self._numbers(index)
        if index not in self._free[mine, theirs]:
            return None
        fitting = [other for other in self._free[theirs, mine] if other != index and self._fits(index, other, basis)]
        return fitting[0] if len(fitting) == 1 else None

    def _fits(self, index: int, other: int, basis: str) -> bool:
        a, b = self._queue_pairs[index], self._queue_pairs[other]
        if a.type != b.type and {a.type, b.type} != {"XRC_INI", "XRC_TGT"}:
            return False
        one, two = self._ends.get((a.device, a.qpn)), self._ends.get((b.device, b.qpn))
        if one and two:  # addresses decide, for and against
            return basis == BY_ADDRESS and (one.source, one.destination) == (two.destination, two.source)
        if basis == BY_ADDRESS or one or two:
            return False
        if basis == BY_PACKET_NUMBERS:
            return all(_is_close(sent, expected) for sent, expected in _directions(a, b))
        return not any(_is_far(sent, expected) for sent, expected in _directions(a, b))


def _directions(a: QueuePair, b: QueuePair) -> Iterator[tuple[int | None, int | None]]:
    yield a.sq_psn, b.rq_psn
    yield b.sq_psn, a.rq_psn


def _is_close(sent: int | None, expected: int | None) -> bool:
    """Whether the numbers fit and are no small ones."""
    if sent is None or expected is None or min(sent, expected) < _RANDOM_FROM:
        return False
    return _distance(sent, expected) < _CLOSE


def _is_far(sent: int | None, expected: int | None) -> bool:
    """Whether both numbers are told and cannot be those of one direction: then the peer is another one."""
    return bool(sent and expected) and _distance(sent or 0, expected or 0) >= _FAR


def _distance(a: int, b: int) -> int:
    apart = (a - b) % (1 << _PSN_BITS)
    return min(apart, (1 << _PSN_BITS) - apart)
