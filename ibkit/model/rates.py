"""Width and speed of a link in the tools' words: what they rank, and what they carry.

Words that are not known rank as None, never as the least: a newer tool's or a newer generation's word is no fault.
Generations and their rates per lane: InfiniBand Architecture Specification volume 1, 14.2.5.6, PortInfo
(LinkSpeedActive and LinkSpeedExtActive); FDR10 is NVIDIA's own, between QDR and FDR.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ibkit.parsers.link_row import SPEEDS
from ibkit.parsers.records import NamedTuple

#: Nominal Gb/s of one lane, in the order of generations: what their names promise, without the line's coding.
LANE_GBPS = {
    "SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR10": 10.3125, "FDR": 14.0625, "EDR": 25.0, "HDR": 50.0, "NDR": 100.0,
    "XDR": 200.0,
}  # fmt: skip
#: What is left of a lane's signalling for bytes: 8 of 10 bits up to QDR, 64 of 66 from FDR10 to EDR; the later
#: generations signal faster than their names say, for their error correction.
_DATA_GBPS = LANE_GBPS | {"SDR": 2.0, "DDR": 4.0, "QDR": 8.0, "FDR10": 10.0, "FDR": 14.0625 * 64 / 66}
_GENERATIONS = tuple(LANE_GBPS)
_WIDTH = re.compile(r"([0-9]{1,2})[xX]\Z")
#: The widths that there are. A number beside them is no width that a tool has printed.
_LANES = frozenset((1, 2, 4, 8, 12))
#: What stands between the words of a list: ``1X or 4X`` (infiniband-diags), ``HDR,EDR,FDR`` (mlxlink).
_BETWEEN = re.compile(r"\s+or\s+|\s*,\s*")
#: infiniband-diags' words for "none of these": a speed field that is 0, and the two fields that point at each other.
_EMPTY = frozenset(("", "0", "No Extended Speed", "Extended speed", "Extended link speeds disabled"))
#: A remark behind a list (``undefined (0) (IBA extension)``), which is none of its words.
_REMARK = " (IBA extension)"


@lru_cache(maxsize=256)  # a fabric has many links and few words
def lanes(width: str | None) -> int | None:
    """``4x`` or ``4X`` as 4; None where the width is not known or not a width. Widths rank by this number: the code of
    2x in PortInfo (16) is greater than that of 12x (8).
    """
    found = _WIDTH.match(width or "")
    count = int(found.group(1)) if found else None
    return count if count in _LANES else None


@lru_cache(maxsize=256)
def generation(speed: str | None) -> str | None:
    """``HDR`` of ``HDR``, ``hdr`` or ``53.125 Gbps``; None for a speed that is not known or an unknown word."""
    word = (speed or "").strip()
    name = SPEEDS.get(word, word.upper())
    return name if name in LANE_GBPS else None


def speed_rank(speed: str | None) -> int | None:
    """The place of a speed among the generations, SDR being 0; None where it is not known."""
    name = generation(speed)
    return None if name is None else _GENERATIONS.index(name)


def generation_of_rank(rank: int) -> str:
    """The inverse of ``speed_rank``."""
    return _GENERATIONS[rank]


def lane_gbps(speed: str | None) -> float | None:
    """Nominal Gb/s of one lane; None for a speed that is not known."""
    name = generation(speed)
    return None if name is None else LANE_GBPS[name]


def rate_gbps(width: str | None, speed: str | None) -> float | None:
    """Nominal Gb/s of the link; None where either part is not known."""
    count, lane = lanes(width), lane_gbps(speed)
    return None if count is None or lane is None else count * lane


def data_gbps(width: str | None, speed: str | None) -> float | None:
    """The Gb/s of bytes that the link can carry, without its coding; None where either part is not known."""
    count, name = lanes(width), generation(speed)
    return None if count is None or name is None else count * _DATA_GBPS[name]


def width_speed(width: str | None, speed: str | None) -> str | None:
    """``4x HDR`` for people; None where nothing is known."""
    return None if width is None and speed is None else f"{width or '?x'} {speed or '?'}"


class Choice(NamedTuple):
    """What a port may run at by one field of its PortInfo: the ranks of the words that are known (lanes, or
    ``speed_rank``). ``is_whole`` is False where another word stands among them: then there may be more, and a better.
    """

    ranks: frozenset[int]
    is_whole: bool


def width_choice(words: str | None) -> Choice | None:
    """``1X or 4X`` as the lanes 1 and 4; None where nothing is known."""
    return _choice(words, "width")


def speed_choice(words: str | None) -> Choice | None:
    """``2.5 Gbps or 5.0 Gbps`` (of the base and the extended field, in one list or two) or ``SDR or DDR`` as ranks."""
    return _choice(words, "speed")


def best_common(a: Choice | None, b: Choice | None) -> tuple[int | None, bool]:
    """The best rank that both ends have, and whether that is certain to be all: two ports train to the best that both
    have enabled (volume 2, the link training state machine). None where it is not known of both, or where they share
    nothing.
    """
    if a is None or b is None:
        return None, False
    common = a.ranks & b.ranks
    return (max(common) if common else None), a.is_whole and b.is_whole


def _choice(words: str | None, what: str) -> Choice | None:
    if words is None:
        return None
    rank = lanes if what == "width" else speed_rank
    ranks = set()
    unknown = False
    for word in _BETWEEN.split(words.replace(_REMARK, "").strip()):
        found = rank(word)
        if found is not None:
            ranks.add(found)
        elif word not in _EMPTY:
            unknown = True
    return Choice(frozenset(ranks), not unknown) if ranks else None
