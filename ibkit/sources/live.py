"""The live host: it opens /sys and /proc itself, and has the modules beside it start processes, ask pyverbs and psutil,
and talk to services. What they cost to import is paid where they are asked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence

from ibkit.sources.base import (
    NOT_RECORDED,
    CommandAnswer,
    Entry,
    ExchangeAnswer,
    FileAnswer,
    FolderAnswer,
    InterfacesAnswer,
    VerbsAnswer,
    errno_name,
)

#: The largest output that is kept of one command, in bytes (ibqueryerrors of 11,200 HCAs is 23 MB). Captures are read
#: up to the double.
MAX_OUTPUT_BYTES = 128 << 20
#: The largest file that is read whole, in bytes.
MAX_FILE_BYTES = 16 << 20
#: Ordinary users lack these on PATH, and infiniband-diags lives there.
SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")

_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link", stat.S_IFCHR: "device"}


class LiveSource:
    """This host. ``root`` prefixes every path that is read (tests give a recorded tree), ``tick`` is called about
    once a second with the command that is running and its age in seconds.
    """

    def __init__(self, root: str = "", tick: Callable[[str, float], None] | None = None) -> None:
        self._root = root
        self._tick = tick

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        """Run in a process group of its own, which is killed whole at the deadline or on an interrupt."""
        from ibkit.sources.processes import run_group  # subprocess costs 8 ms: replays do not pay

        return run_group(tuple(argv), find_tool(argv[0]), deadline_seconds, MAX_OUTPUT_BYTES, self._tick)

    def read(self, path: str) -> FileAnswer:
        """Read a regular file; a FIFO or a device is refused instead of waited for."""
        try:
            descriptor = os.open(self._root + path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return FileAnswer(path, error=errno_name(error))
        except ValueError:  # a NUL in the path
            return FileAnswer(path, error="EINVAL")
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return FileAnswer(path, error="not-a-file")
            pieces = []
            size = 0
            while piece := os.read(descriptor, 1 << 16):
                pieces.append(piece)
                size += len(piece)
                if size > MAX_FILE_BYTES:
                    return FileAnswer(path, error="EFBIG")
            data = b"".join(pieces)
            if path.startswith("/proc/"):
                from ibkit.sources.private import reduced_file  # most starts read nothing there

                data = reduced_file(path, data)
            return FileAnswer(path, data)
        except OSError as error:
            return FileAnswer(path, error=errno_name(error))
        finally:
            os.close(descriptor)

    def list(self, path: str) -> FolderAnswer:
        """List a folder: names, kinds, link targets, owners and modes."""
        folder = self._root + path
        try:
            if not path.startswith("/proc/"):
                return FolderAnswer(path, tuple(_entries(folder)))
            from ibkit.sources.private import is_open_sockets, reduced_folder

            entries = _links(folder) if is_open_sockets(path) else _entries(folder)
            return FolderAnswer(path, reduced_folder(path, tuple(entries)))
        except OSError as error:
            return FolderAnswer(path, error=errno_name(error))
        except ValueError:  # a NUL in the path
            return FolderAnswer(path, error="EINVAL")

    def verbs(self) -> VerbsAnswer:
        """Ask pyverbs. A recorded tree has no devices to open."""
        from ibkit.sources.verbs import ask_verbs

        tick = self._tick
        named = None if tick is None else lambda _command, seconds: tick("pyverbs", seconds)
        return VerbsAnswer(error=NOT_RECORDED) if self._root else ask_verbs(LiveSource(tick=named).run)

    def interfaces(self) -> InterfacesAnswer:
        """Ask netifaces and psutil. A recorded tree has no interfaces of its own."""
        if self._root:
            return InterfacesAnswer(error=NOT_RECORDED)
        from ibkit.sources.interfaces import ask_interfaces

        return ask_interfaces()

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        """Ask a service. A recorded tree has none."""
        if self._root:
            return ExchangeAnswer(address, request, error=NOT_RECORDED)
        from ibkit.sources.services import ask_service

        return ask_service(address, request, deadline_seconds)


def _entries(folder: str) -> Iterator[Entry]:
    for name in sorted(os.listdir(folder)):
        full = f"{folder}/{name}"
        try:
            status = os.lstat(full)
        except OSError:
            continue  # it went away between the two calls
        target = _target(full) if stat.S_ISLNK(status.st_mode) else None
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
        yield Entry(name, kind, target, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)


def _links(folder: str) -> Iterator[Entry]:
    """Of a folder of nothing but links, which may be thousands: their modes are of no interest."""
    return (Entry(name, "link", _target(f"{folder}/{name}")) for name in sorted(os.listdir(folder)))


def _target(path: str) -> str | None:
    """A link's own text; None where it may not be read (another user's /proc/PID/ns)."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def find_tool(name: str) -> str | None:
    """The executable's path, searched on PATH and in the sbin folders; None where there is none.

    As in a shell, a file that may not be executed is the answer only where there is no better one. The current
    folder is not searched, even if PATH says so: a tool from there is nobody's ibstat.
    """
    if "/" in name:
        return name if os.path.exists(name) else None
    forbidden = None
    for folder in (*os.environ.get("PATH", "").split(os.pathsep), *SYSTEM_FOLDERS):
        candidate = os.path.join(folder, name)
        if os.path.isabs(candidate) and os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                return candidate
            forbidden = forbidden or candidate
    return forbidden
