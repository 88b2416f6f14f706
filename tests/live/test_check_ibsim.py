"""`ibkit check` on simulated fat trees of 108 HCAs: each fault that ibsim can make is found, and nothing else is.

Faults that the simulator's console makes are put into one running fabric one after the other and taken back; those of a
netlist have a fabric each; then come several together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fattree import HCA_BASE, SWITCH_BASE, Tree, two_levels
from support.ibsim import Simulation, simulation

pytestmark = [pytest.mark.live, pytest.mark.needs("gcc", "libc")]

#: 108 HCAs (18 on each of 6 leaves), 9 spines, 216 cables: the first 108 those of the HCAs, port 1 to port 1 to 18.
TREE = two_levels(36, 6)
FIRST, LAST = HCA_BASE, HCA_BASE + 16 * 107
LEAF = SWITCH_BASE
HOST_PORTS, FABRIC_RULES, COUNTER_RULES = ("--rule", "hosts"), ("--rule", "fabric"), ("--rule", "counters")
#: OpenSM looks for a dead master each half second, and twice; nothing makes it sweep once it is master.
PATIENT = "sminfo_polling_timeout 500\npolling_retry_number 2\nsweep_interval 0\nsweep_on_trap FALSE\n"

Found = tuple[str, ...]


def node(guid: int) -> str:
    return f"{'S' if guid >= SWITCH_BASE else 'H'}-{guid:016x}"


def check(fabric: Simulation, *words: str) -> tuple[int, list[Found], dict[str, Any]]:
    """The exit status; of each finding its rule's name, its places as GUID/PORT, and the names of its members."""
    done = fabric.ibkit("check", "--json", *words)
    assert done.returncode in (0, 1, 3), done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    found = [
        (
            one["name"],
            " ".join(f"{int(place['guid'], 16):x}/{place['port']}" for place in one["places"]),
            *sorted({member["name"] for member in one["members"]}),
        )
        for one in made["findings"]
    ]
    return done.returncode, found, made


def cable(index: int) -> str:
    """Both ends of a cable, as ``check`` tells them where none of the two is to be looked at first."""
    ends = sorted((TREE.cables[index].a, TREE.cables[index].b))
    return " ".join(f"{guid:x}/{port}" for guid, port in ends)


def count(fabric: Simulation, guid: int, port: int, **counters: int) -> None:
    """Set counters of a port."""
    pages = {"PortNeighborMTUDiscards": "PortXmitDiscardDetails", "PortMalformedPktErrors": "PortRcvErrorDetails"}
    for name, value in counters.items():
        fabric.console(f'PerformanceSet "{node(guid)}"[{port}] {pages.get(name, "PortCounters")}.{name}={value}')


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    folder = tmp_path_factory.mktemp("tree")
    with simulation(TREE.netlist(), folder, attach_to=node(FIRST), whole_answers=True) as fabric:
        yield fabric


@pytest.fixture(scope="module")
def expectations(tree: Simulation) -> str:
    """What `ibkit expect init` writes of the clean fabric."""
    path = str(tree.folder / "expect.toml")
    done = tree.ibkit("expect", "init", "-o", path)
    assert done.returncode == 0, done.stderr
    return path


def test_a_clean_fabric_has_no_finding(tree: Simulation, expectations: str) -> None:
    status, found, made = check(tree, "--expect", expectations)
    assert (status, found, made["complete"], made["problems"]) == (0, [], True, [])
    assert {part["what"] for part in made["looked_at"]} >= {"partitions", "routes"}


def test_a_capture_shows_what_the_live_run_showed(tree: Simulation, tmp_path: Path) -> None:
    count(tree, LEAF, 3, SymbolErrorCounter=10)
    try:
        live = tree.ibkit("check", "--json")
        done = tree.ibkit("capture", "-o", str(tmp_path / "capture"))
    finally:
        count(tree, LEAF, 3, SymbolErrorCounter=0)
    assert done.returncode == 0, done.stderr
    replayed = tree.ibkit("check", "--json", "--from", str(tmp_path / "capture"))
    assert (live.returncode, replayed.returncode) == (1, 1)
    assert replayed.stdout == live.stdout


