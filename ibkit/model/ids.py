"""GUIDs, GIDs and P_Keys: numbers with one canonical text each.

Sources: InfiniBand Architecture Specification volume 1, sections 4.1 (GIDs and GUIDs) and 10.9 (P_Keys).
"""

from __future__ import annotations

import re

_GUID = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,16})\Z")
_GUID_COLONS = re.compile(r"[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){3}\Z")
_GID_FULL = re.compile(r"[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){7}\Z")


class Guid(int):
    """An EUI-64: node, port or system image GUID. Text is ``0x`` and 16 lower-case hexadecimal digits."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Guid:
        """Read any of the tools' spellings: padded or short, with or without ``0x``, sysfs' four groups.

        >>> str(Guid.parse("c42a10300000001"))
        '0x0c42a10300000001'
        >>> str(Guid.parse("b4f0:34ff:fe8e:d331"))
        '0xb4f034fffe8ed331'

        Raises ValueError on anything else.
        """
        text = text.strip()
        if _GUID_COLONS.match(text):
            return cls("".join(group.zfill(4) for group in text.split(":")), 16)
        found = _GUID.match(text)
        if not found:
            raise ValueError(f"not a GUID: {text[:40]!r}")
        return cls(found.group(1), 16)

    def __str__(self) -> str:
        return f"0x{int(self):016x}"

    def __repr__(self) -> str:
        return f"Guid({self})"


class Gid(int):
    """A 128-bit GID. Text is the eight groups of four digits that sysfs prints (no ``::`` shortening).

    >>> Gid.parse("fe80:0000:0000:0000:b4f0:34ff:fe8e:d331").subnet_prefix == 0xfe80 << 48
    True
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Gid:
        """Read sysfs' full form or the shortened IPv6 form. Raises ValueError on anything else."""
        text = text.strip()
        if _GID_FULL.match(text):
            return cls(text.replace(":", ""), 16)
        import ipaddress  # costs 10 ms: only who reads shortened GIDs pays

        return cls(int(ipaddress.IPv6Address(text)))

    @property
    def subnet_prefix(self) -> int:
        """The upper 64 bits."""
        return int(self) >> 64

    @property
    def guid(self) -> Guid:
        """The lower 64 bits, the interface id (the port GUID on InfiniBand)."""
        return Guid(int(self) & (1 << 64) - 1)

    @property
    def not_a_ports(self) -> str | None:
        """What it is instead where no port can have it; None for others. The loopback and multicast GIDs are IPv6's,
        also where an IPv4 address stands in one (InfiniBand Architecture Specification volume 1, 4.1.1; RFC 4291).
        """
        if self >> 32 == 0xFFFF:
            return not_a_hosts(int(self) & 0xFFFFFFFF)
        if self >> 120 == 0xFF:
            return "a multicast group's, not a port's; `saquery MCMR` lists the groups of a subnet"
        return {0: "what stands for no address at all", 1: "the loopback address, of each host itself"}.get(self)

    def __str__(self) -> str:
        digits = f"{int(self):032x}"
        return ":".join(digits[i : i + 4] for i in range(0, 32, 4))

    def __repr__(self) -> str:
        return f"Gid({self})"


def guid_or_none(text: str | None) -> Guid | None:
    """The GUID of a text from outside; None where there is none, or it is no GUID."""
    try:
        return Guid.parse(text) if text else None
    except ValueError:
        return None


def gid_or_none(text: str | None) -> Gid | None:
    """The GID of a text from outside; None where there is none, or it is no GID."""
    try:
        return Gid.parse(text) if text else None
    except ValueError:
        return None


def not_a_hosts(ipv4: int) -> str | None:
    """What an IPv4 address is that no interface of a fabric can have (RFC 6890); None for others."""
    if ipv4 == 0xFFFFFFFF:
        return "the broadcast address, not a host's"
    if ipv4 >> 28 == 0xE:
        return "a multicast group's, not a host's"
    return {0: "what stands for no address at all", 127: "a loopback address, of each host itself"}.get(ipv4 >> 24)


def prefix_text(subnet_prefix: int | None) -> str | None:
    """The first four groups of the GIDs of a subnet; None where the prefix is not known.

    >>> prefix_text(0xfe80 << 48)
    'fe80:0000:0000:0000'
    """
    return None if subnet_prefix is None else str(Gid(subnet_prefix << 64))[:19]


class PKey(int):
    """A 16-bit partition key. The top bit is the membership: set for full, clear for limited."""

    __slots__ = ()

    @property
    def partition(self) -> int:
        """The 15-bit partition number that two members must share."""
        return int(self) & 0x7FFF

    @property
    def is_full_member(self) -> bool:
        """Full members reach everybody in the partition; limited members reach only full ones."""
        return bool(int(self) & 0x8000)

    def __str__(self) -> str:
        return f"0x{int(self):04x}"

    def __repr__(self) -> str:
        return f"PKey({self})"
