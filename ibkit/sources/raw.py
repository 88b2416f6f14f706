"""One raw output file of a tool, as somebody pasted it, taken as a capture with a single answer."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from ibkit.errors import UnreadableInput
from ibkit.parsers import identify
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, FileAnswer, FolderAnswer, VerbsAnswer, to_text
from ibkit.sources.site import Host, Origin, Site

#: A topology of 11,200 HCAs is 7 MB; nothing that a tool prints is larger than this (bytes).
MAX_RAW_BYTES = 2 << 30


class RawSource:
    """Answers every form of one tool with the file's bytes. Exit status and stderr are unknown, so they are empty."""

    def __init__(self, tool: str, data: bytes, path: str) -> None:
        self.tool = tool
        self.path = path
        self._data = data

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        """The file for the tool that printed it."""
        if os.path.basename(argv[0]) != self.tool:
            return CommandAnswer(tuple(argv), failure=NOT_RECORDED)
        return CommandAnswer(tuple(argv), self._data, exit_status=0)

    def read(self, path: str) -> FileAnswer:
        """Nothing: one tool's output holds no files."""
        return FileAnswer(path, error=NOT_RECORDED)

    def list(self, path: str) -> FolderAnswer:
        """Nothing."""
        return FolderAnswer(path, error=NOT_RECORDED)

    def verbs(self) -> VerbsAnswer:
        """Nothing."""
        return VerbsAnswer(error=NOT_RECORDED)


def read_raw(path: str) -> bytes:
    """The bytes of a regular file, or of stdin for ``-``. Raises UnreadableInput."""
    if path == "-":
        import sys

        return sys.stdin.buffer.read(MAX_RAW_BYTES)
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISDIR(status.st_mode):
                raise UnreadableInput(f"{path}: a folder without manifest.json, so not a capture of `ibkit capture`")
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableInput(f"{path}: not a plain file")
            if status.st_size > MAX_RAW_BYTES:
                raise UnreadableInput(f"{path}: larger than {MAX_RAW_BYTES >> 30} GiB")
            return file.read()
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror}") from error


def open_raw(path: str) -> Site:
    """Recognise a tool's output by its content. Raises UnreadableInput listing what was tried."""
    data = read_raw(path)
    tool = identify(to_text(data[:IDENTIFY_BYTES]), source=path).tool
    source = RawSource(tool, data, path)
    label = f"{os.path.basename(path)} ({tool} output)"
    return Site(Origin("raw", label), (Host("", source),), source)


#: How much of a file is looked at to recognise it (bytes): more than any banner of a terminal log.
IDENTIFY_BYTES = 1 << 20
