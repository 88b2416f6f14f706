"""Real RDMA devices: every view of them tells the same, live and replayed. Runs in the SoftRoCE guest, or on a host
that has devices of its own; what changes something runs in the guest alone.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.guest_links import down

from ibkit.collectors import sysfs
from ibkit.collectors.hca import collect_hcas
from ibkit.collectors.netlink import read_netlink
from ibkit.collectors.pasted import read_tools
from ibkit.collectors.verbs import read_verbs
from ibkit.model.host import HostHcas
from ibkit.parsers import rdma
from ibkit.sources.live import LiveSource
from ibkit.sources.opening import open_site

pytestmark = pytest.mark.rxe

IBKIT = [sys.executable, "-m", "ibkit"]
in_guest = pytest.mark.skipif(socket.gethostname() != "rxe-guest", reason="changes the network")


def tool(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout


def ibkit(*argv: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run([*IBKIT, *argv], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def host() -> HostHcas:
    return collect_hcas(LiveSource(), socket.gethostname())


def test_verbs_speaks_and_sysfs_agrees(host: HostHcas) -> None:
    assert host.hcas
    assert {hca.source for hca in host.hcas} == {"verbs"}
    assert [problem for problem in host.problems if problem.kind == "contradiction"] == []


def test_each_view_alone_finds_the_same_ports(host: HostHcas) -> None:
    verbs, problems = read_verbs(LiveSource())
    assert problems == []
    for hca in host.hcas:
        files, _ = sysfs.read_hca(LiveSource(), hca.name, whole=True)
        for view in (files, verbs[hca.name]):
            assert view.node_guid == hca.node_guid
            for port, merged in zip(view.ports, hca.ports, strict=True):
                for field in ("state", "physical_state", "link_layer", "rate_gbps", "width", "speed", "gids", "pkeys"):
                    assert getattr(port, field) == getattr(merged, field), field


def test_netlink_agrees(host: HostHcas) -> None:
    told, problems = read_netlink(LiveSource())
    assert problems == []
    for hca in host.hcas:
        netlink = told[hca.name]
        assert (netlink.node_guid, netlink.system_image_guid) == (hca.node_guid, hca.system_image_guid)
        for port, merged in zip(netlink.ports, hca.ports, strict=True):
            assert (port.state, port.physical_state) == (merged.state, merged.physical_state)
            assert {*port.netdevs} <= {*merged.netdevs}


@pytest.mark.needs("strace")
def test_no_device_node_is_opened_twice(host: HostHcas, tmp_path: Path) -> None:
    """Nor any file of /sys read twice, in the one process that reads them."""
    trace = tmp_path / "trace"
    tool("strace", "-f", "-e", "trace=openat", "-o", str(trace), *IBKIT, "status", "--json")
    opened = re.findall(
        r'^(\d+) +openat\([^"]{1,40}"(/dev/infiniband/[^"]+|/sys/class/infiniband/[^"]+)"', trace.read_text(), re.M
    )
    nodes = Counter(path for _, path in opened if path.startswith("/dev/"))
    assert set(nodes.values()) == {1}
    assert len(nodes) == len(host.hcas)
    most = Counter(process for process, _ in opened).most_common(1)[0][0]  # libibverbs reads some of them, too
    files = Counter(path for process, path in opened if process == most)
    assert [path for path, times in files.items() if times > 1] == []


def test_the_quick_way_says_the_same_of_states(host: HostHcas) -> None:
    quick = collect_hcas(LiveSource(), socket.gethostname(), whole=False)
    for one, other in zip(quick.hcas, host.hcas, strict=True):
        for port, whole in zip(one.ports, other.ports, strict=True):
            assert (port.state, port.lid, port.rate_gbps, port.netdevs) == (
                whole.state, whole.lid, whole.rate_gbps, whole.netdevs,
            )  # fmt: skip


def test_rdma_link_and_dev_agree(host: HostHcas) -> None:
    links = {(link["ifname"], link["port"]): link for link in json.loads(tool("rdma", "-j", "link"))}
    devices = {device["ifname"]: device for device in json.loads(tool("rdma", "-j", "dev"))}
    for hca in host.hcas:
        assert f"{hca.node_guid:016x}" == devices[hca.name]["node_guid"].replace(":", "")
        for port in hca.ports:
            link = links[hca.name, port.port]
            assert link["state"] == str(port.state).upper()
            assert link["physical_state"].replace("_", "") == str(port.physical_state).upper()
            if "netdev" in link:
                assert link["netdev"] in port.netdevs


def test_ibstat_agrees(host: HostHcas) -> None:
    told, problems, has_gaps = read_tools(LiveSource(), ["ibstat"])
    assert (problems, has_gaps) == ([], False)
    by_name = {hca.name: hca for hca in told}
    for hca in host.hcas:
        if hca.name not in by_name:
            continue  # iWARP devices have no management datagrams, so ibstat leaves them out
        other = by_name[hca.name]
        assert (other.node_guid, other.system_image_guid) == (hca.node_guid, hca.system_image_guid)
        for port, theirs in zip(hca.ports, other.ports, strict=True):
            assert (theirs.state, theirs.physical_state, theirs.rate_gbps, theirs.lid, theirs.port_guid) == (
                port.state, port.physical_state, port.rate_gbps, port.lid, port.port_guid,
            )  # fmt: skip


@pytest.mark.parametrize(
    "argv",
    [
        ("ibv_devinfo", "-v"),
        ("ibv_devinfo",),
        ("ibstatus",),
        ("rdma", "link"),
        ("rdma", "-j", "link"),
        ("ibv_devices",),
        ("rdma", "dev"),
        ("rdma", "-j", "dev"),
        ("rdma", "-d", "dev"),
        ("rdma", "statistic"),
        ("rdma", "-j", "statistic"),
    ],
    ids=" ".join,
)
def test_what_tools_print_agrees(host: HostHcas, argv: tuple[str, ...], tmp_path: Path) -> None:
    """Their output, read as if somebody had pasted it, against pyverbs and sysfs."""
    (tmp_path / "pasted").write_text(tool(*argv))
    (pasted,) = open_site(str(tmp_path / "pasted")).hosts
    told = collect_hcas(pasted.source, "")
    assert told.problems == ()
    for one, whole in zip(told.hcas, host.hcas, strict=True):
        assert one.name == whole.name
        for field in ("node_guid", "system_image_guid", "vendor_id", "vendor_part_id"):
            assert getattr(one, field) in (None, getattr(whole, field)), field
        if argv[0] == "ibv_devices" or argv[-1] == "dev":
            assert one.ports == ()  # they tell of no ports
            continue
        for port, known in zip(one.ports, whole.ports, strict=True):
            if argv[-1] == "statistic":
                assert port.hw_counters and known.hw_counters
                assert port.hw_counters.values.keys() == known.hw_counters.values.keys()
                continue
            assert (port.state, port.link_layer, port.transport) == (known.state, known.link_layer, known.transport)
            for field in ("physical_state", "rate_gbps", "width", "speed", "port_guid", "lid", "reported_lid",
                          "active_mtu_bytes", "max_mtu_bytes", "capability_mask"):  # fmt: skip
                assert getattr(port, field) in (None, getattr(known, field)), field
            if argv[-1] == "-v":
                assert [entry._replace(netdev=None) for entry in known.gids] == list(port.gids)
                assert port.rate_gbps and port.active_mtu_bytes


def test_statistics_of_rdma_are_the_hw_counters(host: HostHcas) -> None:
    rows = {(row.device, row.port): row.values for row in rdma.parse(tool("rdma", "-j", "statistic")).value}
    for hca in host.hcas:
        for port in hca.ports:
            assert port.hw_counters is not None
            assert port.hw_counters.values.keys() == rows[hca.name, port.port].keys()


def test_interfaces_name_their_ports(host: HostHcas) -> None:
    by_name = {one.name: one for one in host.interfaces or ()}
    for hca in host.hcas:
        for port in hca.ports:
            for netdev in port.netdevs:
                assert (by_name[netdev].device, by_name[netdev].port) == (hca.name, port.port)
                addresses = {address.partition("/")[0] for address in by_name[netdev].addresses}
                assert by_name[netdev].gid_indexes
                for entry in port.gids:
                    if entry.netdev == netdev:
                        assert str(_as_ip(entry.gid)) in addresses


def _as_ip(gid: int) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.IPv6Address(gid)
    return address.ipv4_mapped or address


@pytest.mark.parametrize("command", ["status", "doctor"])
def test_a_capture_replays_to_the_same_document(tmp_path: Path, command: str) -> None:
    """Neighbours come and go by themselves, so what was captured is what was seen before or behind it; where they did
    both it is tried again.
    """
    for number in range(5):
        folder = str(tmp_path / str(number))
        before, table = said(command, "--json"), said(command)
        said("capture", "-o", folder)
        after, table_after = said(command, "--json"), said(command)
        again, replayed = said(command, "--json", "--from", folder), said(command, "--from", folder)
        if again in (before, after) and replayed in (table, table_after):
            return
    assert again == after
    assert replayed == table_after


def said(*words: str) -> tuple[int, bytes]:
    done = subprocess.run([*IBKIT, *words], capture_output=True, timeout=300, check=False)
    return done.returncode, done.stdout


@in_guest
def test_a_netdev_that_goes_down_is_seen(host: HostHcas) -> None:
    assert ibkit("status", "--json")[0] == 0
    with down("ve1"):
        status, document = ibkit("status", "--json")
        ports = {device["name"]: device["ports"][0] for device in document["devices"]}
        assert (ports["rxe1"]["state"], ports["rxe1"]["physical_state"]) == ("Down", "Disabled")
        assert (ports["rxe0"]["state"], ports["rxe0"]["physical_state"]) == ("Down", "Polling")
        assert ports["rxe1"]["rate_gbps"] is None
        assert (status, [finding["kind"] for finding in document["findings"]]) == (1, ["no-active-port"])
    assert ibkit("status", "--json")[0] == 0


@in_guest
def test_an_iwarp_device_is_told_apart(host: HostHcas) -> None:
    tool("rdma", "link", "add", "siw0", "type", "siw", "netdev", "ve0")
    try:
        _, document = ibkit("status", "--json")
        siw = next(device for device in document["devices"] if device["name"] == "siw0")
        assert (siw["node_type"], siw["ports"][0]["transport"]) == ("RNIC", "iwarp")
        assert [problem for problem in document["problems"] if problem["kind"] == "contradiction"] == []
    finally:
        tool("rdma", "link", "delete", "siw0")


@in_guest
def test_an_ordinary_user_sees_the_ports_and_what_is_closed_to_him(tmp_path: Path) -> None:
    os.chmod("/dev/infiniband/uverbs1", 0o600)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    try:
        done = subprocess.run(
            [*nobody, *IBKIT, "status", "--json"], capture_output=True, text=True, timeout=120, check=False
        )
        document = json.loads(done.stdout)
        checks = subprocess.run(
            [*nobody, *IBKIT, "doctor", "--json"], capture_output=True, text=True, timeout=120, check=False
        )
        uverbs = next(check for check in json.loads(checks.stdout)["checks"] if check["check"] == "uverbs")
    finally:
        os.chmod("/dev/infiniband/uverbs1", 0o666)
    assert [(device["name"], device["source"]) for device in document["devices"]] == [
        ("rxe0", "verbs"), ("rxe1", "sysfs"),
    ]  # fmt: skip
    assert [port["state"] for device in document["devices"] for port in device["ports"]] == ["Active", "Active"]
    assert any("rxe1" in problem["text"] for problem in document["problems"] if problem["kind"] == "verbs-failed")
    assert (uverbs["state"], "uid 65534 may not open uverbs1" in uverbs["text"]) == ("denied", True)


@in_guest
def test_one_refresh_of_the_tui_shows_a_netdev_that_went_down() -> None:
    from ibkit.tui.snapshot import HOST, tasks_of

    def states() -> list[str]:
        tasks = [task for task in tasks_of(open_site(None)) if task.part.kind == HOST]
        return [port.state for task in tasks for hca in task.read().value.hcas for port in hca.ports]

    assert states() == ["Active", "Active"]
    with down("ve1"):
        assert states() == ["Down", "Down"]
    assert states() == ["Active", "Active"]
