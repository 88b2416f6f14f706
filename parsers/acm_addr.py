"""``ibacm_addr.cfg``: which local endpoint (device, port, P_Key) answers for which name.

``node01 mlx5_0 1 default``: name, device, port, P_Key, read as ibacm itself reads it (rdma-core, ``ibacm/src/acm.c``:
acm_assign_ep_names). IP addresses count here only with the option ``support_ips_in_addr_cfg 1``; an endpoint to which
neither this file nor an IPoIB interface gives a name or an address is not served at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ibkit.parsers.acm_file import (
    MAX_LINE_BYTES,
    SPACE,
    atoi,
    fits,
    key_of,
    long_line_text,
    pieces_of,
    text_of,
    words_of,
)
from ibkit.parsers.base import Parsed
from ibkit.parsers.lines import Problems
from ibkit.parsers.records import NamedTuple

#: The longest name, device and P_Key (bytes).
MAX_NAME_BYTES, MAX_DEVICE_BYTES, MAX_PKEY_BYTES = 46, 31, 7
DEFAULT = "default"

_PORT = re.compile(rb"[ \t\v\f\r]*([+-]?[0-9]+)")
_PKEY = re.compile(r"[+-]?(?:0[xX])?([0-9a-fA-F]+)")


class AddrEntry(NamedTuple):
    """A line that ibacm believes.

    ``kind`` is ip4, ip6 or name (``acm_file``). ``port`` is the number as ibacm compares it, with 8 bits; ``pkey`` has
    16 bits, and None is ``default``, the first of the port's table. Devices compare in any case, P_Keys without the
    membership bit. ``rest`` is what else stands on the line.
    """

    name: str
    kind: str
    device: str
    port: int
    pkey: int | None
    line: int
    rest: str = ""


def parse(text: str, *, source: str = "") -> Parsed[tuple[AddrEntry, ...]]:
    """All entries in the order of the file; what ibacm leaves out or takes otherwise is a problem. Never raises."""
    problems = Problems(source, [])
    entries = []
    for line, data, is_tail in pieces_of(text):
        words, rest = words_of(data, MAX_NAME_BYTES, MAX_DEVICE_BYTES)
        port = _PORT.match(rest) if len(words) == 2 else None
        pkeys, rest = words_of(rest[port.end() :], MAX_PKEY_BYTES) if port else ([], b"")
        if is_tail and len(words) == 2:
            problems.add("acm-long-line", long_line_text(data), line)
        if port is None or not pkeys:
            if not is_tail:
                problems.add("acm-skipped-line", "ibacm skips the line: not 'NAME DEVICE PORT PKEY'", line)
            continue
        number = atoi(port[1].decode())
        pkey = _pkey(pkeys[0])
        if pkey is None and pkeys[0].lower() != DEFAULT:
            problems.add("acm-bad-pkey", f"ibacm leaves the line out: {pkeys[0]!r} is no P_Key", line)
            continue
        if not 0 < number < 256:
            problems.add("acm-bad-port", f"ibacm takes port {number} for port {number & 0xFF}", line)
        if rest[:1].strip(SPACE):
            problems.add("acm-long-pkey", f"ibacm reads only {pkeys[0]!r} of the P_Key", line)
        entries.append(AddrEntry(words[0], key_of(words[0])[0], words[1], number & 0xFF, pkey, line, text_of(rest)))
    return Parsed(tuple(entries), problems.all())


def _pkey(word: str) -> int | None:
    """As ``sscanf("%hx")`` reads it: the hexadecimal digits that the word starts with, cut to 16 bits."""
    if word.lower() == DEFAULT:
        return None
    found = _PKEY.match(word)
    if not found:
        return None
    value = int(found[1], 16)
    return (-value if word[0] == "-" else value) & 0xFFFF


def write(entries: Iterable[tuple[str, str, int, int | None]]) -> str:
    """The file for rows of name, device, port and P_Key (None: ``default``), in their order.

    Raises ValueError for what ibacm would not take as it stands here.
    """
    lines = []
    for name, device, port, pkey in entries:
        line = f"{name} {device} {port} {DEFAULT if pkey is None else f'0x{pkey:04x}'}"
        if not (fits(name, MAX_NAME_BYTES) and fits(device, MAX_DEVICE_BYTES)) or name[0] == "#":
            raise ValueError(f"ibacm_addr.cfg cannot hold the name {name[:80]!r} on {device[:80]!r}")
        if not 0 < port < 256 or (pkey is not None and not 0 < pkey & 0x7FFF <= pkey <= 0xFFFF):
            raise ValueError(f"no such port or P_Key: {port}, {pkey}")
        if len(line.encode("utf-8", "backslashreplace")) > MAX_LINE_BYTES:
            raise ValueError(f"ibacm_addr.cfg has no room for a line of {len(line)} characters")
        lines.append(line + "\n")
    return "".join(lines)
