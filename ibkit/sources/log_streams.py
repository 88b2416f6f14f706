"""A log's bytes as text: unpacked, from UTF-16, and /proc's files of NUL-separated words; what cannot be unpacked."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import FileIO
from typing import BinaryIO, Protocol, cast

from ibkit.sources.shared_reading import SharedReading

#: Looked at to tell text from binary data (bytes).
HEAD_BYTES = 8192
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "lzma", b"]\0\0": "lzma"}
#: What the standard library does not unpack, and what does. pzstd begins with a frame that is to be skipped.
_NOT_READ = {
    b"\x28\xb5\x2f\xfd": ("zstd", "zstdcat"),
    **{bytes((number,)) + b"\x2a\x4d\x18": ("zstd", "zstdcat") for number in range(0x50, 0x60)},
    b"\x04\x22\x4d\x18": ("lz4", "lz4cat"),
    b"\x02\x21\x4c\x18": ("lz4", "lz4cat"),
    b"\x89LZO\0\r\n\x1a\n": ("lzop", "lzop -dc"),
    b"LZIP\x01": ("lzip", "lzip -dc"),
    b"\x1f\x9d": ("compress", "zcat"),
}
#: As many bytes tell what a stream is packed with.
MAGIC_BYTES = 9
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Bytes(Protocol):
    """As much of a file as a log's reader needs."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, none at the end."""
        ...

    def close(self) -> None:
        """No more is wanted."""
        ...


class Unpacked(Protocol):
    """A decompressor of the standard library."""

    def read1(self, size: int, /) -> bytes:
        """What one step gives, none at the end."""
        ...

    def close(self) -> None:
        """No more is wanted."""
        ...


def unpacked(name: str, opener: Callable[[], Bytes]) -> Callable[[], Bytes]:
    """A stream of text: decompressed, from UTF-16, /proc's NUL-separated files with a line for each variable."""

    def open_text() -> Bytes:
        opened = opener()
        head = read_whole(opened, HEAD_BYTES)
        stream = Joined(head, opened)
        if refusal := packed_otherwise(head):
            return _Refused(refusal, opened)
        for magic, module in _PACKED.items():
            if head.startswith(magic):
                return _decompressed(module, stream)
        if head.startswith(_UTF16):
            return _Utf16(stream)
        separator = _separator(name)
        if separator and b"\0" in head:
            return _Translated(stream, separator)
        return SharedReading(head, opened) if isinstance(opened, FileIO) and os.path.isfile(opened.fileno()) else stream

    return open_text


def packed_otherwise(head: bytes) -> str | None:
    """What to tell of a file that begins so, where it is packed with something that is not read."""
    found = next((names for magic, names in _NOT_READ.items() if head.startswith(magic)), None)
    return f"packed with {found[0]}, which is not read; unpack it first ({found[1]})" if found else None


def may_be_text(name: str, head: bytes) -> bool:
    """Whether a file that begins so may be a log, once it is unpacked."""
    if head.startswith((*_PACKED, *_UTF16)):
        return True
    is_of_proc = _separator(name) is not None
    return bool(head) and head[:4] != b"\x7fELF" and (is_of_proc or head.count(b"\0") <= len(head) // 100)


def _separator(name: str) -> bytes | None:
    """What stands for NUL in a file of /proc: a variable of ``environ`` has a line, ``cmdline`` is one."""
    base = os.path.basename(name)
    return b"\n" if "environ" in base else b" " if "cmdline" in base else None


def read_whole(stream: Bytes, size: int) -> bytes:
    """``size`` bytes, fewer only at the end."""
    parts = b""
    while len(parts) < size and (data := stream.read(size - len(parts))):
        parts += data
    return parts


def _decompressed(module: str, stream: Bytes) -> Bytes:
    source = cast(BinaryIO, stream)
    if module == "gzip":
        import gzip
        import zlib

        return _Unpacker(gzip.GzipFile(fileobj=source, mode="rb"), zlib.error)
    if module == "bz2":
        import bz2

        return _Unpacker(bz2.BZ2File(source), OSError)
    import lzma

    return _Unpacker(lzma.LZMAFile(source), lzma.LZMAError)


class _Unpacker:
    """A decompressor whose own errors are those of reading, and come behind all that was unpacked before."""

    def __init__(self, unpacked: Unpacked, error: type[Exception]) -> None:
        self._unpacked = unpacked
        self._error = error
        self._failed: Exception | None = None

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes of text. Raises OSError and EOFError."""
        data = bytearray()
        while len(data) < size and self._failed is None:
            try:
                part = self._unpacked.read1(size - len(data))
            except (self._error, EOFError) as error:
                self._failed = error
                break
            if not part:
                break
            data += part
        if not data and self._failed is not None:
            text = f"{self._failed}" if isinstance(self._failed, EOFError) else f"damaged: {self._failed}"
            raise OSError(text) from self._failed
        return bytes(data)

    def close(self) -> None:
        """Close the stream."""
        self._unpacked.close()


class _Refused:
    """A stream that cannot be unpacked."""

    def __init__(self, text: str, stream: Bytes) -> None:
        self._text = text
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        """Raises OSError."""
        raise OSError(self._text)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


class Joined:
    """Bytes that were read already, then the rest of the stream."""

    def __init__(self, head: bytes, stream: Bytes) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        """What was read already comes first."""
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
            return data
        return self._stream.read(size)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


class _Translated(Joined):
    """A file whose parts are separated by NUL."""

    def __init__(self, stream: Bytes, separator: bytes) -> None:
        super().__init__(b"", stream)
        self._separator = separator

    def read(self, size: int = -1) -> bytes:
        """With a separator for each NUL."""
        return self._stream.read(size).replace(b"\0", self._separator)


class _Utf16(Joined):
    """UTF-16 with its mark, as UTF-8."""

    def __init__(self, stream: Bytes) -> None:
        import codecs

        super().__init__(b"", stream)
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def read(self, size: int = -1) -> bytes:
        """Up to twice ``size`` bytes."""
        while True:
            data = self._stream.read(size)
            text = self._decoder.decode(data, not data)
            if text or not data:
                return text.encode("utf-8", "replace")
