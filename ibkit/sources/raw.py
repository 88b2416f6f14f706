"""One raw output file of a tool, as somebody pasted it, taken as a capture with a single answer."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Sequence

from ibkit.errors import UnreadableInput
from ibkit.parsers import JOB_COMMAND, Format, holds, identify
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.erased import BinaryIO
from ibkit.sources.base import (
    NOT_RECORDED,
    CommandAnswer,
    ExchangeAnswer,
    FileAnswer,
    FolderAnswer,
    InterfacesAnswer,
    SavedText,
    VerbsAnswer,
    to_text,
)
from ibkit.sources.site import Host, Origin, Site

#: A topology of 11,200 HCAs is 7 MB; nothing that a tool prints is larger than this (bytes).
MAX_RAW_BYTES = 256 << 20
#: How much of a file is looked at to recognise it (bytes): more than any banner of a terminal log.
IDENTIFY_BYTES = 1 << 20

#: No tool prints longer lines; what follows in such a line is left out where a file is not recognised at once.
_LONG_LINES = re.compile(rb"([^\n]{65536})[^\n]+")
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
}
#: What dshbak and clush begin a block of lines with: a file of theirs is recognised by it before its lines are.
_BLOCK_LINE = 15 * b"-"
_BLOCK = re.compile(rb"^-{15,16}\r?\n[A-Za-z0-9][^\n]*\n-{15,16}\r?$", re.MULTILINE)
#: What a terminal does to the start of a line (bracketed paste, colour); a recorded session is full of it.
_TERMINAL = re.compile(rb"^(?:\x1b\[[0-9;?]{0,20}[A-Za-z]|\r)+", re.MULTILINE)


class RawSource:
    """Answers every form of a tool with the file's bytes. Exit status and stderr are unknown."""

    def __init__(self, form: Format, data: bytes, path: str) -> None:
        self.form = form
        self.path = path
        self._data = data
        self._held = {form.tool: True}

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        """The file, for the tools whose output is in it."""
        if not self.holds(os.path.basename(argv[0])):
            return CommandAnswer(tuple(argv), failure=NOT_RECORDED)
        return CommandAnswer(tuple(argv), self._data)

    def read(self, path: str) -> FileAnswer:
        """Nothing: one tool's output holds no files."""
        return FileAnswer(path, error=NOT_RECORDED)

    def list(self, path: str) -> FolderAnswer:
        """Nothing."""
        return FolderAnswer(path, error=NOT_RECORDED)

    def verbs(self) -> VerbsAnswer:
        """Nothing."""
        return VerbsAnswer(error=NOT_RECORDED)

    def interfaces(self) -> InterfacesAnswer:
        """Nothing."""
        return InterfacesAnswer(error=NOT_RECORDED)

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        """Nothing."""
        return ExchangeAnswer(address, request, error=NOT_RECORDED)

    @property
    def text(self) -> SavedText:
        """The file, for a capture."""
        return SavedText(self.path, self._data)

    def holds(self, tool: str) -> bool:
        """Whether this is output of ``tool``, or a terminal log in which there is some."""
        if tool not in self._held:
            self._held[tool] = self.form.command != JOB_COMMAND and holds(to_text(self._data), tool)
        return self._held[tool]


def open_plain(path: str) -> BinaryIO:
    """A file that the user named, if it is a plain one. Raises UnreadableInput; never waits for a FIFO or a device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        mend = {FileNotFoundError: "; check the name", PermissionError: "; let its owner make it readable"}
        raise UnreadableInput(f"{path}: {error.strerror}{mend.get(type(error), '')}") from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise UnreadableInput(f"{path}: a folder; name a file in it")
    raise UnreadableInput(f"{path}: not a plain file; redirect it to stdin and name - in its place")


def read_raw(path: str) -> bytes:
    """The bytes of a plain file, or of stdin for ``-``, without a terminal's decoration. Raises UnreadableInput."""
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            what = "closed" if sys.stdin is None else "a terminal"
            raise UnreadableInput(f"stdin is {what}; pipe the tool's output into ibkit, or name its file")
        data = _read(sys.stdin.buffer, "stdin")
    else:
        with open_plain(path) as file:
            data = _read(file, path)
    if not data.strip():
        raise UnreadableInput(f"{path}: empty; the tool may have printed on stderr: record it again with 2>&1")
    if len(data) > MAX_RAW_BYTES:
        raise UnreadableInput(
            f"{path}: larger than {MAX_RAW_BYTES >> 20} MiB, which no tool prints; cut out its output"
        )
    packed = next((name for magic, name in _PACKED.items() if data.startswith(magic)), None)
    if packed:
        raise UnreadableInput(f"{path}: packed with {packed}; unpack it first")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # Windows' redirection writes UTF-16
        data = data.decode("utf-16", "replace").encode()
    data = data.removeprefix(b"\xef\xbb\xbf")
    return _TERMINAL.sub(b"", data) if b"\x1b" in data or b"\r" in data else data


