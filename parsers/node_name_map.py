"""Node-name maps: names for nodes by their GUID, for the tools' option ``--node-name-map`` and for OpenSM.

``0x0c42a10300000000 "leaf 3, rack 7"   # comment``. Read as the tools read it (rdma-core, ``util/node_name_map.c``,
which is OpenSM's ``complib/cl_nodenamemap.c``): a GUID is a node's, in C's notation; a name goes from the first
character that is neither ``"`` nor ``#`` to the next that is one of them, with or without quotes around it (here
without blanks at its ends); of two lines for one GUID the first counts. **One line without a GUID, and the tools take
nothing of the file**; here it costs that line.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import Problems, lines_of
from ibkit.parsers.records import NamedTuple

#: The tools read so many bytes of a line at a time, and take the rest for another line.
MAX_BYTES = 254
MAX_GUID = (1 << 64) - 1

_GUID = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,22}|[1-9][0-9]{0,19})(?=[\s#]|\Z)")
_NAME = re.compile(r'["#]*+([^"#]+)')


class NodeName(NamedTuple):
    """A node's name; the GUID is a plain integer."""

    guid: int
    name: str
    line: int


def parse(text: str, *, source: str = "") -> Parsed[tuple[NodeName, ...]]:
    """Read all names, each GUID once. ``complete`` is False where a line cannot be read, else None.

    Raises NotThisFormat where there is no name, or the lines without a GUID are more than the names.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    names: dict[int, NodeName] = {}
    damaged = 0
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if len(raw.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            problems.add("long-line", f"more than {MAX_BYTES} bytes: the tools take the rest for a line", number)
        guid = _GUID.match(line)
        value = _number(guid[1]) if guid else None
        if guid is None or value is None:
            damaged += 1
            text = f"no GUID, so that the tools take nothing of this file: {line[:80]!r}"
            problems.add("bad-line", text, number)
            continue
        rest = line[guid.end() :].lstrip()
        found = _NAME.match(rest)
        name = found[1].strip() if found else ""
        if not name:
            problems.add("no-name", f"no name for {value:#018x}", number)
        elif value in names:
            first = names[value]
            if first.name != name:
                text = f"{value:#018x} is {first.name!r} since line {first.line}, so not {name!r}"
                problems.add("repeated", text, number)
        else:
            if rest.startswith("#"):
                problems.add("odd-name", f"the tools take the comment for the name of {value:#018x}", number)
            names[value] = NodeName(value, name, number)
    if not names or damaged > len(names):
        like = f"{len(names)} lines like" if names else "no line like"
        others = f", {damaged} others" if names else ""
        raise NotThisFormat(f"{source or 'input'}: not a node-name map: {like} '0x0c42a10300000000 \"leaf 3\"'{others}")
    return Parsed(tuple(names.values()), problems.all(), False if damaged or long_lines else None)


def _number(text: str) -> int | None:
    """A number as C writes them; None where it has more than 64 bits."""
    value = int(text, 16) if text[:2] in ("0x", "0X") else int(text, 8 if text[0] == "0" else 10)
    return value if value <= MAX_GUID else None
