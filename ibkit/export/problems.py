"""The problems of several hosts, each with the host that it is of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Protocol


class HasProblems(Protocol):
    """What a collector gives of a host."""

    @property
    def host(self) -> str:
        """The host's name."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read there."""


def problems_of(hosts: Sequence[HasProblems]) -> Iterator[Problem]:
    """The problems of all hosts; with several, each one's source begins with its host's name."""
    for host in hosts:
        for problem in host.problems:
            yield problem if len(hosts) == 1 else problem._replace(source=f"{host.host}: {problem.source or ''}")
