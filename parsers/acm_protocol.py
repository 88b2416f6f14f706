"""The messages between ibacm and its clients: bytes to records and back.

Sources: rdma-core, ``infiniband/acm.h`` for the layout, ``ibacm/src/acm.c`` for what the service makes of it. A message
is a head of 16 bytes, then elements of 72 bytes each (RESOLVE, and the address in a request of PERF_QUERY), counters of
8 (the answer to PERF_QUERY) or an endpoint (the answer to EP_QUERY). Length and elements of RESOLVE are in the byte
order of the host, since both ends are on one machine; the length, counters and endpoints of the queries, all addresses
and path records are in network order.

Every text of at least a head's length is a message and encodes to the same bytes again; :func:`fault` says what is
wrong with one.
"""

from __future__ import annotations

import struct
import sys

from ibkit.parsers.erased import TYPE_CHECKING
from ibkit.parsers.records import NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    Order = Literal["little", "big"]

VERSION = 1
RESOLVE, PERF_QUERY, EP_QUERY = 1, 2, 3
_ACK = 0x80
#: Flags of an element: it is the source, the destination; answer from the cache at once; ask the SA, not the cache.
SOURCE, DEST, NODELAY, QUERY_SA = 1, 2, 1 << 30, 1 << 31
#: Types of an element. GID and LID exist inside of ibacm only: it looks such destinations up in the wrong way.
NAME, IP4, IP6, GID, LID, PATH = 1, 2, 3, 4, 5, 0x10
#: What the counters of PERF_QUERY count, in their order (``enum`` in acm.h).
COUNTERS = ("error", "resolve", "no_data", "addr_query", "addr_cache", "route_query", "route_cache")

HEAD_BYTES, ELEMENT_BYTES, ADDRESS_BYTES, ENDPOINT_BYTES = 16, 72, 64, 80
_PATH = struct.Struct(">Q16s16sHHIBBHHBBBB6s")
_ENDPOINT = struct.Struct(">QBB2sHH64s")

#: Statuses by number: name, and what was the matter. Those of the SA are the upper byte of its own status, so 1, 2, 3,
#: 5 and 6 may be either's.
STATUSES = {
    0: ("SUCCESS", "no error"),
    1: ("ENOMEM", "ibacm has no memory, or the SA no resources"),
    2: ("EINVAL", "ibacm takes the request for a bad one, or the SA does"),
    3: ("ENODATA", "not in ibacm's cache, or the SA has no such path"),
    4: ("TOO_MANY_RECORDS", "the SA has too many records"),
    5: ("ENOTCONN", "ibacm's endpoint is not connected, or the SA does not know a GID"),
    6: ("ETIMEDOUT", "nobody answered ibacm's question, or the SA wants more in its request"),
    7: ("ESRCADDR", "the source is no address of ibacm's endpoints"),
    8: ("ESRCTYPE", "ibacm does not know the source's type"),
    9: ("EDESTADDR", "no destination, or more than one"),
    10: ("EDESTTYPE", "no destination of a known type, or a name without a source"),
}


class Element(NamedTuple):
    """A source, a destination or a path. ``info`` are 64 bytes: an address or a name filled up with zeros, or a path
    record (:func:`decode_path`).
    """

    flags: int
    type: int
    info: bytes
    reserved: int = 0

    @property
    def address(self) -> bytes | None:
        """An IP address' bytes, a name's up to its end; None for another type."""
        if self.type == IP4:
            return self.info[:4]
        if self.type == IP6:
            return self.info[:16]
        return self.info.partition(b"\0")[0] if self.type == NAME else None


class Endpoint(NamedTuple):
    """A (device, port, P_Key) that ibacm serves. ``provider`` and ``addresses`` have 64 bytes each, see :func:`text`.

    ``address_count`` is what the message says; ``addresses`` are those that are there.
    """

    guid: int
    port: int
    port_count: int
    pkey: int
    address_count: int
    provider: bytes
    addresses: tuple[bytes, ...]
    reserved: bytes = bytes(2)


class Message(NamedTuple):
    """A request or an answer. ``length`` is what the head says; ``order`` is the host's byte order; ``id`` is echoed.

    ``data`` are the three bytes of the head whose meaning depends on the operation. ``tail`` is what is left behind the
    last whole part.
    """

    operation: int
    status: int = 0
    data: tuple[int, int, int] = (0, 0, 0)
    id: bytes = bytes(8)
    elements: tuple[Element, ...] = ()
    counters: tuple[int, ...] = ()
    endpoint: Endpoint | None = None
    is_ack: bool = False
    length: int = HEAD_BYTES
    tail: bytes = b""
    order: Order = "little"
    version: int = VERSION


