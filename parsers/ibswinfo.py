"""``ibswinfo``: power supplies, fans, temperatures and inventory of an unmanaged switch.

``key | value`` rows with all of it, or ``key : value`` rows with ``-o inventory``, ``status`` or ``vitals``. The keys
were read off the script that prints them (stanford-rc/ibswinfo, versions 0.1 to 0.7) and off public outputs. It reads
registers through NVIDIA's MFT and decodes them by guess, so that what a reader must know is mostly about its values:

* A row without a value is not printed: a power supply without DC power has no row for its power.
* The script takes a register that it cannot read for 0: temperatures of 0 C and firmware 0.0000.0000 are no readings.
  Switch-IB tells no temperatures of modules. Nor is a fan at 0 rpm proven to stand still, unless the switch says that a
  fan is out of its range.
* With some versions of MFT two registers are taken for one number: 171798691880 ports.
* The switch is named by its description alone; what was asked for (``lid-16``) is in the command of a terminal's log.
* The last line of all of it is a ruler; of the targeted outputs only ``status`` has an end, the row of the fans.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.diag_messages import parse_line
from ibkit.parsers.lines import BEFORE, Problems, count_of, lines_of
from ibkit.parsers.records import NamedTuple

ALL, INVENTORY, STATUS, VITALS = "all", "inventory", "status", "vitals"
#: InfiniBand Architecture Specification volume 1, 14.2.5.3: the number of ports has 8 bits.
MAX_PORTS = 254
#: What sensors of a switch can tell; more is no reading.
MAX_CELSIUS, MAX_WATTS, MAX_RPM = 150, 20_000, 60_000
MAX_SECONDS = 0xFFFFFFFF  # the register has 32 bits


class PowerSupply(NamedTuple):
    """Words are as printed: OK or ERROR. ``power_watts`` is None, too, where the supply gives none."""

    number: int
    status: str | None = None
    dc_power: str | None = None
    fan_status: str | None = None
    power_watts: int | None = None
    part_number: str | None = None
    serial_number: str | None = None


class Fan(NamedTuple):
    """``rpm`` is None where it was not read."""

    number: int
    rpm: int | None


class Module(NamedTuple):
    """A transceiver's cage; ``celsius`` is None where it tells no temperature, or is empty."""

    number: int
    celsius: int | None


class SwitchInfo(NamedTuple):
    """One output, see ALL to VITALS. None is what it does not tell, or what cannot be a reading. ``guid`` is a plain
    integer; ``ports`` counts the cages where the script does not tell cages and ports apart (before 0.8).

    ``device`` is what was asked for, from the command in a terminal's log.
    """

    mode: str
    line: int
    complete: bool | None = None
    device: str | None = None
    description: str | None = None
    part_number: str | None = None
    serial_number: str | None = None
    product_name: str | None = None
    revision: str | None = None
    modules: int | None = None
    ports: int | None = None
    psid: str | None = None
    guid: int | None = None
    firmware: str | None = None
    cpld: str | None = None
    uptime_seconds: int | None = None
    celsius: int | None = None
    max_celsius: int | None = None
    warn_low_celsius: int | None = None
    warn_high_celsius: int | None = None
    fan_status: str | None = None
    power_supplies: tuple[PowerSupply, ...] = ()
    fans: tuple[Fan, ...] = ()
    module_temperatures: tuple[Module, ...] = ()


_ROW = re.compile(r"(?P<key>[A-Za-z].{0,40}?) {1,20}(?P<bar>[|:])(?: (?P<value>.*))?\Z")
_RULER = re.compile(r"([-=])\1{46,60}\Z")
_COMMAND = re.compile(r".{0,200}?\bibswinfo(?:\.sh)?\b.{0,200}? -d[ =]?(\S{1,128})")
_FAILURE = re.compile(r"error: +\S")
_SUPPLY = re.compile(r"PSU(\d{1,3}) status\Z|psu(\d{1,3})\.(.{1,20})\Z")
_FAN = re.compile(r"fan#(\d{1,3})(?:\.speed)? \(rpm\)\Z")
_MODULE = re.compile(r"(?:module|QSFP)#(\d{1,3})(?:\.temp)? \(C\)\Z")
_UPTIME = re.compile(r"(\d{1,6})d-(\d\d):(\d\d):(\d\d)\Z")
_GUID = re.compile(r"0x[0-9a-fA-F]{1,16}\Z")
_THRESHOLDS = re.compile(r"(\d{1,9})/(\d{1,9}) \(low/high\)\Z")

