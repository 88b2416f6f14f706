"""mlxlink, of ports and of PCIe links. Truth: the values that the samples were written with."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import mlxlink, mlxlink_pcie
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.bit_errors import BitErrorRatio
from ibkit.parsers.mlxlink import Measured, MlxlinkPort, PhysicalCounters
from ibkit.parsers.mlxlink_pcie import PcieLink

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
PORTS = sorted(path.stem for path in (TOOLS / "mlxlink").glob("*.txt"))
HEAD = "Operational Info\n----------------\nState : Active\n\n"


def text_of(name: str) -> str:
    return (TOOLS / f"{name}.txt").read_text()


def one(name: str) -> MlxlinkPort:
    (port,) = mlxlink.parse(text_of(f"mlxlink/{name}")).value
    return port


def counters_of(rows: str) -> PhysicalCounters:
    (port,) = mlxlink.parse(f"{HEAD}Physical Counters and BER Info\n{'-' * 30}\n{rows}\n").value
    assert port.counters
    return port.counters


def test_a_port_with_optics_and_counters() -> None:
    port = one("optics")
    assert (port.device, port.port, port.state, port.speed, port.width) == (
        "mt4129_pciconf0", 1, "Active", "IB-NDR", "4x",
    )  # fmt: skip
    assert (port.loopback, port.auto_negotiation, port.tool_version) == ("No Loopback", "ON", "mft 4.30.1-8")
    assert (port.enabled_speeds, port.cable_speeds) == (
        ("NDR", "HDR", "EDR", "FDR", "SDR"), ("NDR", "HDR", "EDR", "SDR"),
    )  # fmt: skip
    assert port.counters == PhysicalCounters(
        1421.6, 0, BitErrorRatio("15E-255", None), 12, BitErrorRatio("2E-15", 2e-15), (3183333, 242074, 11, 0),
        (BitErrorRatio("3E-9", 3e-9), BitErrorRatio("9E-10", 9e-10), BitErrorRatio("1E-14", 1e-14),
         BitErrorRatio("15E-255", None)),
        BitErrorRatio("1E-8", 1e-8), 3, 0,
    )  # fmt: skip
    module = port.module
    assert module
    assert (module.identifier, module.vendor, module.part_number, module.serial_number, module.revision) == (
        "OSFP", "NVIDIA", "MMS4X00-NS400", "MT2300X00001", "A2",
    )  # fmt: skip
    assert (module.compliance, module.firmware, module.wavelength_nm, module.length_m, module.diagnostics) == (
        "400GBASE-DR4: NDR", "47.171.0", 1310, None, True,
    )  # fmt: skip
    assert (module.power_class, module.max_power, module.state) == ("8 (9.0 W max)", "9.0 W max", "Ready state")
    assert module.celsius == Measured((54,), -5, 75)
    assert module.voltage_mv == Measured((3261.2,), 2970, 3630)
    assert module.bias_ma == Measured((8.38, 8.38, 8.375, 8.38), 2, 15)
    assert module.rx_power_dbm == Measured((1.886, -40, 2.281, 1.976), -10.41, 6)
    assert module.tx_power_dbm == Measured((1.562, 1.427, 1.559, 1.761), -8.508, 5)
    assert port.other and port.other["Module Info"]["Rx LOS [per lane]"] == "0,1,0,0", "no row is lost"


def test_a_cable_that_measures_nothing() -> None:
    """It says that it has diagnostics, and its limits are 0."""
    port = one("passive-copper")
    module = port.module
    assert module and module.diagnostics is True
    assert {module.celsius, module.voltage_mv, module.bias_ma, module.rx_power_dbm, module.tx_power_dbm} == {None}
    assert (module.wavelength_nm, module.firmware, module.length_m) == (None, None, 3)
    assert (port.enabled_speeds, port.cable_speeds) == (
        ("100G_4X",), ("100G_4X", "50G_2X", "40G", "25G", "10G", "1G"),
    )  # fmt: skip


def test_rows_that_are_missing_are_no_zeros() -> None:
    counters = one("passive-copper").counters
    assert counters and counters.effective_errors == 0
    assert (counters.symbol_errors, counters.symbol_ber, counters.raw_ber, counters.raw_ber_per_lane) == (None,) * 4
    assert (counters.link_downed, counters.link_error_recoveries) == (1, None)
    port = one("ndr")
    assert (port.counters, port.module) == (None, None), "the tool was not asked for them"


def test_a_port_without_a_cable() -> None:
    parsed = mlxlink.parse(text_of("mlxlink/no-cable"))
    (port,) = parsed.value
    assert (port.device, port.port, port.state, port.physical_state) == ("mlx5_1", 2, "Disable", "Disabled")
    assert (port.speed, port.width, port.fec, port.cable_speeds) == (None,) * 4
    assert (port.status_opcode, port.recommendation) == ("1024", "Cable is unplugged")
    assert [(problem.kind, problem.text) for problem in parsed.problems] == [
        ("tool-message", "No plugged cable detected")
    ]


def test_json() -> None:
    parsed = mlxlink.parse(text_of("mlxlink/json"))
    first, second = parsed.value
    assert (first.device, first.state, first.speed, first.width) == ("mlx5_2", "Active", "IB-HDR", "2x")
    assert first.enabled_speeds == ("HDR", "EDR", "FDR", "SDR")
    assert first.counters and first.counters.raw_errors_per_lane == (3183333, 242074)
    assert first.counters.raw_ber == BitErrorRatio("1E-8", 1e-8)
    assert first.module and first.module.rx_power_dbm == Measured((0.1, 0.2), -10, 6)
    assert (first.module.voltage_mv, first.group_opcode) == (None, None), "N/A"
    assert (second.device, second.width, second.counters, second.module) == ("mlx5_3", "4x", None, None)
    assert [(problem.kind, problem.text, problem.line) for problem in parsed.problems] == [
        ("tool-message", "FEC Histogram is not supported for the current device", 81)
    ]
    assert text_of("mlxlink/json").splitlines()[80] == "{"


def test_json_and_text_say_the_same() -> None:
    """One document made by hand of the rows of a text."""
    sections: dict[str, dict[str, object]] = {}
    lines = text_of("mlxlink/optics").splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below.startswith("----"):
            sections[line] = {}
        elif " : " in line or "  :" in line:
            key, _, value = line.partition(":")
            listed = "," in value and "[" not in value and "(" not in value and "Technology" not in key
            words = value.strip()
            sections[next(reversed(sections))][key.strip()] = {"values": words.split(",")} if listed else words
    document = json.dumps({"result": {"output": sections}, "status": {"code": 0, "message": "success"}})
    (from_json,) = mlxlink.parse(document).value
    assert from_json._replace(device="mt4129_pciconf0", line=3) == one("optics")


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        ("3E-8", 3e-8), ("15E-8", 15e-8), ("1.5E-254", None), ("15E-255", None),
        ("1e-12", 1e-12), ("0E-0", None), ("0E-255", None),
    ],
)  # fmt: skip
def test_bit_error_ratios(text: str, ratio: float | None) -> None:
    found = counters_of(f"Effective Physical BER : {text}").effective_ber
    assert found and (found.text, found.ratio) == (text, ratio)


def test_a_whole_key_counts() -> None:
    counters = counters_of("Raw Physical BER Per Lane : 1E-5,2E-5\nRaw Physical Errors Per Lane : 1,2")
    assert counters.raw_ber is None
    assert counters.raw_ber_per_lane and [ber.ratio for ber in counters.raw_ber_per_lane] == [1e-5, 2e-5]


@pytest.mark.parametrize("row", ["Symbol BER : soon", "Symbol Errors : -1", "Raw Physical Errors Per Lane : 1,x"])
def test_a_bad_value_is_one_unknown_field(row: str) -> None:
    rows = f"{HEAD}Physical Counters and BER Info\n{'-' * 30}\nLink Down Counter : 4\n{row}\n"
    parsed = mlxlink.parse(rows)
    counters = parsed.value[0].counters
    assert counters == PhysicalCounters(link_downed=4)
    assert [problem.kind for problem in parsed.problems] == ["bad-value"]


@pytest.mark.parametrize(
    "text", ["54 [-5..]", "54", "hot [0..1]", "nan [0..1]", "1,x [0..1]", "54 [-5...75]", "inf [0..inf]"]
)
def test_what_is_no_measurement(text: str) -> None:
    parsed = mlxlink.parse(f"{HEAD}Module Info\n-----------\nTemperature [C] : {text}\nRev : A\n")
    module = parsed.value[0].module
    assert module and (module.celsius, module.revision) == (None, "A")
    assert [problem.kind for problem in parsed.problems] == ["bad-value"]


def test_colours() -> None:
    text = text_of("mlxlink/optics")
    coloured = text.replace(": ", ": \x1b[32m").replace("\n", "\x1b[0m\n")
    assert mlxlink.parse(coloured).value == mlxlink.parse(text).value


def test_a_search_for_words_leaves_out_the_rulers() -> None:
    lines = [line for line in text_of("mlxlink/optics").splitlines() if not line.startswith("---")]
    (port,) = mlxlink.parse("\n".join(lines) + "\n").value
    assert port.counters == one("optics").counters
    assert port.module == one("optics").module


def test_several_runs() -> None:
    both = mlxlink.parse(text_of("mlxlink/optics") + text_of("mlxlink/no-cable") + text_of("mlxlink/passive-copper"))
    assert [(port.device, port.port) for port in both.value] == [("mt4129_pciconf0", 1), ("mlx5_1", 2), (None, 1)]
    assert [port.module is None for port in both.value] == [False, True, False]


@pytest.mark.parametrize("name", PORTS)
def test_every_cut_is_told_or_harmless(name: str) -> None:
    text = text_of(f"mlxlink/{name}")
    whole = mlxlink.parse(text).value
    for end in range(1, len(text), 17):
        with suppress(NotThisFormat):
            for part, full in zip(mlxlink.parse(text[:end]).value, whole, strict=False):
                for field in part._fields[:16]:
                    assert getattr(part, field) in (None, getattr(full, field)), (end, field)
                for one_part, other in ((part.counters, full.counters), (part.module, full.module)):
                    for field in one_part._fields if one_part else ():
                        assert getattr(one_part, field) in (None, getattr(other, field)), (end, field)


# PCIe


def test_a_link_and_its_counters() -> None:
    (link,) = mlxlink_pcie.parse(text_of("mlxlink-pcie/counters")).value
    assert link == PcieLink(
        3, "41:00.0", 0, 0, 0, 3, 4, 8, 16, "Correctable Error detected, Unsupported Request detected.", 0, 9, 0, 1,
    )  # fmt: skip


def test_several_links_and_counters_of_nobody() -> None:
    first, second = mlxlink_pcie.parse(text_of("mlxlink-pcie/links")).value
    assert (first.generation, first.width, first.enabled_width) == (5, 16, 16)
    assert (second.depth, second.node, second.generation, second.enabled_generation) == (3, 8, None, 5)
    assert (second.width, second.enabled_width) == (None, 4)
    assert {first.rx_errors, second.rx_errors} == {None}


def test_links_in_json() -> None:
    (link,) = mlxlink_pcie.parse(text_of("mlxlink-pcie/json")).value
    assert (link.generation, link.width) == (4, 16)


def test_two_runs_with_a_link_each() -> None:
    text = text_of("mlxlink-pcie/counters")
    assert [link.tx_errors for link in mlxlink_pcie.parse(text + text).value] == [9, 9]


def test_a_link_whose_words_make_no_sense() -> None:
    parsed = mlxlink_pcie.parse(text_of("mlxlink-pcie/counters").replace("8X (16X)", "8 of 16").replace(": 9", ": x"))
    (link,) = parsed.value
    assert (link.width, link.tx_errors, link.generation) == (None, None, 3)
    assert [problem.kind for problem in parsed.problems] == ["bad-value"] * 2


# Both


PARSERS = (mlxlink.parse, mlxlink_pcie.parse)


@pytest.mark.parametrize("parse", PARSERS, ids=["port", "pcie"])
@pytest.mark.parametrize(
    "text", ["", "{}", "{", '{"result": []}', '{"result": {"output": 3}}', "State : Active\n", "-" * 20]
)
def test_other_texts(parse, text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotThisFormat, match=r"^f: no heading"):
        parse(text, source="f")


PIECES = st.sampled_from([
    HEAD, "Module Info\n-----------\n", "Temperature [C] : 1 [0..2]\n", "Raw Physical BER : 1E-8\n", "{", "}",
    '{"output":{"Operational Info":{"State":1}}}}', "[" * 3000, "Errors\n------\n", "-E- x\n", "mlxlink -d a -p 2\n",
    "Symbol Errors : " + "9" * 5000 + "\n", "Rx Power Current [dBm] : " + "1," * 500 + " [0..1]\n", "\ud800", ":", "\n",
    "PCIe Operational (Enabled) Info\n", "Link Width Active (Enabled) : 4X (4X)\n", '"\ud800"', "1e999",
    "\x00", '{"result":',
])  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=20), max_size=30))
def test_they_never_raise_anything_else(pieces: list[str]) -> None:
    for parse in PARSERS:
        with suppress(NotThisFormat):
            parse("".join(pieces))


def test_linear_time() -> None:
    start = time.process_time()
    for text in (
        (HEAD + "A" + " " * 60_000 + "x\n") * 100,
        HEAD + ("Temperature [C] : " + "1," * 20_000 + "[0..1]\n") * 50,
        '{"a":\n' * 100_000,
        ("{" * 100 + "\n") * 20_000,
        '{"result": {"output": {"Operational Info": {}}}}\n' * 20_000,
    ):
        for parse in PARSERS:
            with suppress(NotThisFormat):
                parse(text)
    assert time.process_time() - start < 15
