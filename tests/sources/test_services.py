"""Services that are asked: they answer, or they are slow, silent, wrong or gone; an answer comes in time."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.services import Behaviour, recorded_ibacm, recorded_reply, tcp_server, udp_server, unix_server

from ibkit.parsers import acm_protocol, ibarr
from ibkit.sources.base import CLOSED, LATE, ExchangeAnswer
from ibkit.sources.live import LiveSource

REQUEST = acm_protocol.endpoint_request(1)
REPLY_BYTES = 224
DEADLINE = 0.25


def ask(address: str, request: bytes = REQUEST, seconds: float = 5.0) -> ExchangeAnswer:
    started = time.monotonic()
    answer = LiveSource().exchange(address, request, deadline_seconds=seconds)
    assert time.monotonic() - started < seconds + 1.0
    assert (answer.address, answer.request) == (address, request)
    return answer


def whole(connection: socket.socket) -> bytes:
    """A reply of ibacm's to REQUEST, as it was recorded."""
    reply = recorded_reply(connection.recv(4096))
    assert reply and len(reply) == REPLY_BYTES
    return reply


# Servers that answer


def test_over_a_unix_socket(tmp_path: Path) -> None:
    with unix_server(tmp_path, recorded_ibacm) as address:
        answer = ask(address)
    assert answer.error is None and len(answer.reply) == REPLY_BYTES
    assert answer.reply[16:24].hex() == "00a1000000000010"


def test_over_tcp() -> None:
    with tcp_server(recorded_ibacm) as address:
        assert len(ask(address).reply) == REPLY_BYTES


def test_a_link_to_the_socket(tmp_path: Path) -> None:
    """/run/ibacm.sock is one."""
    (tmp_path / "link.sock").symlink_to("service.sock")
    with unix_server(tmp_path, recorded_ibacm):
        assert len(ask(f"unix:{tmp_path}/link.sock").reply) == REPLY_BYTES


def test_a_reply_in_pieces(tmp_path: Path) -> None:
    def drip(connection: socket.socket) -> None:
        for byte in whole(connection):
            connection.sendall(bytes([byte]))
            time.sleep(0.001)

    with unix_server(tmp_path, drip) as address:
        assert ask(address).error is None


