"""What is around a device: counters, PCIe, NUMA, SR-IOV, and the host's interfaces and addresses."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.record_multirail import TOOLS
from support.sysfs_tree import Device, Port, bus_folder, link, multirail_host, write, write_device, write_pci_link
from support.tree_source import TreeSource

from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.pci import PciBus
from ibkit.collectors.port_counters import read_counters
from ibkit.model.host import CounterTable, HostHcas, Interface, Neighbour, PciFunction, PciLink
from ibkit.model.ids import Guid
from ibkit.sources.base import InterfacesAnswer

SLOT = "0000:18:00.0"
FOLDER = "/sys/class/infiniband/mlx5_0/ports/1/counters"


def counters(root: Path, errors: dict[str, str] | None = None, **files: str) -> CounterTable | None:
    for name, text in files.items():
        write(root, f"{FOLDER}/{name}", f"{text}\n")
    errors = {f"{FOLDER}/{name}": error for name, error in (errors or {}).items()}
    return read_counters(TreeSource(root, errors=errors), FOLDER)


def test_counters_and_what_has_a_file_and_no_value(tmp_path: Path) -> None:
    found = counters(
        tmp_path, {"VL15_dropped": "EINVAL", "port_xmit_wait": "EOPNOTSUPP"}, symbol_error="0",
        port_rcv_data="18446744073709551615", VL15_dropped="0", port_xmit_wait="0", link_downed="N/A (no PMA)",
        excessive="99999999999999999999", lifespan="10",
    )  # fmt: skip
    assert found == CounterTable(
        {"port_rcv_data": (1 << 64) - 1, "symbol_error": 0},
        {
            "VL15_dropped": "EINVAL", "excessive": "99999999999999999999", "link_downed": "N/A (no PMA)",
            "port_xmit_wait": "EOPNOTSUPP",
        },
    )  # fmt: skip


def test_no_folder_is_no_table(tmp_path: Path) -> None:
    assert counters(tmp_path) is None


def test_a_forbidden_counter_ends_the_reading(tmp_path: Path) -> None:
    """A restricted function answers alike for each of its counters and logs each attempt."""
    source = TreeSource(tmp_path, errors={f"{FOLDER}/a": "EACCES"})
    for name in "abc":
        write(tmp_path, f"{FOLDER}/{name}", "1\n")
    assert read_counters(source, FOLDER) == CounterTable({}, dict.fromkeys("abc", "EACCES"))
    assert source.asked[f"{FOLDER}/b"] == 0


def host_with_link(root: Path, **files: str) -> PciFunction:
    write_device(root, Device("mlx5_0", "b8ce:f603:00aa:0000", [Port()], SLOT))
    write_pci_link(root, SLOT, **files)
    return PciBus(TreeSource(root)).function(SLOT)


def test_a_link_and_its_ceiling(tmp_path: Path) -> None:
    found = host_with_link(tmp_path, current_link_width="8")
    assert found == PciFunction(numa_node=0, links=(PciLink(SLOT, 8, 32.0, 16, 32.0),))


def test_the_ceiling_is_that_of_both_ends(tmp_path: Path) -> None:
    """A card of 32 GT/s and 16 lanes in a slot of 16 GT/s and 8 lanes runs as it should."""
    found = host_with_link(tmp_path, current_link_width="8", current_link_speed="16.0 GT/s PCIe")
    upper = os.path.dirname(bus_folder(SLOT))
    write(tmp_path, f"{upper}/max_link_width", "8\n")
    write(tmp_path, f"{upper}/max_link_speed", "16.0 GT/s PCIe\n")
    found = PciBus(TreeSource(tmp_path)).function(SLOT)
    assert found.links == (PciLink(SLOT, 8, 16.0, 8, 16.0),)


def test_what_the_bus_does_not_tell(tmp_path: Path) -> None:
    """A virtual function and old kernels: ``Unknown``, 0 lanes, no NUMA node."""
    found = host_with_link(
        tmp_path, current_link_width="0", current_link_speed="Unknown", max_link_width="255", numa_node="-1"
    )
    assert found == PciFunction(links=(PciLink(SLOT, None, None, None, 32.0),))


def test_sr_iov(tmp_path: Path) -> None:
    write(tmp_path, f"{bus_folder(SLOT)}/sriov_numvfs", "4\n")
    write(tmp_path, f"{bus_folder(SLOT)}/sriov_totalvfs", "16\n")
    found = host_with_link(tmp_path)
    assert (found.is_virtual, found.virtual_functions, found.virtual_functions_max) == (False, 4, 16)
    virtual = "0000:18:00.1"
    write(tmp_path, f"{bus_folder(virtual)}/uevent", "")
    link(tmp_path, f"{bus_folder(virtual)}/physfn", bus_folder(SLOT))
    link(tmp_path, f"/sys/bus/pci/devices/{virtual}", bus_folder(virtual))
    assert PciBus(TreeSource(tmp_path)).function(virtual).is_virtual


def test_functions_of_one_card_share_the_reads_of_their_way(tmp_path: Path) -> None:
    host_with_link(tmp_path)
    source = TreeSource(tmp_path)
    bus = PciBus(source)
    bus.function(SLOT)
    bus.function(SLOT)
    assert max(count for path, count in source.asked.items() if "_link_" in path) == 1


@pytest.fixture
def gpu_host(tmp_path: Path) -> HostHcas:
    multirail_host(tmp_path)
    return collect_hcas(TreeSource(tmp_path, tools=TOOLS), "gpu01")


def by_name(host: HostHcas) -> dict[str, Interface]:
    return {one.name: one for one in host.interfaces or ()}


def test_ipoib_port_and_partition(gpu_host: HostHcas) -> None:
    found = by_name(gpu_host)["ib2"]
    assert (found.device, found.port, found.pkey, found.detail) == ("mlx5_2", 1, 0xFFFF, "ipoib")
    assert found.hardware_address == "00:00:00:62:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:aa:00:20"
    assert (found.addresses, found.mtu_bytes, found.is_up) == (("10.10.2.1/24",), 2044, True)


def test_roce_interface_and_gids(gpu_host: HostHcas) -> None:
    found = by_name(gpu_host)["ens3f0np0"]
    assert (found.device, found.port, found.pkey, found.gid_indexes) == ("mlx5_4", 1, None, (0, 1, 2, 3))


def test_a_bond_and_its_legs(gpu_host: HostHcas) -> None:
    found = by_name(gpu_host)
    assert [(name, found[name].device, found[name].master) for name in ("bond0", "eno1np0", "eno2np1")] == [
        ("bond0", "mlx5_bond_0", None), ("eno1np0", "mlx5_bond_0", "bond0"), ("eno2np1", "mlx5_bond_0", "bond0"),
    ]  # fmt: skip
    assert found["bond0"].detail == "bond"


def test_neighbours_that_were_found(gpu_host: HostHcas) -> None:
    hardware = "00:00:00:61:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:bb:00:00"
    assert gpu_host.neighbours == (Neighbour("ib0", "10.10.0.2", hardware),)


@pytest.mark.parametrize(
    ("tools", "kinds"),
    [
        ({}, []), ({"ip -j -d addr": "no JSON"}, ["tool-failed"]), ({"ip -j -d addr": '[{"a": 1}]'}, ["bad-line"]),
    ],
)  # fmt: skip
def test_without_ip(tmp_path: Path, tools: dict[str, str], kinds: list[str]) -> None:
    multirail_host(tmp_path)
    host = collect_hcas(TreeSource(tmp_path, tools=tools), "gpu01")
    assert not host.interfaces
    assert [problem.kind for problem in host.problems] == kinds


#: As netifaces and psutil told it of a host; IPoIB's address is as a library of 8 octets would cut it.
LIBRARY = InterfacesAnswer(
    [
        {"name": "ib2", "hardware_address": "00:00:00:62:fe:80:00:00", "addresses": ["10.10.2.1/24"],
         "flags": ["up", "broadcast", "running", "multicast"], "mtu_bytes": 2044, "speed_mbps": None},
        {"name": "ens3f0np0", "hardware_address": "9c:63:c0:12:34:50", "addresses": ["10.20.0.1/16"],
         "flags": ["up", "broadcast", "multicast"], "mtu_bytes": 9000, "speed_mbps": 100000},
        {"name": "gone", "hardware_address": None, "addresses": [], "flags": None, "mtu_bytes": None,
         "speed_mbps": None},
    ],
    [{"address": "10.20.255.254", "interface": "ens3f0np0"}],
)  # fmt: skip
IPOIB_ADDRESS = "00:00:00:62:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:aa:00:20"


def of_library(root: Path, tools: dict[str, str], answer: InterfacesAnswer = LIBRARY) -> HostHcas:
    multirail_host(root)
    for name, kind in (("ib2", "32"), ("ens3f0np0", "1")):
        write(root, f"/sys/class/net/{name}/type", f"{kind}\n")
    write(root, "/sys/class/net/ib2/address", f"{IPOIB_ADDRESS}\n")
    return collect_hcas(TreeSource(root, tools=tools, interfaces=answer), "gpu01")


def test_a_container_without_iproute2(tmp_path: Path) -> None:
    host = of_library(tmp_path, {})
    found = by_name(host)
    ipoib, roce, gone = (found[name] for name in ("ib2", "ens3f0np0", "gone"))
    assert (ipoib.kind, ipoib.hardware_address, ipoib.addresses) == ("infiniband", IPOIB_ADDRESS, ("10.10.2.1/24",))
    assert (ipoib.device, ipoib.port, ipoib.pkey, ipoib.mtu_bytes) == ("mlx5_2", 1, 0xFFFF, 2044)
    assert (ipoib.is_up, ipoib.has_carrier, roce.is_up, roce.has_carrier) == (True, True, True, None)
    assert (roce.device, roce.gid_indexes, roce.gateways, roce.speed_mbps) == (
        "mlx5_4", (0, 1, 2, 3), ("10.20.255.254",), 100000,
    )  # fmt: skip
    assert (ipoib.gateways, gone.is_up, gone.mtu_bytes, gone.hardware_address) == ((), None, None, None)
    assert (host.neighbours, host.problems) == (None, ())


def test_ip_speaks_and_the_library_fills_in(tmp_path: Path) -> None:
    rows = [
        {"ifname": "ens3f0np0", "link_type": "ether", "flags": ["UP", "LOWER_UP"], "mtu": 9000,
         "address": "9c:63:c0:12:34:50", "addr_info": [{"local": "10.20.0.1", "prefixlen": 16}]},
        {"ifname": "ib2", "link_type": "infiniband", "flags": ["UP"], "mtu": 4092, "address": IPOIB_ADDRESS,
         "addr_info": [{"local": "10.10.2.1", "prefixlen": 24}]},
    ]  # fmt: skip
    host = of_library(tmp_path, {"ip -j -d addr": json.dumps(rows), "ip -j neigh": "[]"})
    found = by_name(host)
    assert list(found) == ["ens3f0np0", "ib2"]
    assert (found["ens3f0np0"].gateways, found["ens3f0np0"].has_carrier, found["ib2"].mtu_bytes) == (
        ("10.20.255.254",), True, 4092,
    )  # fmt: skip
    assert [(problem.kind, problem.text) for problem in host.problems] == [
        ("contradiction", "ib2: mtu_bytes is 4092 by ip, 2044 by netifaces and psutil")
    ]


def test_a_tunnels_end_is_written_as_an_ip_address(tmp_path: Path) -> None:
    """One address, two spellings: as both told it of a SoftRoCE guest's sit0 (iproute2, lib/ll_addr.c)."""
    rows = [{"ifname": "sit0", "link_type": "sit", "flags": ["NOARP"], "mtu": 1480, "address": "0.0.0.0"}]
    library = [{"name": "sit0", "hardware_address": "00:00:00:00", "addresses": [], "flags": [], "mtu_bytes": 1480}]
    tools = {"ip -j -d addr": json.dumps(rows), "ip -j neigh": "[]"}
    host = of_library(tmp_path, tools, InterfacesAnswer(library, []))
    assert list(by_name(host)) == ["sit0"]
    assert host.problems == ()


