"""The doctor's checks of ports, links, firmware and of the units that start jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.record_multirail import TOOLS
from support.sysfs_tree import MAPPED, Device, Port, roce_gids, write, write_common, write_device, write_pci_link
from support.tree_source import TreeSource

from ibkit.collectors.doctor import collect_checks
from ibkit.collectors.doctor_launchers import COMMAND, launcher_checks
from ibkit.model.checks import Check
from ibkit.sources.base import VerbsAnswer

SLOT = "0000:18:00.0"
TOOLS_WITHOUT_DEVLINK = {command: text for command, text in TOOLS.items() if not command.startswith("devlink")}
GUID = "b8ce:f603:00aa:0000"
ETHERNET = {"link_layer": "Ethernet", "rate": "200 Gb/sec (4X HDR)", "pkey_entries": 1}


def checks(root: Path, *devices: Device, **kind: Any) -> dict[str, Check]:
    for device in devices:
        write_device(root, device)
    write_common(root, [device.name for device in devices])
    kind.setdefault("tools", TOOLS)
    return {check.id: check for check in collect_checks(TreeSource(root, nodes={}, **kind), "n01").checks}


def rail(**port: Any) -> Device:
    netdev = {"ib0": {"type": "32", "dev_port": "0", "dev_id": "0x0"}}
    return Device("mlx5_0", GUID, [Port(lid=4, sm_lid=1, **port)], SLOT, netdevs=netdev)


@pytest.mark.parametrize(
    ("pkeys", "state", "text"),
    [
        ({0: "0xffff"}, "ok", "full member"),
        ({0: "0x7fff"}, "limited", "limited member of the default partition: mlx5_0 port 1"),
        ({0: "0x7fff", 1: "0xffff"}, "ok", "full member"),
        ({0: "0x8012"}, "missing", "not in the default partition (0x7fff): mlx5_0 port 1"),
    ],
)
def test_default_partition(tmp_path: Path, pkeys: dict[int, str], state: str, text: str) -> None:
    found = checks(tmp_path, rail(pkeys=pkeys))["pkeys"]
    assert (found.state, text in found.text) == (state, True)


def test_ipoib(tmp_path: Path) -> None:
    assert checks(tmp_path / "with", rail())["ib_ipoib"].state == "ok"
    bare = Device("mlx5_0", GUID, [Port(lid=4, sm_lid=1)], SLOT)
    found = checks(tmp_path / "bare", bare)["ib_ipoib"]
    assert (found.state, found.text, found.fixes[0].command) == (
        "ok", "not loaded; who needs IPoIB: modprobe ib_ipoib", "modprobe ib_ipoib",
    )  # fmt: skip
    write(tmp_path / "idle", "/sys/module/ib_ipoib/parameters/send_queue_size", "128\n")
    found = checks(tmp_path / "idle", bare)["ib_ipoib"]
    assert (found.state, found.text) == (
        "ok", "no active port has an IPoIB interface; who needs IPoIB: modprobe ib_ipoib",
    )  # fmt: skip


def test_ports_that_are_not_active_are_not_asked(tmp_path: Path) -> None:
    found = checks(tmp_path, rail(state="2: INIT", pkeys={0: "0x7fff"}))
    assert not {"pkeys", "ib_ipoib", "roce-address"} & found.keys()


@pytest.mark.parametrize(
    ("gids", "state"),
    [
        (roce_gids("eth0", "9e63:c0ff:fe12:3450", "0a14:0001"), "ok"),
        ([(0, "fe80:0000:0000:0000:9e63:c0ff:fe12:3450", "RoCE v2", "eth0")], "limited"),
        ([(0, "fd93:16d3:59b6:010d:0690:81ff:fe39:e3e8", "RoCE v2", "eth0")], "ok"),
        ([(3, MAPPED + "0a14:0001", "RoCE v2", "eth0")], "ok"),
    ],
)
def test_roce_needs_an_address(tmp_path: Path, gids: Any, state: str) -> None:
    device = Device("mlx5_4", GUID, [Port(gids=gids, gid_entries=8, **ETHERNET)], SLOT)
    assert checks(tmp_path, device)["roce-address"].state == state


def test_a_narrow_link(tmp_path: Path) -> None:
    write_pci_link(tmp_path, SLOT, current_link_width="8", current_link_speed="16.0 GT/s PCIe")
    found = checks(tmp_path, rail())["pcie"]
    assert (found.state, found.text) == (
        "limited", "mlx5_0: link at 0000:18:00.0 runs x8 at 16 GT/s, both ends can x16 at 32 GT/s",
    )  # fmt: skip


def test_links_as_they_should_be_and_unknown_ones(tmp_path: Path) -> None:
    write_pci_link(tmp_path / "good", SLOT)
    assert checks(tmp_path / "good", rail())["pcie"].state == "ok"
    write_pci_link(tmp_path / "vm", SLOT, current_link_width="0", current_link_speed="Unknown")
    assert "pcie" not in checks(tmp_path / "vm", rail())


def boards(*versions: tuple[str, str]) -> list[Device]:
    return [
        Device(f"mlx5_{n}", f"b8ce:f603:00aa:00{n}0", [Port(lid=n + 1)], f"0000:{0x18 + n:02x}:00.0",
               {"board_id": board, "fw_ver": firmware})
        for n, (board, firmware) in enumerate(versions)
    ]  # fmt: skip


def test_firmware_of_one_kind_of_board(tmp_path: Path) -> None:
    found = checks(tmp_path, *boards(("MT_1", "28.39.1002"), ("MT_1", "28.41.1000"), ("MT_2", "22.1.1")))["firmware"]
    assert (found.state, found.text) == ("different", "board MT_1: mlx5_0: 28.39.1002; mlx5_1: 28.41.1000")


def test_boards_of_two_kinds_may_differ(tmp_path: Path) -> None:
    assert checks(tmp_path, *boards(("MT_1", "28.39.1002"), ("MT_2", "22.1.1")))["firmware"].state == "ok"


def devlink(**versions: Any) -> dict[str, str]:
    card = {"driver": "mlx5_core", "serial_number": "MT2201X00001", "versions": versions}
    return {**TOOLS, "devlink -j dev info": json.dumps({"info": {f"pci/{SLOT}": card, "auxiliary/mlx5_core.sf.4": {}}})}


@pytest.mark.parametrize(
    ("stored", "state", "text"),
    [
        ({"fw.version": "28.41.1000", "fw": "28.41.1000"}, "different",
         "mlx5_0 runs 28.39.1002, 28.41.1000 is stored"),
        ({"fw.version": "28.39.1002", "fw": "28.39.1002"}, "ok", "every card runs the firmware in its flash"),
        ({"fw.version": "28.39.1002", "board.id": "x"}, "ok", "every card runs the firmware in its flash"),
    ],
)  # fmt: skip
def test_firmware_that_waits_for_a_reset(tmp_path: Path, stored: dict[str, str], state: str, text: str) -> None:
    running = {"fw.version": "28.39.1002", "fw": "28.39.1002", "board.id": "y"}
    found = checks(tmp_path, rail(), tools=devlink(running=running, stored=stored))["firmware-stored"]
    assert (found.state, found.text) == (state, text)
    if state == "different":
        assert found.fixes[0].command.startswith(f"devlink dev reload pci/{SLOT} action fw_activate")


@pytest.mark.parametrize(
    "tools",
    [{}, devlink(), devlink(running={"fw.version": "1"}), {"devlink -j dev info": "no JSON"},
     {"devlink -j dev info": '{"info": 3}'},
     {"devlink -j dev info": '{"info": {"pci/x": [], "pci/y": {"versions": 7}}}'}],
)  # fmt: skip
def test_a_card_that_does_not_tell_its_versions(tmp_path: Path, tools: dict[str, str]) -> None:
    assert "firmware-stored" not in checks(tmp_path, rail(), tools=TOOLS_WITHOUT_DEVLINK | tools)


def test_a_driver_that_differs_on_one_kind_of_board(tmp_path: Path) -> None:
    """One function is bound to another build of the driver, or to vfio's."""
    one, other = boards(("MT_1", "28.39.1002"), ("MT_1", "28.39.1002"))
    other.attributes["driver"] = "mlx5_core_old"
    found = checks(tmp_path, one, other)["firmware"]
    assert (found.state, found.text) == (
        "different", "board MT_1: mlx5_0: 28.39.1002, driver mlx5_core; mlx5_1: 28.39.1002, driver mlx5_core_old",
    )  # fmt: skip