#: Fields of the rows of the whole output, of those below a supply in it, and of the targeted outputs.
_FIELDS = {
    "part number": "part_number", "serial number": "serial_number", "product name": "product_name",
    "revision": "revision", "ports": "ports", "max ports": "ports", "modules": "modules", "PSID": "psid",
    "GUID": "guid", "firmware version": "firmware", "CPLD": "cpld", "uptime (d-h:m:s)": "uptime_seconds",
    "temperature (C)": "celsius", "max temp (C)": "max_celsius", "warn threshold (C)": "thresholds",
    "fan status": "fan_status",
}  # fmt: skip
_SUPPLY_FIELDS = {
    "P/N": "part_number", "S/N": "serial_number", "DC power": "dc_power", "fan status": "fan_status",
    "power (W)": "power_watts",
}  # fmt: skip
_TARGETED = {
    "node_description": ("description", INVENTORY), "node_desription": ("description", INVENTORY),  # so in 0.1 to 0.4
    "part_number": ("part_number", INVENTORY), "serial": ("serial_number", INVENTORY),
    "product_name": ("product_name", INVENTORY), "revision": ("revision", INVENTORY),
    "fw_version": ("firmware", INVENTORY), "cpld": ("cpld", INVENTORY), "fans": ("fan_status", STATUS),
    "uptime (sec)": ("uptime_seconds", VITALS), "cur.temp (C)": ("celsius", VITALS),
    "max.temp (C)": ("max_celsius", VITALS),
}  # fmt: skip
_TARGETED_SUPPLY = {
    "part_number": ("part_number", INVENTORY), "serial": ("serial_number", INVENTORY), "status": ("status", STATUS),
    "dc": ("dc_power", STATUS), "fan": ("fan_status", STATUS), "power (W)": ("power_watts", VITALS),
}  # fmt: skip


def parse(text: str, *, source: str = "") -> Parsed[tuple[SwitchInfo, ...]]:
    """Read the outputs of all switches. ``complete`` is False where one is known to be cut, else None.

    Raises NotThisFormat where there is none.
    """
    lines, long_lines = lines_of(text, source, names_unquoted=True)
    reader = _Reader(Problems(source, long_lines))
    for number, line in enumerate(lines, 1):
        reader.feed(number, line.lstrip(BEFORE).rstrip(), is_cut=number == len(lines))
    reader.close()
    if not reader.switches:
        raise NotThisFormat(f"{source or 'input'}: not ibswinfo: no row like 'part number        | MQM8790-HS2F' in it")
    cut = bool(long_lines) or any(switch.complete is False for switch in reader.switches)
    return Parsed(tuple(reader.switches), reader.problems.all(), False if cut else None)


class _Key(NamedTuple):
    """What a row is about: a field of the switch itself, or of a part of it, in the output of ``mode``."""

    mode: str
    field: str
    part: str | None = None
    number: int = 0


class _Rows:
    """The rows of a switch, or of a part of it: texts by field, with their lines."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, int]] = {}
        self.bad: list[tuple[str, str, int]] = []

    def __contains__(self, field: str) -> bool:
        return field in self._rows

    def add(self, field: str, text: str, line: int) -> None:
        """A row."""
        self._rows[field] = text, line

    def text(self, field: str) -> str | None:
        """What is printed; None for nothing."""
        return self._rows.get(field, ("", 0))[0] or None

    def number(self, field: str, maximum: int) -> int | None:
        """A number above 0; 0, and what is no number or more than ``maximum``, is none. See the module."""
        text, line = self._rows.get(field, ("", 0))
        number = count_of(text)
        if text and (number is None or number > maximum):
            self.bad.append((field, text, line))
            return None
        return number or None


class _Reader:
    """The switch that is being read, and the finished ones."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.switches: list[SwitchInfo] = []
        self._device: str | None = None
        self._title: str | None = None
        self._in_title = False
        self._line = 0
        self._mode: str | None = None
        self._parts: dict[tuple[str | None, int], _Rows] = {}
        self._supply: int | None = None
        self._ended = False

    def feed(self, number: int, line: str, *, is_cut: bool) -> None:
        if ruler := _RULER.match(line):
            self._ruler(number, ruler[1])
        elif self._in_title and self._title is None:
            if not parse_line(line):  # what the tools below it say on stderr may come in between
                self._title = line
        elif command := _COMMAND.match(line):
            self.close()
            self._device = command[1]
        elif _FAILURE.match(line):
            self.problems.add("tool-error", line[:300], number)
        elif (row := _ROW.match(line)) and (key := self._key(row["key"], row["bar"])):
            self._row(number, key, (row["value"] or "").strip(), is_cut=is_cut)
        else:
            self.problems.noise.add(number, line)

    def _ruler(self, number: int, kind: str) -> None:
        if kind == "-":
            self._supply = None
            self._ended = "fan_status" in self._parts.get((None, 0), ())
        elif self._in_title:
            self._in_title = False
        else:
            self.close()
            self._in_title, self._line, self._mode = True, number, ALL

    def _key(self, key: str, bar: str) -> _Key | None:
        """What a row is about; None where it is none of the tool's."""
        if part := _FAN.match(key):
            return _Key(ALL if bar == "|" else VITALS, "rpm", "fan", int(part[1]))
        if part := _MODULE.match(key):
            return _Key(ALL if bar == "|" else VITALS, "celsius", "module", int(part[1]))
        supply = _SUPPLY.match(key)
        if bar == ":":
            if supply and supply[3] in _TARGETED_SUPPLY:
                field, mode = _TARGETED_SUPPLY[supply[3]]
                return _Key(mode, field, "psu", int(supply[2]))
            return _Key(_TARGETED[key][1], _TARGETED[key][0]) if key in _TARGETED else None
        if supply and supply[1]:
            self._supply = int(supply[1])
            return _Key(ALL, "status", "psu", self._supply)
        if self._supply is not None and key in _SUPPLY_FIELDS:
            return _Key(ALL, _SUPPLY_FIELDS[key], "psu", self._supply)
        self._supply = None
        return _Key(ALL, _FIELDS[key]) if key in _FIELDS else None

    def _row(self, number: int, key: _Key, value: str, *, is_cut: bool) -> None:
        place = key.part, key.number
        if key.mode != self._mode or key.field in self._parts.get(place, ()):
            self.close()
            self._mode, self._line = key.mode, number
        self._ended = key == _Key(STATUS, "fan_status") and not is_cut
        if is_cut:
            self.problems.add("truncated", "the text ends inside this line, so it is not taken", number)
        self._parts.setdefault(place, _Rows()).add(key.field, "" if is_cut else value, number)

    def close(self) -> None:
        """Finish the switch."""
        mode, parts = self._mode, self._parts
        if mode is not None and parts:
            whole = self._ended if mode in (ALL, STATUS) else None
            if whole is False:
                self.problems.add("cut-output", "the tool's output ends too early", self._line)
            info = SwitchInfo(mode, self._line, whole, self._device, self._title or None)
            self.switches.append(_switch(info, parts))
            for field, text, line in (bad for rows in parts.values() for bad in rows.bad):
                self.problems.add("bad-value", f"{field.replace('_', ' ')}: {text[:60]!r} is no possible value", line)
            self._device = None
        self._mode, self._parts, self._supply, self._ended = None, {}, None, False
        self._title, self._in_title = None, False


