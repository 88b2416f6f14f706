"""Ask a service over its socket: one request, one reply, all of it within a deadline.

An address is ``unix:PATH`` or ``tcp:IP:PORT`` for ibacm, or ``udp:IP:PORT`` for ibarr. Nothing needs more rights than
any user has. Whoever is at the other end may be slow, silent or wrong: an answer comes at the deadline at the latest.
"""

from __future__ import annotations

import contextlib
import socket
import time

from ibkit.parsers.acm_protocol import HEAD_BYTES, length_of
from ibkit.sources.base import CLOSED, LATE, ExchangeAnswer, errno_name

#: A datagram may get lost, so it is sent again each second, as ibarr itself does (Mellanox/ip2gid, src/ipr_client.c).
RESEND_SECONDS = 1.0
#: ibacm has room for one connection that it has not yet taken (``listen(0)``); then a try fails at once.
_RETRY_SECONDS = 0.01
#: The longest datagram that is read; what is longer is cut.
_MAX_DATAGRAM_BYTES = 2048


def ask_service(address: str, request: bytes, deadline_seconds: float) -> ExchangeAnswer:
    """The reply, or why there is none and what had come by then."""
    end = time.monotonic() + deadline_seconds
    reply = bytearray()
    try:
        scheme, _, where = address.partition(":")
        if scheme == "udp":
            _ask_by_datagram(_ip_and_port(where), request, end, reply)
        else:
            family = socket.AF_UNIX if scheme == "unix" else socket.AF_INET
            _ask_ibacm(family, where if scheme == "unix" else _ip_and_port(where), request, end, reply)
    except TimeoutError:
        return ExchangeAnswer(address, request, bytes(reply), LATE)
    except (ConnectionResetError, BrokenPipeError):
        return ExchangeAnswer(address, request, bytes(reply), CLOSED)
    except OSError as error:
        return ExchangeAnswer(address, request, bytes(reply), errno_name(error) if error.errno else "EINVAL")
    except ValueError:  # a port that is no number, a NUL in a path
        return ExchangeAnswer(address, request, error="EINVAL")
    return ExchangeAnswer(address, request, bytes(reply))


def _ask_ibacm(
    family: socket.AddressFamily, where: str | tuple[str, int], request: bytes, end: float, reply: bytearray
) -> None:
    """One ``send``, for ibacm reads a request with one ``recv`` and closes the connection if that is not the whole.

    The head of the reply says how long it is: nothing beyond that is read.
    """
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        _connect(connection, where, end)
        connection.settimeout(_left(end))
        connection.send(request)
        size = HEAD_BYTES
        while len(reply) < size:
            connection.settimeout(_left(end))
            piece = connection.recv(size - len(reply))
            if not piece:
                raise ConnectionResetError
            reply += piece
            if len(reply) == HEAD_BYTES:
                size = max(HEAD_BYTES, length_of(bytes(reply)))


def _connect(connection: socket.socket, where: str | tuple[str, int], end: float) -> None:
    while True:
        connection.settimeout(_left(end))
        try:
            return connection.connect(where)
        except BlockingIOError:
            time.sleep(min(_RETRY_SECONDS, _left(end)))


def _ask_by_datagram(where: tuple[str, int], request: bytes, end: float, reply: bytearray) -> None:
    """A connected socket hears only the one that was asked, and hears at once where nobody listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect(where)
        while True:
            connection.settimeout(min(RESEND_SECONDS, _left(end)))
            connection.send(request)
            with contextlib.suppress(TimeoutError):
                reply += connection.recv(_MAX_DATAGRAM_BYTES)
                return


def _left(end: float) -> float:
    """Seconds until the deadline. Raises TimeoutError where none are left."""
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _ip_and_port(where: str) -> tuple[str, int]:
    """Numbers only: looking up a name knows no deadline. Raises ValueError or OSError."""
    ip, _, port = where.rpartition(":")
    socket.inet_pton(socket.AF_INET, ip)
    if not 0 < int(port) < 1 << 16:
        raise ValueError(port)
    return ip, int(port)
