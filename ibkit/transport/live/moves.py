"""What a job's ranks on one host moved between two samples: queue pairs, ports, sockets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ibkit.collectors.job_samples import JobWatch
from ibkit.collectors.ranks import Ranks
from ibkit.model.job_watch import SeenQueuePair, Traffic
from ibkit.parsers.ss_tcp import TcpSocket

#: What barriers, heart beats and stores of a runtime send in a window stays below this (bytes, bytes a second).
CONTROL_BYTES, CONTROL_BYTES_PER_SECOND = 1 << 16, 1 << 13
#: Control that has gone on for days, or runs beside RDMA, is less than that (bytes).
SURELY_DATA = 10 << 20
#: A queue pair that sets up others, or keeps them alive, sends fewer packets.
CONTROL_PACKETS = 16
#: Management datagrams, ARP and the like make fewer packets on a port, in a window and in a second of it.
NOISE_PACKETS, NOISE_PACKETS_PER_SECOND = 1000, 100

CONNECTED = ("RC", "UC", "XRC_INI", "XRC_TGT")
_MANAGEMENT = ("GSI", "SMI")
_IPOIB = "ib_ipoib"
_PSN_MASK = (1 << 24) - 1


class RdmaMove(NamedTuple):
    """A rank's queue pair whose packet numbers moved; ``sent`` and ``received`` are packets, None where not shown."""

    pid: int
    before: SeenQueuePair
    after: SeenQueuePair
    sent: int | None
    received: int | None

    @property
    def packets(self) -> int:
        """Both ways."""
        return (self.sent or 0) + (self.received or 0)


class PortMove(NamedTuple):
    """A port whose packets can only be those of the job's ranks, which have queue pairs in RTS there."""

    port: str
    packets: int
    pid: int


class TcpMove(NamedTuple):
    """A rank's socket that moved data; ``moved`` is bytes both ways, in the window, or all until then (``is_over``)."""

    pid: int
    socket: TcpSocket
    moved: int
    is_over: bool = False


