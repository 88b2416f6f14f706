"""Put the P_Key tables of many ports together, whoever told them. Pure.

An SA's PKeyTableRecords name a port by LID and number and hold 32 keys each (InfiniBand Architecture Specification
volume 1, 15.2.5.11); ``smpquery pkeys`` prints one table and not whose it is; ibdiagnet's section PKEY has one key a
row, its 15 bits and the membership apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ibkit.model.fabric import SWITCH, End, Fabric
from ibkit.model.ids import Guid, PKey
from ibkit.model.partitions import PortKeys
from ibkit.model.routes import Owners, port_of
from ibkit.parsers import saquery
from ibkit.parsers.base import Problem
from ibkit.parsers.ibdiagnet_csv import Row, Section
from ibkit.parsers.ibnetdiscover import MAX_PORT
from ibkit.parsers.records import NamedTuple

RECORD = "PKeyTableRecord"
#: The fields of it that name the port, and the block.
RECORD_FIELDS = ("LID", "Port", "Block")
SECTION = "PKEY"
KEYS_PER_BLOCK = 32
#: PKeyTable has 16 bits for the size of a table.
MAX_BLOCKS = (1 << 16) // KEYS_PER_BLOCK

_MEMBERSHIPS = {"1": 0x8000, "0": 0, "full": 0x8000, "limited": 0, "partial": 0, "f": 0x8000, "l": 0, "p": 0}


class _Place(NamedTuple):
    """Whose table it is: a node's port where the fabric tells, else what the text has."""

    guid: Guid | None
    port: int
    lid: int | None


class _Table:
    """One port's table from one text."""

    __slots__ = ("blocks", "line", "source", "whole")

    def __init__(self, source: str, line: int | None) -> None:
        self.blocks: dict[int, tuple[int, ...]] = {}
        self.source = source
        self.line = line
        self.whole = True

    def keys(self) -> tuple[PKey, ...]:
        """From index 0 on, without the empty entries behind the last key; a missing block ends it."""
        keys: list[int] = []
        for block in range(len(self.blocks)):
            if block not in self.blocks:
                self.whole = False
                break
            keys += self.blocks[block]
        while keys and not keys[-1]:
            del keys[-1]
        return tuple(map(PKey, keys))


