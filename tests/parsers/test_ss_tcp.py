"""`ss -tinpH`: lines of iproute2 6.1.0 beside an Open MPI job over TCP, shortened to what counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.ss_tcp import TcpSocket, parse

SOCKET = 'ESTAB 4118   0          10.77.0.1:55837    10.77.0.1:1024  users:(("pp.ompi",pid=222,fd=17))'
DETAILS = (
    "\t cubic wscale:7,7 rto:220 bytes_sent:980140 bytes_retrans:10 bytes_acked:980131 bytes_received:980130 "
    "segs_out:246 send 175253376bps"
)


def test_a_socket_and_its_details() -> None:
    (found,) = parse(f"{SOCKET}\n{DETAILS}\n").value
    assert found == TcpSocket(1, SOCKET, "ESTAB", "10.77.0.1:55837", "10.77.0.1:1024", (222,), 980131, 980130)


def test_several_owners_ipv6_and_a_socket_that_has_sent_nothing() -> None:
    text = (
        'ESTAB 0 0 [::ffff:10.0.0.1]:22 [fe80::1%ib0]:55 users:(("a",pid=7,fd=3),("b",pid=8,fd=3),("b",pid=8,fd=4)) \n'
        "\t cubic rto:200 lastsnd:5\nLISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n"
    )
    one, two = parse(text).value
    assert (one.local, one.peer, one.pids) == ("[::ffff:10.0.0.1]:22", "[fe80::1%ib0]:55", (7, 8))
    assert (one.acked_bytes, one.received_bytes) == (0, 0)
    assert (two.state, two.pids, two.acked_bytes) == ("LISTEN", (), None)


def test_a_line_that_is_no_socket_costs_that_line() -> None:
    parsed = parse(f"Cannot open netlink socket\n{SOCKET}\n")
    assert [problem.line for problem in parsed.problems] == [1]
    assert len(parsed.value) == 1


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    parse(text)
    parse(SOCKET + "\n " + text)
