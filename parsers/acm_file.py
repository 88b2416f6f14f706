"""What the readers of ibacm's files share: how C's ``fgets``, ``sscanf`` and ``atoi`` take a text, and what a key is.

ibacm (rdma-core, ``ibacm/src/acm.c``, ``ibacm/prov/acmp/src/acmp.c``) reads all of its files so: ``fgets`` into a
buffer, so that what does not fit of a line is the next line; a ``#`` in the first column is a comment; ``sscanf`` with
widths, so that what does not fit of a word is the next word. Limits count bytes, not characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from socket import AF_INET, AF_INET6, inet_pton  # the very function that ibacm calls

from ibkit.parsers.records import NamedTuple

#: The buffers for ibacm_hosts.data, ibacm_addr.cfg and ibacm_opts.cfg hold so many bytes of a line.
MAX_LINE_BYTES = 119
#: What a key is to ibacm: a dotted IPv4 address, an IPv6 address or, whatever else it may look like, a name.
IP4, IP6, NAME = "ip4", "ip6", "name"

SPACE = b" \t\n\v\f\r"
_ERRORS = "backslashreplace"
_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_DOTTED = re.compile(r"[0-9]+(?:\.[0-9]+){1,3}\Z")
_AROUND_ADDRESS = re.compile(r"\ufeff?\[?(?P<address>[0-9a-fA-F:.]+)\]?(?:%[^/]*)?(?:/[0-9]*)?[,;:]?\Z")
_LONG = 1 << 63


class Piece(NamedTuple):
    """What one ``fgets`` gives: a line, or the tail of one that is too long. ``line`` counts from 1."""

    line: int
    data: bytes
    is_tail: bool


def pieces_of(text: str) -> Iterator[Piece]:
    """The pieces as ``fgets`` reads them, without comments and blank ones. A NUL ends a piece, as it ends C's text."""
    for number, line in enumerate(text.encode("utf-8", _ERRORS).split(b"\n"), 1):
        for start in range(0, len(line), MAX_LINE_BYTES):
            data = line[start : start + MAX_LINE_BYTES].partition(b"\0")[0]
            if data[:1] != b"#" and data.strip(SPACE):
                yield Piece(number, data, start > 0)


def words_of(data: bytes, *widths: int) -> tuple[list[str], bytes]:
    """The words that ``sscanf`` finds for ``%45s%45s`` and its like (fewer, where there are fewer), and the rest."""
    words = []
    for width in widths:
        data = data.lstrip(SPACE)
        if not data:
            break
        word = data[:width].split(None, 1)[0]
        words.append(word.decode("utf-8", _ERRORS))
        data = data[len(word) :]
    return words, data


def long_line_text(tail: bytes) -> str:
    """What to say where ``tail`` is what did not fit of a line."""
    return f"too long: ibacm reads what did not fit as a line of its own: {text_of(tail)[:60]!r}"


def text_of(rest: bytes) -> str:
    """What is left of a piece, as text without the space around it."""
    return rest.strip(SPACE).decode("utf-8", _ERRORS)


def key_of(word: str) -> tuple[str, bytes]:
    """The kind of a key (IP4, IP6, NAME) and its bytes in network order, as ibacm compares them."""
    for kind, family in ((IP4, AF_INET), (IP6, AF_INET6)):
        packed = _packed(family, word)
        if packed is not None:
            return kind, packed
    return NAME, word.encode("utf-8", _ERRORS)


def gid_of(word: str) -> int | None:
    """A GID as ibacm takes it, any text of an IPv6 address; None where it is none."""
    packed = _packed(AF_INET6, word)
    return None if packed is None else int.from_bytes(packed, "big")


def atoi(text: str) -> int:
    """C's ``atoi``: the number that a text starts with, 0 where it starts with none, cut to 32 bits."""
    found = _NUMBER.match(text)
    number = max(-_LONG, min(_LONG - 1, int(found[1][:100]))) if found else 0
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def meant_address(name: str) -> str | None:
    """The IP address that a NAME was probably meant to be: with a prefix length, a zone, zeros before its numbers ...

    Empty where it looks like an address and is none; None for what is a name to people, too.
    """
    found = _AROUND_ADDRESS.match(name)
    if not found:
        return None
    address = found["address"]
    if address.endswith(":") and not address.endswith("::"):
        address = address[:-1]
    if _DOTTED.match(address):
        address = ".".join(part.lstrip("0") or "0" for part in address.split("."))
    elif address.count(":") < 2:
        return None
    return address if key_of(address)[0] != NAME else ""


def fits(word: str, max_bytes: int) -> bool:
    """Whether ``sscanf`` reads this as one whole word of so many bytes."""
    data = word.encode("utf-8", _ERRORS)
    return 0 < len(data) <= max_bytes and b"\0" not in data and data.split() == [data]


def _packed(family: int, word: str) -> bytes | None:
    try:
        return inet_pton(family, word)
    except (OSError, ValueError):
        return None
