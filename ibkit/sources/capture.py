"""Captures: a folder (or a ``.tar.gz`` of one) with ``manifest.json`` and the verbatim outputs. See docs/capture.md.

A capture is other people's bytes. Reading one never executes anything and never leaves its folder: a name with
``..``, an absolute name, a link, a device or a file over the limits makes the whole capture unreadable.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from functools import partial

from ibkit.errors import UnreadableInput
from ibkit.parsers.erased import BinaryIO, Protocol
from ibkit.sources.base import (
    NOT_RECORDED,
    CommandAnswer,
    ExchangeAnswer,
    FileAnswer,
    FolderAnswer,
    InterfacesAnswer,
    Source,
    VerbsAnswer,
)
from ibkit.sources.manifest import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    Answers,
    BadManifest,
    RecordedLook,
    RecordedText,
    read_manifest,
)
from ibkit.sources.site import Host, JobFile, Origin, Site, Watched

#: The largest recorded output or file (bytes); a job's files are streamed and have no limit in a folder.
MAX_ANSWER_BYTES = 256 << 20


class Store(Protocol):
    """The files of a capture, wherever they lie, by the names of a checked manifest.

    Both methods raise UnreadableInput.
    """

    def read(self, name: str, max_bytes: int) -> bytes:
        """A file's bytes."""

    def open(self, name: str) -> BinaryIO:
        """A file as a stream."""


class ReplaySource:
    """Answers from a capture what was recorded, and says ``not-recorded`` to everything else."""

    def __init__(self, answers: Answers, store: Store) -> None:
        self._answers = answers
        self._store = store

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        """What was recorded for exactly these words."""
        found = self._answers.commands.get(tuple(argv))
        if found is None:
            return CommandAnswer(tuple(argv), failure=NOT_RECORDED)
        stdout, stderr = self._bytes(found.stdout), self._bytes(found.stderr)
        return CommandAnswer(found.argv, stdout, stderr, found.exit_status, found.seconds, found.failure)

    def read(self, path: str) -> FileAnswer:
        """What was recorded for this path."""
        found = self._answers.files.get(path)
        if found is None:
            return FileAnswer(path, error=NOT_RECORDED)
        return FileAnswer(path, self._bytes(found.file) if found.file is not None else found.data, found.error)

    def list(self, path: str) -> FolderAnswer:
        """What was recorded for this folder."""
        found = self._answers.folders.get(path)
        return FolderAnswer(path, error=NOT_RECORDED) if found is None else FolderAnswer(*found)

    def verbs(self) -> VerbsAnswer:
        """What pyverbs had answered."""
        found = self._answers.verbs
        return VerbsAnswer(error=NOT_RECORDED) if found is None else VerbsAnswer(*found)

    def interfaces(self) -> InterfacesAnswer:
        """What netifaces and psutil had answered."""
        return self._answers.interfaces or InterfacesAnswer(error=NOT_RECORDED)

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        """What the service had replied to exactly these bytes."""
        found = self._answers.exchanges.get((address, request))
        return found or ExchangeAnswer(address, request, error=NOT_RECORDED)

    @property
    def holds_any(self) -> bool:
        """Whether anything was recorded."""
        return any(self._answers)

    def ask_all(self, source: Source) -> None:
        """Ask another source everything that was recorded here (a recording one makes a copy so)."""
        for argv in self._answers.commands:
            source.run(argv)
        for path in self._answers.files:
            source.read(path)
        for path in self._answers.folders:
            source.list(path)
        if self._answers.verbs is not None:
            source.verbs()
        if self._answers.interfaces is not None:
            source.interfaces()
        for address, request in self._answers.exchanges:
            source.exchange(address, request)

    def _bytes(self, name: str | None) -> bytes:
        return b"" if name is None else self._store.read(name, MAX_ANSWER_BYTES)


