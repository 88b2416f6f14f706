"""RDMA netlink beside verbs and sysfs: what it adds, where it differs, and what it alone shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sysfs_tree import Device, Port, multirail_host, softroce_host, write_device
from support.tree_source import TreeSource

from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.netlink import hcas_of, read_netlink
from ibkit.model.host import HostHcas
from ibkit.model.ids import Guid
from ibkit.parsers import rdma
from ibkit.sources.base import TIMEOUT

SAMPLES = Path(__file__).parents[2] / "fixtures/tools/rdma"
LINK, DEV, STATISTIC = "rdma -j link", "rdma -j dev", "rdma -j statistic"
#: As the guest that ``softroce_host`` is taken from printed it.
SOFTROCE = {
    LINK: (SAMPLES / "link-json.txt").read_text(), DEV: (SAMPLES / "devices-json.txt").read_text(),
    STATISTIC: (SAMPLES / "statistics-json.txt").read_text(),
}  # fmt: skip
GUID = "b8ce:f603:00aa:0000"
ROW = {
    "ifindex": 0, "ifname": "mlx5_0", "port": 1, "subnet_prefix": "fe80:0000:0000:0000", "lid": 65, "sm_lid": 1,
    "lmc": 0, "state": "ACTIVE", "physical_state": "LINK_UP",
}  # fmt: skip
DEVICE = {
    "ifindex": 0, "ifname": "mlx5_0", "node_type": "ca", "protocol": "ib", "fw": "28.39.1002", "node_guid": GUID,
    "sys_image_guid": GUID,
}  # fmt: skip


def host_of(root: Path, *, link: Any = (), dev: Any = (), statistic: Any = (), **port: Any) -> HostHcas:
    """mlx5_0 on InfiniBand, and what netlink tells."""
    device = Device("mlx5_0", GUID, [Port(**{"lid": 65, "sm_lid": 1, **port})], "0000:18:00.0")
    write_device(root, device)
    tools = {LINK: json.dumps(link), DEV: json.dumps(dev), STATISTIC: json.dumps(statistic)}
    return collect_hcas(TreeSource(root, tools=tools), "n01")


def test_the_guests_views_agree(tmp_path: Path) -> None:
    softroce_host(tmp_path)
    host = collect_hcas(TreeSource(tmp_path, tools=SOFTROCE), "guest")
    assert host.problems == ()
    assert [(hca.source, hca.ports[0].netdevs) for hca in host.hcas] == [("sysfs", ("ve0",)), ("sysfs", ("ve1",))]
    table = host.hcas[0].ports[0].hw_counters
    assert table is not None
    assert (table.values["duplicate_request"], table.values["rcvd_seq_err"]) == (232, 99)


def test_an_infiniband_port_that_agrees(tmp_path: Path) -> None:
    host = host_of(tmp_path, link=[ROW], dev=[DEVICE])
    assert host.problems == ()
    assert (host.hcas[0].protocol, host.hcas[0].ports[0].lid) == ("ib", 65)


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ({"state": "DOWN", "physical_state": "POLLING"},
         "mlx5_0 port 1: state is Active by verbs and sysfs and Down by rdma"),
        ({"physical_state": "LINK_ERROR_RECOVER"},
         "mlx5_0 port 1: physical_state is LinkUp by verbs and sysfs and LinkErrorRecovery by rdma"),
        ({"lid": 66}, "mlx5_0 port 1: reported_lid is 65 by verbs and sysfs and 66 by rdma"),
        ({"sm_lid": 2}, "mlx5_0 port 1: sm_lid is 1 by verbs and sysfs and 2 by rdma"),
    ],
)  # fmt: skip
def test_a_port_that_differs(tmp_path: Path, link: dict[str, Any], text: str) -> None:
    host = host_of(tmp_path, link=[{**ROW, **link}], dev=[DEVICE])
    assert ("contradiction", text) in [(problem.kind, problem.text) for problem in host.problems]
    assert host.hcas[0].ports[0].state == "Active"


@pytest.mark.parametrize(
    ("dev", "field"),
    [({"fw": "28.41.1000"}, "firmware"), ({"node_guid": "0:0:0:1"}, "node_guid"), ({"node_type": "rnic"}, "node_type")],
)
def test_a_device_that_differs(tmp_path: Path, dev: dict[str, Any], field: str) -> None:
    host = host_of(tmp_path, link=[ROW], dev=[{**DEVICE, **dev}])
    assert [problem.text.partition(" is ")[0] for problem in host.problems] == [f"mlx5_0: {field}"]


@pytest.mark.parametrize(
    ("state", "phys_state", "link"),
    [
        ("0: NOP", "0: <unknown>", {"state": "NOP", "physical_state": "NOP"}),
        ("5: ACTIVE_DEFER", "5: LinkUp", {"state": "ACTIVE_DEFER"}),
        ("1: DOWN", "9: <unknown>", {"state": "DOWN", "physical_state": "OPA_OFFLINE", "lid": 65535, "sm_lid": 0}),
        ("1: DOWN", "8: <unknown>", {"state": "DOWN", "physical_state": "UNKNOWN"}),
        ("2: INIT", "7: Phy Test", {"state": "INIT", "physical_state": "PHY_TEST"}),
        ("1: DOWN", "4: PortConfigurationTraining", {"state": "DOWN", "physical_state": "ARMED"}),
    ],
)
def test_words_that_mean_the_same_are_no_difference(
    tmp_path: Path, state: str, phys_state: str, link: dict[str, Any]
) -> None:
    row = {**ROW, **link}
    host = host_of(tmp_path, link=[row], state=state, phys_state=phys_state, lid=row["lid"], sm_lid=row["sm_lid"])
    assert host.problems == ()


def test_a_netdev_that_no_gid_names(tmp_path: Path) -> None:
    """A team and its leg: each of the two views names one of them."""
    gids = [(0, "fe80:0000:0000:0000:9e63:c0ff:fe12:3450", "RoCE v2", "team0")]
    row = {"ifname": "mlx5_0", "port": 1, "state": "ACTIVE", "physical_state": "LINK_UP", "netdev": "eth0"}
    host = host_of(tmp_path, link=[row], link_layer="Ethernet", gids=gids, lid=0, sm_lid=0)
    assert (host.problems, host.hcas[0].ports[0].netdevs) == ((), ("team0", "eth0"))


def test_counters_without_a_file_and_those_that_do_not_tell(tmp_path: Path) -> None:
    """Optional counters of mlx5 are in netlink alone; counters that moved on between the reads are no difference."""
    told = {"ifname": "mlx5_0", "port": 1, "out_of_sequence": 9, "cc_rx_ce_pkts": 4, "rnr_nak_retry_err": 3}
    files = {"out_of_sequence": "8", "rnr_nak_retry_err": "N/A (no PMA)", "lifespan": "10"}
    host = host_of(tmp_path, link=[ROW], statistic=[told], hw_counters=files)
    table = host.hcas[0].ports[0].hw_counters
    assert table is not None
    assert (table.values, table.unreadable, host.problems) == (
        {"out_of_sequence": 8, "cc_rx_ce_pkts": 4, "rnr_nak_retry_err": 3}, {}, (),
    )  # fmt: skip


def test_a_device_that_netlink_does_not_show(tmp_path: Path) -> None:
    """/sys of another network namespace, say."""
    host = host_of(tmp_path, dev=[{**DEVICE, "ifname": "mlx5_7"}])
    assert [(hca.name, hca.source) for hca in host.hcas] == [("mlx5_0", "sysfs"), ("mlx5_7", "rdma")]
    assert [problem.kind for problem in host.problems] == ["contradiction"]
    assert "none by rdma" in host.problems[0].text


def test_netlink_alone_speaks_where_sys_does_not(tmp_path: Path) -> None:
    tools = {LINK: json.dumps([ROW, {**ROW, "port": 2, "lid": 66}]), DEV: json.dumps([DEVICE]), STATISTIC: "[]"}
    (hca,) = collect_hcas(TreeSource(tmp_path, tools=tools), "n01").hcas
    assert (hca.source, hca.node_guid, hca.firmware) == ("rdma", Guid(0xB8CEF60300AA0000), "28.39.1002")
    assert [(port.port, port.state, port.lid, port.transport) for port in hca.ports] == [
        (1, "Active", 65, "ib"), (2, "Active", 66, "ib"),
    ]  # fmt: skip


def test_a_device_that_sys_cannot_read(tmp_path: Path) -> None:
    multirail_host(tmp_path)
    place = "/sys/class/infiniband/mlx5_0"
    errors = {f"{place}/node_guid": "EACCES", f"{place}/ports": "EACCES"}
    rows = [{**ROW, "ifname": f"mlx5_{n}", "lid": 65 + n} for n in range(4)]
    tools = {LINK: json.dumps(rows), DEV: "[]", STATISTIC: "[]"}
    host = collect_hcas(TreeSource(tmp_path, errors=errors, tools=tools), "n01")
    assert [(hca.name, hca.source, hca.error) for hca in host.hcas[:2]] == [
        ("mlx5_0", "rdma", None), ("mlx5_1", "sysfs", None),
    ]  # fmt: skip
    assert "device-unreadable" in [problem.kind for problem in host.problems]


def test_planes_by_their_parent(tmp_path: Path) -> None:
    """Names of devices are free; kernel.org's example calls it smi1, others smi-mlx5_0."""
    for name in ("mlx5_0", "plane-dev"):
        write_device(tmp_path, Device(name, GUID, [Port(lid=65, sm_lid=1)] * (1 if name == "mlx5_0" else 4), None))
    planes = [{**ROW, "ifname": "plane-dev", "port": port} for port in range(1, 5)]
    for row in planes:
        del row["lid"], row["sm_lid"], row["lmc"], row["subnet_prefix"]
    tools = {
        LINK: json.dumps([ROW, *planes]),
        DEV: json.dumps([DEVICE, {**DEVICE, "ifname": "plane-dev", "type": "smi", "parent": "mlx5_0"}]),
        STATISTIC: "[]",
    }
    host = collect_hcas(TreeSource(tmp_path, tools=tools), "n01")
    assert {hca.name: hca.planes_of for hca in host.hcas} == {"mlx5_0": None, "plane-dev": "mlx5_0"}
    assert [problem for problem in host.problems if problem.kind == "contradiction"] == []


