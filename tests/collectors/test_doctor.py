"""The doctor's checks, each with its causes told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.sysfs_tree import Device, Port, multirail_host, softroce_host, write, write_common, write_device
from support.tree_source import TreeSource

from ibkit.collectors.access import Identity, may_open
from ibkit.collectors.doctor import collect_checks
from ibkit.export.doctor import verdict
from ibkit.model.checks import Check, HostChecks
from ibkit.sources.base import DENIED, NOT_RECORDED, TIMEOUT, Entry, VerbsAnswer

#: As /dev/infiniband of the SoftRoCE guest was listed.
GUEST_NODES = {
    "issm0": (0o600, 0, 0), "issm1": (0o600, 0, 0), "rdma_cm": (0o666, 0, 0), "umad0": (0o600, 0, 0),
    "umad1": (0o600, 0, 0), "uverbs0": (0o666, 0, 0), "uverbs1": (0o666, 0, 0),
}  # fmt: skip
TOOLS = {
    "id -u": "1000\n", "id -G": "1000 998\n", "ibstat -V": "ibstat BUILD VERSION: 44.0\n",
    "ibnetdiscover -V": "ibnetdiscover BUILD VERSION: 44.0\n", "sminfo -V": "sminfo BUILD VERSION: 44.0\n",
    "rdma -V": "rdma utility, iproute2-6.1.0\n", "ip -V": "ip utility, iproute2-6.1.0, libbpf 1.1.2\n",
}  # fmt: skip
ROOT = {"id -u": "0\n", "id -G": "0\n"}
LIMITS = "Limit                     Soft Limit           Hard Limit           Units     \n" \
    "Max locked memory         {0}            {0}            bytes     \n"  # fmt: skip


def infiniband_host(root: Path) -> None:
    netdev = {"ib0": {"type": "32", "dev_port": "0"}}
    write_device(root, Device("mlx5_0", "b8ce:f603:00aa:0000", [Port(lid=4, sm_lid=1)], "0000:18:00.0", netdevs=netdev))
    write_common(root, ["mlx5_0"])
    write(root, "/sys/class/misc/rdma_cm/dev", "10:58\n")
    write(root, "/proc/self/limits", LIMITS.format("unlimited"))
    write(root, "/etc/libibverbs.d/mlx5.driver", "driver mlx5\n")


def infiniband_nodes(umad: tuple[int, int, int] = (0o660, 0, 998)) -> dict[str, tuple[int, int, int]]:
    return {"umad0": umad, "uverbs0": (0o666, 0, 0), "rdma_cm": (0o666, 0, 0)}


def checks_of(root: Path, **kind: Any) -> dict[str, Check]:
    kind.setdefault("tools", TOOLS)
    kind.setdefault("nodes", infiniband_nodes())
    kind.setdefault("verbs", VerbsAnswer(devices=[{"name": "mlx5_0"}]))
    host = collect_checks(TreeSource(root, **kind), "n01")
    return {check.id: check for check in host.checks}


def states(checks: dict[str, Check]) -> dict[str, str]:
    return {name: check.state for name, check in checks.items()}


@pytest.fixture
def host(tmp_path: Path) -> Path:
    infiniband_host(tmp_path)
    return tmp_path


def test_a_host_where_all_is_there(host: Path) -> None:
    checks = checks_of(host)
    assert states(checks) == dict.fromkeys(
        (
            "devices",
            "uverbs",
            "rdma_cm",
            "umad",
            "pkeys",
            "ib_ipoib",
            "firmware",
            "providers",
            "pyverbs",
            "infiniband-diags",
            "iproute2",
            "memlock",
        ),
        "ok",
    )
    assert verdict([HostChecks("n01", tuple(checks.values()))]) == "ok"
    assert "44.0" in checks["infiniband-diags"].text
    assert "6.1.0" in checks["iproute2"].text


def test_each_check_that_fails_names_a_command(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    checks = checks_of(tmp_path, tools={}, verbs=VerbsAnswer(error="pyverbs cannot be imported: x"))
    for check in checks.values():
        assert check.fixes or check.state in ("ok", "unknown"), check
    assert states(checks) == {
        "devices": "missing", "pyverbs": "missing", "infiniband-diags": "missing", "iproute2": "missing",
        "memlock": "unknown",
    }  # fmt: skip
    assert {fix.system for check in checks.values() for fix in check.fixes} == {"apt", "dnf", "any"}


@pytest.mark.parametrize(
    ("owner", "tools", "state"),
    [((0o600, 0, 0), TOOLS, "denied"), ((0o660, 0, 998), TOOLS, "ok"), ((0o660, 0, 997), TOOLS, "denied"),
     ((0o600, 0, 0), {**TOOLS, **ROOT}, "ok"), ((0o600, 1000, 0), TOOLS, "ok"), ((0o066, 1000, 0), TOOLS, "denied"),
     ((0o640, 0, 998), TOOLS, "denied"), ((0o666, 0, 0), {}, "ok"), ((0o600, 0, 0), {}, "unknown")],
)  # fmt: skip
def test_umad_rights(host: Path, owner: tuple[int, int, int], tools: dict[str, str], state: str) -> None:
    check = checks_of(host, nodes=infiniband_nodes(owner), tools=tools)["umad"]
    assert check.state == state
    if state == "denied":
        assert "uid 1000 may not open umad0" in check.text
        assert f"{owner[0]:04o}" in check.text
        assert any("udev" in fix.command for fix in check.fixes)


def test_the_three_ways_to_lack_umad(host: Path, tmp_path: Path) -> None:
    without_module = checks_of(host, errors={"/sys/class/infiniband_mad": "ENOENT"})["umad"]
    assert (without_module.state, "ib_umad is not loaded" in without_module.text) == ("missing", True)
    assert "modprobe ib_umad" in [fix.command for fix in without_module.fixes]
    without_node = checks_of(host, nodes={"uverbs0": (0o666, 0, 0)})["umad"]
    assert (without_node.state, without_node.text) == ("missing", "/dev/infiniband lacks umad0")
    assert any("--device" in fix.command for fix in without_node.fixes)
    without_right = checks_of(host, nodes=infiniband_nodes((0o600, 0, 0)))["umad"]
    assert without_right.state == "denied"


def test_the_three_ways_to_lack_the_connection_manager(host: Path) -> None:
    without_module = checks_of(host, errors={"/sys/class/misc": "ENOENT"})["rdma_cm"]
    assert (without_module.state, without_module.fixes[0].command) == ("missing", "modprobe rdma_ucm")
    nodes = infiniband_nodes()
    without_node = checks_of(host, nodes={name: owner for name, owner in nodes.items() if name != "rdma_cm"})["rdma_cm"]
    assert (without_node.state, without_node.text) == ("missing", "/dev/infiniband lacks rdma_cm")
    assert without_node.fixes[0].command == "udevadm trigger -s misc"
    without_right = checks_of(host, nodes={**nodes, "rdma_cm": (0o600, 0, 0)})["rdma_cm"]
    assert (without_right.state, "uid 1000 may not open rdma_cm (mode 0600" in without_right.text) == ("denied", True)


def test_a_container_without_the_folder_of_nodes(host: Path) -> None:
    checks = checks_of(host, nodes=None)
    assert (checks["uverbs"].state, checks["umad"].state) == ("missing", "missing")


def test_softroce_needs_no_tools_of_infiniband(tmp_path: Path) -> None:
    softroce_host(tmp_path)
    checks = checks_of(tmp_path, nodes=GUEST_NODES, tools={**TOOLS, "ibstat -V": ""})
    assert "umad" not in checks
    assert "infiniband-diags" not in checks
    assert checks["uverbs"].state == "ok"
    assert checks["rdma_cm"].state == "missing"  # that tree has no /sys/class/misc/rdma_cm


@pytest.mark.parametrize(
    ("answer", "state", "fixable"),
    [(VerbsAnswer(devices=[{"name": "mlx5_0"}]), "ok", False),
     (VerbsAnswer(error="pyverbs cannot be imported: version 'IBVERBS_PRIVATE_59' not found"), "missing", True),
     (VerbsAnswer(error="pyverbs: Failed to get devices list"), "broken", True),
     (VerbsAnswer(error=NOT_RECORDED), "unknown", False)],
)  # fmt: skip
def test_pyverbs(host: Path, answer: VerbsAnswer, state: str, fixable: bool) -> None:
    check = checks_of(host, verbs=answer)["pyverbs"]
    assert (check.state, bool(check.fixes)) == (state, fixable)


def test_pyverbs_on_a_host_without_devices_is_fine(tmp_path: Path) -> None:
    simulator = {"ibstat": "CA 'ibsim0'\n\tNumber of ports: 0\n"}
    for tools in ({}, simulator):
        checks = checks_of(tmp_path, tools=tools, verbs=VerbsAnswer(error="pyverbs: Failed to get devices list"))
        assert checks["pyverbs"].state == "ok"
    assert checks["devices"].state == "ok"


@pytest.mark.parametrize(
    ("limit", "tools", "state"),
    [("unlimited", TOOLS, "ok"), ("65536", TOOLS, "limited"), ("8388608", TOOLS, "limited"),
     ("8388608", {**TOOLS, **ROOT}, "ok"), ("nonsense", TOOLS, "unknown")],
)  # fmt: skip
def test_memlock(host: Path, limit: str, tools: dict[str, str], state: str) -> None:
    write(host, "/proc/self/limits", LIMITS.format(limit))
    check = checks_of(host, tools=tools)["memlock"]
    assert check.state == state
    if state == "limited":
        assert f"{int(limit) // 1024} KiB" in check.text


@pytest.mark.parametrize(("failure", "state"), [(TIMEOUT, "broken"), (DENIED, "denied"), (NOT_RECORDED, "unknown")])
def test_a_tool_that_does_not_answer(host: Path, failure: str, state: str) -> None:
    check = checks_of(host, errors={"sminfo -V": failure})["infiniband-diags"]
    assert check.state == state
    assert "sminfo" in check.text
    assert "ibstat" not in check.text


def test_omni_path_gets_its_own_tools(tmp_path: Path) -> None:
    device = Device("hfi1_0", "0011:7501:0167:0001", [Port(lid=4)], "0000:05:00.0", {"driver": "hfi1"})
    write_device(tmp_path, device)
    write_common(tmp_path, ["hfi1_0"])
    checks = checks_of(tmp_path)
    assert (checks["opa-tools"].state, "infiniband-diags" in checks) == ("missing", False)


def test_a_dead_device_is_broken(tmp_path: Path) -> None:
    multirail_host(tmp_path)
    place = "/sys/class/infiniband/mlx5_1"
    errors = {f"{place}/node_guid": "EIO", f"{place}/ports": "EIO"}
    host = collect_checks(TreeSource(tmp_path, errors=errors), "n01")
    devices = [check for check in host.checks if check.id == "devices"]
    assert [check.state for check in devices] == ["ok", "broken"]
    assert "mlx5_1" in devices[1].text
    assert "mlx5_1" not in devices[0].text


@pytest.mark.parametrize(
    ("uevent", "command"),
    [("DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:1021\n", "modprobe mlx5_ib"),
     ("PCI_CLASS=20700\nPCI_ID=15B3:1021\n", "lspci")],
)  # fmt: skip
def test_an_adapter_without_device_gets_its_driver(tmp_path: Path, uevent: str, command: str) -> None:
    write(tmp_path, "/sys/bus/pci/devices/0000:18:00.0/uevent", uevent)
    check = checks_of(tmp_path)["devices"]
    assert check.state == "missing"
    assert any(fix.command.startswith(command) for fix in check.fixes)


def test_nothing_recorded_is_unknown(tmp_path: Path) -> None:
    errors = dict.fromkeys(("/sys/class/infiniband", "/proc/self/limits", *TOOLS, "ibstat"), NOT_RECORDED)
    checks = checks_of(tmp_path, errors=errors, verbs=VerbsAnswer(error=NOT_RECORDED))
    assert set(states(checks).values()) == {"unknown"}
    assert verdict([HostChecks("n01", tuple(checks.values()))]) == "unknown"


def test_the_first_class_that_fits_decides() -> None:
    node = Entry("umad0", "device", None, 0o066, 1000, 998)
    assert may_open(node, Identity(1000, frozenset({998}))) is False
    assert may_open(node, Identity(1001, frozenset({998}))) is True
    assert may_open(node._replace(mode=None), Identity(0, frozenset({0}))) is None


@pytest.mark.parametrize(
    ("state", "kind", "driver", "is_offered"),
    [("up", "1", "/lib/modules/6.1.0/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko\n", True), ("up", "1", None, False),
     ("down", "1", "(builtin)\n", False), ("up", "772", "(builtin)\n", False)],
)  # fmt: skip
def test_softroce_is_offered_where_it_can_be_had(
    tmp_path: Path, state: str, kind: str, driver: str | None, is_offered: bool
) -> None:
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    write(tmp_path, "/sys/class/net/ens1/type", f"{kind}\n")
    write(tmp_path, "/sys/class/net/ens1/operstate", f"{state}\n")
    tools = TOOLS if driver is None else {**TOOLS, "modinfo -n rdma_rxe": driver}
    commands = [fix.command for fix in checks_of(tmp_path, tools=tools)["devices"].fixes]
    offered = (
        "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev ens1   # SoftRoCE, to try RDMA without an adapter"
    )
    assert commands[1:] == [offered] * is_offered
    assert commands[0].startswith("lspci -nn")
