"""A recording: many captures of the same place over time, in one file. ``ibkit record`` writes it.

The file is an SQLite database, because that survives a kill at any moment, lets somebody read while it grows, and
gives space back. A frame is one capture: its manifest, as in :mod:`ibkit.sources.manifest`, and the files that it
names. What did not change from frame to frame is kept once. See docs/recording.md.

A recording is other people's bytes: it is opened for reading only, must have the very tables that are written here (a
view or trigger under their names could run for ever), and nothing in it may unpack to more than a capture may hold.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from ibkit.display import clean
from ibkit.errors import IbkitError, UnreadableInput
from ibkit.parsers.records import NamedTuple
from ibkit.sources.capture import site_in
from ibkit.sources.site import Site
from ibkit.sources.writer import Recorded, contents

#: SQLite's application_id of a recording: "ibkr".
_APPLICATION = 0x69626B72
_FORMAT = 1
_TABLES = {
    "frame": "CREATE TABLE frame (id INTEGER PRIMARY KEY, time TEXT, host TEXT NOT NULL)",
    "content": "CREATE TABLE content (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, packed BLOB NOT NULL)",
    "file": (
        "CREATE TABLE file (frame INTEGER NOT NULL, name TEXT NOT NULL, content INTEGER NOT NULL,"
        " PRIMARY KEY (frame, name)) WITHOUT ROWID"
    ),
    "file_content": "CREATE INDEX file_content ON file (content)",
}
#: How long one waits for the other who writes (seconds).
_PATIENCE_SECONDS = 10.0
#: The largest file of a frame as it is stored (bytes).
_MAX_PACKED_BYTES = 256 << 20
#: A recording that was never cut keeps at least these frames, however large they are: one is no history.
_KEPT_FRAMES = 2


class Frame(NamedTuple):
    """One capture of a recording. ``time`` is ISO 8601 with zone, None where it is not known."""

    id: int
    time: str | None
    host: str


def append(path: str, recorded: Recorded, max_bytes: int) -> Frame:
    """Add one frame, in a file that is made if need be, and drop the oldest ones if it is larger than ``max_bytes``.

    A kill at any moment leaves the frames before. Raises IbkitError naming the file and the mend.
    """
    try:
        with contextlib.closing(_open_to_write(path)) as database:
            with _transaction(database):
                frame = _add(database, recorded)
            _shrink(database, max_bytes)
            return frame
    except (sqlite3.Error, OSError) as error:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
            raise IbkitError(f"{path}: exists and is no recording; remove it, or name another file") from error
        raise IbkitError(f"{path}: cannot be written ({error}); the frames before are whole") from error


def frames(path: str) -> tuple[Frame, ...]:
    """All frames, the oldest first. Raises UnreadableInput."""
    with _reading(path) as database:
        rows = database.execute("SELECT id, time, host FROM frame ORDER BY id").fetchall()
    return tuple(Frame(id, time if isinstance(time, str) else None, str(host)) for id, time, host in rows)


def pick(path: str, which: str) -> Frame:
    """The frame that ``which`` names: its number, ``first``, ``last``, or a time (ISO 8601; the latest not after it).

    A time without a zone is in the zone of the recording. Raises UnreadableInput where there is none.
    """
    known = frames(path)
    if not known:
        raise UnreadableInput(f"{path}: holds no frame yet")
    if which in ("first", "last"):
        return known[0 if which == "first" else -1]
    if which.isdecimal() and len(which) < 10:
        found = [frame for frame in known if frame.id == int(which)]
    else:
        found = _not_after(path, known, which)
    if not found:
        times = sorted(frame.time for frame in known if frame.time is not None)
        span = f", {times[0]} to {times[-1]}" if times else ""
        text = f"no frame @{which}; it holds frames {known[0].id} to {known[-1].id}{span}"
        raise UnreadableInput(f"{path}: {clean(text)}")
    return found[0]


def _not_after(path: str, known: Iterable[Frame], which: str) -> list[Frame]:
    """The latest frame that is not after a time; none where all are. Frames need not be in the order of their times:
    captures may be put together in any, and a clock may be set back.
    """
    from datetime import datetime

    try:
        wanted = datetime.fromisoformat(which)
    except ValueError:
        raise UnreadableInput(
            f"{path}: @{clean(which)} is no frame; give a number, first, last, or a time such as 2026-12-01T14:00"
        ) from None
    latest: tuple[float, Frame] | None = None
    for frame in known:
        try:
            then = datetime.fromisoformat(frame.time or "")
            waited = ((wanted if wanted.tzinfo else wanted.replace(tzinfo=then.tzinfo)) - then).total_seconds()
        except (ValueError, TypeError):
            continue  # the frame's own time is none, or has no zone where the wanted one has
        if waited >= 0 and (latest is None or waited <= latest[0]):
            latest = waited, frame
    return [latest[1]] if latest else []


def open_frame(path: str, which: str) -> Site:
    """The site of one frame, see :func:`pick`. Raises UnreadableInput."""
    frame = pick(path, which)
    return site_in(FrameStore(path, frame), f"{path}@{frame.id}", f"{os.path.basename(path)}, frame {frame.id}")


class FrameStore:
    """The files of one frame, as the files of a capture."""

    def __init__(self, path: str, frame: Frame) -> None:
        self._path = path
        self._frame = frame

    def read(self, name: str, max_bytes: int) -> bytes:
        """A file's bytes. Raises UnreadableInput."""
        query = "SELECT packed FROM file JOIN content ON content.id = file.content WHERE frame = ? AND name = ?"
        with _reading(self._path) as database:
            row = database.execute(query, (self._frame.id, name)).fetchone()
        if row is None:
            raise UnreadableInput(
                f"{self._path}: {clean(name)} of frame {self._frame.id} is missing; a recorder that is still running "
                "may have dropped it as the oldest: open the recording again"
            )
        return self._unpacked(name, row[0], max_bytes)

    def open(self, name: str) -> BinaryIO:
        """A file as a stream."""
        return io.BytesIO(self.read(name, _MAX_PACKED_BYTES))

    def _unpacked(self, name: str, packed: object, max_bytes: int) -> bytes:
        unpacker = zlib.decompressobj()
        try:
            data = unpacker.decompress(packed, max_bytes + 1) if isinstance(packed, bytes) else b""
        except zlib.error as error:
            raise UnreadableInput(f"{self._path}: {clean(name)} is damaged ({error}); copy it again") from error
        if len(data) > max_bytes:
            raise UnreadableInput(f"{self._path}: {clean(name)} is larger than {max_bytes >> 20} MiB")
        if not unpacker.eof:
            raise UnreadableInput(f"{self._path}: {clean(name)} is damaged; copy the recording again")
        return data


