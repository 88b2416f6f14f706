"""Which run of a log a setting belongs to.

A process's own word is its run's. A command's variables and options are those of the run that it starts: of no run
where the log tells nothing behind it before the next command. A shell's statement holds for all runs behind it, and so
does what somebody printed between two runs, until an environment is printed again; within a run's lines it is that
run's. A batch system's report is of the runs above it, or below. A file in which no run has lines, a script or a
parameter file, holds for all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from ibkit.parsers.job_facts import Setting
from ibkit.transport.evidence import Mark
from ibkit.transport.logs.attempts import Attempts
from ibkit.transport.logs.versions import Lines

One = tuple[Setting, Mark]


def settings_of_runs(
    settings: Sequence[One],
    runs: Sequence[Lines],
    launches: Iterable[Mark],
    attempts: Attempts,
    speaker: Callable[[Setting, Mark], int | None],
) -> list[list[One]]:
    """The settings of each run, in their order; ``speaker`` is the run of a setting's process, None where no process
    said it.
    """
    commands: dict[int, list[Mark]] = {}
    for mark in launches:
        commands.setdefault(mark.order, []).append(mark)
    numbers = [speaker(setting, mark) for setting, mark in settings]
    unsaid: dict[int, list[One]] = {}
    for one, number in zip(settings, numbers, strict=True):
        if number is None:
            unsaid.setdefault(one[1].order, []).append(one)
    files = {order: _File(order, own, runs, commands.get(order, []), attempts) for order, own in unsaid.items()}
    found: list[list[One]] = [[] for _ in runs]
    for one, number in zip(settings, numbers, strict=True):
        for run in files[one[1].order].runs_of(*one) if number is None else (number,):
            found[run].append(one)
    return found


class _Run(NamedTuple):
    first: Mark
    last: Mark
    number: int


class _File:
    """The runs that have lines in one file, and the commands between them."""

    def __init__(
        self,
        order: int,
        settings: Sequence[One],
        runs: Sequence[Lines],
        launches: Sequence[Mark],
        attempts: Attempts,
    ) -> None:
        here = [_Run(*lines[order], number) for number, lines in enumerate(runs) if order in lines]
        self._runs = sorted(here, key=lambda run: run.first.line)
        self._starts = [run.first.line for run in self._runs]
        self._ends = list(accumulate((run.last.line for run in self._runs), max))
        self._every = range(len(runs))
        self._attempts = attempts
        self._launches = {mark.line for mark in launches}
        own = {_start(setting, mark) for setting, mark in settings if setting.scope == "command"}
        #: Where commands begin.
        self._commands = sorted(self._launches | own)
        #: Behind how many runs' starts an environment was printed between runs.
        self._printed = sorted(
            {
                bisect_right(self._starts, mark.line)
                for setting, mark in settings
                if setting.scope == "printed" and self._around(mark) is None
            }
        )

    def _around(self, mark: Mark) -> int | None:
        """The place of the run within whose lines a line stands, of several the one that began last."""
        at = bisect_right(self._starts, mark.line) - 1
        while at >= 0 and self._ends[at] >= mark.line:
            if self._runs[at].last.line >= mark.line:
                return at
            at -= 1
        return None

    def runs_of(self, setting: Setting, mark: Mark) -> Iterable[int]:
        """The numbers of the runs that a setting which no process said is of."""
        if not self._runs or setting.scope == "parameters":
            return self._every
        places: Iterable[int]
        around = self._around(mark)
        behind = bisect_right(self._starts, mark.line)
        if setting.scope == "command":
            places = list(self._started(_start(setting, mark), behind)) or ([] if around is None else [around])
        elif setting.scope == "report":
            above = [place for place, run in enumerate(self._runs) if run.last.line < mark.line]
            below = range(behind, len(self._runs))
            places = above or below if not (above and below) else ()  # of several jobs' reports nobody knows whose
        elif setting.scope == "shell":
            places = [*([] if around is None else [around]), *range(behind, len(self._runs))]
        elif around is not None:
            places = [around]
        elif behind == len(self._runs):
            places = self._ended_before(mark)
        else:
            again = self._printed[bisect_right(self._printed, behind) :]
            places = range(behind, min([len(self._runs), *again]))
        return [self._runs[place].number for place in places]

    def _started(self, start: int, behind: int) -> Iterator[int]:
        """The places of the runs that the command on a line starts: those up to the next command. Of a program that is
        no launcher not all commands are known: its first run and that one's later attempts.
        """
        at = bisect_right(self._commands, start)
        end = self._commands[at] if at < len(self._commands) else 1 << 62
        for place in range(behind, bisect_right(self._starts, end)):
            before = self._runs[place - 1].first if place > behind else None
            if before and start not in self._launches and not self._attempts.are_apart(before, self._runs[place].first):
                return
            yield place

    def _ended_before(self, mark: Mark) -> list[int]:
        """The place of the last run before a line, if no command stands between."""
        last = max(range(len(self._runs)), key=lambda place: self._runs[place].last.line)
        line = self._runs[last].last.line
        at = bisect_right(self._commands, line)
        return [] if at < len(self._commands) and self._commands[at] < mark.line else [last]


def _start(setting: Setting, mark: Mark) -> int:
    """The line on which the command of a setting begins."""
    return setting.start or mark.line
