"""Read ``ibdev2netdev``, with or without ``-v``: which interface a port has.

Format: mlnx-tools ``ofed_scripts/ibdev2netdev``. Up and Down are the interface's: an IPoIB interface without an
address is Down on a healthy port. People send it through ``column -t``, and write a remark behind a line.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.endings import is_cut
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

_NETDEV = re.compile(
    r"(?:([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) +)?(\S{1,64}) +(?:\((\S{1,20}) +- [^\n]{0,200}? )?"
    r"(?:fw +(\S{1,40}) +)?port +([0-9]{1,3}) +(?:\(([A-Z_ ]{1,20})\s*\) +)?==> +(\S{1,40}) +\((Up|Down)\)"
    r"(?: +#.{0,200})?\Z"
)


class NetdevRow(NamedTuple):
    """A row of ibdev2netdev; what only its ``-v`` prints is None without: PCI address, type, firmware, port state."""

    device: str
    port: int
    netdev: str
    netdev_is_up: bool
    bus_address: str | None = None
    hca_type: str | None = None
    firmware: str | None = None
    state: str | None = None


def parse(text: str, *, source: str = "") -> Parsed[tuple[NetdevRow, ...]]:
    """Read ibdev2netdev. Raises NotThisFormat where no line is its."""
    lines, first = lines_of(text, source)
    problems = Problems(source, first)
    rows = [_row(found) for line in lines if (found := _NETDEV.match(line.strip(BEFORE)))]
    if not rows:
        raise NotThisFormat(f"{source or 'input'}: no line like 'mlx5_0 port 1 ==> ib0 (Up)'")
    if is_cut(lines[-1]) and not _NETDEV.match(lines[-1].strip(BEFORE)):
        problems.add("truncated", "the text ends inside this line, so it is not taken", len(lines))
    return Parsed(tuple(rows), problems.all())


def _row(found: re.Match[str]) -> NetdevRow:
    state = found[6].strip() if found[6] else None
    return NetdevRow(found[2], int(found[5]), found[7], found[8] == "Up", found[1], found[3], found[4], state)