class Part:
    """A job's ranks on one host, between two samples."""

    def __init__(self, watch: JobWatch, ranks: Ranks, *, is_alone: bool = True) -> None:
        self.watch = watch
        self.ranks = ranks
        self.host = watch.host
        self._is_alone = is_alone
        self.seconds = watch.seconds
        #: The ranks of other runs on this host.
        self.strangers = frozenset(pid for job in watch.jobs for pid in job.ranks if pid not in ranks.ranks)
        self._earlier = {
            (one.device, one.qpn, one.remote_qpn): one for one in watch.before.queue_pairs or () if one.pid
        }
        self.rdma = tuple(self._rdma())
        self._move_of = {id(move.after): move for move in self.rdma}
        self.ports = tuple(self._ports())
        sockets = tuple(self._tcp())
        self.tcp = tuple(move for move in sockets if not move.is_over)
        #: Sockets that had moved much before the window, and stand still in it.
        self.earlier_tcp = tuple(move for move in sockets if move.is_over)

    def place(self, name: str) -> str:
        """What evidence calls a command or file of this host."""
        return name if self._is_alone else f"{self.host}: {name}"

    def talks_to(self, move: TcpMove) -> int | None:
        """The rank of another run here that a socket leads to."""
        ends = (move.socket.peer, move.socket.local)
        others = next((one.pids for one in self.watch.before.sockets or () if (one.local, one.peer) == ends), ())
        return next((pid for pid in others if pid in self.strangers), None)

    @property
    def is_hidden(self) -> bool:
        """Whether something of its ranks may not be looked at: only their user and root may."""
        facts = (self.watch.facts.get(pid) for pid in self.ranks.ranks)
        is_refused = any(problem.kind == "not-permitted" for problem in self.ranks.problems)
        return is_refused or (self.watch.network is not None and any(one and one.network is None for one in facts))

    @property
    def has_ended(self) -> bool:
        """Whether processes of its ranks were gone at the window's end."""
        gone = {f"/proc/{pid}" for pid in self.ranks.ranks}
        return any(problem.kind == "ended" and problem.source in gone for problem in self.watch.problems)

    def owner(self, thread: int | None) -> int | None:
        """The rank's process that a thread's id belongs to."""
        pid = None if thread is None else self.watch.owners.get(thread, thread)
        return pid if pid in self.ranks.ranks else None

    def move_of(self, queue_pair: SeenQueuePair) -> RdmaMove | None:
        """What a queue pair moved."""
        return self._move_of.get(id(queue_pair))

    def queue_pairs(self) -> Iterator[tuple[SeenQueuePair, SeenQueuePair | None, int]]:
        """Those of the ranks, as they are now and as they were, and the process."""
        for one in self.watch.after.queue_pairs or ():
            if (pid := self.owner(one.pid)) is not None:
                yield one, self._earlier.get((one.device, one.qpn, one.remote_qpn)), pid

    @property
    def has_connected(self) -> bool:
        """Whether ranks have connected queue pairs, whether these moved or not."""
        return any(one.state == "RTS" and one.type in CONNECTED for one, _, _ in self.queue_pairs())

    @property
    def has_verbs_open(self) -> bool | None:
        """Whether a rank has an RDMA device open; None where that could not be seen.

        A queue pair that was made through mlx5's DEVX is in no list, so no queue pairs do not mean no RDMA.
        """
        if any(True for _ in self.queue_pairs()):
            return True
        if not self.watch.hcas.hcas:
            return None if self.watch.lacks_hca is None else False
        contexts = self.watch.contexts
        if contexts is None or self.watch.after.queue_pairs is None:
            return None
        return any(self.owner(thread) is not None for threads in contexts.values() for thread in threads)

    def port_packets(self, port: str) -> int | None:
        """Packets that went through a port, both ways."""
        old, new = self.watch.before.packets.get(port), self.watch.after.packets.get(port)
        if old is None or new is None or new < old or new[1] < old[1]:
            return None  # not counted, or reset in between
        return sum(new) - sum(old)

    @property
    def is_quiet(self) -> bool:
        """Whether all ports are known to have moved no more than noise."""
        noise = self._noise()
        ports = [f"{hca.name}/{port.port}" for hca in self.watch.hcas.hcas for port in hca.ports]
        return all((packets := self.port_packets(port)) is not None and packets < noise for port in ports)

    def traffic(self, interface: str) -> int | None:
        """Bytes that a network interface has moved, both ways."""
        old, new = self.watch.before.interfaces.get(interface), self.watch.after.interfaces.get(interface)
        return grown_bytes(old, new)

    def _rdma(self) -> Iterator[RdmaMove]:
        for one, old, pid in self.queue_pairs():
            if old is None or one.state != "RTS":
                continue
            sent, received = _moved(old.sq_psn, one.sq_psn), _moved(old.rq_psn, one.rq_psn)
            if max(sent or 0, received or 0) > max(CONTROL_PACKETS, self.seconds):
                yield RdmaMove(pid, old, one, sent, received)

    def _ports(self) -> Iterator[PortMove]:
        moved = {f"{one.after.device}/{one.after.port}" for one in self.rdma}
        candidates = {
            f"{one.device}/{one.port or 1}": pid
            for one, old, pid in self.queue_pairs()
            if one.state == "RTS" and old is not None and old.state == "RTS"
        }
        for port, pid in candidates.items():
            packets = self.port_packets(port)
            others = self._packets_of_others(port)
            if port in moved or packets is None or others is None:
                continue
            if packets - others > self._noise():
                yield PortMove(port, packets - others, pid)

    def _packets_of_others(self, port: str) -> int | None:
        """Packets of IPoIB on this port; None where somebody else may have sent there, or where that is not shown."""
        device, _, number = port.partition("/")
        contexts = self.watch.contexts
        if contexts is None or any(self.owner(thread) is None for thread in contexts.get(device, ())):
            return None
        rows = [one for one in self.watch.after.queue_pairs or () if one.device == device]
        kernels = [one for one in rows if one.pid is None]
        if not kernels:
            return None  # each device has its own for management: the rows of others are hidden from here
        if any(one.state == "RTS" and one.pid is not None and self.owner(one.pid) is None for one in rows):
            return None
        services = {one.name for one in kernels if one.state == "RTS" and one.type not in _MANAGEMENT}
        if not services:
            return 0
        return self._ipoib_packets(device, number) if services == {_IPOIB} else None

    def _ipoib_packets(self, device: str, number: str) -> int | None:
        """Packets of the port's IPoIB interfaces, their children (ib0.8001) included; None where they are not known."""
        names = {
            name
            for hca in self.watch.hcas.hcas
            for port in hca.ports
            if hca.name == device and str(port.port) == number
            for name in port.netdevs
        }
        before, after = self.watch.before.interfaces, self.watch.after.interfaces
        mine = [name for name in after if name.partition(".")[0] in names]
        packets = [
            after[name].received_packets + after[name].sent_packets - old.received_packets - old.sent_packets
            for name in mine
            if (old := before.get(name))
        ]
        return sum(packets) if packets and len(packets) == len(mine) and min(packets) >= 0 else None

    def _noise(self) -> float:
        return max(NOISE_PACKETS, NOISE_PACKETS_PER_SECOND * self.seconds)

    def _tcp(self) -> Iterator[TcpMove]:
        earlier = {(one.local, one.peer): one for one in self.watch.before.sockets or ()}
        for one in self.watch.after.sockets or ():
            old = earlier.get((one.local, one.peer))
            if old is None or one.state != "ESTAB" or (old.inode or one.inode) != (one.inode or old.inode):
                continue
            pid = next((pid for pid in (*old.pids, *one.pids) if pid in self.ranks.ranks), None)
            if pid is None or None in (one.acked_bytes, old.acked_bytes):
                continue
            before = (old.acked_bytes or 0) + (old.received_bytes or 0)
            moved = (one.acked_bytes or 0) + (one.received_bytes or 0) - before
            socket = one._replace(pids=old.pids or one.pids)
            if moved > max(CONTROL_BYTES, CONTROL_BYTES_PER_SECOND * self.seconds):
                yield TcpMove(pid, socket, moved)
            elif before >= SURELY_DATA:
                yield TcpMove(pid, socket, before, is_over=True)


