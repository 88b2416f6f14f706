"""A job's log as a stream of facts: which lines are looked at, and which readers look at them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from ibkit.parsers import job_settings, nccl, openmpi, other_runtimes, ucx, verbs_messages
from ibkit.parsers.job_facts import Foreign, Launch
from ibkit.parsers.log_lines import Scanner, Stream, to_line

Fact = nccl.NcclFact | openmpi.OpenMpiFact | ucx.UcxFact | Foreign | Launch


class JobLog:
    """Iterate over it once for the facts of one stream, in the order of their lines. Never raises on bad lines."""

    def __init__(self, stream: Stream) -> None:
        self.scanner = Scanner(stream, worth, fact_of)

    def __iter__(self) -> Iterator[Fact]:
        of_openmpi, of_ucx = openmpi.Reader(), ucx.Reader()
        for number, raw in self.scanner:
            line = to_line(number, raw)
            yield from nccl.read(line)
            yield from of_openmpi.read(line)
            yield from of_ucx.read(line)
            yield from verbs_messages.read(line)
            yield from other_runtimes.read(line)
            yield from job_settings.read(line)
        yield from of_openmpi.finish()


_WORTH: tuple[Callable[[bytes], int], ...] = (
    nccl.worth,
    openmpi.worth,
    ucx.worth,
    verbs_messages.worth,
    other_runtimes.worth,
    job_settings.worth,
)


def worth(form: bytes) -> int:
    """The most that any reader thinks of a shape."""
    return max(reader(form) for reader in _WORTH)


def fact_of(line: bytes) -> Hashable:
    """What makes a line of bulk new: only NCCL prints in bulk."""
    return nccl.fact_of(line)
