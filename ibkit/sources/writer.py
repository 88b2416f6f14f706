"""Write a capture: a folder, or one file if its name ends in ``.tar.gz``. See docs/capture.md for the format.

It is written under another name beside the target and renamed when it is whole and on the disk, so that nobody ever
finds half a capture: not after a full disk, a crash or a kill.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from ibkit import __version__
from ibkit.errors import IbkitError
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, ExchangeAnswer, FileAnswer, SavedText
from ibkit.sources.manifest import FORMAT, MANIFEST
from ibkit.sources.recording import RecordingSource
from ibkit.sources.site import JobFile

#: Files up to this size that are text stand in the manifest itself (bytes): a sysfs attribute is a line.
INLINE_BYTES = 4096
ARCHIVE_ENDINGS = (".tar.gz", ".tgz")
#: Endings that promise a form which is not written.
_OTHER_ENDINGS = (".tar", ".zip", ".gz", ".xz", ".bz2", ".zst")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+=,@-]+")

#: A file of the capture: its name, and what opens its bytes.
_Content = tuple[str, Callable[[], BinaryIO]]


class Recorded(NamedTuple):
    """What a capture is made of. ``time`` is ISO 8601 with zone, None where it is not known; ``host`` is where it
    was recorded.
    """

    host: str
    time: str | None
    hosts: tuple[tuple[str, RecordingSource], ...]
    subnet: RecordingSource
    job: tuple[JobFile, ...] = ()
    note: str | None = None


def check_target(path: str) -> None:
    """Refuse a target that cannot be written, before minutes are spent on recording. Raises IbkitError."""
    if path.endswith(_OTHER_ENDINGS) and not path.endswith(ARCHIVE_ENDINGS):
        raise IbkitError(f"{path}: a capture is a folder or a .tar.gz; name one of these")
    parent = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(parent):
        raise IbkitError(f"{path}: there is no folder {parent}; make it, or name another place")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise IbkitError(f"{path}: no right to write in {parent}; name another place")
    if os.path.lexists(path) and not _is_empty(path):
        raise IbkitError(f"{path}: exists and is not empty; remove it, or name another place")


def write_capture(path: str, recorded: Recorded) -> None:
    """Write all of it. Raises IbkitError if that fails; then nothing is left at ``path``."""
    check_target(path)
    path = os.path.abspath(path)
    parent, name = os.path.split(path)
    try:
        with tempfile.TemporaryDirectory(".part", f".{name[:200]}.", parent) as workshop:
            part = os.path.join(workshop, name)
            if name.endswith(ARCHIVE_ENDINGS):
                _write_archive(part, _safe(name.removesuffix(".tgz").removesuffix(".tar.gz")), recorded)
            else:
                _write_folder(part, recorded)
            check_target(path)  # somebody may have been quicker
            os.rename(part, path)
            _to_disk(parent)
    except OSError as error:
        raise IbkitError(f"{path}: cannot be written ({error.strerror or error}); nothing was left there") from error


def _write_folder(path: str, recorded: Recorded) -> None:
    os.mkdir(path)
    folders = {path}
    for name, opener in contents(recorded):
        full = os.path.join(path, name)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        folders.add(os.path.dirname(full))
        with opener() as content, open(full, "xb") as file:
            shutil.copyfileobj(content, file)
            file.flush()
            os.fsync(file.fileno())
    for folder in folders:
        _to_disk(folder)


def _write_archive(path: str, top: str, recorded: Recorded) -> None:
    with open(path, "xb") as file:
        pack(file, top, recorded, workshop=os.path.dirname(path))
        file.flush()
        os.fsync(file.fileno())


def pack(file: BinaryIO, top: str, recorded: Recorded, *, workshop: str | None = None) -> None:
    """The capture as a ``.tar.gz``, with all its names below ``top``. ``workshop`` is for temporary files."""
    import gzip
    import tarfile
    from datetime import datetime

    seconds = int(datetime.fromisoformat(recorded.time).timestamp()) if recorded.time else 0
    with (
        gzip.GzipFile("", "wb", fileobj=file, mtime=seconds) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, opener in contents(recorded):
            # A log may still grow, and its size has to be written before it: so a copy is packed.
            with opener() as content, tempfile.TemporaryFile(dir=workshop) as copy:
                shutil.copyfileobj(content, copy)
                member = tarfile.TarInfo(f"{top}/{name}")
                member.size, member.mtime, member.mode = copy.tell(), seconds, 0o644
                copy.seek(0)
                archive.addfile(member, copy)


def contents(recorded: Recorded) -> Iterator[_Content]:
    """All files of the capture, each with what opens its bytes; the manifest comes last."""
    names = _Names()
    files: list[_Content] = []
    hosts = []
    for name, source in recorded.hosts:
        folder = names.new(f"hosts/{_safe(name)}")
        parts = {"name": _json(name), "answers": _rows(list(_answers(source, folder, names, files)))}
        if look := source.watched:
            head = f'"target": {_json(look.target)}, "seconds": {_json(look.seconds)}'
            answers = _rows(list(_answers(look.later, names.new(f"{folder}/watched"), names, files)))
            parts["watched"] = f'{{{head}, "answers": {answers}}}'
        hosts.append(", ".join(f'"{key}": {text}' for key, text in parts.items()))
    subnet = list(_answers(recorded.subnet, "subnet", names, files))
    job = []
    for log in recorded.job:
        job.append(names.new("/".join(["job", *(_safe(part) for part in log.name.split("/"))])))
        files.append((job[-1], log.open))
    yield from files
    text = _manifest(recorded, hosts, subnet, job)
    yield MANIFEST, _opener(text.encode("ascii"))


def _answers(source: RecordingSource, folder: str, names: _Names, files: list[_Content]) -> Iterator[dict[str, Any]]:
    """The manifest's entries of one source: a saved text, or commands as they were run and what was read, by path."""
    if source.text is not None:
        yield {"kind": "text", "path": source.text.path, "file": names.of_text(source.text, folder, files)}
        return
    for command in source.commands.values():
        if command.failure != NOT_RECORDED:
            yield _command(command, folder, names, files)
    if source.verbs_answer is not None and source.verbs_answer.error != NOT_RECORDED:
        yield {"kind": "verbs", **_present(source.verbs_answer._asdict())}
    if source.interfaces_answer is not None and source.interfaces_answer.error != NOT_RECORDED:
        yield {"kind": "interfaces", **_present(source.interfaces_answer._asdict())}
    for exchange in source.exchanges.values():
        if exchange.error != NOT_RECORDED:
            yield {"kind": "exchange", **_exchange(exchange)}
    for path, listing in sorted(source.folders.items()):
        if listing.error is not None:
            if listing.error != NOT_RECORDED:
                yield {"kind": "folder", "path": path, "error": listing.error}
        else:
            yield {"kind": "folder", "path": path, "entries": [list(entry) for entry in listing.entries or ()]}
    for path, file in sorted(source.files.items()):
        if file.error != NOT_RECORDED:
            yield {"kind": "file", "path": path, **_file(file, folder, names, files)}


