"""Logs of a job of 10,240 ranks on 1,280 hosts, or on fewer, line by line, in the formats of the runtimes' sources.

Generators: nothing here holds a whole log. The truths beside them are counted by hand in their tests.
"""

from __future__ import annotations

from collections.abc import Iterator

HOSTS, RANKS_PER_HOST = 1280, 8
#: The one host whose NICs were not found, and its place.
ODD = 416


def host(number: int) -> str:
    """``n0001`` to ``n1280``."""
    return f"n{number + 1:04d}"


def nccl_log(*, hosts: int = HOSTS, odd: int | None = ODD) -> Iterator[str]:
    """Eight rings, one a rail, and a binary tree over the hosts, as NCCL 2.19 prints them. Host ``odd`` is on Socket.

    In ring R each rank sends to the next one of its host; rank R of a host sends to rank R of the next host.
    """
    yield from nccl_start_log(hosts=hosts, odd=odd)
    for number in range(hosts):
        for gpu in range(RANKS_PER_HOST):
            yield from _rings(number, gpu, hosts, odd)
            yield from _trees(number, gpu, hosts, odd)
            yield f"{_who(number, gpu)}Connected all rings, use ring PXN 0 GDR 1"


def nccl_start_log(*, hosts: int = HOSTS, odd: int | None = ODD) -> Iterator[str]:
    """What NCCL prints before its channels, or with NCCL_DEBUG_SUBSYS=INIT,NET: no line names a pair."""
    for number in range(hosts):
        is_odd = number == odd
        devices = " ".join(f"[{n}]mlx5_{n}:1/IB" for n in range(RANKS_PER_HOST))
        for gpu in range(RANKS_PER_HOST):
            who = _who(number, gpu)
            if is_odd:
                yield f"{who}NET/IB : No device found."
                yield f"{who}NET/Socket : Using [0]eth0:10.1.0.{gpu}<0>"
                yield f"{who}Using network Socket"
            else:
                yield f"{who}NET/IB : Using {devices} [RO]; OOB eth0:10.1.0.{gpu}<0>"
                yield f"{who}Using network IB"
            rank = number * RANKS_PER_HOST + gpu
            yield (
                f"{who}comm 0x7f{rank:010x} rank {rank} nranks {hosts * RANKS_PER_HOST} cudaDev {gpu} nvmlDev {gpu} "
                "busId 1b000 commId 0x3d0a71c55e1f2b90 - Init START"
            )


def _who(number: int, gpu: int) -> str:
    return f"{host(number)}:{4100 + gpu}:{4200 + gpu} [{gpu}] NCCL INFO "


def _via(a: int, b: int, odd: int | None, gpu: int) -> str:
    return "NET/Socket/0" if odd in (a, b) else f"NET/IB/{gpu}/GDRDMA"


def _rings(number: int, gpu: int, hosts: int, odd: int | None) -> Iterator[str]:
    who, rank = _who(number, gpu), number * RANKS_PER_HOST + gpu
    after, before = (number + 1) % hosts, (number - 1) % hosts
    for ring in range(RANKS_PER_HOST):
        if gpu == ring:
            there, here = after * RANKS_PER_HOST + gpu, before * RANKS_PER_HOST + gpu
            net, back = _via(number, after, odd, gpu), _via(number, before, odd, gpu)
            yield f"{who}Channel {ring:02d}/0 : {rank}[{gpu}] -> {there}[{gpu}] [send] via {net}"
            yield f"{who}Channel {ring:02d}/0 : {here}[{gpu}] -> {rank}[{gpu}] [receive] via {back}"
        else:
            peer = (gpu + 1) % RANKS_PER_HOST
            near = number * RANKS_PER_HOST + peer
            yield f"{who}Channel {ring:02d}/0 : {rank}[{gpu}] -> {near}[{peer}] via P2P/CUMEM/read"


def _trees(number: int, gpu: int, hosts: int, odd: int | None) -> Iterator[str]:
    """A binary tree over the hosts on each rail: its parent is half its number."""
    who, rank = _who(number, gpu), number * RANKS_PER_HOST + gpu
    near = [2 * number + 1, 2 * number + 2, *([(number - 1) // 2] if number else [])]
    for other in near:
        if other < hosts:
            there, net = other * RANKS_PER_HOST + gpu, _via(number, other, odd, gpu)
            yield f"{who}Channel {gpu:02d}/0 : {rank}[{gpu}] -> {there}[{gpu}] [send] via {net}"
            yield f"{who}Channel {gpu:02d}/0 : {there}[{gpu}] -> {rank}[{gpu}] [receive] via {net}"


def bml_log(*, hosts: int = HOSTS, odd: int | None = ODD) -> Iterator[str]:
    """Open MPI 4: each rank tells its module for itself, its host's ranks, and the same place on eight next hosts."""
    for number in range(hosts):
        for place in range(RANKS_PER_HOST):
            rank = number * RANKS_PER_HOST + place
            who = f"[{host(number)}:{5100 + place:05d}] mca: bml: Using "
            yield f"{who}self btl for send to [[31337,1],{rank}] on node {host(number)}"
            for other in range(RANKS_PER_HOST):
                if other != place:
                    peer = number * RANKS_PER_HOST + other
                    yield f"{who}vader btl for send to [[31337,1],{peer}] on node {host(number)}"
            for step in range(1, 9):
                there = (number + step) % hosts
                peer, btl = there * RANKS_PER_HOST + place, "tcp" if odd in (number, there) else "openib"
                yield f"{who}{btl} btl for send to [[31337,1],{peer}] on node {host(there)}"


def comm_method_log(*, hosts: int = HOSTS, odd: int | None = ODD) -> Iterator[str]:
    """Open MPI 5's table of all hosts: ucx over rc_mlx5, and host ``odd`` by TCP."""
    for number in range(hosts):
        first = number * RANKS_PER_HOST
        yield f"Host {number} [{host(number)}] ranks {first} - {first + RANKS_PER_HOST - 1}"
    yield ""
    yield " host | " + " ".join(f"{number:<8d}" for number in range(hosts))
    yield "======|" + "=" * 9 * hosts
    for row in range(hosts):
        cells = (
            "ucx[  2]" if row == column else "ucx[  4]" if odd in (row, column) else "ucx[  3]"
            for column in range(hosts)
        )
        yield f"{row:5d} : " + " ".join(cells)
    yield ""
    yield "UCX Transport/Device"
    for number, lanes in ((2, ("sysv memory", "cma memory")), (3, ("rc_mlx5 mlx5_0:1",)), (4, ("tcp eth0",))):
        yield f"ucx[  {number}]:"
        for lane in lanes:
            transport, device = lane.split()
            yield f"    {transport:<16} {device:<16}"
    yield "Connection summary: (pml)"
    yield "  on-host:  all connections are ucx=sysv;memory,cma;memory"
    yield "  off-host: most connections are ucx=rc_mlx5;mlx5_0:1"
    yield ""
