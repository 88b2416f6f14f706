"""A rank that talks TCP to the other one, until it is ended: RANK ADDRESS [PORT]; rank 0 listens there."""

from __future__ import annotations

import socket
import sys
import threading
import time

PORT = 4711
BLOCK = b"x" * 65536


def main() -> None:
    rank, address, *more = sys.argv[1:]
    port = int(more[0]) if more else PORT
    if rank == "0":
        connection, _ = socket.create_server((address, port)).accept()
    else:
        for _ in range(600):  # the other one may be slow to start
            try:
                connection = socket.create_connection((address, port))
                break
            except OSError:
                time.sleep(0.1)
    threading.Thread(target=drain, args=(connection,), daemon=True).start()
    for _ in range(3000):
        connection.sendall(BLOCK)
        time.sleep(0.02)


def drain(connection: socket.socket) -> None:
    while connection.recv(1 << 20):
        pass


if __name__ == "__main__":
    main()
