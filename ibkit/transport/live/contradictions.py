"""Where a host's counters do not know of what a job's sockets or queue pairs moved: told beside the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.parsers.base import Problem
from ibkit.transport.live.moves import Part, address_interface, interface_of
from ibkit.transport.live.pairs import Queue, SocketPair, moves_of


def of_sockets(sockets: Sequence[SocketPair]) -> Iterator[Problem]:
    """Sockets whose interface's own counters do not know of their bytes."""
    told = set()
    for one in sockets:
        part, move = one.part, one.move
        name = address_interface(part, move)
        if one.other_part is part or name is None or (part.host, name) in told:
            continue
        if interface_of(part, move) is None:
            told.add((part.host, name))
            text = (
                f"{part.host}: a socket of address {move.socket.local} moved {move.moved} bytes, and {name}, which "
                f"has that address, {part.traffic(name)}: they went another way"
            )
            yield Problem("contradiction", text, None, f"/proc/{move.pid}/net/dev")


def of_ports(parts: Sequence[Part], queues: Sequence[tuple[Queue, Queue]]) -> Iterator[Problem]:
    """Ports whose own counters do not know of what their queue pairs sent to other hosts."""
    sent: dict[tuple[str, str], int] = {}
    by_host = {part.host: part for part in parts}
    for pair in queues:
        for one in pair if pair[0].part is not pair[1].part else ():
            place = one.part.host, f"{one.after.device}/{one.after.port or 1}"
            move = moves_of(one)
            sent[place] = sent.get(place, 0) + (move.packets if move else 0)
    for (host, port), packets in sent.items():
        counted = by_host[host].port_packets(port)
        if counted is not None and counted < packets // 4:
            text = f"{host}: queue pairs on {port} moved {packets} packets, and its port counters tell {counted}"
            yield Problem("contradiction", text, None, f"/sys/class/infiniband/{port.replace('/', '/ports/')}")
