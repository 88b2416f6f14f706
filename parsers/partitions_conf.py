"""``partitions.conf``: who OpenSM makes a member of which partition.

``Name=0x8001, ipoib, defmember=full : 0x123456, ALL=limited, SELF=full ;`` Read as OpenSM itself does
(``opensm/osm_prtn_config.c``, ``osm_prtn.c``): words may be abbreviated, a definition's head stands on one line, what
follows goes on to ``;``. **One error and OpenSM takes nothing of the file**: all ports become full members of the
default partition 0x7fff, and there is no other. A file without an error adds to a default partition in which all ports
are limited members and the SM's is a full one.
"""

from __future__ import annotations

import ipaddress
import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import Problems, lines_of
from ibkit.parsers.records import NamedTuple

FULL, LIMITED, BOTH = "full", "limited", "both"
#: Who is meant by a word in place of a GUID, in the order in which OpenSM tries them.
GROUPS = ("ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF")
#: OpenSM reads so many bytes of a line at a time, and takes the rest for another line.
MAX_BYTES = 4094
MAX_GUID = (1 << 64) - 1

_FLAGS = ("mtu", "rate", "scope", "Q_Key", "TClass", "sl", "FlowLabel")
_MEMBERSHIPS = (FULL, BOTH, LIMITED)
_NUMBER = re.compile(r"\s*\+?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)\Z")
#: What no other text has: a definition's head with a P_Key, or a list of members with a membership.
_SHAPE = re.compile(
    r"(?<![\w.])(?:ALL[A-Z_]{0,9}|SELF|0x[0-9a-fA-F]{1,16})\s{0,9}=\s{0,9}(?:full|limited|both)\b"
    r"|^\s*+[\w .\-]{0,64}=\s{0,9}0x[0-9a-fA-F]{1,4}\s{0,9}(?:,[^:;\n]{0,200})?:"
)


class Member(NamedTuple):
    """``guid`` is a port's, or None where ``group`` says who is meant (see GROUPS)."""

    guid: int | None
    group: str | None
    membership: str
    line: int


class Multicast(NamedTuple):
    """A multicast group that OpenSM makes. ``flags`` are numbers as written, by name."""

    mgid: str
    flags: dict[str, int]
    line: int


class Partition(NamedTuple):
    """A definition. ``pkey`` has 15 bits; None is for OpenSM to choose. Definitions of one P_Key add up, in order."""

    name: str | None
    pkey: int | None
    ipoib: bool
    first_index: bool
    default_membership: str
    flags: dict[str, int]
    members: tuple[Member, ...]
    multicast: tuple[Multicast, ...]
    line: int


class Partitions(NamedTuple):
    """The definitions up to the first error; ``rejected_at`` is its line, None where OpenSM takes the file."""

    partitions: tuple[Partition, ...]
    rejected_at: int | None = None


def parse(text: str, *, source: str = "") -> Parsed[Partitions]:
    """Read all definitions. ``complete`` is False where OpenSM rejects the file or the last one lacks its ``;``.

    Raises NotThisFormat where there is no definition. An empty file, or one of comments, is none.
    """
    lines, long_lines = lines_of(text, source)
    reader = _Reader(Problems(source, long_lines))
    for number, line in enumerate(lines, 1):
        reader.feed(number, line)
        if reader.rejected_at is not None:
            break
    open_end = reader.rejected_at is None and reader.close()
    if open_end:
        reader.problems.add("cut", "the file ends inside a definition, without its `;`: it may be cut", len(lines))
    if not any(_SHAPE.search(line.partition("#")[0]) for line in lines):
        raise NotThisFormat(
            f"{source or 'input'}: not partitions.conf: no line like 'Default=0x7fff, ipoib : ALL=full;'"
        )
    value = Partitions(tuple(reader.partitions), reader.rejected_at)
    broken = open_end or reader.rejected_at is not None or bool(long_lines)
    return Parsed(value, reader.problems.all(), False if broken else None)


class _Rejected(Exception):
    """What OpenSM calls a PARSE ERROR."""