@pytest.mark.parametrize(
    "told", [5, "x", [3, {"name": 4}, {"name": "a", "addresses": 7, "flags": {}, "mtu_bytes": -1}]]
)
def test_nonsense_of_a_capture_is_nothing(tmp_path: Path, told: Any) -> None:
    host = of_library(tmp_path, {}, InterfacesAnswer(told, told))
    assert all(one.addresses == () and one.mtu_bytes is None for one in host.interfaces or ())


def test_a_library_that_failed_is_told(tmp_path: Path) -> None:
    host = of_library(tmp_path, {}, InterfacesAnswer(error="netifaces or psutil: Operation not permitted"))
    assert (host.interfaces, [problem.kind for problem in host.problems]) == (None, ["tool-failed"])


def test_the_quick_way_asks_for_none_of_it(tmp_path: Path) -> None:
    multirail_host(tmp_path)
    source = TreeSource(tmp_path, tools=TOOLS)
    host = collect_hcas(source, "gpu01", whole=False)
    assert (host.interfaces, host.hcas[0].pci, host.hcas[0].ports[0].counters) == (None, None, None)
    assert not any("counters" in path or "pci" in path or path.startswith("ip ") for path in source.asked)


def test_no_file_is_read_twice(tmp_path: Path) -> None:
    multirail_host(tmp_path)
    source = TreeSource(tmp_path, tools=TOOLS)
    collect_hcas(source, "gpu01")
    assert [path for path, count in source.asked.items() if count > 1] == []


