"""Read ``ibstat``: all devices, one device, or one port of one device.

Format: infiniband-diags ``ibstat.c`` and libibumad ``umad.c`` (rdma-core 1 to 65). What a reader must know:

- ``ibstat DEVICE PORT`` prints ``CA: 'name'`` and drops the indentation, so that indentation means nothing here.
- A device that cannot be read ends the list with ``ibpanic`` (up to v53) or costs a warning (since v54).
- ``Rate`` is cut to a whole number: 2 is 2.5 Gb/s (1X SDR). ``(FDR10)`` tells it from QDR.
- LIDs are decimal. State words come from tables; a code beyond them is ``???``.
- ``Link layer`` is absent in old versions and ``IB`` where the kernel has no such file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ibkit.parsers.base import MAX_LINE_CHARS, NotThisFormat, Parsed
from ibkit.parsers.endings import is_fragment
from ibkit.parsers.erased import Any
from ibkit.parsers.lines import Problems, lines_of
from ibkit.parsers.records import NamedTuple

#: A terminal log or a mail may set these around each line.
_AROUND = " \t\r>|\u2502"
_DEVICE = re.compile(r"(CA|Switch|Router|iWARP RNIC|\?\?\?)(:)? '(.*)'\Z")
_PORT = re.compile(r"Port ([0-9]{1,3}):\Z")
_KEY = re.compile(r"([A-Za-z?][A-Za-z0-9? ]{0,39}?) *:(?: +|\Z)(.*)\Z")
_TOOL = re.compile(r"ib(panic|warn): \[\d+\] \w+: (.*)\Z")
#: What a shell says of a tool that a signal ended, also behind ``line 3: 1234``.
_CRASH = re.compile(
    r"(?:\S{1,200}: line \d{1,9}: +\d{1,9} )?"
    r"((?:Segmentation fault|Bus error|Aborted|Illegal instruction|Killed|Terminated)(?: +\(core dumped\))?)"
    r"(?: {2,}.*)?\Z"
)
_UNREADABLE = re.compile(r"stat of IB device '(.*)' failed(?:: (.*))?\Z")
_HEXADECIMAL = re.compile(r"0x([0-9a-fA-F]{1,16})\Z")
_DECIMAL = re.compile(r"(?:[0-9]{1,10}|0x[0-9a-fA-F]{1,8})\Z")
_RATE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(?: G[bB]/s(?:ec)?)?(?: *\(([^()]{1,20})\))?\Z")


class IbstatPort(NamedTuple):
    """One port as printed. Rates are in Gb/s; None is what was not printed, empty or not readable.

    ``rate_tag`` is what stands in brackets behind the rate (``FDR10``; ``4X NDR`` in imitations of the tool).
    ``other`` holds the lines of unknown keys.
    """

    number: int
    state: str | None = None
    physical_state: str | None = None
    rate_gbps: float | None = None
    rate_tag: str | None = None
    effective_rate_gbps: float | None = None
    base_lid: int | None = None
    lmc: int | None = None
    sm_lid: int | None = None
    capability_mask: int | None = None
    port_guid: str | None = None
    link_layer: str | None = None
    other: tuple[tuple[str, str], ...] = ()


class IbstatDevice(NamedTuple):
    """One device as printed. ``name`` is None where its heading was lost, ``error`` says why it could not be read."""

    name: str | None
    node_type: str | None = None
    hca_type: str | None = None
    port_count: int | None = None
    firmware: str | None = None
    hardware: str | None = None
    node_guid: str | None = None
    system_image_guid: str | None = None
    ports: tuple[IbstatPort, ...] = ()
    error: str | None = None
    other: tuple[tuple[str, str], ...] = ()


def parse(text: str, *, source: str = "", stderr: str = "") -> Parsed[tuple[IbstatDevice, ...]]:
    """Read all devices. ``complete`` is False where the text is cut or a device could not be read.

    A pasted text has the tool's errors among its lines; ``stderr`` is for who has them apart.
    Raises NotThisFormat where no line names a device.
    """
    lines, long_lines = lines_of(text, source)
    reader = _Reader(source, Problems(source, long_lines))
    whole = not lines[-1]  # else the last line may have lost its end
    for number, line in enumerate(lines, 1):
        reader.read(number, line, cut=not whole and number == len(lines))
    reader.look_for_a_cut(len(lines))
    for number, line in enumerate(stderr.split("\n"), 1):
        reader.read_error(number, line)
    return reader.result()


class _Block:
    """A device or port under construction."""

    def __init__(self, line: int, **known: Any) -> None:
        self.line = line
        self.known: dict[str, Any] = known
        self.seen: set[str] = set(known)
        self.other: list[tuple[str, str]] = []
        self.ports: list[_Block] = []
        self.whole_form = True  # the device's own lines are printed, too


class _Reader:
    """Goes through the lines once. Keys tell where a line belongs, since indentation may be missing."""

    def __init__(self, source: str, problems: Problems) -> None:
        self._source = source
        self._problems = problems
        self._devices: list[_Block] = []
        self._port: _Block | None = None
        self._named = False  # any device was named, so it is output of ibstat
        self._cut = False

    def read(self, number: int, line: str, *, cut: bool) -> None:
        """Take one line; ``cut`` is True where it may lack its end."""
        line = line.strip(_AROUND).removeprefix("\ufeff")
        if not line:
            return
        if found := _DEVICE.match(line):
            device = _Block(number, name=found[3], node_type=found[1])
            device.whole_form = found[2] is None
            self._open_device(device)
        elif found := _TOOL.match(line):
            self._tool_says(number, found[1], found[2])
        elif found := _CRASH.match(line):
            self._tool_died(number, found[1])
        elif found := _PORT.match(line):
            self._open_port(number, int(found[1]))
        elif found := _KEY.match(line):
            self._value(number, found[1], found[2].strip(), cut)
        elif cut and self._devices and is_fragment(line, _STARTS):
            self._cut = True
            self._problems.add("truncated", f"the text ends inside this line: {line[:120]!r}", number)
        elif self._devices:
            self._problems.add("bad-line", f"not a line of ibstat: {line[:120]!r}", number)

    def read_error(self, number: int, line: str) -> None:
        """Take one line of stderr."""
        line = line[:MAX_LINE_CHARS].strip(_AROUND)
        if found := _TOOL.match(line):
            self._tool_says(number, found[1], found[2])
        elif found := _CRASH.match(line):
            self._tool_died(number, found[1])

    def result(self) -> Parsed[tuple[IbstatDevice, ...]]:
        """What was read."""
        if not self._named:
            raise NotThisFormat(f"{self._source or 'input'}: no line like \"CA 'mlx5_0'\", so not output of ibstat")
        unread = any("error" in device.known for device in self._devices)
        return Parsed(
            tuple(_device(block) for block in self._devices),
            self._problems.all(),
            False if self._cut or unread else None,
        )

    def _tool_says(self, number: int, kind: str, text: str) -> None:
        found = _UNREADABLE.match(text)
        if found:
            self._open_device(_Block(number, name=found[1], error=found[2] or "no reason was printed"))
            after = "; ibstat ends at such a device, so that later ones may not be listed" if kind == "panic" else ""
            reason = f": {found[2]}" if found[2] else ""
            self._problems.add("device-unreadable", f"device {found[1]} could not be read{reason}{after}", number)
        elif kind == "panic":
            self._cut = True
            self._problems.add("tool-error", text, number)
        else:
            self._problems.add("tool-warning", text, number)

    def _tool_died(self, number: int, how: str) -> None:
        if self._named:  # before that, it is another program's
            self._cut = True
            self._problems.add("tool-error", f"ibstat did not end by itself: {how}", number)

    def _open_device(self, device: _Block) -> None:
        self._named = True
        self._port = None
        self._devices.append(device)

    def _open_port(self, number: int, port: int) -> None:
        device = self._last_device()
        if device is None or any(earlier.known["number"] >= port for earlier in device.ports):
            device = self._lost_heading(number)
        self._port = _Block(number, number=port)
        device.ports.append(self._port)

    def _last_device(self) -> _Block | None:
        """The device that the next line may belong to."""
        if not self._devices or "error" in self._devices[-1].known:
            return None
        return self._devices[-1]

    def _lost_heading(self, number: int) -> _Block:
        self._cut = True
        self._problems.add("lost-heading", "the lines from here belong to a device whose own line is missing", number)
        self._devices.append(_Block(number, name=None))
        self._port = None
        return self._devices[-1]

    def _value(self, number: int, key: str, value: str, cut: bool) -> None:
        known = _DEVICE_TYPE if key.endswith(" type") else _KEYS.get(key.lower())
        if known is None:
            self._cut |= cut
            block = self._port or self._last_device()
            if block and not cut:
                block.other.append((key, value))
            return
        block = self._port_with(known.field, number) if known.of_port else self._device_with(known.field, number)
        block.seen.add(known.field)
        if cut and not (known.field == "link_layer" and value in _WHOLE_LINK_LAYERS):
            self._cut = True
            self._problems.add("truncated", f"the text ends inside this line, so {key!r} is not taken from it", number)
            return
        try:
            block.known.update(known.convert(known.field, value))
        except ValueError:
            self._problems.add("bad-value", f"{key}: {value[:80]!r} cannot be read", number)

    def _device_with(self, field: str, number: int) -> _Block:
        """The device of a line. The tool prints a device's own lines once and before its ports."""
        device = self._last_device()
        if device is None or device.ports or field in device.seen:
            return self._lost_heading(number)
        return device

    def _port_with(self, field: str, number: int) -> _Block:
        """The port of a line. Where its heading is missing, it is the next one: the tool lists them in order."""
        if self._port is not None and field not in self._port.seen:
            return self._port
        device = self._last_device() or self._lost_heading(number)
        port = device.ports[-1].known["number"] + 1 if device.ports else 1
        if port <= device.known.get("port_count", 0):
            text = f"the lines from here belong to port {port}, whose own line is missing"
            self._port = _Block(number, number=port)
            device.ports.append(self._port)
        else:
            text = "the lines from here belong to a port whose own line is missing"
            self._port = _Block(number)  # its lines are looked at, but belong nowhere
        self._cut = True
        self._problems.add("lost-heading", text, number)
        return self._port

    def look_for_a_cut(self, last_line: int) -> None:
        """A port's block ends with its GUID and link layer; a listing with ports has as many as it counts."""
        full = any(device.ports for device in self._devices)
        for device in self._devices:
            name = device.known["name"]
            count = device.known.get("port_count")
            if full and count is not None and len(device.ports) < count and device.known.get("node_type") in _ALL_PORTS:
                self._cut = True
                self._problems.add(
                    "truncated", f"{name} has {count} ports, {len(device.ports)} are listed", device.line
                )
            self._look_for_lost_lines(device)
        last = self._devices[-1] if self._devices else None
        if last and not last.ports and not last.seen & {"port_count", "error"}:
            self._cut = True
            self._problems.add("truncated", "the text ends inside the lines of a device", last_line)

    def _look_for_lost_lines(self, device: _Block) -> None:
        """The tool prints all lines of a port at once, and how many ports there are before them."""
        name = device.known["name"] or "a device"
        if device.whole_form and device.ports and "port_count" not in device.known:
            self._lost_lines(device, name, ["port_count"])
        for port in device.ports:
            self._lost_lines(port, f"{name} port {port.known['number']}", self._fields_of_a_port())

    def _lost_lines(self, block: _Block, name: str, fields: Iterable[str]) -> None:
        """A line that is there and could not be read has a problem of its own."""
        unknown = [field for field in fields if field not in block.known]
        lost = [_NAMES[field] for field in unknown if field not in block.seen]
        self._cut |= bool(unknown)
        if lost:
            self._problems.add("truncated", f"{name}: no line {', '.join(map(repr, lost))}", block.line)

    def _fields_of_a_port(self) -> tuple[str, ...]:
        layered = any("link_layer" in port.seen for device in self._devices for port in device.ports)
        return (*_PORT_FIELDS, "link_layer") if layered else _PORT_FIELDS


