"""``opensm-subnet.lst``, which OpenSM writes at each sweep, and ``ibdiagnet2.lst``: a link's two ends, one link a line.

``{ SW Ports:24 SystemGUID:... NodeGUID:... PortGUID:... VenID:... DevID:... Rev:... {name} LID:0002 PN:01 } { CA ... }
PHY=4x LOG=ACT SPD=50``. Each link is there from both of its ends. All numbers are hexadecimal, the number of ports too.
Names are not escaped. There is no end mark (OpenSM, ``opensm/osm_dump.c``).

``-SM`` after the kind says that the node's LID is the one that its port names as its SM's. Which of several ports of
one adapter that is, is in the LID.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

#: Gb/s per lane, as printed, to the name of the speed (InfiniBand Architecture Specification volume 1, 14.2.5.6).
SPEEDS = {
    "2.5": "SDR", "5": "DDR", "10": "QDR", "FDR10": "FDR10", "14": "FDR", "25": "EDR", "50": "HDR", "100": "NDR",
    "200": "XDR",
}  # fmt: skip
STATES = {"DWN": "Down", "INI": "Initialize", "ARM": "Armed", "ACT": "Active"}

_HEX = "[0-9A-Fa-f]"
_HEAD = re.compile(
    rf"\{{ (?P<kind>SW|CA|Rt|RT|\*\*)(?P<sm>-SM)? Ports:(?P<ports>{_HEX}{{1,3}}) SystemGUID:(?P<system>{_HEX}{{1,16}})"
    rf" NodeGUID:(?P<node>{_HEX}{{1,16}}) PortGUID:(?P<guid>{_HEX}{{1,16}}) VenID:(?P<vendor>{_HEX}{{1,8}})"
    rf" DevID:(?P<device>{_HEX}{{1,8}}) Rev:(?P<revision>{_HEX}{{1,8}}) "
)
#: What ends the first end; a node's name has not room for a whole one of these.
_MIDDLE = re.compile(
    rf" ?LID:(?P<lid>{_HEX}{{1,4}}) PN:(?P<port>{_HEX}{{1,3}}) \}} (?=\{{ (?:SW|CA|Rt|RT|\*\*)(?:-SM)? Ports:{_HEX})"
)
_TAIL = re.compile(
    rf" ?LID:(?P<lid>{_HEX}{{1,4}}) PN:(?P<port>{_HEX}{{1,3}}) \}}"
    r" PHY=(?P<width>\S{1,9}) LOG=(?P<state>\S{1,9}) SPD=(?P<speed>\S{1,9})\s*\Z"
)


class ListedEnd(NamedTuple):
    """An end of a link. GUIDs are plain integers, ``lid`` a switch's own or the port's.

    ``kind`` is SW, CA, Rt, or ``**`` for a type that OpenSM does not know. ``sm``: see the module. ``name`` is None
    where the line has none.
    """

    kind: str
    sm: bool
    port_count: int
    system_image_guid: int
    guid: int
    port_guid: int
    vendor_id: int
    device_id: int
    revision: int
    name: str | None
    lid: int
    port: int


class ListedLink(NamedTuple):
    """A link as the node of ``end`` has it. ``width`` is like ``4x``, ``speed`` like ``HDR`` (``??``: not known to the
    tool), ``state`` a word of ibstat's; a word that is not in the tables stays as printed.
    """

    end: ListedEnd
    peer: ListedEnd
    width: str
    speed: str
    state: str
    line: int


def parse(text: str, *, source: str = "") -> Parsed[tuple[ListedLink, ...]]:
    """Read all lines. ``complete`` is False where one is damaged, else None.

    Raises NotThisFormat where there is no link.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    links = []
    damaged = bool(long_lines)
    for number, line in enumerate(lines, 1):
        line = line.lstrip(BEFORE)
        link = _link(line, number)
        if link:
            links.append(link)
        elif line.startswith("{ "):
            damaged = True
            problems.add("bad-line", f"not a link: {line[:120]!r}", number)
        elif not line.startswith("#"):
            problems.noise.add(number, line)
    if not links:
        raise NotThisFormat(f"{source or 'input'}: not opensm-subnet.lst: no line like '{{ SW Ports:24 SystemGUID:...'")
    return Parsed(tuple(links), problems.all(), False if damaged else None)


def _link(line: str, number: int) -> ListedLink | None:
    first = _HEAD.match(line)
    middle = _MIDDLE.search(line, first.end()) if first else None
    second = _HEAD.match(line, middle.end()) if middle else None
    start = line.rfind("LID:")
    if first is None or middle is None or second is None or start <= second.end():
        return None
    tail = _TAIL.match(line, start - (line[start - 1] == " "))
    if tail is None:
        return None
    return ListedLink(
        _end(first, line[first.end() : middle.start()], middle), _end(second, line[second.end() : tail.start()], tail),
        tail["width"], SPEEDS.get(tail["speed"], tail["speed"]), STATES.get(tail["state"], tail["state"]), number,
    )  # fmt: skip


def _end(head: re.Match[str], name: str, tail: re.Match[str]) -> ListedEnd:
    device = int(head["device"], 16)
    return ListedEnd(
        "Rt" if head["kind"] == "RT" else head["kind"], head["sm"] is not None, int(head["ports"], 16),
        int(head["system"], 16), int(head["node"], 16), int(head["guid"], 16), int(head["vendor"], 16),
        # OpenSM prints a peer's 16 bits as the upper half of 32
        device >> 16 if device > 0xFFFF else device, int(head["revision"], 16),
        name[1:-1] if name[:1] == "{" and name[-1:] == "}" else None, int(tail["lid"], 16), int(tail["port"], 16),
    )  # fmt: skip
