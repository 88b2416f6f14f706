"""Read ``ss -tinepH`` and its shorter forms: TCP sockets with their owners and what they have moved.

Format: iproute2 ``misc/ss.c``: a line for each socket (state, queues, local and peer address, ``users:((...))``), and a
line that begins with a blank or a tab for its TCP_INFO. ``bytes_sent`` counts retransmissions, ``bytes_acked`` and
``bytes_received`` do not; each is left out while it is 0. Owners (``-p``) are shown only to root and the process's own
user; ``ino:`` (``-e``) is the socket's inode, which no other socket has while it is open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ibkit.parsers.base import Parsed, Problem
from ibkit.parsers.records import NamedTuple

_SOCKET = re.compile(r"([A-Z][A-Z0-9-]{2,12}) +[0-9]{1,12} +[0-9]{1,12} +(\S{1,120}) +(\S{1,120})(?: |\Z)")
#: An owner. Its name is its own choice, of at most 15 characters, and printed as it is: one that looks like another
#: owner is too long to have what stands behind an owner, too.
_OWNER = re.compile(r'\(".{0,15}?",pid=([0-9]{1,10}),fd=[0-9]{1,10}\)(?=,\("|\)(?: [a-z]| *\Z))')
_INODE = re.compile(r" ino:([0-9]{1,20})(?= |\Z)")
_ACKED, _RECEIVED = " bytes_acked:", " bytes_received:"


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


def parse(text: str, *, source: str = "", holders: Mapping[int, tuple[int, ...]] = {}) -> Parsed[tuple[TcpSocket, ...]]:
    """All sockets. A line that is neither a socket nor its details is a problem; no text is no sockets.

    ``holders`` are the owners by a socket's inode where the text, without ``-p``, does not tell them.
    """
    found: list[TcpSocket] = []
    problems: list[Problem] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line[:1] in (" ", "\t", ""):
            continue  # details, of the socket before
        match = _SOCKET.match(line)
        if match is None:
            problems.append(Problem("bad-line", "not a TCP socket", number, source))
            continue
        found_inode = _INODE.search(line[-1024:])
        inode = int(found_inode[1]) if found_inode else None
        owners = line.find("users:((", match.end(3))
        if owners >= 0:
            pids = tuple(dict.fromkeys(map(int, _OWNER.findall(line, owners, owners + 8192))))
        else:
            pids = holders.get(inode, ()) if inode else ()
        details = lines[number][:4096] if number < len(lines) else ""
        moved = (_count(details, _ACKED), _count(details, _RECEIVED)) if details[:1] in (" ", "\t") else (None, None)
        found.append(
            TcpSocket(number, line.rstrip()[:400], match[1], match[2], match[3], pids, moved[0], moved[1], inode)
        )
    return Parsed(tuple(found), tuple(problems), complete=True)


def _count(details: str, name: str) -> int:
    """The number behind a name, which is left out while it is 0."""
    place = details.find(name)
    if place < 0:
        return 0
    word = details[place + len(name) :].partition(" ")[0]
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 20 else 0
