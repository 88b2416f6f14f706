"""Which hosts a batch system or a command line gave to a job: variables, ``scontrol show job``, ``qstat -f``, LSF's
report, a launcher's ``-H``, and the hosts behind the number of ranks of MVAPICH2's ``mpirun_rsh``.

Sources: the manuals of sbatch (output environment variables), scontrol, qstat, bsub and bjobs, mpirun and Hydra, the
usage of mpirun_rsh.
Which of several lists counts, and whether the job used all of it, is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.hostfile import Hosts, counted, executed, expand, listed
from ibkit.parsers.job_facts import Allocation, Said
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape
from ibkit.parsers.prompts import command

#: Variables of batch systems. That of a step says more than that of its job.
_FOLDED = ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST")
_VARIABLE = re.compile(
    r"(?:export |declare -x |setenv )?\s{0,4}"
    r"(SLURM_(?:STEP_|JOB_)?NODELIST|LSB_HOSTS|LSB_MCPU_HOSTS)[= ](.{1,65000})\Z"
)
_SCONTROL = re.compile(r"\s{0,8}NodeList=(\S{1,65000})\s*\Z")
_QSTAT = re.compile(r"\s{0,8}exec_host = (\S{1,65000})\s*\Z")
#: qstat breaks longer lines.
_QSTAT_COLUMNS = 78
_REPORT = re.compile(r"Job was executed on host\(s\) <(\S{1,300})>")
_REPORT_GOES_ON = re.compile(r"\s{8,40}<(\d{1,6}\*[\w.-]{1,253})>\s*\Z")
_LAUNCHER = re.compile(
    r"(?:\S{0,1000}/)?(?:mpirun|mpiexec|orterun|prterun|prun|horovodrun|srun)(?:[.\w]{0,30})? (.*)\Z"
)
#: ``mpirun_rsh [options] -np N HOST1 ... HOSTN [NAME=VALUE ...] program``, unless a file has the hosts.
_RSH = re.compile(
    r"(?:\S{0,1000}/)?mpirun_rsh (?!.{0,4000}-(?:hostfile|config|ppn) )"
    r"(?:-\S{1,40} ){0,9}-np? (\d{1,4}) (?:-(?:export(?:-all)?|ssh|rsh|v) ){0,4}([A-Za-z0-9].*)\Z"
)
_HOST = re.compile(r"[A-Za-z0-9][\w.-]{0,252}\Z")
_LISTS = frozenset(("-H", "-host", "--host", "-hosts", "--hosts", "-w", "--nodelist"))

_SHAPES = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b"_NODELIST", b"LSB_HOSTS", b"LSB_MCPU_HOSTS", b" NodeList=", b"exec_host = ", b"was executed on host(s)",
            b"mpirun ", b"mpirun_rsh ", b"mpiexec", b"orterun ", b"prterun ", b"horovodrun ",
            b"srun ",
        )
    )
    # A line of LSF's report that goes on.
    + rb"| {8}<\*"
)  # fmt: skip


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    return CONTEXT if _SHAPES.search(form) else IGNORE


class Reader:
    """Reads the lines of one stream; LSF's report goes on in the lines that follow."""

    def __init__(self) -> None:
        self._hosts: list[str] = []
        self._said: Said | None = None
        self._next = 0

    def read(self, line: Line) -> Iterator[Allocation]:
        """What the line tells. Never raises."""
        said = Said(line.number, line.raw, None, None, line.rank)
        if self._said is not None:
            if line.number == self._next and (found := _REPORT_GOES_ON.match(line.text)):
                self._take(found.group(1), line.number)
                return
            yield from self.finish()
        started = command(line.text.strip())
        if found := _VARIABLE.match(line.text):
            yield from _variable(found.group(1), found.group(2), said)
        elif found := _SCONTROL.match(line.text):
            yield from _told(said, "scontrol", _folded(found.group(1)))
        elif (found := _QSTAT.match(line.text)) and len(line.text) < _QSTAT_COLUMNS:
            yield from _told(said, "qstat", executed(found.group(1)))
        elif found := _REPORT.search(line.text):
            self._said = said
            self._take(found.group(1), line.number)
        elif (found := _RSH.match(started)) and (hosts := _counted_hosts(*found.groups())):
            yield from _told(said, "command", hosts)
        elif found := _LAUNCHER.match(started):
            yield from _command(found.group(1).split(), said)

    def finish(self) -> Iterator[Allocation]:
        """What the last lines told."""
        if self._said is not None:
            yield from _told(self._said, "bjobs", listed(self._hosts))
        self._said, self._hosts = None, []

    def _take(self, entry: str, number: int) -> None:
        count, star, name = entry.partition("*")
        self._hosts.append(f"{name}:{count}" if star else entry)
        self._next = number + 1


def _variable(name: str, value: str, said: Said) -> Iterator[Allocation]:
    value = value.strip().strip("\"';")
    if name in _FOLDED:
        yield from _told(said, name, _folded(value))
    elif name == "LSB_HOSTS":
        yield from _told(said, name, listed(value.split()))
    else:
        yield from _told(said, name, counted(value.split()))


def _command(words: list[str], said: Said) -> Iterator[Allocation]:
    """The hosts that a command line names, if it names them once: ``-host`` of Hydra is said for each program."""
    found = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in _LISTS:
            found.append(value if equals else words[at + 1] if at + 1 < len(words) else "")
    if len(found) == 1:
        value = found[0].strip("\"'")
        yield from _told(said, "command", _folded(value) if "[" in value else listed(value.split(",")))


def _counted_hosts(count: str, text: str) -> Hosts | None:
    """A host for each rank, in front of the program.

    >>> _counted_hosts("2", "n01 n02 MV2_USE_CUDA=1 ./a.out").names
    ('n01', 'n02')
    """
    words = text.split()
    names = words[: int(count)]
    is_list = len(words) > len(names) and all(map(_HOST.match, names))
    return listed(names) if is_list else None


def _folded(value: str) -> Hosts | None:
    names = expand(value)
    return Hosts(names) if names else None


def _told(said: Said, source: str, hosts: Hosts | None) -> Iterator[Allocation]:
    if hosts is not None:
        yield Allocation(said, source, hosts.names, hosts.slots)