class _Reader:
    """The definition that is being read, and the finished ones."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.partitions: list[Partition] = []
        self.rejected_at: int | None = None
        self._open: Partition | None = None
        self._members: list[Member] = []
        self._multicast: list[Multicast] = []

    def feed(self, number: int, line: str) -> None:
        if len(line.encode()) > MAX_BYTES:
            text = f"a line of more than {MAX_BYTES} bytes, which OpenSM cuts, perhaps within a GUID"
            self.problems.add("long-line", text, number)
        statement, *rest = line.partition("#")[0].split(";")
        for more in [*rest, None]:
            try:
                self._statement(number, statement.strip(" \t"))
            except _Rejected as error:
                self.rejected_at = number
                text = f"{error}: OpenSM takes nothing of this file, and makes all ports full members of 0x7fff"
                self.problems.add("rejected", text, number)
                return
            if more is None:
                return
            self.close()
            statement = more

    def _statement(self, number: int, text: str) -> None:
        if not text:
            return
        if self._open is None:
            head, colon, text = text.partition(":")
            if not colon:
                raise _Rejected("no partition definition found")
            self._open = self._head(number, head)
        self._properties(number, text, self._open)

    def _head(self, number: int, head: str) -> Partition:
        first, *words = head.split(",")
        name, pkey_text = _pair(first)
        if pkey_text is None and name[:1].isdigit():
            name, pkey_text = "", name
        pkey = None
        if pkey_text is not None:
            pkey = _integer(pkey_text)
            if pkey is None:
                raise _Rejected(f"{pkey_text!r} is not a P_Key")
            pkey &= 0x7FFF
        partition = Partition(name or None, pkey or None, False, False, LIMITED, {}, (), (), number)
        for word in words:
            flag, value = _pair(word)
            partition = self._flag(number, partition, flag, value)
        return partition

    def _flag(self, number: int, partition: Partition, flag: str, value: str | None) -> Partition:
        if self._number_flag(number, partition.flags, flag, value):
            return partition
        if "ipoib".startswith(flag):
            return partition._replace(ipoib=True)
        if "defmember".startswith(flag):
            membership = _membership(value)
            if membership is None:
                self.problems.add("ignored", f"defmember={value}: not full, limited or both", number)
                return partition
            return partition._replace(default_membership=membership)
        if flag == "indx0":
            return partition._replace(first_index=True)
        self.problems.add("ignored", f"{flag!r} is no flag of a partition", number)
        return partition

    def _number_flag(self, number: int, flags: dict[str, int], flag: str, value: str | None) -> bool:
        """Whether it is one; the first that starts so is meant."""
        if not flag:
            return True
        name = next((name for name in _FLAGS if name.startswith(flag)), None)
        if name is None:
            return False
        known = None if value is None else _integer(value)
        if known is None or known > 0xFFFFFFFF:
            self.problems.add("ignored", f"{name}={value}: not a number", number)
        else:
            flags[name] = known
        return True

    def _properties(self, number: int, text: str, partition: Partition) -> None:
        words = text.split(",")
        for index, word in enumerate(words):
            name, value = _pair(word)
            if name == "mgid":
                self._group(number, value, words[index + 1 :])
                return  # it takes the rest of the line
            self._member(number, name, value, partition.default_membership)

    def _member(self, number: int, name: str, value: str | None, membership: str) -> None:
        if "NONE".startswith(name):
            return
        if value is not None:
            told = _membership(value)
            if told is None:
                self.problems.add("ignored", f"{name}={value}: not full, limited or both; OpenSM takes limited", number)
            membership = told or LIMITED
        group = next((group for group in GROUPS if group.startswith(name)), None)
        guid = None if group else _integer(name)
        if not group and (guid is None or not 0 < guid <= MAX_GUID):
            raise _Rejected(f"{name!r} is not a port GUID")
        self._members.append(Member(guid, group, membership, number))

    def _group(self, number: int, mgid: str | None, words: list[str]) -> None:
        try:
            address = ipaddress.IPv6Address(mgid or "")
        except ValueError:
            address = None
        if address is None or not address.is_multicast:
            self.problems.add("ignored", f"{mgid!r} is not a multicast GID", number)
            return
        flags: dict[str, int] = {}
        for word in words:
            flag, value = _pair(word)
            if not self._number_flag(number, flags, flag, value):
                self.problems.add("ignored", f"{flag!r} is no flag of a multicast group", number)
        self._multicast.append(Multicast(address.exploded, flags, number))

    def close(self) -> bool:
        """Finish the definition; whether there was one."""
        if self._open is None:
            return False
        self.partitions.append(self._open._replace(members=tuple(self._members), multicast=tuple(self._multicast)))
        self._open, self._members, self._multicast = None, [], []
        return True


def _pair(word: str) -> tuple[str, str | None]:
    name, equals, value = word.partition("=")
    return name.strip(" \t"), value.strip(" \t") if equals else None


def _membership(text: str | None) -> str | None:
    return None if text is None else next((word for word in _MEMBERSHIPS if word.startswith(text)), None)


def _integer(text: str) -> int | None:
    """As C's ``strtoul`` with base 0 reads it: decimal, ``0x``, or octal after a 0."""
    found = _NUMBER.match(text)
    if not found:
        return None
    digits = found[1]
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    return int(digits, 8) if digits[0] == "0" else int(digits) if len(digits) < 30 else None
