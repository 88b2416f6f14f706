"""What people paste, by the cases that are known from hosts: one tool's output, several in one log, odd hosts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ibkit.cli.main import main

TOOLS = Path(__file__).parents[2] / "fixtures/tools"


class Answer:
    def __init__(self, status: int, text: str) -> None:
        self.status = status
        self.document: dict[str, Any] = json.loads(text)
        self.devices = {device["name"]: device for device in self.document["devices"]}

    def port(self, device: str, number: int = 1) -> dict[str, Any]:
        (found,) = [port for port in self.devices[device]["ports"] if port["port"] == number]
        return dict(found)

    def kinds(self) -> list[str]:
        return [problem["kind"] for problem in self.document["problems"]]


@pytest.fixture
def status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def ask(text: str) -> Answer:
        (tmp_path / "pasted").write_text(text)
        code = main(["status", "--json", "--from", str(tmp_path / "pasted")])
        return Answer(code, capsys.readouterr().out)

    return ask


def sample(name: str) -> str:
    return (TOOLS / f"{name}.txt").read_text()


@pytest.mark.parametrize(
    "name",
    ["ibstat/two-devices", "ibstatus/two-devices", "ibv_devinfo/two-devices", "ibv_devinfo/verbose", "rdma/link",
             "rdma/link-json"],
)  # fmt: skip
def test_every_tool_shows_the_same_two_ports(status: Any, name: str) -> None:
    found = status(sample(name))
    assert (found.status, found.kinds(), list(found.devices)) == (0, [], ["rxe0", "rxe1"])
    port = found.port("rxe1")
    assert (port["state"], port["link_layer"], port["transport"], port["lid"]) == ("Active", "Ethernet", "roce", None)
    assert found.devices["rxe0"]["source"] == name.split("/")[0]


def test_devinfo_whole(status: Any) -> None:
    """Expected from ibstat, sysfs and rdma of the same guest."""
    found = status(sample("ibv_devinfo/verbose"))
    device, port = found.devices["rxe0"], found.port("rxe0")
    assert (device["node_guid"], device["vendor_id"], device["firmware"]) == ("0xb4f034fffe8ed331", "0xffffff", None)
    assert (port["physical_state"], port["rate_gbps"], port["width"], port["speed"]) == ("LinkUp", 10, "1x", "FDR10")
    assert (port["active_mtu_bytes"], port["max_mtu_bytes"]) == (1024, 4096)
    assert port["gids"] == [
        {"index": 0, "gid": "fe80:0000:0000:0000:b4f0:34ff:fe8e:d331", "type": "RoCE v2", "netdev": None},
        {"index": 1, "gid": "0000:0000:0000:0000:0000:ffff:0a4d:0001", "type": "RoCE v2", "netdev": None},
    ]
    assert (port["pkeys"], port["netdevs"], port["port_guid"]) == (None, None, "0xb4f034fffe8ed331")


def test_one_log_of_several_tools(status: Any) -> None:
    found = status(
        "[root@n01 ~]# ibstat\n" + sample("ibstat/two-devices") + "[root@n01 ~]# ibv_devinfo -v\n"
        + sample("ibv_devinfo/verbose") + "[root@n01 ~]# rdma link\n" + sample("rdma/link")
    )  # fmt: skip
    assert list(found.devices) == ["rxe0", "rxe1"]
    port = found.port("rxe0")
    assert found.devices["rxe0"]["source"] == "ibstat"
    assert (port["active_mtu_bytes"], port["netdevs"], len(port["gids"])) == (1024, ["ve0"], 2)
    assert "contradiction" not in found.kinds()


def test_two_tools_that_contradict_each_other(status: Any) -> None:
    text = sample("ibstat/two-devices") + sample("ibstatus/two-devices").replace("4: ACTIVE", "1: DOWN", 1)
    found = status(text)
    (problem,) = [problem for problem in found.document["problems"] if problem["kind"] == "contradiction"]
    assert problem["text"] == "rxe0 port 1: state is Active by ibstat, Down by ibstatus"


IBSTATUS = """Infiniband device '{name}' port {port} status:
\tdefault gid:\t fe80:0000:0000:0000:{guid}
\tbase lid:\t {lid}
\tsm lid:\t\t {sm}
\tstate:\t\t {state}
\tphys state:\t {phys}
\trate:\t\t {rate}
\tlink_layer:\t {layer}

