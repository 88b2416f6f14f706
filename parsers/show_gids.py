"""Read ``show_gids``: the filled GIDs of all ports.

Format: mlnx-tools ``sbin/show_gids``. The last line counts the rows. Where the kernel tells no type of a GID
(Omni-Path, EFA), the version is missing.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

_GID = re.compile(
    r"(\S{1,64})\s+([0-9]{1,3})\s+([0-9]{1,5})\s+([0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){7})"
    r"(?:\s+[0-9]{1,3}(?:\.[0-9]{1,3}){3})?(?:\s+(v[12])(?:\s+(\S{1,40}))?)?\Z"
)
_GIDS_END = re.compile(r"n_gids_found=([0-9]{1,6})\Z")


class GidRow(NamedTuple):
    """A row of show_gids. ``version`` is v1 or v2, also on InfiniBand, where it is v1 and means nothing; or None."""

    device: str
    port: int
    gid_index: int
    gid: str
    version: str | None
    netdev: str | None = None


def parse(text: str, *, source: str = "") -> Parsed[tuple[GidRow, ...]]:
    """Read show_gids; its last line counts the rows. Raises NotThisFormat where no line is its."""
    rows = []
    lines, first = lines_of(text, source)
    problems = Problems(source, first)
    counted = None
    for number, line in enumerate(lines, 1):
        line = line.strip(BEFORE)
        found = _GID.match(line)
        if found and found[5] is None and number == len(lines):
            problems.add("truncated", "the text ends inside this line, so it is not taken", number)
        elif found:
            netdev = found[6]
            if netdev and number == len(lines):
                problems.add("truncated", "the text ends inside this line, perhaps inside the netdev's name", number)
                netdev = None
            rows.append(GidRow(found[1], int(found[2]), int(found[3]), found[4], found[5], netdev))
        elif found := _GIDS_END.match(line):
            counted = int(found[1])
            if counted != len(rows):
                problems.add("truncated", f"{counted} GIDs were found, {len(rows)} are listed", number)
    if not rows and counted is None:
        raise NotThisFormat(f"{source or 'input'}: no row of a GID, so not output of show_gids")
    return Parsed(tuple(rows), problems.all(), None if counted is None else counted == len(rows))
