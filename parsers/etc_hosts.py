"""``/etc/hosts`` and lists in its form: an address and its names, one line each (hosts(5)).

Read as the C library does (glibc, ``nss/nss_files/files-hosts.c``): ``#`` starts a comment anywhere, words are
separated by blanks and tabs, a line whose first word is no address is left out. Names compare in any case.
"""

from __future__ import annotations

from socket import AF_INET, AF_INET6, inet_ntop, inet_pton

from ibkit.parsers.base import Parsed
from ibkit.parsers.lines import Problems, lines_of
from ibkit.parsers.records import NamedTuple


class HostLine(NamedTuple):
    """``address`` in its canonical text, a scope (``%ib0``) behind it; ``names`` as written, the main one first."""

    address: str
    names: tuple[str, ...]
    line: int


def parse(text: str, *, source: str = "") -> Parsed[tuple[HostLine, ...]]:
    """All lines in their order; one address may have several. Never raises: no text is refused by the C library."""
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    found = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        address = canonical_address(words[0])
        if address is None:
            problems.add("bad-line", f"{words[0][:60]!r} is no address, so the C library leaves the line out", number)
        elif len(words) == 1:
            problems.add("bad-line", f"no name behind {address}", number)
        else:
            found.append(HostLine(address, tuple(words[1:]), number))
    return Parsed(tuple(found), problems.all())


def canonical_address(text: str) -> str | None:
    """``fd00::1`` of any spelling of it; None for what is no IPv4 or IPv6 address, as 010.0.0.1 and 10.0.0.1/24."""
    address, percent, scope = text.partition("%")
    for family in (AF_INET, AF_INET6):
        try:
            plain = inet_ntop(family, inet_pton(family, address))
        except (OSError, ValueError):
            continue
        return plain + percent + scope if family == AF_INET6 or not percent else None
    return None
