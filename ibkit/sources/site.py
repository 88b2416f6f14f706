"""What a command works on: some hosts, one view of the subnet, perhaps a job; live or from a file."""

from __future__ import annotations

from collections.abc import Callable

from ibkit.parsers.erased import BinaryIO
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Source


class Origin(NamedTuple):
    """Where all of it comes from. ``kind`` is live, capture or raw; ``time`` is ISO 8601 with zone, None for raw."""

    kind: str
    label: str
    time: str | None = None
    note: str | None = None


class Watched(NamedTuple):
    """A second look at a host, ``seconds`` after the first one, for what a job's processes moved in between. ``target``
    names the job as ``check-mpi-transport`` takes it.
    """

    target: str
    seconds: float
    later: Source


class Host(NamedTuple):
    """A host by the name it gave itself."""

    name: str
    source: Source
    watched: Watched | None = None


class JobFile(NamedTuple):
    """One log of a job. ``open()`` gives its bytes as a stream: a log may be larger than the memory."""

    name: str
    open: Callable[[], BinaryIO]


class Site(NamedTuple):
    """``subnet`` answers the fabric-wide tools; on a live host it is that host."""

    origin: Origin
    hosts: tuple[Host, ...]
    subnet: Source
    job: tuple[JobFile, ...] = ()
