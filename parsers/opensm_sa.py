"""``opensm-sa.dump``: what others have registered with OpenSM's subnet administration: multicast groups and their
members, subscriptions to notices, services, and the ports' alias GUIDs.

One record a line, ``key=value`` in words; a group's members follow it. OpenSM writes it when verbose, or with
``sa_db_dump``, and loads it with ``-S`` (OpenSM 3.3.24, ``opensm/osm_sa.c``). A GID is ``0xprefix:0xguid``. There is no
end mark.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

#: What a line begins with -> the type of its record.
TYPES = {
    "MC Group 0x": "MulticastGroup",
    "mcm_port: ": "MulticastMember",
    "InformInfo Record: ": "InformInfo",
    "Service Record: ": "Service",
    "GUIDInfo Record: ": "GUIDInfo",
}
#: A record's last field: without it the line is cut.
_LAST = {
    "MulticastGroup": "proxy_join",
    "MulticastMember": "proxy_join",
    "InformInfo": "sl",
    "Service": "lease_period",
    "GUIDInfo": "guid7",
}
_FIELD = re.compile(r"(?:\A|(?<=\s))(\w{2,20})=(0x\w{1,16}(?::0x\w{1,16})?)(?=\s|\Z)")
_SERVICE_NAME = re.compile(r" name='(.*)'(?= data8=0x)")


class SaRecord(NamedTuple):
    """A record; ``fields`` are as printed. ``mgid`` is that of the group before a member."""

    type: str
    fields: dict[str, str]
    line: int
    mgid: str | None = None


def parse(text: str, *, source: str = "") -> Parsed[tuple[SaRecord, ...]]:
    """Read all records. ``complete`` is False where one cannot be read, else None.

    Raises NotThisFormat where there is no record.
    """
    lines, long_lines = lines_of(text, source)
    problems = Problems(source, long_lines)
    records: list[SaRecord] = []
    damaged = bool(long_lines)
    mgid = None
    for number, line in enumerate(lines, 1):
        line = line.lstrip(BEFORE)
        kind = next((kind for start, kind in TYPES.items() if line.startswith(start)), None)
        if kind is None:
            problems.noise.add(number, line)
            continue
        fields = _fields(line)
        is_cut = number == len(lines)
        if _LAST[kind] not in fields or is_cut:
            damaged = True
            problems.add("bad-line", f"a cut {kind}: {line[:80]!r}", number)
            mgid = None
            continue
        if kind == "MulticastGroup":
            mgid = fields.get("mgid")
        records.append(SaRecord(kind, fields, number, mgid if kind == "MulticastMember" else None))
    if not records:
        raise NotThisFormat(f"{source or 'input'}: not opensm-sa.dump: no line like 'MC Group 0xc000: mgid=0x...'")
    return Parsed(tuple(records), problems.all(), False if damaged else None)


def _fields(line: str) -> dict[str, str]:
    """The words with a value. A service's name may hold anything, words with values too."""
    name = _SERVICE_NAME.search(line)
    fields = {"name": name[1]} if name else {}
    rest = line[: name.start()] + line[name.end() :] if name else line
    for found in _FIELD.finditer(rest):
        fields.setdefault(found[1], found[2])
    return fields
