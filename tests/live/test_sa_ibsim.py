"""What the SA tells on simulated fabrics, whose answers are whole here: against the tools, and what was injected."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fattree import HCA_BASE, SWITCH_BASE, two_levels
from support.ibsim import Simulation, simulation

pytestmark = [pytest.mark.live, pytest.mark.needs("gcc", "libc")]

FIRST, SECOND, LAST = HCA_BASE, HCA_BASE + 16, HCA_BASE + 16 * 17
#: 18 HCAs on one leaf, 9 spines, two slow cables and a missing one; none at QDR, so that no sweep is needed.
TREE = two_levels(36, 1).degraded({3: ("1x", "HDR"), 7: ("4x", "EDR")}).without([25])
NETS = sorted(glob.glob("/usr/share/doc/ibsim*/net-examples/net*"))
#: OpenSM looks for a dead master each half second, and twice.
IMPATIENT = "sminfo_polling_timeout 500\npolling_retry_number 2\n"
PARTITIONS = f"""Default=0x7fff, ipoib : ALL=limited, SELF=full ;
storage=0x8001 : 0x{FIRST + 1:016x}=full, 0x{SECOND + 1:016x}=full ;
"""


def node(guid: int) -> str:
    return f"H-{guid:016x}"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    folder = tmp_path_factory.mktemp("tree")
    with simulation(TREE.netlist(), folder, attach_to=node(FIRST), whole_answers=True) as fabric:
        yield fabric


def document(fabric: Simulation, *words: str, status: int | None = 0) -> dict[str, Any]:
    done = fabric.ibkit(*words, "--json")
    assert status in (None, done.returncode), done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def links_of(made: dict[str, Any]) -> set[tuple[Any, ...]]:
    return {
        ((int(link["a"]["guid"], 16), link["a"]["port"]), (int(link["b"]["guid"], 16), link["b"]["port"]),
         link["width"], link["speed"])
        for link in made["links"]
    }  # fmt: skip


def kinds(made: dict[str, Any]) -> list[str]:
    return [problem["kind"] for problem in made["problems"]]


def test_the_sa_alone_tells_what_was_built(tree: Simulation) -> None:
    made = document(tree, "fabric", "ports")
    assert (made["complete"], made["problems"]) == (True, [])
    assert links_of(made) == TREE.links()
    assert {int(one["guid"], 16): one["name"] for one in made["nodes"]} == {**TREE.hcas, **TREE.switches}
    up = {(int(guid), port) for link in TREE.links() for guid, port in link[:2]}
    for port in made["ports"]:
        where = int(port["guid"], 16), port["port"]
        assert (port["state"] == "Active", port["linked"]) == (where in up, where in up)
        assert (port["mtu_bytes"], port["subnet_prefix"]) == (
            (2048, "fe80:0000:0000:0000") if where in up else (None, None)
        )


def test_a_sweep_agrees_with_the_sa(tree: Simulation) -> None:
    swept = document(tree, "fabric", "ports", "--sweep")
    told = document(tree, "fabric", "ports")
    assert swept["problems"] == []
    assert swept["links"] == told["links"]
    assert swept["ports"] == told["ports"]


def test_the_same_ports_as_smpquery(tree: Simulation) -> None:
    """Of a host, of a switch's port, and of port 0."""
    made = document(tree, "fabric", "ports")
    leaf = next(one for one in made["nodes"] if int(one["guid"], 16) == SWITCH_BASE)
    host = next(one for one in made["ports"] if int(one["guid"], 16) == SECOND)
    slow = next(one for one in made["ports"] if int(one["guid"], 16) == SWITCH_BASE and one["port"] == 4)
    for lid, port, told in ((host["lid"], 1, host), (leaf["lid"], 4, slow), (leaf["lid"], 0, leaf["port0"])):
        done = tree.run("smpquery", "portinfo", str(lid), str(port))
        fields = dict(re.findall(r"^(\w+):\.+(.*)$", done.stdout, re.MULTILINE))
        assert (told["state"], told["physical_state"]) == (fields["LinkState"], fields["PhysLinkState"])
        assert told["mtu_bytes"] == int(fields["NeighborMTU"])
        assert told["max_mtu_bytes"] == int(fields["MtuCap"])
        assert told["enabled_width"] == fields["LinkWidthEnabled"].lower()
        assert told["supported_width"] == fields["LinkWidthSupported"].lower()
        assert (told["sm_lid"] or 0) == int(fields["SMLid"])
    assert slow["enabled_width"] == "1x"


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("path", NETS, ids=[Path(path).name for path in NETS])
def test_small_nets(path: str, whole: bool, tmp_path: Path) -> None:
    """With whole answers of the SA and with those that the simulator cuts, ibkit says what ibnetdiscover says."""
    netlist = Path(path).read_text()
    first = re.findall(r'^(?:Hca|Ca)\s+\d+\s+"(.+?)"', netlist, re.MULTILINE)[0]
    with simulation(netlist, tmp_path, attach_to=first, whole_answers=whole) as fabric:
        rows = fabric.run("ibnetdiscover").stdout
        pairs = re.findall(r'^\[(\d+)\].*?"[SHR]-(.{16})"\[(\d+)\]', rows, re.MULTILINE)
        made = document(fabric, "fabric")
        assert (made["complete"], [kind for kind in kinds(made) if kind != "qdr-or-fdr10"]) == (True, [])
        assert len(made["links"]) == len(pairs) / 2
        assert len(made["nodes"]) == len(re.findall(r"^(?:Switch|Ca)\t", rows, re.MULTILINE))
        (manager,) = document(fabric, "sm")["managers"]
        assert (manager["state"], manager["activity_moving"]) == ("master", True)


