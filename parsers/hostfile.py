"""Lists of hosts as batch systems and launchers write them: Slurm's folded names, host files, machine files.

- Slurm folds ``n01,n02,n03,gpu7`` to ``n[01-03],gpu7`` (slurm's src/common/hostlist.c; ``scontrol show hostnames``).
- Open MPI's host file: ``n01 slots=4 max_slots=8``; its rank file: ``rank 3=n01 slot=0``. Hydra and Intel MPI:
  ``n01:4`` and options behind it. MPIJob (/etc/mpi/hostfile), DeepSpeed and Horovod use Open MPI's form.
- PBS ($PBS_NODEFILE) and LSF ($LSB_DJOB_HOSTFILE) write a line for each slot; LSF's LSB_MCPU_HOSTS is ``n01 4 n02 4``.
- PBS's exec_host is ``n01/0*4+n02/0*4``, LSF's report says ``<4*n01>``.

A list is how many ranks could run where. How many do is another matter: see ``Hosts.used``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ibkit.parsers.records import NamedTuple

#: More are not listed: no cluster has as many, and a hostile range costs nothing.
MAX_HOSTS = 200_000
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,252}\Z")
_SLOTS = re.compile(r"\bslots?\s{0,4}=\s{0,4}(\d{1,7})\b")
_RANK = re.compile(r"rank\s{1,8}\d{1,8}\s{0,8}=\s{0,8}(\S{1,253})")
_ENTRY = re.compile(
    r"(?:[\w.-]{1,64}@)?(?P<name>[A-Za-z0-9][\w.-]{0,252})(?::(?P<slots>\d{1,7}))?(?::[\w,:-]{0,80})?\Z"
)
#: What may stand behind a name in a host or machine file; anything else is prose.
_OPTION = re.compile(r"(?:max[_-]slots|slots?|cpus?|count|binding|ifhn|user|port|netmask|ssh_port|map)\s{0,4}=|#")


class Hosts(NamedTuple):
    """The hosts of a list, in its order, each once; ``slots`` is how many ranks it has room for, None if not told."""

    names: tuple[str, ...]
    slots: int | None = None

    def used(self, ranks: int | None) -> int | None:
        """How many of the hosts a job of so many ranks uses; None where that depends on how they are mapped.

        Launchers fill a host before they take the next one, unless they are told otherwise: ranks that are fewer than
        the slots may leave hosts without any.
        """
        if ranks is None or len(self.names) < 2 or ranks >= (self.slots or len(self.names)):
            return len(self.names)
        return None


def expand(folded: str) -> tuple[str, ...]:
    """The names of a folded list, empty where it is none.

    >>> expand("n[01-03,20],gpu7"), expand("r[1-2]n[0-1]")
    (('n01', 'n02', 'n03', 'n20', 'gpu7'), ('r1n0', 'r1n1', 'r2n0', 'r2n1'))
    """
    names: dict[str, None] = {}
    for part in _split(folded.strip()):
        for name in _names(part):
            if len(names) >= MAX_HOSTS or not _NAME.match(name):
                return ()
            names[name] = None
    return tuple(names)


def _split(folded: str) -> Iterator[str]:
    """At the commas outside of brackets."""
    start = depth = 0
    for at, char in enumerate(folded):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif char == "," and depth == 0:
            yield folded[start:at]
            start = at + 1
    yield folded[start:]


def _names(part: str) -> Iterator[str]:
    head, opened, rest = part.partition("[")
    if not opened:
        yield head
        return
    inside, closed, tail = rest.partition("]")
    if not closed:
        yield ""  # cut: no name at all
        return
    for number in _numbers(inside):
        for end in _names(tail):
            yield head + number + end


def _numbers(ranges: str) -> Iterator[str]:
    for piece in ranges.split(","):
        first, dash, last = piece.partition("-")
        if not first.isdecimal() or len(first) > 9 or (dash and (not last.isdecimal() or len(last) > 9)):
            yield "["
            return
        low, high = int(first), int(last or first)
        if high - low >= MAX_HOSTS or high < low:
            yield "["
            return
        for number in range(low, high + 1):
            yield str(number).zfill(len(first))


def listed(names: Iterable[str]) -> Hosts | None:
    """A list with a name for each slot, or ``n01:4`` for four: None where something of it is no name."""
    slots: dict[str, int] = {}
    has_counts = False
    for name in names:
        found = _ENTRY.match(name)
        if not found or len(slots) >= MAX_HOSTS:
            return None
        has_counts |= found["slots"] is not None
        slots[found["name"]] = slots.get(found["name"], 0) + int(found["slots"] or 1)
    if not slots:
        return None
    total = sum(slots.values())
    return Hosts(tuple(slots), total if has_counts or total > len(slots) else None)


def counted(words: Iterable[str]) -> Hosts | None:
    """LSF's ``n01 4 n02 4``."""
    pairs = list(words)
    if len(pairs) % 2 or not all(count.isdecimal() and len(count) < 8 for count in pairs[1::2]):
        return None
    return listed(f"{name}:{count}" for name, count in zip(pairs[::2], pairs[1::2], strict=True))


def executed(exec_host: str) -> Hosts | None:
    """PBS's ``n01/0*4+n02/0*4``; older ones have ``n01/1+n01/0``, one for each slot."""
    names = []
    for part in exec_host.strip().split("+"):
        name, _, place = part.partition("/")
        count = place.partition("*")[2]
        names.append(f"{name}:{count}" if count.isdecimal() else name)
    return listed(names)


def read_hostfile(text: str) -> Hosts | None:
    """The hosts of a host, machine, node or rank file; None where a line is none of one."""
    names = []
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if found := _RANK.match(line):
            names.append(found.group(1))
            continue
        name, *rest = line.split(None, 1)
        if rest and not _OPTION.match(rest[0]):
            return None
        slots = _SLOTS.search(rest[0].partition("#")[0]) if rest else None
        names.append(f"{name}:{slots.group(1)}" if slots and ":" not in name else name)
    return listed(names)
