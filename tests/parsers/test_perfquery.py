"""perfquery: recorded pages, what a capability mask hides, damaged and hostile text."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.perfquery import CounterPage, parse, supports

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "tools", "perfquery")


def fixture(name: str) -> str:
    with open(os.path.join(FIXTURES, name)) as file:
        return file.read()


def page_of(text: str) -> CounterPage:
    (page,) = parse(text).value
    return page


def nonzero(page: CounterPage) -> dict[str, int]:
    return {name: value for name, value in page.counters.items() if value}


#: The shape that netdata issue 2620 shows: tool before rdma-core 29, header broken by a mail program; values are ours.
OLD_EXTENDED = """# Port extended counters: Lid 21 port 1 (CapMask: 0x1600 CapMask2:
0x0000000)
PortSelect:......................1
CounterSelect:...................0x0000
PortXmitData:....................1367
PortRcvData:.....................2341
PortXmitPkts:....................13
PortRcvPkts:.....................24
PortUnicastXmitPkts:.............13
PortUnicastRcvPkts:..............24
PortMulticastXmitPkts:...........0
PortMulticastRcvPkts:............0
CounterSelect2:..................0x00000000
SymbolErrorCounter:..............0
LinkErrorRecoveryCounter:........0
LinkDownedCounter:...............0
PortRcvErrors:...................0
PortRcvRemotePhysicalErrors:.....0
PortRcvSwitchRelayErrors:........0
PortXmitDiscards:................0
PortXmitConstraintErrors:........0
PortRcvConstraintErrors:.........0
LocalLinkIntegrityErrors:........0
ExcessiveBufferOverrunErrors:....0
VL15Dropped:.....................0
PortXmitWait:....................0
QP1Dropped:......................0
"""


def test_each_port_has_its_page() -> None:
    parsed = parse(fixture("loop.txt"), source="perfquery -l -a 3")
    assert parsed.problems == ()
    assert parsed.complete is None  # there is no end mark
    assert [(page.attribute, page.lid, page.port) for page in parsed.value] == [
        ("PortCounters", 3, port) for port in range(9)
    ]
    assert not any(page.is_sum for page in parsed.value)
    assert nonzero(parsed.value[2]) == {
        "SymbolErrorCounter": 35, "PortXmitData": 3240, "PortRcvData": 3240, "PortXmitPkts": 45, "PortRcvPkts": 45,
        "PortXmitWait": 10,
    }  # fmt: skip
    seven = parsed.value[7].counters
    assert (seven["LocalLinkIntegrityErrors"], seven["PortXmitWait"], seven["PortXmitData"]) == (
        15, 4294967295, 4294967295,
    )  # saturated values stay as they are  # fmt: skip
    assert seven["ExcessiveBufferOverrunErrors"] == 0


def test_the_mask_not_the_zero_says_what_is_counted() -> None:
    first = parse(fixture("loop.txt")).value[1]
    assert (first.cap_mask, first.cap_mask2) == (0x1300, None)
    assert first.counters["QP1Dropped"] is None  # bit 15 is clear
    assert first.counters["PortXmitWait"] == 0  # bit 12 is set
    text = fixture("loop.txt").replace("0x1300", "0x0300")
    assert parse(text).value[1].counters["PortXmitWait"] is None


def test_extended_pages() -> None:
    parsed = parse(fixture("loop-extended.txt"))
    assert parsed.problems == ()
    seven = parsed.value[7]
    assert (seven.attribute, seven.cap_mask, seven.cap_mask2) == ("PortCountersExtended", 0x1300, 0)
    assert seven.counters["PortXmitData"] == 123456814716
    assert seven.counters["PortUnicastXmitPkts"] == 77
    assert "SymbolErrorCounter" not in seven.counters


def test_old_tools_print_zero_for_what_is_not_there() -> None:
    page = page_of(OLD_EXTENDED)
    assert (page.lid, page.port, page.cap_mask, page.cap_mask2) == (21, 1, 0x1600, 0)
    assert page.counters["PortMulticastRcvPkts"] == 0
    assert page.counters["SymbolErrorCounter"] is None
    assert page.counters["PortXmitWait"] is None


def test_sixty_four_bit_error_counters() -> None:
    page = page_of(OLD_EXTENDED.replace("0x1600 CapMask2:\n0x0000000", "0x5300 CapMask2: 0x0000002"))
    assert page.counters["SymbolErrorCounter"] == 0
    assert page.counters["PortXmitWait"] == 0
    assert page.counters["QP1Dropped"] is None  # bit 15 of CapMask is clear


def test_without_ietf_there_are_no_casts() -> None:
    page = page_of(OLD_EXTENDED.replace("0x1600", "0x1400"))
    assert page.counters["PortXmitData"] == 1367
    assert page.counters["PortUnicastXmitPkts"] is None
    assert supports("PortCountersExtended", "PortXmitData", 0x1000, 0) is False


def test_a_sum_is_no_port() -> None:
    page = page_of(fixture("sum.txt"))
    assert page.is_sum
    assert page.port == 255


def test_pages_of_details_are_labelled_right() -> None:
    received = page_of(fixture("rcv-error-details.txt"))
    assert (received.attribute, received.lid, received.port) == ("PortRcvErrorDetails", 2, 2)
    assert nonzero(received) == {"PortLocalPhysicalErrors": 5, "PortMalformedPktErrors": 7}
    discarded = page_of(fixture("xmit-discard-details.txt"))
    assert nonzero(discarded) == {"PortNeighborMTUDiscards": 4, "PortSwHOQLifetimeLimitDiscards": 6}


def test_other_pages() -> None:
    """Headers of the attributes that the simulator does not answer."""
    text = """# PortSamplesControl: Lid 4 port 1
