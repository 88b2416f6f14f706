"""Rules about transceivers, bit errors as ports count them themselves, and the environment of switches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ibkit.display import counted, first_few
from ibkit.model.findings import CRITICAL, INFO, WARNING, Fact, Finding, Place, Undecided, all_of
from ibkit.model.hardware import BoardFirmware, Hardware
from ibkit.parsers.mlxlink import Measured
from ibkit.rules.evidence import HARDWARE, Evidence
from ibkit.rules.rule import Limit, Limits, rule
from ibkit.rules.tallies import spell

#: What ibswinfo prints where something is wrong; any other word but OK is none that it knows.
_BAD, _GOOD = "ERROR", "OK"
#: Power of a lane that gets no light.
_NO_LIGHT_DBM = -40.0


@rule(
    "R21", "bit-error-ratio", WARNING, needs=(HARDWARE,),
    limits=(
        Limit("short_window", 12, "minutes for the ratio of 1e-14"),
        Limit("long_window", 125, "minutes for the ratio of 1e-15"),
    ),
    source="Mellanox/ufm_sdk_3.0 pdr_deterministic_plugin; mstflint mlxlink (Effective Physical BER)",
)  # fmt: skip
def bit_error_ratio(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The bit error ratio behind the error correction, as the port itself tells it, is above what it may be.

    Threshold: 1e-14 from 12 minutes after the counters were cleared on, 1e-15 from 125 minutes on; sooner there is no
    verdict. A register at its floor (15E-255) has seen no error. Ratios before the correction are as high as they are
    on purpose, and not looked at.

    Why: what the correction does not mend damages packets.

    Next: clean and reseat both ends, then swap the cable; look at the module's optical powers (`mlxlink -m`).

    Else: the link trained in that time.
    """
    for port in evidence.hardware.ports:
        told = port.counters
        ratio = told.effective_ber.ratio if told and told.effective_ber else None
        if told is None or ratio is None or port.is_up is False:
            continue
        minutes = told.minutes_since_clear
        if minutes is None or minutes < limits["short_window"]:
            if ratio > 1e-15:
                yield Undecided("a bit error ratio stands on too little time, or on time that is not told",
                                f"read it {spell(60 * limits['short_window'])} after it was cleared")  # fmt: skip
            continue
        limit = 1e-15 if minutes >= limits["long_window"] else 1e-14
        if ratio > limit:
            what = f"a bit error ratio of {ratio:.1e} in {spell(60 * minutes)}, {limit:.0e} is the limit"
            yield Finding(what, (port.place,), (Fact(what, port.source, port.line),))


