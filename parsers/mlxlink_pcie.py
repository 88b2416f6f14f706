"""``mlxlink --port_type PCIE``: the PCIe links of a card as the card sees them, with ``-c`` their error counters.

The keys were read off the program that prints them (mstflint 4.32, ``mlxlink/modules/mlxlink_commander.cpp``) and off
public outputs; :mod:`ibkit.parsers.mlxlink_sections` has the form. A card may have several links (of a socket-direct
card, or behind its own switch); where one run shows several, the counters below them do not say whose they are.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import count_of
from ibkit.parsers.mlxlink_sections import PCIE, PCIE_COUNTERS, Output, read
from ibkit.parsers.records import NamedTuple

#: Gb/s of a lane -> the number of the generation (PCI Express Base Specification 6.0, 4.2).
GENERATIONS = {"2.5G": 1, "5G": 2, "8G": 3, "16G": 4, "32G": 5, "64G": 6}

_KEYS = ("Depth, pcie index, node", "Link Speed Active (Enabled)", "Link Width Active (Enabled)")
_COUNTERS = ("RX Errors", "TX Errors", "CRC Error dllp", "CRC Error tlp")
_PLACE = re.compile(r"(\d{1,3}), (\d{1,3}), (\d{1,3})\Z")
_SPEED = re.compile(r"(N/A|[\d.]{1,5}G)(?:-Gen ?(\d{1,2}))? \(([\d.]{1,5}G)(?:-Gen ?(\d{1,2}))?\)\Z")
_WIDTH = re.compile(r"(\d{1,2})[Xx] \((\d{1,2})[Xx]\)\Z")


class PcieLink(NamedTuple):
    """A link by its ``depth``, ``pcie_index`` and ``node``. ``generation`` and ``width`` are those it runs at, the
    others what is enabled; None where the tool tells none. ``status`` is the device's own word on errors that it saw.
    """

    line: int
    device: str | None = None
    depth: int | None = None
    pcie_index: int | None = None
    node: int | None = None
    generation: int | None = None
    enabled_generation: int | None = None
    width: int | None = None
    enabled_width: int | None = None
    status: str | None = None
    rx_errors: int | None = None
    tx_errors: int | None = None
    crc_errors_dllp: int | None = None
    crc_errors_tlp: int | None = None


def parse(text: str, *, source: str = "") -> Parsed[tuple[PcieLink, ...]]:
    """Read all links. ``complete`` is False where the text ends inside one, else None.

    Raises NotThisFormat where there is no heading of such a link.
    """
    outputs, problems, cut = read(text, source, PCIE)
    if not outputs:
        raise NotThisFormat(f"{source or 'input'}: no heading {PCIE!r}, so not mlxlink --port_type PCIE")
    links = []
    for output, following in zip(outputs, (*outputs[1:], None), strict=True):
        alone = output.first and (following is None or following.first)
        link, bad = _link(output, alone)
        for key, value in bad:
            problems.add("bad-value", f"{key}: {value[:80]!r} is no possible value", output.line)
        links.append(link)
    return Parsed(tuple(links), problems.all(), False if cut else None)


def _link(output: Output, alone: bool) -> tuple[PcieLink, list[tuple[str, str]]]:
    """A link, and the rows whose value makes no sense."""
    rows = output.sections.get(PCIE, {})
    place = _PLACE.match(rows.get(_KEYS[0], ""))
    speed = _SPEED.match(rows.get(_KEYS[1], ""))
    width = _WIDTH.match(rows.get(_KEYS[2], ""))
    link = PcieLink(output.line, output.device, status=rows.get("Device Status"))
    if place:
        link = link._replace(depth=int(place[1]), pcie_index=int(place[2]), node=int(place[3]))
    if speed:
        link = link._replace(
            generation=_generation(*speed.group(1, 2)), enabled_generation=_generation(*speed.group(3, 4))
        )
    if width:
        link = link._replace(width=int(width[1]) or None, enabled_width=int(width[2]) or None)
    read_rows = {_KEYS[0]: place, _KEYS[1]: speed, _KEYS[2]: width}
    bad = [(key, rows[key]) for key, found in read_rows.items() if key in rows and not found]
    counters = output.sections.get(PCIE_COUNTERS, {}) if alone else {}
    counted = {key: count_of(text) for key, text in counters.items() if key in _COUNTERS}
    bad += [(key, counters[key]) for key, count in counted.items() if count is None]
    rx, tx, dllp, tlp = (counted.get(key) for key in _COUNTERS)
    return link._replace(rx_errors=rx, tx_errors=tx, crc_errors_dllp=dllp, crc_errors_tlp=tlp), bad


def _generation(rate: str, generation: str | None) -> int | None:
    return int(generation) if generation else GENERATIONS.get(rate)
