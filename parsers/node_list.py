"""``ibhosts``, ``ibswitches``, ``ibrouters``, ``ibnodes``, and ``ibnetdiscover -l -H -S -R``: nodes, one a line.

``Ca : 0x0c42a103000000b0 ports 1 "c001-006 mlx5_1"``; ``ibnetdiscover`` adds device and vendor id, the other tools
(which cut their lines out of its topology) a switch's port 0 and LID. The GUID is the node's. The names are not
escaped; there is no end mark (rdma-core, ``infiniband-diags/ibnetdiscover.c``, ``scripts/ibhosts.in``).
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.diag_messages import SIMULATOR, Message, parse_line
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

_LINE = re.compile(
    r"(?P<kind>Ca|Switch|Rt)\s*+:\s*+0x(?P<guid>[0-9a-fA-F]{1,16}) ports (?P<ports>\d{1,3})"
    r"(?: devid 0x(?P<device>[0-9a-fA-F]{1,8}) vendid 0x(?P<vendor>[0-9a-fA-F]{1,8}))? \"(?P<rest>.*)"
)
_PORT0 = re.compile(r'(?P<name>.*)" (?P<port0>base|enhanced) port 0 lid (?P<lid>\d{1,5}) lmc (?P<lmc>[0-7])\s*\Z')
_FAILURE = re.compile(r"(?:\S*/)?ibnetdiscover: ")


class ListedNode(NamedTuple):
    """A node. ``kind`` is Ca, Switch or Rt; ``port0`` (base, enhanced), ``lid`` and ``lmc`` are a switch's. None is
    what this form does not print; the name is None where the line is cut in it.
    """

    kind: str
    guid: int
    ports: int
    name: str | None
    device_id: int | None
    vendor_id: int | None
    port0: str | None
    lid: int | None
    lmc: int | None
    line: int


class NodeList(NamedTuple):
    """The nodes in the order of the text, and the complaints found in it."""

    nodes: tuple[ListedNode, ...]
    messages: tuple[Message, ...] = ()


def parse(text: str, *, source: str = "") -> Parsed[NodeList]:
    """Read all nodes. ``complete`` is False where the tool failed or a line is cut, else None.

    Raises NotThisFormat where there is no node and no failure of the sweep that these tools make.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    nodes = []
    messages = []
    failed = False
    for number, line in enumerate(lines, 1):
        line = line.lstrip(BEFORE)
        if found := _LINE.match(line):
            node = _node(found, number)
            nodes.append(node)
            if node.name is None:
                failed = True
                problems.add("bad-line", f"a line that is cut: {line[:120]!r}", number)
        elif message := parse_line(line, number):
            if _FAILURE.match(message.text):
                failed = True
                problems.add(message.kind, message.text, number)
            elif message.kind != SIMULATOR:
                messages.append(message)
        else:
            problems.noise.add(number, line)
    if not nodes and not failed:
        raise NotThisFormat(f"{source or 'input'}: not a list of nodes: no line like 'Ca : 0x... ports 1'")
    return Parsed(NodeList(tuple(nodes), tuple(messages)), problems.all(), False if failed else None)


def _node(found: re.Match[str], number: int) -> ListedNode:
    rest = found["rest"]
    port0 = _PORT0.match(rest) if found["kind"] == "Switch" else None
    name = port0["name"] if port0 else rest.rstrip()[:-1] if rest.rstrip()[-1:] == '"' else None
    return ListedNode(
        found["kind"], int(found["guid"], 16), int(found["ports"]), name,
        int(found["device"], 16) if found["device"] else None, int(found["vendor"], 16) if found["vendor"] else None,
        port0["port0"] if port0 else None, int(port0["lid"]) if port0 else None, int(port0["lmc"]) if port0 else None,
        number,
    )  # fmt: skip
