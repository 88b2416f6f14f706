"""``ibdiagnet2.net_dump``: the ports of each switch and what they are cabled to.

A block a switch: ``"MF0;leaf1:MQM9700/U1", Mellanox, 0xfc6a1c0300e7ecc0, LID 12``, a row of column names, a row a
port. ibdiagnet is closed source; columns differ by version and are found by their names. Names are not escaped, and
stand last. There is no end mark.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple
from ibkit.parsers.subnet_list import SPEEDS

STATES = {"DOWN": "Down", "INI": "Initialize", "ARM": "Armed", "ACT": "Active"}
_SWITCH = re.compile(
    r'"(?P<name>.*)",\s*(?P<vendor>[^,"]{1,40}),\s*0x(?P<guid>[0-9a-fA-F]{1,16}),\s*LID (?P<lid>\d{1,5})\s*\Z'
)
#: Name of a column, as it starts, to the field that it fills.
_COLUMNS = {
    "#": "label", "IB#": "number", "Sta": "state", "PhysSta": "physical_state", "MTU": "mtu", "LWA": "width",
    "LSA": "speed", "FEC": "fec", "Retran": "retransmission", "RTR": "retransmission", "Neighbor Guid": "peer_guid",
    "N#": "peer_label", "NLID": "peer_lid", "Neighbor Description": "peer_name",
}  # fmt: skip
_USUAL = (
    "label", "number", "state", "physical_state", "mtu", "width", "speed", "fec", "retransmission", "peer_guid",
    "peer_label", "peer_lid", "peer_name",
)  # fmt: skip
_NONE = ("", "N/A")


class DumpedPort(NamedTuple):
    """A port. ``label`` is what stands on the panel (``7``, ``1/4/2``), ``number`` the port's own; ``peer_label`` may
    be either. ``mtu`` is the code (5: 4096 bytes). ``width`` and ``speed`` are like 4x and HDR, None for a port that is
    down, whatever it prints. Other words are as printed; None is what is not printed.
    """

    label: str
    number: int
    state: str
    physical_state: str | None
    mtu: int | None
    width: str | None
    speed: str | None
    fec: str | None
    retransmission: str | None
    peer_guid: int | None
    peer_label: str | None
    peer_lid: int | None
    peer_name: str | None
    line: int


class DumpedSwitch(NamedTuple):
    """A switch and its ports."""

    name: str
    vendor: str
    guid: int
    lid: int
    ports: tuple[DumpedPort, ...]
    line: int


def parse(text: str, *, source: str = "") -> Parsed[tuple[DumpedSwitch, ...]]:
    """Read all switches. ``complete`` is False where a row is damaged or a switch has none, else None.

    Raises NotThisFormat where there is no switch.
    """
    lines, long_lines = lines_of(text, source)
    reader = _Reader(Problems(source, long_lines))
    for number, line in enumerate(lines, 1):
        reader.feed(number, line.lstrip(BEFORE))
    reader.close()
    if not reader.switches:
        raise NotThisFormat(
            f"{source or 'input'}: not ibdiagnet's net_dump: no line like '\"leaf\", Mellanox, 0x1, LID 1'"
        )
    return Parsed(tuple(reader.switches), reader.problems.all(), False if reader.damaged or long_lines else None)


class _Reader:
    """The switch that is being read, and the finished ones."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.switches: list[DumpedSwitch] = []
        self.damaged = False
        self._switch: DumpedSwitch | None = None
        self._ports: list[DumpedPort] = []
        self._columns: tuple[str, ...] = _USUAL

    def feed(self, number: int, line: str) -> None:
        if found := _SWITCH.match(line):
            self.close()
            self._columns = _USUAL
            self._switch = DumpedSwitch(
                found["name"], found["vendor"].strip(), int(found["guid"], 16), int(found["lid"]), (), number
            )
        elif self._switch and line.startswith("#") and ": IB#" in line:
            names = [name.strip() for name in line.split(":")]
            self._columns = tuple(_field(name) for name in names)
        elif line.startswith("#") or not line:
            return
        elif self._switch and line.count(":") >= 3:
            port = self._port(line, number)
            if port:
                self._ports.append(port)
            else:
                self.damaged = True
                self.problems.add("bad-line", f"not a port: {line[:120]!r}", number)
        else:
            self.problems.noise.add(number, line)

    def _port(self, line: str, number: int) -> DumpedPort | None:
        values = [value.strip() for value in line.split(":", len(self._columns) - 1)]
        if len(values) != len(self._columns):
            return None
        found = {field: None if value in _NONE else value for field, value in zip(self._columns, values, strict=True)}
        state = STATES.get(found.get("state") or "", found.get("state"))
        label, port_number = found.get("label"), _integer(found.get("number"))
        if state is None or label is None or port_number is None:
            return None
        up = state != "Down"
        speed, name = found.get("speed"), found.get("peer_name")
        if name is not None:
            if len(name) < 2 or name[0] != '"' or name[-1] != '"':
                return None  # cut
            name = name[1:-1]
        return DumpedPort(
            label, port_number, state, found.get("physical_state"), _integer(found.get("mtu")) if up else None,
            found.get("width") if up else None, SPEEDS.get(speed or "", speed) if up else None,
            found.get("fec") if up else None, found.get("retransmission") if up else None,
            _integer(found.get("peer_guid"), 16), found.get("peer_label"), _integer(found.get("peer_lid")), name,
            number,
        )  # fmt: skip

    def close(self) -> None:
        """Finish the switch."""
        if self._switch:
            if not self._ports:
                self.damaged = True
                self.problems.add("cut-block", "a switch without a port", self._switch.line)
            self.switches.append(self._switch._replace(ports=tuple(self._ports)))
        self._switch, self._ports = None, []


def _field(name: str) -> str:
    """The field of a column; a column that nobody needs is called by its own name."""
    return next((field for start, field in _COLUMNS.items() if name == start or name.startswith(f"{start} ")), name)


def _integer(text: str | None, base: int = 10) -> int | None:
    try:
        number = int(text or "", base)
    except ValueError:
        return None
    return number if 0 <= number < 1 << 64 else None
