"""Verbs and sysfs made one: who speaks, what is filled in, what is a contradiction."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sysfs_tree import Device, Port, softroce_host, write_device
from support.tree_source import TreeSource

from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.verbs import read_verbs
from ibkit.model.host import HostHcas
from ibkit.model.ids import PKey
from ibkit.sources.base import VerbsAnswer

#: As the child of a SoftRoCE guest printed it for rxe0.
RXE0: dict[str, Any] = {
    "name": "rxe0", "node_guid": "0xb4f034fffe8ed331", "node_type": 1, "transport_type": 0, "error": None,
    "ports": [{
        "port": 1, "error": None, "state": 4, "phys_state": 5, "link_layer": 2, "lid": 0, "lmc": 0, "sm_lid": 0,
        "sm_sl": 0, "max_mtu": 5, "active_mtu": 3, "active_width": 1, "active_speed": 8, "port_cap_flags": 65536,
        "port_cap_flags2": 0, "max_msg_sz": 8388608, "max_vl_num": 1, "gid_tbl_len": 1024, "pkey_tbl_len": 1,
        "pkeys": [[0, 65535]],
        "gids": [
            {"index": 0, "gid": "fe80:0000:0000:0000:b4f0:34ff:fe8e:d331", "type": 2, "netdev": "ve0"},
            {"index": 1, "gid": "0000:0000:0000:0000:0000:ffff:0a4d:0001", "type": 2, "netdev": "ve0"},
        ],
    }],
    "fw_ver": "0.0.0", "sys_image_guid": "0xb4f034fffe8ed331", "vendor_id": 16777215, "vendor_part_id": 0,
    "hw_ver": 0, "phys_port_cnt": 1,
}  # fmt: skip

#: An InfiniBand port that agrees with ``Port(lid=65, sm_lid=1, gids=[GID])`` below.
GID = (0, "fe80:0000:0000:0000:b8ce:f603:00aa:0000", "IB/RoCE v1", "")
NDR: dict[str, Any] = {
    "name": "mlx5_0", "node_guid": "0xb8cef60300aa0000", "node_type": 1, "error": None, "fw_ver": "28.39.1002",
    "sys_image_guid": "0xb8cef60300aa0000", "vendor_id": 0x2C9, "vendor_part_id": 4129,
    "ports": [{
        "port": 1, "error": None, "state": 4, "phys_state": 5, "link_layer": 1, "lid": 65, "lmc": 0, "sm_lid": 1,
        "sm_sl": 0, "max_mtu": 5, "active_mtu": 5, "active_width": 2, "active_speed": 128, "port_cap_flags": 1,
        "pkeys": [[0, 65535]], "gids": [{"index": 0, "gid": GID[1], "type": 0, "netdev": None}],
    }],
}  # fmt: skip


@pytest.fixture(scope="module")
def softroce(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("softroce")
    softroce_host(root)
    return root


def ndr_host(root: Path, told: dict[str, Any], **port: Any) -> HostHcas:
    write_device(
        root, Device("mlx5_0", "b8ce:f603:00aa:0000", [Port(**{"lid": 65, "sm_lid": 1, "gids": [GID], **port})])
    )
    return collect_hcas(TreeSource(root, verbs=VerbsAnswer([told])), "n01")


def changed(**values: Any) -> dict[str, Any]:
    """NDR with other values of its port."""
    told = copy.deepcopy(NDR)
    told["ports"][0].update(values)
    return told


def test_agreeing_views_give_one_device_without_problems(softroce: Path) -> None:
    host = collect_hcas(TreeSource(softroce, verbs=VerbsAnswer([RXE0])), "guest")
    assert host.problems == ()
    rxe0, rxe1 = host.hcas
    assert (rxe0.source, rxe1.source) == ("verbs", "sysfs")  # each device says who spoke
    assert (rxe0.vendor_id, rxe0.firmware, rxe0.node_description) == (0xFFFFFF, None, "rxe")
    (port,) = rxe0.ports
    assert (port.active_mtu_bytes, port.max_mtu_bytes) == (1024, 4096)  # as ibv_devinfo printed them
    assert port == rxe1.ports[0]._replace(
        active_mtu_bytes=1024, max_mtu_bytes=4096, gids=port.gids, port_guid=port.port_guid, netdevs=("ve0",)
    )
    assert [(entry.gid_index, entry.type, entry.netdev) for entry in port.gids] == [
        (0, "RoCE v2", "ve0"), (1, "RoCE v2", "ve0"),
    ]  # fmt: skip


def test_an_infiniband_port(tmp_path: Path) -> None:
    host = ndr_host(tmp_path, NDR)
    assert host.problems == ()
    (port,) = host.hcas[0].ports
    assert (port.lid, port.rate_gbps, port.width, port.speed, port.transport) == (65, 400.0, "4x", "NDR", "ib")
    assert port.pkeys == (PKey(0xFFFF),)
    assert [entry.type for entry in port.gids] == ["IB"]


@pytest.mark.parametrize(
    ("values", "field"),
    [({"state": 2}, "state"), ({"phys_state": 2}, "physical_state"), ({"lid": 66}, "reported_lid"),
     ({"sm_lid": 9}, "sm_lid"), ({"active_width": 1}, "width"), ({"active_speed": 64}, "speed"),
     ({"pkeys": [[0, 65535], [1, 0x8001]]}, "pkeys"), ({"pkeys": [[1, 65535]]}, "pkey_indexes"),
     ({"gids": []}, None), ({"link_layer": 2}, "link_layer")],
)  # fmt: skip
def test_a_contradiction_is_told_and_verbs_speaks(tmp_path: Path, values: dict[str, Any], field: str | None) -> None:
    host = ndr_host(tmp_path, changed(**values))
    texts = [problem.text for problem in host.problems if problem.kind == "contradiction"]
    if field is None:
        assert texts == []  # an empty table is no knowledge
    else:
        assert any(text.startswith(f"mlx5_0 port 1: {field} is ") for text in texts)
        if field == "state":
            assert host.hcas[0].ports[0].state == "Initializing"


def test_a_device_whose_guid_differs(tmp_path: Path) -> None:
    host = ndr_host(tmp_path, {**NDR, "node_guid": "0x31d38efeff34f0b4"})
    assert [problem.text for problem in host.problems] == [
        "mlx5_0: node_guid is 0x31d38efeff34f0b4 by verbs and 0xb8cef60300aa0000 in sysfs"
    ]


def test_a_speed_that_neither_can_name_is_unknown(tmp_path: Path) -> None:
    # An XDR link on a kernel and a pyverbs that know nothing of XDR: sysfs claims SDR.
    host = ndr_host(tmp_path, changed(active_speed=0), rate="10 Gb/sec (4X SDR)")
    (port,) = host.hcas[0].ports
    assert (port.rate_gbps, port.speed) == (None, None)
    assert [problem.kind for problem in host.problems] == ["unknown-speed"]


def test_a_speed_that_only_the_kernel_can_name(tmp_path: Path) -> None:
    (port,) = ndr_host(tmp_path, changed(active_speed=0), rate="800 Gb/sec (4X XDR)").hcas[0].ports
    assert (port.rate_gbps, port.width, port.speed) == (800.0, "4x", "XDR")


def test_a_device_that_verbs_may_not_open_is_sysfs_own(tmp_path: Path) -> None:
    host = ndr_host(tmp_path, {"name": "mlx5_0", "error": "Failed to open device. Errno: 13, Permission denied"})
    assert (host.hcas[0].source, host.hcas[0].ports[0].lid) == ("sysfs", 65)
    assert [problem.kind for problem in host.problems] == ["verbs-failed"]
    assert "Permission denied" in host.problems[0].text


@pytest.mark.parametrize(
    ("error", "kinds"),
    [("pyverbs cannot be imported: x", []), ("not-recorded", []), ("pyverbs: timeout", ["verbs-failed"])],
)
def test_verbs_without_an_answer(tmp_path: Path, error: str, kinds: list[str]) -> None:
    write_device(tmp_path, Device("mlx5_0", "0:0:0:1", [Port(lid=65)]))
    host = collect_hcas(TreeSource(tmp_path, verbs=VerbsAnswer(error=error)), "n01")
    assert host.hcas[0].source == "sysfs"
    assert [problem.kind for problem in host.problems] == kinds


def test_verbs_alone_speaks_where_sys_does_not(tmp_path: Path) -> None:
    host = collect_hcas(TreeSource(tmp_path, verbs=VerbsAnswer([NDR])), "n01")
    assert [(hca.name, hca.source, hca.ports[0].lid) for hca in host.hcas] == [("mlx5_0", "verbs", 65)]


def test_omni_path_lids_are_sysfs_own(tmp_path: Path) -> None:
    device = Device("hfi1_0", "b8ce:f603:00aa:0000", [Port(lid=0x1C001, sm_lid=1)], "0000:05:00.0", {"driver": "hfi1"})
    write_device(tmp_path, device)
    told = {**changed(lid=0xC001), "name": "hfi1_0"}
    (hca,) = collect_hcas(TreeSource(tmp_path, verbs=VerbsAnswer([told])), "n01").hcas
    assert (hca.ports[0].lid, hca.ports[0].transport) == (0x1C001, "opa")


def test_the_cheap_way_does_not_ask_verbs(softroce: Path) -> None:
    class Refusing(TreeSource):
        def verbs(self) -> VerbsAnswer:
            raise AssertionError("asked")

    assert collect_hcas(Refusing(softroce), "guest", whole=False).hcas[0].source == "sysfs"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*RXE0, *RXE0["ports"][0]]), inner),
    max_leaves=20,
)


@given(JSON)
def test_any_recorded_answer_is_read_without_a_crash(told: Any) -> None:
    class Told(TreeSource):
        def verbs(self) -> VerbsAnswer:
            return VerbsAnswer(told)

    hcas, problems = read_verbs(Told(Path("/nonexistent")))
    assert isinstance(hcas, dict)
    assert isinstance(problems, list)