def decode(data: bytes) -> Message | None:
    """The message that these bytes are; None where there is not even a head."""
    if len(data) < HEAD_BYTES:
        return None
    operation, is_ack = data[1] & ~_ACK, data[1] >= _ACK
    order: Order = sys.byteorder
    if operation == RESOLVE and length_of(data[:HEAD_BYTES], order) != len(data):
        other: Order = "big" if order == "little" else "little"
        if length_of(data[:HEAD_BYTES], other) == len(data):  # recorded on a machine of the other kind
            order = other
    body = data[HEAD_BYTES:]
    elements: tuple[Element, ...] = ()
    counters: tuple[int, ...] = ()
    endpoint = None
    if operation == RESOLVE or (operation == PERF_QUERY and not is_ack):
        count = len(body) // ELEMENT_BYTES
        elements = tuple(_element(body[i * ELEMENT_BYTES :][:ELEMENT_BYTES], order) for i in range(count))
        body = body[count * ELEMENT_BYTES :]
    elif operation == PERF_QUERY:
        count = len(body) // 8
        counters = struct.unpack(f">{count}Q", body[: count * 8])
        body = body[count * 8 :]
    elif operation == EP_QUERY and len(body) >= ENDPOINT_BYTES:
        endpoint = _endpoint(body)
        body = body[ENDPOINT_BYTES + len(endpoint.addresses) * ADDRESS_BYTES :]
    return Message(
        operation, data[2], (data[3], data[4], data[5]), data[8:HEAD_BYTES], elements, counters, endpoint, is_ack,
        length_of(data[:HEAD_BYTES], order), body, order, data[0],
    )  # fmt: skip


def length_of(head: bytes, order: Order = sys.byteorder) -> int:
    """The length of the whole message by its head, which is 16 bytes."""
    return int.from_bytes(head[6:8], order if head[1] & ~_ACK == RESOLVE else "big")


def _element(data: bytes, order: Order) -> Element:
    flags, kind, reserved = (int.from_bytes(data[i:j], order) for i, j in ((0, 4), (4, 6), (6, 8)))
    return Element(flags, kind, data[8:], reserved)


def _endpoint(data: bytes) -> Endpoint:
    guid, port, ports, reserved, pkey, count, provider = _ENDPOINT.unpack_from(data)
    rest = data[ENDPOINT_BYTES:]
    there = len(rest) // ADDRESS_BYTES
    addresses = tuple(rest[i * ADDRESS_BYTES :][:ADDRESS_BYTES] for i in range(there))
    return Endpoint(guid, port, ports, pkey, count, provider, addresses, reserved)


def encode(message: Message) -> bytes:
    """The bytes of a message. Numbers that are too large for their fields lose their upper bits."""
    order = message.order
    length = (message.length & 0xFFFF).to_bytes(2, order if message.operation == RESOLVE else "big")
    operation = message.operation & ~_ACK | (_ACK if message.is_ack else 0)
    head = bytes(number & 0xFF for number in (message.version, operation, message.status, *message.data))
    parts = [head, length, _filled(message.id, 8)]
    for element in message.elements:
        numbers = ((element.flags, 4), (element.type, 2), (element.reserved, 2))
        parts += [(number & (1 << 8 * size) - 1).to_bytes(size, order) for number, size in numbers]
        parts.append(_filled(element.info, ADDRESS_BYTES))
    parts += [(counter & (1 << 64) - 1).to_bytes(8, "big") for counter in message.counters]
    if message.endpoint is not None:
        guid, port, ports, pkey, count, provider, addresses, reserved = message.endpoint
        numbers_of_it = (guid & (1 << 64) - 1, port & 0xFF, ports & 0xFF, _filled(reserved, 2), pkey & 0xFFFF)
        parts.append(_ENDPOINT.pack(*numbers_of_it, count & 0xFFFF, _filled(provider, ADDRESS_BYTES)))
        parts += [_filled(address, ADDRESS_BYTES) for address in addresses]
    return b"".join((*parts, message.tail))


def fault(message: Message) -> str | None:
    """What is wrong with a message that came in; None where it is well-formed."""
    size = len(encode(message))
    if message.version != VERSION:
        return f"version {message.version}, where ibacm speaks {VERSION}"
    if message.operation not in (RESOLVE, PERF_QUERY, EP_QUERY):
        return f"an unknown operation: {message.operation}"
    if message.length != size:
        return f"its head tells of {message.length} bytes, and {size} are there"
    if message.tail:
        return f"{len(message.tail)} bytes behind its last part"
    endpoint = message.endpoint
    if endpoint is not None and endpoint.address_count != len(endpoint.addresses):
        return f"it tells of {endpoint.address_count} addresses, and {len(endpoint.addresses)} are there"
    is_count = message.operation == PERF_QUERY and message.is_ack and message.status == 0
    if is_count and message.data[0] != len(message.counters):
        return f"it tells of {message.data[0]} counters, and {len(message.counters)} are there"
    return None


def text(data: bytes) -> str:
    """A name or an address as text, up to the zero that ends it."""
    return data.partition(b"\0")[0].decode("utf-8", "backslashreplace")


def status_text(status: int) -> str:
    """A status as a person reads it: the name and what was the matter."""
    if status in STATUSES:
        return "{}: {}".format(*STATUSES[status])
    import os

    return f"{status}: choosing the source failed: {os.strerror(status)}"


