"""What captures of the job's hosts add: the link layer of their ports, and that they have no HCA."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from support.job_logs import SOCKET, layer_of, nccl_lines, text, transports, ucx_lines
from support.sysfs_tree import Device, Port, roce_gids, write, write_common, write_device
from support.tree_source import TreeSource

from ibkit.model.mpi import JobVerdict
from ibkit.sources.site import Host
from ibkit.transport.logs.job import Job, Log
from ibkit.transport.logs.verdict import judge

UCX = text(ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)"))
TCP = text(nccl_lines(network="Socket", before=SOCKET))


def judged(log: str, *hosts: Host) -> JobVerdict:
    return judge(Job("test", (Log("log", lambda: io.BytesIO(log.encode())),), hosts))


def host_with(root: Path, name: str, *ports: Port) -> Host:
    write_common(root, [f"mlx5_{index}" for index in range(len(ports))])
    for index, port in enumerate(ports):
        write_device(root, Device(f"mlx5_{index}", f"b8ce:f603:00aa:000{index}", [port]))
    return Host(name, TreeSource(root))


def infiniband() -> Port:
    return Port(lid=5, sm_lid=1)


def roce() -> Port:
    return Port(
        link_layer="Ethernet", rate="100 Gb/sec (4X EDR)",
        gids=roce_gids("eth0", "fe80:0000:0000:0000:bace:f6ff:feaa:0000", "0a00:0001"),
    )  # fmt: skip


def host_without(root: Path, name: str) -> Host:
    write(root, "/sys/class/net/eth0/operstate", "up")
    write(root, "/proc/version", "Linux")
    return Host(name, TreeSource(root))


def test_the_link_layer_is_that_of_the_captured_ports(tmp_path: Path) -> None:
    assert judged(UCX).verdict == "rdma"
    both = [host_with(tmp_path / name, name, infiniband()) for name in ("n01", "n02")]
    answer = judged(UCX, *both)
    assert (answer.verdict, transports(layer_of(answer, "mpi"))) == ("ib", {("n01", "n02"): "ib"})
    other = [host_with(tmp_path / f"r{name}", name, roce()) for name in ("n01", "n02")]
    assert judged(UCX, *other).verdict == "roce"


def test_between_two_hosts_one_of_them_is_enough(tmp_path: Path) -> None:
    """A queue pair connects ports of one link layer."""
    assert judged(UCX, host_with(tmp_path, "n01", infiniband())).verdict == "ib"


def test_of_three_hosts_one_is_not_enough(tmp_path: Path) -> None:
    log = text(ucx_lines("ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)", hosts=["n01", "n02", "n03"]))
    assert judged(log, host_with(tmp_path, "n01", infiniband())).verdict == "rdma"


def test_another_device_or_another_host_says_nothing(tmp_path: Path) -> None:
    other_host = host_with(tmp_path / "a", "login1", infiniband())
    assert judged(UCX, other_host).verdict == "rdma"
    log = UCX.replace("mlx5_0:1", "mlx5_7:1")
    assert judged(log, host_with(tmp_path / "b", "n01", infiniband())).verdict == "rdma"


def test_a_line_of_the_log_that_contradicts_the_capture_leaves_it_open(tmp_path: Path) -> None:
    """The capture may be of another day: the HCA's port may have been Ethernet then."""
    device = "n01:200:200 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
    answer = judged(device + UCX, host_with(tmp_path, "n01", infiniband()))
    assert layer_of(answer, "mpi").verdict == "rdma"


def test_tcp_on_hosts_without_an_hca_is_no_fall_back(tmp_path: Path) -> None:
    assert judged(TCP).status == "fallback"
    none = [host_without(tmp_path / name, name) for name in ("n01", "n02")]
    answer = judged(TCP, *none)
    assert (answer.verdict, answer.status) == ("tcp", "as-expected")
    assert judged(TCP, none[0]).status == "fallback"


def test_a_log_with_full_names_and_a_capture_with_short_ones(tmp_path: Path) -> None:
    log = UCX.replace("n01:", "n01.example.org:").replace("n02:", "n02.example.org:")
    assert judged(log, host_with(tmp_path / "a", "n01", infiniband())).verdict == "ib"
    log = TCP.replace("n01:", "n01.example.org:").replace("n02:", "n02.example.org:")
    none = [host_without(tmp_path / name, name) for name in ("n01", "n02")]
    assert judged(log, *none).status == "as-expected"


def test_tcp_on_hosts_with_an_hca_is_a_fall_back(tmp_path: Path) -> None:
    hosts = [host_with(tmp_path / "a", "n01", infiniband()), host_without(tmp_path / "b", "n02")]
    assert judged(TCP, *hosts).status == "fallback"


def test_on_ec2_an_hca_that_was_captured_settles_it(tmp_path: Path) -> None:
    names = ("ip-10-0-0-1", "ip-10-0-0-2")
    log = text(nccl_lines(names, network="Socket", before=SOCKET))
    assert (judged(log).verdict, judged(log).status) == ("tcp", "undecided")
    assert judged(log, host_with(tmp_path, names[0], infiniband())).status == "fallback"


@pytest.mark.parametrize("state", ["1: DOWN", "2: INIT"])
def test_ports_that_are_down_have_a_link_layer_too(tmp_path: Path, state: str) -> None:
    """The port may be down by now; what kind it is does not change with it."""
    port = infiniband()
    port.state = state
    assert judged(UCX, host_with(tmp_path, "n01", port)).verdict == "ib"