"""


def ibstatus(name: str = "mlx5_0", **changes: Any) -> str:
    values = {
        "port": 1, "guid": "b8ce:f603:00aa:0000", "lid": "0x4f", "sm": "0x1", "state": "4: ACTIVE", "phys": "5: LinkUp",
        "rate": "400 Gb/sec (4X NDR)", "layer": "InfiniBand", **changes,
    }  # fmt: skip
    return IBSTATUS.format(name=name, **values)


def test_lids_of_ibstatus_are_hexadecimal(status: Any) -> None:
    port = status(ibstatus()).port("mlx5_0")
    assert (port["lid"], port["sm_lid"], port["rate_gbps"], port["speed"]) == (79, 1, 400, "NDR")
    assert port["port_guid"] == "0xb8cef60300aa0000"


@pytest.mark.parametrize(
    "text",
    [
        "Fatal error:  No devices\n",
        "Fatal error:  device '*': sys files not found (/sys/class/infiniband/*/ports)\n",
        "Infiniband device '*' port * status:\ncat: '/sys/class/infiniband/*/ports/*/gids/0': No such file\n"
        "\tdefault gid:\t \n\tbase lid:\t \n",
    ],
)
def test_a_host_whose_driver_made_no_device(status: Any, text: str) -> None:
    found = status(text)
    assert (found.status, found.document["verdict"], found.devices) == (3, "unknown", {})
    assert found.kinds()[0] == "no-rdma-device"


def test_ports_that_are_down_have_no_lid_and_no_rate(status: Any) -> None:
    """A stale LID, the permissive one, and an empty cage."""
    found = status(
        ibstatus("mlx5_0")
        + ibstatus("mlx5_1", state="1: DOWN", phys="2: Polling", lid="0xffff", sm="0x0")
        + ibstatus("mlx5_2", state="1: DOWN", phys="3: Disabled", lid="0x26", rate="0 GB/sec")
    )
    assert found.status == 0
    for name, register in (("mlx5_1", 65535), ("mlx5_2", 38)):
        port = found.port(name)
        assert (port["lid"], port["reported_lid"], port["rate_gbps"], port["width"]) == (None, register, None, None)


def test_ethernet_ports_among_infiniband_ones(status: Any) -> None:
    found = status(
        ibstatus("mlx5_0")
        + ibstatus(
            "mlx5_1", layer="Ethernet", lid="0x0", sm="0x0", guid="0000:0000:0000:0000", rate="100 Gb/sec (2X HDR)"
        )
    )
    assert [found.port(name)["transport"] for name in ("mlx5_0", "mlx5_1")] == ["ib", "roce"]
    assert (found.status, found.port("mlx5_1")["lid"]) == (0, None)


def test_infiniband_port_that_waits_for_its_subnet_manager(status: Any) -> None:
    found = status(ibstatus(state="2: INIT", lid="0xffff", sm="0x0"))
    assert (found.status, [finding["kind"] for finding in found.document["findings"]]) == (1, ["port-not-active"])


def test_ib_ports_of_rdma_link(status: Any) -> None:
    """Older and newer form; a port that is Down has a stale or a permissive LID."""
    found = status(
        "1/1: mlx5_0/1: subnet_prefix fe80:0000:0000:0000 lid 13399 sm_lid 49151 lmc 0 state ACTIVE "
        "physical_state LINK_UP \n"
        "link mlx5_1/1 subnet_prefix fe80:0000:0000:0000 lid 65535 sm_lid 0 lmc 0 state DOWN physical_state POLLING \n"
        "link mlx5_bond_0/1 state ACTIVE physical_state LINK_UP netdev bond0 \n"
    )
    assert [(name, found.port(name)["lid"], found.port(name)["transport"]) for name in found.devices] == [
        ("mlx5_0", 13399, "ib"), ("mlx5_1", None, "ib"), ("mlx5_bond_0", None, "roce"),
    ]  # fmt: skip
    assert found.port("mlx5_bond_0")["netdevs"] == ["bond0"]


def test_netdevs_do_not_tell_a_ports_state(status: Any) -> None:
    """An IPoIB interface without an address is Down; the port is not known to be."""
    found = status("mlx5_0 port 1 ==> ib0 (Down)\nmlx5_1 port 1 ==> ens1f0np0 (Up)\n")
    assert (found.status, found.document["verdict"]) == (3, "unknown")
    assert (found.port("mlx5_0")["state"], found.port("mlx5_0")["netdevs"]) == (None, ["ib0"])


def test_netdevs_in_the_long_form(status: Any) -> None:
    found = status(
        "0000:18:00.0 mlx5_0 (MT4129 - MCX75310AAS-NEAT) NVIDIA ConnectX-7 adapter card  fw 28.39.1002 port 1 (ACTIVE) "
        "==> ib0 (Down)\n"
        "0000:5a:00.1 mlx5_5 (MT4125 - MCX623106AC-CDA_Ax) CX-6 Dx fw 22.36.1010 port 1 (DOWN  ) ==> ens3 (Down)\n"
    )
    device = found.devices["mlx5_0"]
    assert (device["bus_address"], device["firmware"], device["hca_type"]) == ("0000:18:00.0", "28.39.1002", "MT4129")
    assert [found.port(name)["state"] for name in found.devices] == ["Active", "Down"]


SHOW_GIDS = """DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV
---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---
mlx5_0\t1\t0\tfe80:0000:0000:0000:b8ce:f603:00aa:0000\t\t\tv1
mlx5_4\t1\t0\tfe80:0000:0000:0000:9e63:c0ff:fe12:3450\t\t\tv1\tens3f0np0
mlx5_4\t1\t1\tfe80:0000:0000:0000:9e63:c0ff:fe12:3450\t\t\tv2\tens3f0np0
mlx5_4\t1\t2\t0000:0000:0000:0000:0000:ffff:0a14:0001\t10.20.0.1  \tv1\tens3f0np0
mlx5_4\t1\t3\t0000:0000:0000:0000:0000:ffff:0a14:0001\t10.20.0.1  \tv2\tens3f0np0
n_gids_found=5
"""


def test_gids(status: Any) -> None:
    found = status(SHOW_GIDS)
    assert found.status == 3
    roce, other = found.port("mlx5_4"), found.port("mlx5_0")
    assert [(gid["index"], gid["type"], gid["netdev"]) for gid in roce["gids"]] == [
        (0, "RoCE v1", "ens3f0np0"), (1, "RoCE v2", "ens3f0np0"), (2, "RoCE v1", "ens3f0np0"),
        (3, "RoCE v2", "ens3f0np0"),
    ]  # fmt: skip
    assert (other["link_layer"], other["gids"][0]["type"], other["pkeys"]) == (None, None, None)


def test_gids_that_were_cut(status: Any) -> None:
    lines = SHOW_GIDS.splitlines(keepends=True)
    assert status("".join((*lines[:4], *lines[5:]))).kinds() == ["truncated"]


DEVINFO = """hca_id:\t{name}
\ttransport:\t\t\t{transport}
\tfw_ver:\t\t\t\t{firmware}
\tnode_guid:\t\t\t{node}
\tsys_image_guid:\t\t\t{image}
\tvendor_id:\t\t\t{vendor}
\tvendor_part_id:\t\t\t{part}
\thw_ver:\t\t\t\t0x0
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t{mtu}
\t\t\tsm_lid:\t\t\t{sm}
\t\t\tport_lid:\t\t{lid}
\t\t\tport_lmc:\t\t0x00
\t\t\tlink_layer:\t\t{layer}

