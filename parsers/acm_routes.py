"""``ibacm_route.data``: the paths that ibacm knows before anybody asks (option ``route_preload opensm_full_v1``).

OpenSM's event plug-in ``dump_pr`` writes it as ``opensm-path-records.dump`` when DUMP_FULL_PATH_RECORDS is set
(hnrose/dump_pr, ``dump_pr.c``); ibacm reads it in ``ibacm/prov/acmp/src/acmp.c``: acmp_parse_osm_fullv1. One block a
source port, one row a destination LID::

    Channel Adapter 0x0c42a10300000021, base LID 5, "n21 mlx5_0", port 1
    # LID  : SL : MTU : RATE
    0x0001 : 0  : 5   : 16
    0x0002 : UNREACHABLE

MTU and rate are the codes of the specification (MTU 4 is 2048 bytes, rate 3 is 10 Gbit/s) without selector. There is no
P_Key, no hop limit and no other subnet in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.parsers.base import Parsed
from ibkit.parsers.records import NamedTuple


class Route(NamedTuple):
    """A row: from the block's port to ``dlid``."""

    dlid: int
    sl: int
    mtu_code: int
    rate_code: int
    line: int


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
    """All blocks. Raises NotThisFormat where there is no block."""
    raise NotImplementedError


def write(blocks: Iterable[RouteBlock]) -> str:
    """The file. ibacm needs the heads of all ports and the rows of its own port only, so a block without rows is well.

    Raises ValueError for a LID that is no unicast one.
    """
    raise NotImplementedError
