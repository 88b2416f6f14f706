"""Read ``ss -tinepH`` and its shorter forms: TCP sockets with their owners and what they have moved.

Format: iproute2 ``misc/ss.c``: a line for each socket (state, queues, local and peer address, ``users:((...))``), and a
line that begins with a blank or a tab for its TCP_INFO. ``bytes_sent`` counts retransmissions, ``bytes_acked`` and
``bytes_received`` do not; each is left out while it is 0. Owners (``-p``) are shown only to root and the process's own
user; ``ino:`` (``-e``) is the socket's inode, which no other socket has while it is open.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import Parsed, Problem
from ibkit.parsers.records import NamedTuple

_SOCKET = re.compile(r"([A-Z][A-Z0-9-]{2,12}) +[0-9]{1,12} +[0-9]{1,12} +(\S{1,120}) +(\S{1,120})(?: |\Z)")
_PID = re.compile(r",pid=([0-9]{1,10}),")
_INODE = re.compile(r" ino:([0-9]{1,20})(?= |\Z)")
_BYTES = re.compile(r" bytes_(acked|received):([0-9]{1,20})(?= |\Z)")


class TcpSocket(NamedTuple):
    """One socket; addresses as printed, ``ADDRESS:PORT``. The bytes are those of its life, None without TCP_INFO."""

    line: int
    text: str
    state: str
    local: str
    peer: str
    pids: tuple[int, ...] = ()
    acked_bytes: int | None = None
    received_bytes: int | None = None
    inode: int | None = None


def parse(text: str, *, source: str = "") -> Parsed[tuple[TcpSocket, ...]]:
    """All sockets. A line that is neither a socket nor its details is a problem; no text is no sockets."""
    found: list[TcpSocket] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line[:1] in (" ", "\t"):
            if found and found[-1].acked_bytes is None:
                moved = {name: int(value) for name, value in _BYTES.findall(line[:4096])}
                found[-1] = found[-1]._replace(
                    acked_bytes=moved.get("acked", 0), received_bytes=moved.get("received", 0)
                )
        elif match := _SOCKET.match(line):
            pids = tuple(dict.fromkeys(int(pid) for pid in _PID.findall(line[:8192])))
            inode = _INODE.search(line[-1024:])
            words = line.rstrip()[:400], match[1], match[2], match[3]
            found.append(TcpSocket(number, *words, pids, inode=int(inode[1]) if inode else None))
        elif line.strip():
            problems.append(Problem("bad-line", "not a TCP socket", number, source))
    return Parsed(tuple(found), tuple(problems), complete=True)
