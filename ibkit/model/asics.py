"""What NVIDIA's (Mellanox's) parts can do, by the device id in NodeInfo.

The id is the part's number in decimal: 0xd2f0 is MT54000, the Quantum switch. Numbers, names and the fastest speed of
each are those of the kernel's table of mlx5 devices, of pci.ids and of the vendor's product briefs. A card or a licence
may do less than its chip: what is here is a limit from above.
"""

from __future__ import annotations

from ibkit.model.fabric import SWITCH, Node
from ibkit.parsers.records import NamedTuple

#: The OUI that these parts give as vendor.
MELLANOX = 0x2C9
#: What a family of switches counts in PortXmitWait (see ibkit.model.congestion).
QUANTUM_FAMILY, SWITCH_IB_FAMILY = "Quantum", "Switch-IB"


class Asic(NamedTuple):
    """``fastest`` is the name of the best speed that the chip has on four lanes; ``wait_family`` one of the two above,
    None for what its vendor says nothing about.
    """

    name: str
    fastest: str
    wait_family: str | None = None


_ASICS = {
    0x1003: Asic("ConnectX-3", "FDR"),
    0x1007: Asic("ConnectX-3 Pro", "FDR"),
    0x1011: Asic("Connect-IB", "FDR"),
    0x1013: Asic("ConnectX-4", "EDR"),
    0x1017: Asic("ConnectX-5", "EDR"),
    0x1019: Asic("ConnectX-5 Ex", "EDR"),
    0x101B: Asic("ConnectX-6", "HDR"),
    0x1021: Asic("ConnectX-7", "NDR"),
    0x1023: Asic("ConnectX-8", "XDR"),
    0xA2D6: Asic("BlueField-2", "HDR"),
    0xA2DC: Asic("BlueField-3", "NDR"),
    0xC738: Asic("SwitchX", "FDR", SWITCH_IB_FAMILY),
    0xCB20: Asic("Switch-IB", "EDR", SWITCH_IB_FAMILY),
    0xCF08: Asic("Switch-IB 2", "EDR", SWITCH_IB_FAMILY),
    0xD2F0: Asic("Quantum", "HDR", QUANTUM_FAMILY),
    0xD2F2: Asic("Quantum-2", "NDR", QUANTUM_FAMILY),
    0xD2F4: Asic("Quantum-3", "XDR", QUANTUM_FAMILY),
}
#: A switch chip with more ports than this has split cages, of two lanes each: Quantum has 40 of four lanes or 80 of
#: two, Quantum-2 64 or 128; one more is the port of an aggregation node.
_WHOLE_PORTS = {0xD2F0: 41, 0xD2F2: 65}


def asic_of(node: Node | None) -> Asic | None:
    """The chip of a node; None where its vendor or device id is not known, or not in the table."""
    if node is None or node.vendor_id != MELLANOX or node.device_id is None:
        return None
    return _ASICS.get(node.device_id)


def has_split_ports(node: Node | None) -> bool | None:
    """Whether a switch runs with its cages split in two; None where that cannot be told."""
    if node is None or node.type != SWITCH or node.port_count is None or asic_of(node) is None:
        return None
    whole = _WHOLE_PORTS.get(node.device_id or 0)
    return None if whole is None else node.port_count > whole
