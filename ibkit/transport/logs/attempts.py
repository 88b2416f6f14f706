"""Which attempt of a job a line belongs to. torchrun starts all workers anew after a failure, or when nodes come and
go, and keeps a folder for each attempt (``--log-dir``: ``RUN/attempt_1/3/stderr.log``). A batch system starts the job
anew, and its file goes on (Slurm's ``--requeue`` with ``--open-mode=append``).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from ibkit.transport.evidence import Mark

_FOLDER = re.compile(r"(?:\A|/)attempt_(\d{1,6})/")


def attempt_folder(path: str) -> str:
    """The folder of one of torchrun's attempts that a file is in; empty where it is in none.

    >>> attempt_folder("logs/none_x2/attempt_1/3/stderr.log")
    'logs/none_x2/attempt_1'
    """
    found = _FOLDER.search(path)
    return path[: found.end() - 1] if found else ""


class Attempts:
    """The places where workers are started anew, by file. Agents of several nodes may write into one file."""

    def __init__(self, marks: Iterable[tuple[bool, Mark]] = (), requeues: Iterable[Mark] = ()) -> None:
        self._restarts: dict[int, list[int]] = {}
        self._firsts: dict[int, list[int]] = {}
        self._requeues: dict[int, list[int]] = {}
        for is_first, mark in marks:
            (self._firsts if is_first else self._restarts).setdefault(mark.order, []).append(mark.line)
        for mark in requeues:
            self._requeues.setdefault(mark.order, []).append(mark.line)
        for places in (self._restarts, self._firsts, self._requeues):
            for lines in places.values():
                lines.sort()

    def number(self, mark: Mark) -> tuple[int, int]:
        """The attempt of a line: how often the batch system started the job anew before it in its file; then by its
        folder, else by how many restarts its agent told before it.

        An agent's lines begin with its first; agents that write at the same time all begin before any restart.
        """
        requeues = bisect_left(self._requeues.get(mark.order, ()), mark.line)
        if found := _FOLDER.search(mark.file):
            return requeues, int(found.group(1))
        restarts, firsts = self._restarts.get(mark.order, []), self._firsts.get(mark.order, [])
        begin = firsts[at - 1] if (at := bisect_left(firsts, mark.line)) else 0
        return requeues, bisect_left(restarts, mark.line) - bisect_left(restarts, begin)

    def are_apart(self, one: Mark, other: Mark) -> bool:
        """Whether two lines, each a process's first, are of different attempts; the batch system's are told by file."""
        (requeues, own), (later, others) = self.number(one), self.number(other)
        return own != others or (one.order == other.order and requeues != later)

    def is_earlier(self, one: Mark, other: Mark) -> bool:
        """Whether a line is known to be of an earlier attempt than another one: restarts are counted by file."""
        are_counted_alike = one.order == other.order or (_FOLDER.search(one.file) and _FOLDER.search(other.file))
        return bool(are_counted_alike) and self.number(one) < self.number(other)