def test_partitions_that_hide_links(tmp_path: Path) -> None:
    """OpenSM tells no link between two limited members, to nobody; a limited member is told less still."""
    (tmp_path / "partitions.conf").write_text(PARTITIONS)
    with simulation(TREE.netlist(), tmp_path, attach_to=node(FIRST), manager=False, whole_answers=True) as fabric:
        fabric.start_manager("-P", str(tmp_path / "partitions.conf"))
        for host in (FIRST, LAST):
            fabric.environment["SIM_HOST"] = node(host)
            told = fabric.run("saquery", "LR").stdout.count("LinkRecord dump:")
            assert told < 2 * len(TREE.links())
            made = document(fabric, "fabric")
            assert (links_of(made), made["complete"], made["problems"]) == (TREE.links(), True, [])


def test_two_lids_for_each_port(tmp_path: Path) -> None:
    with simulation(TREE.netlist(), tmp_path, attach_to=node(FIRST), manager=False, whole_answers=True) as fabric:
        fabric.start_manager("-l", "1")
        made = document(fabric, "fabric", "ports")
        assert (links_of(made), made["complete"], made["problems"]) == (TREE.links(), True, [])
        hosts = [port for port in made["ports"] if int(port["guid"], 16) in TREE.hcas]
        assert {port["lmc"] for port in hosts} == {1}
        assert len({lid for port in hosts for lid in (port["lid"], port["lid"] + 1)}) == 2 * len(TREE.hcas)


def test_an_sa_that_answers_nothing(tmp_path: Path) -> None:
    """Packets to the port of the manager are dropped: a sweep from elsewhere does not need it."""
    with simulation(TREE.netlist(), tmp_path, attach_to=node(FIRST), whole_answers=True) as fabric:
        fabric.environment["SIM_HOST"] = node(SECOND)
        fabric.console(f'Error "{node(FIRST)}"[1] 100')
        made = document(fabric, "fabric", status=3)
        assert kinds(made) == ["discovery-timeout"], "the manager's host, and nobody else"
        assert made["summary"]["channel_adapters"] == len(TREE.hcas) - 1
        assert kinds(document(fabric, "sm", status=1)) == ["no-sm"]


def test_an_unlinked_switch(tmp_path: Path) -> None:
    spine = SWITCH_BASE + 256
    with simulation(TREE.netlist(), tmp_path, attach_to=node(FIRST), whole_answers=True) as fabric:
        for port in (1, 2):
            fabric.console(f'Unlink "S-{spine:016x}"[{port}]')
        left = {link for link in TREE.links() if spine not in (link[0][0], link[1][0])}
        made = document(fabric, "fabric", "--sweep", status=None)  # the manager may not have seen it yet
        assert links_of(made) == left
        assert made["summary"]["switches"] == len(TREE.switches) - 1
        assert set(kinds(made)) <= {"contradiction"}