def _read(file: BinaryIO, path: str) -> bytes:
    try:
        return file.read(MAX_RAW_BYTES + 1)
    except OSError as error:  # a bad disk, a server that went away
        raise UnreadableInput(f"{path}: {error.strerror}") from error


def identify_raw(data: bytes, path: str) -> Format:
    """The format of a raw file. Raises UnreadableInput, telling what was tried."""
    try:
        return identify(to_text(data[:IDENTIFY_BYTES]), source=path)
    except NotThisFormat:
        pass
    try:
        return identify(to_text(_LONG_LINES.sub(rb"\1", data)[:IDENTIFY_BYTES]), source=path)
    except NotThisFormat as error:
        if b"\0" in data[:IDENTIFY_BYTES]:
            raise UnreadableInput(f"{path}: binary data, not the text that a tool prints") from error
        if b'"ibkit-capture/' in data[:4096]:
            raise UnreadableInput(f"{path}: a capture's manifest; give the folder that it lies in") from error
        raise UnreadableInput(str(error)) from error


class DifferentTexts(RawSource):
    """Stands for the subnet where a file holds the texts of several hosts that differ: nobody knows whose it is."""

    hosts = 0

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        """Nothing."""
        return CommandAnswer(tuple(argv), failure=NOT_RECORDED)


def open_raw(path: str) -> Site:
    """Recognise a tool's output by its content. Raises UnreadableInput."""
    return site_of_text(read_raw(path), path)


def site_of_text(data: bytes, path: str) -> Site:
    """A file's bytes as what they hold: one text, or those of several hosts. Raises UnreadableInput."""
    if _BLOCK_LINE in data and _BLOCK.search(data) and (gathered := _of_many_hosts(data, path)):
        return gathered
    try:
        form = identify_raw(data, path)
    except UnreadableInput:
        if gathered := _of_many_hosts(data, path):
            return gathered
        raise
    source = RawSource(form, data, path)
    label = f"{_label(path)} ({form.tool} output)"
    return Site(Origin("raw", label), (Host("", source),), source)


def _label(path: str) -> str:
    return "stdin" if path == "-" else os.path.basename(path)


def _of_many_hosts(data: bytes, path: str) -> Site | None:
    """The hosts of what pdsh, dshbak or clush gathered; None where it is not that.

    A host whose text is nothing that is known (``ibstat: command not found``) is taken to have said it in the place of
    what most others said.
    """
    from ibkit.sources.gathered import texts_of_hosts

    texts = texts_of_hosts(data)
    forms = dict(zip(texts, forms_of(list(texts.values()), path), strict=True))
    if None in forms.values():
        return None
    hosts = tuple(Host(name, RawSource(form, texts[name], path)) for name, form in forms.items() if form)
    if not hosts:
        return None
    subnet = hosts[0].source
    if len(set(texts.values())) > 1 and isinstance(subnet, RawSource):
        subnet = DifferentTexts(subnet.form, data, path)
        subnet.hosts = len(hosts)
    return Site(Origin("raw", f"{_label(path)} ({len(hosts)} hosts)"), hosts, subnet)


def forms_of(texts: Sequence[bytes], path: str) -> list[Format | None]:
    """The format of each text; one that is not recognised has that of most others. All are None where none is."""
    known: dict[bytes, Format | None] = {}
    for text in texts:
        if text not in known:
            try:
                known[text] = identify_raw(text, path)
            except UnreadableInput:
                known[text] = None
    forms = [known[text] for text in texts]
    found = [form for form in forms if form]
    usual = max(found, key=found.count) if found else None
    return [form or usual for form in forms]


def require_tool(site: Site, tools: Sequence[str], command: str, *, each_host: bool = False) -> None:
    """Refuse a raw file that holds no output of ``tools``, which is all that ``command`` can read of such a file.

    ``each_host`` is for commands that show hosts; the others show one subnet, which several hosts' texts tell only if
    they are the same. Raises UnreadableInput that says what the file is and who reads it. Live hosts and captures pass.
    """
    source = site.subnet
    if not isinstance(source, RawSource):
        return
    if not any(one.source.holds(tool) for one in site.hosts if isinstance(one.source, RawSource) for tool in tools):
        raise UnreadableInput(
            f"{source.path}: this is {source.form.tool} output, {source.form.reader}; "
            f"of the tools' outputs, `ibkit {command}` reads that of {' or '.join(tools)}"
        )
    if isinstance(source, DifferentTexts) and not each_host:
        raise UnreadableInput(
            f"{source.path}: texts of {source.hosts} hosts, which differ, and `ibkit {command}` shows one subnet: "
            "give it the output of one host"
        )
