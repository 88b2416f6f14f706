"""What the subnet administrator is asked, each once: one path, or all paths of a port where many are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from ibkit.collectors.mad_tools import ANY_PORT, Through
from ibkit.collectors.path_records import PathAnswer, PathQuestion, ask_path, ask_paths_from, saved_paths
from ibkit.model.ids import PKey
from ibkit.resolve.path_book import PathBook, fits
from ibkit.sources.base import Source


class Administrator:
    """The subnet administrators that a host reaches, each through one of its ports. ``is_live``: they can be asked
    anything; else there is what somebody recorded. ``many``: there are so many questions that tables are worth it.
    """

    def __init__(self, source: Source, *, is_live: bool, many: bool) -> None:
        self._source = source
        self._is_live = is_live
        self._many = many
        self._answers: dict[tuple[PathQuestion, Through], PathAnswer] = {}
        self._tables: dict[tuple[int, Through], PathBook] = {}

    def path(self, question: PathQuestion, through: Through, partitions: Sequence[PKey] = ()) -> PathAnswer:
        """One path. ``partitions`` are those of the port that it starts from."""
        key = question, through
        if key not in self._answers:
            self._answers[key] = self._path(question, through, partitions)
        return self._answers[key]

    def paths_from(self, lid: int, through: Through, partitions: Sequence[PKey] = ()) -> PathBook:
        """All paths from a port, asked for at once."""
        key = lid, through
        if key not in self._tables:
            self._tables[key] = PathBook(ask_paths_from(self._source, lid, through, partitions).records)
        return self._tables[key]

    def _path(self, question: PathQuestion, through: Through, partitions: Sequence[PKey]) -> PathAnswer:
        known = [record for book in self._books(question.slid, through, partitions) for record in book.find(question)]
        if known:
            return PathAnswer(tuple(known))
        answer = ask_path(self._source, question, through)
        return answer._replace(records=tuple(record for record in answer.records if fits(record, question)))

    def _books(self, slid: int | None, through: Through, partitions: Sequence[PKey]) -> Iterator[PathBook]:
        """All paths that were recorded, or that are worth asking for together."""
        if self._is_live and not self._many:
            return
        if slid is not None:
            yield self.paths_from(slid, through, partitions)
        if not self._is_live and through == ANY_PORT:
            yield self._saved

    @cached_property
    def _saved(self) -> PathBook:
        return PathBook(saved_paths(self._source).records)
