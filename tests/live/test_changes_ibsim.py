"""Slow links, congestion and differences on a simulated fabric: what ibkit says is what was injected."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fattree import HCA_BASE, SWITCH_BASE, two_levels
from support.ibsim import Simulation, simulation

pytestmark = pytest.mark.live

#: 8 HCAs on 2 leaves of 8 ports, 2 spines. c001's link has one lane, c006's runs EDR, and so does one between switches:
#: leaf 1 port 5 to spine 1 port 1.
FAT_TREE = two_levels(8, 2)
TRUNK = next(i for i, cable in enumerate(FAT_TREE.cables) if cable.a == (SWITCH_BASE, 5))
TREE = FAT_TREE.degraded({0: ("1x", "HDR"), 5: ("4x", "EDR"), TRUNK: ("4x", "EDR")})
LEAF_1, LEAF_2, SPINE_2 = SWITCH_BASE, SWITCH_BASE + 256, SWITCH_BASE + 3 * 256
INJECTED = {
    (HCA_BASE, 1): ("1x", "HDR"), (HCA_BASE + 5 * 16, 1): ("4x", "EDR"), (LEAF_1, 5): ("4x", "EDR"),
}  # fmt: skip
#: OpenSM hears of a lost link at once, and looks at all of the fabric within seconds.
RESWEEP_SECONDS = 40.0


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    folder = tmp_path_factory.mktemp("changes")
    with simulation(TREE.netlist(), folder, attach_to=f"H-{HCA_BASE + 16:016x}") as fabric:
        yield fabric


def asked(fabric: Simulation, *words: str) -> tuple[int, dict[str, Any]]:
    done = fabric.ibkit(*words, "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def recorded(fabric: Simulation, path: Path) -> str:
    done = fabric.ibkit("capture", "-o", str(path))
    assert path.exists(), done.stderr
    return str(path)


def test_the_slow_links_are_those_that_were_made_slow(tree: Simulation) -> None:
    status, made = asked(tree, "fabric", "--slow")
    found = {(int(link["a"]["guid"], 16), link["a"]["port"]): link for link in made["links"]}
    assert {end: (link["width"], link["speed"]) for end, link in found.items()} == INJECTED
    assert found[HCA_BASE, 1]["verdict"] == "slow"
    assert status == 1


def test_slow_links_have_lines_of_their_own(tree: Simulation) -> None:
    status, made = asked(tree, "graph")
    odd = {
        (int(link["a"]["guid"], 16), link["a"]["port"])
        for line in made["lines"]
        if line["verdict"] in ("slow", "suspected")
        for link in line["links"]
    }
    assert (status, odd) == (0, {(LEAF_1, 1), (LEAF_2, 2), (SWITCH_BASE + 2 * 256, 1)})


def test_the_congestion_of_a_port(tree: Simulation) -> None:
    """A Quantum switch counts each 8 bytes; 4x HDR carries 25 GB in a second."""
    node = f'PerformanceSet "S-{LEAF_1:016x}"[2] PortCounters.PortXmitWait'
    timer = threading.Timer(2.5, tree.console, [f"{node}=1000000000"])
    timer.start()
    try:
        _, made = asked(tree, "counters", "--interval", "5")
    finally:
        timer.join()
        tree.console(f"{node}=0")
    (interval,) = made["intervals"]
    ports = {(int(port["guid"], 16), port["port"]): port for port in interval["ports"]}
    waited = ports[LEAF_1, 2]
    assert waited["changes"]["PortXmitWait"] == 1_000_000_000
    assert waited["congestion"]["lost_bytes"] == 8_000_000_000
    assert waited["congestion"]["ratio"] == pytest.approx(8e9 / (25e9 * interval["seconds"]), rel=1e-3)
    assert {port["congestion"]["ratio"] for key, port in ports.items() if key != (LEAF_1, 2)} <= {0, None}


def test_what_changed_between_two_captures(tree: Simulation, tmp_path: Path) -> None:
    """A cable between leaf 2 and spine 2 is pulled, and put back."""
    before = recorded(tree, tmp_path / "before")
    tree.console(f'Unlink "S-{LEAF_2:016x}"[8]')
    try:
        links = len(TREE.cables)
        deadline = time.monotonic() + RESWEEP_SECONDS
        while asked(tree, "fabric")[1]["summary"]["links"] != links - 1 and time.monotonic() < deadline:
            time.sleep(1)
        without = recorded(tree, tmp_path / "without")
    finally:
        tree.console(f'ReLink "S-{LEAF_2:016x}"[8]')
    status, made = asked(tree, "diff", before, without)
    assert (status, made["verdict"]) == (1, "different"), made
    lost = [change for change in made["changes"] if not change["kind"].startswith("state")]
    assert [(change["kind"], change["before"]["a"], change["before"]["b"]) for change in lost] == [
        ("link-lost", {"guid": f"0x{LEAF_2:016x}", "port": 8}, {"guid": f"0x{SPINE_2:016x}", "port": 4}),
    ]  # fmt: skip
    assert made["undecided"] == []
    assert all(part["compared"] for part in made["parts"] if part["name"] in ("fabric", "subnet-managers"))
    status, made = asked(tree, "diff", before, before)
    assert (status, made["verdict"]) == (0, "same")
