"""What the readers of ibacm's files share: how C's ``fgets`` and ``sscanf`` take a line, and what a key is.

ibacm (rdma-core, ``ibacm/src/acm.c``, ``ibacm/prov/acmp/src/acmp.c``) reads all of its files so: ``fgets`` into a
buffer, so that what does not fit of a line is the next line; a ``#`` in the first column is a comment; ``sscanf`` with
widths, so that what does not fit of a word is the next word. Limits count bytes, not characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from socket import AF_INET, AF_INET6, inet_pton  # the very functions that ibacm calls

from ibkit.parsers.records import NamedTuple

#: The buffers of ibacm_hosts.data, ibacm_addr.cfg and ibacm_opts.cfg hold so many bytes of a line.
MAX_LINE_BYTES = 119
#: What a key is to ibacm: a dotted IPv4 address, an IPv6 address, or, whatever else it may look like, a name.
IP4, IP6, NAME = "ip4", "ip6", "name"

_SPACE = b" \t\n\v\f\r"


class Piece(NamedTuple):
    """What one ``fgets`` gives: a line, or the tail of one that is too long. ``line`` counts from 1."""

    line: int
    data: bytes
    is_tail: bool


def pieces_of(text: str, max_bytes: int = MAX_LINE_BYTES) -> Iterator[Piece]:
    """The pieces as ``fgets`` reads them, without comments and blank ones. A NUL ends a piece, as it ends C's strings."""
    for number, line in enumerate(text.encode("utf-8", "backslashreplace").split(b"\n"), 1):
        for start in range(0, len(line) or 1, max_bytes):
            data = line[start : start + max_bytes].partition(b"\0")[0]
            if data[:1] != b"#" and data.strip(_SPACE):
                yield Piece(number, data, start > 0)


def words_of(data: bytes, *widths: int) -> tuple[list[str], str]:
    """The words that ``sscanf("%45s%45s")`` with these widths finds (fewer, where there are fewer), and the rest."""
    words = []
    for width in widths:
        data = data.lstrip(_SPACE)
        if not data:
            break
        word = data[:width].split(None, 1)[0]
        words.append(word.decode("utf-8", "backslashreplace"))
        data = data[len(word) :]
    return words, data.decode("utf-8", "backslashreplace").strip()


def key_of(word: str) -> tuple[str, bytes]:
    """The kind of a key (IP4, IP6, NAME) and its bytes in network order, as ibacm compares them."""
    for kind, family in ((IP4, AF_INET), (IP6, AF_INET6)):
        packed = _packed(family, word)
        if packed is not None:
            return kind, packed
    return NAME, word.encode("utf-8", "backslashreplace")


def gid_of(word: str) -> int | None:
    """A GID as ibacm takes it, any text of an IPv6 address; None where it is none."""
    packed = _packed(AF_INET6, word)
    return None if packed is None else int.from_bytes(packed, "big")


def _packed(family: int, word: str) -> bytes | None:
    try:
        return inet_pton(family, word)
    except (OSError, ValueError):
        return None
