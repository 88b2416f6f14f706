"""ibswinfo. Truth: the values that the samples were written with."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibswinfo import ALL, INVENTORY, STATUS, VITALS, Fan, PowerSupply, SwitchInfo, parse

FOLDER = Path(__file__).parents[2] / "fixtures/tools/ibswinfo"
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text()


def one(name: str) -> SwitchInfo:
    (switch,) = parse(text_of(name)).value
    return switch


def kinds(name: str) -> list[str]:
    return [problem.kind for problem in parse(text_of(name)).problems]


def test_all_of_a_switch() -> None:
    assert one("all") == SwitchInfo(
        ALL,
        2,
        complete=True,
        device="lid-16",
        description="rack 1, leaf 3 | west",
        part_number="MQM9790-NS2F",
        serial_number="MT2000X00002",
        product_name="Gorilla Unmng IB 400",
        revision="AF",
        modules=32,
        ports=128,
        psid="MT_0000000579",
        guid=0xB000000000001000,
        firmware="31.2012.4036",
        cpld="3",
        uptime_seconds=28 * 86400 + 18 * 3600 + 31 * 60 + 58,
        celsius=47,
        max_celsius=49,
        warn_low_celsius=95,
        warn_high_celsius=105,
        fan_status="OK",
        power_supplies=(
            PowerSupply(0, "OK", "OK", "OK", 133, "MTEF-PSF-AC-C", "MT2000X00000"),
            PowerSupply(1, "OK", "OK", "OK", 151, "MTEF-PSF-AC-C", "MT2000X00001"),
        ),
        fans=tuple(Fan(i, rpm) for i, rpm in enumerate((6125, 5251, 6013, 5335, 6068, 5423, 5854), 1)),
    )
    assert kinds("all") == ["noise"], "the prompt"


def test_a_supply_without_power_has_no_row_for_it() -> None:
    switch = one("supply-without-power")
    assert switch.power_supplies == (
        PowerSupply(0, "OK", "OK", "OK", 287, "MTEF-PSF-AC-C", "MT2000X00000"),
        PowerSupply(1, "OK", "ERROR", "ERROR", None, "MTEF-PSF-AC-C", "MT2000X00009"),
    )
    assert (switch.ports, switch.fan_status, switch.complete) == (None, "OK", True), "0 ports are no reading"
    assert (switch.description, switch.uptime_seconds) == ("Quantum Mellanox Technologies", 67 * 86400 + 15556)
    problems = parse(text_of("supply-without-power")).problems
    assert [problem.kind for problem in problems] == ["noise"]
    assert problems[0].text.startswith("2 lines"), "of bash and of the tools below"


def test_two_registers_glued_together() -> None:
    switch = one("glued")
    assert (switch.ports, switch.firmware) == (None, None)
    assert (switch.fan_status, switch.fans) == ("ERROR", (Fan(1, 0), Fan(2, 4746))), "a fan that stands still"
    assert switch.power_supplies[1] == PowerSupply(1, "ERROR", "ERROR", "ERROR")
    assert kinds("glued") == ["bad-value"]


def test_an_output_that_stops_after_the_fans_status() -> None:
    parsed = parse(text_of("cut"))
    (switch,) = parsed.value
    assert (parsed.complete, switch.complete, [problem.kind for problem in parsed.problems]) == (
        False, False, ["cut-output"],
    )  # fmt: skip
    assert (switch.celsius, switch.fan_status, switch.fans, len(switch.power_supplies)) == (47, "OK", (), 2)


def test_modules_that_tell_no_temperature() -> None:
    switch = one("modules")
    assert [module.number for module in switch.module_temperatures] == list(range(1, 37))
    assert {module.celsius for module in switch.module_temperatures} == {None}
    assert (switch.celsius, switch.max_celsius) == (50, 56)


def test_a_bad_value_is_one_unknown_field() -> None:
    switch = one("bad-values")
    assert (switch.uptime_seconds, switch.celsius, switch.max_celsius) == (None, None, 57)
    assert [supply.power_watts for supply in switch.power_supplies] == [None, 71]
    assert switch.fans == (Fan(1, None), Fan(2, 7349), Fan(3, None)), "0 rpm and all fans in their range: not read"
    assert kinds("bad-values") == ["bad-value"] * 4


def test_targeted_outputs() -> None:
    inventory = one("inventory")
    assert (inventory.mode, inventory.complete, inventory.description) == (INVENTORY, None, "leaf: 3")
    assert (inventory.part_number, inventory.serial_number, inventory.firmware, inventory.cpld) == (
        "MQM8790-HS2F", "MT2000X00001", "27.2000.1886", "3",
    )  # fmt: skip
    assert [(s.number, s.part_number, s.serial_number, s.status) for s in inventory.power_supplies] == [
        (0, "MTEF-PSF-AC-C", "MT2000X00003", None), (1, "MTEF-PSF-AC-C", "MT2000X00004", None),
    ]  # fmt: skip
    vitals = one("vitals")
    assert (vitals.mode, vitals.complete, vitals.uptime_seconds) == (VITALS, None, 16982312)
    assert (vitals.celsius, vitals.max_celsius, vitals.fan_status) == (73, 80, None)
    assert [module[:] for module in vitals.module_temperatures] == [(1, 41), (2, 42), (3, 43)]
    assert [supply.power_watts for supply in vitals.power_supplies] == [92, 102]
    assert [fan.rpm for fan in vitals.fans] == [6355, 5421, 6570]


def test_two_switches_one_after_the_other() -> None:
    first, second = parse(text_of("status")).value
    assert (first.mode, first.complete, second.complete) == (STATUS, True, True)
    assert [supply[:4] for supply in first.power_supplies] == [(0, "OK", "OK", "OK"), (1, "OK", "ERROR", "ERROR")]
    assert [supply[:4] for supply in second.power_supplies] == [(0, "OK", "OK", "OK")]
    both = parse(text_of("all") + text_of("modules")).value
    assert [switch.part_number for switch in both] == ["MQM9790-NS2F", "MSB7790-ES2F"]
    assert [switch.device for switch in both] == ["lid-16", None]


def test_rows_of_older_versions() -> None:
    text = text_of("vitals").replace("module#", "QSFP#")
    assert [module.celsius for module in parse(text).value[0].module_temperatures] == [41, 42, 43]
    old = text_of("inventory").replace("node_description   :", "node_desription    :")
    assert parse(old).value[0].description == "leaf: 3"


def test_what_the_script_complains_of() -> None:
    parsed = parse("error:  Can't find access register name: MSCI\n" + text_of("status"))
    assert [problem.kind for problem in parsed.problems] == ["tool-error"]


def test_a_complaint_above_the_name() -> None:
    text = text_of("cut").replace(" MF0;", "ibwarn: [7] mad_rpc: x\n MF0;")
    assert parse(text).value[0].description == "MF0;ib-l1:MQM9700/U1"
    lost = text_of("cut").replace("=" * 49 + "\npart", "part")
    assert (parse(lost).value[0].description, parse(lost).value[0].part_number) == (
        "MF0;ib-l1:MQM9700/U1", "MQM9700-NS2F",
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_cut_is_told_or_harmless(name: str) -> None:
    text = text_of(name)
    whole = parse(text).value
    for end in range(1, len(text), 11):
        with suppress(NotThisFormat):
            for part, full in zip(parse(text[:end]).value, whole, strict=False):
                for field in part._fields:
                    value = getattr(part, field)
                    if field in ("power_supplies", "fans", "module_temperatures"):
                        for one, other in zip(value, getattr(full, field), strict=False):
                            assert all(a in (None, b) for a, b in zip(one, other, strict=True)), (end, field)
                    elif field not in ("complete", "line"):
                        assert value in (None, getattr(full, field)), (end, field)


@pytest.mark.parametrize("text", ["", "=" * 49, "=" * 49 + "\nname\n" + "=" * 49 + "\n", "a | b\n", "fans : OK\nx"])
def test_other_texts(text: str) -> None:
    with pytest.raises(NotThisFormat, match=r"^f: not ibswinfo"):
        parse(text.replace("fans", "fns"), source="f")


PIECES = st.sampled_from([
    "=" * 49 + "\n", "-" * 49 + "\n", "name\n", "part number        | x\n", "PSU0 status        | OK\n",
    "     power (W)     | " + "9" * 5000 + "\n", "fan#1 (rpm)        | 1\n", "fan#" + "9" * 300 + " (rpm) | 1\n",
    "uptime (d-h:m:s)   | 999999999d-00:00:00\n", "warn threshold (C) | 1/2 (low/high)\n", "fans : OK\n", "\ud800", "|",
    "GUID | 0x\n", "ports | -1\n", "ibswinfo.sh -d lid-1\n", "error: x\n", "fan status         | ERROR\n", "\x00",
    "psu0.dc : OK\n",
])  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=20), max_size=40))
def test_it_never_raises_anything_else(pieces: list[str]) -> None:
    with suppress(NotThisFormat):
        for switch in parse("".join(pieces)).value:
            assert switch.ports is None or 0 < switch.ports < 255


def test_linear_time() -> None:
    start = time.process_time()
    for line in (
        "a" + " " * 60_000 + "|",
        "a |" * 20_000,
        "ibswinfo " * 6000,
        "=" * 60_000,
        "fan#1 (rpm)" + " " * 50_000,
    ):
        with suppress(NotThisFormat):
            parse(f"{line}\n" * 100)
    assert time.process_time() - start < 10
