"""`ibkit counters` on simulated fabrics: what it says is what was set and what perfquery prints of each port."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fattree import HCA_BASE, SWITCH_BASE, two_levels
from support.ibsim import Simulation, simulation

pytestmark = pytest.mark.live

#: 8 HCAs on 2 leaves of 8 ports, 2 spines: 4 switches with port 0.
TREE = two_levels(8, 2)
LEAF, SPINE, HCA = SWITCH_BASE, SWITCH_BASE + 2 * 256, HCA_BASE + 16
#: What is set on the console: (GUID of the node, port) -> counters; the details are of the same attribute's page.
SET = {
    (LEAF, 1): {"SymbolErrorCounter": 35, "LinkDownedCounter": 3},
    (LEAF, 5): {"PortXmitDiscards": 8, "PortInactiveDiscards": 8},
    (SPINE, 2): {"PortRcvErrors": 12, "PortLocalPhysicalErrors": 12, "PortXmitWait": 4294967295},
    (HCA, 1): {"VL15Dropped": 65535, "ExcessiveBufferOverrunErrors": 15},
}
ATTRIBUTES = {"PortInactiveDiscards": "PortXmitDiscardDetails", "PortLocalPhysicalErrors": "PortRcvErrorDetails"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    folder = tmp_path_factory.mktemp("counters")
    with simulation(TREE.netlist(), folder, attach_to=f"H-{HCA_BASE:016x}") as fabric:
        for (guid, port), counters in SET.items():
            node = f"{'S' if guid in TREE.switches else 'H'}-{guid:016x}"
            for name, value in counters.items():
                attribute = ATTRIBUTES.get(name, "PortCounters")
                fabric.console(f'PerformanceSet "{node}"[{port}] {attribute}.{name}={value}')
        yield fabric


def counters(fabric: Simulation, *options: str) -> tuple[int, dict[str, Any], str]:
    done = fabric.ibkit("counters", "--json", *options)
    return done.returncode, json.loads(done.stdout), done.stderr


def test_what_was_set_is_what_is_shown(tree: Simulation) -> None:
    status, made, err = counters(tree)
    assert (status, made["complete"], made["problems"]) == (0, True, []), err
    ports = {(int(port["guid"], 16), port["port"]): port for port in made["ports"]}
    assert set(ports) == {(guid, number) for guid in TREE.switches for number in range(9)} | {
        (guid, 1) for guid in TREE.hcas
    }
    for key, port in ports.items():
        shown = {name: value for name, value in port["counters"].items() if value and "Data" not in name}
        errors = {name: value for name, value in shown.items() if not name.endswith("Pkts")}
        assert errors == SET.get(key, {}), key
        assert port["counters"]["SymbolErrorCounter"] is not None
    assert ports[SPINE, 2]["saturated"] == ["PortXmitWait"]
    assert ports[HCA, 1]["saturated"] == ["ExcessiveBufferOverrunErrors", "VL15Dropped"]
    assert int(ports[HCA, 1]["port_guid"], 16) == HCA + 1


def test_the_same_as_perfquery_port_by_port(tree: Simulation) -> None:
    _, made, _ = counters(tree)
    for port in made["ports"]:
        done = tree.run("perfquery", str(port["lid"]), str(port["port"]))
        assert done.returncode == 0, done.stderr
        printed = {name: int(value) for name, value in re.findall(r"^(\w+):\.+(\d+)$", done.stdout, re.MULTILINE)}
        for name, value in port["counters"].items():
            # Data counters move while they are read; the simulator says that it does not count QP1Dropped.
            if name in printed and not name.endswith(("Data", "Pkts")):
                assert value == printed[name], (port["guid"], port["port"], name)


def test_ports_with_errors_are_a_finding(tree: Simulation) -> None:
    status, made, _ = counters(tree, "--errors")
    assert status == 1
    assert {(int(port["guid"], 16), port["port"]) for port in made["ports"]} == set(SET)


def test_a_capture_shows_the_same_as_its_live_run(tree: Simulation, tmp_path: Path) -> None:
    done = tree.ibkit("capture", "-o", str(tmp_path / "capture"))
    assert done.returncode in (0, 1, 3), done.stderr
    first = tree.ibkit("--from", str(tmp_path / "capture"), "counters", "--json")
    second = tree.ibkit("counters", "--from", str(tmp_path / "capture"), "--json")
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    made = json.loads(first.stdout)
    assert {(int(port["guid"], 16), port["port"]) for port in made["ports"] if any(port["saturated"])} == {
        (SPINE, 2), (HCA, 1),
    }  # fmt: skip


def test_what_moves_in_an_interval(tree: Simulation) -> None:
    """Two of the counters are set while ibkit waits: one higher, one lower, as after a clear."""
    node = f'PerformanceSet "S-{LEAF:016x}"[1] PortCounters'

    def move() -> None:
        tree.console(f"{node}.SymbolErrorCounter=40")
        tree.console(f"{node}.LinkDownedCounter=1")

    timer = threading.Timer(4.0, move)
    timer.start()
    try:
        status, made, err = counters(tree, "--interval", "8", "--errors")
    finally:
        timer.join()
        for name, value in SET[LEAF, 1].items():
            tree.console(f"{node}.{name}={value}")
    assert status == 1, err
    (interval,) = made["intervals"]
    assert 7 < interval["seconds"] < 60
    (port,) = interval["ports"]
    assert (int(port["guid"], 16), port["port"]) == (LEAF, 1)
    assert (port["changes"]["SymbolErrorCounter"], port["changes"]["LinkDownedCounter"]) == (5, 1)
    assert port["cleared"] == port["at_least"] == ["LinkDownedCounter"]


def test_a_switch_that_answers_no_counters(tree: Simulation) -> None:
    """Its PortCountersExtended is dropped: the tool counts its ports as checked and free of errors, and is content."""
    tree.console(f'Error "S-{SPINE:016x}" 100 29')
    try:
        status, made, _ = counters(tree)
        assert (status, made["complete"]) == (3, False)
        silent = [port for port in made["ports"] if int(port["guid"], 16) == SPINE]
        assert all("SymbolErrorCounter" not in port["counters"] for port in silent)
        assert [problem["kind"] for problem in made["problems"]].count("no-answer") >= 1
        others = [port for port in made["ports"] if int(port["guid"], 16) != SPINE]
        assert all(port["counters"]["SymbolErrorCounter"] is not None for port in others)
        assert len(others) == 3 * 9 + 8
    finally:
        tree.console(f'Error "S-{SPINE:016x}" 0')


def test_nothing_was_cleared(tree: Simulation) -> None:
    _, made, _ = counters(tree, "--errors")
    assert len(made["ports"]) == len(SET)


def test_without_a_manager_nothing_can_be_read(tmp_path: Path) -> None:
    with simulation(two_levels(8, 1).netlist(), tmp_path, attach_to=f"H-{HCA_BASE:016x}", manager=False) as fabric:
        status, made, err = counters(fabric)
    assert status == 3
    assert all(set(port["counters"].values()) <= {None} or port["counters"] == {} for port in made["ports"])
    assert made["problems"], err
