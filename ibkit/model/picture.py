"""A fabric as a picture that a person can read: boxes and lines, with what is alike folded into one. Pure.

Channel adapters with the same links to the same switch are one box, parallel links one line. Links that are slow, or
suspected to be, have lines of their own, and their adapters boxes of their own. A large fabric is folded further: first
the switches of one level of a pod (what hangs together without the top level), and the top level; where that is not
enough, all switches of a level.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ibkit.model.components import components
from ibkit.model.fabric import SWITCH, Fabric, Link, Node
from ibkit.model.ids import Guid
from ibkit.model.levels import levels
from ibkit.model.link_grade import OK, SLOW, SUSPECTED, LinkGrade
from ibkit.model.node_names import is_default, place_of
from ibkit.model.node_set import can_fold, fold
from ibkit.parsers.records import NamedTuple

#: More switches than this are folded: nobody reads them on one sheet.
MAX_SWITCHES = 100
#: What is folded of the switches.
NOTHING, PODS, LEVELS = "nothing", "pods", "levels"
#: The number of links between two switches is usual where this share of the pairs of their levels have it.
COMMON_SHARE, FEWEST_PAIRS = 0.75, 4


class Box(NamedTuple):
    """One node, or several that are alike. ``id`` is that of its first member, ``kind`` a type of ibkit.model.fabric.

    ``names`` are the members' raw descriptions, ``title`` a short form of the hosts or switches that these name (not
    neutralised). ``level`` is 0 for what has no level. ``listed`` is False where only neighbours speak of it.
    """

    id: str
    kind: str
    members: tuple[Guid, ...]
    names: tuple[str | None, ...]
    title: str
    level: int = 0
    listed: bool = True


class Line(NamedTuple):
    """Links between two boxes that are alike; ``a`` is the id of the upper one, whose ends come first in ``links``.

    ``usual_count`` is how many links such a pair of switches usually has, where this one has fewer; else None.
    """

    a: str
    b: str
    links: tuple[Link, ...]
    width: str | None
    speed: str | None
    grade: LinkGrade
    seen_from: int
    usual_count: int | None = None


class Picture(NamedTuple):
    """``folded`` says what of the switches is: nothing, pods or levels."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    folded: str = NOTHING


def draw(
    fabric: Fabric, grades: Mapping[Link, LinkGrade], *, each_host: bool = False, each_switch: bool = False
) -> Picture:
    """The picture. ``each_host`` and ``each_switch`` fold none of them, however many there are."""
    level = levels(fabric)
    folded, group = (NOTHING, {}) if each_switch else _switch_groups(fabric, level)
    box_of = _with_adapters(fabric, grades, group, each_host=each_host)
    members: dict[str, list[Node]] = defaultdict(list)
    for node in fabric.nodes.values():
        members[box_of[node.guid]].append(node)
    boxes = [_box(name, nodes, level) for name, nodes in members.items()]
    height = {box.id: box.level for box in boxes}
    lines = _lines(grades, box_of, height)
    if folded == NOTHING:
        lines = _with_usual(lines, {box.id: box.level for box in boxes if box.kind == SWITCH})
    boxes.sort(key=lambda box: (-box.level, box.kind, box.members[0]))
    return Picture(tuple(boxes), tuple(sorted(lines, key=lambda line: (line.a, line.b, line.links))), folded)


# Boxes


def _switch_groups(fabric: Fabric, level: Mapping[Guid, int]) -> tuple[str, dict[Guid, str]]:
    """What is folded of the switches, and the box of each folded one."""
    switches = [node.guid for node in fabric.nodes.values() if node.type == SWITCH]
    if len(switches) <= MAX_SWITCHES:
        return NOTHING, {}
    top = max(level.values(), default=0)
    pod = _pods(fabric, {guid for guid in switches if level.get(guid, top) < top})
    group = _named({guid: (pod.get(guid), level.get(guid)) for guid in switches})
    if len(set(group.values())) <= MAX_SWITCHES:
        return PODS, group
    return LEVELS, _named({guid: level.get(guid) for guid in switches})


def _named(keys: Mapping[Guid, object]) -> dict[Guid, str]:
    """Each with the name of the first that has its key."""
    first: dict[object, str] = {}
    return {guid: first.setdefault(key, str(guid)) for guid, key in keys.items()}


