"""What a GID's bits say: an IPv4 address, an alias, a floating LID. Pure."""

from __future__ import annotations

from ibkit.model.ids import Gid, Guid

#: The upper 24 bits of the alias GUIDs that subnet managers of NVIDIA give; the lower 16 are the port's LID
#: (openucx/ucx, issue 9585; NVIDIA's documentation of IB routers).
ALIAS_OUI = 0x001405
_SITE_LOCAL, _SITE_LOCAL_SHIFT = 0x3FB, 54


def is_ip_gid(gid: Gid) -> bool:
    """Whether it is made of an IPv4 address (::ffff:10.0.0.1), as only RoCE has it."""
    return int(gid) >> 32 == 0xFFFF


def alias_lid(guid: Guid) -> int | None:
    """The LID that an alias GUID was made of; None for any other GUID."""
    return int(guid) & 0xFFFF if guid >> 40 == ALIAS_OUI else None


def flid_of(gid: Gid) -> int | None:
    """The floating LID in a site-local prefix: 10 bits, 22 that are 0, 16 of the FLID, 16 of the subnet's number
    (Mellanox/ip2gid, ``src/path_resolve.c``; NVIDIA/nccl, ``src/transport/net_ib``). None where there is none.
    """
    prefix = gid.subnet_prefix
    if prefix >> _SITE_LOCAL_SHIFT != _SITE_LOCAL or prefix >> 32 & 0x3FFFFF:
        return None
    return prefix >> 16 & 0xFFFF or None


def prefix_text(prefix: int) -> str:
    """A subnet's prefix as the first half of a GID: ``fe80:0000:0000:0000``."""
    return str(Gid(prefix << 64))[:19]