class PathRecord(NamedTuple):
    """An SA PathRecord (InfiniBand specification volume 1, 15.2.5.16).

    GIDs are numbers of 128 bits. MTU, rate and packet life time are the specification's codes, each with a selector (0
    greater than, 1 less than, 2 exactly, 3 the largest there is); records that ibacm made of its files and of its own
    port have selector 0, and mean exactly.
    """

    dgid: int = 0
    sgid: int = 0
    dlid: int = 0
    slid: int = 0
    pkey: int = 0
    sl: int = 0
    hop_limit: int = 0
    flow_label: int = 0
    traffic_class: int = 0
    mtu_code: int = 0
    rate_code: int = 0
    life_code: int = 0
    mtu_selector: int = 0
    rate_selector: int = 0
    life_selector: int = 0
    reversible: bool = False
    path_count: int = 0
    qos_class: int = 0
    service_id: int = 0
    preference: int = 0
    raw_traffic: int = 0  # the 4 bits above the flow label
    reserved: bytes = bytes(6)


def decode_path(data: bytes) -> PathRecord | None:
    """The path record that these bytes are; None where there are not 64."""
    if len(data) != ADDRESS_BYTES:
        return None
    service, dgid, sgid, dlid, slid, flow, traffic, count, pkey, qos, mtu, rate, life, preference, reserved = (
        _PATH.unpack(data)
    )
    return PathRecord(
        int.from_bytes(dgid, "big"), int.from_bytes(sgid, "big"), dlid, slid, pkey, qos & 0xF, flow & 0xFF,
        flow >> 8 & 0xFFFFF, traffic, mtu & 0x3F, rate & 0x3F, life & 0x3F, mtu >> 6, rate >> 6, life >> 6,
        count >= 0x80, count & 0x7F, qos >> 4, service, preference, flow >> 28, reserved,
    )  # fmt: skip


def encode_path(path: PathRecord) -> bytes:
    """The 64 bytes of a path record. Numbers that are too large for their fields lose their upper bits."""
    gids = ((gid & (1 << 128) - 1).to_bytes(16, "big") for gid in (path.dgid, path.sgid))
    flow = (path.raw_traffic & 0xF) << 28 | (path.flow_label & 0xFFFFF) << 8 | path.hop_limit & 0xFF
    coded = (
        (selector & 3) << 6 | code & 0x3F
        for selector, code in (
            (path.mtu_selector, path.mtu_code),
            (path.rate_selector, path.rate_code),
            (path.life_selector, path.life_code),
        )
    )
    return _PATH.pack(
        path.service_id & (1 << 64) - 1, *gids, path.dlid & 0xFFFF, path.slid & 0xFFFF, flow, path.traffic_class & 0xFF,
        path.reversible << 7 | path.path_count & 0x7F, path.pkey & 0xFFFF,
        (path.qos_class & 0xFFF) << 4 | path.sl & 0xF, *coded, path.preference & 0xFF, _filled(path.reserved, 6),
    )  # fmt: skip


def _filled(data: bytes, size: int) -> bytes:
    return data[:size].ljust(size, b"\0")


def resolve_request(dest: tuple[int, bytes], source: tuple[int, bytes] | None = None, *, flags: int = 0) -> bytes:
    """Ask for the path to an address: ``dest`` and ``source`` are a type (NAME, IP4, IP6) and its bytes.

    ``flags``: NODELAY answers from the cache at once. Without a source the kernel's IP routing picks one, so a NAME
    needs one. ibacm compares all 64 bytes of an address, hence the zeros behind it.
    """
    elements = [] if source is None else [_address(SOURCE, source)]
    return _request(RESOLVE, (*elements, _address(DEST | flags, dest)))


def path_request(path: PathRecord, *, flags: int = 0) -> bytes:
    """Ask for the one reversible path whose record has these GIDs, LIDs and P_Key.

    ``flags``: QUERY_SA goes past ibacm's cache. Name the SGID and the P_Key always: ibacm takes the port by the first
    and its last endpoint without the second.
    """
    wanted = path._replace(reversible=True, path_count=1)
    return _request(RESOLVE, (Element(flags, PATH, encode_path(wanted)),))


def counters_request(source: tuple[int, bytes] | None = None) -> bytes:
    """Ask for the counters of the service, or of the endpoint that has an address."""
    return _request(PERF_QUERY, () if source is None else (_address(SOURCE, source),))


def endpoint_request(index: int, port: int = 0) -> bytes:
    """Ask for the endpoint of this index, which counts from 1 (255 at most); ``port`` 0 counts those of all ports."""
    return _request(EP_QUERY, (), (index & 0xFF, port & 0xFF, 0))


def _address(flags: int, address: tuple[int, bytes]) -> Element:
    kind, data = address
    if len(data) > ADDRESS_BYTES:
        raise ValueError(f"an address of {len(data)} bytes, where ibacm has {ADDRESS_BYTES}")
    return Element(flags, kind, _filled(data, ADDRESS_BYTES))


def _request(operation: int, elements: tuple[Element, ...], data: tuple[int, int, int] = (0, 0, 0)) -> bytes:
    length = HEAD_BYTES + ELEMENT_BYTES * len(elements)
    return encode(Message(operation, data=data, elements=elements, length=length, order=sys.byteorder))
