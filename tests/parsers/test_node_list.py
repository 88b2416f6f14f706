"""ibhosts, ibswitches, ibnodes, ibnetdiscover -l: recorded lists, names with anything, damaged and hostile text."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.node_list import ListedNode, parse

FIXTURES = Path(__file__).parents[2] / "fixtures" / "tools" / "ibhosts"
HOSTS, SWITCHES, LISTED = (
    (FIXTURES / f"{name}.txt").read_text() for name in ("hosts", "switches", "ibnetdiscover-l")
)  # fmt: skip


def nodes_of(text: str) -> tuple[ListedNode, ...]:
    parsed = parse(text)
    assert (parsed.problems, parsed.complete, parsed.value.messages) == ((), None, ())
    return parsed.value.nodes


def test_hosts() -> None:
    assert nodes_of(HOSTS) == (
        ListedNode("Ca", 0x100003, 2, "Hca2", None, None, None, None, None, 1),
        ListedNode("Ca", 0x100000, 2, "Hca1", None, None, None, None, None, 2),
    )


def test_switches() -> None:
    first, second = nodes_of(SWITCHES)
    assert first == ListedNode("Switch", 0x200001, 8, "Switch2", None, None, "base", 3, 0, 1)
    assert (second.guid, second.lid) == (0x200000, 2)


def test_ibnetdiscover_lists_device_and_vendor() -> None:
    nodes = nodes_of(LISTED)
    assert [(node.kind, node.guid, node.ports, node.name) for node in nodes] == [
        ("Ca", 0x100003, 2, "Hca2"), ("Ca", 0x100000, 2, "Hca1"),
        ("Switch", 0x200001, 8, "Switch2"), ("Switch", 0x200000, 8, "Switch1"),
    ]  # fmt: skip
    assert {(node.device_id, node.vendor_id, node.lid) for node in nodes} == {(0, 0, None)}
    assert nodes_of(LISTED.replace("devid 0x0", "devid 0xd2f0"))[0].device_id == 0xD2F0


def test_routers() -> None:
    (router,) = nodes_of('Rt\t: 0x0000000000300000 ports 2 "Router"\n')
    assert (router.kind, router.name) == ("Rt", "Router")


@pytest.mark.parametrize(
    "name", ["", '"', 'a" base port 0 lid 9 lmc 0', 'x" ports 3 "y', "\u00e9\u4e2d", " ", "Ca : 0x1"]
)
def test_names_with_anything(name: str) -> None:
    hosts, switches = nodes_of(HOSTS.replace("Hca1", name)), nodes_of(SWITCHES.replace("Switch1", name))
    assert (hosts[1].name, hosts[1].lid) == (name, None)
    assert (switches[1].name, switches[1].lid) == (name, 2)


def test_a_cut_line_keeps_what_it_says() -> None:
    parsed = parse(HOSTS[:-4])
    assert [(node.guid, node.name) for node in parsed.value.nodes] == [(0x100003, "Hca2"), (0x100000, None)]
    assert parsed.complete is False


def test_a_failure() -> None:
    text = "ibnetdiscover: iberror: failed: discover failed\n"
    parsed = parse(text)
    assert (parsed.value.nodes, parsed.complete) == ((), False)
    assert parse(HOSTS + text).complete is False


@pytest.mark.parametrize("text", ["", "hello\n", "Ca : x\n", 'Ca : 0x1 ports "x"\n'])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


PIECES = [*HOSTS.split("\n"), *SWITCHES.split("\n"), *LISTED.split("\n"), 'Ca : 0x1 ports 999 "', "Rt : 0x1 ports 1"]


@given(st.lists(st.one_of(st.text(max_size=50), st.sampled_from(PIECES)), max_size=40).map("\n".join))
def test_never_raises(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    assert all(node.guid < 1 << 64 for node in parsed.value.nodes)


@pytest.mark.parametrize(
    "line",
    [
        'Switch : 0x1 ports 1 "' + '" base port 0 lid 1 lmc ' * 2_500,
        "Ca" + " " * 60_000 + "x",
        'Ca : 0x1 ports 1 "' + " " * 60_000,
    ],
    ids=["quotes", "blanks", "name"],
)
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(HOSTS + f"{line}\n" * 10)
    assert time.process_time() - started < 2
