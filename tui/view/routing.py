"""What the switches' forwarding tables say: how many LIDs each covers, and where there are holes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ibkit.display import counted
from ibkit.model.fabric import End
from ibkit.model.findings import Finding
from ibkit.model.ids import Guid
from ibkit.model.port_state import FIRST_MULTICAST_LID
from ibkit.model.routes import NO_EXIT, Owners, Routes, owners_of
from ibkit.tui.view.findings import LEVELS
from ibkit.tui.view.level import CRITICAL, OK, UNKNOWN, word
from ibkit.tui.view.lines import BLANK, Line, line, span
from ibkit.tui.view.subnet import SubnetView, type_word
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("Switch", flexible=True, least=20),
    Column("LID", right=True, unknown="-"),
    Column("Covered", right=True),
    Column("Holes", right=True, tinted=True),
    Column("Not known", right=True),
    Column("Exits", right=True, drop=1),
    Column("Read from", flexible=True, least=12, turn=1, drop=2, unknown=""),
    Column("GUID", drop=3),
)
EXIT_COLUMNS = (
    Column("Port", right=True, unknown=""),
    Column("Neighbour", flexible=True, least=20, unknown=""),
    Column("Port", right=True, unknown=""),
    Column("Type", unknown="", drop=2),
    Column("LIDs", right=True),
    Column("Which", flexible=True, least=20, turn=1, drop=1),
)
#: So many ranges of LIDs stand in a cell.
MOST_RANGES = 40


class RoutesView:
    """The tables of a fabric, compared with the LIDs that its ports have."""

    def __init__(self, routes: Routes, view: SubnetView) -> None:
        self._routes = routes
        self._view = view
        self._owners = owners_of(view.fabric)
        self.lids = _assigned(self._owners)
        self.table = Table("switch", COLUMNS, self._rows(), plural="switches").prepare()

    def head(self, findings: Iterable[Finding] = ()) -> list[Line]:
        """What was read, and what the rules say of it."""
        known = sum(1 for row in self.table.rows if row.values[2] is not None)
        whole = {True: "of all switches", False: "not of all switches", None: "whether of all cannot be told"}
        switches = f"{counted(known, 'switch', 'switches')} ({whole[self._routes.complete]})"
        text = f"tables of {switches}, {counted(len(self.lids), 'LID')} that ports have"
        lines = [line(" ", span(text, "heading"))]
        told = ((f"{one.rule} {one.what}: {one.where}", word(LEVELS[one.severity])) for one in findings)
        lines += [line(" ", span(*one)) for one in told]
        return [*lines[:6], BLANK]

    def exits(self, guid: Guid) -> dict[int | None, list[int]]:
        """By exit port the LIDs that have it; NO_EXIT for holes, None for what is not known."""
        found: dict[int | None, list[int]] = defaultdict(list)
        tables = self._routes.tables.get(guid, ())
        for lid in self.lids:
            exit_port = next((port for one in tables if (port := one.exit_of(lid)) is not None), None)
            found[exit_port].append(lid)
        return dict(found)

    def exit_table(self, guid: Guid) -> Table:
        """A row for each exit of a switch: where it leads, and for which LIDs; holes first."""
        view = self._view
        rows = []
        for port, lids in self.exits(guid).items():
            if port is None:
                rows.append(
                    Row(None, UNKNOWN, (None, "not known what becomes of them", None, None, len(lids), ranges(lids)))
                )
            elif port == NO_EXIT:
                text = "no exit: the switch drops their packets"
                rows.append(Row(NO_EXIT, CRITICAL, (None, text, None, None, len(lids), ranges(lids))))
            else:
                other = view.peer_of(End(guid, port))
                node = view.fabric.nodes.get(other.guid) if other is not None else None
                name = "the switch itself" if port == 0 else view.name(other.guid) if other is not None else None
                kind = type_word(node.type) if node is not None else None
                level = OK if port == 0 or other is not None else UNKNOWN
                rows.append(Row(End(guid, port), level, (
                    port, name or "nothing is known to be there", other and other.port, kind, len(lids), ranges(lids),
                )))  # fmt: skip
        rows.sort(key=lambda row: (-row.level, row.values[0] or 0))
        return Table("exit", EXIT_COLUMNS, rows)

    def _rows(self) -> list[Row]:
        rows = []
        for node_row in self._view.nodes.rows:
            guid = node_row.key
            if node_row.values[0] != "switch" or not isinstance(guid, Guid):
                continue
            tables = self._routes.tables.get(guid, ())
            who = (self._view.name(guid), node_row.values[2])
            if not tables:
                rows.append(Row(guid, UNKNOWN, (*who, None, None, len(self.lids), None, None, guid)))
                continue
            exits = self.exits(guid)
            holes, unknown = len(exits.pop(NO_EXIT, ())), len(exits.pop(None, ()))
            sources = ", ".join(dict.fromkeys(one.source for one in tables if one.source)) or None
            level = CRITICAL if holes else UNKNOWN if unknown else OK
            covered = len(self.lids) - holes - unknown
            rows.append(Row(guid, level, (*who, covered, holes, unknown, len(exits), sources, guid)))
        rows.sort(key=lambda row: -row.level)
        return rows


def ranges(lids: list[int]) -> str:
    """``1-17, 20``."""
    spans: list[list[int]] = []
    for lid in lids:
        if spans and lid == spans[-1][1] + 1:
            spans[-1][1] = lid
        else:
            spans.append([lid, lid])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in spans]
    more = f", and {len(texts) - MOST_RANGES} ranges more" if len(texts) > MOST_RANGES else ""
    return ", ".join(texts[:MOST_RANGES]) + more


def _assigned(owners: Owners) -> list[int]:
    """The LIDs that ports have, in order."""
    lids = set(owners.base)
    for first, last, _ in owners.ranges:
        lids.update(range(first, last + 1))
    return sorted(lid for lid in lids if 0 < lid < FIRST_MULTICAST_LID)
