"""A source answers six things: run a command, read a file, list a folder, read verbs, name the interfaces, and ask a
service over its socket.

Nothing else in ibkit starts a process or opens /sys. The live host, a capture and a raw tool output are sources, and
a recording source wraps another one, so that a collector works the same live, offline and in tests.
An answer is never an exception: what could not be had says why, in ``failure`` or ``error``.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

from ibkit.parsers.erased import Any, Protocol
from ibkit.parsers.records import NamedTuple

#: ``failure`` of a command: not on PATH; could not be started (no right to execute it, no process left); over its
#: deadline (its process group was killed); printed more than a source keeps; the capture does not hold it.
MISSING, DENIED, TIMEOUT, TOO_MUCH, NOT_RECORDED = "missing", "denied", "timeout", "too-much-output", "not-recorded"


class CommandAnswer(NamedTuple):
    """What a command printed. ``exit_status`` is negative for a signal, None where it gave none (see ``failure``)."""

    argv: tuple[str, ...]
    stdout: bytes = b""
    stderr: bytes = b""
    exit_status: int | None = None
    seconds: float = 0.0
    failure: str | None = None

    @property
    def command(self) -> str:
        """The command as a person would type it."""
        return " ".join(self.argv)

    @property
    def out(self) -> str:
        """Stdout as text."""
        return to_text(self.stdout)

    @property
    def err(self) -> str:
        """Stderr as text."""
        return to_text(self.stderr)


class FileAnswer(NamedTuple):
    """A file's bytes, or the errno's name (``ENOENT``, ``EACCES``, ``EINVAL`` ...; ``not-recorded``)."""

    path: str
    data: bytes | None = None
    error: str | None = None

    @property
    def text(self) -> str | None:
        """The bytes as text, or None."""
        return None if self.data is None else to_text(self.data)


class Entry(NamedTuple):
    """One name in a folder. ``kind`` is file, folder, link, device or other; ``target`` is a link's own text."""

    name: str
    kind: str
    target: str | None = None
    mode: int | None = None
    uid: int | None = None
    gid: int | None = None


class FolderAnswer(NamedTuple):
    """A folder's entries sorted by name, or the errno's name."""

    path: str
    entries: tuple[Entry, ...] | None = None
    error: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The entries' names; empty where the folder could not be listed."""
        return tuple(entry.name for entry in self.entries or ())


class VerbsAnswer(NamedTuple):
    """What pyverbs returned, as JSON-like data (see ibkit.sources.verbs), or why it returned nothing."""

    devices: Any = None
    error: str | None = None


class InterfacesAnswer(NamedTuple):
    """What netifaces and psutil returned, as JSON-like data (see ibkit.sources.interfaces), or why they did not."""

    interfaces: Any = None
    gateways: Any = None
    error: str | None = None


#: ``error`` of an exchange, if it is no errno's name: over its deadline; the service closed the connection early.
LATE, CLOSED = "timeout", "closed"


class ExchangeAnswer(NamedTuple):
    """What a service replied to one request, or the errno's name, ``timeout``, ``closed``, ``not-recorded``.

    With an error ``reply`` is what had come by then.
    """

    address: str
    request: bytes
    reply: bytes = b""
    error: str | None = None


class SavedText(NamedTuple):
    """What somebody saved of a tool, in the place of answers: nobody knows of which command, and how it ended.

    ``path`` is the file as it was named.
    """

    path: str
    data: bytes


class Source(Protocol):
    """Where bytes come from."""

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        """Run a command without a shell; answer what it printed."""

    def read(self, path: str) -> FileAnswer:
        """Read a small file such as a sysfs attribute."""

    def list(self, path: str) -> FolderAnswer:
        """List a folder without following links."""

    def verbs(self) -> VerbsAnswer:
        """Ask pyverbs for all devices."""

    def interfaces(self) -> InterfacesAnswer:
        """Ask netifaces and psutil for all network interfaces."""

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        """Send one request to a service and wait for its reply; for ``address`` see ibkit.sources.services."""


def to_text(data: bytes) -> str:
    r"""Bytes from outside as text. Broken UTF-8 becomes ``\xNN``, so that every text can be printed and stored."""
    return data.decode("utf-8", "backslashreplace")


def errno_name(error: OSError) -> str:
    """``ENOENT`` and its like."""
    return errno.errorcode.get(error.errno or 0, "EIO")
