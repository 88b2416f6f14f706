"""Records of single sections of ``ibdiagnet2.db_csv``: counters of ports, cables, findings, firmware of nodes.

ibdiagnet is closed source; the names of columns are those of the headers that NVIDIA installs with it
(``ibdiag_types.h``, ``ibdiag_fabric_errs.h`` and the records of its own reader) and of public readers
(Mellanox/ufm_sdk_3.0, guilbaults/infiniband-exporter and others). What a section does not have is None. A value that is
not supported is N/A, or 0xfffffffffffffffe in older versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ibkit.parsers.base import Parsed, Problem
from ibkit.parsers.erased import TypeVar
from ibkit.parsers.ibdiagnet_csv import Section
from ibkit.parsers.lines import count_of
from ibkit.parsers.records import NamedTuple

T = TypeVar("T")

PM_INFO, CABLE_INFO, NODES_INFO = "PM_INFO", "CABLE_INFO", "NODES_INFO"
#: How the names of the sections with findings begin.
LEVELS = {"ERRORS_": "error", "WARNINGS_": "warning"}

_GUID, _PORT_GUID, _PORT = ("NodeGUID",), ("PortGUID",), ("PortNumber", "PortNum")
_NONE = ("", "N/A", "NA")
_NOT_SUPPORTED = 0xFFFF_FFFF_FFFF_FFFE
#: Columns of PM_INFO that count nothing.
_NO_COUNTERS = frozenset({
    "nodeguid", "portguid", "portnumber", "portnum", "max_retransmission_rate", "retransmission_per_sec",
})  # fmt: skip
#: A counter of 64 bits, by the end of its column's name; the narrow one stands beside it.
_WIDE = ("Extended", "Ext")
#: ibdiagnet's names of counters to those that perfquery prints; of these some have 64 bits and no other column.
_COUNTERS = {
    "PortMalformedPacketErrors": "PortMalformedPktErrors", "PortUniCastXmitPkts": "PortUnicastXmitPkts",
    "PortUniCastRcvPkts": "PortUnicastRcvPkts", "PortMultiCastXmitPkts": "PortMulticastXmitPkts",
    "PortMultiCastRcvPkts": "PortMulticastRcvPkts",
}  # fmt: skip
_ALWAYS_WIDE = frozenset(name for name in _COUNTERS if "Cast" in name)
_CELSIUS = re.compile(r"(-?[0-9]{1,3}(?:\.[0-9]{1,4})?) ?C?\Z")
_VERSION = ("Major", "Minor", "SubMinor")


class PortCounts(NamedTuple):
    """A port's counters by the names that perfquery prints; ``wide`` names those of 64 bits."""

    guid: int
    port: int
    port_guid: int | None
    counters: dict[str, int | None]
    wide: frozenset[str]
    line: int


class Cable(NamedTuple):
    """What is plugged into a port; texts as printed. A cable without a sensor prints 0 degrees, which is None here."""

    guid: int
    port: int
    line: int
    vendor: str | None = None
    part_number: str | None = None
    serial_number: str | None = None
    revision: str | None = None
    firmware: str | None = None
    technology: str | None = None
    length: str | None = None
    celsius: float | None = None


class SectionFinding(NamedTuple):
    """A row of a section ERRORS_... or WARNINGS_...: ``check`` is the rest of that name, ``event`` the kind."""

    level: str
    check: str
    event: str
    text: str
    line: int
    guid: int | None = None
    port: int | None = None


class NodeFirmware(NamedTuple):
    """Firmware of a node, by its own word. ``psid`` is the board's id."""

    guid: int
    version: str | None
    psid: str | None
    uptime_seconds: int | None
    line: int


