"""ibkit's own cache of addresses: one SQLite file, keyed by subnet prefix, partition, address and source.

SQLite's rollback journal makes it safe for two writers and for a crash in the middle of a write: the next one who opens
the file rolls back what was not finished. (Its other journal, WAL, needs memory that all writers share, which a home
folder on NFS does not have.) The default place is ``ibkit/addresses.db`` in the user's cache folder (XDG Base Directory
Specification).
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType

from ibkit.errors import IbkitError
from ibkit.model.address_cache import Entry
from ibkit.model.ids import Gid, PKey
from ibkit.model.path_record import PathRecord
from ibkit.parsers.erased import Any

#: What SQLite keeps in a file's head to tell whose it is: "ibkc".
APPLICATION = 0x69626B63
FORMAT = 1
#: How long a writer waits for another one (seconds).
WAIT_SECONDS = 30.0
#: SQLite takes so many values in one question at least (SQLITE_MAX_VARIABLE_NUMBER of old versions).
_AT_ONCE = 900
_UNKNOWN = -1

_TABLE = """
CREATE TABLE entries (
 address TEXT NOT NULL,
 prefix TEXT NOT NULL,
 partition INTEGER NOT NULL,
 via TEXT NOT NULL,
 gid TEXT,
 pkey INTEGER,
 learned INTEGER NOT NULL,
 detail TEXT NOT NULL,
 path TEXT,
 host TEXT,
 PRIMARY KEY (address, prefix, partition, via)
) WITHOUT ROWID
"""
_COLUMNS = "address, via, gid, learned, prefix, pkey, detail, path, host"
#: Names are written in any case, and looked up in any.
_INDEX = "CREATE INDEX folded ON entries (lower(address))"
#: The newer word of a source counts, whoever writes first.
_PUT = """
INSERT INTO entries (address, prefix, partition, via, gid, pkey, learned, detail, path, host)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET gid = excluded.gid, pkey = excluded.pkey, learned = excluded.learned,
 detail = excluded.detail, path = excluded.path, host = excluded.host
WHERE excluded.learned >= entries.learned
"""
#: A GID that a source tells now takes the place of another one that it told before, in whatever subnet or partition,
#: of what it told before without knowing the partition, and of the word that nobody knew the address.
_FORGET = """
DELETE FROM entries WHERE address = ?1
AND (gid IS NULL OR via = ?2 AND (learned < ?3 AND gid != ?4 OR learned <= ?3 AND partition = -1))
"""


class CacheError(IbkitError):
    """The file cannot be used; the message names it and the mend."""


def default_path() -> str:
    """Where the cache is unless somebody says otherwise."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):  # the specification has relative ones ignored
        home = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "ibkit", "addresses.db")