def _device(block: _Block) -> IbstatDevice:
    ports = tuple(IbstatPort(**port.known, other=tuple(port.other)) for port in block.ports)
    return IbstatDevice(**block.known, ports=ports, other=tuple(block.other))


def _text(field: str, value: str) -> dict[str, Any]:
    return {field: value or None}


def _word(field: str, value: str) -> dict[str, Any]:
    if not value:
        raise ValueError
    return {field: value}


def _number(field: str, value: str) -> dict[str, Any]:
    if not _DECIMAL.match(value):
        raise ValueError
    return {field: int(value, 16 if value.startswith("0x") else 10)}


def _hexadecimal(field: str, value: str) -> dict[str, Any]:
    found = _HEXADECIMAL.match(value)
    if not found:
        raise ValueError
    return {field: int(found[1], 16)}


def _guid(field: str, value: str) -> dict[str, Any]:
    return {field: f"0x{_hexadecimal(field, value)[field]:016x}"}


def _rate(field: str, value: str) -> dict[str, Any]:
    found = _RATE.match(value)
    if not found:
        raise ValueError
    rate = float(found[1])
    # 2.5 Gb/s is the only rate that is not whole, and versions before 2013 print it as 2. 0 is "not known".
    return {field: 2.5 if rate == 2 else rate or None, "rate_tag": found[2]}


