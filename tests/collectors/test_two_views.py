"""A sweep and the SA of one subnet: what each adds, what a whole sweep decides, and what is a contradiction."""

from __future__ import annotations

import pytest
from support.answers import Answers, said
from support.sa_subnet import MIXED, answers, text_of

from ibkit.cli.fabric import exit_status
from ibkit.collectors.fabric import collect_fabric
from ibkit.model.fabric import End, Fabric
from ibkit.model.ids import Guid
from ibkit.sources.base import CommandAnswer

TOPOLOGY = (MIXED / "topology.txt").read_text()
SWITCH_1, SWITCH_2, HOST_1, HOST_2, HOST_3 = (
    Guid(number)
    for number in (0xB8599F0300000000, 0xB8599F0300000100, 0xC42A10300000000, 0xC42A10300000010, 0xC42A10300000020)
)
#: A host's block, and the row of the switch that names it.
HOST_3_BLOCK = TOPOLOGY[TOPOLOGY.index("caguid=0xc42a10300000020") :].partition("\n\n")[0]
TIMED_OUT = "a.c:1; umad (DR path slid 0; dlid 0; 0,1,7,1 Attr 0x11:0) bad status 110; Connection timed out\n"


def both(topology: str = TOPOLOGY, stderr: str = "", **texts: str) -> Fabric:
    """As ``ibkit fabric --sweep``."""
    given: dict[str, CommandAnswer] = {**answers(**texts), "ibnetdiscover": said(topology, stderr)}
    return collect_fabric(Answers(given), sweep=True)


def without_host_3() -> str:
    text = TOPOLOGY.replace(HOST_3_BLOCK, "").replace(
        "vendid=0x2c9\ndevid=0x101b\nsysimgguid=0xc42a10300000020\n\n", ""
    )
    row = next(line for line in TOPOLOGY.splitlines() if line.startswith('[1]\t"H-0c42a10300000020"'))
    return text.replace(f"{row}\n", "")


def told(fabric: Fabric) -> list[tuple[str, str]]:
    return [(problem.kind, problem.text) for problem in fabric.problems]


def test_two_views_that_agree() -> None:
    fabric = both()
    assert (fabric.complete, fabric.problems, len(fabric.links)) == (True, (), 7)
    assert fabric.nodes[HOST_3].ports[0].mtu_bytes == 2048, "of the SA"
    assert fabric.nodes[SWITCH_1].enhanced_port0 is False, "of the sweep"


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("4xEDR", "4xHDR", "the speed of 0x0c42a10300000010[1] is HDR by the sweep and EDR by the SA"),
        ("1xHDR", "4xHDR", "the width of 0xb8599f0300000000[8] is 4x by the sweep and 1x by the SA"),
        ("lid 10 ", "lid 11 ", "the LID of 0x0c42a10300000020[1] is 11 by the sweep and 10 by the SA"),
        ("Switch\t8 ", "Switch\t12 ", "the number of ports of 0xb8599f0300000000 is 12 by the sweep and 8 by the SA"),
    ],
)
def test_what_differs_is_told_and_the_sweep_is_shown(old: str, new: str, word: str) -> None:
    fabric = both(TOPOLOGY.replace(old, new))
    contradictions = [text for kind, text in told(fabric) if kind == "contradiction"]
    assert word in contradictions
    assert exit_status(fabric) == 1


def test_a_node_that_is_gone() -> None:
    """The SA still has it; the sweep was whole."""
    fabric = both(without_host_3())
    assert (fabric.complete, HOST_3 in fabric.nodes, len(fabric.links)) == (True, False, 6)
    assert told(fabric) == [
        (
            "contradiction",
            "the SA still has 0x0c42a10300000020 (n03 mlx5_0), which the sweep did not find: "
            "gone since the manager last looked",
        )
    ]
    port = fabric.nodes[SWITCH_2].ports[0]
    assert (port.linked, port.peer, port.width, port.state) == (False, None, None, None), (
        "nothing of a link that is gone"
    )