def _switch(info: SwitchInfo, parts: dict[tuple[str | None, int], _Rows]) -> SwitchInfo:
    own = parts.get((None, 0), _Rows())
    guid, thresholds = own.text("guid") or "", _THRESHOLDS.match(own.text("thresholds") or "")
    low, high = (int(text) for text in thresholds.groups()) if thresholds else (0, 0)
    firmware = own.text("firmware")
    return info._replace(
        description=own.text("description") or info.description,
        part_number=own.text("part_number"),
        serial_number=own.text("serial_number"),
        product_name=own.text("product_name"),
        revision=own.text("revision"),
        modules=own.number("modules", MAX_PORTS),
        ports=own.number("ports", MAX_PORTS),
        psid=own.text("psid"),
        guid=int(guid, 16) if _GUID.match(guid) else None,
        firmware=None if firmware == "0.0000.0000" else firmware,
        cpld=own.text("cpld"),
        uptime_seconds=_seconds(own),
        celsius=own.number("celsius", MAX_CELSIUS),
        max_celsius=own.number("max_celsius", MAX_CELSIUS),
        warn_low_celsius=low if 0 < low <= MAX_CELSIUS else None,
        warn_high_celsius=high if 0 < high <= MAX_CELSIUS else None,
        fan_status=own.text("fan_status"),
        power_supplies=tuple(_supply(number, rows) for number, rows in _of("psu", parts)),
        fans=tuple(Fan(number, _rpm(own, rows)) for number, rows in _of("fan", parts)),
        module_temperatures=tuple(
            Module(number, rows.number("celsius", MAX_CELSIUS)) for number, rows in _of("module", parts)
        ),
    )


def _of(part: str, parts: dict[tuple[str | None, int], _Rows]) -> list[tuple[int, _Rows]]:
    return [(number, rows) for (kind, number), rows in parts.items() if kind == part]


def _supply(number: int, rows: _Rows) -> PowerSupply:
    return PowerSupply(
        number,
        rows.text("status"),
        rows.text("dc_power"),
        rows.text("fan_status"),
        rows.number("power_watts", MAX_WATTS),
        rows.text("part_number"),
        rows.text("serial_number"),
    )


def _rpm(own: _Rows, rows: _Rows) -> int | None:
    """0 counts where the switch itself says that fans are out of their range."""
    if rows.text("rpm") == "0" and own.text("fan_status") == "ERROR":
        return 0
    return rows.number("rpm", MAX_RPM)


def _seconds(own: _Rows) -> int | None:
    found = _UPTIME.match(own.text("uptime_seconds") or "")
    if not found:
        return own.number("uptime_seconds", MAX_SECONDS)
    days, hours, minutes, seconds = map(int, found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
