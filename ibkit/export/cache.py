"""The cache as a document for other programs (schema ibkit.cache/1) and as rows; and back. See docs/json.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from ibkit.export.resolve import path_document, text
from ibkit.model.address_cache import IMPORT, Entry
from ibkit.model.ids import Gid, PKey
from ibkit.model.path_record import PathRecord
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Any
from ibkit.resolve.gids import prefix_text

SCHEMA = "ibkit.cache/1"

COLUMNS = ("address", "gid", "pkey", "prefix", "via", "age_seconds", "state", "dlid", "host", "detail")


def cache_document(
    path: str, entries: Sequence[Entry], now: float | None, problems: Iterable[Problem] = ()
) -> dict[str, Any]:
    """All entries in the order of their keys."""
    return {
        "schema": SCHEMA,
        "file": path,
        "entries": [_entry(entry, now) for entry in entries],
        "problems": [problem._asdict() for problem in problems],
    }


def cache_rows(entries: Iterable[Entry], now: float | None) -> Iterator[list[Any]]:
    """One row per entry in the order of COLUMNS."""
    for entry in entries:
        yield [
            entry.address, entry.gid, entry.pkey, _prefix(entry), entry.via, entry.age_seconds(now),
            entry.state(now), entry.path.dlid if entry.path else None, entry.host, entry.detail,
        ]  # fmt: skip


def entries_of_document(data: str, now: float) -> tuple[list[Entry], list[Problem]]:
    """The entries of such a document, with their ages counted from now. Raises ValueError for any other text."""
    try:
        top = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    rows = top.get("entries") if isinstance(top, dict) and top.get("schema") == SCHEMA else None
    if not isinstance(rows, list):
        raise ValueError(f"no document of {SCHEMA}")
    entries, problems = [], []
    for index, row in enumerate(rows):
        try:
            entries.append(_entry_of(row, now))
        except (TypeError, ValueError, OverflowError, KeyError, AttributeError) as error:
            problems.append(Problem("bad-entry", f"entries[{index}] is left out: {type(error).__name__} {error}"[:200]))
    return entries, problems


def _prefix(entry: Entry) -> str | None:
    return None if entry.prefix is None else prefix_text(entry.prefix)


def _entry(entry: Entry, now: float | None) -> dict[str, Any]:
    return {
        "address": entry.address,
        "gid": text(entry.gid),
        "pkey": text(entry.pkey),
        "prefix": _prefix(entry),
        "via": entry.via,
        "age_seconds": entry.age_seconds(now),
        "state": entry.state(now),
        "detail": entry.detail,
        "path": path_document(entry.path),
        "host": entry.host,
    }


def _entry_of(row: Any, now: float) -> Entry:
    gid, pkey, age, prefix, path = row["gid"], row["pkey"], row["age_seconds"], row["prefix"], row["path"]
    host, address = row["host"], row["address"]
    if not isinstance(address, str) or not 0 < len(address) < 256 or not isinstance(row["via"], str):
        raise ValueError("no address")
    age = 0 if age is None else int(age)
    return Entry(
        address,
        row["via"][:20] or IMPORT,
        None if gid is None else Gid.parse(gid),
        int(now) - min(max(0, age), int(now)),
        None if prefix is None else int(prefix.replace(":", ""), 16) & (1 << 64) - 1,
        None if pkey is None else PKey(int(pkey, 16) & 0xFFFF),
        str(row["detail"])[:500],
        None if path is None else _path_of(path),
        host if isinstance(host, str) else None,
    )


def _path_of(row: dict[str, Any]) -> PathRecord:
    values = {name: row[name] for name in PathRecord._fields}
    for name in ("sgid", "dgid"):
        values[name] = None if values[name] is None else Gid.parse(values[name])
    values["pkey"] = None if values["pkey"] is None else PKey(int(values["pkey"], 16) & 0xFFFF)
    for name in ("slid", "dlid", "sl", "mtu_bytes", "hop_limit", "flow_label", "traffic_class"):
        if values[name] is not None and (type(values[name]) is not int or not 0 <= values[name] < 1 << 20):
            raise ValueError(f"{name} is no number that it can have")
    for name in ("rate_gbps", "life_seconds"):
        values[name] = None if values[name] is None else float(values[name])
        if values[name] is not None and not 0 <= values[name] < float("inf"):
            raise ValueError(f"{name} is no number that it can have")
    values["reversible"] = None if values["reversible"] is None else bool(values["reversible"])
    return PathRecord(**values)