@rule(
    "R52", "hot-module", WARNING, needs=(HARDWARE,),
    limits=(
        Limit("warning", 70, "degrees Celsius"), Limit("critical", 75, "degrees Celsius"),
        Limit("rise", 10, "degrees Celsius since the earlier capture"),
    ),
    source="Mellanox/ufm_sdk_3.0 pdr_deterministic_plugin (70, and a rise of 10); scitix/sichek (75)",
)  # fmt: skip
def hot_module(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A transceiver is hot, or has become much warmer since the earlier capture.

    Threshold: 70 degrees Celsius, critical from 75 on, or above the module's own alarm limit if that is lower; or a
    rise of 10. A temperature of 0 is none: cables without a sensor print it.

    Why: lasers age fast and lose power in heat, and modules switch themselves off.

    Next: look at the fans of the switch or host, at blanks that are missing and at cables in the way of the air.

    Else: an active optical cable near its full power, in a warm aisle.
    """
    readings = list(_temperatures(evidence.hardware))
    earlier = evidence.collected.earlier_hardware
    before = {place: celsius for place, celsius, _, _ in _temperatures(earlier)} if earlier else {}
    for place, celsius, alarm, fact in readings:
        critical = min(limits["critical"], alarm or limits["critical"])
        if celsius >= min(limits["warning"], critical):
            severity = CRITICAL if celsius >= critical else WARNING
            yield Finding(f"the module has {celsius:g} degrees Celsius", (place,), (fact,), severity)
        elif celsius - before.get(place, celsius) >= limits["rise"]:
            what = f"the module has {celsius:g} degrees Celsius, before it had {before[place]:g}"
            yield Finding(what, (place,), (fact,), since=evidence.collected.since)
    if not readings:
        yield Undecided("no module tells its temperature", "`mlxlink -d DEVICE -m` as root, or ibdiagnet's db_csv")


def _temperatures(hardware: Hardware) -> Iterator[tuple[Place, float, float | None, Fact]]:
    """Each module's place, its temperature, and its own alarm limit where it tells one."""
    for port in hardware.ports:
        measured = port.module.celsius if port.module else None
        if measured and measured.values and measured.values[0]:
            text = f"{measured.values[0]:g} C, its alarm limit is {measured.high:g}"
            yield port.place, measured.values[0], measured.high or None, Fact(text, port.source, port.line)
    for cable in hardware.cables:
        yield cable.place, cable.celsius, None, Fact(f"{cable.celsius:g} C", cable.source, cable.line)
    for switch in hardware.switches:
        for module in switch.info.module_temperatures:
            if module.celsius:
                place = switch.place._replace(label=f"cage {module.number}")
                yield place, module.celsius, None, Fact(f"{module.celsius} C", switch.source, switch.info.line)


@rule(
    "R53", "optical-power", CRITICAL, needs=(HARDWARE,), limits=(Limit("margin_db", 1, "dB within the alarm limits"),),
    source="scitix/sichek (the module's own alarm limits, 1 dB of margin)",
)  # fmt: skip
def optical_power(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A lane of an optical module sends or receives too much or too little light.

    Threshold: the module's own alarm limits; within 1 dB of them is a warning. Ports without a link are not looked at,
    nor are modules that tell no limits.

    Why: such a lane makes bit errors, or makes the link train without it.

    Next: clean the connectors first, then swap the cable, then the module; too little sent light is the module itself.

    Else: a fibre that is bent or longer than the module is made for.
    """
    known = False
    for port in evidence.hardware.ports:
        if port.module is None or port.is_up is False:
            continue
        for way, measured in (("receives", port.module.rx_power_dbm), ("sends", port.module.tx_power_dbm)):
            if measured is None or not measured.low < measured.high:
                continue
            known = True
            bad = list(_bad_lanes(measured, limits["margin_db"]))
            if bad:
                lanes = ", ".join(f"lane {lane} {_power(value)}" for lane, value, _ in bad)
                what = f"the module {way} light outside of {measured.low:g} to {measured.high:g} dBm: {lanes}"
                severity = "" if any(is_alarm for _, _, is_alarm in bad) else WARNING
                if severity:
                    what = (
                        f"the module {way} light near its limits, {measured.low:g} and {measured.high:g} dBm: {lanes}"
                    )
                yield Finding(what, (port.place,), (Fact(what, port.source, port.line),), severity)
    if not known:
        yield Undecided("no optical module tells its powers", "`mlxlink -d DEVICE -m` as root; copper has none")


def _bad_lanes(measured: Measured, margin: float) -> Iterator[tuple[int, float, bool]]:
    """Lane, its power and whether it is beyond the alarm limits, not merely near them."""
    for lane, value in enumerate(measured.values, 1):
        if not measured.low + margin <= value <= measured.high - margin:
            yield lane, value, not measured.low <= value <= measured.high


def _power(dbm: float) -> str:
    return "no light" if dbm <= _NO_LIGHT_DBM else f"{dbm:g} dBm"


@rule(
    "R54", "hot-switch", WARNING, needs=(HARDWARE,),
    limits=(Limit("warning", 80, "degrees Celsius"), Limit("critical", 90, "degrees Celsius")),
    source="SckyzO/infiniband_exporter docs/alerts.md",
)  # fmt: skip
def hot_switch(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The chip of a switch is hot.

    Threshold: 80 degrees Celsius, critical from 90 on, or from the switch's own warning limit on if that is lower. 0 is
    no reading.

    Why: it switches ports, then itself, off.

    Next: look at its fans and power supplies, and whether it blows in the direction of the aisle.
    """
    known = False
    for switch in evidence.hardware.switches:
        celsius = switch.info.celsius
        if not celsius:
            continue
        known = True
        own = switch.info.warn_high_celsius
        critical = min(limits["critical"], own or limits["critical"])
        if celsius >= min(limits["warning"], critical):
            what = f"the switch has {celsius} degrees Celsius" + (f", it warns from {own} on" if own else "")
            severity = CRITICAL if celsius >= critical else WARNING
            yield Finding(what, (switch.place,), (Fact(what, switch.source, switch.info.line),), severity)
    if not known:
        yield Undecided(
            "no switch tells its temperature", "`ibswinfo -d lid-LID` of unmanaged switches, saved as a file"
        )


@rule(
    "R55",
    "power-supply",
    CRITICAL,
    needs=(HARDWARE,),
    source="treydock/infiniband_exporter; SckyzO/infiniband_exporter",
)
def power_supply(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """A power supply of a switch, or its DC output, is in error.

    Threshold: the switch's own word, ERROR.

    Why: the next one that fails takes the switch with it.

    Next: look at the cord and the feed, then swap the supply.

    Else: a supply that was never plugged in.
    """
    unknown = False
    for switch in evidence.hardware.switches:
        for supply in switch.info.power_supplies:
            words = {"status": supply.status, "DC power": supply.dc_power, "fan": supply.fan_status}
            bad = [name for name, word in words.items() if word == _BAD]
            unknown |= supply.status not in (_BAD, _GOOD)
            if bad:
                what = f"power supply {supply.number}: {', '.join(bad)} in error"
                yield Finding(what, (switch.place,), (Fact(what, switch.source, switch.info.line),))
    if unknown or not evidence.hardware.switches:
        yield Undecided("the state of power supplies is not known", "`ibswinfo -d lid-LID -o status`, saved as a file")


@rule(
    "R55", "switch-fans", WARNING, needs=(HARDWARE,), source="treydock/infiniband_exporter; SckyzO/infiniband_exporter"
)
def switch_fans(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """The fans of a switch are in error, by its own word.

    Threshold: the switch's own word, ERROR. A fan at 0 rpm alone is none: a register that was not read looks like it.

    Why: the switch gets hot and switches itself off.

    Next: swap the fan; look at `ibswinfo -o vitals` which one it is.
    """
    unknown = False
    for switch in evidence.hardware.switches:
        unknown |= switch.info.fan_status not in (_BAD, _GOOD)
        if switch.info.fan_status == _BAD:
            still = [fan.number for fan in switch.info.fans if fan.rpm == 0]
            what = "the fans are in error" + (f", at 0 rpm: {first_few(map(str, still))}" if still else "")
            yield Finding(what, (switch.place,), (Fact(what, switch.source, switch.info.line),))
    if unknown or not evidence.hardware.switches:
        yield Undecided("the state of fans is not known", "`ibswinfo -d lid-LID -o status`, saved as a file")


@rule(
    "R50",
    "node-firmware-differs",
    WARNING,
    needs=(HARDWARE,),
    source="xcat2/xcat-core tools/test_hca_state; NVIDIA ibdiagnet",
)
def node_firmware_differs(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Switches or adapters with one board id (PSID) run different firmware, as ibswinfo or ibdiagnet tells.

    Threshold: none.

    Why: equal devices behave differently, and a fault that an update mended comes back on some of them.

    Next: update the older ones.

    Else: an update that is going on.
    """
    boards: dict[str, list[BoardFirmware]] = {}
    for one in evidence.hardware.firmware:
        boards.setdefault(one.board_id, []).append(one)
    for board, nodes in boards.items():
        versions = Counter(node.version for node in nodes)
        if len(versions) < 2:
            continue
        usual = max(sorted(versions), key=lambda version: versions[version])
        told = "; ".join(f"{version} on {counted(count, 'node')}" for version, count in versions.most_common())
        members = tuple(
            Finding(f"firmware {node.version}, most have {usual}", (node.place,),
                    (Fact(f"board {board}: firmware {node.version}", node.source, node.line),))
            for node in nodes if node.version != usual
        )  # fmt: skip
        yield all_of(f"boards {board} run different firmware: {told}", members, *members[0].evidence)
    if not boards:
        yield Undecided("the firmware of switches is not known", "ibdiagnet's db_csv, or `ibswinfo`, saved as a file")


@rule(
    "R49",
    "ibdiagnet-findings",
    WARNING,
    needs=(HARDWARE,),
    source="NVIDIA ibdiagnet, sections ERRORS_ and WARNINGS_ of its db_csv",
)
def ibdiagnet_findings(evidence: Evidence, limits: Limits) -> Iterator[Finding | Undecided]:
    """Ibdiagnet itself found something. All of one kind are one finding; its warnings are information.

    Threshold: ibdiagnet's own.

    Why: it looks at the chips in ways that others cannot.

    Next: its log has the words; its manual says what each kind means.

    Else: ibdiagnet was told to be strict, or read counters that were never cleared.
    """
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for place, report in evidence.hardware.reports:
        fact = Fact(report.text or report.event, evidence.hardware.source, report.line)
        places = (place,) if place.guid is not None else ()
        kinds.setdefault((report.level, report.check, report.event), []).append(
            Finding(report.text or report.event, places, (fact,))
        )
    for (level, check, event), found in kinds.items():
        what = f"ibdiagnet: {event} ({check}), {counted(len(found), level)}; {found[0].what}"
        made = all_of(what, tuple(found), *found[0].evidence)
        yield made._replace(severity=WARNING if level == "error" else INFO)
