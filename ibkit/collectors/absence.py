"""Why a host shows no RDMA device: each cause has its own mend."""

from __future__ import annotations

from ibkit.collectors.pci import PciAdapter, rdma_adapters
from ibkit.collectors.sysfs import CLASS
from ibkit.display import and_more
from ibkit.parsers.base import Problem
from ibkit.sources.base import NOT_RECORDED, FolderAnswer, Source

NO_DEVICE = "no-rdma-device"

#: The RDMA driver above a bus driver, where it is a module of its own.
RDMA_MODULES = {"mlx5_core": "mlx5_ib", "mlx4_core": "mlx4_ib"}


def explain_absence(source: Source, listing: FolderAnswer) -> Problem:
    """The cause, as far as the kernel and the PCI bus tell it. ``listing`` is the folder of RDMA devices."""
    if listing.error == NOT_RECORDED:
        return Problem(NOT_RECORDED, "neither RDMA devices nor output of ibstat are recorded here", None, CLASS)
    if listing.error not in (None, "ENOENT"):
        return Problem("unreadable-file", f"RDMA devices cannot be listed ({listing.error})", None, CLASS)
    if listing.error == "ENOENT":
        kernel = "the kernel has no RDMA support loaded (ib_core)"
    else:
        kernel = "the kernel has RDMA support, and no driver has made a device"
    return Problem(NO_DEVICE, f"no RDMA device: {kernel}; {_bus(rdma_adapters(source))}", None, CLASS)


def _bus(adapters: tuple[PciAdapter, ...] | None) -> str:
    if adapters is None:
        return "the PCI bus cannot be seen"
    if not adapters:
        return "the PCI bus shows no RDMA adapter"
    first = adapters[0]
    what = f"the PCI bus shows {first.pci_id} at {first.address}"
    what += and_more(len(adapters) - 1)
    if first.driver is None:
        return f"{what}, without a driver"
    module = RDMA_MODULES.get(first.driver)
    return f"{what}, driver {first.driver}" + (f": load {module}" if module else "")
