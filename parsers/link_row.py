"""A port and what it is cabled to, as ``iblinkinfo`` prints it and ``ibqueryerrors --report-port`` repeats it.

``4    1[  ] ==( 4X   53.125 Gbps Active/  LinkUp)==>    2   28[  ] "leaf1" (Could be 12X )``

Three forms of the right-hand side: a peer; nothing (a port that is down); ``"Port not available"`` (the port is not
down, and the tool could not see its peer). Width and speed of a down port are not printed, because a port that is
down may return anything there (InfiniBand Architecture Specification volume 1, C14-24.2.1). Names are not escaped:
they are read from the outside in.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ibkit.parsers.records import NamedTuple

#: Signalling rate per lane, as printed, to the name of the speed (InfiniBand Architecture Specification volume 1,
#: section 14.2.5.6, PortInfo LinkSpeedActive and LinkSpeedExtActive; FDR10 is NVIDIA's).
SPEEDS = {
    "2.5 Gbps": "SDR",
    "5.0 Gbps": "DDR",
    "10.0 Gbps": "QDR",
    "10.0 Gbps (FDR10)": "FDR10",
    "14.0625 Gbps": "FDR",
    "25.78125 Gbps": "EDR",
    "53.125 Gbps": "HDR",
    "106.25 Gbps": "NDR",
    "212.5 Gbps": "XDR",
}


class LinkRow(NamedTuple):
    """One end and its peer. GUIDs are plain integers.

    ``width`` is like ``4x`` and ``speed`` like ``HDR``; a code that the tool does not know stays as printed
    (``undefined (32)``), None is what a down port does not print. ``state`` and ``physical_state`` are the tool's
    words. ``lid`` is 0 before an SM has been there. ``peer_port`` is None where no peer is named; ``peer_guid`` is
    the peer's **port** GUID, which only some forms print. ``could_be_width`` and ``could_be_speed`` are the tool's
    hints, weak evidence: some versions work the speed out wrong.
    """

    lid: int
    port: int
    label: int | None
    width: str | None
    speed: str | None
    state: str
    physical_state: str
    peer_guid: int | None = None
    peer_lid: int | None = None
    peer_port: int | None = None
    peer_label: int | None = None
    peer_name: str | None = None
    could_be_width: str | None = None
    could_be_speed: str | None = None

    @property
    def is_down(self) -> bool:
        """True where the logical state is Down: nothing but the two states means anything then."""
        return self.state == "Down"


# Quantifiers next to each other are possessive (``++``, ``*+``): a hostile row costs one pass.
_ROW = re.compile(
    r"\s*(?P<lid>\d{1,5})\s+(?P<port>\d{1,3})\[\s*+(?P<label>\d{0,4})\s*+\] ==\((?P<link>.*?)\)"
    r"(?: \(HOQ:\d+ VL_Stall:\d+\))?==>(?P<peer>.*)"
)
_LINK = re.compile(r"\s*(?P<rate>\S.*\s)??(?P<state>[^\s/]++)/\s*+(?P<physical>[^\s/]++)\s*+\Z")
_RATE = re.compile(r"(?P<width>\d{1,2}X|undefined \(\d{1,6}\)|\?+)\s+(?P<speed>\S.*)\Z")
_PEER = re.compile(
    r"\s*(?:0x(?P<guid>[0-9a-fA-F]{1,16})\s+)?(?P<lid>\d{1,5})\s+(?P<port>\d{1,3})\[\s*+(?P<label>\d{0,4})\s*+\]\s+\"(?P<rest>.*)"
)
_NO_PEER = re.compile(r'\s*(?:\[\s*\]\s*""\s*\(\s*\)|"Port not available")\s*\Z')
_WIDTH_HINT = re.compile(r"Could be (\d{1,2}X)\b")
_SPEED_HINT = re.compile(r"Could be (FDR10|[\d.]{1,9} Gbps(?: \(FDR10\))?)")


def parse_row(text: str) -> LinkRow | None:
    """The row in ``text``, which starts at the LID; None where it is none or a damaged one."""
    row = _ROW.match(text)
    link = _link_of(row["link"]) if row else None
    if not row or not link:
        return None
    own = int(row["lid"]), int(row["port"]), number_of(row["label"]), *link
    peer = _PEER.match(row["peer"])
    if not peer:
        return LinkRow(*own) if _NO_PEER.match(row["peer"]) else None
    name, hints = _name_and_hints(peer["rest"])
    width_hint, speed_hint = _WIDTH_HINT.search(hints), _SPEED_HINT.search(hints)
    return LinkRow(
        *own,
        int(peer["guid"], 16) if peer["guid"] else None,
        int(peer["lid"]),
        int(peer["port"]),
        number_of(peer["label"]),
        name,
        width_of(width_hint[1]) if width_hint else None,
        SPEEDS.get(speed_hint[1], speed_hint[1]) if speed_hint else None,
    )


@lru_cache(maxsize=256)  # a fabric has many links and few words
def _link_of(text: str) -> tuple[str | None, str | None, str, str] | None:
    """Width, speed and the two states: what stands between the brackets."""
    link = _LINK.match(text)
    if not link:
        return None
    width = speed = None
    if link["rate"] and link["rate"].strip():
        rate = _RATE.match(link["rate"].strip())
        if not rate:
            return None
        width, speed = width_of(rate["width"]), SPEEDS.get(rate["speed"], rate["speed"])
    return width, speed, link["state"], link["physical"]


def width_of(text: str) -> str:
    """``4X`` as ``4x``, like ibnetdiscover; anything else as it is."""
    return text[:-1] + "x" if text[:-1].isdigit() and text[-1] == "X" else text


def number_of(text: str) -> int | None:
    """The number on the chassis' panel; blanks are none."""
    return int(text) if text else None


def _name_and_hints(rest: str) -> tuple[str | None, str]:
    """``name" (hints)`` without the first quote. The last quote before a bracket ends the name; without one, the line
    is cut, and what is left of the name is no name.
    """
    name, quote, hints = rest.rpartition('"')
    return (name, hints) if quote and hints.lstrip()[:1] == "(" else (None, "")