@pytest.mark.parametrize(("protocol", "transport"), [("opa", "opa"), ("iw", "iwarp"), ("roce", "roce")])
def test_the_protocol_decides_where_names_do_not(tmp_path: Path, protocol: str, transport: str) -> None:
    layer = "InfiniBand" if protocol == "opa" else "Ethernet"
    host = host_of(tmp_path, dev=[{**DEVICE, "protocol": protocol}], link_layer=layer)
    assert host.hcas[0].ports[0].transport == transport


def test_a_tool_that_fails_is_told_once(tmp_path: Path) -> None:
    write_device(tmp_path, Device("mlx5_0", GUID, [Port(lid=65)]))
    source = TreeSource(tmp_path, errors=dict.fromkeys((LINK, DEV, STATISTIC), TIMEOUT))
    host = collect_hcas(source, "n01")
    assert [(problem.kind, problem.text, problem.source) for problem in host.problems] == [
        ("tool-failed", "timeout", "rdma -j link")
    ]


def test_a_host_without_any_device_hears_nothing_of_it(tmp_path: Path) -> None:
    source = TreeSource(tmp_path, errors=dict.fromkeys((LINK, DEV, STATISTIC), TIMEOUT))
    assert [problem.kind for problem in collect_hcas(source, "n01").problems] == ["no-rdma-device"]


