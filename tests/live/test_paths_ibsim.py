"""`ibkit path` and `ibkit partitions` on simulated fabrics: the ways of ibtracert, the P_Keys of smpquery."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fattree import HCA_BASE, SWITCH_BASE, two_levels
from support.ibsim import Simulation, simulation

pytestmark = [pytest.mark.live, pytest.mark.needs("gcc", "libc")]  # a library gives the SA's whole answers

#: 8 HCAs, 4 on each of 2 leaves, and 2 spines; OpenSM runs on the first. 2 is a full member of `storage`, 3 and 4 are
#: limited ones. 108 HCAs on 6 leaves, and 9 spines; two cables between switches are missing.
SMALL = two_levels(8, 2)
TREE = two_levels(36, 6).without([110, 215])
FIRST = f"H-{HCA_BASE:016x}"
STORAGE = f"""\
Default=0x7fff, ipoib : ALL=limited, SELF=full ;
storage=0x8001 : {HCA_BASE + 16 + 1:#x}=full, {HCA_BASE + 32 + 1:#x}=limited, {HCA_BASE + 48 + 1:#x}=limited ;
"""
#: A router's port in each of two subnets, as one box has them.
SUBNET = """\
vendid=0x2c9
devid=0xd2f0
switchguid=0xa1000000001000
Switch 8 "swA1" # "swA1"
[1] "hostA1"[1]
[2] "hostA2"[1]
[4] "rtr"[1]

devid=0x101b
caguid=0xa1000000000010
Ca 1 "hostA1" # "hostA1 mlx5_0"
[1] "swA1"[1]

caguid=0xa1000000000020
Ca 1 "hostA2" # "hostA2 mlx5_0"
[1] "swA1"[2]

devid=0xcb20
rtguid=0xa1000000000f00
Rt 1 "rtr" # "ibrouter swid A"
[1] "swA1"[4]
"""


@pytest.fixture(scope="module", params=[False, True], ids=["cut answers", "whole answers"])
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    """With the SA's answers as ibsim cuts them, and as a real subnet has them."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "partitions.conf").write_text(STORAGE)
    with simulation(SMALL.netlist(), folder, attach_to=FIRST, manager=False, whole_answers=request.param) as fabric:
        fabric.start_manager("-P", str(folder / "partitions.conf"))
        yield fabric


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    with simulation(TREE.netlist(), tmp_path_factory.mktemp("tree"), attach_to=FIRST) as fabric:
        yield fabric


def document(fabric: Simulation, *words: str, status: int = 0) -> dict[str, Any]:
    done = fabric.ibkit(*words, "--json")
    assert done.returncode == status, done.stdout + done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def traced(fabric: Simulation, a: int, b: int) -> list[tuple[int, int, int]]:
    """Exit port, GUID (of a channel adapter its port's) and entry port of each step of ibtracert."""
    done = fabric.run("ibtracert", str(a), str(b))
    assert done.returncode == 0, done.stderr
    return [(int(out), int(guid, 16), int(entry)) for out, guid, entry in _STEP.findall(done.stdout)]


_STEP = re.compile(r"^\[(\d+)\] -> \S+ port \{0x([0-9a-f]+)\}\[(\d+)\]", re.MULTILINE)


def followed(hops: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """The same of our hops; a simulated port's GUID is the node's and the port's number, a switch's the node's."""
    steps = []
    for hop in hops:
        number = 0 if hop["peer_type"] == "switch" else hop["peer_port"]
        steps.append((hop["port"], int(hop["peer_guid"], 16) + number, hop["peer_port"]))
    return steps


def lid_of(fabric: Simulation, guid: int) -> int:
    done = fabric.run("smpquery", "-G", "portinfo", f"{guid:#x}")
    found = re.search(r"^Lid:\.+(\d+)$", done.stdout, re.MULTILINE)
    assert found, done.stderr
    return int(found[1])


def test_the_same_ways_as_ibtracert_on_the_tree(tree: Simulation) -> None:
    """Below one leaf, between leaves, to and from leaves and spines, each in both directions."""
    for a, b in ((1, 99), (2, 120), (123, 17), (9, 14)):
        made = document(tree, "path", str(a), str(b))
        assert (made["can_talk"], {check["answer"] for check in made["checks"]}) == (True, {"yes"}), (a, b)
        assert (made["a"]["lid"], made["b"]["lid"]) == (a, b)
        assert followed(made["hops"]) == traced(tree, a, b), (a, b)
        assert followed(made["back"]) == traced(tree, b, a), (b, a)


def test_the_cables_are_those_that_were_built(tree: Simulation) -> None:
    cables = {frozenset((cable.a, cable.b)) for cable in TREE.cables}
    made = document(tree, "path", "c001", "c108")
    for hop in (*made["hops"], *made["back"]):
        ends = frozenset(((int(hop["guid"], 16), hop["port"]), (int(hop["peer_guid"], 16), hop["peer_port"])))
        assert ends in cables
        assert (hop["width"], hop["speed"], hop["state"], hop["peer_state"]) == ("4x", "HDR", "Active", "Active")


def test_a_capture_knows_the_way_between_any_two(small: Simulation, tmp_path: Path) -> None:
    capture = str(tmp_path / "capture")
    done = small.ibkit("capture", "-o", capture)
    assert done.returncode == 0, done.stderr
    for a, b, status in (("c002", "c007", 1), ("swib-s002", "c001", 0)):
        replayed = document(small, "--from", capture, "path", a, b, status=status)
        assert followed(replayed["hops"]) == traced(small, replayed["a"]["lid"], replayed["b"]["lid"])
        live = document(small, "path", a, b, status=status)
        keys, live_keys = replayed["checks"].pop(4), live["checks"].pop(4)
        assert replayed == live, "and says the same of it"
        # Of a P_Key table a port itself is asked live, and the SA's bulk answer is what a capture has.
        assert {**keys, "evidence": []} == {**live_keys, "evidence": []}
    assert document(small, "--from", capture, "partitions") == document(small, "partitions")


def test_partitions_as_smpquery_prints_them(small: Simulation) -> None:
    made = document(small, "partitions")
    assert (made["complete"], len(made["ports"])) == (True, 12)
    for port in made["ports"]:
        done = small.run("smpquery", "pkeys", str(port["lid"]), str(port["port"]))
        keys = [int(key, 16) for row in re.findall(r"^ *\d+:(.*)$", done.stdout, re.MULTILINE) for key in row.split()]
        assert {(key["index"], int(key["pkey"], 16)) for key in port["pkeys"]} == {
            (index, key) for index, key in enumerate(keys) if key & 0x7FFF
        }
    full = {one["partition"]: {int(member["guid"], 16) for member in one["full"]} for one in made["partitions"]}
    limited = {one["partition"]: {int(member["guid"], 16) for member in one["limited"]} for one in made["partitions"]}
    assert full == {"0x0001": {HCA_BASE + 16}, "0x7fff": {HCA_BASE}}
    assert limited["0x0001"] == {HCA_BASE + 32, HCA_BASE + 48}
    assert limited["0x7fff"] == {*SMALL.hcas, *SMALL.switches} - {HCA_BASE}


def test_tables_are_as_the_file_intends(small: Simulation) -> None:
    made = document(small, "partitions", "--intended", str(small.folder / "partitions.conf"))
    assert [problem["kind"] for problem in made["problems"] if problem["kind"] == "not-as-intended"] == []
    other = small.folder / "other.conf"
    other.write_text(STORAGE.replace("limited ;", "full ;"))
    made = document(small, "partitions", "--intended", str(other), status=1)
    (wrong,) = [problem for problem in made["problems"] if problem["kind"] == "not-as-intended"]
    assert "1 ports should be full members and are limited members, the first is c004 mlx5_0 port 1" in wrong["text"]


@pytest.mark.parametrize(
    ("a", "b", "can"),
    [("c001", "c005", True), ("c002", "c003", True), ("c003", "c004", False), ("c002", "c005", False)],
)
def test_who_can_talk_to_whom(small: Simulation, a: str, b: str, can: bool) -> None:
    """c001 is the manager's and a full member of the default partition; of storage c002 alone is one."""
    made = document(small, "path", a, b, status=0 if can else 1)
    answers = {check["id"]: check["answer"] for check in made["checks"]}
    assert (made["can_talk"], answers.pop("pkey"), set(answers.values())) == (can, "yes" if can else "no", {"yes"})
    assert followed(made["hops"]) == traced(small, made["a"]["lid"], made["b"]["lid"])


def test_a_host_that_is_gone(tmp_path: Path) -> None:
    last = HCA_BASE + 16 * 7
    with simulation(SMALL.netlist(), tmp_path, attach_to=FIRST) as fabric:
        lid = lid_of(fabric, last + 1)
        assert document(fabric, "path", "c001", "c008")["can_talk"] is True
        fabric.console(f'Unlink "H-{last:016x}"[1]')
        deadline = time.monotonic() + 30
        while "SUBNET UP" not in (tmp_path / "opensm/opensm.log").read_text().split("trap 128")[-1]:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        made = document(fabric, "path", "c001", str(lid), status=1)
        answers = {check["id"]: check["answer"] for check in made["checks"]}
        assert (made["can_talk"], answers["lid"], answers["route"]) == (False, "no", "no")
        assert made["route"]["result"] in ("unreachable", "port-down")
        done = fabric.ibkit("path", "c001", "c008")
        assert (done.returncode, "no node of this fabric is called 'c008'" in done.stderr) == (2, True)


def test_four_lids_a_port(tmp_path: Path) -> None:
    """LMC 2: the ways to the LIDs of one port differ, and each is that of ibtracert."""
    with simulation(SMALL.netlist(), tmp_path, attach_to=FIRST, manager=False) as fabric:
        fabric.start_manager("-l", "2")
        made = document(fabric, "path", "c001", "c008")
        first = made["b"]["lid"]
        assert (made["b"]["lmc"], made["lid"], made["can_talk"]) == (2, first, True)
        ways = []
        for lid in (first, first + 1, first + 3):
            made = document(fabric, "path", "c001", "c008", "--lid", str(lid))
            ways.append(followed(made["hops"]))
            assert ways[-1] == traced(fabric, made["a"]["lid"], lid)
        assert document(fabric, "path", "c001", str(first + 3))["b"]["lid"] == first, "any of its LIDs names the port"
        assert len({tuple(way) for way in ways}) > 1


def test_a_switch_that_answers_no_tables(tmp_path: Path) -> None:
    """Packets for its forwarding table (attribute 0x19) are dropped. The SA has the manager's copy, while it runs."""
    with simulation(SMALL.netlist(), tmp_path, attach_to=FIRST) as fabric:
        fabric.console(f'Error "S-{SWITCH_BASE:016x}" 100 25')
        made = document(fabric, "path", "c001", "c008")
        route = next(check for check in made["checks"] if check["id"] == "route")
        assert (route["answer"], route["evidence"][0]["source"]) == ("yes", "saquery LFTR 2")
        fabric.stop_manager()
        made = document(fabric, "path", "c001", "c008", status=3)
        route = next(check for check in made["checks"] if check["id"] == "route")
        assert (route["answer"], made["route"]["result"], made["can_talk"]) == ("unknown", "no-table", None)
        assert "`ibroute 2`" in route["text"]
        assert made["route"]["at"] == {"guid": f"{SWITCH_BASE:#018x}", "port": 1}


def test_another_subnet_is_behind_the_router(tmp_path: Path) -> None:
    prefix = "0xfec0000000000001"
    with simulation(SUBNET, tmp_path, attach_to="hostA1", manager=False) as fabric:
        fabric.start_manager("--subnet_prefix", prefix)
        made = document(fabric, "path", "hostA1", "fec0::2:b2:0:0:11", status=3)
        answers = {check["id"]: check["answer"] for check in made["checks"]}
        assert (answers["prefix"], answers["route"], made["can_talk"]) == ("unknown", "unknown", None)
        assert (made["router"]["name"], made["router"]["type"]) == ("ibrouter swid A", "router")
        assert [(hop["peer_name"], hop["peer_port"]) for hop in made["hops"]] == [("swA1", 1), ("ibrouter swid A", 1)]
        assert followed(made["hops"]) == traced(fabric, made["a"]["lid"], made["router"]["lid"])
        made = document(fabric, "path", "hostA1", "fec0::1:a1:0:0:21")
        assert (made["b"]["name"], made["b"]["subnet_prefix"], made["can_talk"]) == (
            "hostA2 mlx5_0", "fec0:0000:0000:0001", True,
        )  # fmt: skip