OpCode:..........................0x00
PortSelect:......................1
Tick:............................0x01
# PortExtendedSpeedsCounters with RS-FEC Active counters: Lid 4 Gid fe80::1 port 2
PortSelect:......................2
CounterSelect:...................0x0000000000000000
SyncHeaderErrorCounter:..........7
# SwPortVLCongestion counters: DR path slid 0; dlid 0; 0,1,4 port 3
PortSelect:......................3
CounterSelect:...................0x0000
SWPortVLCongestion0:.............9
"""
    parsed = parse(text)
    assert parsed.problems == ()
    assert [(page.attribute, page.lid, page.port) for page in parsed.value] == [
        ("PortSamplesControl", 4, 1), ("PortExtendedSpeedsCounters", 4, 2), ("SwPortVLCongestion", None, 3),
    ]  # fmt: skip
    assert parsed.value[2].address == "DR path slid 0; dlid 0; 0,1,4"


def test_a_failure_is_said() -> None:
    parsed = parse(fixture("failed.txt"), source="perfquery -X 2 1")
    assert parsed.value == ()
    assert parsed.complete is False
    (problem,) = parsed.problems
    assert (problem.kind, problem.line, problem.source) == ("failed", 1, "perfquery -X 2 1")
    assert "cannot query PortXmitDataSL" in problem.text


def test_a_failure_between_pages_costs_no_page() -> None:
    parsed = parse(fixture("sum.txt") + fixture("failed.txt") + fixture("rcv-error-details.txt"))
    assert len(parsed.value) == 2
    assert parsed.complete is False


def test_pasted_without_header() -> None:
    text = "\n".join(fixture("loop.txt").split("\n")[1:22])
    page = page_of(text)
    assert (page.attribute, page.lid, page.port) == ("PortCounters", None, 0)
    assert page.counters["SymbolErrorCounter"] == 0
    assert page.counters["PortXmitWait"] is None  # no mask: a zero may stand for "not counted"
    assert parse(text).problems[0].kind == "unknown-capability"


def test_terminal_log() -> None:
    text = "Last login: today\r\n[root@host ~]# perfquery -a 3\r\n" + fixture("sum.txt").replace("\n", "\r\r\n")
    parsed = parse(text + "[root@host ~]# ")
    assert parsed.value == parse("\n\n" + fixture("sum.txt")).value
    (noise,) = parsed.problems
    assert noise.kind == "noise"
    assert noise.text.startswith("3 lines")


def test_a_log_of_several_tools() -> None:
    other = "# Port info: Lid 3 port 7\nLMC:.............................0\nLinkWidthActive:.................4X\n"
    text = fixture("sum.txt") + other + "CA 'mlx5_0'\n\tNumber of ports: 1\n" + fixture("rcv-error-details.txt")
    first, second = parse(text).value
    assert first.counters == page_of(fixture("sum.txt")).counters
    assert second.counters == page_of(fixture("rcv-error-details.txt")).counters
    assert [problem.kind for problem in parse(text).problems] == ["noise"]


def test_cut_in_a_number() -> None:
    whole = fixture("loop.txt")
    cut = whole[: whole.index("PortRcvPkts:.....................45") + len("PortRcvPkts:.....................4")]
    parsed = parse(cut)
    assert "PortRcvPkts" not in parsed.value[-1].counters
    assert parsed.value[-1].counters["PortXmitPkts"] == 45
    assert parsed.complete is False
    assert parsed.problems[-1].kind == "cut-page"


def test_the_last_line_without_its_end_is_no_cut() -> None:
    parsed = parse(fixture("sum.txt").rstrip("\n"))
    assert parsed.problems == ()
    assert parsed.value[0].counters["PortXmitWait"] == 4294967295


@pytest.mark.parametrize(
    "bad", ["12a", "-1", "1" * 30, "18446744073709551616", "", "0x", "1.5", "\u0663", "1_0"], ids=repr
)
def test_one_bad_value_costs_its_line(bad: str) -> None:
    text = fixture("rcv-error-details.txt").replace("Errors:..........7", f"Errors:..........{bad}")
    parsed = parse(text)
    assert nonzero(parsed.value[0]) == {"PortLocalPhysicalErrors": 5}
    assert "PortMalformedPktErrors" not in parsed.value[0].counters
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("bad-line", 5)]


def test_header_and_port_select_disagree() -> None:
    parsed = parse(fixture("rcv-error-details.txt").replace("PortSelect:......................2", "PortSelect:......3"))
    assert parsed.value[0].port == 3
    assert parsed.problems[0].kind == "contradiction"


@pytest.mark.parametrize(
    "text", ["", "\n", "hello\n", "CA 'mlx5_0'\n", "\x00\x01", "ibnetdiscover: iberror: failed: x\n"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


LINES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(fixture("loop.txt").split("\n")[:22] + OLD_EXTENDED.split("\n") + ["PortSelect:..300", "# Port"]),
)


@given(st.lists(LINES, max_size=30).map("\n".join))
def test_never_raises_and_never_invents(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    for page in parsed.value:
        assert page.counters
        for name, value in page.counters.items():
            assert name in text
            assert value is None or 0 <= value < 1 << 64


@pytest.mark.parametrize(
    "line", ["Port" * 15_000, "PortSelect:" + "." * 60_000 + " x", " " * 60_000 + "#", "# " * 30_000]
)
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(fixture("sum.txt") + f"{line}\n" * 20)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("end", ["PortSw", "PortSwLifetimeLimitDiscards:....", "# Port extended counters: Lid", "# Po"])
def test_a_line_that_lost_its_end_is_missing(end: str) -> None:
    page = "# PortXmitDiscardDetails counters: Lid 3 port 7\nPortSelect:......................7\n"
    read = parse(f"{page}PortInactiveDiscards:............0\n{end}")
    assert (read.value[0].counters, read.complete) == ({"PortInactiveDiscards": 0}, False)


def test_a_prompt_at_the_end_is_no_line() -> None:
    page = "# PortXmitDiscardDetails counters: Lid 3 port 7\nPortSelect:......................7\n"
    assert parse(f"{page}PortInactiveDiscards:............0\nroot@n01:~# ").complete is None