"""


def devinfo(name: str, **changes: str) -> str:
    values = {
        "transport": "InfiniBand (0)", "firmware": "16.30.1284", "node": "0015:5dff:fe33:ff25",
        "image": "0c42:a103:00fb:7cbc", "vendor": "0x02c9", "part": "4120", "mtu": "4096 (5)", "sm": "1", "lid": "868",
        "layer": "InfiniBand", **changes,
    }  # fmt: skip
    return DEVINFO.format(name=name, **values)


def test_a_virtual_function_of_azure(status: Any) -> None:
    """Its node GUID is the hypervisor's, its system image GUID the card's: they are not one another."""
    found = status(devinfo("mlx5_ib0"))
    device = found.devices["mlx5_ib0"]
    assert (device["node_guid"], device["system_image_guid"]) == ("0x00155dfffe33ff25", "0x0c42a10300fb7cbc")
    assert (found.port("mlx5_ib0")["lid"], found.port("mlx5_ib0")["port_guid"]) == (868, None)


@pytest.mark.parametrize(
    ("changes", "transport"),
    [
        ({"transport": "iWARP (1)", "layer": "Ethernet", "vendor": "0x8086"}, "iwarp"),
        ({"transport": "unspecified (4)", "layer": "Unspecified", "vendor": "0x1d0f", "part": "61344"}, "efa"),
        ({"layer": "Ethernet", "vendor": "0x1414", "part": "186", "lid": "0", "sm": "0"}, "roce"),
        ({"vendor": "0x1175", "part": "9456"}, "opa"),
        ({"node": "0000:0000:0000:0000"}, "ib"),
    ],
    ids=["iwarp", "efa", "mana", "opa", "guid-zero"],
)
def test_odd_devices(status: Any, changes: dict[str, str], transport: str) -> None:
    found = status(devinfo("dev0", **changes))
    assert (found.status, found.port("dev0")["transport"]) == (0, transport)


def test_devinfo_that_was_cut(status: Any) -> None:
    text = devinfo("mlx5_0")
    found = status(text[: text.index("PORT_ACTIVE") + 6])
    assert "truncated" in found.kinds()
    assert (found.status, found.port("mlx5_0")["state"]) == (3, None)


def test_no_devices_by_devinfo(status: Any) -> None:
    found = status("hca_id:\tmlx5_0\nFailed to query device props\n\nNo IB devices found\n")
    assert found.kinds() == ["tool-error", "no-rdma-device"]
    assert found.status == 3


IBSTAT_XDR = """CA 'mlx5_0'
\tCA type: MT4131
\tNumber of ports: 1
\tFirmware version: 40.44.1036
\tHardware version: 0
\tNode GUID: 0xb45cb50300a61c4e
\tSystem image GUID: 0xb45cb50300a61c4e
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 800
\t\tBase lid: 7
\t\tLMC: 0
\t\tSM lid: 1
\t\tCapability mask: 0xa751e848
\t\tPort GUID: 0xb45cb50300a61c4e
\t\tLink layer: InfiniBand
CA 'smi1'
\tCA type: MT4131
\tNumber of ports: 4
\tFirmware version: 40.44.1036
\tHardware version: 0
\tNode GUID: 0xb45cb50300a61c4e
\tSystem image GUID: 0xb45cb50300a61c4e
"""
PLANE = """\tPort {port}:
\t\tState: {state}
\t\tPhysical state: {physical}
\t\tRate: 200
\t\tBase lid: 7
\t\tLMC: 0
\t\tSM lid: 1
\t\tCapability mask: 0xa751e848
\t\tPort GUID: 0xb45cb50300a61c4e
\t\tLink layer: InfiniBand
"""


def test_planes_of_xdr(status: Any) -> None:
    planes = [PLANE.format(port=port, state="Active", physical="LinkUp") for port in (1, 2, 3, 4)]
    found = status(IBSTAT_XDR + "".join(planes))
    assert (found.status, found.devices["smi1"]["planes_of"], found.devices["mlx5_0"]["planes_of"]) == (
        0,
        "mlx5_0",
        None,
    )
    planes[2] = PLANE.format(port=3, state="Down", physical="Polling")
    found = status(IBSTAT_XDR + "".join(planes))
    assert (found.status, [finding["kind"] for finding in found.document["findings"]]) == (1, ["planes-differ"])


def test_a_file_of_consumers_is_not_for_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = main(["status", "--from", str(TOOLS / "rdma/queue-pairs.txt")])
    assert found in (2, 3)
    assert "Active" not in capsys.readouterr().out


def test_what_pdsh_collected(status: Any) -> None:
    found = status(
        "".join(f"{host}: {line}" for host in ("n01", "n02") for line in ibstatus().splitlines(keepends=True))
    )
    assert [(device["host"], device["name"]) for device in found.document["devices"]] == [
        ("n01", "mlx5_0"), ("n02", "mlx5_0"),
    ]  # fmt: skip
    assert (found.status, found.document["problems"]) == (0, [])


def test_mlxlink_of_a_named_device(status: Any) -> None:
    found = status(sample("mlxlink/ndr"))
    port = found.port("mlx5_0")
    assert (found.status, found.devices["mlx5_0"]["firmware"]) == (0, "28.39.1002")
    assert (port["state"], port["physical_state"], port["rate_gbps"], port["width"], port["speed"]) == (
        "Active", "LinkUp", 400, "4x", "NDR",
    )  # fmt: skip
    assert (port["transport"], port["lid"]) == ("ib", None)


@pytest.mark.parametrize(
    ("speed", "state", "expected"),
    [
        ("100G", "Active", ("Active", "Ethernet", 100)), ("400G_4X", "Active", ("Active", "Ethernet", 400)),
        ("N/A", "Polling", ("Down", None, None)), ("IB-XYZ", "Active", ("Active", "InfiniBand", None)),
    ],
)  # fmt: skip
def test_mlxlink_of_other_ports(status: Any, speed: str, state: str, expected: tuple[Any, ...]) -> None:
    """Coloured, and without the command, so that nobody knows whose it is."""
    green = "\x1b[0;32m"
    text = sample("mlxlink/ndr").partition("\n")[2].replace("IB-NDR", f"{green}{speed}\x1b[0m").replace("Active", state)
    if state != "Active":
        text = text.replace("LinkUp", "Polling")
    found = status(text)
    (port,) = found.devices[None]["ports"]
    assert (port["state"], port["link_layer"], port["rate_gbps"]) == expected


def test_mlxlink_of_a_port_that_negotiates(status: Any) -> None:
    """Below Polling, Ethernet ports show the step of their autonegotiation (mstflint, mlxlink_maps.cpp)."""
    text = sample("mlxlink/ndr").replace(": Active", ": Polling").replace("LinkUp", "ETH_AN_FSM_ABILITY_DETECT")
    found = status(text.replace("IB-NDR", "N/A"))
    port = found.port("mlx5_0")
    assert (port["state"], port["physical_state"], port["rate_gbps"]) == ("Down", "Polling", None)
    assert [finding["kind"] for finding in found.document["findings"]] == ["no-active-port"]


@pytest.mark.parametrize(
    ("name", "device"),
    [("ibv_devices/two-devices", None), ("rdma/devices", None), ("rdma/devices-json", None), ("rdma/statistics", 1)],
)
def test_what_names_devices_and_no_states(status: Any, name: str, device: int | None) -> None:
    found = status(sample(name))
    assert (found.status, found.document["verdict"], found.kinds(), list(found.devices)) == (
        3, "unknown", [], ["rxe0", "rxe1"],
    )  # fmt: skip
    guid = None if device else "0xb4f034fffe8ed331"
    assert (found.devices["rxe0"]["node_guid"], len(found.devices["rxe0"]["ports"])) == (guid, device or 0)
    if device:
        assert found.port("rxe1")["hw_counters"]["out_of_seq_request"] == 145


def test_tools_that_fill_each_other_in(status: Any) -> None:
    """What a person pastes who was asked for everything: the order of the tools does not matter."""
    parts = [
        f"$ {tool}\n{sample(name)}"
        for tool, name in (
            ("rdma statistic", "rdma/statistics"), ("ibv_devices", "ibv_devices/two-devices"),
            ("rdma -j dev", "rdma/devices-json"), ("rdma link", "rdma/link"),
            ("ibv_devinfo", "ibv_devinfo/two-devices"),
        )
    ]  # fmt: skip
    for text in ("".join(parts), "".join(reversed(parts))):
        found = status(text)
        assert (found.status, list(found.devices), {*found.kinds()} <= {"noise"}) == (0, ["rxe0", "rxe1"], True)
        port = found.port("rxe0")
        assert (port["state"], port["netdevs"], port["hw_counters"]["rcvd_seq_err"]) == ("Active", ["ve0"], 99)