def test_a_node_that_the_sweep_lost() -> None:
    """It did not answer: the SA has it, and the fabric says so, and that the sweep was not whole."""
    fabric = both(without_host_3(), TIMED_OUT)
    assert (fabric.complete, len(fabric.links)) == (False, 7)
    assert fabric.nodes[HOST_3].ports[0].peer == End(SWITCH_2, 1)
    port = fabric.nodes[SWITCH_2].ports[0]
    assert (port.peer, port.linked, port.width, port.doubt) == (End(HOST_3, 1), True, "4x", None)
    assert [kind for kind, _ in told(fabric)] == ["discovery-timeout"]


def test_a_cable_that_was_moved() -> None:
    """The sweep finds it at another port of the switch."""
    moved = TOPOLOGY.replace(
        '[1]\t"H-0c42a10300000020"[1](c42a10300000021)', '[3]\t"H-0c42a10300000020"[1](c42a10300000021)'
    ).replace('[1](c42a10300000021) \t"S-b8599f0300000100"[1]', '[1](c42a10300000021) \t"S-b8599f0300000100"[3]')
    fabric = both(moved)
    assert fabric.nodes[HOST_3].ports[0].peer == End(SWITCH_2, 3)
    assert len(fabric.links) == 7
    (problem,) = [text for kind, text in told(fabric) if kind == "contradiction"]
    assert (
        problem
        == "the SA still has the link 0x0c42a10300000020[1] to 0xb8599f0300000100[1], which the sweep did not find"
    )


def test_an_old_name() -> None:
    fabric = both(TOPOLOGY.replace("n03 mlx5_0", "storage03 mlx5_0"))
    assert fabric.nodes[HOST_3].name == "storage03 mlx5_0"
    ((kind, text),) = told(fabric)
    assert (kind, "'storage03 mlx5_0' by itself and 'n03 mlx5_0' by the SA" in text) == ("other-name", True)
    assert exit_status(fabric) == 0
    both_old = both(TOPOLOGY.replace("n03 mlx5_0", "storage03 mlx5_0").replace("n01 mlx5_0", "login mlx5_0"))
    ((_, text),) = told(both_old)
    assert text.endswith("; and 1 more node with another name")


def test_a_name_that_an_old_tool_cut() -> None:
    name = 64 * "n"
    nodes = text_of("nodes").replace("n03 mlx5_0", name)
    assert both(TOPOLOGY.replace("n03 mlx5_0", name[:63]), NR=nodes).problems == ()


def test_a_node_that_only_the_sweep_sees() -> None:
    """It shares no partition with us, or the manager has not been there yet: nothing speaks against it."""
    nodes = text_of("nodes")
    start = nodes.index("NodeRecord dump:\n\t\tlid.....................10\n")
    nodes = nodes[:start] + nodes[nodes.index("NodeRecord dump:", start + 1) :]
    records = text_of("ports").split("PortInfoRecord dump:\n")
    records = [record for record in records if "EndPortLid..............10\n" not in record]
    links = answers()["saquery LR"].out.split("LinkRecord dump:\n")
    links = [record for record in links if "LID......................10\n" not in record]
    links = [record for record in links if "LID....................10\n" not in record]
    fabric = both(NR=nodes, PIR="PortInfoRecord dump:\n".join(records), LR="LinkRecord dump:\n".join(links))
    assert (fabric.complete, fabric.problems, len(fabric.nodes), len(fabric.links)) == (True, (), 6, 7)
    assert fabric.nodes[HOST_3].ports[0].mtu_bytes is None
    assert fabric.nodes[HOST_1].ports[0].mtu_bytes == 2048


def test_a_link_table_has_no_guids_of_nodes() -> None:
    """iblinkinfo names hosts by their ports: where the SA is whole, it is shown alone."""
    table = (
        "CA: n01 mlx5_0:\n      0xc42a10300000001      2    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       4"
        '    1[  ] "MF0;swib-a01:MQM8700/U1" ( )\n'
    )
    given: dict[str, CommandAnswer] = {**answers(), "iblinkinfo": said(table)}
    assert len(collect_fabric(Answers(given), sweep=True).nodes) == 6
    given["saquery LR"] = said(text_of("links"))
    assert len(collect_fabric(Answers(given), sweep=True).nodes) == 1
