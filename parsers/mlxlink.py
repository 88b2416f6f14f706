"""Read the first parts of ``mlxlink``: state, speed and width of one port, advice, firmware.

Format: mstflint's ``mlxlink``: lines of ``Key : value`` below headings. The output does not name its device, only
the command in a terminal's log does. Without ``-p`` it is about port 1. Rows differ between versions and cards; what
is not there was not told. BER rows of a clean link hold ``15E-255``, the floor of the register, not a measurement.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

_COMMAND = re.compile(r".{0,200}?\b(?:mst|mlx)link\b(.{1,300})\Z")
_DEVICE = re.compile(r" (?:-d|--device)[ =](\S{1,64})")
_PORT = re.compile(r" (?:-p|--port)[ =]([0-9]{1,3})(?: |\Z)")
_VALUE = re.compile(r"([A-Z][A-Za-z0-9 ()/-]{1,50}?) *: (.*)\Z")
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,12}m")
_START = "Operational Info"


class MlxlinkPort(NamedTuple):
    """One port as printed; ``speed`` is ``IB-NDR`` or ``100G``, ``width`` ``4x``."""

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


_FIELDS = {
    "State": "state", "Physical state": "physical_state", "Speed": "speed", "Width": "width", "FEC": "fec",
    "Status Opcode": "status_opcode", "Recommendation": "recommendation", "Firmware Version": "firmware",
}  # fmt: skip


def parse(text: str, *, source: str = "") -> Parsed[tuple[MlxlinkPort, ...]]:
    """Read all ports of a log. Raises NotThisFormat where there is no heading of the tool."""
    lines, first = lines_of(text, source)
    problems = Problems(source, first)
    ports: list[dict[str, object]] = []
    asked: dict[str, object] = {}
    for number, line in enumerate(lines, 1):
        line = _COLOUR.sub("", line).strip(BEFORE)
        if line == _START:
            ports.append(asked)
            asked = {}
        elif found := _COMMAND.match(line):
            asked = _asked(found[1])
        elif ports and (found := _VALUE.match(line)) and (field := _FIELDS.get(found[1])):
            if number == len(lines):
                problems.add("truncated", "the text ends inside this line, so it is not taken", number)
            elif found[2].strip() not in ("", "N/A"):
                ports[-1].setdefault(field, found[2].strip())
    if not ports:
        raise NotThisFormat(f"{source or 'input'}: no heading 'Operational Info', so not output of mlxlink")
    return Parsed(tuple(MlxlinkPort(**known) for known in ports), problems.all())  # type: ignore[arg-type]


def _asked(words: str) -> dict[str, object]:
    device, port = _DEVICE.search(words), _PORT.search(words)
    return {
        **({"device": device[1].rpartition("/")[2]} if device else {}), **({"port": int(port[1])} if port else {}),
    }  # fmt: skip
