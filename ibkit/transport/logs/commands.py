"""Which of the commands in a job's logs are those of its runs: a log of a terminal or a script holds others, too."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from ibkit.parsers.job_facts import Allocation, Setting


class Commands:
    """Takes what commands ask for, numbers of ranks and lists of hosts, and where anything tells of transports."""

    def __init__(self) -> None:
        self._lines: dict[int, list[int]] = {}
        self._asked: dict[tuple[int, int], list[Setting | Allocation]] = {}
        self._heard: set[tuple[int, int]] = set()

    def begin(self, order: int, line: int) -> None:
        """Here stands a command; those of a file are told in their order."""
        self._lines.setdefault(order, []).append(line)

    def ask(self, fact: Setting | Allocation, order: int) -> None:
        """Take what a command asks for."""
        self._asked.setdefault(self._place(order, fact.said.line), []).append(fact)

    def hear(self, order: int, line: int) -> None:
        """Here something is told of a run's transport."""
        self._heard.add(self._place(order, line))

    def heard(self) -> Iterator[Setting | Allocation]:
        """What those asked for behind which something is told before the next one; in a file that tells nothing else,
        a job's script, all of them.
        """
        telling = {order for order, _ in self._heard}
        for place, facts in self._asked.items():
            if place in self._heard or place[0] not in telling:
                yield from facts

    def _place(self, order: int, line: int) -> tuple[int, int]:
        """The file, and how many commands begin up to this line."""
        return order, bisect_right(self._lines.get(order, ()), line)
