"""ibacm_route.data: the file that the real ibacm loaded, odd lines, files that are written."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.acm_routes import Route, RouteBlock, parse, write
from ibkit.parsers.base import NotThisFormat

TEXT = (Path(__file__).parents[2] / "fixtures/acm/route.data").read_text()
HEAD = 'Channel Adapter 0x00a1000000000011, base LID 1, "hostA1 mlx5_0", port 1\n'


def test_the_file_that_ibacm_loaded() -> None:
    parsed = parse(TEXT, source="route.data")
    assert (parsed.problems, parsed.complete) == ((), None)
    assert [(block.kind, block.guid, block.lid, block.description, block.port) for block in parsed.value] == [
        ("Switch", 0xA1000000001000, 2, "acm-swA1", 0), ("Switch", 0xA1000000002000, 3, "acm-swA2", 0),
        ("Channel Adapter", 0xA1000000000011, 1, "hostA1 mlx5_0", 1),
        ("Channel Adapter", 0xA1000000000021, 5, "hostA2 mlx5_0", 1),
        ("Channel Adapter", 0xA1000000000031, 6, "hostA3 mlx5_0", 1),
        ("Router", 0xA1000000000F01, 4, "ibrouter swid A", 1),
    ]  # fmt: skip
    own, second = parsed.value[2:4]
    assert own.line == 9
    assert own.routes == (
        Route(1, 0, 4, 3, 11), Route(2, 0, 3, 3, 12), Route(3, 0, 3, 3, 13), Route(4, 0, 4, 3, 14),
        Route(5, 0, 4, 3, 15), Route(6, 0, 4, 3, 16),
    )  # fmt: skip
    assert ([route.dlid for route in second.routes], second.unreachable) == ([1, 4, 5], (2, 3, 6))


def test_it_is_written_as_it_was() -> None:
    assert write(parse(TEXT).value) == TEXT


@pytest.mark.parametrize(
    ("head", "description", "port"),
    [
        ('Switch 0xa1, base LID 7, "a, b", port 0', "a, b", 0),
        ('Switch 0xa1, base LID 7, LMC 2, "a", port 0', "a", 0),
        ('Switch 0xa1, base LID 7, "a "quoted" name", port 12', 'a "quoted" name', 12),
        ('Switch 0xa1, base LID 7, "Switch 0x2, base LID 3, ", port 1', "Switch 0x2, base LID 3, ", 1),
        ("Switch 0xa1, base LID 7,", None, None),
    ],
)
def test_heads(head: str, description: str | None, port: int | None) -> None:
    (block,) = parse(f"{head}\r\n0x0001 : 0 : 4 : 3\r\n").value
    assert (block.guid, block.lid, block.description, block.port) == (0xA1, 7, description, port)
    assert block.routes == (Route(1, 0, 4, 3, 2),)


def test_odd_lines() -> None:
    text = (
        f"0x0001 : 0 : 4 : 3\n{HEAD}# a remark\n0x0001 : 0 : 4\n5 : 15 : 5  :16\n 0xC001 : UNREACHABLE\n\n"
        "0x10001 : 0 : 4 : 3\nRouter 0x1, LID 4\n0x0002 : 0 : 4 : 3\n"
    )
    parsed = parse(text, source="r")
    (block,) = parsed.value
    assert (block.routes, block.unreachable) == ((Route(5, 15, 5, 16, 5),), (0xC001,))
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [
        ("acm-stray-row", 1), ("bad-line", 4), ("bad-line", 8), ("bad-line", 9), ("acm-stray-row", 10),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "# LID  : SL : MTU : RATE\n", "0x0001 : 0 : 4 : 3\n", "10.0.0.1 fe80::1\n"])
def test_what_is_no_route_file(text: str) -> None:
    with pytest.raises(NotThisFormat, match="no path records"):
        parse(text)


def test_127_bytes_of_a_line() -> None:
    head = HEAD.strip().replace("hostA1 mlx5_0", "d" * (13 + 127 - len(HEAD.strip())))
    assert parse(head).problems == ()
    assert [problem.kind for problem in parse(head.replace("dd", "ddd", 1)).problems] == ["acm-long-line"]


def test_descriptions_lose_what_has_no_room() -> None:
    block = RouteBlock("Channel Adapter", 1, 1, "é" * 80 + "\x1b[31m", 1)
    (line, *_) = write([block]).splitlines()
    assert len(line.encode()) <= 127 and line.endswith('é", port 1')
    assert write([block._replace(description='a\n"b\x1b')]).splitlines()[0].split(", ", 2)[2] == '"a."b.", port 1'


@pytest.mark.parametrize(
    "blocks",
    [
        [RouteBlock("Switch", 1, 0, None, 0)],
        [RouteBlock("Switch", 1, 0xC000, None, 0)],
        [RouteBlock("Switch", 1, 1, None, 0, (Route(0xFFFF, 0, 4, 3),))],
        [RouteBlock("Switch", 1, 1, None, 0, (), (0,))],
        [RouteBlock("Switch", 1, 1, None, 0), RouteBlock("Switch", 2, 1, None, 0)],
    ],
)
def test_what_cannot_be_written(blocks: list[RouteBlock]) -> None:
    with pytest.raises(ValueError, match="LID"):
        write(blocks)


lids = st.integers(1, 0xBFFF)
routes = st.builds(Route, lids, st.integers(0, 15), st.integers(1, 5), st.integers(2, 24), st.just(0))
blocks = st.builds(
    RouteBlock,
    st.sampled_from(["Switch", "Channel Adapter", "Router"]),
    st.integers(0, (1 << 64) - 1),
    lids,
    st.text(st.characters(codec="ascii", exclude_characters='"', min_codepoint=32, max_codepoint=126), max_size=50),
    st.integers(0, 254),
    st.lists(routes, max_size=5, unique_by=lambda route: route.dlid).map(tuple),
    st.just(()),
    st.just(0),
)


@given(st.lists(blocks, min_size=1, max_size=4, unique_by=lambda block: block.lid))
def test_any_blocks_are_read_back(made: list[RouteBlock]) -> None:
    parsed = parse(write(made))
    assert parsed.problems == ()
    assert [
        block._replace(line=0, routes=tuple(route._replace(line=0) for route in block.routes)) for block in parsed.value
    ] == [block._replace(routes=tuple(sorted(block.routes))) for block in made]


@given(st.text(max_size=300) | st.lists(st.sampled_from(TEXT.split("\n"))).map("\n".join))
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    assert all(1 <= block.line <= text.count("\n") + 1 for block in parsed.value)


@pytest.mark.parametrize(
    "text",
    [HEAD + "0x0001 : 0  : 4   : 3   \n" * 100_000, HEAD + 'Switch 0x1, base LID 1, "' + '" ' * 30_000, HEAD * 30_000],
)
def test_large_files_take_seconds_at_most(text: str) -> None:
    started = time.process_time()
    parse(text)
    assert time.process_time() - started < 5
