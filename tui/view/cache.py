"""ibkit's own cache of addresses: its entries, how old they are, who said them, which contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ibkit.model.address_cache import EXPIRED, FRESH, NEGATIVE, OLD, Entry
from ibkit.model.ids import Gid
from ibkit.tui.view.banner import seconds
from ibkit.tui.view.level import INFO, OK, UNKNOWN, WARNING
from ibkit.tui.view.lines import Line, facts
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("Address", flexible=True, least=14),
    Column("GID", flexible=True, least=20, unknown="-"),
    Column("P_Key", drop=3),
    Column("Said by", drop=1),
    Column("Age", right=True),
    Column("State", tinted=True),
    Column("DLID", right=True, drop=2, unknown="-"),
)
DISPUTED = "disputed"
LEVELS = {FRESH: OK, OLD: INFO, NEGATIVE: INFO, EXPIRED: INFO, DISPUTED: WARNING}


class CacheContents(NamedTuple):
    """What the file held, and when it was read (seconds since 1970)."""

    path: str
    entries: tuple[Entry, ...]
    now: float


def table(contents: CacheContents) -> Table:
    """A row for each entry; the disputed ones first."""
    known = disputed(contents.entries, contents.now)
    rows = []
    for number, entry in enumerate(contents.entries):
        is_disputed = entry.address.lower() in known and _counts(entry, contents.now)
        state = DISPUTED if is_disputed else entry.state(contents.now)
        age = entry.age_seconds(contents.now)
        values = (
            entry.address, entry.gid, entry.pkey, entry.via, None if age is None else seconds(age), state,
            entry.path.dlid if entry.path else None,
        )  # fmt: skip
        rows.append(Row(number, LEVELS.get(state, UNKNOWN), values))
    rows.sort(key=lambda row: -row.level)
    return Table("entry", COLUMNS, rows, plural="entries")


def disputed(entries: Sequence[Entry], now: float) -> frozenset[str]:
    """Addresses of which sources that are to be relied on tell ports with different GUIDs in one subnet.

    One port has its GID with several prefixes: what its GUID is decides.
    """
    told: dict[tuple[str, int | None], set[int]] = {}
    for entry in entries:
        if _counts(entry, now):
            told.setdefault((entry.address.lower(), entry.prefix), set()).add(_guid(entry.gid))
    return frozenset(address for (address, _), guids in told.items() if len(guids) > 1)


def entry_lines(contents: CacheContents, number: int) -> list[Line]:
    """An entry in full, and who says otherwise."""
    if not 0 <= number < len(contents.entries):
        return []
    entry = contents.entries[number]
    pairs: list[tuple[str, object]] = [("said", f"{entry.via}: {entry.detail or '-'}"), ("host", entry.host or "-")]
    if entry.address.lower() in disputed(contents.entries, contents.now):
        pairs += [
            ("but", f"{other.via} says {other.gid}")
            for other in contents.entries
            if other.address.lower() == entry.address.lower() and other is not entry and _counts(other, contents.now)
        ]
    return facts(pairs, " ")


def _counts(entry: Entry, now: float) -> bool:
    return entry.gid is not None and entry.state(now) == FRESH


def _guid(gid: Gid | None) -> int:
    return 0 if gid is None else int(gid.guid)
