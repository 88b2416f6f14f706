"""Which line of which file says what: marks while reading, numbered evidence in the answer."""

from __future__ import annotations

from typing import NamedTuple

from ibkit.model.mpi import Evidence
from ibkit.parsers.job_facts import Said

#: As much of a line as a person reads (characters).
MAX_TEXT = 400


class Mark(NamedTuple):
    """A place in a log. ``order`` is the file's place among the job's files."""

    order: int
    line: int
    file: str
    text: str
    host: str | None
    rank: int | None

    def is_before(self, other: Mark) -> bool:
        """Whether it is known to come earlier: lines of two files have no common clock."""
        return self.order == other.order and self.line < other.line


class File(NamedTuple):
    """A log by its place among the job's files and its name."""

    order: int
    name: str

    def mark(self, said: Said, host: str | None = None) -> Mark:
        """The place of what was said, about ``host`` or by its speaker."""
        text = said.text if len(said.text) <= MAX_TEXT else said.text[: MAX_TEXT - 3] + "..."
        return Mark(self.order, said.line, self.name, text, host or said.host, said.rank)


class Book:
    """The evidence of one answer: each line once for each thing it proves, numbered from 1."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str, int, str, str | None], int] = {}
        self._evidence: list[Evidence] = []
        self._cited: dict[int, None] = {}

    def cite(self, mark: Mark, evidence_class: str, transport: str | None = None) -> int:
        """The number of this evidence."""
        key = mark.file, mark.line, evidence_class, transport
        if key not in self._ids:
            number = len(self._evidence) + 1
            self._ids[key] = number
            self._evidence.append(
                Evidence(number, evidence_class, mark.file, mark.line, mark.text, mark.host, mark.rank, transport)
            )
        self._cited[self._ids[key]] = None
        return self._ids[key]

    def cited(self) -> tuple[int, ...]:
        """The numbers of what was cited since this was asked before: one run's, of runs that are judged in turn."""
        cited, self._cited = tuple(self._cited), {}
        return cited

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All of it."""
        return tuple(self._evidence)