def _command(answer: CommandAnswer, folder: str, names: _Names, files: list[_Content]) -> dict[str, Any]:
    words = [os.path.basename(answer.argv[0]), *answer.argv[1:]]
    base = f"{folder}/{_safe('_'.join(words))}"
    entry: dict[str, Any] = {"kind": "command", "argv": list(answer.argv)}
    for key, ending, data in (("stdout", "out", answer.stdout), ("stderr", "err", answer.stderr)):
        if data:
            entry[key] = names.new(base, ending)
            files.append((entry[key], _opener(data)))
    return {
        **entry,
        "exit_status": answer.exit_status,
        "seconds": answer.seconds,
        **_present({"failure": answer.failure}),
    }


def _exchange(answer: ExchangeAnswer) -> dict[str, Any]:
    reply = answer.reply.hex() or None
    told = {"address": answer.address, "request": answer.request.hex(), "reply": reply, "error": answer.error}
    return _present(told)


def _file(answer: FileAnswer, folder: str, names: _Names, files: list[_Content]) -> dict[str, Any]:
    if answer.data is None:
        return {"error": answer.error}
    if len(answer.data) <= INLINE_BYTES:
        with contextlib.suppress(UnicodeDecodeError):
            return {"text": answer.data.decode()}
    name = names.new(f"{folder}/files/{_safe(answer.path.strip('/'))}")
    files.append((name, _opener(answer.data)))
    return {"file": name}


def _manifest(recorded: Recorded, hosts: list[str], subnet: list[dict[str, Any]], job: list[str]) -> str:
    """An answer a line, so that a person can read it and ``diff`` can compare two. Pure ASCII: safe on a terminal."""
    head = {"format": FORMAT, "ibkit": __version__, "host": recorded.host, "time": recorded.time, "note": recorded.note}
    lines = [f" {_json(key)}: {_json(value)}" for key, value in _present(head).items()]
    blocks = ",\n".join(f"  {{{host}}}" for host in hosts)
    lines += [f' "hosts": [\n{blocks}\n ]', f' "subnet": {_rows(subnet)}', f' "job": {_rows(job)}']
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _rows(values: list[Any]) -> str:
    return "[\n" + ",\n".join(f"   {_json(value)}" for value in values) + "\n  ]" if values else "[]"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


class _Names:
    """File names inside the capture, no two alike even where case does not count."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        self._texts: dict[SavedText, str] = {}

    def new(self, base: str, ending: str = "") -> str:
        """``base`` with ``ending``, numbered where that is taken."""
        ending = f".{ending}" if ending else ""
        name = base + ending
        while name.lower() in self._taken:
            number = self._next[base] = self._next.get(base, 1) + 1
            name = f"{base}-{number}{ending}"
        self._taken.add(name.lower())
        return name

    def of_text(self, text: SavedText, folder: str, files: list[_Content]) -> str:
        """The file of a saved text, which often is both a host's and the subnet's: it is written once."""
        if text not in self._texts:
            self._texts[text] = self.new(f"{folder}/{_safe(os.path.basename(text.path))}")
            files.append((self._texts[text], _opener(text.data)))
        return self._texts[text]


def _safe(text: str) -> str:
    """One name for a file system: of harmless characters, not hidden, no option, not too long."""
    text = _UNSAFE.sub("_", text)[:100]
    return text if text[:1].isalnum() else f"_{text}"


def _opener(data: bytes) -> Callable[[], BinaryIO]:
    return lambda: io.BytesIO(data)


def _is_empty(path: str) -> bool:
    if os.path.islink(path):
        return False
    return not os.listdir(path) if os.path.isdir(path) else os.path.isfile(path) and os.path.getsize(path) == 0


def _to_disk(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
