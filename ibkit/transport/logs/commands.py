"""Which of the commands in a job's logs are those of its runs: a log of a terminal or a script holds others, too."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping

from ibkit.parsers.job_facts import Allocation, Setting

#: What more commands ask for is not known.
_MAX_COMMANDS = 1000
#: So many commands that set different things are tried.
_MAX_CHOICES = 8


def is_commands(fact: Setting | Allocation) -> bool:
    """Whether it stands on a command line."""
    return (fact.source if isinstance(fact, Allocation) else fact.scope) == "command"


def _asked(fact: Setting | Allocation) -> tuple[object, ...]:
    """What it asks for, wherever it stands."""
    return (fact.runtime, fact.name, fact.value) if isinstance(fact, Setting) else fact[1:]


class Commands:
    """Takes what commands set and ask for, and where anything tells of transports."""

    def __init__(self) -> None:
        self._lines: dict[int, list[int]] = {}
        self._asked: dict[tuple[int, int], list[Setting | Allocation]] = {}
        #: By file and what is asked for, by which of its commands.
        self._askers: dict[tuple[int, tuple[object, ...]], set[int]] = {}
        self._heard: set[tuple[int, int]] = set()
        self._telling: set[int] = set()
        self._built: set[int] = set()

    def begin(self, order: int, line: int) -> None:
        """Here stands a command; those of a file are told in their order."""
        self._lines.setdefault(order, []).append(line)

    def ask(self, fact: Setting | Allocation, order: int) -> None:
        """Take what a command sets or asks for."""
        place = self._place(order, fact.said.line)
        if place not in self._asked and len(self._asked) == _MAX_COMMANDS:
            return
        self._asked.setdefault(place, []).append(fact)
        self._askers.setdefault((order, _asked(fact)), set()).add(place[1])

    def hear(self, order: int, line: int) -> None:
        """Here something is told of a run's transport."""
        self._heard.add(self._place(order, line))
        self._telling.add(order)

    def hear_build(self, order: int) -> None:
        """Here a build of an MPI is told, which any of the file's commands uses."""
        self._built.add(order)

    def sizes(self) -> Iterator[Setting | Allocation]:
        """Numbers of ranks and lists of hosts of the commands that may be a run's: those behind which something is told
        before the next one. In a job's script, which tells nothing, it is what all of its commands ask for.
        """
        for place, facts in self._asked.items():
            for fact in facts:
                if (isinstance(fact, Allocation) or fact.runtime == "job") and self._may_be_runs(fact, place):
                    yield fact

    def choices(self) -> list[dict[int, int]]:
        """For each script the number of one command, for each that sets something else; empty where all of a script's
        commands set the same.
        """
        by_file = []
        for order, lines in self._lines.items():
            if order not in self._telling:
                unlike: dict[frozenset[object], int] = {}
                for number in range(1, len(lines) + 1):
                    asked = self._asked.get((order, number), ())
                    sets = frozenset(_asked(one) for one in asked if isinstance(one, Setting) and one.runtime != "job")
                    unlike.setdefault(sets, number)
                if len(unlike) > 1:
                    by_file.append([(order, number) for number in unlike.values()][:_MAX_CHOICES])
        count = max(map(len, by_file), default=0)
        return [dict(numbers[turn % len(numbers)] for numbers in by_file) for turn in range(count)]

    def is_of(self, choice: Mapping[int, int], order: int, line: int) -> bool:
        """Whether a line is of the command that was chosen of its file, if any was."""
        return choice.get(order, (place := self._place(order, line))[1]) == place[1]

    def _may_be_runs(self, fact: Setting | Allocation, place: tuple[int, int]) -> bool:
        order, _ = place
        if order in self._telling:
            return place in self._heard
        count = len(self._lines.get(order, ()))
        return order in self._built or count == 0 or len(self._askers[order, _asked(fact)]) == count

    def _place(self, order: int, line: int) -> tuple[int, int]:
        """The file, and how many commands begin up to this line."""
        return order, bisect_right(self._lines.get(order, ()), line)
