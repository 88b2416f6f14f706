"""Captures: a folder (or a ``.tar.gz`` of one) with ``manifest.json`` and the verbatim outputs. See docs/capture.md.

A capture is other people's bytes. Reading one never executes anything and never leaves its folder: a name with
``..``, an absolute name, a link, a device or a file over the limits makes the whole capture unreadable.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ibkit.errors import UnreadableInput
from ibkit.sources.base import NOT_RECORDED, CommandAnswer, Entry, FileAnswer, FolderAnswer, VerbsAnswer
from ibkit.sources.site import Host, JobFile, Origin, Site

FORMAT = "ibkit-capture/1"
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 256 << 20
MAX_MEMBER_BYTES = 2 << 30
MAX_ARCHIVE_BYTES = 4 << 30
MAX_ARCHIVE_MEMBERS = 100_000


class Store(Protocol):
    """The files of a capture, wherever they lie."""

    def read(self, name: str) -> bytes:
        """A file's bytes. Raises UnreadableInput."""
        ...

    def path_of(self, name: str) -> str | None:
        """Where the file lies on disk, None inside an archive."""
        ...


class ReplaySource:
    """Answers from a capture what was recorded, and says ``not-recorded`` to everything else."""

    def __init__(self, answers: Sequence[Mapping[str, Any]], store: Store) -> None:
        self._store = store
        self._answers: dict[tuple[str, str | tuple[str, ...]], Mapping[str, Any]] = {}
        for answer in answers:
            kind = answer["kind"]
            key = tuple(answer["argv"]) if kind == "command" else answer.get("path", "")
            self._answers[kind, key] = answer

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        """What was recorded for exactly these words."""
        found = self._answers.get(("command", tuple(argv)))
        if found is None:
            return CommandAnswer(tuple(argv), failure=NOT_RECORDED)
        return CommandAnswer(
            tuple(argv),
            self._bytes(found.get("stdout")),
            self._bytes(found.get("stderr")),
            found.get("exit_status"),
            found.get("seconds", 0.0),
            found.get("failure"),
        )

    def read(self, path: str) -> FileAnswer:
        """What was recorded for this path."""
        found = self._answers.get(("file", path))
        if found is None:
            return FileAnswer(path, error=NOT_RECORDED)
        if found.get("error"):
            return FileAnswer(path, error=found["error"])
        if "text" in found:
            return FileAnswer(path, found["text"].encode())
        return FileAnswer(path, self._bytes(found.get("file")))

    def list(self, path: str) -> FolderAnswer:
        """What was recorded for this folder."""
        found = self._answers.get(("folder", path))
        if found is None:
            return FolderAnswer(path, error=NOT_RECORDED)
        if found.get("error"):
            return FolderAnswer(path, error=found["error"])
        return FolderAnswer(path, tuple(Entry(*entry) for entry in found["entries"]))

    def verbs(self) -> VerbsAnswer:
        """What pyverbs had answered."""
        found = self._answers.get(("verbs", ""))
        if found is None:
            return VerbsAnswer(error=NOT_RECORDED)
        return VerbsAnswer(found.get("devices"), found.get("error"))

    def _bytes(self, name: str | None) -> bytes:
        return b"" if name is None else self._store.read(name)


class FolderStore:
    """A capture that is a folder."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    def path_of(self, name: str) -> str:
        """The path, after the checks that :meth:`read` makes."""
        path = os.path.join(self._root, check_member_name(name, self._root))
        if os.path.realpath(path) != path:
            raise UnreadableInput(
                f"{self._root}: {name!r} is a link or lies behind one; a capture holds plain files only"
            )
        return path

    def read(self, name: str) -> bytes:
        """Read without following a link and without waiting on a FIFO."""
        path = self.path_of(name)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise UnreadableInput(f"{path}: not a plain file")
                if status.st_size > MAX_MEMBER_BYTES:
                    raise UnreadableInput(f"{path}: larger than {MAX_MEMBER_BYTES >> 20} MiB")
                return file.read()
        except OSError as error:
            raise UnreadableInput(
                f"{path}: {error.strerror}; the manifest names this file, so the capture is damaged: copy it again"
            ) from error


class ArchiveStore:
    """A capture that is a ``.tar.gz``. Members are read into memory once, at the start."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._members = dict(_archive_members(path))

    def path_of(self, name: str) -> None:
        """Nothing lies on disk."""
        return

    def read(self, name: str) -> bytes:
        """A member's bytes."""
        try:
            return self._members[check_member_name(name, self._path)]
        except KeyError:
            raise UnreadableInput(
                f"{self._path}: {name!r} is missing; the manifest names it, so the capture is damaged: copy it again"
            ) from None


