"""The rules for ibacm_route.data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.model.findings import CRITICAL, WARNING, Finding
from ibkit.model.path_record import MTU_BYTES, RATE_GBPS
from ibkit.parsers.acm_routes import MAX_LID, Route, RouteBlock
from ibkit.parsers.base import Parsed
from ibkit.resolve.lint.page import Known, Page

_HEAD = 'Channel Adapter 0x0c42a10300000021, base LID 5, "n21 mlx5_0", port 1'
_ROW = "0x0001 : 0  : 5   : 16"
_MENDS = {
    "bad-line": (CRITICAL, f"write heads like '{_HEAD}' and rows like '{_ROW}'"),
    "acm-stray-row": (CRITICAL, "put the row behind the head of its source port"),
    "acm-long-line": (WARNING, "shorten the description"),
    "noise": (WARNING, "remove what is neither a head nor a row, or start the line with #"),
}
_MAKE = "let OpenSM's plug-in dump_pr write the file again, with DUMP_FULL_PATH_RECORDS=1"


def no_routes(page: Page) -> Iterator[Finding]:
    """The finding about a file in which there is no port."""
    what = "ibacm finds no path in this file: there is no port's head in it"
    yield page.finding("acm-no-entry", CRITICAL, what, f"write heads like '{_HEAD}'; {_MAKE}")


def routes_findings(page: Page, parsed: Parsed[tuple[RouteBlock, ...]], known: Known) -> Iterator[Finding]:
    """All findings about the file."""
    yield from page.of_its_bytes()
    yield from page.of_problems(parsed.problems, _MENDS)
    blocks = parsed.value
    first: dict[int, RouteBlock] = {}
    for block in blocks:
        yield from _about_head(page, block, known)
        other = first.setdefault(block.lid, block)
        if other is not block:
            what = f"two ports with LID {block.lid}: ibacm takes 0x{other.guid:016x}, the first"
            yield page.finding("acm-duplicate-lid", CRITICAL, what, _MAKE, other.line, block.line)
    yield from _guids_twice(page, blocks)
    for block in blocks:
        for route in block.routes:
            yield from _about_row(page, route, first)


def _about_head(page: Page, block: RouteBlock, known: Known) -> Iterator[Finding]:
    if not 0 < block.lid <= MAX_LID:
        yield page.finding("acm-bad-lid", CRITICAL, f"LID {block.lid} is no port's", _MAKE, block.line)
    if known.lids and block.guid not in known.lids:
        what = f"no port of the fabric has the GUID 0x{block.guid:016x}"
        yield page.finding("acm-unknown-guid", CRITICAL, what, _MAKE, block.line)
    elif known.lids and known.lids[block.guid] != block.lid:
        what = f"the port 0x{block.guid:016x} has LID {known.lids[block.guid]}, not {block.lid}"
        why = "ibacm answers with the LID of the file; on the port's own host it finds no block at all"
        yield page.finding("acm-old-lid", CRITICAL, what, _MAKE, block.line, why=why)


def _guids_twice(page: Page, blocks: Sequence[RouteBlock]) -> Iterator[Finding]:
    first: dict[int, RouteBlock] = {}
    for block in blocks:
        other = first.setdefault(block.guid, block)
        if other is not block:
            what = f"the port 0x{block.guid:016x} stands twice: ibacm reads the first block with the port's own LID"
            yield page.finding("acm-duplicate-guid", WARNING, what, _MAKE, other.line, block.line)


def _about_row(page: Page, route: Route, heads: dict[int, RouteBlock]) -> Iterator[Finding]:
    if not 0 < route.dlid <= MAX_LID:
        what = f"LID {route.dlid} is no port's; ibacm looks it up behind the end of its table"
        yield page.finding("acm-bad-lid", CRITICAL, what, _MAKE, route.line)
    elif route.dlid not in heads:
        what = f"no port of the file has LID {route.dlid}, so ibacm leaves the path out"
        fix = f"{_MAKE}; of a port with several LIDs only the first counts"
        yield page.finding("acm-unknown-lid", WARNING, what, fix, route.line)
    if route.sl > 15 or route.mtu_code not in MTU_BYTES or route.rate_code not in RATE_GBPS:
        what = f"no such path: SL {route.sl}, MTU code {route.mtu_code}, rate code {route.rate_code}"
        fix = "write an SL up to 15 and the codes without selector: MTU 1 to 5, rate as in ibv_rate"
        yield page.finding("acm-bad-code", CRITICAL, what, fix, route.line)
