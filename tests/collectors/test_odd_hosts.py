"""XDR's planes, bonds, virtual functions, Omni-Path, EFA, MANA, iWARP, BlueField, dormant and unreadable ports: what
each tool prints of them, and what /sys shows. What is true of each file is in the README of ``fixtures/tools``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.sysfs_tree import Device, Port, bus_folder, write_device, write_netdev
from support.tree_source import TreeSource

from ibkit.cli.main import main
from ibkit.collectors.hca import collect_hcas
from ibkit.model.host_findings import findings, is_decided

TOOLS = Path(__file__).parents[2] / "fixtures/tools"

#: Without -v, ibv_devinfo does not print the physical state: of a port that is Down nobody knows whether it has a link.
#: File, exit status, kinds of findings, and of each port: device, number, state, transport, LID, Gb/s, netdevs.
CASES: list[tuple[str, int, list[str], list[tuple[Any, ...]]]] = [
    ("ibstat/xdr", 1, ["planes-differ"], [
        ("mlx5_0", 1, "Active", "ib", 7, 600), ("smi1", 1, "Active", "ib", 7, 200), ("smi1", 2, "Active", "ib", 7, 200),
        ("smi1", 3, "Down", "ib", None, None), ("smi1", 4, "Active", "ib", 7, 200),
        ("mlx5_1", 1, "Down", "ib", None, None),
    ]),
    ("ibstatus/xdr", 0, [], [
        ("mlx5_0", 1, "Active", "ib", 7, 800), *(("smi1", n, "Active", "ib", 7, 200) for n in (1, 2, 3, 4)),
    ]),
    ("ibv_devinfo/xdr", 1, ["planes-differ", "port-not-active"], [
        ("mlx5_0", 1, "Active", "ib", 7, None), ("smi1", 1, "Active", "ib", 7, None),
        ("smi1", 2, "Active", "ib", 7, None), ("smi1", 3, "Initializing", "ib", None, None),
        ("smi1", 4, "Active", "ib", 7, None),
    ]),
    ("rdma/xdr", 1, ["planes-differ", "port-not-active"], [
        ("mlx5_0", 1, "Active", "ib", 7, None), ("smi1", 1, "Active", None, None, None),
        ("smi1", 2, "Active", None, None, None), ("smi1", 3, "Initializing", None, None, None),
        ("smi1", 4, "Active", None, None, None),
    ]),
    ("ibstat/bluefield3", 0, [], [
        ("mlx5_0", 1, "Active", "ib", 41, 400), ("mlx5_1", 1, "Down", "roce", None, None),
        ("mlx5_2", 1, "Down", "roce", None, None),
    ]),
    ("ibstat/bluefield3-held-down", 1, ["port-not-active"], [("mlx5_0", 1, "Down", "ib", None, 100)]),
    ("ibv_devinfo/bluefield3-multiport", 3, [], [
        ("mlx5_0", 1, "Active", "roce", None, None), ("mlx5_0", 2, "Active", "roce", None, None),
        ("mlx5_0", 3, "Down", "roce", None, None), ("mlx5_0", 4, "Active", "roce", None, None),
        ("mlx5_2", 1, "Active", "roce", None, None),
    ]),
    ("rdma/bluefield", 0, [], [
        ("mlx5_0", 1, "Active", "roce", None, None, "pf0hpf"), ("mlx5_1", 1, "Down", "roce", None, None, "p1"),
        ("mlx5_2", 1, "Active", "roce", None, None, "enp3s0f0s0"),
        ("mlx5_3", 1, "Active", "roce", None, None, "enp3s0f1s0"),
    ]),
    ("ibdev2netdev/bluefield", 3, [], [
        ("mlx5_0", 1, None, None, None, None, "p0"), ("mlx5_1", 1, None, None, None, None, "p1"),
        ("mlx5_2", 1, None, None, None, None, "enp3s0f0s0"), ("mlx5_3", 1, None, None, None, None, "enp3s0f1s0"),
    ]),
    ("ibdev2netdev/columns", 3, [], [
        ("mlx5_0", 1, None, None, None, None, "ibp26s0"), ("mlx5_1", 1, None, None, None, None, "enp27s0f0np0"),
        ("mlx5_10", 1, None, None, None, None, "ibp204s0"), ("mlx5_bond_0", 1, None, None, None, None, "bond0"),
    ]),
    ("mlxlink/bluefield3", 0, [], [(None, 1, "Active", "roce", None, 200)]),
    ("mlxlink/no-cable", 1, ["no-active-port"], [("mlx5_1", 2, "Down", None, None, None)]),
    ("ibstat/azure", 0, [], [
        ("mlx5_ib0", 1, "Active", "ib", 958, 200), ("mlx5_an0", 1, "Active", "roce", None, 40),
    ]),
    ("ibstatus/azure", 0, [], [
        ("mlx5_ib0", 1, "Active", "ib", 958, 200), ("mlx5_an0", 1, "Active", "roce", None, 40),
    ]),
    ("ibv_devinfo/azure", 0, [], [
        ("mlx5_ib0", 1, "Active", "ib", 958, None), ("rdmaP36305p0s2", 1, "Active", "roce", None, None),
    ]),
    ("ibstat/omni-path", 0, [], [("hfi1_0", 1, "Active", "opa", 5, 100)]),
    ("ibstatus/omni-path", 0, [], [
        ("hfi1_0", 1, "Active", "opa", 5, 100), ("hfi1_1", 1, "Down", "opa", None, None),
    ]),
    ("ibv_devinfo/omni-path", 0, [], [("hfi1_0", 1, "Active", "opa", 5, None)]),
    ("ibstatus/efa-and-mana", 0, [], [
        ("rdmap85s0", 1, "Active", None, None, 100), ("mana_0", 1, "Active", "roce", None, None),
    ]),
    ("ibv_devinfo/efa-mana-iwarp", 3, [], [
        ("rdmap85s0", 1, "Active", "efa", None, None), ("rdmap86s0", 1, "Down", "efa", None, None),
        ("mana_0", 1, "Active", "roce", None, None), ("iwp24s0f0", 1, "Active", "iwarp", None, None),
    ]),
    ("ibstatus/iwarp", 0, [], [("iwp24s0f0", 1, "Active", "roce", None, 25)]),
    ("rdma/odd-devices", 0, [], [
        ("hfi1_0", 1, "Active", "opa", 5, None), ("hfi1_0", 2, "Down", "opa", None, None),
        ("rdmap85s0", 1, "Active", None, None, None), ("siw0", 1, "Active", "iwarp", None, None, "eth0"),
        ("mlx5_bond_0", 1, "Active", "roce", None, None, "bond0"), ("mlx5_0", 1, "Active", "roce", None, None, "reth0"),
    ]),
    ("ibstatus/dormant", 0, [], [
        ("mlx5_0", 1, "Active", "ib", 79, 400), ("mlx5_1", 1, "Down", "ib", None, None),
        ("mlx5_2", 1, "Down", "roce", None, None), ("mlx5_3", 1, "Active", "roce", None, 100),
    ]),
    ("ibv_devinfo/dormant", 3, [], [
        ("mlx5_0", 1, "Active", "ib", 79, None), ("mlx5_1", 1, "Down", "ib", None, None),
        ("mlx5_2", 1, "Down", "roce", None, None), ("mlx5_3", 1, "Active", "roce", None, None),
    ]),
    ("ibstat/ethernet-only", 0, [], [
        ("mlx5_0", 1, "Active", "roce", None, 100),
        *((f"mlx5_{n}", 1, "Active", "roce", None, 400) for n in range(1, 9)),
        *((f"mlx5_{n}", 1, "Down", "roce", None, None) for n in range(9, 12)),
    ]),
    ("ibstat/unreadable", 1, ["device-unreadable"], [
        ("mlx5_0", 1, "Active", "ib", 11, 200), ("mlx5_1",), ("mlx5_2", 1, "Active", "ib", 12, 200),
    ]),
    ("ibstatus/unreadable", 1, ["device-unreadable"], [
        ("mlx5_0", 1, "Active", "ib", 11, 200), ("mlx5_1",), ("mlx5_2", 1, "Active", "ib", 12, 200),
    ]),
    ("ibv_devinfo/unreadable", 3, [], [
        ("mlx4_2", 1, "Active", "ib", 1, None), ("mlx4_4", 1, "Active", "ib", 3, None),
    ]),
    ("show_gids/mixed", 3, [], [
        ("mlx5_0", 1, None, None, None, None), ("mlx5_bond_0", 1, None, "roce", None, None, "bond0"),
        ("rdmap85s0", 1, None, None, None, None), ("mlx5_2", 1, None, "roce", None, None, "enp3s0f0s0"),
    ]),
]  # fmt: skip


@pytest.fixture
def status(capsys: pytest.CaptureFixture[str]) -> Any:
    def ask(name: str) -> tuple[int, dict[str, Any]]:
        code = main(["status", "--json", "--from", str(TOOLS / f"{name}.txt")])
        return code, json.loads(capsys.readouterr().out)

    return ask


def devices(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {device["name"]: device for device in document["devices"]}


@pytest.mark.parametrize(("name", "code", "kinds", "ports"), CASES, ids=[case[0] for case in CASES])
def test_what_a_tool_prints_of_it(
    status: Any, name: str, code: int, kinds: list[str], ports: list[tuple[Any, ...]]
) -> None:
    found, document = status(name)
    shown: list[tuple[Any, ...]] = []
    for device in document["devices"]:
        for port in device["ports"]:
            row = (port["port"], port["state"], port["transport"], port["lid"], port["rate_gbps"])
            shown.append((device["name"], *row, *(port["netdevs"] or ())))
        if not device["ports"]:
            shown.append((device["name"],))
    assert shown == ports
    assert (found, [finding["kind"] for finding in document["findings"]]) == (code, kinds)


@pytest.mark.parametrize("name", ["ibstat/xdr", "ibstatus/xdr", "ibv_devinfo/xdr", "rdma/xdr"])
def test_planes_belong_to_their_link(status: Any, name: str) -> None:
    of = {device["name"]: device["planes_of"] for device in status(name)[1]["devices"]}
    assert (of["mlx5_0"], of["smi1"]) == (None, "mlx5_0")


def test_of_two_links_nobody_guesses_whose_planes_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (TOOLS / "ibstatus/xdr.txt").read_text()
    second = text.partition("Infiniband device 'smi1'")[0].replace("mlx5_0", "mlx5_1")
    (tmp_path / "two").write_text(text + second)
    assert main(["status", "--json", "--from", str(tmp_path / "two")]) == 0
    assert {device["planes_of"] for device in json.loads(capsys.readouterr().out)["devices"]} == {None}


@pytest.mark.parametrize("name", ["ibstat/azure", "ibv_devinfo/azure"])
def test_the_guids_of_a_virtual_function_are_three(status: Any, name: str) -> None:
    device = devices(status(name)[1])["mlx5_ib0"]
    assert (device["node_guid"], device["system_image_guid"]) == ("0x00155dfffe33ff56", "0x0c42a10300fb517c")
    assert device["ports"][0]["port_guid"] == (None if name == "ibv_devinfo/azure" else "0x00155dfffd33ff56")


@pytest.mark.parametrize(
    ("name", "device", "field", "value"),
    [
        ("ibv_devinfo/dormant", "mlx5_2", "node_guid", "0x0000000000000000"),
        ("ibv_devinfo/efa-mana-iwarp", "rdmap86s0", "node_guid", "0x0000000000000000"),
        ("ibstat/ethernet-only", "mlx5_10", "port_guid", "0x0000000000000000"),
        ("ibstat/bluefield3", "mlx5_2", "port_guid", "0x0000000000000000"),
        ("ibstatus/dormant", "mlx5_2", "port_guid", "0x0000000000000000"),
    ],
)
def test_a_guid_of_zero_is_a_fact(status: Any, name: str, device: str, field: str, value: str) -> None:
    found = devices(status(name)[1])[device]
    assert (found if field in found else found["ports"][0])[field] == value


def test_omni_path_tells_neither_type_nor_firmware(status: Any) -> None:
    _, document = status("ibstat/omni-path")
    (device,) = document["devices"]
    assert (device["hca_type"], device["firmware"], device["error"]) == (None, None, None)
    assert [problem["kind"] for problem in document["problems"]] == ["omni-path"]


def test_a_pci_address_is_no_name(status: Any) -> None:
    (device,) = status("mlxlink/bluefield3")[1]["devices"]
    assert (device["name"], device["bus_address"], device["firmware"]) == (None, "0000:03:00.0", "32.47.1088")


def test_a_pci_address_finds_its_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = (TOOLS / "mlxlink/bluefield3.txt").read_text().replace("0000:03:00.0", "0000:18:00.0")
    (tmp_path / "log").write_text((TOOLS / "ibdev2netdev/verbose.txt").read_text() + link)
    main(["status", "--json", "--from", str(tmp_path / "log")])
    found = devices(json.loads(capsys.readouterr().out))
    assert (list(found), found["mlx5_0"]["ports"][0]["rate_gbps"]) == (["mlx5_0", "mlx5_5"], 200)


#: As devlink names the ports of a BlueField in switchdev mode: the uplink, the host's function, a sub-function.
BLUEFIELD_NETDEVS = {
    "en3f0pf0sf0": {"type": "1", "dev_port": "0", "phys_port_name": "pf0sf88"},
    "p0": {"type": "1", "dev_port": "0", "phys_port_name": "p0"},
    "pf0hpf": {"type": "1", "dev_port": "0", "phys_port_name": "c1pf0"},
    "pf0vf0": {"type": "1", "dev_port": "0", "phys_port_name": "c1pf0vf0"},
}


def bluefield(root: Path, **port: Any) -> TreeSource:
    """The Arm side: the uplink's function with its representors, and a sub-function's own device."""
    shown = {"link_layer": "Ethernet", "rate": "200 Gb/sec (4X HDR)", "cap_mask": "0x00010000", **port}
    attributes = {"hca_type": "MT41692", "board_id": "MT_0000000884", "fw_ver": "32.47.1088"}
    write_device(
        root,
        Device("mlx5_0", "c470:bd03:0093:b1e2", [Port(**shown)], "0000:03:00.0", attributes, "20000", "15B3:A2DC",
               BLUEFIELD_NETDEVS),
    )  # fmt: skip
    gids = [(0, "fe80:0000:0000:0000:0055:39ff:fe4b:0001", "RoCE v2", "enp3s0f0s0")]
    write_device(root, Device("mlx5_2", "0255:39ff:fe4b:0001", [Port(**{**shown, "gids": gids})], None, attributes))
    write_netdev(root, "enp3s0f0s0", {"type": "1", "dev_port": "0"}, f"{bus_folder('0000:03:00.0')}/mlx5_core.sf.2")
    rows = [
        {"ifname": "mlx5_0", "port": 1, "state": "ACTIVE", "physical_state": "LINK_UP", "netdev": "pf0hpf"},
        {"ifname": "mlx5_2", "port": 1, "state": "ACTIVE", "physical_state": "LINK_UP", "netdev": "enp3s0f0s0"},
    ]
    return TreeSource(root, tools={"rdma -j link": json.dumps(rows), "rdma -j dev": "[]", "rdma -j statistic": "[]"})


def test_representors_are_not_the_ports_netdevs(tmp_path: Path) -> None:
    host = collect_hcas(bluefield(tmp_path), "dpu", whole=False)
    assert {hca.name: hca.ports[0].netdevs for hca in host.hcas} == {"mlx5_0": ("p0",), "mlx5_2": ("enp3s0f0s0",)}
    assert (host.problems, findings([host]), is_decided(host)) == ((), (), True)


def test_a_representor_that_netlink_names_is_told_too(tmp_path: Path) -> None:
    """mlx5 gives the uplink's device whichever netdev came last, as ``rdma link`` shows on many a BlueField."""
    host = collect_hcas(bluefield(tmp_path), "dpu")
    assert {hca.name: hca.ports[0].netdevs for hca in host.hcas} == {
        "mlx5_0": ("p0", "pf0hpf"), "mlx5_2": ("enp3s0f0s0",),
    }  # fmt: skip
    assert [problem for problem in host.problems if problem.kind == "contradiction"] == []


