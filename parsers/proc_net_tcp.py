"""Read /proc/PID/net/tcp and tcp6: the TCP sockets of that process's network namespace.

Format: proc_pid_net(5), Linux ``net/ipv4/tcp_ipv4.c`` (get_tcp4_sock) and ``net/ipv6/tcp_ipv6.c``: after a head line
one for each socket: number, local and remote address as ``HEX:PORT``, state, queues, timers, user, timeout, inode.
Addresses are 32-bit words in the machine's byte order, taken as little-endian. There are no counters of bytes.
"""

from __future__ import annotations

import re

from ibkit.parsers.records import NamedTuple

_ROW = re.compile(
    r"^ *[0-9]{1,10}: ([0-9A-F]{8}(?:[0-9A-F]{24})?):([0-9A-F]{4}) ([0-9A-F]{8}(?:[0-9A-F]{24})?):([0-9A-F]{4}) 01 ",
    re.MULTILINE,
)


class Connection(NamedTuple):
    """An established connection: addresses without brackets, and ports."""

    local: str
    local_port: int
    peer: str
    peer_port: int


def parse(text: str) -> tuple[Connection, ...]:
    """The established ones; other lines are passed over."""
    return tuple(
        Connection(_address(local), int(local_port, 16), _address(peer), int(peer_port, 16))
        for local, local_port, peer, peer_port in _ROW.findall(text)
    )


def _address(digits: str) -> str:
    import ipaddress

    packed = b"".join(bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8))
    if packed[:12] == bytes(10) + b"\xff\xff":
        packed = packed[12:]
    return str(ipaddress.ip_address(packed))
