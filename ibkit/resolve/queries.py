"""What a user may ask for: an IP address, a host's name, a GID, a GUID or a LID; one by one, folded, as a list. Pure.

A text says by its form what it is; where a form has two meanings, a word before it says which: ``lid:12``,
``name:12``, ``gid:fd00::1`` (else an IPv6 address is both: what some source knows as the address of a host, and, if
none does, a GID).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from socket import AF_INET, AF_INET6, inet_pton

from ibkit.model.ids import Gid, Guid, not_a_hosts
from ibkit.model.node_set import BadNodeSet, expand
from ibkit.model.port_state import FIRST_MULTICAST_LID, PERMISSIVE_LID
from ibkit.parsers.etc_hosts import canonical_address
from ibkit.parsers.records import NamedTuple

IP4, IP6, NAME, GID, GUID, LID, BAD = "ip4", "ip6", "name", "gid", "guid", "lid", "bad"
#: The words that force a meaning.
_FORCED = {"ip": (IP4, IP6), "name": (NAME,), "gid": (GID,), "guid": (GUID,), "lid": (LID,)}

_LID = re.compile(r"(?:0x([0-9a-fA-F]{1,4})|([0-9]{1,5}))\Z")
_GUID = re.compile(r"0x[0-9a-fA-F]{5,16}\Z|[0-9a-fA-F]{16}\Z")
_ANY_GUID = re.compile(r"(?:0x)?[0-9a-fA-F]{1,16}\Z")
_GUID_COLONS = re.compile(r"[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}\Z")
#: A host's name (RFC 1123, and the underscore that many have), perhaps with its domain; not all digits and dots.
_NAME = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62}){0,20}\.?\Z")
_ALMOST_ADDRESS = re.compile(r"[0-9.]+(?:/[0-9.]*)?\Z|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(?:[%/]\S*)?\Z|0[xX]\S*\Z")
MAX_QUERY_CHARS = 255


class Query(NamedTuple):
    """``text`` as asked, ``kind`` what it is; ``value`` is the number of a GID, a GUID, a LID or an address, ``name``
    the canonical text of an address or a name. ``bad`` says why it cannot be asked for.
    """

    text: str
    kind: str
    name: str = ""
    value: int = 0
    bad: str | None = None


def read_query(text: str) -> Query:
    """One query; never raises. What looks like an address and is none is not taken for a name, as ibacm would do.

    >>> read_query("10.10.0.2").kind, read_query("0x12").value, read_query("010.0.0.1").bad is None
    ('ip4', 18, False)
    """
    word, colon, rest = text.partition(":")
    kinds = _FORCED.get(word) if colon else None
    shape = rest if kinds else text
    if len(shape) > MAX_QUERY_CHARS or not shape or not shape.isprintable() or any(map(str.isspace, shape)):
        return Query(text, BAD, bad="no address and no name: empty, too long, or with blanks or control characters")
    found = next((query for query in _readings(text, shape) if not kinds or query.kind in kinds), None)
    if found is not None:
        return found
    if kinds == (GUID,) and _ANY_GUID.match(shape):
        return Query(text, GUID, str(Guid.parse(shape)), Guid.parse(shape))
    if kinds:
        return Query(text, BAD, bad=f"{shape} is no {'address' if word == 'ip' else word}")
    return Query(text, BAD, bad=_explained(shape))


def cache_key(query: Query) -> str | None:
    """What ibkit's cache keeps an answer by: an address, a name, a GID; LIDs and GUIDs are looked up where they are."""
    return query.name if query.kind in (IP4, IP6, NAME, GID) and not query.bad else None


def host_name(text: str) -> str | None:
    """A text that is meant for a host's name, as it is asked for; None where it can be none, such as an address.

    >>> host_name("n01."), host_name("12"), host_name("10.0.0.1"), host_name("n 01")
    ('n01', '12', None, None)
    """
    return cache_key(read_query(f"name:{text}"))


def read_queries(words: Iterable[str]) -> Iterator[Query]:
    """The queries of some words; a folded set of names (``n[01-16]``) is one for each."""
    for word in words:
        try:
            names = expand(word) if "[" in word or "," in word else (word,)
        except BadNodeSet as error:
            yield Query(word, BAD, bad=str(error).rpartition(": ")[2])
        else:
            yield from map(read_query, names)


def read_list(text: str) -> list[str]:
    """The queries of a list: one or several a line, ``#`` starts a comment."""
    return [word for line in text.splitlines() for word in line.partition("#")[0].split()]


def _readings(text: str, shape: str) -> Iterator[Query]:
    """All that a text can mean, what is most probable first."""
    if lid := _LID.match(shape):
        value = int(lid[1], 16) if lid[1] else int(lid[2])
        yield Query(text, LID, str(value), value, bad=_bad_lid(value))
    if _GUID.match(shape) or _GUID_COLONS.match(shape):
        guid = Guid.parse(shape)
        yield Query(text, GUID, str(guid), guid)
    address = canonical_address(shape)
    if address is not None:
        plain = address.partition("%")[0]
        family = AF_INET6 if ":" in plain else AF_INET
        number = int.from_bytes(inet_pton(family, plain), "big")
        bad = Gid(number).not_a_ports if family == AF_INET6 else not_a_hosts(number)
        yield Query(text, IP6 if family == AF_INET6 else IP4, address, number, bad=bad)
        if family == AF_INET6 and "%" not in address:
            yield Query(text, GID, str(Gid(number)), number, bad=bad)
    elif _NAME.match(shape) and not (_ALMOST_ADDRESS.match(shape) and text == shape):
        yield Query(text, NAME, shape.rstrip("."))


def _bad_lid(lid: int) -> str | None:
    if 0 < lid < FIRST_MULTICAST_LID:
        return None
    if lid in (0, PERMISSIVE_LID):
        return f"LID {lid} means that none is assigned"
    if lid < PERMISSIVE_LID:
        return f"LID {lid} is a multicast group's, not a port's"
    return f"{lid} is no LID: there are 49151; a name of digits is asked for as name:{lid}"


def _explained(shape: str) -> str:
    if "/" in shape:
        return f"{shape} is no address: a network cannot be asked for, leave out what follows the slash"
    if re.match(r"[0-9.]+\Z", shape):
        return f"{shape} is no IPv4 address (four numbers up to 255 without leading zeros)"
    if ":" in shape:
        return f"{shape} is no IPv6 address, no GID and no GUID"
    return f"{shape} is no address, no GUID and no name of a host"