def test_many_at_once_while_one_connection_waits(tmp_path: Path) -> None:
    """ibacm listens with room for one."""
    path = tmp_path / "service.sock"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(0)

    def serve() -> None:
        for _ in range(12):
            connection, _ = listener.accept()
            time.sleep(0.02)
            with connection:
                connection.sendall(whole(connection))

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    answers: list[ExchangeAnswer] = []
    asking = [threading.Thread(target=lambda: answers.append(ask(f"unix:{path}"))) for _ in range(12)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    listener.close()
    assert [answer.error for answer in answers] == [None] * 12


# Servers that do not


def silent(connection: socket.socket) -> None:
    connection.recv(4096)
    time.sleep(30)


def deaf(connection: socket.socket) -> None:
    time.sleep(30)


def slow(connection: socket.socket) -> None:
    data = whole(connection)
    for byte in data:
        connection.sendall(bytes([byte]))
        time.sleep(0.1)


def endless(connection: socket.socket) -> None:
    connection.recv(4096)
    while True:
        connection.sendall(bytes(1 << 16))


def promises_more(connection: socket.socket) -> None:
    data = bytearray(whole(connection))
    data[6:8] = b"\xff\xff"
    connection.sendall(data)
    time.sleep(30)


def half_a_head(connection: socket.socket) -> None:
    connection.sendall(whole(connection)[:7])
    connection.close()


def half_a_reply(connection: socket.socket) -> None:
    connection.sendall(whole(connection)[:100])
    connection.close()


def closes(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.close()


def resets(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


@pytest.mark.parametrize(
    ("behaviour", "error", "size"),
    [
        (silent, LATE, 0), (deaf, LATE, 0), (slow, LATE, None), (promises_more, LATE, REPLY_BYTES),
        (half_a_head, CLOSED, 7), (half_a_reply, CLOSED, 100), (closes, CLOSED, 0), (resets, CLOSED, 0),
    ],
)  # fmt: skip
def test_an_error_in_time(tmp_path: Path, behaviour: Behaviour, error: str, size: int | None) -> None:
    for server in (lambda: unix_server(tmp_path, behaviour), lambda: tcp_server(behaviour)):
        with server() as address:
            answer = ask(address, seconds=DEADLINE)
        assert answer.error == error
        assert size is None or len(answer.reply) == size
        (tmp_path / "service.sock").unlink(missing_ok=True)


def test_an_endless_stream_is_not_read(tmp_path: Path) -> None:
    """Zeros: a head that tells of no bytes."""
    with unix_server(tmp_path, endless) as address:
        answer = ask(address, seconds=DEADLINE)
    assert (answer.error, answer.reply) == (None, bytes(16))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.booleans())
def test_garbage_ends_in_time(tmp_path_factory: pytest.TempPathFactory, data: bytes, close: bool) -> None:
    def garbage(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(data)
        if close:
            connection.close()

    with unix_server(tmp_path_factory.mktemp("s"), garbage) as address:
        answer = ask(address, seconds=0.05)
    assert answer.error in (None, LATE, CLOSED) and data.startswith(answer.reply)
    assert answer.error != LATE or not close


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("unix:/nonexistent/ibacm.sock", "ENOENT"), ("unix:/etc/passwd", "ECONNREFUSED"),
        ("unix:" + "x" * 200, "EINVAL"), ("tcp:127.0.0.1:1", "ECONNREFUSED"), ("tcp:localhost:6125", "EINVAL"),
        ("tcp:127.0.0.1:0", "EINVAL"), ("tcp:127.0.0.1:99999", "EINVAL"), ("tcp:127.0.0.1:x", "EINVAL"),
        ("udp:127.0.0.1:1", "ECONNREFUSED"), ("udp:::1:4791", "EINVAL"), ("nonsense", "EINVAL"), ("", "EINVAL"),
        ("tcp:255.255.255.255:1", "ENETUNREACH"), ("udp:255.255.255.255:4791", "EACCES"),
    ],
)  # fmt: skip
def test_nobody_there(address: str, error: str) -> None:
    assert ask(address).error == error


def test_a_socket_without_rights(tmp_path: Path) -> None:
    with unix_server(tmp_path, recorded_ibacm) as address:
        (tmp_path / "service.sock").chmod(0)
        answer = ask(address)
    assert answer.error in ("EACCES", None)  # root may always


def test_a_recorded_tree_has_no_services() -> None:
    assert LiveSource(root="/tmp").exchange("unix:/run/ibacm.sock", REQUEST).error == "not-recorded"


# Datagrams


def test_a_datagram_is_answered() -> None:
    answer = bytes.fromhex("010000000000000100010000001000140000000000000000 0000000000000031")
    with udp_server(lambda data: answer if data == ibarr.question(b"\n\0\0\1") else None) as address:
        assert ask(address, ibarr.question(b"\n\0\0\1")).reply == answer


def test_a_lost_datagram_is_sent_again() -> None:
    heard: list[bytes] = []

    def second(data: bytes) -> bytes | None:
        heard.append(data)
        return b"x" if len(heard) == 2 else None

    with udp_server(second) as address:
        answer = ask(address, b"question")
    assert (answer.reply, heard) == (b"x", [b"question"] * 2)


@pytest.mark.parametrize(
    ("answers", "error", "reply"),
    [
        (lambda data: None, LATE, b""),
        (lambda data: b"", None, b""),
        (lambda data: random.Random(1).randbytes(60_000), None, random.Random(1).randbytes(60_000)[:2048]),
    ],
)
def test_odd_answers_end_in_time(answers: Callable[[bytes], bytes | None], error: str | None, reply: bytes) -> None:
    with udp_server(answers) as address:
        answer = ask(address, b"question", seconds=DEADLINE)
    assert (answer.error, answer.reply) == (error, reply)