def _archive_members(path: str) -> Iterator[tuple[str, bytes]]:
    """Name (relative to the folder that holds the manifest) and bytes of each plain member."""
    import tarfile
    import zlib

    try:
        with tarfile.open(path, "r:*") as archive:
            found: list[tuple[str, bytes]] = []
            size = 0
            for count, member in enumerate(archive):
                name = os.path.normpath(member.name) if member.name else ""
                if count >= MAX_ARCHIVE_MEMBERS:
                    raise UnreadableInput(f"{path}: more than {MAX_ARCHIVE_MEMBERS} members")
                if ".." in member.name.split("/") or member.name.startswith("/"):
                    raise UnreadableInput(f"{path}: member {member.name!r} leads out of the capture")
                if member.isdir():
                    continue
                if not member.isreg():
                    raise UnreadableInput(f"{path}: member {member.name!r} is not a plain file")
                size += member.size
                if member.size > MAX_MEMBER_BYTES or size > MAX_ARCHIVE_BYTES:
                    raise UnreadableInput(f"{path}: holds more than {MAX_ARCHIVE_BYTES >> 20} MiB")
                file = archive.extractfile(member)
                assert file is not None
                found.append((name, file.read()))
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise UnreadableInput(f"{path}: not a whole .tar.gz ({error}); copy it again") from error
    manifests = sorted((name for name, _ in found if os.path.basename(name) == MANIFEST), key=lambda n: n.count("/"))
    if not manifests:
        raise UnreadableInput(f"{path}: holds no {MANIFEST}, so it is not a capture of `ibkit capture`")
    top = manifests[0][: -len(MANIFEST)]
    for name, data in found:
        if name.startswith(top):
            yield name[len(top) :], data


def check_member_name(name: str, where: str) -> str:
    """The name itself if it stays inside the capture. Raises UnreadableInput."""
    if not name or "\0" in name or name.startswith("/") or ".." in name.split("/"):
        raise UnreadableInput(f"{where}: {name!r} leads out of the capture")
    return name


def is_capture(path: str) -> bool:
    """Whether ``path`` is meant as a capture: a folder with a manifest, or a tar archive."""
    if os.path.isdir(path):
        return os.path.lexists(os.path.join(path, MANIFEST))
    return path.endswith((".tar.gz", ".tgz", ".tar"))


def open_capture(path: str) -> Site:
    """Read the manifest and make a site of it. Raises UnreadableInput, naming the file and the mend."""
    store: Store = FolderStore(path) if os.path.isdir(path) else ArchiveStore(path)
    manifest = _Manifest.read(store, path)
    hosts = tuple(Host(host["name"], ReplaySource(host["answers"], store)) for host in manifest.hosts)
    subnet = ReplaySource(manifest.subnet, store)
    job = tuple(_job_file(name, store) for name in manifest.job)
    label = os.path.basename(os.path.normpath(path))
    return Site(Origin("capture", label, manifest.time, manifest.note), hosts, subnet, job)


def _job_file(name: str, store: Store) -> JobFile:
    path = store.path_of(name)
    return JobFile(name, path) if path is not None else JobFile(name, data=store.read(name))


class _Manifest(NamedTuple):
    time: str | None
    note: str | None
    hosts: list[dict[str, Any]]
    subnet: list[dict[str, Any]]
    job: list[str]

    @classmethod
    def read(cls, store: Store, path: str) -> _Manifest:
        where = f"{path}/{MANIFEST}"
        try:
            value = json.loads(store.read(MANIFEST))
        except json.JSONDecodeError as error:
            raise UnreadableInput(f"{where}:{error.lineno}: not JSON ({error.msg}); copy the capture again") from error
        except (UnicodeDecodeError, RecursionError) as error:
            raise UnreadableInput(f"{where}: not JSON text; copy the capture again") from error
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            found = value.get("format") if isinstance(value, dict) else None
            raise UnreadableInput(f"{where}: format is {found!r}, this ibkit reads {FORMAT!r}")
        try:
            manifest = cls(
                _text(value.get("time")),
                _text(value.get("note")),
                [
                    {"name": _name(h["name"]), "answers": [_answer(a) for a in h["answers"]]}
                    for h in value.get("hosts", [])
                ],
                [_answer(a) for a in value.get("subnet", [])],
                [_name(n) for n in value.get("job", [])],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UnreadableInput(f"{where}: an entry is not as docs/capture.md says ({error!r})") from error
        return manifest


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _answer(value: Any) -> dict[str, Any]:
    """One entry, checked as far as reading it relies on it."""
    kind = value["kind"]
    if kind == "command":
        if not value["argv"] or not all(isinstance(word, str) for word in value["argv"]):
            raise TypeError("argv is no list of words")
        for key in ("stdout", "stderr", "failure"):
            _text(value.get(key))
        if not isinstance(value.get("exit_status"), int | None) or not isinstance(value.get("seconds", 0), int | float):
            raise TypeError("exit_status or seconds is no number")
    elif kind in ("file", "folder"):
        _name(value["path"])
        for key in ("text", "file", "error"):
            _text(value.get(key))
        if kind == "folder" and not value.get("error"):
            for entry in value["entries"]:
                _name(entry[0]), _name(entry[1]), _text(entry[2])
                Entry(*entry)
    elif kind != "verbs":
        raise ValueError(f"unknown kind {kind!r}")
    return dict(value)
