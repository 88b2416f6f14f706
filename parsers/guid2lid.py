"""``guid2lid``: which LIDs OpenSM gave, and will give again, to each port, whether or not that port is there now.

``0x0c42a10300000091 0x000c 0x000f``: a port's GUID (a switch's own), its first and last LID; a port with an LMC has
several. OpenSM keeps the file in its cache directory (OpenSM 3.3.24, ``opensm/osm_db_pack.c``, ``osm_db_files.c``).
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

#: The last LID that is not multicast.
MAX_UNICAST_LID = 0xBFFF
_ROW = re.compile(r"0x([0-9a-fA-F]{16}) 0x([0-9a-fA-F]{4}) 0x([0-9a-fA-F]{4})\s*\Z")


class LidRange(NamedTuple):
    """A port's LIDs."""

    guid: int
    first_lid: int
    last_lid: int
    line: int


def parse(text: str, *, source: str = "") -> Parsed[tuple[LidRange, ...]]:
    """Read all rows. ``complete`` is False where one cannot be read, else None: there is no end mark.

    Raises NotThisFormat where there is none.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    ranges = []
    damaged = bool(long_lines)
    for number, line in enumerate(lines, 1):
        line = line.lstrip(BEFORE)
        row = _ROW.match(line)
        first, last = (int(row[2], 16), int(row[3], 16)) if row else (0, 0)
        if row and 0 < first <= last <= MAX_UNICAST_LID:
            ranges.append(LidRange(int(row[1], 16), first, last, number))
        elif line.startswith("0x"):
            damaged = True
            problems.add("bad-line", f"not a GUID and its LIDs: {line[:80]!r}", number)
        elif not line.startswith("#"):
            problems.noise.add(number, line)
    if not ranges:
        raise NotThisFormat(f"{source or 'input'}: not guid2lid: no line like '0x0c42a10300000091 0x000d 0x000d'")
    return Parsed(tuple(ranges), problems.all(), False if damaged else None)