def test_a_dpu_port_without_a_cable_beside_a_rail(tmp_path: Path) -> None:
    source = bluefield(tmp_path, state="1: DOWN", phys_state="3: Disabled")
    write_device(tmp_path, Device("mlx5_4", "b8ce:f603:00aa:0000", [Port(lid=65, sm_lid=1)], "0000:18:00.0"))
    host = collect_hcas(source, "n01", whole=False)
    assert (findings([host]), is_decided(host)) == ((), True)


def test_a_card_whose_data_runs_on_some_of_its_ports(tmp_path: Path) -> None:
    """RoCE over four planes: twelve ports of one device, and only 3, 6, 9 and 12 have a link."""
    idle = {"state": "1: DOWN", "phys_state": "3: Disabled", "rate": "40 Gb/sec (4X QDR)"}
    ports = [
        Port(link_layer="Ethernet", **({"rate": "200 Gb/sec (1X XDR)"} if n % 3 == 0 else idle)) for n in range(1, 13)
    ]
    netdevs = {f"eth_r0_p{n}": {"type": "1", "dev_port": str(3 * n + 2)} for n in range(4)}
    write_device(tmp_path, Device("mlx5_0", "7425:5403:0035:3ded", ports, "0000:18:00.0", netdevs=netdevs))
    host = collect_hcas(TreeSource(tmp_path), "n01", whole=False)
    active = [(port.port, port.netdevs) for port in host.hcas[0].ports if port.state == "Active"]
    assert active == [(3, ("eth_r0_p0",)), (6, ("eth_r0_p1",)), (9, ("eth_r0_p2",)), (12, ("eth_r0_p3",))]
    assert (findings([host]), is_decided(host)) == ((), True)
