"""/proc/PID/net/tcp and tcp6: rows of Linux 6.1."""

from __future__ import annotations

import os
import socket

from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.proc_net_tcp import Connection, parse

TAIL = "00000000:00000000 00:00000000 00000000     0        0 3345832 1 0000000001d809f35 20 4 0 10 -1"


def test_established_connections_only() -> None:
    rows = (
        f"   0: 0100007F:C575 00000000:0000 0A {TAIL}",
        f"   1: 0100620A:AD15 0200620A:0400 01 {TAIL}",
        f"  10: 0100620A:AD15 0300620A:0400 06 {TAIL}",
    )
    assert parse("\n".join(rows)) == (Connection("10.98.0.1", 44309, "10.98.0.2", 1024),)


def test_ipv6_and_ipv4_in_its_clothes() -> None:
    rows = (
        f"   0: 000080FE000000000000000001000000:0016 000080FE000000000000000002000000:0400 01 {TAIL}",
        f"   1: 0000000000000000FFFF00000100620A:0016 0000000000000000FFFF00000200620A:0400 01 {TAIL}",
    )
    assert [(one.local, one.peer) for one in parse("\n".join(rows))] == [
        ("fe80::1", "fe80::2"),
        ("10.98.0.1", "10.98.0.2"),
    ]


def test_the_kernels_own_words_about_a_real_connection() -> None:
    for family, address, name in ((socket.AF_INET, "127.0.0.1", "tcp"), (socket.AF_INET6, "::1", "tcp6")):
        if not os.path.exists(f"/proc/self/net/{name}") or (family == socket.AF_INET6 and not has_ipv6()):
            continue
        with (
            socket.create_server((address, 0), family=family) as listener,
            socket.create_connection(listener.getsockname()[:2]) as mine,
            listener.accept()[0],
        ):
            with open(f"/proc/self/net/{name}") as file:
                found = parse(file.read())
            local, peer = mine.getsockname(), mine.getpeername()
            assert Connection(local[0], local[1], peer[0], peer[1]) in found


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    parse(text)