class KeyTables:
    """The tables of all ports. A later text about a port that is known already is compared, and not taken."""

    def __init__(self, fabric: Fabric, owners: Owners) -> None:
        self.problems: list[Problem] = []
        self._fabric = fabric
        self._owners = owners
        self._tables: dict[_Place, _Table] = {}

    def add_records(self, records: Iterable[saquery.Record], source: str) -> None:
        """An answer of the SA."""
        fresh: dict[_Place, _Table] = {}
        bad = 0
        for record in records:
            if record.type != RECORD:
                continue
            lid, port, block = (_number(record.fields.get(name)) for name in RECORD_FIELDS)
            if not lid or port is None or port > MAX_PORT or block is None or block >= MAX_BLOCKS:
                bad += 1
                continue
            place = self._place(lid, port)
            table = fresh.setdefault(place, _Table(source, record.line))
            keys = tuple(key for row in record.rows for key in row)
            if len(keys) < KEYS_PER_BLOCK:
                table.whole = False  # the record is cut, or a row of it is damaged
            if table.blocks.setdefault(block, keys) != keys:
                text = f"{self._name(place)} has block {block} of its P_Key table twice, and differently"
                self.problems.append(Problem("contradiction", text, record.line, source))
                table.whole = False
        if bad:
            self.problems.append(Problem("bad-line", f"{bad} {RECORD}s without a LID, port or block", None, source))
        self._take(fresh)

    def add_table(self, rows: Sequence[Sequence[int]], whole: bool, source: str, line: int | None, end: End) -> None:
        """A table in one piece, of a port that is known otherwise."""
        table = _Table(source, line)
        table.blocks[0] = tuple(key for row in rows for key in row)
        table.whole = whole
        self._take({self._place_of(end): table})

    def add_nameless(self, rows: Sequence[Sequence[int]], whole: bool, source: str, line: int) -> None:
        """A table of which the text does not say whose it is; each one is a port of its own."""
        table = _Table(source, line)
        table.blocks[0] = tuple(key for row in rows for key in row)
        table.whole = whole
        nth = sum(1 for place in self._tables if place.guid is None and place.lid is None)
        self._tables[_Place(None, -1 - nth, None)] = table

    def add_section(self, section: Section, source: str) -> None:
        """Ibdiagnet's section. Its rows have no index: their order is that of the table."""
        columns = [
            section.column("NodeGUID"), section.column("LocalPortNum", "PortNum", "PortNumber"),
            section.column("PKey", "P_Key"), section.column("Membership"),
        ]  # fmt: skip
        fresh: dict[_Place, tuple[_Table, list[int]]] = {}
        bad = 0
        for row in section.rows:
            read = _csv_key(row, columns)
            if read is None:
                bad += 1
                continue
            guid, port, key = read
            _, keys = fresh.setdefault(self._place_of(End(guid, port)), (_Table(source, row.line), []))
            keys.append(key)
        if bad:
            self.problems.append(Problem("bad-line", f"{bad} rows of {SECTION} make no sense", None, source))
        for table, keys in fresh.values():
            table.blocks[0] = tuple(keys)
            table.whole = section.complete and not bad
        self._take({place: table for place, (table, _) in fresh.items()})

    def knows(self, end: End) -> bool:
        """Whether there is a whole table of a port."""
        table = self._tables.get(self._place_of(end))
        return table is not None and table.whole

    def doubt_last(self) -> None:
        """The answer is cut somewhere, so the table that it ended with may have had more blocks: unless it has as
        many as that of another port of the same kind.
        """
        if not self._tables:
            return
        *others, last = self._tables
        blocks = [len(self._tables[place].blocks) for place in others if self._kind(place) == self._kind(last)]
        if len(self._tables[last].blocks) < min(blocks, default=MAX_BLOCKS):
            self._tables[last].whole = False

    def result(self) -> tuple[tuple[PortKeys, ...], tuple[PortKeys, ...]]:
        """The tables of end ports and of switches' outer ports, in order of name, GUID and number."""
        lids = Counter(place.lid for place in self._tables if place.lid is not None)
        # An adapter's ports have a LID each; only a switch has one for all, and a port 0.
        switches = {place.lid for place in self._tables if place.port == 0 or lids[place.lid or 0] > 1}
        found = [self._port_keys(place, table, switches) for place, table in self._tables.items()]
        found.sort(key=lambda one: (one.name or "", one.guid or 0, one.lid or 0, one.port or 0, one.line or 0))
        return tuple(one for one in found if one.is_end), tuple(one for one in found if not one.is_end)

    def _port_keys(self, place: _Place, table: _Table, switches: set[int | None]) -> PortKeys:
        node = None if place.guid is None else self._fabric.nodes.get(place.guid)
        port = None if node is None else port_of(node, place.port)
        is_switch = node.type == SWITCH if node else place.lid in switches
        lid = place.lid if node is None else node.lid if is_switch else port.lid if port else None
        return PortKeys(
            place.guid,
            None if place.port < 0 else place.port,
            table.keys(),
            port.guid if port else None,
            lid,
            node.name if node else None,
            node.type if node else None,
            place.port <= 0 or not is_switch,
            table.whole,
            table.source,
            table.line,
        )

    def _take(self, fresh: dict[_Place, _Table]) -> None:
        for place, table in fresh.items():
            known = self._tables.get(place)
            if known is not None and _differ(known, table):
                text = f"the P_Key table of {self._name(place)} differs between {known.source} and {table.source}"
                self.problems.append(Problem("contradiction", text, table.line, table.source))
            if known is None or (table.whole and not known.whole):
                self._tables[place] = table

    def _place(self, lid: int, port: int) -> _Place:
        """The port of a LID. A LID that two ports have, or none, names a port by itself."""
        owners = self._owners.of(lid)
        if len(owners) != 1:
            return _Place(None, port, lid)
        node = self._fabric.nodes[owners[0].guid]
        return _Place(node.guid, port if node.type == SWITCH else owners[0].port, None)

    def _kind(self, place: _Place) -> tuple[str | None, bool]:
        node = None if place.guid is None else self._fabric.nodes.get(place.guid)
        return node.type if node else None, place.port == 0

    def _place_of(self, end: End) -> _Place:
        return _Place(end.guid, end.port, None)

    def _name(self, place: _Place) -> str:
        if place.guid is None:
            return f"LID {place.lid} port {place.port}"
        node = self._fabric.nodes.get(place.guid)
        return f"{place.guid} ({node.name if node and node.name else 'no name'}) port {place.port}"


def _differ(one: _Table, other: _Table) -> bool:
    """Whether two texts about a port cannot both be true; of a table that is not whole only its start counts."""
    tables = [(table.keys(), table.whole) for table in (one, other)]
    known = min([len(keys) for keys, whole in tables if not whole], default=KEYS_PER_BLOCK * MAX_BLOCKS)
    return len({tuple(key for key in enumerate(keys[:known]) if key[1]) for keys, _ in tables}) > 1


def _csv_key(row: Row, columns: list[int | None]) -> tuple[Guid, int, int] | None:
    """Node GUID, port and 16-bit key of a row; None where that is not in it."""
    guid, port, key = (None if column is None else _number(row.values[column]) for column in columns[:3])
    if guid is None or port is None or port > MAX_PORT or key is None or key > 0xFFFF:
        return None
    if columns[3] is not None:
        bit = _MEMBERSHIPS.get((row.values[columns[3]] or "").lower())
        if bit is None:
            return None
        key = key & 0x7FFF | bit
    return Guid(guid), port, key


def _number(text: str | None) -> int | None:
    """Decimal or ``0x``; None for what is neither."""
    text = text or ""
    if len(text) > 20 or not text.isascii() or "_" in text:
        return None
    try:
        number = int(text, 16 if text[:2] in ("0x", "0X") else 10)
    except ValueError:
        return None
    return number if 0 <= number < 1 << 64 else None
