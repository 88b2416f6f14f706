"""RDMA adapters as the PCI bus shows them, whether or not a driver made an RDMA device of them; links, NUMA, SR-IOV.

Formats: the kernel's ``Documentation/ABI/testing/sysfs-bus-pci`` and ``drivers/pci/pci-sysfs.c``.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ibkit.model.host import PciFunction, PciLink
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import Source

DEVICES = "/sys/bus/pci/devices"

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s")
#: More lanes no link has; the kernel writes 0, 63 or 255 for what it does not know.
_MOST_LANES = 32

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


class PciBus:
    """The links of the bus. Functions of one card share their way to the root, whose files are read once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._ways = {entry.name: entry.target or "" for entry in source.list(DEVICES).entries or ()}
        self._links: dict[tuple[str, str], PciLink] = {}
        self._ends: dict[str, tuple[int | None, float | None, int | None, float | None]] = {}

    def function(self, address: str) -> PciFunction:
        """What is known of a function."""
        folder = f"{DEVICES}/{address}"
        way = [hop for hop in self._ways.get(address, "").split("/") if _ADDRESS.match(hop)]
        names = self._source.list(folder).names
        return PciFunction(
            numa_node=self._number(f"{folder}/numa_node"),
            is_virtual="physfn" in names,
            virtual_functions=self._number(f"{folder}/sriov_numvfs") if "sriov_numvfs" in names else None,
            virtual_functions_max=self._number(f"{folder}/sriov_totalvfs") if "sriov_numvfs" in names else None,
            links=tuple(self._link(upper, lower) for upper, lower in pairwise(way)),
        )

    def _link(self, upper: str, lower: str) -> PciLink:
        """Its own two ends decide what a link can do, not what a card says of itself."""
        if (upper, lower) not in self._links:
            width, speed, lower_width, lower_speed = self._end(lower)
            _, _, upper_width, upper_speed = self._end(upper)
            self._links[upper, lower] = PciLink(
                lower, width, speed, _least(upper_width, lower_width), _least(upper_speed, lower_speed)
            )
        return self._links[upper, lower]

    def _end(self, address: str) -> tuple[int | None, float | None, int | None, float | None]:
        if address not in self._ends:
            folder = f"{DEVICES}/{address}"
            self._ends[address] = (
                self._lanes(f"{folder}/current_link_width"), self._speed(f"{folder}/current_link_speed"),
                self._lanes(f"{folder}/max_link_width"), self._speed(f"{folder}/max_link_speed"),
            )  # fmt: skip
        return self._ends[address]

    def _lanes(self, path: str) -> int | None:
        lanes = self._number(path)
        return lanes if lanes and lanes <= _MOST_LANES else None

    def _speed(self, path: str) -> float | None:
        found = _SPEED.match(self._source.read(path).text or "")
        return float(found[1]) if found else None

    def _number(self, path: str) -> int | None:
        """None for -1, the kernel's word for no NUMA node, too."""
        text = (self._source.read(path).text or "").strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _least(one: float | None, other: float | None) -> Any:
    return None if one is None or other is None else min(one, other)


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
