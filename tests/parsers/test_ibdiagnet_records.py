"""Records of ibdiagnet's sections, its net_dump_ext and its log. Truths: the fixtures' READMEs, read off by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import ibdiagnet_csv, ibdiagnet_log, ibdiagnet_records, net_dump_ext
from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.bit_errors import BitErrorRatio, ratio_of
from ibkit.parsers.ibdiagnet_csv import Section
from ibkit.parsers.ibdiagnet_log import Remark, RemarkPort
from ibkit.parsers.ibdiagnet_records import Cable, NodeFirmware, SectionFinding

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
TABLES = (TOOLS / "ibdiagnet2.db_csv/counters.txt").read_text()
DUMP = (TOOLS / "ibdiagnet2.net_dump_ext/small.txt").read_text()
LOG = (TOOLS / "ibdiagnet2.log/errors.txt").read_text()
LEAF, HOST, SLOT = 0xB000000000001000, 0xA000000000001000, 0xA000000000002000


def section_of(name: str, text: str = TABLES) -> Section:
    (section,) = (section for section in ibdiagnet_csv.parse(text).value if section.name == name)
    return section


def test_counters() -> None:
    parsed = ibdiagnet_records.port_counts(section_of("PM_INFO"))
    assert (parsed.complete, parsed.problems) == (None, ())
    assert [(counts.guid, counts.port) for counts in parsed.value] == [
        (LEAF, 1), (LEAF, 2), (LEAF, 5), (HOST, 1), (SLOT, 1),
    ]  # fmt: skip
    wide, narrow, old = parsed.value[:3]
    # The value of 64 bits stands for the narrow one, which is full
    assert wide.counters["PortXmitData"] == 5_000_000_000
    assert (wide.counters["SymbolErrorCounter"], wide.counters["LinkDownedCounter"]) == (70_000, 300)
    assert wide.counters["PortXmitWait"] == 5_000_000_123
    assert wide.counters["PortUnicastXmitPkts"] == 900
    assert {"PortXmitData", "SymbolErrorCounter", "PortUnicastXmitPkts"} < wide.wide
    assert "LocalLinkIntegrityErrors" not in wide.wide  # no column of 64 bits for it
    assert narrow.wide == frozenset()
    assert (narrow.counters["SymbolErrorCounter"], narrow.counters["PortUnicastXmitPkts"]) == (3, None)
    assert narrow.counters["PortMalformedPktErrors"] == 4  # perfquery's name
    assert (old.counters["PortXmitData"], old.counters["PortRcvData"]) == (7, 0)  # not supported: the narrow one stays
    assert not any(name.lower().endswith(("per_sec", "rate", "guid")) for name in wide.counters)
    assert TABLES.split("\n")[wide.line - 1].startswith("0xb000000000001000,0xb000000000001000,1,4294967295,")


def test_cables() -> None:
    parsed = ibdiagnet_records.cables(section_of("CABLE_INFO"))
    optical, copper, nothing = parsed.value
    assert optical == Cable(
        LEAF, 1, optical.line, "Mellanox", "MFS1S00-H010E", "MT0000FT00001", "A2", "38.100.083", "Active optical cable",
        "10 m", 42.0,
    )  # fmt: skip
    assert (copper.celsius, copper.firmware, copper.length) == (None, None, "2 m")
    assert nothing == Cable(LEAF, 5, nothing.line)


def test_firmware() -> None:
    parsed = ibdiagnet_records.firmware(section_of("NODES_INFO"))
    assert [node._replace(line=0) for node in parsed.value] == [
        NodeFirmware(LEAF, "27.2008.3500", "MT_0000000063", 86_400, 0),
        NodeFirmware(HOST, "20.2.1", "MT_0000000010", 60, 0),  # without extended fields
        NodeFirmware(SLOT, None, None, None, 0),
    ]


def test_findings() -> None:
    (error,) = ibdiagnet_records.findings(section_of("ERRORS_LINKS_CHECK")).value
    assert error == SectionFinding(
        "error", "LINKS_CHECK", "LINK_UNEXPECTED_WIDTH",
        'Unexpected actual link width 1x (enable_width1="1x or 4x", enable_width2="1x or 4x" '
        "therefore final width should be 4x)", error.line, LEAF, 2,
    )  # fmt: skip
    counted, named = ibdiagnet_records.findings(
        section_of("WARNINGS_PORTS_COUNTERS_DIFFERENCE_CHECK_(DURING_RUN)")
    ).value
    assert (counted.level, counted.event, counted.port) == ("warning", "PM_COUNTER_INCREASED", 1)
    assert (named.guid, named.event) == (SLOT, "NODE_DUPLICATED_NODE_DESC")


def test_rows_without_a_place_are_told() -> None:
    text = TABLES.replace("0xa000000000001000,0xa000000000001001,1,8,9,", "nobody,0xa000000000001001,1,8,9,")
    parsed = ibdiagnet_records.port_counts(section_of("PM_INFO", text))
    assert (len(parsed.value), parsed.complete) == (4, False)
    assert [problem.text for problem in parsed.problems] == ["1 rows of PM_INFO make no sense"]


def test_a_section_without_its_columns_gives_nothing() -> None:
    section = Section("PM_INFO", ("NodeGUID", "X"), section_of("NODES_INFO").rows[:1], True, 1)
    section = section._replace(rows=(section.rows[0]._replace(values=("0x1", "2")),))
    assert ibdiagnet_records.port_counts(section).value == ()
    assert ibdiagnet_records.firmware(section).value == (NodeFirmware(1, None, None, None, section.rows[0].line),)


def test_bit_errors() -> None:
    parsed = net_dump_ext.parse(DUMP)
    clean, errors, down, host, xdr = parsed.value
    assert [(port.kind, port.guid, port.number, port.state) for port in parsed.value] == [
        ("SW", LEAF, 1, "Active"), ("SW", LEAF, 2, "Active"), ("SW", LEAF, 3, "Down"), ("CA", HOST, 1, "Active"),
        ("SW", 0xB000000000004000, 1, "Active"),
    ]  # fmt: skip
    assert clean.raw_ber == BitErrorRatio("3e-09", 3e-9)
    assert clean.effective_ber == BitErrorRatio("1.50e-254", None)
    assert (clean.symbol_errors, clean.effective_errors) == (0, 0)
    assert (clean.lid, clean.peer_lid, clean.width, clean.speed) == (2, 1, "4x", "HDR")
    assert (errors.effective_errors, errors.symbol_errors, errors.symbol_ber) == (17, None, None)
    assert (down.width, down.speed, down.raw_ber, down.physical_state) == (None, None, None, "POLLING")
    assert (host.symbol_ber, host.symbol_errors, host.effective_errors) == (BitErrorRatio("3E-14", 3e-14), 4, 5)
    assert (xdr.label, xdr.node_name, xdr.speed) == ("sw1p1", "MF0;q1 : a:Q3400/U1", "XDR")
    assert xdr.raw_ber is None  # an empty register
    assert xdr.symbol_ber == BitErrorRatio("15E-255", None)
    assert [(problem.kind, problem.line) for problem in parsed.problems] == [("bad-line", 12)]
    assert parsed.complete is False


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        ("15E-255", None), ("1.50e-254", None), ("1E-15", 1e-15), ("2e-249", 2e-249),
        ("0E-0", None), ("0.00E-255", None),
    ],
)  # fmt: skip
def test_ratios(text: str, ratio: float | None) -> None:
    told = ratio_of(text)
    assert told is not None
    assert told.ratio == ratio


@pytest.mark.parametrize("text", ["", "N/A", "0", "1E15", "E-12", "nan", "1e-", "1e-1234", "-1e-3"])
def test_no_ratios(text: str) -> None:
    assert ratio_of(text) is None


def test_errors_and_warnings() -> None:
    parsed = ibdiagnet_log.parse(LOG)
    assert [(remark.level, remark.stage, remark.line) for remark in parsed.value] == [
        ("warning", "Discovery", 10),
        ("error", "Links Check", 14), ("error", "Links Check", 15), ("error", "Links Check", 16),
        ("warning", "Links Check", 17),
        ("error", "Port Counters", 21), ("error", "Port Counters", 22), ("error", "Port Counters", 23),
        ("warning", "Port Counters", 24),
    ]  # fmt: skip
    _, verdict, speed, width, old, _, symbols, remote, hot = parsed.value
    assert verdict == Remark("error", "Links Check", "Links Check finished with errors", 14)
    assert speed.ports == (RemarkPort(None, LEAF, "20"), RemarkPort(None, SLOT, "1"))
    assert (speed.quantity, speed.actual, speed.expected) == ("speed", "2.5", "10")
    assert width.ports == (RemarkPort(None, LEAF, "19"), RemarkPort("leaf2/U1", None, "20"))
    assert (width.quantity, width.actual, width.expected) == ("width", "1x", "4x")
    assert (old.ports[1], old.actual, old.expected) == (RemarkPort("ime2/U1", None, "1"), "14", None)
    assert symbols.ports == (RemarkPort(None, 0xB000000000003000, "5/1"),)  # P1/5/1
    assert (symbols.quantity, symbols.actual) == ("symbol_error_counter", "27")
    assert (remote.ports, remote.actual) == ((RemarkPort("r9i1n24/U1", None, "1"),), "117")
    assert (hot.ports[0].label, hot.quantity) == ("27/2", None)
    assert hot.text.startswith("Cable High Temperature detected")
    assert (parsed.problems, parsed.complete) == ((), None)


def test_a_clean_log_is_one() -> None:
    assert ibdiagnet_log.parse("-I- Discovery\n-I- Links Check finished successfully\n").value == ()


PARSERS: tuple[Callable[..., Parsed[object]], ...] = (net_dump_ext.parse, ibdiagnet_log.parse)


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("text", ["", "Switch 36\n", "# Ty : # : #IB : GUID\n", "E- x\n"])
def test_other_texts(parse: Callable[..., Parsed[object]], text: str) -> None:
    with pytest.raises(NotThisFormat, match=r"^f: not ibdiagnet's"):
        parse(text, source="f")


PIECES = [
    "Ty : # : #IB : GUID : Sta : Raw BER : Node Desc\n", "SW : 1 : 1 : 0x1 : ACT : 1e-9 : ", '"a"', "\n", " : ", ":",
    "-E- ", "-W- Link: ", "S000000000000000b/N000000000000000b/P1/2/3", "<-->", "leaf/U1/P1", " - ", "-" * 40, "(", ")",
    "Unexpected actual link speed 14 ", "should be ", '"x" increased during the run (difference value=1,', "\0", "ä",
]  # fmt: skip


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text(max_size=200))
def test_it_never_raises_anything_else(parse: Callable[..., Parsed[object]], text: str) -> None:
    with suppress(NotThisFormat):
        parse(text)


@given(
    st.lists(
        st.lists(st.sampled_from(["0x1", "1", "", "N/A", "0xfffffffffffffffe", "42C", "a"]), min_size=4, max_size=4)
    )
)
def test_sections_of_anything(rows: list[list[str]]) -> None:
    text = "START_PM_INFO\nNodeGUID,PortNumber,SymbolErrorCounterExt,Temperature\n"
    text += "".join(f"{','.join(row)}\n" for row in rows) + "END_PM_INFO\n"
    section = section_of("PM_INFO", text)
    for told in (ibdiagnet_records.port_counts, ibdiagnet_records.cables, ibdiagnet_records.firmware):
        parsed = told(section)
        assert len(parsed.value) <= len(section.rows)
        assert (parsed.complete is False) == (len(parsed.value) < len(section.rows))


def test_linear_time() -> None:
    start = time.process_time()
    for line in (
        "-E- Link: " + "S" * 60_000,
        "-E- " + "/P1" * 20_000 + " - x",
        "SW : " + ": " * 30_000,
        "-E- a - " + '"' * 60_000,
    ):
        for parse in PARSERS:
            with suppress(NotThisFormat):
                parse(f"Ty : # : #IB : GUID : Sta\n-I- x\n{line}\n" * 50)
    assert time.process_time() - start < 10
