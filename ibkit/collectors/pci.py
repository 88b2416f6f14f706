"""RDMA adapters as the PCI bus shows them, whether or not a driver made an RDMA device of them."""

from __future__ import annotations

from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Source

DEVICES = "/sys/bus/pci/devices"

#: PCI class codes (PCI Code and ID Assignment Specification): InfiniBand controller, host fabric controller.
_FABRIC_CLASSES = (0x0207, 0x0208)
_NETWORK_CLASS = 0x02
#: Vendors whose network functions all do RDMA: Mellanox (ConnectX, BlueField).
_RDMA_VENDORS = ("15B3",)
#: Elastic Fabric Adapters of Amazon.
_RDMA_FUNCTIONS = ("1D0F:EFA0", "1D0F:EFA1", "1D0F:EFA2", "1D0F:EFA3")


class PciAdapter(NamedTuple):
    """``pci_id`` is ``VENDOR:DEVICE`` in capital hexadecimal digits; ``driver`` is None where none is bound."""

    address: str
    pci_id: str
    driver: str | None


def rdma_adapters(source: Source) -> tuple[PciAdapter, ...] | None:
    """The functions that certainly do RDMA; None where the bus cannot be seen.

    Ethernet cards of other vendors may do RDMA or not: their identity does not tell, so they are not listed.
    """
    listing = source.list(DEVICES)
    if listing.entries is None:
        return None
    found = []
    for address in listing.names:
        text = source.read(f"{DEVICES}/{address}/uevent").text or ""
        known = dict(line.partition("=")[::2] for line in text.splitlines())
        pci_id = known.get("PCI_ID", "").upper()
        if _does_rdma(known.get("PCI_CLASS", ""), pci_id):
            found.append(PciAdapter(address, pci_id, known.get("DRIVER")))
    return tuple(found)


def _does_rdma(class_code: str, pci_id: str) -> bool:
    try:
        code = int(class_code[:8], 16) >> 8
    except ValueError:
        return False
    vendor = pci_id.partition(":")[0]
    return (
        code in _FABRIC_CLASSES
        or pci_id in _RDMA_FUNCTIONS
        or (code >> 8 == _NETWORK_CLASS and vendor in _RDMA_VENDORS)
    )
