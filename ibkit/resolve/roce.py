"""Which entry of a RoCE port's GID table should be used, and which one libraries take by themselves. Pure.

RoCE v2 packets are UDP, and go where the IP addresses in them are routed; those of v1 are plain Ethernet and stay on
their link (InfiniBand Architecture Specification, annexes A16 and A17). So the entry to use is one of type RoCE v2 made
of an IPv4 address, or of a global IPv6 one where there is none. By themselves libraries take:

* UCX: the first one of v2 and IPv4, else of v2 and IPv6, of v1 and IPv4, of v1 and IPv6; each only if the port can
  make an address handle of it (openucx/ucx, ``src/uct/ib/base/ib_device.c``, uct_ib_device_select_gid).
  ``UCX_IB_GID_INDEX``.
* NCCL from 2.21 on: from index 0 on, what is nearer to an IPv4 address and RoCE v2 (NVIDIA/nccl,
  ``src/transport/net_ib``, ncclUpdateGidIndex); before that index 0. ``NCCL_IB_GID_INDEX``.
* Open MPI's btl openib (up to 4.1) and MVAPICH2: index 0. ``btl_openib_gid_index``, ``MV2_DEFAULT_GID_INDEX``.
  Open MPI and MPICH over UCX do as UCX does; what connects by rdma_cm (libfabric's verbs, Intel MPI) goes by the IP
  address and takes the entry of type RoCE v2 that the kernel finds for it (configfs, ``default_roce_mode``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibkit.model.host import GidEntry, HcaPort
from ibkit.model.ids import Gid
from ibkit.model.resolution import Pick, RoceChoice
from ibkit.resolve.gids import is_ip_gid

V1, V2 = "RoCE v1", "RoCE v2"
_LINK_LOCAL = 0xFE80 << 48
#: SoftRoCE's devices; there UCX's wire-up over an IPv4 entry gets no answer (seen with rdma_rxe of Linux 6.1).
_SOFT_DEVICES = ("rxe",)


def choose(port: HcaPort, netdev: str | None = None, own: Gid | None = None, device: str = "") -> RoceChoice:
    """The entry to use, of the network interface that leads to the peer where that is known, or the one of an address
    of the port's ``own``.
    """
    if not port.gids or port.tables_whole is None:
        why = "nobody looked at the port's GID table" if port.tables_whole is None else "the GID table is empty"
        return RoceChoice(None, None, None, f"{why}: an interface of the port needs an IP address")
    entries = [entry for entry in port.gids if netdev in (None, entry.netdev)] or list(port.gids)
    mine = [entry for entry in entries if entry.gid == own]
    best = min(mine or entries, key=_rank)
    picks = tuple(_picks(port, best, device)) if all(entry.type for entry in port.gids) else ()
    return RoceChoice(best.gid_index, best.gid, best.type, _why(best), picks)


def ucx_index(entries: Sequence[GidEntry]) -> int:
    """What UCX takes."""
    for kind, is_ip4 in ((V2, True), (V2, False), (V1, True), (V1, False)):
        for entry in entries:
            if entry.type == kind and is_ip_gid(entry.gid) == is_ip4:
                return entry.gid_index
    return 0


def nccl_index(entries: Sequence[GidEntry]) -> int:
    """What NCCL from 2.21 on takes, for the IPv4 family and RoCE v2, which are its defaults."""
    table = {entry.gid_index: entry for entry in entries}
    best = 0
    for index in range(1, max(table, default=0) + 1):
        candidate, current = table.get(index), table.get(best)
        if candidate is None or not is_ip_gid(candidate.gid):
            continue
        if current is None or not is_ip_gid(current.gid) or (current.type != candidate.type == V2):
            best = index
    return best


def _picks(port: HcaPort, best: GidEntry, device: str) -> Iterable[Pick]:
    soft = device.startswith(_SOFT_DEVICES)
    wanted = best.gid_index
    for_ucx = wanted
    if soft:
        for_ucx = next(
            (entry.gid_index for entry in port.gids if entry.type == V2 and not is_ip_gid(entry.gid)), wanted
        )
    ucx, nccl = ucx_index(port.gids), nccl_index(port.gids)
    yield Pick("UCX", ucx, f"UCX_IB_GID_INDEX={for_ucx}", _word(ucx, for_ucx, soft))
    yield Pick("NCCL 2.21 and later", nccl, f"NCCL_IB_GID_INDEX={wanted}", _word(nccl, wanted))
    yield Pick("NCCL before 2.21", 0, f"NCCL_IB_GID_INDEX={wanted}", _word(0, wanted))
    yield Pick("Open MPI, btl openib", 0, f"OMPI_MCA_btl_openib_gid_index={wanted}", _word(0, wanted))
    yield Pick("MVAPICH2", 0, f"MV2_DEFAULT_GID_INDEX={wanted}", _word(0, wanted))


def _word(taken: int, wanted: int, soft: bool = False) -> str:
    if soft and taken != wanted:
        return f"takes index {taken} by itself, over which its wire-up gets no answer on SoftRoCE"
    return "takes it by itself" if taken == wanted else f"takes index {taken} by itself"


def _rank(entry: GidEntry) -> tuple[int, int]:
    """RoCE v2 before v1, an IPv4 address before a global IPv6 one before a link-local one, then the first."""
    kind = {V2: 0, V1: 1}.get(entry.type or "", 2)
    address = 0 if is_ip_gid(entry.gid) else 2 if entry.gid.subnet_prefix == _LINK_LOCAL else 1
    return kind * 3 + address, entry.gid_index


def _why(entry: GidEntry) -> str:
    if entry.type is None:
        return "the types of the entries are not known, so the first with the best address is taken"
    if entry.type != V2:
        return "no entry is of type RoCE v2: v1 is not routed, and many switches do not count it as lossless traffic"
    if is_ip_gid(entry.gid):
        return "RoCE v2 of an IPv4 address"
    if entry.gid.subnet_prefix == _LINK_LOCAL:
        return "RoCE v2, but link-local, which is not routed: give the interface an IPv4 address"
    return "RoCE v2 of an IPv6 address; there is none of an IPv4 one"
