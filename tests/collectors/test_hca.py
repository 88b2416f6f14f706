"""HCAs from sysfs trees, from ibstat, and the reasons for none."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import sysfs_tree
from support.sysfs_tree import Device, Port, multirail_host, softroce_host, write, write_device
from support.tree_source import TreeSource

from ibkit.collectors.hca import collect_hcas
from ibkit.model.host import Hca, HostHcas
from ibkit.model.ids import Gid, Guid, PKey
from ibkit.sources.base import NOT_RECORDED


def hca_named(host: HostHcas, name: str) -> Hca:
    return next(hca for hca in host.hcas if hca.name == name)


def one_device(tmp_path: Path, port: Port, **errors: str) -> HostHcas:
    write_device(tmp_path, Device("mlx5_0", "b8ce:f603:00aa:0000", [port], "0000:18:00.0"))
    place = "/sys/class/infiniband/mlx5_0/ports/1"
    source = TreeSource(tmp_path, errors={f"{place}/{name}": error for name, error in errors.items()})
    return collect_hcas(source, "n01")


@pytest.fixture(scope="module")
def multirail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("multirail")
    multirail_host(root)
    return root


@pytest.fixture(scope="module")
def softroce(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("softroce")
    softroce_host(root)
    return root


def test_softroce_host_as_the_guest_showed_it(softroce: Path) -> None:
    host = collect_hcas(TreeSource(softroce), "rxe-guest")
    assert ({hca.source for hca in host.hcas}, host.problems) == ({"sysfs"}, ())
    assert [hca.name for hca in host.hcas] == ["rxe0", "rxe1"]
    rxe0 = host.hcas[0]
    assert rxe0.node_guid == rxe0.system_image_guid == Guid(0xB4F034FFFE8ED331)
    assert (rxe0.firmware, rxe0.hca_type, rxe0.board_id, rxe0.driver) == (None, None, None, None)
    (port,) = rxe0.ports
    assert (port.state, port.physical_state, port.link_layer, port.transport) == (
        "Active", "LinkUp", "Ethernet", "roce",
    )  # fmt: skip
    assert (port.lid, port.sm_lid, port.reported_lid) == (None, None, 0)
    assert (port.rate_gbps, port.width, port.speed) == (10.0, "1x", "FDR10")
    assert port.port_guid == Guid(0xB4F034FFFE8ED331)  # as ibstat printed it in the same guest
    assert [(entry.gid_index, str(entry.gid), entry.type, entry.netdev) for entry in port.gids] == [
        (0, "fe80:0000:0000:0000:b4f0:34ff:fe8e:d331", "RoCE v2", "ve0"),
        (1, "0000:0000:0000:0000:0000:ffff:0a4d:0001", "RoCE v2", "ve0"),
    ]
    assert port.pkeys == (PKey(0xFFFF),)
    assert port.netdevs == ("ve0",)


def test_rails_of_a_gpu_host(multirail: Path) -> None:
    host = collect_hcas(TreeSource(multirail), "gpu01")
    assert host.problems == ()
    assert [hca.name for hca in host.hcas] == [
        "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_bond_0",
    ]  # fmt: skip
    for index in range(4):
        (port,) = hca_named(host, f"mlx5_{index}").ports
        assert (port.transport, port.lid, port.lmc, port.sm_lid, port.netdevs) == (
            "ib", 0x41 + index, 0, 1, (f"ib{index}",),
        )  # fmt: skip
        assert [entry.type for entry in port.gids] == ["IB"]
    first = hca_named(host, "mlx5_0")
    assert (first.driver, first.bus_address, first.hca_type, first.firmware) == (
        "mlx5_core", "0000:18:00.0", "MT4129", "28.39.1002",
    )  # fmt: skip
    assert first.ports[0].pkeys == (PKey(0xFFFF), PKey(0x8012))
    assert (first.ports[0].rate_gbps, first.ports[0].width, first.ports[0].speed) == (400.0, "4x", "NDR")
    slow = hca_named(host, "mlx5_2").ports[0]
    assert (slow.rate_gbps, slow.width, slow.speed) == (200.0, "2x", "NDR")


def test_a_table_of_partitions_with_a_hole(tmp_path: Path) -> None:
    port = Port(pkeys={0: "0x8012", 1: "0x0000", 2: "0x7fff", 5: "0x8000"}, pkey_entries=8)
    found = one_device(tmp_path, port).hcas[0].ports[0]
    assert (found.pkeys, found.pkey_indexes) == ((PKey(0x8012), PKey(0x7FFF)), (0, 2))


def test_roce_ports_have_versions_and_netdevs(multirail: Path) -> None:
    host = collect_hcas(TreeSource(multirail), "gpu01")
    (port,) = hca_named(host, "mlx5_4").ports
    assert port.transport == "roce"
    assert [(entry.gid_index, entry.type) for entry in port.gids] == [
        (0, "RoCE v1"), (1, "RoCE v2"), (2, "RoCE v1"), (3, "RoCE v2"),
    ]  # fmt: skip
    assert port.gids[3].gid == Gid(0xFFFF0A140001)
    assert port.netdevs == ("ens3f0np0",)
    dormant = hca_named(host, "mlx5_5").ports[0]
    assert (dormant.state, dormant.physical_state, dormant.rate_gbps, dormant.width) == ("Down", "Disabled", None, None)
    assert dormant.netdevs == ("ens3f1np1",)


def test_a_bond_that_the_card_knows_has_both_legs(multirail: Path) -> None:
    (port,) = hca_named(collect_hcas(TreeSource(multirail), "gpu01"), "mlx5_bond_0").ports
    assert port.netdevs == ("bond0", "eno1np0", "eno2np1")


def test_a_leg_with_its_own_device_is_not_taken_from_it(tmp_path: Path) -> None:
    for index in range(2):
        port = Port(link_layer="Ethernet", gids=sysfs_tree.roce_gids("bond0", "0000:0000:0000:0001", "0a00:0001"))
        netdevs = {f"eth{index}": {"dev_port": "0"}}
        write_device(tmp_path, Device(f"mlx5_{index}", "0:0:0:1", [port], f"0000:1{index}:00.0", netdevs=netdevs))
    sysfs_tree.write_netdev(tmp_path, "bond0", {"bonding/slaves": "eth0 eth1"})
    host = collect_hcas(TreeSource(tmp_path), "n01")
    assert [hca.ports[0].netdevs for hca in host.hcas] == [("bond0", "eth0"), ("bond0", "eth1")]


def test_no_file_is_read_twice(multirail: Path, softroce: Path) -> None:
    for root in (multirail, softroce):
        for whole in (True, False):
            source = TreeSource(root)
            collect_hcas(source, "n01", whole=whole)
            assert [path for path, times in source.asked.items() if times > 1] == []


def test_the_short_way_reads_no_hundreds_of_empty_entries(multirail: Path, softroce: Path) -> None:
    source = TreeSource(softroce)
    short = collect_hcas(source, "n01", whole=False)
    assert sum(source.asked.values()) < 80  # two devices with 1,024 GID entries each
    assert short.hcas[0].ports[0].gids == collect_hcas(TreeSource(softroce), "n01").hcas[0].ports[0].gids
    assert short.hcas[0].ports[0].tables_whole is False


def test_a_container_whose_gids_begin_later(tmp_path: Path) -> None:
    # The first entries belong to another network namespace and look empty (NVIDIA/nccl #1573).
    gids = [(4, "fe80:0000:0000:0000:a4ed:ccff:fe8b:1994", "RoCE v2", "net1")]
    write_device(tmp_path, Device("mlx5_0", "0:0:0:1", [Port(link_layer="Ethernet", gids=gids)]))
    for whole in (True, False):
        (port,) = collect_hcas(TreeSource(tmp_path), "pod", whole=whole).hcas[0].ports
        assert [entry.gid_index for entry in port.gids] == [4]
        assert port.netdevs == ("net1",)
        assert port.port_guid == 0


@pytest.mark.parametrize(
    ("state", "word"),
    [("1: DOWN", "Down"), ("2: INIT", "Initializing"), ("3: ARMED", "Armed"), ("4: ACTIVE", "Active"),
     ("5: ACTIVE_DEFER", "ACTIVE_DEFER"), ("0: NOP", "No state change"), ("9: UNKNOWN", "UNKNOWN")],
)  # fmt: skip
def test_state_words(tmp_path: Path, state: str, word: str) -> None:
    assert one_device(tmp_path, Port(state=state)).hcas[0].ports[0].state == word


@pytest.mark.parametrize(
    ("state", "word"),
    [("1: Sleep", "Sleep"), ("2: Polling", "Polling"), ("3: Disabled", "Disabled"), ("5: LinkUp", "LinkUp"),
     ("4: PortConfigurationTraining", "PortConfigurationTraining"), ("6: LinkErrorRecovery", "LinkErrorRecovery"),
     ("7: Phy Test", "PhyTest"), ("0: <unknown>", "No state change"), ("9: <unknown>", "Offline"),
     ("8: <unknown>", "<unknown>")],
)  # fmt: skip
def test_physical_state_words(tmp_path: Path, state: str, word: str) -> None:
    assert one_device(tmp_path, Port(phys_state=state)).hcas[0].ports[0].physical_state == word


@pytest.mark.parametrize(
    ("text", "rate", "width", "speed"),
    [("100 Gb/sec (4X EDR)", 100.0, "4x", "EDR"), ("2.5 Gb/sec (1X SDR)", 2.5, "1x", "SDR"),
     ("56 Gb/sec (4X FDR)", 56.0, "4x", "FDR"), ("800 Gb/sec (4X XDR)", 800.0, "4x", "XDR"),
     ("40 Gb/sec (4X)", 40.0, "4x", None), ("0 GB/sec", None, None, None)],
)  # fmt: skip
def test_rates(tmp_path: Path, text: str, rate: float | None, width: str | None, speed: str | None) -> None:
    host = one_device(tmp_path, Port(rate=text))
    port = host.hcas[0].ports[0]
    assert (port.rate_gbps, port.width, port.speed) == (rate, width, speed)
    assert host.problems == ()


@pytest.mark.parametrize("error", ["EINVAL", "EOPNOTSUPP", "EIO", "EACCES"])
def test_a_file_that_cannot_be_read_costs_that_value(tmp_path: Path, error: str) -> None:
    host = one_device(tmp_path, Port(lid=7, sm_lid=1), rate=error)
    (port,) = host.hcas[0].ports
    assert (port.rate_gbps, port.state, port.lid) == (None, "Active", 7)
    (problem,) = host.problems
    assert problem.kind == "unreadable-file"
    assert error in problem.text
    assert problem.source == "/sys/class/infiniband/mlx5_0/ports/1/rate"


def test_nonsense_in_a_file_costs_that_value(tmp_path: Path) -> None:
    host = one_device(tmp_path, Port(rate="\x1b[31m fast", cap_mask="9" * 400, state="4: ACTIVE"))
    (port,) = host.hcas[0].ports
    assert (port.rate_gbps, port.capability_mask, port.state) == (None, None, "Active")
    assert [problem.kind for problem in host.problems] == ["bad-value", "bad-value"]


@pytest.mark.parametrize(
    ("port", "lid", "sm_lid"),
    [(Port(lid=0x41, sm_lid=1), 0x41, 1),
     (Port(lid=0xFFFF, sm_lid=0), None, None),
     (Port(lid=0, sm_lid=0), None, None),
     (Port(lid=0xC001, sm_lid=1), None, 1),
     (Port("1: DOWN", "2: Polling", lid=868, sm_lid=1), None, None),
     (Port("2: INIT", lid=868, sm_lid=1), None, None),
     (Port(link_layer="Ethernet", lid=1, sm_lid=1), None, None)],
)  # fmt: skip
def test_only_active_infiniband_ports_have_a_lid(
    tmp_path: Path, port: Port, lid: int | None, sm_lid: int | None
) -> None:
    found = one_device(tmp_path, port).hcas[0].ports[0]
    assert (found.lid, found.sm_lid) == (lid, sm_lid)
    assert found.reported_lid == port.lid


def test_one_dead_device_keeps_the_others(multirail: Path) -> None:
    place = "/sys/class/infiniband/mlx5_1"
    dead = {f"{place}/ports/1/{name}": "ENODEV" for name in ("state", "phys_state", "rate", "lid", "link_layer")}
    host = collect_hcas(TreeSource(multirail, errors={**dead, f"{place}/node_guid": "ENODEV"}), "gpu01")
    assert len(host.hcas) == 7
    assert hca_named(host, "mlx5_1").error == "node_guid cannot be read (ENODEV)"
    assert hca_named(host, "mlx5_1").ports == ()
    assert all(hca.error is None and hca.ports for hca in host.hcas if hca.name != "mlx5_1")
    assert [problem.kind for problem in host.problems] == ["device-unreadable"]


def test_two_port_card_finds_the_netdev_of_each_port(tmp_path: Path) -> None:
    ports = [Port(lid=5, sm_lid=1), Port(link_layer="Ethernet", rate="40 Gb/sec (4X QDR)")]
    netdevs = {"ib0": {"dev_port": "0"}, "eth4": {"dev_port": "1"}, "odd": {}}
    device = Device("mlx4_0", "7cfe:9003:00c4:0490", ports, "0000:03:00.0", {"driver": "mlx4_core"}, netdevs=netdevs)
    write_device(tmp_path, device)
    (hca,) = collect_hcas(TreeSource(tmp_path), "n01").hcas
    assert [(port.port, port.transport, port.netdevs) for port in hca.ports] == [
        (1, "ib", ("ib0",)), (2, "roce", ("eth4",)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "attributes", "layer", "transport"),
    [("hfi1_0", {"driver": "hfi1"}, "InfiniBand", "opa"), ("opap5s0", {}, "InfiniBand", "opa"),
     ("iwp3s0", {"node_type": "4: RNIC"}, "Ethernet", "iwarp"), ("efa_0", {"driver": "efa"}, "Unknown", "efa"),
     ("usnic_0", {"node_type": "6: usNIC UDP"}, "Ethernet", None), ("ibp3s0", {}, "InfiniBand", "ib"),
     ("rocep3s0", {}, "Ethernet", "roce"), ("mlx5_0", {}, "Unknown", None)],
)  # fmt: skip
def test_transports(tmp_path: Path, name: str, attributes: dict[str, str], layer: str, transport: str | None) -> None:
    write_device(tmp_path, Device(name, "0011:7501:0167:0001", [Port(link_layer=layer)], "0000:05:00.0", attributes))
    (hca,) = collect_hcas(TreeSource(tmp_path), "n01").hcas
    assert hca.ports[0].transport == transport


def test_omni_path_lids_may_be_wide(tmp_path: Path) -> None:
    write_device(tmp_path, Device("hfi1_0", "0011:7501:0167:0001", [Port(lid=0x1C001, sm_lid=1)], "0000:05:00.0"))
    host = collect_hcas(TreeSource(tmp_path), "n01")
    assert host.hcas[0].ports[0].lid == 0x1C001
    assert [problem.kind for problem in host.problems] == ["omni-path"]
    assert "opainfo" in host.problems[0].text


def test_devices_come_in_natural_order(tmp_path: Path) -> None:
    for index in (10, 2, 1):
        write_device(tmp_path, Device(f"mlx5_{index}", "0:0:0:1", [Port()]))
    assert [hca.name for hca in collect_hcas(TreeSource(tmp_path), "n01").hcas] == ["mlx5_1", "mlx5_2", "mlx5_10"]


IBSTAT = """CA 'ibsim0'
\tCA type: simulator
\tNumber of ports: 1
\tNode GUID: 0x0000000000100000
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 10
\t\tBase lid: 4
\t\tLMC: 0
\t\tSM lid: 1
\t\tPort GUID: 0x0000000000100001
\t\tLink layer: IB
"""


def test_a_simulator_speaks_through_ibstat(tmp_path: Path) -> None:
    host = collect_hcas(TreeSource(tmp_path, tools={"ibstat": IBSTAT}), "n01")
    assert host.hcas[0].source == "ibstat"
    (port,) = host.hcas[0].ports
    assert (port.link_layer, port.transport, port.lid, port.sm_lid) == ("InfiniBand", "ib", 4, 1)
    assert port.tables_whole is None


def test_a_device_that_is_listed_and_not_readable_is_left_to_ibstat(tmp_path: Path) -> None:
    # Under the simulator's preloaded library, /sys lists ibsim0 and opens none of its files.
    (tmp_path / "sys/class/infiniband/ibsim0/ports/1").mkdir(parents=True)
    host = collect_hcas(TreeSource(tmp_path, tools={"ibstat": IBSTAT}), "n01")
    assert (host.hcas[0].source, host.hcas[0].node_guid, host.problems) == ("ibstat", Guid(0x100000), ())
    assert collect_hcas(TreeSource(tmp_path), "n01").hcas[0].error is not None


def test_no_rdma_support_in_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    host = collect_hcas(TreeSource(tmp_path, tools={"ibstat": ""}), "n01")
    assert host.hcas == ()
    (problem,) = host.problems
    assert problem.kind == "no-rdma-device"
    assert "ib_core" in problem.text
    assert "no RDMA adapter" in problem.text


@pytest.mark.parametrize(
    ("uevent", "words"),
    [("DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:1021\n", "at 0000:18:00.0, driver mlx5_core: load mlx5_ib"),
     ("PCI_CLASS=20700\nPCI_ID=15B3:1021\n", "15B3:1021 at 0000:18:00.0, without a driver"),
     ("DRIVER=hfi1\nPCI_CLASS=20800\nPCI_ID=8086:24F0\n", "8086:24F0 at 0000:18:00.0, driver hfi1"),
     ("DRIVER=ixgbe\nPCI_CLASS=20000\nPCI_ID=8086:1528\n", "no RDMA adapter"),
     ("garbage", "no RDMA adapter")],
)  # fmt: skip
def test_an_adapter_without_an_rdma_device(tmp_path: Path, uevent: str, words: str) -> None:
    (tmp_path / "sys/class/infiniband").mkdir(parents=True)
    write(tmp_path, "/sys/bus/pci/devices/0000:18:00.0/uevent", uevent)
    (problem,) = collect_hcas(TreeSource(tmp_path), "n01").problems
    assert problem.kind == "no-rdma-device"
    assert "no driver has made a device" in problem.text
    assert words in problem.text


def test_nothing_recorded_is_told_apart_from_no_device(tmp_path: Path) -> None:
    source = TreeSource(tmp_path, errors={"/sys/class/infiniband": NOT_RECORDED, "ibstat": NOT_RECORDED})
    (problem,) = collect_hcas(source, "n01").problems
    assert problem.kind == NOT_RECORDED


def test_ibstat_that_only_complains(tmp_path: Path) -> None:
    text = "ibpanic: [12] main: can't init UMAD library: No such file or directory\n"
    problems = collect_hcas(TreeSource(tmp_path, tools={"ibstat": text}), "n01").problems
    assert [problem.kind for problem in problems] == ["no-rdma-device", "tool-failed"]
    assert "UMAD" in problems[1].text
