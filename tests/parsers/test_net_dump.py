"""ibdiagnet2.net_dump: switches and ports, other columns, cut and hostile text. Truth: the fixture's README."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.net_dump import DumpedPort, parse

SMALL = (Path(__file__).parents[2] / "fixtures/tools/ibdiagnet2.net_dump/small.txt").read_text()


def test_switches_and_ports() -> None:
    parsed = parse(SMALL)
    assert (parsed.complete, parsed.problems) == (None, ())
    leaf, spine = parsed.value
    assert (leaf.name, leaf.vendor, leaf.guid, leaf.lid) == ("MF0;leaf1:MQM8700/U1", "Mellanox", 0xB000000000001000, 2)
    assert [(port.number, port.state, port.width, port.speed) for port in leaf.ports] == [
        (1, "Active", "4x", "HDR"), (2, "Active", "1x", "EDR"), (3, "Down", None, None), (4, "Down", None, None),
        (5, "Initialize", "4x", "HDR"),
    ]  # fmt: skip
    assert [port.physical_state for port in leaf.ports[2:4]] == ["POLLING", "DISABLED"]
    assert (leaf.ports[4].peer_guid, leaf.ports[4].peer_name) == (None, None)
    (port,) = spine.ports
    assert port == DumpedPort(
        "1/1/1", 1, "Active", "LINK UP", 5, "4x", "NDR", "MLNX_RS_544_514_PLR", "NO-RTR", 0xB000000000003000,
        "1/16/2", 5, "MF0;leaf2:MQM9700/U1", port.line,
    )  # fmt: skip
    assert leaf.ports[1].peer_name == "rack 7, slot 2"


def test_columns_in_another_order_and_of_another_name() -> None:
    text = (
        '"sw", Mellanox, 0x1, LID 10\n'
        "# : IB# : PhysSta : Sta : LWA : LSA : RTR : FEC : New : Neighbor Guid : N# : NLID : Neighbor Description\n"
        'sw1p1 : 1 : LINK_UP : ACT : 4x : 200 : NO-RTR : RS : 42 : 0x2 : 1 : 20 : "server01: mlx5_0"\n'
    )
    ((port,),) = (switch.ports for switch in parse(text).value)
    assert port == DumpedPort(
        "sw1p1", 1, "Active", "LINK_UP", None, "4x", "XDR", "RS", "NO-RTR", 2, "1", 20, "server01: mlx5_0", 3
    )


@pytest.mark.parametrize("name", ['"', ":", "", 'a", Mellanox, 0x1, LID 1', "\u00e9\u4e2d", " x "])
def test_names_with_anything(name: str) -> None:
    leaf, spine = parse(SMALL.replace("host1 mlx5_0", name).replace("MF0;spine1:MQM9700/U1", name)).value
    assert leaf.ports[0].peer_name == name
    assert spine.name == name


def test_a_cut_file() -> None:
    parsed = parse(SMALL[:-9])
    assert (parsed.complete, [len(switch.ports) for switch in parsed.value]) == (False, [5, 0])
    assert [problem.kind for problem in parsed.problems] == ["bad-line", "cut-block"]


@pytest.mark.parametrize("text", ["", "hello\n", "1 : 1 : ACT : LINK UP\n", '"x", y, LID 1\n'])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


PIECES = [*SMALL.split("\n"), "a : b : c : d", '"x", y, 0x1, LID 99999', "# : IB#", "1:1:ACT:"]


@given(st.lists(st.one_of(st.text(max_size=50), st.sampled_from(PIECES)), max_size=40).map("\n".join))
def test_never_raises(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    for switch in parsed.value:
        assert all(port.width is None for port in switch.ports if port.state == "Down")


@pytest.mark.parametrize(
    "line", ['"' + '", M, 0x1, LID ' * 4_000, ":" * 60_000, "#" + ": IB#" * 10_000, '", ' * 20_000]
)
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(SMALL + f"{line}\n" * 10)
    assert time.process_time() - started < 2
