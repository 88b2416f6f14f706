"""The messages between ibacm and its clients: bytes to records and back.

Sources: rdma-core, ``ibacm/include/infiniband/acm.h`` and ``ibacm/src/acm.c``; ``ibacm/src/libacm.c`` for what a client
sends. A message is a head of 16 bytes and elements of 72 (RESOLVE), counters of 8 (PERF_QUERY) or an endpoint
(EP_QUERY). Numbers of RESOLVE are in the host's byte order, since it is spoken on one machine only; those of the two
queries, addresses and path records are in network order.
"""

from __future__ import annotations

from ibkit.parsers.records import NamedTuple

RESOLVE, PERF_QUERY, EP_QUERY = 1, 2, 3
#: Flags of an element: it is the source, the destination; ask the SA and not the cache; the cache only, at once.
SOURCE, DEST, QUERY_SA, NODELAY = 1, 2, 1 << 31, 1 << 30
#: Types of an element.
TYPE_NAME, TYPE_IP4, TYPE_IP6, TYPE_PATH = 1, 2, 3, 0x10


class PathRecord(NamedTuple):
    """An SA PathRecord of 64 bytes (InfiniBand specification volume 1, 15.2.5.16). Selectors: 0 greater, 1 less,
    2 exactly, 3 largest; ``mtu_code``, ``rate_code`` and ``life_code`` are the codes of the specification.
    """

    dgid: int = 0
    sgid: int = 0
    dlid: int = 0
    slid: int = 0
    pkey: int = 0
    service_id: int = 0
    flow_label: int = 0
    hop_limit: int = 0
    traffic_class: int = 0
    reversible: bool = False
    path_count: int = 0
    qos_class: int = 0
    sl: int = 0
    mtu_selector: int = 0
    mtu_code: int = 0
    rate_selector: int = 0
    rate_code: int = 0
    life_selector: int = 0
    life_code: int = 0
    preference: int = 0
    raw_flow: int = 0  # the 4 bits above the flow label
    reserved: bytes = bytes(6)


def decode_path(data: bytes) -> PathRecord | None:
    """A path record; None where there are not 64 bytes."""
    raise NotImplementedError


def encode_path(path: PathRecord) -> bytes:
    """64 bytes; each number is cut to its bits."""
    raise NotImplementedError
