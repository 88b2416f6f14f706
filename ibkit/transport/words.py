"""The words for a transport, and how they combine. See docs/check-mpi-transport.md for what each one says."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Transports that leave the kernel's TCP alone.
RDMA = frozenset(("ib", "roce", "iwarp", "rdma", "opa", "efa", "slingshot"))
#: What ``rdma`` turns out to be where a line, or the other end of the queue pair, tells the link layer.
LINK_LAYERS = frozenset(("ib", "roce", "iwarp"))
#: ``rdma`` says verbs with a link layer that the evidence does not show, ``tcp`` says TCP over any interface.
_GENERAL = {"ib": "rdma", "roce": "rdma", "iwarp": "rdma", "ipoib": "tcp"}

#: Names that udev gives to IPoIB interfaces (prefix ib, then slot, path or number; systemd.net-naming-scheme(7)), the
#: kernel's ib0, and ib0 below a driver's name. RoCE interfaces and bonds look like any Ethernet.
_IPOIB = re.compile(
    r"(?:mlx\d{1,2}_)?ib(?:\d{1,4}|[a-zA-Z]\d[\da-zA-Z]{0,20}|[a-zA-Z]{1,2}\d[\da-zA-Z]{0,20})(?:[.:@]\w{1,16})?\Z"
)

#: Names of Ethernet interfaces: the kernel's, and udev's by slot, path and number (systemd.net-naming-scheme(7)).
_ETHERNET = re.compile(r"(?:lo|eth\d{1,3}|bond\d{1,3}|en(?:o|s|p|P|x)[\da-fA-F]\w{0,30})(?:[.@]\w{1,16})?\Z")

_SHARED_MEMORY = frozenset(
    ("sysv", "posix", "cma", "knem", "xpmem", "mm", "sm", "shm", "cuda_ipc", "cuda_copy", "gdr_copy", "rocm_ipc",
     "rocm_copy", "rocm_gdr", "ze_ipc", "ze_copy", "ze_gdr", "self", "gga_mlx5"),
)  # fmt: skip
_VERBS = re.compile(r"(?:rc|ud|dc)(?:_(?:verbs|mlx5|v|x|gda))?\Z")

#: libfabric's providers, a layered one by its core (``tcp;ofi_rxm``). psm3 may be verbs or sockets: not here.
_PROVIDERS = {
    "efa": "efa", "cxi": "slingshot", "psm2": "opa", "opx": "opa", "psm": "ib", "verbs": "rdma",
    "tcp": "tcp", "sockets": "tcp", "udp": "tcp", "net": "tcp", "shm": "shm", "sm2": "shm",
}  # fmt: skip

#: Open MPI's btl modules: the word for one, and its exclusivity (opal/mca/btl: the highest one carries the data).
BTLS = {
    "self": ("shm", 65_536), "vader": ("shm", 65_536), "sm": ("shm", 65_536), "smcuda": ("shm", 65_537),
    "uct": ("rdma", 65_536), "ofi": ("unknown", 65_486), "ugni": ("unknown", 65_534),
    "openib": ("rdma", 1024), "mvapi": ("ib", 1024), "ofud": ("rdma", 1024), "udapl": ("unknown", 1024),
    "usnic": ("unknown", 1024), "mx": ("unknown", 1024), "gm": ("unknown", 1024), "scif": ("shm", 1024),
    "portals4": ("unknown", 101), "tcp": ("tcp", 100),
}  # fmt: skip


def combine(words: Iterable[str]) -> str:
    """One word for several: their common one, else the more general one, else ``mixed``.

    One unknown part makes the whole unknown; what moved nothing between hosts does not count, unless nothing did.

    >>> combine(["ib", "shm", "ib"]), combine(["ib", "rdma"]), combine(["ib", "tcp"]), combine(["ib", "unknown"])
    ('ib', 'rdma', 'mixed', 'unknown')
    """
    found = set(words) - {"none"}
    if found - {"shm"}:
        found.discard("shm")
    if not found or "unknown" in found:
        return "unknown"
    if len(found) == 1:
        return found.pop()
    for general in ("rdma", "tcp"):
        if general in found and all(_GENERAL.get(word, word) == general for word in found):
            return general
    return "mixed"


def of_interface(name: str | None) -> str:
    """TCP over this network interface: ipoib where the name says so, else tcp."""
    return "ipoib" if name and _IPOIB.match(name) else "tcp"


#: rdma-core names what is neither InfiniBand nor RoCE nor iWARP rdmap0s31; libfabric's prov/efa adds -rdm or -dgrm.
_EFA_DOMAIN = re.compile(r"(?:efa_\d{1,3}|rdmap\d{1,4}s\d{1,4}(?:f\d{1,3})?)-(?:rdm|dgrm)\Z")


def of_provider(name: str) -> str:
    """A libfabric provider's transport; unknown for those that have several.

    Open MPI 4.1 prints the provider's domain in its place (ompi/mca/mtl/ofi/mtl_ofi_component.c), which for verbs is a
    device and for what goes over IP an interface. Devices are never called like Ethernet's; ``ibp1s0`` may be either.
    """
    if _ETHERNET.match(name):
        return "tcp"
    if _EFA_DOMAIN.match(name):
        return "efa"
    return _PROVIDERS.get(name.split(";", 1)[0].strip().lower(), "unknown")


#: Devices of drivers that know one network only (drivers/infiniband/hw), and the names that rdma-core gives by the
#: port's protocol (kernel-boot/rdma_rename.c).
_DEVICES = (
    (re.compile(r"(?:hfi1_\d|opa(?:P\d{1,6})?[pox]\d)"), "opa"),
    (re.compile(r"(?:cxgb[34]_\d|nes\d|iw(?:P\d{1,6})?[pox]\d)"), "iwarp"),
    (re.compile(r"(?:(?:qib|ipath|mthca)_?\d)"), "ib"),
)


def of_device(device: str) -> str:
    """What an RDMA device speaks, as far as its name tells; ``rdma`` where it does not.

    >>> of_device("hfi1_0:1"), of_device("cxgb4_0"), of_device("mlx5_0:1")
    ('opa', 'iwarp', 'rdma')
    """
    return next((word for pattern, word in _DEVICES if pattern.match(device)), "rdma")


def of_ucx(transport: str, device: str) -> str:
    """A UCX transport's word; ``rdma`` for verbs, whose link layer is another line's matter."""
    if transport in _SHARED_MEMORY:
        return "shm"
    if _VERBS.match(transport):
        return "opa" if device.startswith("hfi1_") else "rdma"
    if transport == "tcp":
        return of_interface(device)
    return "efa" if transport == "srd" else "unknown"
