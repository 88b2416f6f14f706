"""`ss -tinpH`: lines of iproute2 6.1.0 beside an Open MPI job over TCP, shortened to what counts."""

from __future__ import annotations

import pytest
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


@pytest.mark.parametrize(
    "name", ['",pid=1,fd=1)', '",pid=1,fd=1)) ', '",pid=1,fd=1))', ",pid=1,fd=1)", '(("', "a b", "\x1b[31m"]
)
@pytest.mark.parametrize("rest", ["", " ", " ino:9 sk:1 <->", " timer:(on,1ms,0) uid:7"])
def test_a_process_cannot_name_another_one_as_the_owner(name: str, rest: str) -> None:
    """Its name is of at most 15 bytes, and `ss` prints it as it is."""
    line = f'ESTAB 0 0 10.0.0.1:1 10.0.0.2:2 users:(("{name}",pid=7,fd=3),("b",pid=8,fd=4)){rest}'
    assert parse(line).value[0].pids == (7, 8)
    (last,) = parse(f'ESTAB 0 0 10.0.0.1:1 10.0.0.2:2 users:(("b",pid=8,fd=4),("{name}",pid=7,fd=3)){rest}').value
    assert last.pids == (8, 7)


def test_owners_by_inode_stand_in_where_none_are_printed() -> None:
    text = (
        "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2 ino:5 sk:1 cgroup:/ <->\n\t cubic\n"
        'ESTAB 0 0 10.0.0.1:3 10.0.0.2:4 users:(("b",pid=8,fd=4)) ino:6 sk:2\n'
        "TIME-WAIT 0 0 10.0.0.1:5 10.0.0.2:6 ino:0 sk:3\nESTAB 0 0 10.0.0.1:7 10.0.0.2:8\n"
    )
    assert [one.pids for one in parse(text, holders={5: (7, 9), 6: (1,), 0: (2,)}).value] == [(7, 9), (8,), (), ()]


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    parse(text)
    parse(SOCKET + "\n " + text)
