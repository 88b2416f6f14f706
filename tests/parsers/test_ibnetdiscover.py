"""ibnetdiscover, both forms: recorded texts, one sample per trap, damaged and hostile text (truths: README there)."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.ibnetdiscover import MAX_BAD_LINES, PORTS, TOPOLOGY, NodeBlock, PortRow, Topology, parse

FIXTURES = Path(__file__).parents[2] / "fixtures/tools/ibnetdiscover"


def fixture(name: str) -> str:
    return (FIXTURES / name).read_bytes().decode()


def read(name: str) -> Parsed[Topology]:
    return parse(fixture(name), source=name)


def kinds(text: str) -> list[str]:
    return [problem.kind for problem in parse(text).problems]


SMALL = fixture("topology.txt")
SWITCH = """vendid=0x2c9
devid=0xd2f0
sysimgguid=0x100
switchguid=0x100(101)
Switch\t8 "S-0000000000000100"\t\t# "sw" enhanced port 0 lid 5 lmc 0
"""


def switch_with(*rows: str) -> Parsed[Topology]:
    return parse(SWITCH + "".join(f"{row}\n" for row in rows))


def only_row(parsed: Parsed[Topology]) -> PortRow:
    ((row,),) = [block.rows for block in parsed.value.blocks]
    return row


def test_a_block_as_recorded() -> None:
    topology = read("topology.txt").value
    assert (topology.form, topology.sweeps) == (TOPOLOGY, 1)
    assert (topology.from_node, topology.from_port) == (0x100000, 0x100001)
    assert [(block.kind, block.guid, block.name) for block in topology.blocks] == [
        ("Switch", 0x200001, "Switch2"), ("Switch", 0x200000, "Switch1"),
        ("Ca", 0x100003, "Hca2"), ("Ca", 0x100000, "Hca1"),
    ]  # fmt: skip
    assert topology.blocks[1] == NodeBlock(
        line=18, kind="Switch", guid=0x200000, name="Switch1", port_count=8, rows=topology.blocks[1].rows, port0="base",
        lid=2, lmc=0, port_guid=0x200000, system_image_guid=0x200000, vendor_id=0, device_id=0,
    )  # fmt: skip
    assert topology.blocks[1].rows[1] == PortRow(
        line=20, number=2, port_guid=None, peer_kind="H", peer_guid=0x100003, peer_port=2, peer_port_guid=0x100005,
        lid=None, lmc=None, peer_name="Hca2", peer_lid=4, width="4x", speed="SDR",
    )  # fmt: skip
    assert topology.blocks[2].rows == (
        PortRow(
            line=29, number=2, port_guid=0x100005, peer_kind="S", peer_guid=0x200000, peer_port=2, peer_port_guid=None,
            lid=4, lmc=0, peer_name="Switch1", peer_lid=2, width="4x", speed="SDR",
        ),
    )  # fmt: skip


def test_a_ports_report_as_recorded() -> None:
    topology = read("ports-report.txt").value
    assert (topology.form, len(topology.rows), topology.blocks) == (PORTS, 18, ())
    unlinked, linked = topology.rows[0], topology.rows[8]
    assert (unlinked.end, unlinked.peer) == (("SW", 3, 8, 0x200001, "Switch2"), None)
    assert linked.end == ("CA", 4, 2, 0x100005, "Hca2")
    assert linked.peer == ("SW", 2, 2, 0x200000, "Switch1")
    assert (linked.line, linked.width, linked.speed) == (9, "4x", "SDR")


@pytest.mark.parametrize("option", "fgsm")
def test_options_add_words_and_change_nothing(option: str) -> None:
    def told(name: str) -> list[tuple[object, ...]]:
        return [
            (*block._replace(line=0, rows=()), [row._replace(line=0) for row in block.rows])
            for block in read(name).value.blocks
        ]

    assert read(f"tree-option-{option}.txt").problems == ()
    assert told(f"tree-option-{option}.txt") == told("tree.txt")


@pytest.mark.parametrize("name", [path.name for path in sorted(FIXTURES.glob("*.txt"))])
def test_whole_samples_lose_nothing(name: str) -> None:
    parsed = read(name)
    assert parsed.complete is None
    told = bool(parsed.value.blocks or parsed.value.rows)
    failed = name.endswith(".stderr.txt") or name in ("no-device.txt", "roce.txt")
    assert told is not failed
    assert bool(parsed.value.messages) is failed


def test_a_terminal_log_is_noise_around_it() -> None:
    parsed = read("terminal-log.txt")
    (noise,) = parsed.problems
    assert (noise.kind, noise.line) == ("noise", 1)
    assert noise.text.startswith("2 lines")
    assert [(block.kind, block.port_count) for block in parsed.value.blocks] == [("Switch", 41), ("Ca", 1), ("Ca", 1)]
    assert parsed.value.blocks[0].rows[0].peer_lid == 65535
    assert parsed.value.blocks[0].port_guid == 0x0C42A10300BB0001


def test_rows_that_end_early() -> None:
    rows = read("short-rows.txt").value.blocks[0].rows
    assert [(row.peer_lid, row.width, row.speed) for row in rows] == [
        (1, None, None),
        (2, "4x", "QDR"),
        (None, None, None),
    ]


def test_names_are_read_from_the_outside_in() -> None:
    blocks = read("names.txt").value.blocks
    switch = 'a "quoted" # [1] "S-0" name" base port 0 lid 9 lmc 0'
    names = ["  blanks kept  ", 'x" lid 3 1xSDR "y', "Zürich-Süd 🐟", "bare name", "[bold]m[/bold]\x1b[31m;#'", ""]
    assert [block.name for block in blocks] == [switch, *names]
    assert [row.peer_name for row in blocks[0].rows] == names
    assert [row.peer_lid for row in blocks[0].rows] == [1, 2, 3, 4, 5, 6]
    assert {(row.peer_name, row.lid) for block in blocks[1:] for row in block.rows} == {
        (switch, lid) for lid in range(1, 7)
    }


def test_labels_slots_and_chassis() -> None:
    spine, line, hca = read("chassis-slots.txt").value.blocks
    assert (spine.chassis, spine.slot, line.slot) == (1, "Spine 1 Chip 1", "Line 1 Chip 1")
    assert (line.rows[0].label, hca.rows[0].peer_label, hca.rows[0].lmc) == (12, 12, 2)


@pytest.mark.parametrize(
    ("row", "width", "speed"),
    [
        ('[1]\t"S-0000000000000200"[2]\t\t# "x" lid 3 4xHDR', "4x", "HDR"),
        ('[1]\t"S-0000000000000200"[2]\t\t# "x" lid 3 ?????', "??", "???"),
        ('[1]\t"S-0000000000000200"[2]\t\t# "x" lid 3 4x???', "4x", "???"),
        ('[1]\t"S-0000000000000200"[2]\t\t# "x" lid 3 ??HDR', "??", "HDR"),
        ('[1]\t"S-0000000000000200"[2]\t\t# "x" lid 3 12xXDR2 slot 4', "12x", "XDR2"),
        ('[1]\t"S-0000000000000200"[2]\t\t# "x" lid 3 4xSDR (scp)', "4x", "SDR"),
        ('[1]"S-0000000000000200"[2]#"x"lid 3 4xSDR s=1 w=2 v=4', "4x", "SDR"),
        ('> \t[1]\u00a0"S-0000000000000200"[2]\u00a0# "x" lid 3\u00a04xSDR', "4x", "SDR"),
        ('[1]\t"S-200"[2]\t\t# "x" lid 3 4x', "4x", None),
    ],
)
def test_odd_spellings_of_a_row(row: str, width: str, speed: str | None) -> None:
    parsed = switch_with(row)
    found = only_row(parsed)
    assert (found.number, found.peer_guid, found.peer_port, found.peer_name) == (1, 0x200, 2, "x")
    assert (found.peer_lid, found.width, found.speed) == (3, width, speed)
    assert parsed.problems == ()


@pytest.mark.parametrize(
    "rest",
    [
        '# "x" lid 99999999999999999999 4xHDR',
        '# "x" lid 3 4xHDR and more',
        '# "x lid',
        "# x",
        "garbage",
        '# "MF0;a\tb',
        "(200",
    ],
)
def test_a_row_whose_rest_is_broken_keeps_its_link(rest: str) -> None:
    parsed = switch_with(f'[1]\t"S-0000000000000200"[2]\t\t{rest}')
    row = only_row(parsed)
    assert (row.number, row.peer_guid, row.peer_port, row.speed) == (1, 0x200, 2, None)
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("bad-line", 6)]
    assert parsed.complete is False


@pytest.mark.parametrize(
    "row",
    [
        '[1]\t"S-00000000000002zz"[2]\t\t# "x" lid 3 4xHDR',
        '[1]\t"S-00000000000000200"[2]\t\t# "x" lid 3 4xHDR',  # 17 digits
        '[1]\t"S-0000000000000200"[99999999999]\t\t# "x" lid 3 4xHDR',
        '[1]\t"S-0000000000000200"2]\t\t# "x" lid 3 4xHDR',
    ],
)
def test_a_broken_row_costs_itself(row: str) -> None:
    other = '[2]\t"S-0000000000000200"[3]\t\t# "x" lid 3 4xHDR'
    parsed = switch_with(row, other)
    assert only_row(parsed).number == 2
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("bad-line", 6)]
    assert parsed.complete is False


def test_what_looks_a_little_like_a_row_is_noise() -> None:
    noise = ["[root@head ~]# ibnetdiscover", "[1] 4711", "[1]+  Done  ibnetdiscover", "[12.345] mlx5_core: up", "[5"]
    noise += ["Switch to root", "Ca va", "Can't say", "SW is down", "vendid", "devid=", "Broadcast message from root"]
    parsed = parse("\n".join([*noise, SMALL]))
    assert [problem.kind for problem in parsed.problems] == ["noise"]
    assert parsed.problems[0].text.startswith(f"{len(noise)} lines")
    assert parsed.complete is None
    assert [block._replace(line=0, rows=()) for block in parsed.value.blocks] == [
        block._replace(line=0, rows=()) for block in parse(SMALL).value.blocks
    ]


def test_a_header_that_is_broken_keeps_the_node_and_its_rows() -> None:
    parsed = parse(
        SMALL.replace('"S-0000000000200000"\t\t# "Switch1" base', '"S-00000000002zz000"\t\t# "Switch1" base')
    )
    block = next(block for block in parsed.value.blocks if block.guid == 0x200000)
    assert (block.kind, block.name, block.port_count, len(block.rows)) == ("Switch", None, None, 4)
    assert [problem.kind for problem in parsed.problems] == ["no-header", "bad-line"]
    assert parsed.complete is False


def test_rows_without_any_header_belong_to_nobody() -> None:
    lines = SMALL.split("\n")
    del lines[13:18]  # the identification lines and the header of Switch1
    parsed = parse("\n".join(lines))
    assert [len(block.rows) for block in parsed.value.blocks] == [2, 1, 1]
    (problem,) = parsed.problems
    assert (problem.kind, problem.line) == ("no-header", 14)
    assert problem.text.startswith("4 rows")
    assert parsed.complete is False


def test_a_header_that_contradicts_its_identification_is_told() -> None:
    text = SMALL.replace("caguid=0x100003", "caguid=0x100004").replace(
        'Ca\t2 "H-0000000000100000"', 'Ca\t2 "S-0000000000100000"'
    )
    assert [(problem.kind, problem.line) for problem in parse(text).problems] == [
        ("contradiction", 27), ("contradiction", 35),
    ]  # fmt: skip


def test_doubled_line_ends_part_no_blocks() -> None:
    doubled = SMALL.replace("\n", "\n\n")
    assert parse(doubled).problems == ()
    assert [len(block.rows) for block in parse(doubled).value.blocks] == [2, 4, 1, 1]
    assert parse(SMALL.replace("\n", "\r\r\n")).value == parse(SMALL).value
    assert [block.guid for block in parse(SMALL.replace("\n", "\r")).value.blocks] == [
        block.guid for block in parse(SMALL).value.blocks
    ]


def test_stray_carriage_returns_in_a_row() -> None:
    assert parse(SMALL.replace('"[', '\r"[').replace("lid", "\rlid")).value == parse(SMALL).value


def test_two_sweeps_and_two_forms_in_one_text() -> None:
    assert kinds(SMALL + SMALL) == ["several-sweeps"]
    both = parse(SMALL + fixture("ports-report.txt"))
    assert (both.value.form, both.value.rows) == (TOPOLOGY, ())
    assert [problem.kind for problem in both.problems] == ["several-forms"]


def test_messages_of_the_tool_are_kept_apart() -> None:
    warning = (
        "src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,10,19 Attr 0x11:0) bad status 110; Connection timed out"
    )
    parsed = parse(f"{warning}\n{SMALL}")
    assert parsed.problems == ()
    assert [(message.kind, message.line, message.route) for message in parsed.value.messages] == [
        ("no-answer", 1, (1, 10, 19))
    ]


def test_a_cut_in_a_word_is_no_word() -> None:
    text = fixture("topology.txt").rstrip("\n")
    assert parse(text).complete is None, "a text without a last line end is whole"
    row = parse(text[:-1]).value.blocks[-1].rows[-1]
    assert (row.width, row.speed) == (None, None), '"4xSD" is not a rate'
    assert parse(text[:-1]).complete is False
    row = parse(text[: -len(" 4xSDR")]).value.blocks[-1].rows[-1]
    assert row.peer_lid is None, '"lid 2" may have been "lid 23"'


def test_absurd_numbers_allocate_nothing() -> None:
    started = time.process_time()
    parsed = parse('Switch\t999999999 "S-0000000000000100"\t\t# "sw" base port 0 lid 999999999 lmc 7\n')
    assert (parsed.value.blocks[0].port_count, parsed.value.blocks[0].lid) == (999999999, 999999999)
    parse(
        f'Switch\t{"9" * 9999} "S-0000000000000100"\nSwitch\t8 "S-0000000000000100"\t\t# "sw" base port 0 lid 1 lmc 0\n'
    )
    assert time.process_time() - started < 1


@pytest.mark.parametrize("lmc", ["8", "40", "999999999"])
def test_an_lmc_of_more_than_three_bits_is_none(lmc: str) -> None:
    """It would give a port more LIDs than anybody could go through."""
    assert SMALL.count(" lmc 0") == 4
    parsed = parse(SMALL.replace(" lmc 0", f" lmc {lmc}"))
    assert {block.lmc for block in parsed.value.blocks} == {None}
    assert {row.lmc for block in parsed.value.blocks for row in block.rows} == {None}
    assert len([problem for problem in parsed.problems if problem.kind == "bad-line"]) == 4
    assert parsed.complete is False


@pytest.mark.parametrize("text", ["", "\n\n", "nothing of the tool", "Switch\t : 0x1 ports 8", "\0" * 50])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


@pytest.mark.parametrize(
    "line",
    [
        '[1]\t"S-0000000000000200"[2]\t\t# ' + '"' * 60_000,
        "[1]" + " " * 60_000,
        '[1]\t"S-0000000000000200"[2]' + " " * 60_000 + "x",
        '[1]\t"S-0000000000000200"[2]\t\t# "x" lid 3 ' + " " * 60_000 + "x",
        '[1]\t"S-0000000000000200"[2]\t\t# ' + '" lid 3 ' * 7_000,
        "Switch" + " " * 60_000 + "8",
        'Switch\t8 "S-0000000000000100"\t\t# ' + '" base port 0 ' * 4_000,
        "SW" + " " * 60_000 + "1",
        "SW 1 1 0x1 4x SDR - SW 1 1 0x1 ( " + "' - '" * 12_000 + " )",
        "DR path slid 0; dlid 0; 0" + ",1" * 30_000,
        "a.c:1; umad (" + "x Attr 0x11:0) " * 4_000,
    ],
)
def test_hostile_lines_cost_one_pass(line: str) -> None:
    started = time.process_time()
    parse(SMALL + f"{line}\n" * 10)
    assert time.process_time() - started < 2


def test_a_line_of_ten_megabytes_is_one_problem() -> None:
    started = time.process_time()
    parsed = parse(SMALL + "[1]" + "x" * 10_000_000 + "\n")
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("bad-line", 37)]
    assert len(parsed.value.blocks) == 4
    assert time.process_time() - started < 2


def test_bad_lines_without_end_are_counted() -> None:
    parsed = parse(SMALL + '[1] "S-x"\n' * 5_000)
    bad = [problem for problem in parsed.problems if problem.kind == "bad-line"]
    assert len(bad) == MAX_BAD_LINES + 1
    assert bad[-1].text.startswith(f"{5_000 - MAX_BAD_LINES} more")


@given(st.text())
def test_any_text_is_refused_or_read(text: str) -> None:
    with contextlib.suppress(NotThisFormat):
        parse(text)


@given(st.lists(st.sampled_from([*SMALL.split("\n"), *fixture("ports-report.txt").split("\n"), "[1] x", "\0", '"#"'])))
def test_any_order_of_real_lines_is_read(lines: list[str]) -> None:
    try:
        parsed = parse("\n".join(lines))
    except NotThisFormat:
        return
    printed = {row.line for block in parsed.value.blocks for row in block.rows}
    assert all(lines[number - 1].startswith("[") for number in printed)


def test_a_thousand_hcas_in_less_than_a_second() -> None:
    from support.fattree import three_levels

    text = three_levels(20, 10).netlist()  # 1,000 HCAs, 300 switches, 3,000 cables
    started = time.process_time()
    parsed = parse(text)
    assert time.process_time() - started < 1
    assert (len(parsed.value.blocks), sum(len(block.rows) for block in parsed.value.blocks)) == (1300, 6000)
    assert parsed.problems == ()


def test_port_numbers_that_fall_are_of_another_node() -> None:
    parsed = switch_with(*(f'[{n}]\t"H-{n:016x}"[1]({n:x}) \t\t# "h{n}" lid {n} 4xHDR' for n in (1, 2, 5, 2, 3)))
    (block,) = parsed.value.blocks
    assert [row.number for row in block.rows] == [1, 2, 5]
    assert [(p.kind, p.line, p.text) for p in parsed.problems] == [
        ("no-header", 9, "2 rows of ports whose node's header is lost")
    ]
    assert parsed.complete is False


def test_a_row_that_is_there_twice_is_nobody_elses() -> None:
    row = '[1]\t"H-0000000000000001"[1](2) \t\t# "h" lid 7 4xHDR'
    parsed = switch_with(row, row, row.replace("[1]\t", "[2]\t"))
    assert [row.number for row in parsed.value.blocks[0].rows] == [1, 1, 2]
    assert parsed.problems == ()


def test_an_adapters_row_below_a_switch_is_of_another_node() -> None:
    """A switch's rows have neither a port GUID nor a LID of their own."""
    adapters = '[9](2)\t"S-0000000000000009"[1]\t\t# lid 7 lmc 0 "sw9" lid 9 4xHDR'
    parsed = switch_with('[1]\t"H-0000000000000001"[1](2) \t\t# "h" lid 7 4xHDR', adapters)
    assert [row.number for row in parsed.value.blocks[0].rows] == [1]
    assert [p.kind for p in parsed.problems] == ["no-header"]


