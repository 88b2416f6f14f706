"""opensm-subnet.lst: a recorded file, other words, names with anything, damaged and hostile text."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.subnet_list import ListedEnd, parse

FT12 = (Path(__file__).parents[2] / "fixtures/tools/opensm-subnet.lst/ft12.txt").read_text()
FIRST = FT12.split("\n", 1)[0] + "\n"


def test_recorded() -> None:
    parsed = parse(FT12)
    assert (parsed.complete, parsed.problems) == (None, ())
    assert Counter((link.width, link.speed, link.state) for link in parsed.value) == {
        ("4x", "HDR", "Active"): 52, ("1x", "HDR", "Active"): 4, ("4x", "EDR", "Active"): 2,
    }  # fmt: skip
    first = parsed.value[0]
    assert first.end == ListedEnd(
        "SW", False, 36, 0xB8599F0300000000, 0xB8599F0300000000, 0xB8599F0300000000, 0x2C9, 0xD2F0, 0xA1,
        "MF0;swib-l001:MQM8700/U1", 2, 1,
    )  # fmt: skip
    assert (first.peer.kind, first.peer.sm, first.peer.name, first.peer.port_guid) == (
        "CA", True, "c001-001 mlx5_0", 0x0C42A10300000001,
    )  # fmt: skip


def test_both_lines_of_a_link_agree() -> None:
    """Which a device id as OpenSM prints it, differently for the two ends, would not."""
    links = parse(FT12).value
    assert {(link.end, link.peer) for link in links} == {(link.peer, link.end) for link in links}


@pytest.mark.parametrize(
    ("printed", "read"),
    [("2.5", "SDR"), ("5", "DDR"), ("10", "QDR"), ("FDR10", "FDR10"), ("14", "FDR"), ("25", "EDR"), ("100", "NDR"),
     ("200", "XDR"), ("??", "??"), ("400", "400")],
)  # fmt: skip
def test_speeds(printed: str, read: str) -> None:
    (link,) = parse(FIRST.replace("SPD=50", f"SPD={printed}")).value
    assert link.speed == read


@pytest.mark.parametrize(("printed", "read"), [("DWN", "Down"), ("INI", "Initialize"), ("ARM", "Armed"), ("X", "X")])
def test_states(printed: str, read: str) -> None:
    (link,) = parse(FIRST.replace("LOG=ACT", f"LOG={printed}")).value
    assert link.state == read


def test_as_ibdiagnet_writes_it() -> None:
    """Lower case, and a line whose name somebody's web page has swallowed."""
    text = (
        "{ CA Ports:02 SystemGUID:0002c90300165e63 NodeGUID:0002c90300165e60 PortGUID:0002c90300165e61 VenID:000002c9"
        " DevID:1003 Rev:00000000  LID:0005 PN:01 } { SW Ports:24 SystemGUID:0002c90300688830"
        " NodeGUID:0002c90300688830 PortGUID:0002c90300688830 VenID:000002c9 DevID:c738 Rev:000000a1  LID:0002 PN:14 }"
        " PHY=4x LOG=ACT SPD=2.5\n"
    )
    (link,) = parse(text).value
    assert (link.end.name, link.end.lid, link.peer.port, link.peer.device_id) == (None, 5, 20, 0xC738)


@pytest.mark.parametrize(
    "name", ["", "}", "{", "} LID:0001 PN:01 }", "} LID:0001 PN:01 } { SW", "a LID:", "\u00e9\u4e2d", " ", "x" * 64]
)
def test_names_with_anything(name: str) -> None:
    (link,) = parse(FIRST.replace("c001-001 mlx5_0", name)).value
    assert (link.peer.name, link.peer.lid) == (name, 1)
    (link,) = parse(FIRST.replace("MF0;swib-l001:MQM8700/U1", name)).value
    assert (link.end.name, link.end.lid) == (name, 2)


def test_a_cut_file() -> None:
    parsed = parse(FT12[:-30])
    assert (len(parsed.value), parsed.complete) == (57, False)
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("bad-line", 58)]


@pytest.mark.parametrize("text", ["", "hello\n", "{ SW Ports:24 }\n", "{ }\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


WORDS = FIRST.split(" ")


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.sampled_from([FIRST, "\n"]), st.text(max_size=9)), max_size=60))
def test_never_raises(words: list[str]) -> None:
    text = " ".join(words)
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    assert all(link.end.guid < 1 << 64 for link in parsed.value)


@pytest.mark.parametrize(
    "line",
    [
        FIRST.strip().replace("c001-001 mlx5_0", "} LID:0001 PN:01 } { SW Ports:2 " * 1_800),
        FIRST.strip().replace("MF0;swib-l001:MQM8700/U1", "} LID:0001 PN:01 } { SW Ports:" * 1_800),
        "{ " * 30_000,
        FIRST.strip()[:-20] + " LID:" * 10_000,
    ],
    ids=["second-name", "first-name", "braces", "tails"],
)
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(FIRST + f"{line}\n" * 10)
    assert time.process_time() - started < 2
