"""A source that has some commands' answers, like a capture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ibkit.sources.base import (
    NOT_RECORDED,
    CommandAnswer,
    ExchangeAnswer,
    FileAnswer,
    FolderAnswer,
    InterfacesAnswer,
    VerbsAnswer,
)


def said(command: str, stdout: str = "", stderr: str = "", exit_status: int | None = 0) -> CommandAnswer:
    """What ``command``, as typed, printed."""
    return CommandAnswer(tuple(command.split()), stdout.encode(), stderr.encode(), exit_status)


class Recorded:
    """Gives the answers and keeps what was asked. ``files`` maps paths to texts."""

    def __init__(self, *answers: CommandAnswer, files: Mapping[str, str] | None = None) -> None:
        self.asked: list[str] = []
        self._answers = {answer.command: answer for answer in answers}
        self._files = files or {}

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        command = " ".join(argv)
        self.asked.append(command)
        return self._answers.get(command, CommandAnswer(tuple(argv), failure=NOT_RECORDED))

    def read(self, path: str) -> FileAnswer:
        text = self._files.get(path)
        return FileAnswer(path, error=NOT_RECORDED) if text is None else FileAnswer(path, text.encode())

    def list(self, path: str) -> FolderAnswer:
        from ibkit.sources.base import Entry

        names = {name[len(path) + 1 :].split("/")[0] for name in self._files if name.startswith(f"{path}/")}
        return FolderAnswer(path, tuple(Entry(name, "folder") for name in sorted(names)) or None)

    def verbs(self) -> VerbsAnswer:
        return VerbsAnswer(error=NOT_RECORDED)

    def interfaces(self) -> InterfacesAnswer:
        return InterfacesAnswer(error=NOT_RECORDED)

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        return ExchangeAnswer(address, request, error=NOT_RECORDED)