class AddressCache:
    """The entries of one file. All methods raise CacheError where the file cannot be used."""

    def __init__(self, path: str, *, make: bool = False) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        if not self._exists() and not make:
            return  # empty, and nothing is made for somebody who only looks
        with self._told():
            if make:
                os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
            self._claim(make=make)

    def __enter__(self) -> AddressCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def put(self, entries: Iterable[Entry]) -> int:
        """Keep entries, all or none; how many."""
        rows = [_row(entry) for entry in entries]
        if not rows or self._connection is None:
            return 0
        told = [(row[0], row[3], row[6], row[4]) for row in rows if row[4] is not None]
        with self._told(), self._writing() as connection:
            connection.executemany(_FORGET, told)
            connection.executemany(_PUT, rows)
        return len(rows)

    def find(self, addresses: Sequence[str]) -> dict[str, list[Entry]]:
        """The entries by address or name in lower case: those of all that differ from one asked for in case alone."""
        found: dict[str, list[Entry]] = {}
        if self._connection is None:
            return found
        folded = list(dict.fromkeys(address.lower() for address in addresses))
        with self._told():
            for start in range(0, len(folded), _AT_ONCE):
                some = folded[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(some))
                question = f"SELECT {_COLUMNS} FROM entries WHERE lower(address) IN ({marks})"  # noqa: S608
                for row in self._connection.execute(question, some):
                    found.setdefault(row[0].lower(), []).append(self._entry(row))
        return found

    def all(self) -> list[Entry]:
        """All entries in the order of address, prefix, partition and source."""
        if self._connection is None:
            return []
        question = f"SELECT {_COLUMNS} FROM entries ORDER BY address, prefix, partition, via"  # noqa: S608
        with self._told():
            return [self._entry(row) for row in self._connection.execute(question)]

    def remove(self, entries: Iterable[Entry]) -> int:
        """Forget these; how many went."""
        keys = [_row(entry)[:4] for entry in entries]
        if self._connection is None:
            return 0
        with self._told(), self._writing() as connection:
            before = connection.total_changes
            connection.executemany(
                "DELETE FROM entries WHERE address = ? AND prefix = ? AND partition = ? AND via = ?", keys
            )
            return connection.total_changes - before

    def clear(self) -> int:
        """Forget all; how many went."""
        if self._connection is None:
            return 0
        with self._told(), self._writing() as connection:
            return connection.execute("DELETE FROM entries").rowcount

    def faults(self) -> list[str]:
        """What SQLite finds wrong in the whole file."""
        if self._connection is None:
            return []
        with self._told():
            said = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check")]
        return [] if said == ["ok"] else said

    def _exists(self) -> bool:
        try:
            mode = os.stat(self.path).st_mode
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            raise CacheError(f"{self.path}: {getattr(error, 'strerror', None) or error}") from error
        if not stat.S_ISREG(mode):
            raise CacheError(f"{self.path}: no plain file; name another with --cache")
        return True

    def _claim(self, *, make: bool) -> None:
        """Look whose file it is; make the table in a new one."""
        assert self._connection
        if make:
            self._connection.execute("BEGIN IMMEDIATE")
        owner, version = (self._connection.execute(f"PRAGMA {what}").fetchone()[0] for what in _HEAD)
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if make and (owner, tables) == (0, 0):
            self._connection.execute(_TABLE)
            self._connection.execute(_INDEX)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")
        elif (owner, tables) == (0, 0):
            raise CacheError(f"{self.path}: empty, so no cache of ibkit; remove it, or name another file with --cache")
        elif owner != APPLICATION:
            raise CacheError(f"{self.path}: a database of another program; name another file with --cache")
        elif version != FORMAT:
            raise CacheError(f"{self.path}: format {version}, this ibkit reads {FORMAT}; remove it and build it again")
        if make:
            self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, begun with the right to write, so that two writers wait for each other and never fail."""
        assert self._connection
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite and of the system as one line with the file and the mend."""
        try:
            yield
        except CacheError:
            self.close()
            raise
        except sqlite3.Error as error:
            self.close()
            raise CacheError(f"{self.path}: {_mend(error)}") from error
        except OSError as error:
            raise CacheError(f"{self.path}: {error.strerror or error}; name another file with --cache") from error

    def _entry(self, row: Sequence[Any]) -> Entry:
        address, via, gid, learned, prefix, pkey, detail, path, host = row
        try:
            return Entry(
                str(address), str(via), None if gid is None else Gid(int(gid, 16)), int(learned),
                int(prefix, 16) if prefix else None, None if pkey is None else PKey(pkey), str(detail),
                None if path is None else _path(json.loads(path)), host,
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            raise CacheError(f"{self.path}: the entry of {address!r} is damaged; {_REBUILD}") from error


_HEAD = ("application_id", "user_version")
_REBUILD = "remove the file, and build it again with `ibkit cache build`"


def _mend(error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"another ibkit has been writing it for {WAIT_SECONDS:.0f} s; try again later"
    if "readonly" in text or "unable to open" in text:
        return f"{text}; make it and its folder yours to write, or name another file with --cache"
    if "full" in text:
        return f"{text}; make room, or name another file with --cache; nothing was lost"
    if "malformed" in text or "not a database" in text or "no such" in text or "corrupt" in text:
        return f"damaged, or no cache of ibkit ({text}); {_REBUILD}"
    return f"{text}; {_REBUILD}, or name another file with --cache"


def _row(entry: Entry) -> tuple[Any, ...]:
    return (
        _storable(entry.address), "" if entry.prefix is None else f"{entry.prefix:016x}",
        _UNKNOWN if entry.pkey is None else entry.pkey.partition, _storable(entry.via),
        None if entry.gid is None else f"{int(entry.gid):032x}", None if entry.pkey is None else int(entry.pkey),
        entry.learned, _storable(entry.detail), None if entry.path is None else json.dumps(entry.path),
        None if entry.host is None else _storable(entry.host),
    )  # fmt: skip


def _storable(text: str) -> str:
    """SQLite keeps UTF-8, in which a lone surrogate (half a letter of a JSON file) has no place."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _path(values: Sequence[Any]) -> PathRecord:
    """A path record of the list that it was written as."""
    path = PathRecord(*values)
    return path._replace(
        sgid=None if path.sgid is None else Gid(path.sgid),
        dgid=None if path.dgid is None else Gid(path.dgid),
        pkey=None if path.pkey is None else PKey(path.pkey),
    )
