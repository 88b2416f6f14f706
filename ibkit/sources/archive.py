"""A ``.tar.gz`` (or plain ``.tar``) as a store of plain files, read with bounded memory and bounded time.

The headers are read here and not by ``tarfile``: a capture needs nothing but plain files, while ``tarfile`` takes
headers of any size into memory, follows sparse maps, and in Pythons that are in use can be made to loop for ever
(CVE-2024-6232, CVE-2025-8194). Format: POSIX.1-2017 pax, "ustar Interchange Format", and GNU's long names.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from ibkit.display import clean
from ibkit.errors import UnreadableInput
from ibkit.parsers.records import NamedTuple

#: All members together, unpacked (bytes): a 1 GB job log beside everything else.
MAX_ARCHIVE_BYTES = 2 << 30
MAX_HEADERS = 100_000
#: Members up to this size are kept when the archive is walked, up to so many bytes in all; larger ones are read
#: again when somebody asks.
KEEP_MEMBER_BYTES, KEEP_BYTES = 8 << 20, 128 << 20
#: The largest header that only names the next member (GNU long name, pax) (bytes).
MAX_NAME_BYTES = 64 << 10
#: What may follow the end mark: tar fills up its last record (bytes).
MAX_PADDING_BYTES = 1 << 20

BLOCK = 512
_KINDS = {b"1": "a hard link", b"2": "a link", b"3": "a device", b"4": "a device", b"6": "a FIFO", b"S": "sparse"}


class Member(NamedTuple):
    """A plain file: where its bytes lie in the unpacked archive, and the bytes themselves if they are few."""

    offset: int
    size: int
    data: bytes | None


class ArchiveStore:
    """A capture that is one file. Names are those in the folder that holds ``top`` (the manifest's name)."""

    def __init__(self, path: str, top: str) -> None:
        self._path = path
        members = dict(_walk(path))
        tops = sorted((name for name in members if name.rpartition("/")[2] == top), key=lambda name: name.count("/"))
        if not tops:
            raise UnreadableInput(f"{path}: holds no {top}, so it is not a capture of `ibkit capture`")
        if len(tops) > 1 and tops[0].count("/") == tops[1].count("/"):
            raise UnreadableInput(f"{path}: holds {clean(tops[0])} and {clean(tops[1])}; unpack it and give one folder")
        prefix = tops[0][: -len(top)]
        self._members = {name[len(prefix) :]: file for name, file in members.items() if name.startswith(prefix)}

    def read(self, name: str, max_bytes: int) -> bytes:
        """A member's bytes. Raises UnreadableInput."""
        member = self._member(name)
        if member.size > max_bytes:
            raise UnreadableInput(f"{self._path}: {clean(name)} is larger than {max_bytes >> 20} MiB")
        if member.data is not None:
            return member.data
        with self.open(name) as file:
            return file.read()

    def open(self, name: str) -> BinaryIO:
        """A member as a stream, for files that nobody should hold in memory. Raises UnreadableInput."""
        member = self._member(name)
        if member.data is not None:
            return io.BytesIO(member.data)
        return io.BufferedReader(_Slice(self._path, member))

    def _member(self, name: str) -> Member:
        try:
            return self._members[name]
        except KeyError:
            raise UnreadableInput(
                f"{self._path}: {clean(name)} is missing, though the manifest names it; copy the capture again"
            ) from None


class _Slice(io.RawIOBase):
    """One member of an archive, read from the archive as it is asked for."""

    def __init__(self, path: str, member: Member) -> None:
        self._path = path
        self._left = member.size
        try:
            self._file = _open(path)
            self._file.seek(member.offset)
        except (OSError, EOFError, zlib.error) as error:
            raise _damaged(path, error) from error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        view = memoryview(buffer)[: self._left]
        try:
            data = self._file.read(len(view))
        except (OSError, EOFError, zlib.error) as error:
            raise _damaged(self._path, error) from error
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _open(path: str) -> BinaryIO:
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else open(path, "rb")  # type: ignore[return-value]


def _damaged(path: str, error: object) -> UnreadableInput:
    return UnreadableInput(
        f"{path}: not a whole .tar.gz of a capture ({error}); copy it again, or unpack it if it is a tool's output"
    )


def _walk(path: str) -> Iterator[tuple[str, Member]]:
    """Name and place of each plain file, folders left out. Raises UnreadableInput at the first thing that is wrong."""
    seen: set[str] = set()
    size = kept = 0
    try:
        with _open(path) as file:
            for name, member_size, offset in _headers(path, file):
                if name in seen:
                    raise UnreadableInput(f"{path}: holds {clean(name)} twice; copy the capture again")
                seen.add(name)
                size += member_size
                if size > MAX_ARCHIVE_BYTES:
                    raise _too_much(path)
                data = None
                if member_size <= KEEP_MEMBER_BYTES and kept + member_size <= KEEP_BYTES:
                    data = _exactly(file, member_size)
                    kept += member_size
                yield name, Member(offset, member_size, data)
                file.seek(offset + -(-member_size // BLOCK) * BLOCK)
            if len(file.read(MAX_PADDING_BYTES)) == MAX_PADDING_BYTES:  # and gzip checks its sum at its end
                raise ValueError("it goes on behind its end")
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if not seen and _is_packed_text(path):
            text = "packed with gzip, and what is in it is no capture; unpack it (gunzip), and give the text"
            raise UnreadableInput(f"{path}: {text}") from error
        raise _damaged(path, error) from error


def _is_packed_text(path: str) -> bool:
    """Whether what a gzip file holds begins like a text: no byte of a tar's header is, behind the name."""
    try:
        with _open(path) as file:
            head = file.read(BLOCK)
    except (OSError, EOFError, zlib.error):
        return False
    return bool(head) and b"\0" not in head


def _too_much(path: str) -> UnreadableInput:
    return UnreadableInput(
        f"{path}: holds more than {MAX_ARCHIVE_BYTES >> 20} MiB or {MAX_HEADERS} files; "
        "unpack it yourself if you trust it, and give the folder"
    )


def _headers(path: str, file: BinaryIO) -> Iterator[tuple[str, int, int]]:
    """Name, size and offset of each plain file; the caller moves on to the next header."""
    long_name: str | None = None
    long_size: int | None = None
    count = 0
    while any(header := _exactly(file, BLOCK)):
        count += 1
        if count > MAX_HEADERS:
            raise _too_much(path)
        size = _number(header[124:136])
        if _number(header[148:156]) != sum(header) - sum(header[148:156]) + 8 * 0x20:
            raise ValueError("bad header")
        kind = header[156:157]
        if kind in (b"L", b"K", b"x", b"g"):
            if size > MAX_NAME_BYTES:
                raise ValueError(f"a header of {size} bytes")
            text = _exactly(file, -(-size // BLOCK) * BLOCK)[:size]
            if kind == b"L":
                long_name = _text(text)
            elif kind == b"x":
                records = dict(_pax_records(text))
                long_name = records.get("path", long_name)
                long_size = int(records["size"][:20]) if "size" in records else None
            continue
        name = _text(header[:100])
        if header[257:263] == b"ustar\0" and header[345]:
            name = f"{_text(header[345:500])}/{name}"
        name, size = long_name or name, size if long_size is None else max(0, long_size)
        long_name = long_size = None
        plain = kind in (b"0", b"\0", b"7")
        if kind == b"5" or (plain and name.endswith("/")):
            continue
        if not plain:
            what = _KINDS.get(kind, "no plain file")
            raise UnreadableInput(f"{path}: {clean(name)} is {what}; a capture holds plain files only")
        yield _inside(path, name), size, file.tell()


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise EOFError("it ends in the middle")
    return data


def _number(field: bytes) -> int:
    """An octal number. A size that needs GNU's binary form is over every limit here."""
    digits = field.strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        raise ValueError("bad number in a header")
    return int(digits, 8)


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _pax_records(text: bytes) -> Iterator[tuple[str, str]]:
    """``LENGTH KEY=VALUE`` and a line break, LENGTH counting all of it."""
    while text:
        length, _, _ = text[:10].partition(b" ")
        end = int(length) if length.isdigit() else 0
        key, found, value = text[len(length) + 1 : end - 1].partition(b"=")
        if not found or text[end - 1 : end] != b"\n":
            raise ValueError("bad pax header")
        yield key.decode("utf-8", "replace"), value.decode("utf-8", "surrogateescape")
        text = text[end:]


def _inside(path: str, name: str) -> str:
    """The name without ``./``; it must not lead out."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name or not parts:
        raise UnreadableInput(f"{path}: {clean(name)!r} leads out of the capture; it was not made by `ibkit capture`")
    return "/".join(parts)
