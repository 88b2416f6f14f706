"""Trees of /sys, /proc and /dev as kernels show them, for ``LiveSource(root=...)``.

File formats: the kernel's ``drivers/infiniband/core/sysfs.c`` and ``hw/mlx5/main.c`` (6.1), written by hand. The
SoftRoCE host is what a 6.1 guest really held.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

ZERO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"
MAPPED = "0000:0000:0000:0000:0000:ffff:"


@dataclass
class Port:
    """One port; ``gids`` are (index, GID, type, netdev), the rest of the table is empty."""

    state: str = "4: ACTIVE"
    phys_state: str = "5: LinkUp"
    link_layer: str = "InfiniBand"
    rate: str = "400 Gb/sec (4X NDR)"
    lid: int = 0
    sm_lid: int = 0
    cap_mask: str = "0xa751e848"
    gids: list[tuple[int, str, str, str]] = field(default_factory=list)
    gid_entries: int = 8
    pkeys: dict[int, str] = field(default_factory=lambda: {0: "0xffff"})
    pkey_entries: int = 128
    counters: dict[str, str] = field(default_factory=dict)
    hw_counters: dict[str, str] = field(default_factory=dict)


@dataclass
class Device:
    """One RDMA device on the PCI function ``slot`` (None: a virtual one) with its netdevs."""

    name: str
    guid: str
    ports: list[Port]
    slot: str | None = None
    attributes: dict[str, str] = field(default_factory=dict)
    pci_class: str = "20700"
    pci_id: str = "15B3:1021"
    netdevs: dict[str, dict[str, str]] = field(default_factory=dict)


def write(root: Path, path: str, text: str) -> None:
    """One file below ``root``."""
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def link(root: Path, path: str, target: str) -> None:
    """A relative link below ``root``, as /sys has them."""
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(target, os.path.dirname(path)))


def write_device(root: Path, device: Device) -> None:
    """The device's folder, its class link, and for a PCI function that one's, with the netdevs."""
    if device.slot:
        bus = bus_folder(device.slot)
        driver = device.attributes.get("driver", "mlx5_core")
        write(
            root, f"{bus}/uevent",
            f"DRIVER={driver}\nPCI_CLASS={device.pci_class}\nPCI_ID={device.pci_id}\nPCI_SLOT_NAME={device.slot}\n",
        )  # fmt: skip
        link(root, f"/sys/bus/pci/devices/{device.slot}", bus)
        place = f"{bus}/infiniband/{device.name}"
        link(root, f"{place}/device", bus)
    else:
        bus = "/sys/devices/virtual"
        place = f"{bus}/infiniband/{device.name}"
    link(root, f"/sys/class/infiniband/{device.name}", place)
    for name, files in device.netdevs.items():
        write_netdev(root, name, files, bus)
    values = {
        "node_guid": device.guid, "sys_image_guid": device.guid, "node_type": "1: CA", "fw_ver": "28.39.1002",
        "hw_rev": "0", "hca_type": "MT4129", "board_id": "MT_0000000838", "node_desc": f"gpu01 {device.name}",
        **device.attributes,
    }  # fmt: skip
    for name, value in values.items():
        if name != "driver" and value is not None:
            write(root, f"{place}/{name}", f"{value}\n")
    for number, port in enumerate(device.ports, 1):
        write_port(root, f"{place}/ports/{number}", port)


#: A ConnectX-7 in a slot of its own: 16 lanes of 32 GT/s at both ends.
LINK_FILES = {
    "current_link_width": "16", "current_link_speed": "32.0 GT/s PCIe", "max_link_width": "16",
    "max_link_speed": "32.0 GT/s PCIe",
}  # fmt: skip


def bus_folder(slot: str) -> str:
    """The function's folder below its root port, whose number is the function's bus."""
    return f"/sys/devices/pci0000:00/0000:00:{int(slot[5:7], 16) >> 3:02x}.0/{slot}"


def write_pci_link(root: Path, slot: str, *, numa_node: str = "0", **files: str) -> None:
    """Both ends of a function's link; ``files`` replaces the function's own."""
    bus = bus_folder(slot)
    upper = os.path.dirname(bus)
    for place, texts in ((bus, {**LINK_FILES, **files}), (upper, LINK_FILES)):
        for name, text in texts.items():
            write(root, f"{place}/{name}", f"{text}\n")
    write(root, f"{bus}/numa_node", f"{numa_node}\n")
    if not os.path.lexists(f"{root}/sys/bus/pci/devices/{os.path.basename(upper)}"):
        link(root, f"/sys/bus/pci/devices/{os.path.basename(upper)}", upper)


def write_netdev(root: Path, name: str, files: dict[str, str], bus: str = "/sys/devices/virtual") -> None:
    """A netdev of a bus device: ``/sys/class/net/NAME`` and ``device`` back."""
    place = f"{bus}/net/{name}"
    for file, value in files.items():
        write(root, f"{place}/{file}", f"{value}\n")
    link(root, f"/sys/class/net/{name}", place)
    if not bus.endswith("virtual"):
        link(root, f"{place}/device", bus)


def write_port(root: Path, place: str, port: Port) -> None:
    """All files of a port that any of ibkit's collectors reads. A text of None leaves the file out."""
    texts = {
        "state": port.state, "phys_state": port.phys_state, "link_layer": port.link_layer, "rate": port.rate,
        "lid": f"{port.lid:#x}", "sm_lid": f"{port.sm_lid:#x}", "sm_sl": "0", "lid_mask_count": "0",
        "cap_mask": port.cap_mask,
    }  # fmt: skip
    for name, text in texts.items():
        if text is not None:
            write(root, f"{place}/{name}", f"{text}\n")
    gids = {index: gid for index, gid, _, _ in port.gids}
    for index in range(port.gid_entries):
        write(root, f"{place}/gids/{index}", gids.get(index, ZERO_GID) + "\n")
    for index, _, kind, netdev in port.gids:
        write(root, f"{place}/gid_attrs/types/{index}", f"{kind}\n")
        if netdev:
            write(root, f"{place}/gid_attrs/ndevs/{index}", f"{netdev}\n")
    for folder, counters in (("counters", port.counters), ("hw_counters", port.hw_counters)):
        for name, text in counters.items():
            write(root, f"{place}/{folder}/{name}", f"{text}\n")
    for index in range(port.pkey_entries):
        write(root, f"{place}/pkeys/{index}", port.pkeys.get(index, "0x0000") + "\n")


