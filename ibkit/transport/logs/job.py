"""A job's files: one log, standard input, a folder of logs, or the job in a capture."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple

from ibkit.errors import UnreadableInput
from ibkit.parsers.base import Problem
from ibkit.parsers.hostfile import Hosts, expand, read_hostfile
from ibkit.sources.base import Source
from ibkit.sources.capture import open_capture
from ibkit.sources.log_streams import (
    HEAD_BYTES,
    MAGIC_BYTES,
    Bytes,
    Joined,
    may_be_text,
    packed_otherwise,
    read_whole,
    unpacked,
)
from ibkit.sources.manifest import MANIFEST
from ibkit.sources.opening import is_capture
from ibkit.sources.site import Host, Site
from ibkit.transport.logs.attempts import attempt_folder

MAX_FILES = 20_000
MAX_DEPTH = 12
#: Reading it takes the messages from whom they are for, and waits for more.
_KERNEL_MESSAGES = "/proc/kmsg"
#: Documents and sources quote log lines that are not this job's.
_NOT_LOGS = re.compile(r"\.(?:md|rst|py|c|cc|cpp|cu|h|hpp|f90|json|html|ya?ml|toml|png|csv)\Z", re.IGNORECASE)
#: Names of host files; what they hold decides: a log may be called nodes.4711.
_HOSTFILE = re.compile(
    r"(?:[\w.-]{0,60}[._-])?(?:hosts?|machines?|nodes?|rank)(?:_?file|_?list|s)?(?:[._-]?\d{1,12})?(?:\.(?:txt|list|lst))?\Z",
    re.IGNORECASE,
)
_MAX_HOSTFILE_BYTES = 8 << 20


class Log(NamedTuple):
    """One stream of lines. ``name`` is how the evidence calls it."""

    name: str
    open: Callable[[], Bytes]


class Job(NamedTuple):
    """What a target holds: ``listed`` are the hosts of its host files, ``hosts`` those of a capture."""

    target: str
    logs: tuple[Log, ...]
    hosts: tuple[Host, ...] = ()
    listed: tuple[Hosts, ...] = ()
    problems: tuple[Problem, ...] = ()


def job_of_site(site: Site) -> Job:
    """The job that a capture holds. Raises UnreadableInput where it holds none."""
    if not site.job:
        raise UnreadableInput(
            f"{site.origin.label}: holds no job; name a log: ibkit --from CAPTURE check-mpi-transport LOG"
        )
    return Job(
        site.origin.label, tuple(Log(file.name, unpacked(file.name, file.open)) for file in site.job), site.hosts
    )


def open_job(target: str) -> Job:
    """A log, a folder, ``-`` for standard input, or a capture. Raises UnreadableInput."""
    if target == "-":
        return Job("-", (Log("-", unpacked("-", _standard_input())),))
    if os.path.isdir(target):
        return _folder(target)
    if target.endswith((".tar", ".tgz", ".tar.gz")) and is_capture(target):
        return job_of_site(open_capture(target))._replace(target=target)
    _refuse(target)
    return Job(target, (Log(target, unpacked(target, partial(_open, target))),))


def open_jobs(targets: Sequence[str]) -> Job:
    """Logs and folders of one job that are named together. Raises UnreadableInput."""
    if len(targets) == 1:
        return open_job(targets[0])
    parts = []
    for target in dict.fromkeys(targets):
        if _HOSTFILE.match(os.path.basename(target)) and os.path.isfile(target) and (found := _hostfile(target)):
            parts.append(Job(target, (), (), (found,)))
        else:
            parts.append(_under_its_name(open_job(target)))
    return Job(
        " ".join(targets),
        tuple(log for part in parts for log in part.logs),
        tuple(host for part in parts for host in part.hosts),
        tuple(hosts for part in parts for hosts in part.listed),
        tuple(problem for part in parts for problem in part.problems),
    )


def _under_its_name(job: Job) -> Job:
    """A folder's files by their paths, as other logs' are."""
    if not os.path.isdir(job.target):
        return job
    logs = tuple(log._replace(name=os.path.join(job.target, log.name)) for log in job.logs)
    problems = tuple(p._replace(source=os.path.join(job.target, p.source or "")) for p in job.problems)
    return job._replace(logs=logs, problems=problems)


def is_program(path: str) -> bool:
    """Whether this is a program that can be run."""
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _open(path: str) -> Bytes:
    """A plain file, or a pipe that the user named (``<(...)``). Raises UnreadableInput."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe that nobody writes is empty
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror}") from error
    file = os.fdopen(descriptor, "rb", buffering=0)
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISFIFO(mode):
        os.set_blocking(descriptor, True)
    elif not stat.S_ISREG(mode):
        file.close()
        raise UnreadableInput(f"{path}: not a plain file")
    return file


def _standard_input() -> Callable[[], Bytes]:
    """Raises UnreadableInput where it is closed, or packed with something that is not read."""
    if sys.stdin is None:  # it may be, whatever its type says
        raise UnreadableInput("-: standard input is closed; pipe the job's output into ibkit, or name its file")
    stdin = sys.stdin.buffer
    head = read_whole(stdin, MAGIC_BYTES)
    if refusal := packed_otherwise(head):
        raise UnreadableInput(f"-: {refusal}")
    return lambda: Joined(head, stdin)


