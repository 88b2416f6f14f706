"""ibkit and the infiniband-diags on the same simulated fabrics see the same: nodes, links, LIDs, ports, manager."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fattree import Tree, two_levels
from support.ibsim import Simulation, simulation

pytestmark = pytest.mark.live

FIXTURES = Path(__file__).parents[2] / "fixtures/tools/ibnetdiscover"
FIRST_HCA, LEAF_6 = 0x0C42A10300000000, 0xB8599F0300000500
LAST_HCA = FIRST_HCA + 16 * 107
#: 108 HCAs (18 on each of 6 leaves), 9 spines, 216 cables: two of the HCAs' and one between switches are slow, two
#: between switches are missing.
TREE = two_levels(36, 6).degraded({3: ("1x", "HDR"), 50: ("4x", "EDR"), 120: ("4x", "QDR")}).without([110, 215])
#: ibsim's example, or where a distribution leaves out the documentation, what ibnetdiscover shows of it.
SMALL = next(iter(glob.glob("/usr/share/doc/ibsim*/net-examples/net")), str(FIXTURES / "topology.txt"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    folder = tmp_path_factory.mktemp("tree")
    with simulation(TREE.netlist(), folder, attach_to=f"H-{FIRST_HCA:016x}") as fabric:
        yield fabric


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulation]:
    netlist = Path(SMALL).read_text()
    attach_to = "H-0000000000100000" if "H-0000000000100000" in netlist else "Hca1"
    with simulation(netlist, tmp_path_factory.mktemp("small"), attach_to=attach_to) as fabric:
        yield fabric


def document(fabric: Simulation, *words: str, status: int = 0) -> dict[str, Any]:
    """The JSON of a command that printed nothing on stderr, if it was content."""
    done = fabric.ibkit(*words, "--json")
    assert done.returncode == status, done.stderr
    if status == 0:
        assert done.stderr == ""
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def tool(fabric: Simulation, *argv: str) -> str:
    done = fabric.run(*argv)
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_the_tool_says(text: str) -> tuple[dict[str, tuple[str, int, set[int]]], set[tuple[Any, ...]]]:
    """Nodes (type, ports, LIDs) and links of an ibnetdiscover text, by simple means: no name has a quote here."""
    types = {"Switch": "switch", "Ca": "channel_adapter"}
    nodes: dict[str, tuple[str, int, set[int]]] = {}
    links = set()
    guid = ""
    for line in text.splitlines():
        words = line.split()
        if words and words[0] in types:
            guid = f"0x{words[2][3:19]}"
            lid = {int(words[words.index("lid") + 1])} if words[0] == "Switch" else set()
            nodes[guid] = types[words[0]], int(words[1]), lid
        elif line.startswith("["):
            port = int(line[1 : line.index("]")])
            peer, peer_port = re.findall(r'"[SH]-(.{16})"\[(\d+)\]', line)[0]
            if "lmc" in words:
                nodes[guid][2].add(int(words[words.index("lmc") - 1]))
            width, speed = words[-1][: words[-1].index("x") + 1], words[-1][words[-1].index("x") + 1 :]
            links.add((*sorted([(guid, port), (f"0x{peer}", int(peer_port))]), width, speed))
    return nodes, links


def links_of(made: dict[str, Any]) -> set[tuple[Any, ...]]:
    return {
        ((link["a"]["guid"], link["a"]["port"]), (link["b"]["guid"], link["b"]["port"]), link["width"], link["speed"])
        for link in made["links"]
    }


@pytest.mark.parametrize("name", ["small", "tree"])
def test_the_same_as_ibnetdiscover(name: str, request: pytest.FixtureRequest) -> None:
    fabric: Simulation = request.getfixturevalue(name)
    nodes, links = as_the_tool_says(tool(fabric, "ibnetdiscover"))
    made = document(fabric, "fabric", "ports")
    assert {node["guid"]: (node["type"], node["ports"]) for node in made["nodes"]} == {
        guid: (kind, ports) for guid, (kind, ports, _) in nodes.items()
    }
    seen_lids = {node["guid"]: {node["lid"]} for node in made["nodes"] if node["type"] == "switch"}
    for port in made["ports"]:
        if port["lid"] is not None:
            seen_lids.setdefault(port["guid"], set()).add(port["lid"])
    assert seen_lids == {guid: lids for guid, (_, _, lids) in nodes.items()}
    assert links_of(made) == links
    assert (made["complete"], made["problems"]) == (True, [])
    switches = sum(kind == "switch" for kind, _, _ in nodes.values())
    assert made["summary"] == {
        "switches": switches, "channel_adapters": len(nodes) - switches, "routers": 0, "aggregation_nodes": 0,
        "links": len(links),
    }  # fmt: skip


def test_the_fat_tree_as_it_was_built(tree: Simulation) -> None:
    made = document(tree, "fabric")
    assert made["summary"] == {
        "switches": 15, "channel_adapters": 108, "routers": 0, "aggregation_nodes": 0, "links": 214,
    }  # fmt: skip
    assert {int(node["guid"], 16): node["name"] for node in made["nodes"]} == {**TREE.hcas, **TREE.switches}
    assert links_of(made) == spelled(TREE)
    assert len({node["lid"] for node in made["nodes"]}) == 123, "a LID each"


def spelled(tree: Tree) -> set[tuple[Any, ...]]:
    return {((f"0x{a[0]:016x}", a[1]), (f"0x{b[0]:016x}", b[1]), width, speed) for a, b, width, speed in tree.links()}


def test_tables_and_csv_show_the_same(tree: Simulation) -> None:
    summary = tree.ibkit("fabric")
    assert (summary.returncode, summary.stderr) == (0, "")
    assert dict(line.rsplit(None, 1) for line in summary.stdout.splitlines()[1:])["links"] == "214"
    rows = tree.ibkit("fabric", "links", "--csv").stdout.splitlines()
    slow = [row for row in rows[1:] if not row.endswith("4x,HDR")]
    assert (len(rows), len(slow)) == (215, 3)


@pytest.mark.parametrize("name", ["small", "tree"])
def test_the_same_manager_as_sminfo(name: str, request: pytest.FixtureRequest) -> None:
    fabric: Simulation = request.getfixturevalue(name)
    words = tool(fabric, "sminfo").split()
    (manager,) = document(fabric, "sm")["managers"]
    assert manager["guid"] == f"0x{words[6][2:-1].zfill(16)}"
    assert (manager["lid"], manager["state"], manager["priority"]) == (int(words[3]), "master", 0)
    assert manager["activity"] > int(words[9]), "a living manager counts each question"


@pytest.mark.parametrize("name", ["small", "tree"])
def test_the_same_port_as_ibstat(name: str, request: pytest.FixtureRequest) -> None:
    fabric: Simulation = request.getfixturevalue(name)
    told = dict(re.findall(r"^\s*(.+?): (.*)$", tool(fabric, "ibstat"), re.MULTILINE))
    (device,) = document(fabric, "status")["devices"]
    port = device["ports"][0]
    assert (device["name"], device["node_guid"]) == ("ibsim0", told["Node GUID"])
    assert (port["state"], port["physical_state"]) == (told["State"], told["Physical state"]) == ("Active", "LinkUp")
    assert (port["lid"], port["sm_lid"]) == (int(told["Base lid"]), int(told["SM lid"]))


def test_a_capture_replays_the_same_bytes(tree: Simulation, tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    done = tree.ibkit("capture", "-o", str(capture))
    assert done.returncode == 0, done.stderr
    live = document(tree, "fabric")
    for words in (("fabric",), ("fabric", "ports"), ("sm",), ("status",)):
        first, second = (tree.ibkit("--from", str(capture), *words, "--json") for _ in range(2))
        assert (first.returncode, first.stdout) == (0, second.stdout)
        assert first.stdout
    replayed = json.loads(tree.ibkit("--from", str(capture), "fabric", "--json").stdout)
    assert replayed == live


def test_no_manager_and_one_that_is_gone(tmp_path: Path) -> None:
    with simulation(TREE.netlist(), tmp_path, attach_to=f"H-{FIRST_HCA:016x}", manager=False) as fabric:
        made = document(fabric, "sm", status=1)
        assert (made["managers"], [problem["kind"] for problem in made["problems"]]) == ([], ["no-sm"])
        assert "has set up this port" in made["problems"][0]["text"]
        made = document(fabric, "fabric", status=1)
        assert (made["complete"], [problem["kind"] for problem in made["problems"]]) == (True, ["no-lid"])
        assert links_of(made) == spelled(TREE)
        assert {node["lid"] for node in made["nodes"]} == {None}
        fabric.start_manager()
        (manager,) = document(fabric, "sm")["managers"]
        fabric.stop_manager()
        made = document(fabric, "sm", status=1)
        assert [problem["kind"] for problem in made["problems"]] == ["no-sm"]
        assert f"at LID {manager['lid']}" in made["problems"][0]["text"]
        assert [node["lid"] for node in document(fabric, "fabric")["nodes"]].count(None) == 0, "LIDs stay"


def test_a_sweep_that_loses_packets_says_what_is_missing(tmp_path: Path) -> None:
    with simulation(TREE.netlist(), tmp_path, attach_to=f"H-{FIRST_HCA:016x}") as fabric:
        fabric.console(f'Error "H-{LAST_HCA:016x}"[1] 100')
        made = document(fabric, "fabric", status=3)
        assert made["complete"] is False
        assert made["summary"]["channel_adapters"] == 107
        (problem,) = made["problems"]
        assert problem["kind"] == "discovery-timeout"
        assert problem["text"].startswith(f"the node behind port 18 of 0x{LEAF_6:016x} (MF0;swib-l006:MQM8700/U1)")
        fabric.console(f'Error "H-{LAST_HCA:016x}"[1] 0')
        assert document(fabric, "fabric")["complete"] is True


def test_a_cable_that_is_pulled_is_gone(tmp_path: Path) -> None:
    with simulation(TREE.netlist(), tmp_path, attach_to=f"H-{FIRST_HCA:016x}") as fabric:
        fabric.console(f'Unlink "H-{LAST_HCA:016x}"[1]')
        made = document(fabric, "fabric")
        assert (made["summary"]["channel_adapters"], made["summary"]["links"]) == (107, 213)
        assert made["complete"] is True, "nobody is behind a port that is down"


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with simulation(TREE.netlist(), tmp_path, attach_to=f"H-{FIRST_HCA:016x}") as fabric:
        name = fabric.environment["IBSIM_SOCKNAME"]
        assert fabric.ibkit("fabric").returncode == 0
        assert name in Path("/proc/net/unix").read_text()
    assert name not in Path("/proc/net/unix").read_text()
    assert not list(tmp_path.glob("sys-*"))
