"""``ibdiagnet2.net_dump_ext``: how well each port receives; a row a port, bit error ratios and errors among them.

``Ty : # : #IB : GUID : LID : Sta : PhysSta : LWA : LSA : Conn LID (#) : FEC mode : RTR : Raw BER : Effective BER :
Symbol BER : Symbol Err : Effective Err : Node Desc`` are the columns' names, as public readers of the file quote them;
columns differ by version and are found by name. ibdiagnet writes the file with ``--get_phy_info``. Names of nodes are
not escaped, and stand last. There is no end mark. See :mod:`ibkit.parsers.bit_errors` for the ratios.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.bit_errors import BitErrorRatio, ratio_of
from ibkit.parsers.lines import BEFORE, Problems, count_of, lines_of
from ibkit.parsers.net_dump import STATES
from ibkit.parsers.records import NamedTuple
from ibkit.parsers.subnet_list import SPEEDS

#: Name of a column to the field that it fills; those that a row must have come first.
_COLUMNS = {
    "Ty": "kind", "#IB": "number", "GUID": "guid", "Sta": "state",
    "#": "label", "LID": "lid", "PhysSta": "physical_state", "LWA": "width", "LSA": "speed", "Conn LID (#)": "peer_lid",
    "Conn LID": "peer_lid", "FEC mode": "fec", "RTR": "retransmission", "Raw BER": "raw_ber",
    "Effective BER": "effective_ber", "Symbol BER": "symbol_ber", "Symbol Err": "symbol_errors",
    "Effective Err": "effective_errors", "Node Desc": "node_name",
}  # fmt: skip
_NEEDED = tuple(_COLUMNS.values())[:4]
_NONE = ("", "N/A", "NA", "-")
_KINDS = ("CA", "SW", "RT")
_LID = re.compile(r"(\d{1,5})(?:\s{1,9}\(0x[0-9a-fA-F]{1,4}\))?\Z")


class PortQuality(NamedTuple):
    """A port. ``kind`` is SW, CA or RT, ``label`` what stands on the panel, ``number`` the port's own. Effective errors
    are those behind the error correction. ``width`` and ``speed`` are like 4x and HDR, None for a port that is down.
    """

    kind: str
    guid: int
    number: int
    state: str
    line: int
    label: str | None = None
    node_name: str | None = None
    lid: int | None = None
    peer_lid: int | None = None
    physical_state: str | None = None
    width: str | None = None
    speed: str | None = None
    fec: str | None = None
    retransmission: str | None = None
    raw_ber: BitErrorRatio | None = None
    effective_ber: BitErrorRatio | None = None
    symbol_ber: BitErrorRatio | None = None
    symbol_errors: int | None = None
    effective_errors: int | None = None


def parse(text: str, *, source: str = "") -> Parsed[tuple[PortQuality, ...]]:
    """Read all ports. ``complete`` is False where a row is damaged, else None.

    Raises NotThisFormat where no line names the columns.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    columns: tuple[str | None, ...] = ()
    ports = []
    damaged = bool(long_lines)
    for number, raw in enumerate(lines, 1):
        line = raw.lstrip(BEFORE)
        if line.startswith("#") or not line:
            continue
        if line.startswith("Ty") and ": GUID" in line:
            columns = tuple(_COLUMNS.get(name.strip()) for name in line.split(":"))
        elif columns and line[:2] in _KINDS and line[2:].lstrip()[:1] == ":":
            if port := _port(columns, line, number):
                ports.append(port)
            else:
                damaged = True
                problems.add("bad-line", f"not a port: {line[:120]!r}", number)
        else:
            problems.noise.add(number, line)
    if not columns:
        raise NotThisFormat(
            f"{source or 'input'}: not ibdiagnet's net_dump_ext: no line of names like 'Ty : # : #IB : GUID :'"
        )
    return Parsed(tuple(ports), problems.all(), False if damaged else None)


def _port(columns: Sequence[str | None], line: str, number: int) -> PortQuality | None:
    values = [value.strip() for value in line.split(":", len(columns) - 1)]
    if len(values) != len(columns):
        return None
    told = {name: value for name, value in zip(columns, values, strict=True) if name and value not in _NONE}
    guid, port = count_of(told.get("guid", "")), count_of(told.get("number", ""))
    if guid is None or port is None or any(name not in told for name in _NEEDED):
        return None
    name = told.get("node_name")
    if name is not None and (len(name) < 2 or name[0] != '"' or name[-1] != '"'):
        return None  # cut
    state = STATES.get(told["state"], told["state"])
    up = state != "Down"
    return PortQuality(
        told["kind"], guid, port, state, number, told.get("label"), name[1:-1] if name else None,
        _lid(told.get("lid")), _lid(told.get("peer_lid")), told.get("physical_state"),
        told.get("width") if up else None,
        SPEEDS.get(told.get("speed", ""), told.get("speed")) if up else None, told.get("fec") if up else None,
        told.get("retransmission") if up else None, ratio_of(told.get("raw_ber", "")),
        ratio_of(told.get("effective_ber", "")), ratio_of(told.get("symbol_ber", "")),
        count_of(told.get("symbol_errors", "")), count_of(told.get("effective_errors", "")),
    )  # fmt: skip


def _lid(text: str | None) -> int | None:
    """``12 (0xc)``."""
    found = _LID.match(text or "")
    return int(found[1]) if found else None
