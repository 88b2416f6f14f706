"""The recorded hosts in fixtures/, replayed by the command line and held against the truth in their README."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.record_multirail import record

from ibkit.cli.main import main

FIXTURES = Path(__file__).parents[1] / "fixtures"


def replay(capsys: pytest.CaptureFixture[str], command: str, capture: str) -> tuple[int, dict[str, Any]]:
    status = main([command, "--json", "--from", str(FIXTURES / capture)])
    return status, json.loads(capsys.readouterr().out)


def ports(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The only port of each device, with its device's name as the key."""
    found = {}
    for device in document["devices"]:
        (found[device["name"]],) = device["ports"]
    return found


def test_roce_host(capsys: pytest.CaptureFixture[str]) -> None:
    status, document = replay(capsys, "status", "roce-host")
    assert (status, document["verdict"], document["findings"], document["problems"]) == (0, "ok", [], [])
    for index, device in enumerate(document["devices"], 1):
        guid = f"0x00000afffe4d000{index}"
        assert (device["host"], device["name"]) == ("rxe-guest", f"rxe{index - 1}")
        assert (device["node_guid"], device["system_image_guid"]) == (guid, guid)
        assert (device["source"], device["vendor_id"], device["node_type"]) == ("verbs", "0xffffff", "CA")
        assert device["uverbs"] == f"uverbs{index - 1}"
        for unknown in ("firmware", "hca_type", "board_id", "bus_address", "driver"):
            assert device[unknown] is None
        (port,) = device["ports"]
        netdev = f"ve{index - 1}"
        assert port == {
            "port": 1, "state": "Active", "physical_state": "LinkUp", "link_layer": "Ethernet", "transport": "roce",
            "lid": None, "lmc": None, "sm_lid": None, "sm_sl": None, "reported_lid": 0, "rate_gbps": 10,
            "effective_rate_gbps": None, "width": "1x", "speed": "FDR10", "active_mtu_bytes": 1024,
            "max_mtu_bytes": 4096, "port_guid": guid, "capability_mask": "0x00010000",
            "gids": [
                {"index": 0, "gid": f"fe80:0000:0000:0000:0000:0aff:fe4d:000{index}", "type": "RoCE v2",
                 "netdev": netdev},
                {"index": 1, "gid": f"0000:0000:0000:0000:0000:ffff:0a4d:000{index}", "type": "RoCE v2",
                 "netdev": netdev},
            ],
            "pkeys": ["0xffff"], "pkey_table": [{"index": 0, "pkey": "0xffff", "membership": "full"}],
            "umad": f"umad{index - 1}", "issm": f"issm{index - 1}", "netdevs": [netdev], "counters": None,
            "hw_counters": dict.fromkeys(port["hw_counters"], 0), "unreadable_counters": {},
        }  # fmt: skip
        assert len(port["hw_counters"]) == 15
        (interface,) = [one for one in document["interfaces"] if one["device"] == device["name"]]
        assert (interface["name"], interface["gid_indexes"], interface["addresses"]) == (
            netdev, [0, 1], [f"10.77.0.{index}/24", f"fe80::aff:fe4d:{index}/64"],
        )  # fmt: skip


def test_roce_host_has_a_pair(capsys: pytest.CaptureFixture[str]) -> None:
    status, document = replay(capsys, "consumers", "roce-host")
    assert (status, document["problems"]) == (0, [])
    (pair,) = document["pairs"]
    ends = [document["queue_pairs"][pair[end]] for end in "ab"]
    assert [(one["device"], one["qpn"], document["owners"][one["owner"]]["pid"]) for one in ends] == [
        ("rxe0", 17, 55), ("rxe1", 17, 56),
    ]  # fmt: skip
    assert pair["basis"] == "packet-numbers"
    thread = next(owner for owner in document["owners"] if owner["pid"] == 56)
    assert 56 in thread["threads"]
    assert [owner["own_namespaces"] for owner in document["owners"] if owner["kind"] == "process"] == [[], []]
    assert len(thread["threads"]) == 2


def test_roce_host_has_nothing_to_mend(capsys: pytest.CaptureFixture[str]) -> None:
    status, document = replay(capsys, "doctor", "roce-host")
    assert (status, document["verdict"]) == (0, "ok")
    assert "umad" not in [check["check"] for check in document["checks"]]


