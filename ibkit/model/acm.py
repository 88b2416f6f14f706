"""ibacm on a host, and what it and ibarr answer to the question which GID and path an address has."""

from __future__ import annotations

from ibkit.model.ids import Gid, Guid, PKey
from ibkit.model.path_record import PathRecord
from ibkit.parsers.base import Problem
from ibkit.parsers.records import NamedTuple

#: What ibacm was asked: what is in its cache, what is in it or can be looked up, or what the SA says past its cache.
CACHE, LOOKUP, SA = "cache", "lookup", "sa"


class AcmEndpoint(NamedTuple):
    """A (device, port, P_Key) that ibacm serves, and the names and IP addresses by which it knows it.

    ``number`` counts from 1, the newest P_Key first; ``guid`` is the device's node GUID.
    """

    number: int
    guid: Guid
    port: int
    port_count: int
    pkey: PKey
    provider: str
    addresses: tuple[str, ...]


class AcmService(NamedTuple):
    """ibacm as it is found. None is not known; ``address`` is its socket, ``counters`` count since its start."""

    is_running: bool | None
    address: str | None = None
    endpoints: tuple[AcmEndpoint, ...] | None = None
    counters: dict[str, int] | None = None
    problems: tuple[Problem, ...] = ()


class AcmAnswer(NamedTuple):
    """What ibacm says of one destination, seen from one endpoint (None: from the one that it chose itself).

    ``path`` is None where it has none; then ``error`` says why, and ``status`` is ibacm's number for it, None where no
    answer came. ``by`` is one of CACHE, LOOKUP, SA.
    """

    endpoint: AcmEndpoint | None
    path: PathRecord | None
    by: str
    status: int | None = None
    error: str | None = None


class IbarrAnswer(NamedTuple):
    """What a peer's ibarr says of its address. ``gid`` is None where ``error`` says why."""

    gid: Gid | None
    error: str | None = None