def test_the_quick_way_does_not_ask(tmp_path: Path) -> None:
    softroce_host(tmp_path)
    source = TreeSource(tmp_path, tools=SOFTROCE)
    collect_hcas(source, "guest", whole=False)
    assert not any(command.startswith("rdma") for command in source.asked)


def test_old_versions_print_nothing_for_no_rows(tmp_path: Path) -> None:
    assert read_netlink(TreeSource(tmp_path, tools={LINK: "", DEV: "", STATISTIC: ""})) == ({}, [])


@given(st.text(alphabet=st.sampled_from('[]{}",: ifnameport12state\\'), max_size=120))
def test_no_text_stops_it(text: str) -> None:
    tools = dict.fromkeys((LINK, DEV, STATISTIC), f'[{{"ifname":"a","port":1,"state":"DOWN","physical_state":"{text}')
    read_netlink(TreeSource(Path("/nonexistent"), tools=tools))


def test_counters_go_with_their_link() -> None:
    rows = rdma.parse((SAMPLES / "link.txt").read_text() + (SAMPLES / "statistics.txt").read_text()).value
    found = list(hcas_of(rows))
    assert [(hca.name, len(hca.ports)) for hca in found] == [("rxe0", 1), ("rxe1", 1)]
    assert found[1].ports[0].hw_counters is not None
    assert found[1].ports[0].hw_counters.values["out_of_seq_request"] == 145
