"""``ibacm_addr.cfg``: which local endpoint (device, port, P_Key) answers for which name.

``node01 mlx5_0 1 default``: name, device, port, P_Key, read as ibacm itself reads it (rdma-core, ``ibacm/src/acm.c``:
acm_assign_ep_names). IP addresses count here only with the option ``support_ips_in_addr_cfg 1``; an endpoint to which
neither this file nor an IPoIB interface gives a name or an address is not served at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.parsers.base import Parsed
from ibkit.parsers.records import NamedTuple


class AddrEntry(NamedTuple):
    """A line that ibacm believes. ``kind`` is ip4, ip6 or name; ``port`` is the number as ibacm compares it (8 bits);
    ``pkey`` has 16 bits, None for ``default``, the first of the port's table. Devices compare in any case, P_Keys
    without the membership bit.
    """

    name: str
    kind: str
    device: str
    port: int
    pkey: int | None
    line: int
    rest: str = ""
    is_tail: bool = False


def parse(text: str, *, source: str = "") -> Parsed[tuple[AddrEntry, ...]]:
    """All entries in the order of the file; what ibacm leaves out is a problem. Never raises."""
    raise NotImplementedError


def write(entries: Iterable[tuple[str, str, int, int | None]]) -> str:
    """The file for (name, device, port, P_Key or None) rows. Raises ValueError for what ibacm would take otherwise."""
    raise NotImplementedError