def test_two_managers_and_a_hand_over(tmp_path: Path) -> None:
    with simulation(TREE.netlist(), tmp_path, attach_to=node(SECOND), manager=False, whole_answers=True) as fabric:
        fabric.start_manager("-p", "3", at=node(FIRST), configuration=IMPATIENT)
        fabric.start_manager("-p", "1", at=node(LAST), name="other", up="Entering STANDBY", configuration=IMPATIENT)
        made = document(fabric, "sm")
        assert [(one["state"], one["priority"], one["activity_moving"], one["name"]) for one in made["managers"]] == [
            ("master", 3, True, TREE.hcas[FIRST]), ("standby", 1, True, TREE.hcas[LAST]),
        ]  # fmt: skip
        assert made["named"] == [{"lid": made["managers"][0]["lid"], "ports": len(TREE.hcas) + len(TREE.switches)}]
        assert (made["complete"], made["problems"]) == (True, [])
        fabric.stop_manager()
        fabric.wait_for("other", "SUBNET UP")
        made = document(fabric, "sm")
        assert [(one["state"], one["name"]) for one in made["managers"]] == [("master", TREE.hcas[LAST])]
        assert made["named"] == [{"lid": made["managers"][0]["lid"], "ports": len(TREE.hcas) + len(TREE.switches)}]


def test_two_subnets_with_a_router(tmp_path: Path) -> None:
    """Each is seen alone, with its own prefix; the router is in both, and hosts of the other one are not missing."""
    seen = []
    for number, prefix in enumerate((0xFEC0000000000001, 0xFEC0000000000002), 1):
        netlist = _half(number)
        folder = tmp_path / str(number)
        folder.mkdir()
        with simulation(netlist, folder, attach_to=f"host{number}", manager=False, whole_answers=True) as fabric:
            fabric.start_manager(configuration=f"subnet_prefix 0x{prefix:016x}\n")
            seen.append(document(fabric, "fabric", "ports"))
    for number, made in enumerate(seen, 1):
        assert made["complete"] is True
        assert made["summary"] | {"links": None} == {
            "switches": 1, "channel_adapters": 1, "routers": 1, "aggregation_nodes": 0, "links": None,
        }  # fmt: skip
        assert {port["subnet_prefix"] for port in made["ports"] if port["linked"]} == {f"fec0:0000:0000:000{number}"}
    routers = [next(one for one in made["nodes"] if one["type"] == "router") for made in seen]
    assert routers[0]["guid"] != routers[1]["guid"], "a port of its own in each subnet"
    assert routers[0]["system_image_guid"] == routers[1]["system_image_guid"], "of one box"


def _half(number: int) -> str:
    """A switch, a host and a router's port."""
    return f"""vendid=0x2c9
devid=0xd2f0
switchguid=0xa{number}00000000001000
Switch 4 "sw{number}" # "sw{number}"
[1] "host{number}"[1]
[2] "rt{number}"[1]

devid=0x101b
caguid=0xa{number}00000000000010
Ca 1 "host{number}" # "host{number} mlx5_0"
[1] "sw{number}"[1]

sysimgguid=0xa000000000000f00
rtguid=0xa{number}00000000000f00
Rt 1 "rt{number}" # "rt01/U{number}/RT"
[1] "sw{number}"[2]
"""


@pytest.mark.slow
def test_a_thousand_hosts(tmp_path: Path) -> None:
    """1,024 HCAs, 48 switches, 4,144 ports: what the SA says is what was built; so does a sweep."""
    large = two_levels(64, 32).degraded({3: ("1x", "HDR"), 700: ("4x", "EDR"), 1500: ("1x", "HDR")}).without([1100])
    with simulation(large.netlist(), tmp_path, attach_to=node(FIRST), whole_answers=True) as fabric:
        for words in (("fabric",), ("fabric", "--sweep")):
            made = document(fabric, *words)
            assert (links_of(made), made["complete"], made["problems"]) == (large.links(), True, [])
        assert document(fabric, "sm")["named"] == [{"lid": 1, "ports": 1024 + 48}]
