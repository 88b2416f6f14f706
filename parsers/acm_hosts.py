"""``ibacm_hosts.data``: the addresses that ibacm knows before anybody asks (option ``addr_preload acm_hosts``).

``10.0.0.21 fec0:0:0:1:c42:a103:0:21``: a key and a GID, read as ibacm itself reads it (rdma-core,
``ibacm/prov/acmp/src/acmp.c``: acmp_parse_hosts_file): 119 bytes of a line, 45 of a word; the rest of the line is
ignored, and a key that is no IP address is a name. All that ibacm then believes is an entry, however it was meant; what
it leaves out is a problem.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.parsers.acm_file import (
    MAX_LINE_BYTES,
    NAME,
    fits,
    gid_of,
    key_of,
    long_line_text,
    meant_address,
    pieces_of,
    text_of,
    words_of,
)  # fmt: skip
from ibkit.parsers.base import Parsed
from ibkit.parsers.lines import Problems
from ibkit.parsers.records import NamedTuple

#: The longest key and the longest GID (bytes).
MAX_WORD_BYTES = 45


class HostEntry(NamedTuple):
    """A line that ibacm believes.

    ``kind`` is ip4, ip6 or name (``acm_file``), ``packed`` the key as ibacm compares it (an address in network order, a
    name's bytes); ``gid`` has 128 bits. ``rest`` is what else stands on the line.
    """

    key: str
    kind: str
    packed: bytes
    gid: int
    line: int
    rest: str = ""


def parse(text: str, *, source: str = "") -> Parsed[tuple[HostEntry, ...]]:
    """All entries in the order of the file. Of two with one key the last counts (see :func:`by_key`).

    Never raises: there is no text that ibacm refuses. ``complete`` is None: there is no end mark.
    """
    problems = Problems(source, [])
    entries = []
    for line, data, is_tail in pieces_of(text):
        words, rest = words_of(data, MAX_WORD_BYTES, MAX_WORD_BYTES)
        gid = gid_of(words[1]) if len(words) == 2 else None
        if is_tail:
            if len(words) == 2:
                problems.add("acm-long-line", long_line_text(data), line)
        elif len(data.split(None, 1)[0]) > MAX_WORD_BYTES:
            text = f"ibacm takes {MAX_WORD_BYTES} bytes of the key and reads {words[1]!r} for the GID"
            problems.add("acm-long-key", text, line)
        elif len(words) < 2:
            problems.add("acm-one-word", f"ibacm skips the line: no GID behind {words[0]!r}", line)
        elif gid is None:
            problems.add("acm-bad-gid", f"ibacm leaves the line out: {words[1]!r} is no GID", line)
        if gid is not None:
            entries.append(HostEntry(words[0], *key_of(words[0]), gid, line, text_of(rest)))
    return Parsed(tuple(entries), problems.all())


def by_key(entries: Iterable[HostEntry]) -> dict[tuple[str, bytes], HostEntry]:
    """What ibacm knows in the end, by (kind, packed): of two lines with one key the last wins."""
    return {(entry.kind, entry.packed): entry for entry in entries}


def write(entries: Iterable[tuple[str, int]]) -> str:
    """The file for pairs of key and GID, in their order.

    Raises ValueError for a key that ibacm would not take as it stands here, for an address that it would take for a
    name, and for two GIDs of one key.
    """
    seen: dict[tuple[str, bytes], int] = {}
    lines = []
    for key, gid in entries:
        kind, packed = key_of(key)
        line = f"{key} {_gid_text(gid)}"
        if (
            not fits(key, MAX_WORD_BYTES)
            or key[0] == "#"
            or len(line.encode("utf-8", "backslashreplace")) > MAX_LINE_BYTES
        ):
            raise ValueError(f"ibacm_hosts.data cannot hold the key {key[:80]!r}")
        if kind == NAME and meant_address(key) is not None:
            raise ValueError(f"ibacm would take the address {key!r} for a name")
        if seen.setdefault((kind, packed), gid) != gid:
            raise ValueError(f"two GIDs for the key {key!r}: ibacm would take the last")
        lines.append(line + "\n")
    return "".join(lines)


def _gid_text(gid: int) -> str:
    """Eight groups without leading zeros: no two readers take it for different GIDs."""
    digits = f"{gid:032x}"
    return ":".join(f"{int(digits[i : i + 4], 16):x}" for i in range(0, 32, 4))
