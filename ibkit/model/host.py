"""A host's HCAs and their ports."""

from __future__ import annotations

from typing import NamedTuple

from ibkit.model.ids import Gid, Guid, PKey
from ibkit.parsers.base import Problem


class GidEntry(NamedTuple):
    """One filled row of a port's GID table. ``type`` is IB, RoCE v1 or RoCE v2 as the kernel writes it, else None."""

    gid_index: int
    gid: Gid
    type: str | None = None
    netdev: str | None = None


class HcaPort(NamedTuple):
    """One port of an HCA; None is what could not be seen.

    ``state`` is Active, Armed, Initialize, Down ... and ``physical_state`` LinkUp, Polling, Disabled ..., in the
    words of ibstat whichever source spoke; ``link_layer`` is InfiniBand or Ethernet. ``lid`` and ``sm_lid`` are
    None where they mean nothing: on Ethernet, on a port that is not Active (stale) and for 0 and 65535.
    ``rate_gbps`` is the link's rate in Gb/s, ``width`` is like 4x and ``speed`` like HDR.
    """

    port: int
    state: str | None = None
    physical_state: str | None = None
    link_layer: str | None = None
    lid: int | None = None
    lmc: int | None = None
    sm_lid: int | None = None
    sm_sl: int | None = None
    rate_gbps: float | None = None
    width: str | None = None
    speed: str | None = None
    port_guid: Guid | None = None
    capability_mask: int | None = None
    gids: tuple[GidEntry, ...] = ()
    pkeys: tuple[PKey, ...] = ()
    netdevs: tuple[str, ...] = ()


class Hca(NamedTuple):
    """An RDMA device. ``node_description`` is raw."""

    name: str
    ports: tuple[HcaPort, ...] = ()
    node_guid: Guid | None = None
    system_image_guid: Guid | None = None
    hca_type: str | None = None
    firmware: str | None = None
    hardware: str | None = None
    board_id: str | None = None
    node_description: str | None = None


class HostHcas(NamedTuple):
    """All devices of one host, and which source spoke (``sysfs``, ``ibstat``; None where none did)."""

    host: str
    hcas: tuple[Hca, ...] = ()
    spoke: str | None = None
    problems: tuple[Problem, ...] = ()