def test_a_host_without_libibverbs(tmp_path: Path) -> None:
    found = checks(tmp_path, rail())["providers"]
    assert (found.state, found.text) == ("missing", "no /etc/libibverbs.d: libibverbs is not installed here")
    assert [fix.command for fix in found.fixes] == ["apt install ibverbs-providers", "dnf install libibverbs"]


def test_a_missing_provider(tmp_path: Path) -> None:
    write(tmp_path, "/etc/libibverbs.d/rxe.driver", "driver rxe\n")
    found = checks(tmp_path, rail())["providers"]
    assert (found.state, "mlx5 (mlx5_0)" in found.text) == ("missing", True)
    write(tmp_path, "/etc/libibverbs.d/mlx5.driver", "driver mlx5\n")
    again = {check.id: check for check in collect_checks(TreeSource(tmp_path, nodes={}, tools=TOOLS), "n01").checks}
    assert again["providers"].state == "ok"


@pytest.mark.parametrize(
    ("devices", "state", "text"),
    [
        ([{"name": "mlx5_0"}], "ok", "sees 1 devices"),
        ([], "broken", "does not see mlx5_0: libibverbs has no provider that fits, or another version's"),
        ([{"name": "mlx5_0", "error": "Failed to open device"}], "denied", "cannot open mlx5_0: Failed to open device"),
        ([7], "broken", "does not see mlx5_0: libibverbs has no provider that fits, or another version's"),
    ],
)
def test_what_pyverbs_sees(tmp_path: Path, devices: Any, state: str, text: str) -> None:
    found = checks(tmp_path, rail(), verbs=VerbsAnswer(devices))["pyverbs"]
    assert (found.state, found.text) == (state, text)