@pytest.mark.parametrize("header", ['Switch65"S-0000000000000100"#"sw"', 'Switch  65 "S-0000000000000100"   # "sw"'])
def test_tabs_that_a_terminal_lost(header: str) -> None:
    """As PuTTY's logs have them: without the tabs, or with blanks for them."""
    (block,) = parse(f'{header} enhanced port 0 lid 65535 lmc 0\n[1]\t"S-0000000000000200"[2]\n').value.blocks
    assert (block.kind, block.port_count, block.guid, block.name, block.port0) == (
        "Switch",
        65,
        0x100,
        "sw",
        "enhanced",
    )
    assert block.lid == 65535
    row = block.rows[0]
    assert (row.peer_guid, row.peer_port, row.width, row.speed) == (0x200, 2, None, None)


def test_a_router() -> None:
    text = """vendid=0x2c9
devid=0xd2f4
sysimgguid=0xc00001000
rtguid=0xc00001000
Rt\t8 "R-0000000c00001000"\t\t# "MF0;q3400:N9100/U2/RT"
[1](c00001001) \t"S-0000000b00001000"[149]\t\t# lid 3 lmc 0 "MF0;q3400/U1" lid 9 1xXDR
"""
    (block,) = parse(text).value.blocks
    assert (block.kind, block.guid, block.name, block.port_count) == ("Rt", 0xC00001000, "MF0;q3400:N9100/U2/RT", 8)
    assert (block.system_image_guid, block.device_id) == (0xC00001000, 0xD2F4)
    row = block.rows[0]
    assert (row.number, row.port_guid, row.lid, row.peer_port) == (1, 0xC00001001, 3, 149)
    assert (row.peer_name, row.width, row.speed) == ("MF0;q3400/U1", "1x", "XDR")


def test_ports_of_a_report_without_a_neighbour() -> None:
    """Blanks in a name are kept; old switches pad their rows far; what the port says of its speed means nothing."""
    text = """SW     2 19 0x0002c903006e1430 4x SDR                                    'MF0;js01ib2:SX60XX/U1'
SW     2 20 0x0002c903006e1430 4x ???                                    ' r1i0s0 SW1 '
SW    82 21 0x0002c903006e1431 4x QDR                                                  'ISR9024D Voltaire Leaf 1'
CA    44  1 0x0002c9030045f121 4x FDR - SW     2 17 0x0002c903006e1430 ( 'localhost HCA-1' - MF0;js01ib2 )
"""
    parsed = parse(text)
    assert parsed.problems == ()
    assert [(row.end.number, row.end.name, row.peer is None) for row in parsed.value.rows] == [
        (19, "MF0;js01ib2:SX60XX/U1", True), (20, " r1i0s0 SW1 ", True), (21, "ISR9024D Voltaire Leaf 1", True),
        (1, "localhost HCA-1", False),
    ]  # fmt: skip
    peer = parsed.value.rows[-1].peer
    assert peer is not None
    assert (peer.number, peer.name) == (17, "MF0;js01ib2")  # a name without its quotes