def test_multirail_host(capsys: pytest.CaptureFixture[str]) -> None:
    status, document = replay(capsys, "status", "multirail-host")
    assert (status, document["verdict"], document["findings"], document["problems"]) == (0, "ok", [], [])
    found = ports(document)
    assert list(found) == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_bond_0"]
    assert {
        name: (p["transport"], p["rate_gbps"], p["width"], p["lid"], p["netdevs"]) for name, p in found.items()
    } == {
        "mlx5_0": ("ib", 400, "4x", 65, ["ib0"]),
        "mlx5_1": ("ib", 400, "4x", 66, ["ib1"]),
        "mlx5_2": ("ib", 200, "2x", 67, ["ib2"]),
        "mlx5_3": ("ib", 400, "4x", 68, ["ib3"]),
        "mlx5_4": ("roce", 200, "4x", None, ["ens3f0np0"]),
        "mlx5_5": ("roce", None, None, None, ["ens3f1np1"]),
        "mlx5_bond_0": ("roce", 100, "4x", None, ["bond0", "eno1np0", "eno2np1"]),
    }
    assert {name: p["pkeys"] for name, p in found.items() if p["pkeys"] != ["0xffff"]} == {
        "mlx5_0": ["0xffff", "0x8012"]
    }
    assert found["mlx5_4"]["gids"][3] == {
        "index": 3, "gid": "0000:0000:0000:0000:0000:ffff:0a14:0001", "type": "RoCE v2", "netdev": "ens3f0np0",
    }  # fmt: skip
    assert (found["mlx5_5"]["state"], found["mlx5_5"]["physical_state"]) == ("Down", "Disabled")


def test_multirail_host_as_its_user(capsys: pytest.CaptureFixture[str]) -> None:
    status, document = replay(capsys, "doctor", "multirail-host")
    states = {check["check"]: check["state"] for check in document["checks"]}
    assert status == 1
    assert {name: state for name, state in states.items() if state != "ok"} == {
        "umad": "denied", "pyverbs": "missing", "memlock": "limited", "memlock-ssh": "limited", "pcie": "limited",
    }  # fmt: skip
    assert states["firmware-stored"] == states["firmware"] == states["providers"] == states["rdma_cm"] == "ok"
    assert states["memlock-slurmd"] == states["pkeys"] == states["ib_ipoib"] == states["roce-address"] == "ok"


def test_multirail_host_and_what_is_around_it(capsys: pytest.CaptureFixture[str]) -> None:
    _, document = replay(capsys, "status", "multirail-host")
    devices = {device["name"]: device for device in document["devices"]}
    widths = {name: device["pci"]["links"][-1]["width"] for name, device in devices.items() if device["pci"]["links"]}
    assert {name: widths[name] for name in ("mlx5_0", "mlx5_1", "mlx5_2")} == {"mlx5_0": 16, "mlx5_1": 8, "mlx5_2": 16}
    assert [devices[f"mlx5_{rail}"]["pci"]["numa_node"] for rail in range(4)] == [0, 0, 1, 1]
    port = devices["mlx5_0"]["ports"][0]
    assert (port["counters"]["link_downed"], port["counters"]["VL15_dropped"]) == (1, None)
    assert port["unreadable_counters"] == {"VL15_dropped": "N/A (no PMA)"}
    assert port["hw_counters"] == {"out_of_sequence": 0, "rnr_nak_retry_err": 2}
    assert {device["name"]: device["protocol"] for device in document["devices"]} == {
        **dict.fromkeys(("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"), "ib"),
        **dict.fromkeys(("mlx5_4", "mlx5_5", "mlx5_bond_0"), "roce"),
    }
    interfaces = {one["name"]: one for one in document["interfaces"]}
    assert (interfaces["ib3"]["pkey"], interfaces["ib3"]["device"]) == ("0xffff", "mlx5_3")
    assert interfaces["ib3"]["virtual_functions"] == []
    assert [(one["number"], one["address"], one["vlan"]) for one in interfaces["ens3f0np0"]["virtual_functions"]] == [
        (0, "02:63:c0:12:34:00", None), (1, "02:63:c0:12:34:01", 120),
    ]  # fmt: skip
    assert len(interfaces["ib3"]["hardware_address"].split(":")) == 20
    assert len(document["neighbours"]) == 1


def test_multirail_host_has_kernel_users_only(capsys: pytest.CaptureFixture[str]) -> None:
    status, document = replay(capsys, "consumers", "multirail-host")
    assert (status, document["verdict"], document["pairs"], document["problems"]) == (0, "ok", [], [])
    assert {(owner["kind"], owner["service"]) for owner in document["owners"]} == {
        ("kernel", "management datagrams"), ("kernel", "IPoIB"), ("kernel", "NVMe-oF host"),
    }  # fmt: skip
    nvme = [one for one in document["queue_pairs"] if document["owners"][one["owner"]]["name"] == "nvme_rdma"]
    assert [(one["device"], one["qpn"], one["remote_qpn"], one["type"]) for one in nvme] == [
        ("mlx5_4", 210, 1210, "RC"), ("mlx5_4", 211, 1211, "RC"),
    ]  # fmt: skip


def test_the_recorder_still_writes_the_fixture(tmp_path: Path) -> None:
    record(str(tmp_path / "again"))
    again, fixture = (
        json.loads((folder / "manifest.json").read_text())
        for folder in (tmp_path / "again", FIXTURES / "multirail-host")
    )
    assert again["hosts"] == fixture["hosts"], "record it again, see its README"