def address_interface(part: Part, move: TcpMove) -> str | None:
    """The interface that has the socket's address."""
    return part.watch.interfaces.by_address.get(bare(move.socket.local.rpartition(":")[0]))


def interface_of(part: Part, move: TcpMove) -> str | None:
    """That interface, unless its counters show that the data went another way."""
    name = address_interface(part, move)
    traffic = part.traffic(name) if name else None
    return None if traffic is not None and traffic < move.moved // 2 else name


def endpoint(text: str) -> str:
    """An address and port in one form: of IPv4 in IPv6's clothes, and without a zone."""
    address, _, port = text.rpartition(":")
    return f"{bare(address)}:{port}"


def bare(address: str) -> str:
    """An address without brackets and zone, and IPv4's without IPv6's clothes."""
    address = address.strip("[]").partition("%")[0]
    return address.removeprefix("::ffff:") if "." in address else address


def is_loopback(text: str) -> bool:
    """Whether an endpoint is of an address that every host has."""
    return bare(text.rpartition(":")[0]).startswith(("127.", "::1"))


def _moved(before: int | None, after: int | None) -> int | None:
    """Packets between two packet numbers, which have 24 bits; None where the driver shows none."""
    return None if before is None or after is None else (after - before) & _PSN_MASK


def grown_bytes(old: Traffic | None, new: Traffic | None) -> int | None:
    """What an interface has moved between two moments, both ways; None where that is not known."""
    if old is None or new is None or new.received_bytes < old.received_bytes or new.sent_bytes < old.sent_bytes:
        return None
    return new.received_bytes + new.sent_bytes - old.received_bytes - old.sent_bytes
