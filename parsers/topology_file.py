"""Topology files of ibdiagnet, ibutils and UFM: which port of which box is connected with which.

``MQM9700 leaf1`` begins a box (its type and name, no blanks in either), ``   P61 -4x-50G-> MQM8700 spine1 P39`` is a
cable of it: its port, width and speed of a lane in Gb/s (either may be missing), then the other box and its port. An
empty line ends a box, ``#`` begins a comment. The grammar is that of ibdm-topo-file(1) and of IBDM's reader (ibutils,
``ibdm/datamodel/Fabric.cpp``); newer speeds are those of NVIDIA's examples (ibdiagnet manual, Topology Comparison;
Cable Validation Tool, Topo File). A tool writes each cable at both of its ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.cable_plans import CableEnd, ExpectedLink, each_once
from ibkit.parsers.lines import BEFORE, Problems, lines_of

_BOX = re.compile(r"([^/\s]+)[ \t]+([^/\s]+)[ \t]*(?:CFG:.*)?\Z")
_CABLE = re.compile(r"(\S+)[ \t]+(-\S*>)[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)\Z")
_ARROW = re.compile(r"-(?:(?P<width>\d{1,2})[xX]-)?(?:(?P<speed>[\w.]{1,8})G-)?>\Z")
#: Gb/s of a lane as IBDM prints them.
_SPEEDS = {
    "2.5": "SDR", "5": "DDR", "10": "QDR", "14": "FDR", "25": "EDR", "50": "HDR", "100": "NDR", "200": "XDR",
}  # fmt: skip


def parse(text: str, *, source: str = "") -> Parsed[tuple[ExpectedLink, ...]]:
    """Read all cables, each once. ``complete`` is False where a line cannot be read, else None.

    Raises NotThisFormat where there is no cable.
    """
    lines, long_lines = lines_of(text, source)
    reader = _Reader(Problems(source, long_lines))
    links = tuple(each_once(reader.read(lines), reader.problems))
    if not links:
        raise NotThisFormat(f"{source or 'input'}: not a topology file: no line like 'P1 -4x-50G-> MQM8700 spine1 P2'")
    return Parsed(links, reader.problems.all(), False if reader.lost or long_lines else None)


class _Reader:
    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.lost = False

    def read(self, lines: list[str]) -> Iterator[ExpectedLink]:
        """All cables, as they are listed."""
        box: tuple[str, str] | None = None
        for number, raw in enumerate(lines, 1):
            line = raw.strip(BEFORE)
            if not line:
                box = None
            elif line.startswith("#"):
                continue
            elif found := _CABLE.match(line):
                if box is None:
                    self._lose(f"a cable of no box: {line[:80]!r}", number)
                    continue
                arrow = _ARROW.match(found[2])
                if arrow is None:
                    self.problems.add("bad-arrow", f"no width and speed: {found[2][:40]!r}", number)
                yield ExpectedLink(
                    CableEnd(box[1], found[1], type=box[0]), CableEnd(found[4], found[5], type=found[3]), number,
                    f"{arrow['width']}x" if arrow and arrow["width"] else None,
                    _SPEEDS.get(arrow["speed"], f"{arrow['speed']}G") if arrow and arrow["speed"] else None,
                )  # fmt: skip
            elif found := _BOX.match(line):
                box = found[1], found[2]
            elif ">" in line:
                self._lose(f"not a cable: {line[:80]!r}", number)
            else:
                self.problems.noise.add(number, line)

    def _lose(self, text: str, number: int) -> None:
        self.lost = True
        self.problems.add("bad-line", text, number)