def port_counts(section: Section) -> Parsed[tuple[PortCounts, ...]]:
    """PM_INFO. ``complete`` is False where the section is cut or a row makes no sense, here and below, else None."""
    columns = _counter_columns(section.columns)
    values = {row.line: row.values for row in section.rows}
    ports = []
    for line, (guid, port, port_guid), _ in _rows(section, (_GUID, _PORT, _PORT_GUID)):
        if guid is None or port is None:
            continue
        counters: dict[str, int | None] = {}
        wide = set()
        for name, at, is_wide in columns:
            value = _count(values[line][at])
            if value is not None or name not in counters:
                counters[name] = value
                if is_wide and value is not None:
                    wide.add(name)
        ports.append(PortCounts(guid, port, port_guid, counters, frozenset(wide), line))
    return _parsed(section, ports)


def cables(section: Section) -> Parsed[tuple[Cable, ...]]:
    """CABLE_INFO."""
    texts = (("Vendor",), ("PN",), ("SN",), ("Rev",), ("FWVersion",), ("TypeDesc",), ("LengthDesc",), ("Temperature",))
    found = []
    for line, (guid, port), told in _rows(section, (_GUID, _PORT), texts):
        if guid is not None and port is not None:
            vendor, part, serial, revision, version, technology, length, temperature = told
            celsius = _CELSIUS.match(temperature or "")
            found.append(
                Cable(
                    guid, port, line, vendor, part, serial, revision, version, technology, length,
                    float(celsius[1]) or None if celsius else None,
                )
            )  # fmt: skip
    return _parsed(section, found)


def findings(section: Section) -> Parsed[tuple[SectionFinding, ...]]:
    """A section whose name begins with one of LEVELS."""
    start = next(start for start in LEVELS if section.name.startswith(start))
    check = section.name.removeprefix(start)
    found = [
        SectionFinding(LEVELS[start], check, event, text or "", line, guid, port)
        for line, (guid, port), (event, text) in _rows(section, (_GUID, _PORT), (("EventName",), ("Summary",)))
        if event
    ]
    return _parsed(section, found)


def firmware(section: Section) -> Parsed[tuple[NodeFirmware, ...]]:
    """NODES_INFO. The extended fields hold the version, unless all of them are 0."""
    extended, plain = ([(f"FWInfo_{kind}{part}",) for part in _VERSION] for kind in ("Extended_", ""))
    nodes = []
    for line, numbers, (psid,) in _rows(
        section, (_GUID, ("HWInfo_UpTime",), *extended, *plain), (("FWInfo_PSID",),)
    ):  # fmt: skip
        guid, uptime, *version = numbers
        if guid is not None:
            known = [number for number in (version[:3] if any(version[:3]) else version[3:]) if number is not None]
            text = ".".join(map(str, known)) if len(known) == len(_VERSION) else None
            nodes.append(NodeFirmware(guid, text, psid, uptime, line))
    return _parsed(section, nodes)


def _rows(
    section: Section, numbers: Sequence[Sequence[str]], texts: Sequence[Sequence[str]] = ()
) -> Iterator[tuple[int, list[int | None], list[str | None]]]:
    """Line, numbers and texts of each row, each by the names that its column may have."""
    places = [section.column(*names) for names in numbers], [section.column(*names) for names in texts]
    for row in section.rows:
        told, words = ([None if at is None else row.values[at] for at in columns] for columns in places)
        yield row.line, list(map(_count, told)), [None if word in _NONE else word for word in words]


def _counter_columns(columns: Sequence[str]) -> list[tuple[str, int, bool]]:
    """Name, column and width of each counter, the narrow ones first: the wide one's value takes their place."""
    found = []
    for at, column in enumerate(columns):
        if column.lower() not in _NO_COUNTERS:
            base = next((column.removesuffix(end) for end in _WIDE if column.endswith(end)), column)
            found.append((_COUNTERS.get(base, base), at, base != column or column in _ALWAYS_WIDE))
    return sorted(found, key=lambda each: each[2])


def _count(text: str | None) -> int | None:
    value = count_of(text or "")
    return None if value == _NOT_SUPPORTED else value


def _parsed(section: Section, records: Sequence[T]) -> Parsed[tuple[T, ...]]:
    lost = len(section.rows) - len(records)
    problems = (Problem("bad-line", f"{lost} rows of {section.name} make no sense"),) if lost else ()
    return Parsed(tuple(records), problems, None if section.complete and not lost else False)
