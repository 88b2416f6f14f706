"""smpquery and ibportstate: each answer as recorded, paddings, tables, damaged and hostile text."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import smpquery
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.smpquery import Answer, active_speed, parse

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "tools", "smpquery", "ft12")


def fixture(name: str) -> str:
    with open(os.path.join(FIXTURES, name)) as file:
        return file.read()


def answer_of(text: str) -> Answer:
    parsed = parse(text)
    assert parsed.problems == ()
    assert parsed.complete is None
    (answer,) = parsed.value.answers
    return answer


def test_node_info() -> None:
    answer = answer_of(fixture("node-info.txt"))
    assert (answer.attribute, answer.address, answer.lid, answer.port) == ("NodeInfo", "Lid 4", 4, None)
    assert (answer.fields["NodeType"], answer.fields["Guid"]) == ("Switch", "0xb8599f0300000200")
    assert len(answer.fields) == 12
    routed = answer_of(fixture("node-info.txt").replace("Lid 4", "DR path slid 65535; dlid 65535; 0,1"))
    assert (routed.address, routed.lid) == ("DR path slid 65535; dlid 65535; 0,1", None)


def test_port_info() -> None:
    answer = answer_of(fixture("port-info.txt"))
    assert (answer.attribute, answer.lid, answer.port) == ("PortInfo", 15, 1)
    assert (answer.fields["LinkState"], answer.fields["LinkWidthActive"]) == ("Active", "4X")
    assert answer.fields["LinkWidthSupported"] == "1X or 4X or 8X or 12X or 2X"
    assert "IsTrapSupported" in answer.flags


def test_the_extended_speed_counts() -> None:
    answer = answer_of(fixture("port-info.txt"))
    assert answer.fields["LinkSpeedActive"] == "10.0 Gbps"
    assert active_speed(answer) == "53.125 Gbps"
    for none in ("0", "No Extended Speed"):
        slow = answer_of(
            fixture("port-info.txt").replace("Active:..............53.125 Gbps", f"Active:..............{none}")
        )
        assert active_speed(slow) == "10.0 Gbps"


@pytest.mark.parametrize("name", ["x", "c001-006 mlx5_1", "MF0;swib-s002:MQM8700/U1", "y" * 31, "y" * 32, "." * 40])
def test_node_descriptions_are_padded_on_the_left(name: str) -> None:
    """As the tool does: dots up to 32 characters, or one dot."""
    text = f"Node Description:{'.' * (32 - len(name)) if len(name) < 32 else '.'}{name}\n"
    assert answer_of(text).fields == {"NodeDescription": name}
    assert answer_of(fixture("node-description.txt")).fields["NodeDescription"] == "MF0;swib-s002:MQM8700/U1"


def test_tables() -> None:
    pkeys = answer_of(fixture("pkeys.txt"))
    assert (pkeys.attribute, pkeys.address, pkeys.capacity) == ("P_KeyTable", None, 64)
    assert pkeys.rows[0] == (0xFFFF, 1, 0, 0, 0, 0, 0, 0)
    assert len(pkeys.rows) == 8
    guids = answer_of(fixture("guids.txt"))
    assert (guids.attribute, guids.capacity, guids.rows) == ("GUIDInfo", 32, ())
    assert guids.guids == (0x0C42A103000000B1, *[0] * 31)
    mapping = answer_of(fixture("sl2vl.txt"))
    assert (mapping.attribute, len(mapping.rows)) == ("SLtoVLMappingTable", 9)
    assert mapping.rows[1] == (1, 1, *range(15), 7)
    arbitration = answer_of(fixture("vl-arbitration.txt"))
    assert (arbitration.attribute, arbitration.port) == ("VLArbitrationTable", 1)
    assert arbitration.rows == (
        (0, 1, 2, 3, 4, 5, 6, 7), (0, 4, 4, 4, 4, 4, 4, 4), (0, 1, 2, 3, 4, 5, 6, 7), (4, 0, 0, 0, 0, 0, 0, 0),
    )  # fmt: skip


def test_several_answers_in_one_text() -> None:
    text = "".join(fixture(name) for name in ("node-info.txt", "pkeys.txt", "pkeys.txt", "mlnx-port-info.txt"))
    parsed = parse(text)
    assert parsed.problems == ()
    assert [answer.attribute for answer in parsed.value.answers] == [
        "NodeInfo", "P_KeyTable", "P_KeyTable", "MLNXExtendedPortInfo",
    ]  # fmt: skip


def test_ibportstate_whose_peer_did_not_answer() -> None:
    parsed = parse(fixture("ibportstate-failed.txt"))
    port, extended = parsed.value.answers
    assert (port.heading, port.lid, port.port, active_speed(port)) == ("Switch PortInfo", 4, 1, "53.125 Gbps")
    assert extended.attribute == smpquery.MLNX_PORT_INFO
    assert parsed.complete is False
    assert [problem.kind for problem in parsed.problems] == ["failed"]


def test_debug_lines_between_fields_cost_nothing() -> None:
    lines = fixture("port-info.txt").split("\n")
    lines.insert(9, "ibdebug: [7] main: something")
    assert parse("\n".join(lines)).value.answers[0].fields == answer_of(fixture("port-info.txt")).fields


def test_a_failure() -> None:
    parsed = parse(fixture("failed.txt"))
    assert (parsed.value.answers, parsed.complete) == ((), False)
    assert "not supported" in parsed.problems[0].text


@pytest.mark.parametrize("name", ["pkeys.txt", "guids.txt"])
def test_a_cut_table(name: str) -> None:
    text = fixture(name)
    parsed = parse(text[: text.index("  24:") + 9])
    assert parsed.complete is False
    assert "cut-answer" in [problem.kind for problem in parsed.problems]


def test_a_lost_row_is_no_shift() -> None:
    lines = fixture("pkeys.txt").split("\n")
    parsed = parse("\n".join(lines[:2] + lines[3:]))
    assert parsed.complete is False
    assert "bad-line" in [problem.kind for problem in parsed.problems]
    assert len(parsed.value.answers[0].rows) == 2


def test_fields_of_another_tool_are_not_taken() -> None:
    other = "# Port counters: Lid 4 port 1 (CapMask: 0x1300)\nPortSelect:......................1\n"
    assert answer_of(fixture("node-info.txt")).fields == parse(fixture("node-info.txt") + other).value.answers[0].fields


@pytest.mark.parametrize("text", ["", "hello\n", "# Port counters: Lid 4 port 1\nPortSelect:....1\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


PIECES = [
    line for name in sorted(os.listdir(FIXTURES)) if name.endswith(".txt") for line in fixture(name).split("\n")[:8]
]


@given(st.lists(st.one_of(st.text(max_size=50), st.sampled_from(PIECES)), max_size=40).map("\n".join))
def test_never_raises_and_never_invents(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    for answer in parsed.value.answers:
        assert all(value in text for value in answer.fields.values())


@pytest.mark.parametrize(
    "line",
    ["# Port info: Lid 4" + " port 1" * 8_000, "# Port info: Lid 4" + " LowCap " * 8_000, "a:" + "." * 60_000 + " ",
     "0:" + " 0x0000" * 9_000, "ports: in 1, out 1:" + " | 1" * 15_000 + "x", "VL :" + " |0x1 " * 10_000 + "x"],
    ids=lambda line: line[:12],
)  # fmt: skip
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(fixture("node-info.txt") + f"{line}\n" * 10)
    assert time.process_time() - started < 2
