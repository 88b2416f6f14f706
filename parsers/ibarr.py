"""The messages of ibarr, which answers the kernel's question for the GID of an IP address behind a gateway.

Source: Mellanox/ip2gid, ``include/msg_spec.h`` for the layout, ``src/ipr_server.c`` and ``src/msg_check.c`` for what a
peer makes of it. UDP port 4791 (that of RoCE v2, too). A head of 12 bytes (version, 3 bytes, message id, count of TLVs,
2 bytes), then TLVs: type, length with these 4 bytes, value. All numbers are in network order. IPv4 only.

A peer answers with a GID if the address is one of its IPoIB interfaces, without a TLV if it does not have the address,
and not at all if the address is on another kind of interface.
"""

from __future__ import annotations

import struct

from ibkit.parsers.records import NamedTuple

PORT = 4791
#: The greatest version that peers take. ibarr itself sends 0 on little-endian hosts.
VERSION = 1
IPV4, GID = 1, 0x10

_HEAD = struct.Struct(">B3sIH2s")
_TLV = struct.Struct(">HH")


class Tlv(NamedTuple):
    """A type and its value."""

    type: int
    value: bytes


class Message(NamedTuple):
    """A question or an answer. ``tlv_count`` is the number that the head tells of; ``tail`` is what is no TLV."""

    id: int
    tlvs: tuple[Tlv, ...] = ()
    tlv_count: int = 0
    version: int = VERSION
    tail: bytes = b""
    reserved: tuple[bytes, bytes] = (bytes(3), bytes(2))


def decode(data: bytes) -> Message | None:
    """The message that these bytes are; None where there is not even a head."""
    if len(data) < _HEAD.size:
        return None
    version, first, number, count, second = _HEAD.unpack_from(data)
    rest = data[_HEAD.size :]
    tlvs = []
    while len(rest) >= _TLV.size:
        kind, length = _TLV.unpack_from(rest)
        if not _TLV.size <= length <= len(rest):
            break
        tlvs.append(Tlv(kind, rest[_TLV.size : length]))
        rest = rest[length:]
    return Message(number, tuple(tlvs), count, version, rest, (first, second))


def encode(message: Message) -> bytes:
    """The bytes of a message."""
    head = _HEAD.pack(message.version, message.reserved[0], message.id, message.tlv_count, message.reserved[1])
    tlvs = (_TLV.pack(tlv.type, _TLV.size + len(tlv.value)) + tlv.value for tlv in message.tlvs)
    return b"".join((head, *tlvs, message.tail))


def question(packed: bytes, number: int = 1) -> bytes:
    """Ask for the GID of an IPv4 address (4 bytes)."""
    return encode(Message(number, (Tlv(IPV4, packed),), 1))


def fault(message: Message, number: int = 1) -> str | None:
    """What is wrong with the answer to question ``number``; None where it is well-formed."""
    if message.version > VERSION:
        return f"version {message.version}, where ibarr speaks {VERSION}"
    if message.id != number:
        return f"the answer to question {message.id}, not {number}"
    if message.tail or message.tlv_count != len(message.tlvs):
        return f"it tells of {message.tlv_count} parts, and {len(message.tlvs)} whole ones are there"
    if any(tlv.type != GID or len(tlv.value) != 16 for tlv in message.tlvs) or len(message.tlvs) > 1:
        return "it holds something else than one GID"
    return None


def gid_of(message: Message) -> int | None:
    """The GID of a well-formed answer; None where the peer does not have the address."""
    return int.from_bytes(message.tlvs[0].value, "big") if message.tlvs else None
