"""A source that answers what a test gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ibkit.sources.base import (
    NOT_RECORDED,
    CommandAnswer,
    Entry,
    ExchangeAnswer,
    FileAnswer,
    FolderAnswer,
    InterfacesAnswer,
    VerbsAnswer,
)


class Answers:
    """Answers by command line or path; everything else is ``not-recorded``, as in a capture.

    ``errors`` are errnos' names by file.
    """

    def __init__(
        self,
        commands: Mapping[str, CommandAnswer],
        *,
        files: Mapping[str, str] | None = None,
        folders: Mapping[str, Sequence[Entry] | str] | None = None,
        errors: Mapping[str, str] | None = None,
    ) -> None:
        self._commands = commands
        self._files = files or {}
        self._folders = folders or {}
        self._errors = errors or {}

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        """The given answer, under the words that were asked."""
        answer = self._commands.get(" ".join(argv), CommandAnswer((), failure=NOT_RECORDED))
        return answer._replace(argv=tuple(argv))

    def read(self, path: str) -> FileAnswer:
        """The given text."""
        if path in self._files:
            return FileAnswer(path, self._files[path].encode())
        return FileAnswer(path, error=self._errors.get(path, NOT_RECORDED))

    def list(self, path: str) -> FolderAnswer:
        """The given entries, or the given errno's name."""
        found = self._folders.get(path, NOT_RECORDED)
        return FolderAnswer(path, error=found) if isinstance(found, str) else FolderAnswer(path, tuple(found))

    def verbs(self) -> VerbsAnswer:
        """Nothing."""
        return VerbsAnswer(error=NOT_RECORDED)

    def interfaces(self) -> InterfacesAnswer:
        """Nothing."""
        return InterfacesAnswer(error=NOT_RECORDED)

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        """Nothing."""
        return ExchangeAnswer(address, request, error=NOT_RECORDED)


def said(stdout: str = "", stderr: str = "", exit_status: int | None = 0, failure: str | None = None) -> CommandAnswer:
    """What a command printed and how it ended."""
    return CommandAnswer((), stdout.encode(), stderr.encode(), exit_status, 0.0, failure)