def roce_gids(netdev: str, link_local: str, address: str) -> list[tuple[int, str, str, str]]:
    """The usual table of mlx5: each address as RoCE v1 and as RoCE v2. ``address`` is hexadecimal (0a4d:0001)."""
    found: list[tuple[int, str, str, str]] = []
    for gid in (f"fe80:0000:0000:0000:{link_local}", MAPPED + address):
        for kind in ("IB/RoCE v1", "RoCE v2"):
            found.append((len(found), gid, kind, netdev))
    return found


def write_common(root: Path, devices: list[str]) -> None:
    """Char devices' folders of classes, modules and limits, as on a host where everything is in place."""
    for index, name in enumerate(devices):
        write(root, f"/sys/class/infiniband_verbs/uverbs{index}/ibdev", f"{name}\n")
        write(root, f"/sys/class/infiniband_mad/umad{index}/ibdev", f"{name}\n")
    write(root, "/sys/class/infiniband_verbs/abi_version", "6\n")
    write(root, "/sys/class/infiniband_mad/abi_version", "5\n")


def softroce_host(root: Path) -> None:
    """The guest of Linux 6.1 with rxe0 and rxe1 on a veth pair: no PCI function, no type, no board, blank firmware."""
    for index, (guid, local, netdev) in enumerate(
        (("b4f0:34ff:fe8e:d331", "0a4d:0001", "ve0"), ("542a:f6ff:fee2:aeda", "0a4d:0002", "ve1"))
    ):
        gids = [
            (0, f"fe80:0000:0000:0000:{guid}", "RoCE v2", netdev),
            (1, MAPPED + local, "RoCE v2", netdev),
        ]
        port = Port(
            link_layer="Ethernet", rate="10 Gb/sec (1X FDR10)", cap_mask="0x00010000", gids=gids, gid_entries=1024,
            pkey_entries=1,
        )  # fmt: skip
        attributes = {
            "fw_ver": "", "hw_rev": None, "hca_type": None, "board_id": None, "node_desc": "rxe", "parent": netdev,
        }  # fmt: skip
        write_device(root, Device(f"rxe{index}", guid, [port], attributes=attributes))  # type: ignore[arg-type]
        write_netdev(root, netdev, {"type": "1", "dev_port": "0"})
    write_common(root, ["rxe0", "rxe1"])


#: Some of an InfiniBand port's; this kernel and card do not tell VL15Dropped.
PORT_COUNTERS = {
    "port_xmit_data": "35184372088832", "port_rcv_data": "35184372088000", "symbol_error": "0", "link_downed": "1",
    "VL15_dropped": "N/A (no PMA)",
}  # fmt: skip
#: Names and GUIDs of the four InfiniBand rails of :func:`multirail_host`.
RAILS = {
    "mlx5_0": "b8ce:f603:00aa:0000", "mlx5_1": "b8ce:f603:00aa:0010", "mlx5_2": "b8ce:f603:00aa:0020",
    "mlx5_3": "b8ce:f603:00aa:0030",
}  # fmt: skip


