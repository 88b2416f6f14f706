"""iblinkinfo: both forms, the three forms of a row, names with anything, damaged and hostile text."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import diag_messages
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.iblinkinfo import GROUPED, LINES, LinkTable, NodeTable, PortLine, parse
from ibkit.parsers.link_row import LinkRow, parse_row

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "tools", "iblinkinfo")
LEAF1, LEAF2 = 0xB0001000, 0xB0002000


def fixture(name: str) -> str:
    with open(os.path.join(FIXTURES, name)) as file:
        return file.read()


def table_of(text: str) -> LinkTable:
    parsed = parse(text)
    assert parsed.problems == ()
    return parsed.value


def row_of(node: NodeTable, port: int) -> PortLine:
    (row,) = [row for row in node.rows if row.link.port == port]
    return row


def test_grouped_form() -> None:
    parsed = parse(fixture("leaves.txt"), source="iblinkinfo")
    assert (parsed.complete, parsed.problems, parsed.value.form) == (None, (), GROUPED)
    assert [(node.kind, node.guid, node.name, len(node.rows)) for node in parsed.value.nodes] == [
        ("Switch", LEAF2, "leaf2: a [b] ;c", 8), ("CA", None, "host2 \\", 2),
        ("Switch", LEAF1, "leaf1", 8), ("CA", None, "host1 mlx5_0", 1),
    ]  # fmt: skip
    leaf2, host2, _, _ = parsed.value.nodes
    assert row_of(leaf2, 7) == PortLine(
        None, LinkRow(3, 7, None, "4x", "EDR", "Active", "LinkUp", None, 2, 7, None, "leaf1", "12x", "HDR"), 8
    )
    assert row_of(leaf2, 3).link == LinkRow(3, 3, None, None, None, "Down", "Polling")
    second = row_of(host2, 2)
    assert second.port_guid == 0xA0002002
    assert (second.link.lid, second.link.width, second.link.speed, second.link.peer_name) == (
        5, "2x", "HDR", "leaf2: a [b] ;c",
    )  # fmt: skip


def test_line_form() -> None:
    table = table_of(fixture("leaves-lines.txt"))
    assert table.form == LINES
    assert [(node.kind, node.guid, node.name, len(node.rows)) for node in table.nodes] == [
        (None, LEAF2, "leaf2: a [b] ;c", 8), (None, 0xA0002001, "host2 \\", 1), (None, 0xA0002002, "host2 \\", 1),
        (None, LEAF1, "leaf1", 8), (None, 0xA0001001, "host1 mlx5_0", 1),
    ]  # fmt: skip
    link = row_of(table.nodes[0], 2).link
    assert (link.peer_guid, link.peer_lid, link.peer_port, link.peer_name) == (0xA0002002, 5, 2, "host2 \\")


@pytest.mark.parametrize("name", ["ft12.txt", "ft12-lines.txt", "additional.txt", "ft12-no-sm.txt"])
def test_all_rows_of_a_fabric(name: str) -> None:
    nodes = table_of(fixture(name)).nodes
    rows = [row.link for node in nodes for row in node.rows]
    assert (len(nodes), len(rows)) == (15, 120)
    up = [row for row in rows if not row.is_down]
    assert len(up) == 2 * 29
    assert sorted((row.width, row.speed) for row in up if (row.width, row.speed) != ("4x", "HDR")) == [
        ("1x", "HDR"), ("1x", "HDR"), ("1x", "HDR"), ("1x", "HDR"), ("4x", "EDR"), ("4x", "EDR"),
    ]  # fmt: skip
    assert all((row.width, row.speed, row.peer_port) == (None, None, None) for row in rows if row.is_down)
    assert {row.state for row in up} == {"Initialize" if name == "ft12-no-sm.txt" else "Active"}


ROW = '3    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       2   28[  ] "leaf1" ( )'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("53.125 Gbps", "10.0 Gbps (FDR10)", {"speed": "FDR10"}),
        ("53.125 Gbps", "10.0 Gbps", {"speed": "QDR"}),
        ("53.125 Gbps", "2.5 Gbps", {"speed": "SDR"}),
        ("53.125 Gbps", "212.5 Gbps", {"speed": "XDR"}),
        ("53.125 Gbps", "undefined (32)", {"speed": "undefined (32)"}),
        ("53.125 Gbps", "Extended speed", {"speed": "Extended speed"}),
        ("53.125 Gbps", "???", {"speed": "???"}),
        (" 4X ", "12X ", {"width": "12x"}),
        (" 4X ", " 2X ", {"width": "2x"}),
        (" 4X ", "undefined (64) ", {"width": "undefined (64)"}),
        ("Active/  LinkUp", "Initialize/  LinkUp", {"state": "Initialize"}),
        ("Active/  LinkUp", "  ?(7)/   ?(9)", {"state": "?(7)", "physical_state": "?(9)"}),
        ("Active/  LinkUp", "Active/LinkErrorRecovery", {"physical_state": "LinkErrorRecovery"}),
        ('2   28[  ] "leaf1" ( )', '"Port not available"', {"peer_lid": None, "peer_port": None, "peer_name": None}),
        ("1[  ]", "1[17]", {"label": 17}),
        ("28[  ]", "28[ 4]", {"peer_label": 4}),
        ("LinkUp)", "LinkUp) (HOQ:18 VL_Stall:7)", {"physical_state": "LinkUp", "peer_port": 28}),
        ("( )", "(Could be 12X )", {"could_be_width": "12x", "could_be_speed": None}),
        ("( )", "( Could be 106.25 Gbps)", {"could_be_width": None, "could_be_speed": "NDR"}),
        ("( )", "( Could be FDR10 (Found link at QDR but expected speed is FDR10))", {"could_be_speed": "FDR10"}),
        ('"leaf1"', '"a"b" (c) ==(x)==> "', {"peer_name": 'a"b" (c) ==(x)==> '}),
        ('"leaf1"', '""', {"peer_name": ""}),
        ('"leaf1" ( )', '"lea', {"peer_port": 28, "peer_name": None}),
        ("28[", "28 [", None),
        ("==>       2   28[  ]", "==>", None),
        ("Active/", "Active", None),
        ("28[  ]", "2811[  ]", None),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_forms_of_a_row(old: str, new: str, expected: dict[str, object] | None) -> None:
    usual = parse_row(ROW)
    assert usual is not None
    assert old in ROW
    found = parse_row(ROW.replace(old, new))
    assert found == (None if expected is None else usual._replace(**expected))  # type: ignore[arg-type]


def test_names_are_anything() -> None:
    for name in ('a"b', "Switch: 0x1 x:", "", "é ; ( ) [", "x" * 63, 'q" 1 1[', "CA:"):
        for form in ("leaves.txt", "leaves-lines.txt"):
            text = (
                fixture(form).replace("               leaf2: a [b] ;c", f"{name:>30}").replace("leaf2: a [b] ;c", name)
            )
            parsed = parse(text)
            assert parsed.problems == ()
            assert parsed.value.nodes[0].name == name
            assert len(parsed.value.nodes[0].rows) == 8


def test_old_header_without_colon() -> None:
    text = fixture("leaves.txt").replace("Switch: 0x", "Switch 0x")
    assert table_of(text).nodes == table_of(fixture("leaves.txt")).nodes


def test_one_bad_row_costs_that_row() -> None:
    text = fixture("leaves.txt").replace("2    2[  ] ==( 4X", "2    2[  ] =( 4X")
    parsed = parse(text)
    assert parsed.complete is None  # the line has become noise
    assert [problem.kind for problem in parsed.problems] == ["noise"]
    text = fixture("leaves.txt").replace("2    2[  ] ==( 4X        53.125 Gbps Active/", "2    2[  ] ==( 4X Active")
    parsed = parse(text)
    assert parsed.complete is False
    assert [problem.kind for problem in parsed.problems] == ["bad-line"]
    assert sum(len(node.rows) for node in parsed.value.nodes) == 18


def test_rows_of_a_lost_header_are_not_given_to_the_node_before() -> None:
    text = fixture("ft12-switches-only.txt")
    header = "Switch: 0xb8599f0300000100 MF0;swib-s001:MQM8700/U1:\n"
    assert header in text
    parsed = parse(text.replace(header, ""))
    assert parsed.complete is False
    assert [len(node.rows) for node in parsed.value.nodes] == [36, 36]
    assert {problem.kind for problem in parsed.problems} == {"bad-line"}
    text = fixture("leaves.txt").replace("CA: host2 \\:\n", "")
    assert [len(node.rows) for node in parse(text).value.nodes] == [8, 8, 1]


def test_cut_in_a_row() -> None:
    text = fixture("leaves.txt")
    parsed = parse(text[: text.rindex("==>") + 10])
    assert parsed.complete is False
    assert [node.name for node in parsed.value.nodes] == ["leaf2: a [b] ;c", "host2 \\", "leaf1"]


def test_a_comparison_is_no_topology() -> None:
    row = fixture("leaves.txt").split("\n")[2]
    parsed = parse(f"Switch: 0x00000000b0002000 leaf2:\n< {row}\n> {row}\n")
    assert parsed.complete is False


def test_messages_prompts_and_quotes_of_a_mail() -> None:
    text = "> $ iblinkinfo\r\n> ibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 4)\r\n"
    text += "".join(f"> {line}\r\n" for line in fixture("leaves.txt").split("\n"))
    parsed = parse(text)
    assert [len(node.rows) for node in parsed.value.nodes] == [8, 2, 8, 1]
    assert [message.kind for message in parsed.value.messages] == [diag_messages.NO_ANSWER]
    assert [problem.kind for problem in parsed.problems] == ["noise"]


@pytest.mark.parametrize("text", ["", "hello\n", "Switch: 0x1 a\n", "CA 'mlx5_0'\n\tCA type: MT4123\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


PIECES = (
    fixture("leaves.txt").split("\n")[:4] + fixture("leaves-lines.txt").split("\n")[:2] + ["CA: x:", ROW, "==(", "0x1 "]
)


@given(st.lists(st.one_of(st.text(max_size=60), st.sampled_from(PIECES)), max_size=25).map("\n".join))
def test_never_raises(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    for node in parsed.value.nodes:
        assert node.rows
        assert all(0 <= row.link.port < 1000 for row in node.rows)


@pytest.mark.parametrize(
    "line",
    [
        "==(" + " " * 60_000,
        '0x1 "' + '" ' * 30_000 + "==(",
        "1 1[ ] ==(" + ") " * 30_000,
        "1 1[ ] ==( " + "a/ " * 20_000 + ")==>",
        '1 1[ ] ==( a/ b)==> 1 1[ ] "' + '" (' * 20_000,
        "Switch: 0x1 " + ":" * 60_000,
    ],
    ids=lambda line: line[:24],
)
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(fixture("leaves.txt") + f"{line}\n" * 10)
    assert time.process_time() - started < 2


def test_a_line_that_is_too_long_is_a_lost_row() -> None:
    lines = fixture("leaves.txt").splitlines(keepends=True)
    parsed = parse("".join([*lines[:3], lines[3].rstrip("\n") + " " * 70_000 + "\n", *lines[4:]]))
    assert parsed.complete is False
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("bad-line", 4)]
