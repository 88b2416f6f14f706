"""A source that wraps another one and keeps every answer, each question once."""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import (
    CommandAnswer,
    ExchangeAnswer,
    FileAnswer,
    FolderAnswer,
    InterfacesAnswer,
    SavedText,
    Source,
    VerbsAnswer,
)


class RecordedWatch(NamedTuple):
    """A second look at the host, for the sake of a job: see ibkit.sources.site.Watched."""

    target: str
    seconds: float
    later: RecordingSource


class RecordingSource:
    """Answers as the wrapped source does. A question asked again gets the recorded answer, so that what is shown
    while recording is what a replay will show.
    """

    def __init__(self, wrapped: Source) -> None:
        self._wrapped = wrapped
        self.commands: dict[tuple[str, ...], CommandAnswer] = {}
        self.files: dict[str, FileAnswer] = {}
        self.folders: dict[str, FolderAnswer] = {}
        self.verbs_answer: VerbsAnswer | None = None
        self.interfaces_answer: InterfacesAnswer | None = None
        self.exchanges: dict[tuple[str, bytes], ExchangeAnswer] = {}
        #: What the wrapped source reads its answers from, if that is a saved text: it is recorded in their place.
        self.text: SavedText | None = None
        self.watched: RecordedWatch | None = None

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        """Run once, then answer from the record."""
        key = tuple(argv)
        if key not in self.commands:
            self.commands[key] = self._wrapped.run(key, deadline_seconds=deadline_seconds)
        return self.commands[key]

    def read(self, path: str) -> FileAnswer:
        """Read once, then answer from the record."""
        if path not in self.files:
            self.files[path] = self._wrapped.read(path)
        return self.files[path]

    def list(self, path: str) -> FolderAnswer:
        """List once, then answer from the record."""
        if path not in self.folders:
            self.folders[path] = self._wrapped.list(path)
        return self.folders[path]

    def verbs(self) -> VerbsAnswer:
        """Ask once, then answer from the record."""
        if self.verbs_answer is None:
            self.verbs_answer = self._wrapped.verbs()
        return self.verbs_answer

    def interfaces(self) -> InterfacesAnswer:
        """Ask once, then answer from the record."""
        if self.interfaces_answer is None:
            self.interfaces_answer = self._wrapped.interfaces()
        return self.interfaces_answer

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        """Ask once, then answer from the record."""
        key = (address, request)
        if key not in self.exchanges:
            self.exchanges[key] = self._wrapped.exchange(address, request, deadline_seconds=deadline_seconds)
        return self.exchanges[key]
