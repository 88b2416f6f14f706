"""``ibaddr``: the GID and the LIDs of a port.

One line an answer: ``GID fe80::c42:a103:0:1 LID start 0x1 end 0x1``; ``-g`` and ``-l`` print one half of it, ``-L``
decimal LIDs (rdma-core, ``infiniband-diags/ibaddr.c``).
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.diag_messages import SIMULATOR, parse_line
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

_LINE = re.compile(
    r"(?:GID (?P<gid>[0-9a-fA-F:.]{2,45})\s*)?"
    r"(?:LID start (?P<first>0x[0-9a-f]{1,4}|\d{1,5}) end (?P<last>0x[0-9a-f]{1,5}|\d{1,6}))?\s*\Z"
)
_OWN_FAILURE = re.compile(r"(?:\S*/)?ibaddr: ")


class Address(NamedTuple):
    """A port's GID as printed and its LIDs, the base LID first; None is what was not asked for."""

    gid: str | None
    lid: int | None
    last_lid: int | None
    line: int


def parse(text: str, *, source: str = "") -> Parsed[tuple[Address, ...]]:
    """Read all answers. ``complete`` is False where the tool failed, else None: there is no end mark.

    Raises NotThisFormat where there is neither an answer nor a failure of ibaddr.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    addresses = []
    failed = False
    for number, line in enumerate(lines, 1):
        line = line.lstrip(BEFORE)
        found = _LINE.match(line)
        if found and (found["gid"] or found["first"]):
            first, last = (int(text, 0) if text else None for text in (found["first"], found["last"]))
            addresses.append(Address(found["gid"], first, last, number))
        elif message := parse_line(line, number):
            failed |= bool(_OWN_FAILURE.match(message.text))
            if message.kind != SIMULATOR:
                problems.add(message.kind, message.text, number)
        else:
            problems.noise.add(number, line)
    if not addresses and not failed:
        raise NotThisFormat(f"{source or 'input'}: not ibaddr: no line like 'GID fe80::1 LID start 0x1 end 0x1'")
    return Parsed(tuple(addresses), problems.all(), False if failed else None)
