"""What `ibkit status` asks of a host with 10 devices of 2 ports: each file once, and no device node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.record_multirail import TOOLS
from support.sysfs_tree import many_ports_host
from support.tree_source import TreeSource

from ibkit.collectors.doctor import collect_checks
from ibkit.collectors.hca import collect_hcas
from ibkit.model.host_findings import findings, is_decided

#: Of that host; the other tools' answers are another one's.
LINKS = [
    {"ifname": f"mlx5_{device}", "port": port, "lid": 2 * device + port, "sm_lid": 1, "lmc": 0, "state": "ACTIVE",
     "physical_state": "LINK_UP"}
    for device in range(10) for port in (1, 2)
]  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> TreeSource:
    many_ports_host(tmp_path)
    netlink = {"rdma -j link": json.dumps(LINKS), "rdma -j dev": "[]", "rdma -j statistic": "[]"}
    return TreeSource(tmp_path, tools=TOOLS | netlink)


@pytest.mark.parametrize("whole", [True, False])
def test_each_file_is_read_once(source: TreeSource, whole: bool) -> None:
    host = collect_hcas(source, "n01", whole=whole)
    assert sum(len(hca.ports) for hca in host.hcas) == 20
    assert is_decided(host)
    assert (findings([host]), host.problems) == ((), ())
    assert {path: count for path, count in source.asked.items() if count > 1} == {}
    assert not any(path.startswith("/dev/") for path in source.asked)


def test_the_quick_way_reads_a_port_in_a_score_of_files(source: TreeSource) -> None:
    """Nine attributes, two entries of each table; a device has nine files and two folders of its own."""
    collect_hcas(source, "n01", whole=False)
    assert sum(source.asked.values()) < 10 * 11 + 20 * 20


def test_the_doctor_opens_no_device_node(source: TreeSource) -> None:
    collect_checks(source, "n01")
    assert {path for path in source.asked if path.startswith("/dev/")} <= {"/dev/infiniband"}