class FolderStore:
    """A capture that is a folder."""

    def __init__(self, root: str) -> None:
        self._root = root

    def read(self, name: str, max_bytes: int) -> bytes:
        """A file's bytes."""
        with self.open(name) as file:
            if os.fstat(file.fileno()).st_size > max_bytes:
                raise UnreadableInput(f"{self._root}/{name}: larger than {max_bytes >> 20} MiB")
            try:
                return file.read(max_bytes)
            except OSError as error:
                raise UnreadableInput(f"{self._root}/{name}: {error.strerror}") from error

    def open(self, name: str) -> BinaryIO:
        """A file as a stream; walked to folder by folder, so that no link is followed, not even a fresh one."""
        *folders, last = name.split("/")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for part, more in [*((folder, os.O_DIRECTORY) for folder in folders), (last, 0)]:
                above = descriptor
                try:
                    descriptor = os.open(part, flags | more, dir_fd=above)
                finally:
                    os.close(above)
        except OSError as error:
            raise UnreadableInput(f"{self._root}/{name}: {_why(error, name)}") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UnreadableInput(f"{self._root}/{name}: no plain file; a capture holds nothing else")
        return os.fdopen(descriptor, "rb")


def _why(error: OSError, name: str) -> str:
    if error.errno == errno.ELOOP:
        return "a link; a capture holds plain files only"
    if error.errno == errno.ENOTDIR:
        return "lies behind a link or a file; a capture holds plain files only"
    if error.errno == errno.ENOENT and name == MANIFEST:
        return "missing, so the folder is no capture; a job's folder goes to `ibkit check-mpi-transport`"
    if error.errno == errno.ENOENT:
        return "missing, though it belongs to the capture; copy the capture again"
    return f"{error.strerror}; let its owner make it readable (chmod -R u+rX)"


def open_capture(path: str) -> Site:
    """Read the manifest of a folder or an archive and make a site of it.

    Raises UnreadableInput, naming the file and the mend.
    """
    store: Store
    if os.path.isdir(path):
        store = FolderStore(path)
    else:
        from ibkit.sources.archive import ArchiveStore  # gzip costs 5 ms: folders do not pay

        store = ArchiveStore(path, MANIFEST)
    return site_in(store, path, os.path.basename(os.path.abspath(path)))


def site_in(store: Store, path: str, label: str) -> Site:
    """The site that a capture's files make. ``path`` is for errors, ``label`` for people. Raises UnreadableInput."""
    try:
        manifest = read_manifest(store.read(MANIFEST, MAX_MANIFEST_BYTES))
    except BadManifest as error:
        raise UnreadableInput(f"{path}/{MANIFEST}: {error}; record it again, or mend the entry") from error
    texts = [host.answers.text for host in manifest.hosts if host.answers.text]
    saved = iter(_saved(texts, store)) if texts else iter(())
    hosts = tuple(
        Host(name, next(saved) if answers.text else ReplaySource(answers, store), _watched(look, store))
        for name, answers, look in manifest.hosts
    )
    job = tuple(JobFile(name.removeprefix("job/"), partial(store.open, name)) for name in manifest.job)
    origin = Origin("capture", label, manifest.time, manifest.note)
    return Site(origin, hosts, _subnet(manifest.subnet, store), job)


def _watched(look: RecordedLook | None, store: Store) -> Watched | None:
    return Watched(look.target, look.seconds, ReplaySource(look.answers, store)) if look else None


def _saved(texts: Sequence[RecordedText], store: Store) -> Iterator[Source]:
    """What somebody saved of several hosts."""
    from ibkit.sources.raw import RawSource, forms_of, identify_raw

    data = [store.read(file, MAX_ANSWER_BYTES) for _, file in texts]
    for (path, _), one, form in zip(texts, data, forms_of(data, texts[0].path), strict=True):
        yield RawSource(form or identify_raw(one, path), one, path)


def _subnet(answers: Answers, store: Store) -> Source:
    if answers.text is None:
        return ReplaySource(answers, store)
    from ibkit.sources.raw import site_of_text

    path, file = answers.text
    return site_of_text(store.read(file, MAX_ANSWER_BYTES), path).subnet
