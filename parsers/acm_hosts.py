"""``ibacm_hosts.data``: the addresses that ibacm knows before anybody asks (option ``addr_preload acm_hosts``).

``10.0.0.21 fec0:0:0:1:c42:a103:0:21``: a key and a GID, read as ibacm itself reads it (rdma-core,
``ibacm/prov/acmp/src/acmp.c``: acmp_parse_hosts_file): 119 bytes of a line, 45 of a word, the rest of the line is
ignored, and what is no IP address is a name. All that ibacm then believes is an entry, however it was meant
(``ibkit.resolve.acm_lint`` says what was probably meant); what it leaves out is a problem.
"""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.parsers.acm_file import gid_of, key_of, pieces_of, words_of
from ibkit.parsers.base import Parsed
from ibkit.parsers.lines import Problems
from ibkit.parsers.records import NamedTuple

#: The longest key and GID (bytes).
MAX_WORD_BYTES = 45


class HostEntry(NamedTuple):
    """A line that ibacm believes.

    ``kind`` is ip4, ip6 or name, ``packed`` the key as ibacm compares it (an address in network order, a name's bytes);
    ``gid`` has 128 bits. ``rest`` is what else stands on the line; ``is_tail``: the tail of an overlong line.
    """

    key: str
    kind: str
    packed: bytes
    gid: int
    line: int
    rest: str = ""
    is_tail: bool = False


def parse(text: str, *, source: str = "") -> Parsed[tuple[HostEntry, ...]]:
    """All entries in the order of the file. Of two with one key the last counts (see :func:`by_key`).

    Never raises: there is no text that ibacm refuses. ``complete`` is None: there is no end mark.
    """
    problems = Problems(source, [])
    entries = []
    for line, data, is_tail in pieces_of(text):
        words, rest = words_of(data, MAX_WORD_BYTES, MAX_WORD_BYTES)
        if len(words) < 2:
            if not is_tail:
                problems.add("acm-one-word", f"ibacm skips the line: no GID behind {words[0][:60]!r}", line)
            continue
        gid = gid_of(words[1])
        if gid is None:
            problems.add("acm-bad-gid", f"ibacm leaves the line out: {words[1]!r} is no GID", line)
            continue
        kind, packed = key_of(words[0])
        entries.append(HostEntry(words[0], kind, packed, gid, line, rest, is_tail))
    return Parsed(tuple(entries), problems.all())


def by_key(entries: Iterable[HostEntry]) -> dict[tuple[str, bytes], HostEntry]:
    """The entry of each key, which is (kind, packed): the last line wins."""
    return {(entry.kind, entry.packed): entry for entry in entries}


def write(entries: Iterable[tuple[str, int]]) -> str:
    """The file for (key, GID) pairs, in their order. Raises ValueError for a key that ibacm would not take as it is."""
    raise NotImplementedError
