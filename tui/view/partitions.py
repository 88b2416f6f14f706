"""Who is in which partition: groups of ports by partitions as a matrix, or the partitions with their members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ibkit.display import counted
from ibkit.export.partitions import folded_names, partition_text
from ibkit.model.fabric import Fabric
from ibkit.model.ids import PKey
from ibkit.model.partitions import (
    BOTH,
    FINDINGS,
    FULL,
    LIMITED,
    Group,
    Partition,
    Partitions,
    PortKeys,
    groups_of,
    look_at,
    partitions_of,
)
from ibkit.model.routes import end_ports
from ibkit.tui.view.level import OK, UNKNOWN, WARNING, mark, word
from ibkit.tui.view.lines import BLANK, Line, facts, heading, line, span
from ibkit.tui.view.table import Column, Row, Table

#: More partitions than these are no columns; the list of partitions has all.
MOST_COLUMNS = 64
#: So many sets of names stand in a cell.
MOST_NAMES = 6
ABSENT = "-"
_GET = "`smpquery pkeys LID`, or as root `saquery --smkey KEY PKTR`"
_PARTITION_COLUMNS = (
    Column("Partition"),
    Column("Name", unknown="", drop=1),
    Column("Full", right=True),
    Column("Limited", right=True),
    Column("Full members", flexible=True, least=16, unknown=""),
    Column("Limited members", flexible=True, least=16, unknown="", drop=2),
)


class Unread(NamedTuple):
    """The end ports of the fabric whose tables were not read, by their names."""

    names: tuple[str, ...]


class PartitionsView:
    """The tables of a fabric's ports, grouped once."""

    def __init__(self, partitions: Partitions, fabric: Fabric | None) -> None:
        self.partitions = partitions
        self.groups = groups_of(partitions.ports)
        self.found = partitions_of(partitions.ports)
        self.torn = tuple(port for port in partitions.ports if not port.whole)
        known = {(port.guid, port.port) for port in partitions.ports}
        ends = [end for end in end_ports(fabric) if end not in known] if fabric is not None else []
        names = ((fabric.nodes[end.guid].name or "").strip() or str(end.guid) for end in ends) if fabric else ()
        self.unread = Unread(tuple(names))
        self._names = {one.pkey: one.name for one in partitions.intended or () if one.pkey is not None and one.name}

    def head(self) -> list[Line]:
        """How many ports and partitions, and what is not as it should be."""
        ports = len(self.partitions.ports)
        many = counted(len(self.found), "partition"), counted(len(self.groups), "group")
        text = f"{counted(ports, 'port')} in {many[0]}; {many[1]} of ports that are in the same ones in the same way"
        lines = [line(" ", span(text, "heading"))]
        if len(self.found) > MOST_COLUMNS:
            more = f"the {MOST_COLUMNS} largest partitions are columns; V lists all"
            lines.append(line(" ", span(more, "dim")))
        told = [one for one in self.partitions.problems if one.kind in FINDINGS]
        problems = dict.fromkeys((*told, *look_at(self.partitions)))
        lines += [line(" ", span(f"{mark(WARNING)}  {problem.text}", word(WARNING))) for problem in problems]
        return [*lines[:6], BLANK]

    def matrix(self) -> Table:
        """A row for each group of ports, a column for each partition: full, limited, absent, unknown."""
        largest = sorted(self.found, key=lambda one: -len(one.full) - len(one.limited))[:MOST_COLUMNS]
        shown = sorted(one.number for one in largest)
        columns = [Column("Ports", right=True), Column("Who", flexible=True, least=16)]
        for place, number in enumerate(shown):
            columns.append(Column(self.title(number), drop=place))
        rows = [
            Row(group, OK, (len(group.ports), who(group.ports), *self._cells(group.ports[0], shown)))
            for group in self.groups
        ]
        rows += [Row(port, UNKNOWN, (1, who([port]), *self._cells(port, shown))) for port in self.torn]
        if self.unread.names:
            few = self.unread.names[:MOST_NAMES]
            more = len(self.unread.names) - len(few)
            text = ", ".join(few) + (f", and {more} more" if more else "") + ": table not read"
            rows.append(Row(self.unread, UNKNOWN, (len(self.unread.names), text, *[None] * len(shown))))
        return Table("group", columns, rows)

    def listed(self) -> Table:
        """A row for each partition."""
        rows = [
            Row(one, OK, (
                partition_text(one.number), self._names.get(one.number), len(one.full), len(one.limited),
                who(one.full) or None, who(one.limited) or None,
            ))
            for one in self.found
        ]  # fmt: skip
        return Table("partition", _PARTITION_COLUMNS, rows)

    def title(self, number: int) -> str:
        """``0x7fff``, with the name of ``partitions.conf`` behind it."""
        name = self._names.get(number)
        return f"{partition_text(number)} {name[:16]}" if name else partition_text(number)

    @staticmethod
    def _cells(port: PortKeys, numbers: Sequence[int]) -> list[str | None]:
        """What is not in a table that was read whole is absent; what is not in one with a gap is unknown."""
        words = {FULL: FULL, LIMITED: LIMITED, BOTH: "full+limited", None: ABSENT if port.whole else None}
        return [words[port.membership(number)] for number in numbers]


def who(ports: Sequence[PortKeys]) -> str:
    """The names of ports, folded; some of them, where they are many."""
    names = folded_names(ports)
    more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def group_page(view: PartitionsView, key: Group | PortKeys | Unread | Partition) -> list[Line]:
    """All members of a row, and their keys."""
    if isinstance(key, Unread):
        lines = [heading("  Whose tables were not read"), *(line("  ", span(name)) for name in key.names)]
        return [
            *lines,
            BLANK,
            *facts([("to read them", _GET)]),
        ]
    if isinstance(key, Partition):
        lines = [heading(f"  {partition_text(key.number)}")]
        for title, ports in (("full member", key.full), ("limited member", key.limited)):
            lines += [BLANK, heading(f"  {counted(len(ports), title)}"), *_members(ports)]
        return lines
    ports = key.ports if isinstance(key, Group) else (key,)
    keys = key.keys
    lines = facts([("P_Keys", ", ".join(map(_spell, keys)) or "none"), *_doubt(ports)])
    return [*lines, BLANK, heading(f"  {counted(len(ports), 'port')}"), *_members(ports)]


def _members(ports: Sequence[PortKeys]) -> list[Line]:
    return [line("    ", span(name)) for name in folded_names(ports)]


def _doubt(ports: Sequence[PortKeys]) -> list[tuple[str, object]]:
    sources = Counter(port.source for port in ports if port.source)
    told: list[tuple[str, object]] = [("read from", ", ".join(source for source, _ in sources.most_common(3)) or "-")]
    if not all(port.whole for port in ports):
        told.append(("doubt", (span("a part of the table is missing", word(UNKNOWN)),)))
    return told


def _spell(key: PKey) -> str:
    return f"{partition_text(key.partition)} {'full' if key.is_full_member else 'limited'}"