def _effective_rate(field: str, value: str) -> dict[str, Any]:
    return {field: _rate(field, value)[field]}


class _Key(NamedTuple):
    field: str
    convert: Callable[[str, str], dict[str, Any]]
    of_port: bool


_KEYS = {
    "number of ports": _Key("port_count", _number, False),
    "firmware version": _Key("firmware", _text, False),
    "hardware version": _Key("hardware", _text, False),
    "node guid": _Key("node_guid", _guid, False),
    "system image guid": _Key("system_image_guid", _guid, False),
    "state": _Key("state", _word, True),
    "physical state": _Key("physical_state", _word, True),
    "rate": _Key("rate_gbps", _rate, True),
    "effective speed": _Key("effective_rate_gbps", _effective_rate, True),
    "base lid": _Key("base_lid", _number, True),
    "lmc": _Key("lmc", _number, True),
    "sm lid": _Key("sm_lid", _number, True),
    "capability mask": _Key("capability_mask", _hexadecimal, True),
    "port guid": _Key("port_guid", _guid, True),
    "link layer": _Key("link_layer", _word, True),
}
#: What every version prints of a port, with any value. So it does with LMC and capability mask, which people leave out
#: who abridge, and which decide nothing.
_PORT_FIELDS = ("state", "physical_state", "rate_gbps", "base_lid", "sm_lid", "port_guid")
#: Devices of which all ports are listed; of a switch it is port 0.
_ALL_PORTS = ("CA", "iWARP RNIC")
_NAMES = {known.field: name.capitalize() for name, known in _KEYS.items()}
#: How its lines begin; a line with a colon is known by that.
_STARTS = ("CA '", "CA: '", "CA type", "Switch '", "iWARP RNIC '", "Port ", "ibpanic: [", "ibwarn: [", *_KEYS)
#: ``CA type``, ``Switch type``, ``iWARP RNIC type`` ...
_DEVICE_TYPE = _Key("hca_type", _text, False)
_WHOLE_LINK_LAYERS = ("InfiniBand", "Ethernet", "IB")