def test_device_nodes(tmp_path: Path) -> None:
    """As a host with XDR had them: the planes' device alone has what subnet managers need."""
    for name, ports in (("mlx5_0", 1), ("smi1", 4)):
        write_device(tmp_path, Device(name, "b8ce:f603:00aa:0000", [Port(lid=7, sm_lid=1)] * ports))
    nodes = [("mlx5_0", 1), *(("smi1", port) for port in (1, 2, 3, 4))]
    for number, (device, port) in enumerate(nodes):
        for kind in ("umad", "issm")[: 1 if device == "mlx5_0" else 2]:
            write(tmp_path, f"/sys/class/infiniband_mad/{kind}{number}/ibdev", f"{device}\n")
            write(tmp_path, f"/sys/class/infiniband_mad/{kind}{number}/port", f"{port}\n")
    write(tmp_path, "/sys/class/infiniband_verbs/uverbs3/ibdev", "mlx5_0\n")
    write(tmp_path, "/sys/class/infiniband_verbs/abi_version", "6\n")
    hcas = {hca.name: hca for hca in collect_hcas(TreeSource(tmp_path), "n01").hcas}
    assert (hcas["mlx5_0"].uverbs, hcas["smi1"].uverbs) == ("uverbs3", None)
    assert [(port.umad, port.issm) for port in (*hcas["mlx5_0"].ports, *hcas["smi1"].ports)] == [
        ("umad0", None), ("umad1", "issm1"), ("umad2", "issm2"), ("umad3", "issm3"), ("umad4", "issm4"),
    ]  # fmt: skip