def _open_to_write(path: str) -> sqlite3.Connection:
    """The database, made with its tables where there is none. The order matters: a kill in between leaves nothing."""
    database = sqlite3.connect(path, timeout=_PATIENCE_SECONDS, isolation_level=None)
    try:
        # A rollback journal, not a WAL: the recording is to be one file that can be copied.
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")
        with _transaction(database):
            if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _TABLES.values():
                    database.execute(statement)
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                database.execute(f"PRAGMA user_version = {_FORMAT}")
        problem = _what_is_wrong(database)
    except BaseException:
        database.close()
        raise
    if problem:
        database.close()
        raise IbkitError(f"{path}: {problem}; name another file")
    return database


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; somebody else's is waited for."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _add(database: sqlite3.Connection, recorded: Recorded) -> Frame:
    # Only the oldest are ever dropped, so a number never comes again: "@7" names one frame for good.
    last = database.execute("SELECT max(id) FROM frame").fetchone()[0] or 0
    frame = Frame(last + 1, recorded.time, recorded.host)
    database.execute("INSERT INTO frame VALUES (?, ?, ?)", frame)
    for name, opener in contents(recorded):
        with opener() as stream:
            data = stream.read()
        digest = hashlib.sha256(data).digest()
        known = database.execute("SELECT id FROM content WHERE digest = ?", (digest,)).fetchone()
        if known is None:
            packed = zlib.compress(data, 6)
            known = (
                database.execute("INSERT INTO content (digest, packed) VALUES (?, ?)", (digest, packed)).lastrowid,
            )
        database.execute("INSERT INTO file VALUES (?, ?, ?)", (frame.id, name, known[0]))
    return frame


