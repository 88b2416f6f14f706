"""ibkit.status/1: its schema, what is null, and when it says ok."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.schemas import strict
from support.sysfs_tree import Device, Port, multirail_host, write_device
from support.tree_source import TreeSource

from ibkit.collectors.hca import collect_hcas
from ibkit.export.status import COLUMNS, status_document, status_rows, verdict
from ibkit.model.host import HostHcas
from ibkit.sources.base import CommandAnswer, FolderAnswer
from ibkit.sources.live import LiveSource

SCHEMA = strict("status")


def document(*hosts: HostHcas) -> dict[str, Any]:
    """Checked against the schema, after a trip through JSON text."""
    made = json.loads(json.dumps(status_document(hosts)))
    jsonschema.validate(made, SCHEMA)
    return made


def of_tree(root: Path, *ports: Port) -> HostHcas:
    for index, port in enumerate(ports):
        write_device(root, Device(f"mlx5_{index}", "b8ce:f603:00aa:0000", [port]))
    return collect_hcas(LiveSource(root=str(root)), "n01")


def of_ibstat(text: str) -> HostHcas:
    class Paste(LiveSource):
        def run(self, argv, *, deadline_seconds=60.0):  # type: ignore[no-untyped-def]
            return CommandAnswer(tuple(argv), text.encode())

        def list(self, path: str) -> FolderAnswer:
            return FolderAnswer(path, error="not-recorded")

    return collect_hcas(Paste(), "")


def test_a_gpu_host(tmp_path: Path) -> None:
    multirail_host(tmp_path)
    made = document(collect_hcas(TreeSource(tmp_path), "gpu01"))
    assert made["verdict"] == "ok"
    assert made["hosts"] == [{"host": "gpu01", "interfaces_known": False, "neighbours_known": False}]
    rail = made["devices"][0]
    assert (rail["name"], rail["node_guid"], rail["board_id"]) == ("mlx5_0", "0xb8cef60300aa0000", "MT_0000000838")
    (port,) = rail["ports"]
    assert (port["lid"], port["sm_lid"], port["rate_gbps"], port["pkeys"]) == (65, 1, 400, ["0xffff", "0x8012"])
    assert port["gids"] == [
        {"index": 0, "gid": "fe80:0000:0000:0000:b8ce:f603:00aa:0000", "type": "IB", "netdev": None}
    ]
    assert (port["capability_mask"], port["netdevs"]) == ("0xa751e848", ["ib0"])


def test_what_nobody_looked_at_is_null_and_a_zero_guid_is_zero() -> None:
    text = "CA 'mlx5_0'\nPort 1:\nState: Down\nPhysical state: Disabled\nRate: 40\nBase lid: 0\nSM lid: 0\n" \
        "Port GUID: 0x0000000000000000\nLink layer: Ethernet\n"  # fmt: skip
    made = document(of_ibstat(text))
    (port,) = made["devices"][0]["ports"]
    assert (port["gids"], port["pkeys"], port["netdevs"]) == (None, None, None)
    assert (port["rate_gbps"], port["lid"], port["sm_sl"]) == (None, None, None)
    assert port["port_guid"] == "0x0000000000000000"
    assert made["hosts"] == [{"host": None, "interfaces_known": False, "neighbours_known": False}]


def test_two_hosts_share_one_list(tmp_path: Path) -> None:
    first = of_tree(tmp_path / "a", Port(lid=4, sm_lid=1))
    second = of_tree(tmp_path / "b", Port("2: INIT", rate="not a rate"))._replace(host="n02")
    made = document(first, second)
    assert [(device["host"], device["name"]) for device in made["devices"]] == [("n01", "mlx5_0"), ("n02", "mlx5_0")]
    assert [(f["host"], f["device"], f["port"], f["kind"]) for f in made["findings"]] == [
        ("n02", "mlx5_0", 1, "port-not-active")
    ]
    assert "n02: /sys/class/infiniband/mlx5_0/ports/1/rate" in [problem["source"] for problem in made["problems"]]


@pytest.mark.parametrize(
    ("ports", "expected", "kinds"),
    [
        ([Port(lid=4)], "ok", []),
        ([Port(lid=4), Port("1: DOWN", "2: Polling")], "ok", []),
        ([Port(lid=4), Port("1: DOWN", "3: Disabled", "Ethernet")], "ok", []),
        ([Port(lid=4), Port("2: INIT")], "finding", ["port-not-active"]),
        ([Port(lid=4), Port("3: ARMED", lid=5)], "finding", ["port-not-active"]),
        ([Port(lid=4), Port("1: DOWN", "5: LinkUp")], "finding", ["port-not-active"]),
        ([Port(lid=4), Port("1: DOWN", "4: PortConfigurationTraining")], "finding", ["port-training"]),
        ([Port(lid=4, phys_state="6: LinkErrorRecovery")], "finding", ["link-recovers"]),
        ([Port("1: DOWN", "2: Polling")], "finding", ["no-active-port"]),
        ([Port(lid=0xFFFF)], "finding", ["no-lid"]),
        ([Port(lid=0)], "finding", ["no-lid"]),
        ([Port(lid=0xC000)], "finding", ["no-lid"]),
        ([Port(link_layer="Ethernet")], "ok", []),
        ([Port(phys_state="2: Polling", link_layer="Ethernet")], "ok", []),
        ([Port("5: ACTIVE_DEFER")], "unknown", []),
        ([Port("1: DOWN", "0: <unknown>")], "unknown", []),
        ([Port(lid=4), Port("9: UNKNOWN")], "unknown", []),
        ([Port("9: UNKNOWN"), Port("2: INIT")], "finding", ["port-not-active"]),
        ([], "unknown", []),
    ],
)
def test_verdicts(tmp_path: Path, ports: list[Port], expected: str, kinds: list[str]) -> None:
    host = of_tree(tmp_path, *ports)
    made = document(host)
    assert made["verdict"] == verdict([host]) == expected
    assert [finding["kind"] for finding in made["findings"]] == kinds


def test_a_lid_that_could_not_be_read_is_no_finding() -> None:
    text = "CA 'mlx5_0'\nPort 1:\nState: Active\nPhysical state: LinkUp\nBase lid: ?!\nLink layer: InfiniBand\n"
    made = document(of_ibstat(text))
    assert (made["verdict"], made["findings"]) == ("unknown", [])


def test_an_unreadable_device_is_a_finding_and_the_rest_is_there() -> None:
    good = "CA 'mlx5_0'\nPort 1:\nState: Active\nPhysical state: LinkUp\nBase lid: 4\nLink layer: InfiniBand\n"
    made = document(of_ibstat(good + "ibpanic: [7] main: stat of IB device 'mlx5_8' failed: Input/output error\n"))
    assert [(d["name"], d["error"], len(d["ports"])) for d in made["devices"]] == [
        ("mlx5_0", None, 1), ("mlx5_8", "Input/output error", 0),
    ]  # fmt: skip
    assert (made["verdict"], made["findings"][0]["kind"]) == ("finding", "device-unreadable")


def test_a_virtual_function_without_a_guid() -> None:
    text = "CA 'mlx5_0'\nNode GUID: 0x0000000000000000\nPort 1:\nState: Down\nPhysical state: LinkUp\nRate: 200\n" \
        "Base lid: 65535\nSM lid: 10\nPort GUID: 0x0000000000000000\nLink layer: InfiniBand\n"  # fmt: skip
    made = document(of_ibstat(text))
    assert "virtual function" in made["findings"][0]["text"]
    assert made["devices"][0]["ports"][0]["rate_gbps"] == 200
    assert made["devices"][0]["ports"][0]["lid"] is None


def test_no_host_at_all_is_unknown() -> None:
    assert verdict([]) == "unknown"


def test_rows_have_a_cell_for_each_column(tmp_path: Path) -> None:
    multirail_host(tmp_path)
    rows = list(status_rows([collect_hcas(LiveSource(root=str(tmp_path)), "gpu01")]))
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert dict(zip(COLUMNS, map(str, rows[-1]), strict=True)) == {
        "host": "gpu01", "device": "mlx5_bond_0", "port": "1", "state": "Active", "physical_state": "LinkUp",
        "link_layer": "Ethernet", "transport": "roce", "lid": "None", "sm_lid": "None", "rate_gbps": "100",
        "width": "4x", "speed": "EDR", "port_guid": "0xeaebd3fffe778800", "node_guid": "0xe8ebd30300778800",
        "system_image_guid": "0xe8ebd30300778800", "hca_type": "MT4127", "firmware": "26.36.1010",
        "board_id": "MT_0000000436", "netdevs": "bond0 eno1np0 eno2np1",
    }  # fmt: skip
    unreadable = list(status_rows([of_ibstat("ibpanic: [7] main: stat of IB device 'mlx5_8' failed: x\n")]))
    assert {len(row) for row in unreadable} == {len(COLUMNS)}