def multirail_host(root: Path) -> None:
    """A GPU host: four NDR rails (mlx5_2 trained to two lanes), two storage ports of RoCE (mlx5_5 without a cable),
    and a bond of two 100 Gb/s ports that the card knows as one device. mlx5_1's PCIe link has lost half of its lanes.
    """
    for rail, (name, guid) in enumerate(RAILS.items()):
        port = Port(
            rate="200 Gb/sec (2X NDR)" if name == "mlx5_2" else "400 Gb/sec (4X NDR)",
            lid=0x41 + rail,
            sm_lid=1,
            gids=[(0, f"fe80:0000:0000:0000:{guid}", "IB/RoCE v1", "")],
            pkeys={0: "0xffff", 1: "0x8012"} if name == "mlx5_0" else {0: "0xffff"},
            counters=PORT_COUNTERS,
            hw_counters={"out_of_sequence": "0", "lifespan": "10"},
        )
        netdev = {"type": "32", "dev_port": "0", "dev_id": "0x0"}
        slot = f"0000:{0x18 + 16 * rail:02x}:00.0"
        write_device(root, Device(name, guid, [port], slot, netdevs={f"ib{rail}": {**netdev, "pkey": "0xffff"}}))
        width = "8" if name == "mlx5_1" else "16"
        write_pci_link(root, slot, numa_node="0" if rail < 2 else "1", current_link_width=width)
    write_device(
        root,
        Device(
            "mlx5_4", "9c63:c003:0012:3450",
            [Port(
                link_layer="Ethernet", rate="200 Gb/sec (4X HDR)", cap_mask="0x00010000", gid_entries=256,
                gids=roce_gids("ens3f0np0", "9e63:c0ff:fe12:3450", "0a14:0001"), pkey_entries=1,
            )],
            "0000:5a:00.0", {"board_id": "MT_0000000359", "hca_type": "MT4125", "fw_ver": "22.36.1010"},
            "20000", "15B3:101D", {"ens3f0np0": {"type": "1", "dev_port": "0"}},
        ),
    )  # fmt: skip
    write_device(
        root,
        Device(
            "mlx5_5", "9c63:c003:0012:3451",
            [Port(
                "1: DOWN", "3: Disabled", "Ethernet", "40 Gb/sec (4X QDR)", cap_mask="0x00010000", gid_entries=256,
                pkey_entries=1,
            )],
            "0000:5a:00.1", {"board_id": "MT_0000000359", "hca_type": "MT4125", "fw_ver": "22.36.1010"},
            "20000", "15B3:101D", {"ens3f1np1": {"type": "1", "dev_port": "0"}},
        ),
    )  # fmt: skip
    write_device(
        root,
        Device(
            "mlx5_bond_0", "e8eb:d303:0077:8800",
            [Port(
                link_layer="Ethernet", rate="100 Gb/sec (4X EDR)", cap_mask="0x00010000", gid_entries=256,
                gids=roce_gids("bond0", "eaeb:d3ff:fe77:8800", "0a00:0015"), pkey_entries=1,
            )],
            "0000:c1:00.0", {"board_id": "MT_0000000436", "hca_type": "MT4127", "fw_ver": "26.36.1010"},
            "20000", "15B3:101F", {"eno1np0": {"type": "1", "dev_port": "0"}},
        ),
    )  # fmt: skip
    # The bond's second leg: its function has a netdev and no RDMA device of its own.
    second = bus_folder("0000:c1:00.1")
    write(root, f"{second}/uevent", "DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:101F\nPCI_SLOT_NAME=0000:c1:00.1\n")
    link(root, "/sys/bus/pci/devices/0000:c1:00.1", second)
    write_netdev(root, "eno2np1", {"type": "1", "dev_port": "0"}, second)
    write_netdev(root, "bond0", {"type": "1", "bonding/slaves": "eno1np0 eno2np1"})
    write_common(root, [*RAILS, "mlx5_4", "mlx5_5", "mlx5_bond_0"])


def many_ports_host(root: Path, devices: int = 10, ports: int = 2) -> None:
    """A host with as many ports as the largest have: InfiniBand, Active, with IPoIB on each."""
    for number in range(devices):
        guid = f"b8ce:f603:00aa:{16 * number:04x}"
        write_device(
            root,
            Device(
                f"mlx5_{number}", guid,
                [
                    Port(lid=1 + 2 * number + port, sm_lid=1, counters=PORT_COUNTERS,
                         gids=[(0, f"fe80:0000:0000:0000:{guid[:-1]}{port + 1}", "IB/RoCE v1", "")])
                    for port in range(ports)
                ],
                f"0000:{8 * number + 8:02x}:00.0",
                netdevs={f"ib{ports * number + port}": {"type": "32", "dev_port": f"{port}"} for port in range(ports)},
            ),
        )  # fmt: skip
        write_pci_link(root, f"0000:{8 * number + 8:02x}:00.0")
    write_common(root, [f"mlx5_{number}" for number in range(devices)])