def _refuse(path: str) -> None:
    """Say of a program that it is no log; one that can be run was launched before anybody came here. So of what nobody
    unpacks, and of a file that only waits for something to happen.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror}") from error
    if os.path.realpath(path) == _KERNEL_MESSAGES:
        raise UnreadableInput(f"{path}: the kernel's messages, not a log")
    with closing(_open(path)) as file:
        try:
            head = file.read(MAGIC_BYTES)
        except OSError as error:
            raise UnreadableInput(f"{path}: {error.strerror}") from error
    if head is None:  # it would have to wait
        raise UnreadableInput(f"{path}: not a plain file: it waits for something to be read")
    if refusal := packed_otherwise(head):
        raise UnreadableInput(f"{path}: {refusal}")
    if head.startswith(b"\x7fELF"):
        raise UnreadableInput(f"{path}: a program, not a log; to launch it here: ibkit check-mpi-transport {path}")


def allocated(environment: Mapping[str, str], source: Source) -> tuple[Hosts, ...]:
    """The hosts that the batch system gave to a job that is started here: Slurm's, with its number of tasks, else the
    file that PBS or LSF has written. Empty where none did.
    """
    tasks = environment.get("SLURM_NTASKS", "")
    if tasks.isdecimal() and len(tasks) < 8 and (names := expand(environment.get("SLURM_JOB_NODELIST", ""))):
        return (Hosts(names, int(tasks)),)
    for name in ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE"):
        if (path := environment.get(name)) and (hosts := read_hostfile(source.read(path).text or "")):
            return (hosts,)
    return ()


# -- folders


def _folder(target: str) -> Job:
    if _is_capture_folder(target):
        return job_of_site(open_capture(target))._replace(target=target)
    logs: list[Log] = []
    hosts: list[Host] = []
    listed: list[Hosts] = []
    problems: list[Problem] = []
    copies = _Copies()
    for path in _files(target, problems, hosts, logs):
        name = os.path.relpath(path, target)
        if _HOSTFILE.match(os.path.basename(path)) and (found := _hostfile(path)):
            listed.append(found)
        elif _is_text(path, name, problems) and not copies.has(path):
            logs.append(Log(name, unpacked(name, partial(_open, path))))
    if not logs:
        why = "".join(f"; {problem.source}: {problem.text}" for problem in problems[:1])
        raise UnreadableInput(f"{target}: holds no log{why}")
    return Job(target, tuple(logs), tuple(hosts), tuple(listed), tuple(problems))


def _is_capture_folder(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, MANIFEST))


def _files(top: str, problems: list[Problem], hosts: list[Host], logs: list[Log]) -> Iterator[str]:
    """Plain files below a folder in the order of their names; links are not followed, captures are opened."""
    count = 0

    def unreadable(error: OSError) -> None:
        problems.append(Problem("unreadable", f"{error.strerror}", None, os.path.relpath(error.filename, top)))

    for folder, folders, names in os.walk(top, onerror=unreadable):
        if folder != top and _is_capture_folder(folder):
            folders[:] = []
            site = open_capture(folder)
            hosts += site.hosts
            where = os.path.relpath(folder, top)
            logs += [Log(os.path.join(where, file.name), unpacked(file.name, file.open)) for file in site.job]
            continue
        folders.sort()
        if folders and os.path.relpath(folder, top).count(os.sep) >= MAX_DEPTH:
            text = f"more than {MAX_DEPTH} folders deep; what is below was not looked at"
            problems.append(Problem("many-files", text, None, os.path.relpath(folder, top)))
            folders[:] = []
        for name in sorted(names):
            count += 1
            if count > MAX_FILES:
                problems.append(Problem("many-files", f"more than {MAX_FILES} files; the rest was not looked at"))
                return
            path = os.path.join(folder, name)
            if not os.path.islink(path) and os.path.isfile(path) and not _NOT_LOGS.search(name):
                yield path


def _is_text(path: str, name: str, problems: list[Problem]) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        problems.append(Problem("unreadable", f"{error.strerror}", None, name))
        return False
    if refusal := packed_otherwise(head):
        problems.append(Problem("unreadable", refusal, None, name))
        return False
    return may_be_text(name, head)


class _Copies:
    """Which files have the bytes of one before them (``job.log.bak``): their lines are no second run's.

    Of torchrun's attempts each has its own files, which may be the same traceback.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[int, str], str] = {}
        self._digests: dict[tuple[int, str], set[bytes]] = {}

    def has(self, path: str) -> bool:
        """Whether a file before had the same bytes. They are only looked at where the sizes are equal."""
        try:
            key = os.path.getsize(path), attempt_folder(path)
            first = self._first.setdefault(key, path)
            if first == path:
                return False
            known = self._digests.setdefault(key, {_digest(first)})
            digest = _digest(path)
        except OSError:
            return False
        is_known = digest in known
        known.add(digest)
        return is_known


def _digest(path: str) -> bytes:
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _hostfile(path: str) -> Hosts | None:
    """The hosts of a file that lists nothing else."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_HOSTFILE_BYTES + 1)
    except OSError:
        return None
    return read_hostfile(data.decode("utf-8", "replace")) if len(data) <= _MAX_HOSTFILE_BYTES else None