def _shrink(database: sqlite3.Connection, max_bytes: int) -> None:
    """Drop the oldest frames, one transaction each, until the rest fits."""
    while _size(database) > max_bytes:
        oldest, count = database.execute("SELECT min(id), count(*) FROM frame").fetchone()
        if count <= _KEPT_FRAMES:
            return
        with _transaction(database):
            database.execute("DELETE FROM frame WHERE id = ?", (oldest,))
            database.execute("DELETE FROM file WHERE frame = ?", (oldest,))
            database.execute("DELETE FROM content WHERE id NOT IN (SELECT content FROM file)")
        database.execute("PRAGMA incremental_vacuum").fetchall()


def _size(database: sqlite3.Connection) -> int:
    pages: int = database.execute("PRAGMA page_count").fetchone()[0]
    page_bytes: int = database.execute("PRAGMA page_size").fetchone()[0]
    return pages * page_bytes


@contextlib.contextmanager
def _reading(path: str) -> Iterator[sqlite3.Connection]:
    """The database, checked and for reading only. SQLite's own complaints become UnreadableInput."""
    if not os.path.exists(path):
        raise UnreadableInput(f"{path}: {os.strerror(errno.ENOENT)}; check the name")
    try:
        with contextlib.closing(_open_to_read(path)) as database:
            if problem := _what_is_wrong(database):
                raise UnreadableInput(f"{path}: {problem}")
            yield database
    except sqlite3.Error as error:
        if _is_unfinished(error):
            mend = "its recorder was killed while it wrote: run `ibkit record --list` on it once as its owner"
        else:
            mend = "copy it again"
        if getattr(error, "sqlite_errorname", "") == "SQLITE_NOTADB":
            raise UnreadableInput(f"{path}: no recording of `ibkit record`") from error
        raise UnreadableInput(f"{path}: not a whole recording ({error}); {mend}") from error


def _open_to_read(path: str) -> sqlite3.Connection:
    """The database. Where a killed recorder left a frame unfinished it is undone first, by who may write there."""
    for mode in ("ro", "rw", "ro"):
        database = _connect(path, mode)
        try:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            database.close()
            if mode == "ro" and _is_unfinished(error) and os.access(path, os.W_OK):
                continue
            raise
        if mode == "ro":
            return database
        database.close()
    raise sqlite3.OperationalError("left unfinished again and again")


def _connect(path: str, mode: str) -> sqlite3.Connection:
    from urllib.parse import quote

    address = f"file:{quote(os.path.abspath(path))}?mode={mode}"
    database = sqlite3.connect(address, uri=True, timeout=_PATIENCE_SECONDS, isolation_level=None)
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA cell_size_check = ON")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_PACKED_BYTES)
    return database


def _is_unfinished(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "") in ("SQLITE_READONLY_ROLLBACK", "SQLITE_CANTOPEN")


def _what_is_wrong(database: sqlite3.Connection) -> str | None:
    """Why this is no recording, or None."""
    application = database.execute("PRAGMA application_id").fetchone()[0]
    if application != _APPLICATION:
        return "an SQLite database, and no recording of `ibkit record`"
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version != _FORMAT:
        return f"a recording of format {version}, this ibkit reads {_FORMAT}"
    made = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    if made != _TABLES:
        return "a database with other tables than a recording has"
    return None
