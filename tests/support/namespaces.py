"""Two hosts in one: network, UTS, mount, IPC and process namespaces, joined by a veth pair, and an rsh between them.

As root. Each host sees its own processes, interfaces and host name; a program of one host reaches another one only by
the network, or by ``rsh``, which takes the place of ssh for a launcher: it asks this process to start the command.
Where the cluster is left, the first process of each host is killed, and with it all that runs there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shlex
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_TUNSETIFF, _TUNSETLINK = 0x400454CA, 0x400454CD  # linux/if_tun.h
_IFF_TUN_NO_PI = 0x1001
_ARPHRD_INFINIBAND = 32

#: The rsh: HOST COMMAND...; its standard files go along, and the status comes back.
_RSH = """#!/usr/bin/python3
import socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({path!r})
    socket.send_fds(asked, ["\\0".join(sys.argv[1:]).encode()], [0, 1, 2])
    raise SystemExit(int(asked.recv(16) or 1))
"""


class NoNamespaces(Exception):
    """This machine gives none."""


class Cluster:
    """Hosts by name."""

    def __init__(self, folder: Path, names: tuple[str, str]) -> None:
        self.rsh = folder / "rsh"
        self.hosts = {name: f"10.98.0.{number}" for number, name in enumerate(names, 1)}
        self.environment = dict(os.environ)  # of what rsh starts
        self.user: tuple[str, ...] = ()  # what makes it an ordinary user's: setpriv and its options
        self._folder = folder
        self._first: dict[str, subprocess.Popen[bytes]] = {}
        self._relays: list[int] = []
        self._listener = socket.socket(socket.AF_UNIX)

    def inside(self, host: str, *command: str) -> list[str]:
        """The command line that runs ``command`` on a host."""
        spaces = ("--net", "--uts", "--mount", "--pid", "--ipc", "--root")  # the last for where root is a folder itself
        return ["nsenter", "--target", str(self._init(host)), *spaces, "--wd=.", "--", *command]

    def run(self, host: str, *command: str, **options: object) -> subprocess.CompletedProcess[str]:
        """Run it there to its end, with its output as text."""
        given = {"capture_output": True, "text": True, "timeout": 60, "check": False, "stdin": subprocess.DEVNULL}
        return subprocess.run(self.inside(host, *command), **{**given, **options})  # type: ignore[call-overload,no-any-return]

    def start(self) -> None:
        """Make the hosts. Raises NoNamespaces."""
        table = self._folder / "hosts"
        table.write_text(
            "".join(f"{address} {name}\n" for name, address in {"localhost": "127.0.0.1", **self.hosts}.items())
        )
        self.rsh.write_text(_RSH.format(path=str(self._folder / "rsh.socket")))
        self.rsh.chmod(0o755)
        for name in self.hosts:
            script = (
                f"hostname {name} && mount --bind {shlex.quote(str(table))} /etc/hosts && mount -t tmpfs shm /dev/shm "
                "&& mount -t sysfs sys /sys "
                "&& ip link set lo up && echo ready && exec sleep 600"
            )
            child = subprocess.Popen(
                ["unshare", "--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc",
                 "sh", "-c", script],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            self._first[name] = child
            assert child.stdout and child.stderr
            if child.stdout.readline() != b"ready\n":
                raise NoNamespaces(child.stderr.read().decode(errors="replace"))
        self._join()
        threading.Thread(target=self._serve, args=(self._listen(),), daemon=True).start()

    def stop(self) -> None:
        """End each host with all that runs there."""
        for child in self._first.values():
            child.kill()  # unshare; its child, the first process there, dies with it
        for child in self._first.values():
            child.wait(10)
            for pipe in (child.stdout, child.stderr):
                if pipe:
                    pipe.close()
        with contextlib.suppress(OSError):  # where nothing was started it is not connected
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits there
        self._listener.close()
        for end in self._relays:
            os.close(end)

    def add_ipoib(self, name: str) -> dict[str, str]:
        """An interface on each of two hosts whose link type is InfiniBand, as IPoIB's is, whatever its name. What one
        sends the other receives. Returns the addresses. Raises NoNamespaces where there is no /dev/net/tun.
        """
        ends = {host: self._tun(host, name) for host in self.hosts}
        self._relays += ends.values()
        addresses = {host: f"10.99.0.{number}" for number, host in enumerate(ends, 1)}
        for host, address in addresses.items():
            self._ip(host, "addr", "add", f"{address}/24", "dev", name)
            self._ip(host, "link", "set", name, "mtu", "2044", "up")
            self._await_running(host, name)
        a, b = ends.values()
        for source, sink in ((a, b), (b, a)):
            threading.Thread(target=_relay, args=(source, sink), daemon=True).start()
        return addresses

    def _ip(self, host: str, *words: str) -> None:
        done = self.run(host, "ip", *words)
        if done.returncode:
            raise NoNamespaces(f"ip {' '.join(words)}: {done.stderr}")

    def _await_running(self, host: str, interface: str) -> None:
        """Until the kernel calls it usable, up to a second after both ends are up (net/core/link_watch.c). UCX leaves
        out what is not.
        """
        deadline = time.monotonic() + 30
        while not re.search(r" state (?:UP|UNKNOWN) ", self.run(host, "ip", "-o", "link", "show", interface).stdout):
            if time.monotonic() > deadline:
                raise NoNamespaces(f"{interface} does not come up")
            time.sleep(0.05)

    def _init(self, host: str) -> int:
        """The first process of a host, as it is called here: the child of unshare."""
        words = ["pgrep", "-P", str(self._first[host].pid)]
        return int(subprocess.run(words, capture_output=True, check=True, timeout=20).stdout.split()[0])

    def _join(self) -> None:
        """A veth pair between the two hosts. Numbers of processes are those of this namespace, so no host makes it."""
        first, second = (str(self._init(host)) for host in self.hosts)
        words = ("ip", "link", "add", "ve0", "type", "veth", "peer", "name", "ve0", "netns", second)
        made = subprocess.run(
            ["nsenter", "--target", first, "--net", "--", *words], capture_output=True, text=True, check=False,
            timeout=20,
        )  # fmt: skip
        if made.returncode:
            raise NoNamespaces(made.stderr)
        for host, address in self.hosts.items():
            self._ip(host, "addr", "add", f"{address}/24", "dev", "ve0")
            self._ip(host, "link", "set", "ve0", "up")
        for host in self.hosts:
            self._await_running(host, "ve0")

    def _tun(self, host: str, name: str) -> int:
        """The near end of an interface there. A tun device of any link type (TUNSETLINK) is what a kernel without
        InfiniBand can have.
        """
        asked: list[int | OSError] = []

        def make() -> None:
            # A thread of its own enters the host's network, and is thrown away with it.
            try:
                with open(f"/proc/{self._init(host)}/ns/net") as space:
                    _setns(space.fileno())
                end = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
                fcntl.ioctl(end, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN_NO_PI))
                fcntl.ioctl(end, _TUNSETLINK, _ARPHRD_INFINIBAND)
                asked.append(end)
            except OSError as error:
                asked.append(error)

        thread = threading.Thread(target=make)
        thread.start()
        thread.join(20)
        if not asked or isinstance(asked[0], OSError):
            raise NoNamespaces(f"/dev/net/tun: {asked}")
        return asked[0]

    def _listen(self) -> socket.socket:
        self._listener.bind(str(self._folder / "rsh.socket"))
        (self._folder / "rsh.socket").chmod(0o777)  # for ordinary users, where the folder lets them in
        self._listener.listen(8)
        return self._listener

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                asked, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve_one, args=(asked,), daemon=True).start()

    def _serve_one(self, asked: socket.socket) -> None:
        with asked:
            words, files, _, _ = socket.recv_fds(asked, 1 << 16, 3)
            given = words.decode().split("\0")
            while given[0].startswith("-"):  # ssh's own options: Hydra gives -x
                del given[0]
            host, *command = given
            line = self.inside(host, *self.user, "sh", "-c", " ".join(command))
            try:
                status = subprocess.run(
                    line, stdin=files[0], stdout=files[1], stderr=files[2], env=self.environment, check=False
                ).returncode
            finally:
                for file in files:
                    os.close(file)
            with contextlib.suppress(OSError):
                asked.send(str(status if status >= 0 else 128 - status).encode())


@contextlib.contextmanager
def cluster(folder: Path, names: tuple[str, str] = ("nodea", "nodeb")) -> Iterator[Cluster]:
    """Hosts with these names. Raises NoNamespaces."""
    if os.geteuid():
        raise NoNamespaces("only root makes them")
    made = Cluster(folder, names)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def _setns(descriptor: int) -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, 0):
        raise OSError(ctypes.get_errno(), "setns")


def _relay(source: int, sink: int) -> None:
    """Packets from one end to the other, until one is closed."""
    while True:
        try:
            os.write(sink, os.read(source, 1 << 16))
        except OSError:
            return
