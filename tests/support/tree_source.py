"""A source over a tree of files, with made-up tools and device nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ibkit.sources.base import (
    MISSING,
    NOT_RECORDED,
    CommandAnswer,
    Entry,
    ExchangeAnswer,
    FileAnswer,
    FolderAnswer,
    InterfacesAnswer,
    VerbsAnswer,
)
from ibkit.sources.live import LiveSource

#: As /sys has them, whoever runs the tests.
_MODES = {"folder": 0o755, "link": 0o777, "file": 0o444}


class TreeSource(LiveSource):
    """Reads below ``root``; ``tools`` maps a command line to its stdout; ``errors`` replaces what a path would give.

    It counts what is asked, by path or command line.
    """

    def __init__(
        self,
        root: Path,
        *,
        errors: dict[str, str] | None = None,
        tools: dict[str, str] | None = None,
        nodes: dict[str, tuple[int, int, int]] | None = None,
        verbs: VerbsAnswer | None = None,
        interfaces: InterfacesAnswer | None = None,
    ) -> None:
        super().__init__(root=str(root))
        self.asked: Counter[str] = Counter()
        self._errors = errors or {}
        self._tools = tools or {}
        self._nodes = nodes
        self._interfaces = interfaces or InterfacesAnswer(error=NOT_RECORDED)
        self._verbs = verbs or VerbsAnswer(error="pyverbs cannot be imported: No module named 'pyverbs'")

    def run(self, argv: Sequence[str], *, deadline_seconds: float = 60.0) -> CommandAnswer:
        """The made-up output, or ``missing``."""
        command = " ".join(argv)
        self.asked[command] += 1
        if command in self._errors:
            return CommandAnswer(tuple(argv), failure=self._errors[command])
        if command not in self._tools:
            return CommandAnswer(tuple(argv), failure=MISSING)
        return CommandAnswer(tuple(argv), self._tools[command].encode(), exit_status=0)

    def read(self, path: str) -> FileAnswer:
        """The tree's file."""
        self.asked[path] += 1
        if path in self._errors:
            return FileAnswer(path, error=self._errors[path])
        return super().read(path)

    def list(self, path: str) -> FolderAnswer:
        """The tree's folder; /dev/infiniband is made of ``nodes``: name to mode, uid, gid."""
        self.asked[path] += 1
        if path in self._errors:
            return FolderAnswer(path, error=self._errors[path])
        if path == "/dev/infiniband" and self._nodes is not None:
            entries = [Entry(name, "device", None, *owner) for name, owner in sorted(self._nodes.items())]
            return FolderAnswer(path, tuple(entries))
        entries = super().list(path).entries
        if entries is None:
            return super().list(path)
        return FolderAnswer(path, tuple(e._replace(mode=_MODES.get(e.kind), uid=0, gid=0) for e in entries))

    def verbs(self) -> VerbsAnswer:
        """The made-up answer of pyverbs."""
        return self._verbs

    def interfaces(self) -> InterfacesAnswer:
        """The made-up answer of netifaces and psutil."""
        return self._interfaces

    def exchange(self, address: str, request: bytes, *, deadline_seconds: float = 5.0) -> ExchangeAnswer:
        """A tree has no services."""
        return ExchangeAnswer(address, request, error=NOT_RECORDED)
