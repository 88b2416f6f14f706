"""What ibdiagnet found: the lines ``-E-`` and ``-W-`` of ``ibdiagnet2.log``, and of what it prints.

``-E- Link: S0002c9.../N0002c9.../P20<-->switch/U1/P20 - Unexpected actual link speed 2.5 (enable_speed1="2.5 or 5",
enable_speed2="2.5 or 5" therefore final speed should be 5)`` names both ends: a box without a name by the GUIDs of its
system and node, another by its name, then the port by its label. A stage has a title below a line of dashes. The
shapes are those that public scripts read and quote, and NVIDIA's manuals of ibdiagnet; ``-I-`` lines, progress and
tables are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.port_labels import normalised
from ibkit.parsers.records import NamedTuple

_LEVELS = {"E": "error", "W": "warning"}
_REMARK = re.compile(r"-([EWI])- (.*)\Z")
_END = re.compile(
    r"(?:S(?P<system>[0-9a-f]{16})/N(?P<guid>[0-9a-f]{16})|(?P<name>\S{1,200}?))/P(?P<port>[\d/]{1,16})\Z"
)
_PLACE = re.compile(r"(?:Link: )?(?P<ends>\S{1,400}) - (?P<text>.*)\Z")
_UNEXPECTED = re.compile(r"Unexpected actual link (speed|width) (\S{1,12})(?: .*should be (\S{1,12}?)\))?")
_INCREASED = re.compile(r'"(\w{1,80})" increased during the run \(difference value=(\d{1,20}),')
_RULE = re.compile(r"-{20,}\Z")


class RemarkPort(NamedTuple):
    """A port that a remark is about: its box by name, or by the node's GUID where it has no name."""

    name: str | None
    guid: int | None
    label: str


class Remark(NamedTuple):
    """``level`` is error or warning. ``quantity`` is what is not as it should be (speed, width, a counter), ``actual``
    its value (a counter's: how far it rose), ``expected`` what it should be, as printed; each None where not told.
    """

    level: str
    stage: str | None
    text: str
    line: int
    ports: tuple[RemarkPort, ...] = ()
    quantity: str | None = None
    actual: str | None = None
    expected: str | None = None


def parse(text: str, *, source: str = "") -> Parsed[tuple[Remark, ...]]:
    """Read all errors and warnings. ``complete`` is None: nothing marks the end of the log.

    Raises NotThisFormat where no line is like ibdiagnet's, not even one of information.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    remarks: list[Remark] = []
    stage: str | None = None
    below_rule = seen = False
    for number, raw in enumerate(lines, 1):
        line = raw.lstrip(BEFORE).rstrip()
        if found := _REMARK.match(line):
            seen = True
            if found[1] != "I":
                remarks.append(_remark(_LEVELS[found[1]], stage, found[2], number))
        elif below_rule and line and not line.startswith(("-", "#")):
            stage = line
        if line:
            below_rule = bool(_RULE.match(line))
    if not seen:
        raise NotThisFormat(f"{source or 'input'}: not ibdiagnet's log: no line begins with '-E- ', '-W- ' or '-I- '")
    return Parsed(tuple(remarks), problems.all(), False if long_lines else None)


def _remark(level: str, stage: str | None, text: str, line: int) -> Remark:
    text = text.strip()
    place = _PLACE.match(text)
    ports = tuple(_ports(place["ends"])) if place else ()
    remark = Remark(level, stage, place["text"] if place and ports else text, line, ports)
    if found := _UNEXPECTED.match(remark.text):
        return remark._replace(quantity=found[1], actual=found[2], expected=found[3])
    if found := _INCREASED.match(remark.text):
        return remark._replace(quantity=found[1], actual=found[2])
    return remark


def _ports(ends: str) -> Iterator[RemarkPort]:
    """``A/P1<-->B/P2``, or one port."""
    for end in ends.split("<-->", 1):
        if found := _END.match(end):
            guid = found["guid"]
            yield RemarkPort(found["name"], int(guid, 16) if guid else None, normalised(found["port"]))