COUNTED = {
    "symbol-errors": {"SymbolErrorCounter": 10},
    "link-downed": {"LinkDownedCounter": 12},
    "discards": {"PortXmitDiscards": 200},
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_counter(tree: Simulation, name: str) -> None:
    """Port 3 of the first leaf, which is cabled to the third HCA."""
    count(tree, LEAF, 3, **COUNTED[name])
    try:
        status, found, _ = check(tree, *COUNTER_RULES)
    finally:
        count(tree, LEAF, 3, **dict.fromkeys(COUNTED[name], 0))
    assert (status, found) == (1, [(name, f"{LEAF:x}/3 {HCA_BASE + 32:x}/1")])


def test_counters_below_their_limits(tree: Simulation) -> None:
    below = {"SymbolErrorCounter": 9, "LinkDownedCounter": 9, "PortXmitDiscards": 99, "PortRcvSwitchRelayErrors": 60000}
    count(tree, LEAF, 3, **below)
    try:
        assert check(tree, *COUNTER_RULES)[:2] == (0, [])
    finally:
        count(tree, LEAF, 3, **dict.fromkeys(below, 0))


def test_several_counters_and_their_causes(tree: Simulation) -> None:
    """A bad cable at HCA 3, whose damaged packets a spine counts; one that fell 20 times at both ends; and others."""
    spine = TREE.cables[108].b
    last_leaf, last_port = TREE.cables[107].b
    injected = [
        (LEAF, 3, {"SymbolErrorCounter": 400, "PortRcvErrors": 300}),
        (*spine, {"PortRcvRemotePhysicalErrors": 250}),
        (LAST, 1, {"LinkDownedCounter": 20}),
        (last_leaf, last_port, {"LinkDownedCounter": 21}),
        (LEAF, 5, {"ExcessiveBufferOverrunErrors": 14}),
        (LEAF, 6, {"PortXmitDiscards": 3, "PortNeighborMTUDiscards": 3}),
        (LEAF, 7, {"PortXmitConstraintErrors": 120}),
        (LEAF, 8, {"VL15Dropped": 100}),
    ]
    for guid, port, counters in injected:
        count(tree, guid, port, **counters)
    try:
        status, found, _ = check(tree, *COUNTER_RULES)
    finally:
        for guid, port, counters in injected:
            count(tree, guid, port, **dict.fromkeys(counters, 0))
    assert status == 1

    def at(port: int) -> str:
        return f"{LEAF:x}/{port} {HCA_BASE + 16 * (port - 1):x}/1"

    assert found == [
        ("mtu-discards", at(6)),
        ("symbol-errors", at(3), "receive-errors", "remote-physical-errors"),
        ("link-downed", f"{last_leaf:x}/{last_port} {LAST:x}/1"),
        ("constraint-errors", at(7)),
        ("link-integrity", at(5)),
        ("management-dropped", at(8)),
    ]


def test_two_samples(tree: Simulation, tmp_path: Path) -> None:
    """Symbol errors that stood there before are the past; those that come in between are too many for 200 Gb/s."""
    count(tree, LEAF, 3, SymbolErrorCounter=4000)
    count(tree, LEAF, 4, LinkDownedCounter=9)
    before, after = str(tmp_path / "before"), str(tmp_path / "after")
    try:
        assert tree.ibkit("capture", "-o", before).returncode == 0
        count(tree, LEAF, 4, LinkDownedCounter=1)
        count(tree, LEAF, 7, SymbolErrorCounter=5)
        assert tree.ibkit("capture", "-o", after).returncode == 0
    finally:
        for port in (3, 4, 7):
            count(tree, LEAF, port, SymbolErrorCounter=0, LinkDownedCounter=0)
    status, found, made = check(tree, "--from", after, "--since", before, *COUNTER_RULES, "--rule", "two-samples")
    assert status == 1
    assert sorted(found) == [
        ("bit-errors", f"{LEAF:x}/7 {HCA_BASE + 16 * 6:x}/1"),
        ("cleared-counters", f"{LEAF:x}/4"),
        ("link-downed", f"{LEAF:x}/4 {HCA_BASE + 16 * 3:x}/1"),
    ]
    assert any(one["rule"] == "R21" and "too short" in one["missing"] for one in made["undecided"])


def test_no_manager(tree: Simulation) -> None:
    tree.stop_manager()
    try:
        status, found, _ = check(tree, "--rule", "subnet-managers", "--rule", "fabric")
    finally:
        tree.start_manager()
    assert (status, found) == (1, [("no-subnet-manager", "")])


def test_a_missing_link_and_a_lost_host(tree: Simulation, expectations: str) -> None:
    """One after the other on the console, against what the clean fabric made expect."""
    rules = ("--expect", expectations, "--rule", "R68", "--rule", "R12")
    spine_link = TREE.cables[110]
    tree.console(f'Unlink "{node(spine_link.a[0])}"[{spine_link.a[1]}]')
    try:
        status, found, _ = check(tree, *rules)
        assert (status, found) == (1, [("cabling", cable(110), "missing-ports")])
        tree.console(f'Unlink "{node(LEAF)}"[2]')
        status, found, made = check(tree, *rules)
    finally:
        tree.console(f'ReLink "{node(spine_link.a[0])}"[{spine_link.a[1]}]')
        tree.console(f'ReLink "{node(LEAF)}"[2]')
    assert status == 1
    assert set(found) == {("cabling", f"{HCA_BASE + 16:x}/None"), ("cabling", cable(110), "missing-ports")}
    assert len(found) == 2
    assert "the node is not there" in next(one["what"] for one in made["findings"] if one["places"][0]["port"] is None)


def test_limited_members(tree: Simulation) -> None:
    """All but the manager's port are limited members of the default partition: they reach it, and nobody else."""
    (tree.folder / "partitions.conf").write_text("Default=0x7fff, ipoib : ALL=limited, SELF=full ;\n")
    tree.stop_manager()
    tree.start_manager("-P", str(tree.folder / "partitions.conf"))
    try:
        status, found, made = check(tree, "--rule", "partitions")
    finally:
        tree.stop_manager()
        tree.start_manager()
    assert (status, found) == (1, [("limited-pairs", "")])
    assert made["findings"][0]["what"].startswith(f"{122 * 121 // 2} pairs of ports")


NETLISTS: dict[str, tuple[Tree, list[Found]]] = {
    "degraded width": (TREE.degraded({3: ("1x", "HDR")}), [("single-lane", cable(3))]),
    "degraded speed": (TREE.degraded({50: ("4x", "EDR")}), [("slow-by-configuration", cable(50))]),
    "a slow link between switches": (
        TREE.degraded({120: ("4x", "EDR")}), [("slow-by-configuration", cable(120))]
    ),
    "a name twice": (
        TREE._replace(hcas={**TREE.hcas, LAST: TREE.hcas[FIRST]}),
        [("duplicate-name", f"{FIRST:x}/None {LAST:x}/None")],
    ),
    "default names": (
        TREE._replace(hcas={**TREE.hcas, LAST: "MT4123 ConnectX6   Mellanox Technologies"}),
        [("default-names", f"{LAST:x}/None")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", NETLISTS)
def test_a_fault_of_the_netlist(what: str, tmp_path: Path) -> None:
    net, expected = NETLISTS[what]
    with simulation(net.netlist(), tmp_path, attach_to=node(FIRST), whole_answers=True) as fabric:
        assert check(fabric, *FABRIC_RULES)[:2] == (1, expected)


def test_all_of_it_together(tmp_path: Path) -> None:
    """Width, speed, two names, a host without a cable, and counters at one of the slow links: each once."""
    net = TREE.degraded({3: ("1x", "HDR"), 50: ("4x", "EDR"), 120: ("4x", "EDR")})
    net = net._replace(hcas={**net.hcas, LAST: net.hcas[FIRST]})
    with simulation(net.netlist(), tmp_path, attach_to=node(FIRST), whole_answers=True) as fabric:
        count(fabric, LEAF, 4, SymbolErrorCounter=4711, LinkDownedCounter=30)
        count(fabric, LEAF + 256, 20, PortXmitDiscards=1000)
        status, found, made = check(fabric)
    assert (status, made["complete"]) == (1, True)
    assert sorted(found) == sorted(
        [
            ("link-downed", f"{LEAF:x}/4 {HCA_BASE + 48:x}/1", "single-lane", "symbol-errors"),
            ("slow-by-configuration", cable(50)),
            ("slow-by-configuration", cable(120)),
            ("duplicate-name", f"{FIRST:x}/None {LAST:x}/None"),
            ("discards", f"{LEAF + 256:x}/20 {TREE.cables[108 + 18 + 1].b[0]:x}/{TREE.cables[108 + 18 + 1].b[1]}"),
        ]
    )


def test_two_masters(tmp_path: Path) -> None:
    """The cables between the halves of a fabric are cut, and the standby becomes master of its half. Then the cables
    are back, and each master has its own routes.
    """
    net = two_levels(8, 2)
    other_leaf, other = SWITCH_BASE + 256, HCA_BASE + 16 * 4
    uplinks = [one.a for one in net.cables if one.a[0] == other_leaf]
    with simulation(net.netlist(), tmp_path, attach_to=node(FIRST + 16), manager=False, whole_answers=True) as fabric:
        fabric.start_manager("-p", "3", at=node(FIRST), configuration=PATIENT)
        fabric.start_manager("-p", "1", at=node(other), name="other", up="Entering STANDBY", configuration=PATIENT)
        assert check(fabric, "--rule", "several-masters")[:2] == (0, [])
        for guid, port in uplinks:
            fabric.console(f'Unlink "{node(guid)}"[{port}]')
        fabric.wait_for("other", "SUBNET UP")
        for guid, port in uplinks:
            fabric.console(f'ReLink "{node(guid)}"[{port}]')
        fabric.sweep()
        fabric.wait_for("opensm", "Entering MASTER")
        status, found, made = check(fabric, "--rule", "subnet-managers")
    assert status == 1
    assert [name for name, *_ in found] == ["several-masters"], made
