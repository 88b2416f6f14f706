"""``mlxlink``: a port's state, speed and width, advice, firmware; with ``-c`` bit error ratios, with ``-m`` its module.

Rows differ between versions and cards, and what is not there was not told: on a BlueField-3 some of those about bit
errors are missing, which is no zero. The keys were read off the program (mstflint 4.32,
``mlxlink/modules/mlxlink_commander.cpp``) and off public outputs; :mod:`ibkit.parsers.mlxlink_sections` has the form.
What a reader must know:

* A bit error ratio is coefficient and magnitude of a register, ``3E-8``. A clean link holds ``15E-255``, the register's
  floor, which is no measurement. The ratios and errors of the single lanes have keys that begin like those of all.
* A cable that measures nothing prints ``0 [0..0]``, or N/A: the limits beside a value tell whether it is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.bit_errors import BitErrorRatio, ratio_of
from ibkit.parsers.erased import TypeVar
from ibkit.parsers.lines import count_of
from ibkit.parsers.mlxlink_sections import COUNTERS, MODULE, PORT, SUPPORTED, TOOL, TROUBLESHOOTING, read
from ibkit.parsers.records import NamedTuple

#: More lanes than a port has.
MAX_LANES = 64

_NUMBER = re.compile(r"[+-]?[0-9]{1,9}(?:\.[0-9]{1,12})?(?:[eE][+-]?[0-9]{1,3})?\Z")
_MEASURED = re.compile(r"(?P<values>\S{1,200}) ?\[(?P<low>\S{1,20}?)\.\.(?P<high>\S{1,20})\]\Z")
_LISTED = re.compile(r"(?:0x[0-9a-fA-F]{1,8} )?\((?P<values>.*)\)\Z")


class PhysicalCounters(NamedTuple):
    """What ``-c`` shows. Effective errors are those behind the error correction, raw ones those before it. Errors of
    symbols are told of InfiniBand only.
    """

    minutes_since_clear: float | None = None
    symbol_errors: int | None = None
    symbol_ber: BitErrorRatio | None = None
    effective_errors: int | None = None
    effective_ber: BitErrorRatio | None = None
    raw_errors_per_lane: tuple[int, ...] | None = None
    raw_ber_per_lane: tuple[BitErrorRatio, ...] | None = None
    raw_ber: BitErrorRatio | None = None
    link_downed: int | None = None
    link_error_recoveries: int | None = None


class Measured(NamedTuple):
    """A measured quantity, of each lane where it has several values, and its alarm limits."""

    values: tuple[float, ...]
    low: float
    high: float


class TransceiverInfo(NamedTuple):
    """What ``-m`` shows of the transceiver or cable; texts as printed. ``diagnostics`` is whether it says that it
    measures; power is in dBm, and -40 stands for none at all. A module that cables plug into has no length of its own.
    """

    identifier: str | None = None
    compliance: str | None = None
    technology: str | None = None
    cable_type: str | None = None
    vendor: str | None = None
    part_number: str | None = None
    serial_number: str | None = None
    revision: str | None = None
    firmware: str | None = None
    wavelength_nm: float | None = None
    length_m: float | None = None
    power_class: str | None = None
    max_power: str | None = None
    state: str | None = None
    diagnostics: bool | None = None
    celsius: Measured | None = None
    voltage_mv: Measured | None = None
    bias_ma: Measured | None = None
    rx_power_dbm: Measured | None = None
    tx_power_dbm: Measured | None = None


class MlxlinkPort(NamedTuple):
    """One port as printed; ``speed`` is ``IB-NDR`` or ``100G``, ``width`` ``4x``. ``counters`` and ``module`` are None
    where the tool was not asked for them. ``other`` has the rows that have no field here, by section.
    """

    device: str | None = None
    port: int = 1
    state: str | None = None
    physical_state: str | None = None
    speed: str | None = None
    width: str | None = None
    fec: str | None = None
    status_opcode: str | None = None
    recommendation: str | None = None
    firmware: str | None = None
    loopback: str | None = None
    auto_negotiation: str | None = None
    enabled_speeds: tuple[str, ...] | None = None
    cable_speeds: tuple[str, ...] | None = None
    group_opcode: str | None = None
    tool_version: str | None = None
    counters: PhysicalCounters | None = None
    module: TransceiverInfo | None = None
    other: dict[str, dict[str, str]] | None = None
    line: int | None = None


def parse(text: str, *, source: str = "") -> Parsed[tuple[MlxlinkPort, ...]]:
    """Read all ports. ``complete`` is False where the text ends inside one, else None.

    Raises NotThisFormat where there is no heading of the tool.
    """
    outputs, problems, cut = read(text, source, PORT)
    if not outputs:
        raise NotThisFormat(f"{source or 'input'}: no heading {PORT!r}, so not output of mlxlink")
    ports = []
    for output in outputs:
        rows = {title: _Rows(section) for title, section in output.sections.items()}
        port = _port(rows)._replace(device=output.device, port=output.port, line=output.line)
        bad = [(key, text) for section in rows.values() for key, text in section.bad]
        for key, value in bad:
            problems.add("bad-value", f"{key}: {value[:80]!r} is no possible value", output.line)
        ports.append(port)
    return Parsed(tuple(ports), problems.all(), False if cut else None)


T = TypeVar("T")


class _Rows:
    """The rows of a section, taken out one by one; ``bad`` are those whose value makes no sense."""

    def __init__(self, rows: dict[str, str]) -> None:
        self.left = dict(rows)
        self.bad: list[tuple[str, str]] = []

    def text(self, *keys: str) -> str | None:
        """The value of the first key that is there."""
        found = [self.left.pop(key) for key in keys if key in self.left]
        return found[0] if found else None

    def value(self, key: str, read_value: Callable[[str], T | None]) -> T | None:
        """What ``read_value`` makes of the value."""
        text = self.text(key)
        value = read_value(text) if text is not None else None
        if text is not None and value is None:
            self.bad.append((key, text))
        return value

    def measured(self, key: str) -> Measured | None:
        """Values with their limits; limits of 0 are those of a cable that measures nothing."""
        measured = self.value(key, _measured)
        return measured if measured and (measured.low or measured.high) else None


def _port(sections: dict[str, _Rows]) -> MlxlinkPort:
    state, supported = sections.get(PORT, _Rows({})), sections.get(SUPPORTED, _Rows({}))
    trouble, tool = sections.get(TROUBLESHOOTING, _Rows({})), sections.get(TOOL, _Rows({}))
    port = MlxlinkPort(
        state=state.text("State"),
        physical_state=state.text("Physical state"),
        speed=state.text("Speed"),
        width=state.text("Width"),
        fec=state.text("FEC"),
        status_opcode=trouble.text("Status Opcode"),
        recommendation=trouble.text("Recommendation"),
        firmware=tool.text("Firmware Version"),
        loopback=state.text("Loopback Mode"),
        auto_negotiation=state.text("Auto Negotiation"),
        enabled_speeds=_listed(supported.text("Enabled Link Speed", "Enabled Link Speed (Ext.)")),
        cable_speeds=_listed(supported.text("Supported Cable Speed", "Supported Cable Speed (Ext.)")),
        group_opcode=trouble.text("Group Opcode"),
        tool_version=tool.text("MFT Version", "mstflint Version"),
        counters=_counters(sections[COUNTERS]) if COUNTERS in sections else None,
        module=_module(sections[MODULE]) if MODULE in sections else None,
    )
    return port._replace(other={title: rows.left for title, rows in sections.items() if rows.left} or None)


def _counters(rows: _Rows) -> PhysicalCounters:
    return PhysicalCounters(
        rows.value("Time Since Last Clear [Min]", _number),
        rows.value("Symbol Errors", count_of),
        rows.value("Symbol BER", ratio_of),
        rows.value("Effective Physical Errors", count_of),
        rows.value("Effective Physical BER", ratio_of),
        rows.value("Raw Physical Errors Per Lane", lambda text: _each(text, count_of)),
        rows.value("Raw Physical BER Per Lane", lambda text: _each(text, ratio_of)),
        rows.value("Raw Physical BER", ratio_of),
        rows.value("Link Down Counter", count_of),
        rows.value("Link Error Recovery Counter", count_of),
    )


def _module(rows: _Rows) -> TransceiverInfo:
    return TransceiverInfo(
        identifier=rows.text("Identifier"),
        compliance=rows.text("Compliance"),
        technology=rows.text("Cable Technology"),
        cable_type=rows.text("Cable Type"),
        vendor=rows.text("Vendor Name"),
        part_number=rows.text("Vendor Part Number"),
        serial_number=rows.text("Vendor Serial Number"),
        revision=rows.text("Rev"),
        firmware=rows.text("FW Version"),
        wavelength_nm=rows.value("Wavelength [nm]", _number) or None,
        length_m=rows.value("Transfer Distance [m]", _number) or None,
        power_class=rows.text("Power Class"),
        max_power=rows.text("MAX Power"),
        state=rows.text("Module State"),
        diagnostics=rows.value("Digital Diagnostic Monitoring", {"Yes": True, "No": False}.get),
        celsius=rows.measured("Temperature [C]"),
        voltage_mv=rows.measured("Voltage [mV]"),
        bias_ma=rows.measured("Bias Current [mA]"),
        rx_power_dbm=rows.measured("Rx Power Current [dBm]"),
        tx_power_dbm=rows.measured("Tx Power Current [dBm]"),
    )


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.match(text) else None


def _each(text: str, read_value: Callable[[str], T | None]) -> tuple[T, ...] | None:
    """The values of all lanes; None where one of them makes no sense."""
    values = [read_value(part.strip()) for part in text.split(",")[:MAX_LANES]]
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None


def _measured(text: str) -> Measured | None:
    found = _MEASURED.match(text)
    values = _each(found["values"], _number) if found else None
    low, high = (_number(found["low"]), _number(found["high"])) if found else (None, None)
    return Measured(values, low, high) if values and low is not None and high is not None else None


def _listed(text: str | None) -> tuple[str, ...] | None:
    """The words in brackets; none where the brackets are empty."""
    found = _LISTED.match(text or "")
    return tuple(word.strip() for word in found["values"].split(",") if word.strip()) if found else None