def test_virtual_functions_of_infiniband(tmp_path: Path) -> None:
    """The second has no GUID yet. Versions of ip before 5.1 call the address mac."""
    from ibkit.parsers.ip_json import parse_addresses

    rows = [{"ifname": "ib2", "num_vf": 2, "vfinfo_list": [
        {"vf": 0, "link_type": "infiniband", "address": IPOIB_ADDRESS, "broadcast": "00:ff", "spoofchk": False,
         "node guid": "b8:ce:f6:03:00:bb:00:01", "port guid": "b8:ce:f6:03:00:bb:00:02", "link_state": "enable",
         "trust": True},
        {"vf": 1, "mac": IPOIB_ADDRESS, "node guid": "00:00:00:00:00:00:00:00", "port guid": "x", "vlan": 7},
        {"vf": True}, 5,
    ]}]  # fmt: skip
    assert [one.number for one in parse_addresses(json.dumps(rows)).value[0].virtual_functions] == [0, 1]
    host = of_library(
        tmp_path, {"ip -j -d addr": '[{"ifname": "ib2"}, {"ifname": "ib3"}]', "ip -j link": json.dumps(rows)}
    )
    first, second = by_name(host)["ib2"].virtual_functions or ()
    assert (first.node_guid, first.port_guid, first.trusted, first.link_state, first.vlan) == (
        Guid(0xB8CEF60300BB0001), Guid(0xB8CEF60300BB0002), True, "enable", None,
    )  # fmt: skip
    assert (second.node_guid, second.port_guid, second.vlan, second.address) == (0, None, 7, IPOIB_ADDRESS)
    assert by_name(host)["ib3"].virtual_functions is None


def test_odd_rows_of_ip() -> None:
    from ibkit.parsers.ip_json import parse_addresses, parse_neighbours

    rows: list[Any] = [
        {}, {"ifname": "a", "mtu": -1, "flags": 7, "addr_info": [{"local": 7}, 3]},
        {"ifname": "b", "address": "x", "linkinfo": []},
    ]  # fmt: skip
    first, second = parse_addresses(json.dumps(rows)).value
    assert (first.mtu, first.flags, first.addresses) == (None, (), ())
    assert (second.address, second.kind) == ("x", None)
    assert parse_neighbours('[{"dst": "10.0.0.1", "dev": "ib0"}, {"dev": "ib0"}]').value[0].lladdr is None
