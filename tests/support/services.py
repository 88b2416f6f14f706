"""Services for tests: ibacm as it was recorded, and servers that do what no server should."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

FRAMES = json.loads((Path(__file__).parents[2] / "fixtures/acm/frames.json").read_text())["frames"]
#: What a server does with a connection that it took.
Behaviour = Callable[[socket.socket], None]


@contextlib.contextmanager
def unix_server(folder: Path, behaviour: Behaviour) -> Iterator[str]:
    """The address of a server on a unix socket; its connections are closed when the block is left."""
    path = folder / "service.sock"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    with _served(listener, behaviour):
        yield f"unix:{path}"


@contextlib.contextmanager
def tcp_server(behaviour: Behaviour) -> Iterator[str]:
    """The same on a TCP port of this host."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    with _served(listener, behaviour):
        yield f"tcp:127.0.0.1:{listener.getsockname()[1]}"


@contextlib.contextmanager
def udp_server(answers: Callable[[bytes], bytes | None]) -> Iterator[str]:
    """A server of datagrams: ``answers`` makes the answer of a datagram, None where there is none."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                data, whom = server.recvfrom(2048)
                answer = answers(data)
                if answer is not None:
                    server.sendto(answer, whom)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"udp:127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.close()


@contextlib.contextmanager
def _served(listener: socket.socket, behaviour: Behaviour) -> Iterator[None]:
    listener.listen(16)
    connections: list[socket.socket] = []

    def talk(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            behaviour(connection)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        listener.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def recorded_reply(request: bytes) -> bytes | None:
    """What ibacm replied to these very bytes, under the id of the request: empty where it closed the connection, None
    where it was silent.
    """
    for frame in FRAMES:
        asked = bytes.fromhex(frame["request"])
        if asked[:8] + asked[16:] == request[:8] + request[16:]:
            if not frame["reply"]:
                return None if frame["reply"] is None else b""
            reply = bytes.fromhex(frame["reply"])
            return reply[:8] + request[8:16] + reply[16:]
    return b""


def recorded_ibacm(connection: socket.socket) -> None:
    """A service that replies as ibacm did."""
    while data := connection.recv(4096):
        reply = recorded_reply(data)
        if reply == b"":
            connection.close()
            return
        connection.sendall(reply or b"")