def _pods(fabric: Fabric, switches: set[Guid]) -> dict[Guid, Guid]:
    """One of its switches for each that hangs together with it."""
    ends = ((link.a.guid, link.b.guid) for link in fabric.links)
    pods = components((a, b) for a, b in ends if a in switches and b in switches)
    return {guid: pods.get(guid, guid) for guid in switches}


def _with_adapters(
    fabric: Fabric, grades: Mapping[Link, LinkGrade], group: Mapping[Guid, str], *, each_host: bool
) -> dict[Guid, str]:
    """The box of each node: adapters, and whatever else is no switch, by what they are linked to and how."""
    box_of = {guid: group.get(guid, str(guid)) for guid in fabric.nodes}
    if each_host:
        return box_of
    attached: dict[Guid, list[tuple[object, ...]]] = defaultdict(list)
    for link in fabric.links:
        for end, peer in (link[:2], link[1::-1]):
            if fabric.nodes[end.guid].type != SWITCH and fabric.nodes[peer.guid].type == SWITCH:
                odd = grades[link][:2] if grades[link].verdict in (SLOW, SUSPECTED) else ()
                attached[end.guid].append((box_of[peer.guid], link.width or "", link.speed or "", link.seen_from, odd))
    keys = {
        guid: (node.type, node.port_count is None, *sorted(attached[guid], key=repr))
        for guid, node in fabric.nodes.items()
        if guid in attached
    }
    return box_of | _named(keys)


def _box(name: str, nodes: list[Node], level: Mapping[Guid, int]) -> Box:
    guids = tuple(node.guid for node in nodes)
    height = min((level.get(guid, 0) for guid in guids), default=0)
    listed = any(node.port_count is not None for node in nodes)
    return Box(name, nodes[0].type, guids, tuple(node.name for node in nodes), _title(nodes), height, listed)


def _title(nodes: list[Node]) -> str:
    """A single node's own name, of a switch the system's alone; of several the short form of their systems' names."""
    if len(nodes) == 1:
        name = (nodes[0].name or "").strip()
        place = place_of(name)
        is_box = nodes[0].type == SWITCH and place.board is None
        return (is_box and place.system) or name or str(nodes[0].guid)
    systems = [place_of(node.name).system or "" for node in nodes]
    named = [system for system in systems if can_fold(system)]
    others = len(nodes) - len(named)
    parts = [fold(named)] if named else []
    if others:
        nameless = all(map(is_default, (node.name for node in nodes))) or not any(systems)
        parts.append(f"{others} {'without a name' if nameless else 'others'}")
    return ", ".join(parts)


# Lines


def _lines(grades: Mapping[Link, LinkGrade], box_of: Mapping[Guid, str], height: Mapping[str, int]) -> list[Line]:
    """Parallel links that are alike as one line, the upper end first."""
    alike: dict[tuple[str, str, object], list[tuple[Link, LinkGrade]]] = defaultdict(list)
    for link, grade in grades.items():
        a, b = box_of[link.a.guid], box_of[link.b.guid]
        if (height[a], b) < (height[b], a):
            a, b, link = b, a, link._replace(a=link.b, b=link.a)
        odd = grade[:2] if grade.verdict in (SLOW, SUSPECTED) else None
        alike[a, b, (link.width, link.speed, link.seen_from, odd)].append((link, grade))
    lines = []
    for (a, b, _), graded in alike.items():
        first, grade = next((pair for pair in graded if pair[1].verdict != OK), graded[0])
        links = tuple(link for link, _ in graded)
        lines.append(Line(a, b, links, first.width, first.speed, grade, first.seen_from))
    return lines


def _with_usual(lines: Iterable[Line], level: Mapping[str, int]) -> list[Line]:
    """Marks pairs of switches that have fewer links than nearly all pairs of their levels."""
    lines = list(lines)
    count: Counter[tuple[str, str]] = Counter()
    for line in lines:
        if line.a in level and line.b in level and line.a != line.b:
            count[line.a, line.b] += len(line.links)
    by_levels: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for (a, b), number in count.items():
        by_levels[level[a], level[b]][number] += 1
    usual = {}
    for pair, numbers in by_levels.items():
        number, pairs = numbers.most_common(1)[0]
        if numbers.total() >= FEWEST_PAIRS and pairs >= COMMON_SHARE * numbers.total():
            usual[pair] = number
    marked = []
    for line in lines:
        expected = usual.get((level.get(line.a, -1), level.get(line.b, -1)), 0)
        marked.append(line._replace(usual_count=expected) if count[line.a, line.b] < expected else line)
    return marked
