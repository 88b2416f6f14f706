"""The words on a picture of a fabric: what a box and a line say to a reader, the same in all formats."""

from __future__ import annotations

from collections import Counter

from ibkit.display import clean
from ibkit.display import counted as of_number
from ibkit.model.fabric import AGGREGATION_NODE, CHANNEL_ADAPTER, ROUTER, SWITCH, UNKNOWN_TYPE, Fabric
from ibkit.model.link_grade import SLOW, SUSPECTED
from ibkit.model.picture import LEVELS, PODS, Box, Line, Picture
from ibkit.model.rates import width_speed
from ibkit.parsers.records import NamedTuple

#: The longest title; more of it is told as "...".
TITLE_LETTERS = 60
#: How a line looks by what is to be said of it.
PLAIN, BAD, DOUBTFUL, UNCLEAR = "plain", "bad", "doubtful", "unclear"

_NOUNS = {
    SWITCH: ("switch", "switches"),
    CHANNEL_ADAPTER: ("HCA", "HCAs"),
    ROUTER: ("router", "routers"),
    AGGREGATION_NODE: ("aggregation node", "aggregation nodes"),
    UNKNOWN_TYPE: ("node of unknown type", "nodes of unknown type"),
}


def noun_of(kind: str) -> str:
    """``HCA``."""
    return _NOUNS[kind][0]


def counted(kind: str, number: int) -> str:
    """``12 HCAs``."""
    return f"{number} {_NOUNS[kind][number != 1]}"


def box_rows(box: Box) -> list[str]:
    """Its title, then for several nodes how many: ``c[001-012]``, ``12 HCAs``."""
    rows = [clean(box.title, TITLE_LETTERS)]
    if len(box.members) > 1:
        rows.append(counted(box.kind, len(box.members)))
    if not box.listed:
        rows.append("only named by its neighbours")
    return rows


def rate_text(count: int, rate: str) -> str:
    """``2 x 4x HDR``; of one link its rate alone."""
    return rate if count == 1 else f"{count} x {rate}"


class Usual(NamedTuple):
    """What lines say nothing about: the count and rate of nearly all between switches, and the rate of the others'."""

    between_switches: tuple[int, str] | None
    of_hosts: str | None


def usual_of(picture: Picture) -> Usual:
    """The most common of the lines that nothing is wrong with."""
    switches = {box.id for box in picture.boxes if box.kind == SWITCH}
    between: Counter[tuple[int, str]] = Counter()
    hosts: Counter[str] = Counter()
    for line in picture.lines:
        rate = width_speed(line.width, line.speed)
        if rate is None or look(line) != PLAIN:
            continue
        if line.a in switches and line.b in switches:
            between[len(line.links), rate] += 1
        else:
            hosts[rate] += len(line.links)
    return Usual(next(iter(between.most_common(1)), (None,))[0], next(iter(hosts.most_common(1)), (None,))[0])


def look(line: Line) -> str:
    """Whether a line is to be seen at once, and how."""
    if line.grade.verdict == SLOW:
        return BAD
    if line.grade.verdict == SUSPECTED or line.usual_count is not None:
        return DOUBTFUL
    return UNCLEAR if line.seen_from < 2 or width_speed(line.width, line.speed) is None else PLAIN


def line_rows(line: Line, usual: Usual, *, is_between_switches: bool) -> list[str]:
    """What is wrong with it, then ``2 x 4x HDR``; nothing where all of it is usual."""
    count = len(line.links)
    rate = width_speed(line.width, line.speed) or "rate not known"
    rows = []
    if line.grade.verdict in (SLOW, SUSPECTED):
        rows.append(f"{line.grade.verdict.upper()}: {line.grade.text}")
    if line.usual_count is not None:
        rows.append(f"FEWER LINKS: others have {line.usual_count}")
    if line.seen_from < 2:
        rows.append("SEEN FROM ONE END")
    if not rows and (usual.between_switches == (count, rate) if is_between_switches else usual.of_hosts == rate):
        return []
    where = f", port {line.links[0].a.port} to {line.links[0].b.port}" if rows and count == 1 else ""
    return [clean(row) for row in (*rows, rate_text(count, rate) + where)]


def caption(fabric: Fabric, picture: Picture, usual: Usual) -> list[str]:
    """What stands below: how much is on it, whether that is all, and what lines without a text mean."""
    if not fabric.nodes:
        return ["nothing was seen"]
    kinds = [kind for kind in _NOUNS if fabric.number_of(kind)]
    told = [
        ", ".join(counted(kind, fabric.number_of(kind)) for kind in kinds) + f", {of_number(len(fabric.links), 'link')}"
    ]
    if fabric.complete is False:
        told.append("INCOMPLETE: something is known to be missing")
    elif fabric.complete is None:
        told.append("whether this is all of it is not known")
    if picture.folded == PODS:
        told.append("folded: a box is all switches of one level of a pod, or of the top level")
    elif picture.folded == LEVELS:
        told.append("folded: a box is all switches of one level")
    if usual.between_switches:
        told.append(f"lines between switches without a text: {rate_text(*usual.between_switches)}")
    if usual.of_hosts:
        told.append(f"lines to hosts without a text: {usual.of_hosts}")
    return told