def test_an_abi_that_libibverbs_does_not_speak(tmp_path: Path) -> None:
    write_device(tmp_path, rail())
    write_common(tmp_path, ["mlx5_0"])
    write(tmp_path, "/sys/class/infiniband_verbs/abi_version", "7\n")
    source = TreeSource(tmp_path, nodes={}, tools=TOOLS, verbs=VerbsAnswer([{"name": "mlx5_0"}]))
    found = {check.id: check for check in collect_checks(source, "n01").checks}["pyverbs"]
    assert (found.state, found.text) == ("broken", "the kernel's verbs speak ABI 7, libibverbs knows 3 to 6")


def launchers(text: str) -> list[tuple[str, str, str]]:
    source = TreeSource(Path("/nonexistent"), tools={" ".join(COMMAND): text})
    return [(check.id, check.state, check.text) for check in launcher_checks(source)]


def test_units_that_start_jobs() -> None:
    """Old versions of systemd print infinity as a number; units that are not there have a default."""
    assert launchers(
        "Id=slurmd.service\nLoadState=loaded\nLimitMEMLOCK=infinity\n\n"
        "Id=pbs.service\nLoadState=not-found\nLimitMEMLOCK=65536\n\n"
        "Id=kubelet.service\nLoadState=loaded\nLimitMEMLOCK=18446744073709551615\n\n"
        "LoadState=loaded\nLimitMEMLOCK=65536\nId=sshd.service\n\n"
        "LoadState=loaded\nLimitMEMLOCK=65536\nId=sshd.service\n\n"
        "Id=odd.service\nLoadState=loaded\nLimitMEMLOCK=many\n"
    ) == [
        ("memlock-slurmd", "ok", "slurmd: unlimited"), ("memlock-kubelet", "ok", "kubelet: unlimited"),
        ("memlock-sshd", "limited", "sshd: 64 KiB of locked memory"),
    ]  # fmt: skip


def test_slurm_takes_limits_along() -> None:
    text = "Id=slurmd.service\nLoadState=loaded\nLimitMEMLOCK=infinity\n\nId=kubelet.service\nLoadState=loaded\n" \
        "LimitMEMLOCK=65536\n"  # fmt: skip
    source = TreeSource(Path("/nonexistent"), tools={" ".join(COMMAND): text})
    slurmd, kubelet = launcher_checks(source)
    assert "PropagateResourceLimitsExcept=MEMLOCK" in slurmd.means
    assert (kubelet.id, kubelet.state) == ("memlock-kubelet", "limited")
    assert kubelet.fixes[0].command.startswith("systemctl edit kubelet")
    assert "Propagate" not in kubelet.means


def test_without_systemd_there_is_no_check_of_units() -> None:
    assert list(launcher_checks(TreeSource(Path("/nonexistent")))) == []
