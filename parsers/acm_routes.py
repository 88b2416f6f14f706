"""``ibacm_route.data``: the paths that ibacm knows before anybody asks (option ``route_preload opensm_full_v1``).

OpenSM's event plug-in ``dump_pr`` writes it as ``opensm-path-records.dump`` where DUMP_FULL_PATH_RECORDS is set
(hnrose/dump_pr, ``dump_pr_plugin.c``); ibacm reads it in ``ibacm/prov/acmp/src/acmp.c``: acmp_parse_osm_fullv1. A block
for each source port, a row for each destination's base LID::

    Channel Adapter 0x0c42a10300000021, base LID 5, "n21 mlx5_0", port 1
    # LID  : SL : MTU : RATE
    0x0001 : 0  : 5   : 16
    0x0002 : UNREACHABLE

MTU and rate are codes of the specification (MTU 4 is 2048 bytes, rate 3 is 10 Gbit/s) without a selector. There is no
P_Key, no hop limit and no other subnet in it; rows of ports that cannot be reached stand behind other ports than a
switch's only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import Problems, lines_of
from ibkit.parsers.records import NamedTuple

SWITCH, CHANNEL_ADAPTER, ROUTER = "Switch", "Channel Adapter", "Router"
#: ibacm's buffer holds so many bytes of a line.
MAX_LINE_BYTES = 127
#: The last LID of a port (InfiniBand specification volume 1, 4.1.1); ibacm's table of GUIDs ends there.
MAX_LID = 0xBFFF

_HEAD = re.compile(
    r"\s*(?P<kind>Switch|Channel Adapter|Router) (?P<guid>0x[0-9a-fA-F]{1,16}), base LID (?P<lid>\d{1,5}),"
    r'(?: LMC \d,)?(?: "(?P<description>.*)")?(?:,? port (?P<port>\d{1,3}))?\s*\Z'
)
_LIKE_A_HEAD = ("Switch", "Channel", "Router")
_ROW = re.compile(
    r"\s*(?P<lid>0[xX][0-9a-fA-F]{1,4}|[1-9]\d{0,4})\s*:\s*"
    r"(?:UNREACHABLE|(?P<sl>\d{1,3})\s*:\s*(?P<mtu>\d{1,3})\s*:\s*(?P<rate>\d{1,3}))\s*\Z"
)


class Route(NamedTuple):
    """A row: the path from the block's port to ``dlid``."""

    dlid: int
    sl: int
    mtu_code: int
    rate_code: int
    line: int = 0


class RouteBlock(NamedTuple):
    """A source port. ``kind`` is Switch, Channel Adapter or Router, ``guid`` the port's; ``unreachable`` are LIDs."""

    kind: str
    guid: int
    lid: int
    description: str | None
    port: int | None
    routes: tuple[Route, ...] = ()
    unreachable: tuple[int, ...] = ()
    line: int = 0


def parse(text: str, *, source: str = "") -> Parsed[tuple[RouteBlock, ...]]:
    """All blocks. ``complete`` is None: there is no end mark.

    Raises NotThisFormat where there is no block.
    """
    lines, long_lines = lines_of(text, source, names_unquoted=True)
    problems = Problems(source, long_lines)
    blocks: list[RouteBlock] = []
    routes: list[Route] = []
    unreachable: list[int] = []

    def close() -> None:
        if blocks:
            blocks[-1] = blocks[-1]._replace(routes=tuple(routes), unreachable=tuple(unreachable))
        routes.clear()
        unreachable.clear()

    in_block = False
    for number, line in enumerate(lines, 1):
        if line[:1] == "#":
            continue
        if row := _ROW.match(line):
            if not in_block:
                problems.add("acm-stray-row", "a row that belongs to no port", number)
            elif row["sl"] is None:
                unreachable.append(int(row["lid"], 0))
            else:
                routes.append(Route(int(row["lid"], 0), int(row["sl"]), int(row["mtu"]), int(row["rate"]), number))
        elif head := _HEAD.match(line):
            close()
            in_block = True
            blocks.append(_block(head, number))
            if len(line.encode("utf-8", "backslashreplace")) > MAX_LINE_BYTES:
                problems.add("acm-long-line", f"ibacm reads {MAX_LINE_BYTES} bytes of a line", number)
        elif line.lstrip().startswith(_LIKE_A_HEAD):
            in_block = False
            problems.add("bad-line", f"not a port's head: {line[:120]!r}", number)
        elif in_block and line.strip():
            problems.add("bad-line", f"not a row: {line[:120]!r}", number)
        else:
            problems.noise.add(number, line)
    close()
    if not blocks:
        raise NotThisFormat(f"{source or 'input'}: no path records: no line like 'Channel Adapter 0x..., base LID 1,'")
    return Parsed(tuple(blocks), problems.all())


def _block(head: re.Match[str], number: int) -> RouteBlock:
    port = int(head["port"]) if head["port"] else None
    return RouteBlock(head["kind"], int(head["guid"], 16), int(head["lid"]), head["description"], port, line=number)


def write(blocks: Iterable[RouteBlock]) -> str:
    """The file. ibacm takes GUIDs from the heads of all ports, and rows of its own port only: a block without rows is
    well where the file is for another port.

    Descriptions lose what ibacm's buffer has no room for. Raises ValueError for a LID that is no port's and for two
    ports of one LID.
    """
    lines = []
    lids: dict[int, int] = {}
    for block in blocks:
        for lid in (block.lid, *(route.dlid for route in block.routes), *block.unreachable):
            if not 0 < lid <= MAX_LID:
                raise ValueError(f"LID {lid} is no port's")
        if lids.setdefault(block.lid, block.guid) != block.guid:
            raise ValueError(f"two ports with LID {block.lid}: 0x{lids[block.lid]:016x} and 0x{block.guid:016x}")
        lines.append(_head(block))
        lines.append("# LID  : SL : MTU : RATE\n")
        rows = dict.fromkeys(block.unreachable, "UNREACHABLE")
        rows.update((row.dlid, f"{row.sl:<2} : {row.mtu_code:<3} : {row.rate_code:<4}") for row in block.routes)
        lines += [f"0x{lid:04X} : {row}\n" for lid, row in sorted(rows.items())]
        lines.append("\n")
    return "".join(lines)


def _head(block: RouteBlock) -> str:
    start = f'{block.kind} 0x{block.guid:016x}, base LID {block.lid}, "'
    end = f'", port {block.port or 0}\n'
    room = MAX_LINE_BYTES - len(start) - len(end)
    name = (block.description or "").encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    return start + "".join(c if c.isprintable() else "." for c in name) + end
