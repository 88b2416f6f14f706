"""What /proc tells of the processes that use RDMA.

/proc is read by the source, file by file, so that a capture replays it. psutil would read the same files where nothing
records them, and it leaves device nodes out of a process's open files.
Formats: proc(5), cgroups(7), namespaces(7), pid_namespaces(7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ibkit.display import first_few
from ibkit.model.consumers import PROCESS, Owner
from ibkit.parsers.base import Problem
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple
from ibkit.sources.base import NOT_RECORDED, Source

PROC = "/proc"
NODES = "/dev/infiniband"

_STATUS = re.compile(r"^(Name|Tgid|Uid|NSpid|VmLck|VmPin):[ \t]+(.*)$", re.MULTILINE)
_MEMLOCK = re.compile(r"^Max locked memory +(unlimited|[0-9]{1,20}) ", re.MULTILINE)
#: The ids that container runtimes put into the cgroup's path, and Kubernetes' and Apptainer's own words.
_CONTAINER = re.compile(
    r"(docker|cri-containerd|crio|libpod|containerd|apptainer|singularity|lxc|podman)[-/:]([0-9a-zA-Z_.-]{1,80}?)"
    r"(?:\.scope)?(?:/|\Z)"
)
_POD_CONTAINER = re.compile(r"kubepods[^\n]{0,300}/([0-9a-f]{64})(?:/|\Z)")
_NAMESPACE = re.compile(r"([a-z]{2,20}):\[([0-9]{1,19})\]\Z")
#: Why a file of another user's process is not shown.
_FORBIDDEN = ("EACCES", "EPERM")


class Seen(NamedTuple):
    """The process of a pid: itself or the one whose thread it is. None where /proc does not show it."""

    pid: int
    status: dict[str, str]


class ProcessTable:
    """Looks each process up once."""

    def __init__(self, source: Source) -> None:
        self.problems: list[Problem] = []
        self._source = source
        self._seen: dict[int, Seen | None] = {}
        self._readers: dict[str, int] | None = None
        self._forbidden: dict[str, list[int]] = {}

    def process_of(self, pid: int) -> Seen | None:
        """The process that ``pid``, which may be a thread's id, belongs to."""
        if pid not in self._seen:
            self._seen[pid] = self._look_up(pid)
        return self._seen[pid]

    def describe(self, seen: Seen, threads: tuple[int, ...], nodes: tuple[str, ...] | None) -> Owner:
        """All that can be seen of a process. ``nodes`` are its open device nodes."""
        status = seen.status
        cgroup = _cgroup(self._text(seen.pid, "cgroup"))
        inner = status.get("NSpid", "").split()
        limits = _MEMLOCK.search(self._text(seen.pid, "limits") or "")
        maps = self._text(seen.pid, "maps")
        namespaces = self._namespaces(seen.pid)
        return Owner(
            PROCESS,
            seen.pid,
            status.get("Name"),
            threads=threads,
            confirmed=True,
            uid=_number(status.get("Uid", "").split()[:1]),
            inner_pid=_number(inner[-1:]) if len(inner) > 1 else None,
            cgroup=cgroup,
            container=_container(cgroup or ""),
            memlock=None if not limits else limits[1] if limits[1] == "unlimited" else int(limits[1]),
            locked_bytes=_kilobytes(status.get("VmLck")),
            pinned_bytes=_kilobytes(status.get("VmPin")),
            nodes=nodes,
            libraries=None if maps is None else mapped_libraries(maps),
            environment=_environment(self._text(seen.pid, "environ")),
            namespaces=None if namespaces is None else tuple(namespaces.items()),
            own_namespaces=self._own(namespaces),
        )

    def open_nodes(self) -> dict[int, tuple[str, ...] | None]:
        """The device nodes below /dev/infiniband that each process has open; None where it may not be looked at."""
        if not self._source.list(NODES).names:
            return {}
        found: dict[int, tuple[str, ...] | None] = {}
        for name in self._source.list(PROC).names:
            if not (name.isascii() and name.isdigit()):
                continue
            answer = self._source.list(f"{PROC}/{name}/fd")
            targets = sorted({entry.target for entry in answer.entries or () if entry.target})
            if targets:
                found[int(name)] = tuple(targets)
            elif answer.error in _FORBIDDEN:
                found[int(name)] = None
                self._forbidden.setdefault("open files", []).append(int(name))
        return found

    def all_problems(self) -> list[Problem]:
        """What could not be looked at, one problem per kind of file."""
        hidden = [
            Problem("not-permitted", f"{what} of {_few(pids)}: only their user and root may look", None, f"{PROC}/PID")
            for what, pids in self._forbidden.items()
        ]
        return [*self.problems, *hidden]

    def _look_up(self, pid: int) -> Seen | None:
        path = f"{PROC}/{pid}/status"
        answer = self._source.read(path)
        status: dict[str, str] = dict(_STATUS.findall(answer.text or ""))
        process = _number([status.get("Tgid", "")])
        if process is None:
            if answer.error == "ENOENT":
                text = f"process {pid} is not shown: it has ended, or /proc hides other users' processes (hidepid)"
                self.problems.append(Problem("process-hidden", text, None, path))
            elif answer.error != NOT_RECORDED:
                self.problems.append(Problem("unreadable-file", f"{path}: {answer.error or 'no Tgid'}", None, path))
            return None
        if process != pid:  # a thread: what counts is the process's own name and numbers
            main = self.process_of(process)
            return main or Seen(process, status)
        return Seen(process, status)

    def _namespaces(self, pid: int | str) -> dict[str, int] | None:
        """Kind and number of each; None where only the process's user and root may look."""
        answer = self._source.list(f"{PROC}/{pid}/ns")
        found = {}
        for entry in answer.entries or ():
            # The two that end so are those of children that are yet to come.
            if (link := _NAMESPACE.match(entry.target or "")) and not entry.name.endswith("_for_children"):
                found[link[1]] = int(link[2])
        # Other users may not list them; root without its capabilities may, and not read the links.
        if (answer.error in _FORBIDDEN or answer.entries) and not found and isinstance(pid, int):
            self._forbidden.setdefault("namespaces", []).append(pid)
        return found or None

    def _own(self, namespaces: dict[str, int] | None) -> tuple[str, ...] | None:
        """The kinds in which a process is not where the reader is."""
        if self._readers is None:
            self._readers = self._namespaces("self") or {}
        if not namespaces or not self._readers:
            return None
        return tuple(kind for kind, number in namespaces.items() if self._readers.get(kind, number) != number)

    def _text(self, pid: int, name: str) -> str | None:
        answer = self._source.read(f"{PROC}/{pid}/{name}")
        if answer.error in _FORBIDDEN:
            self._forbidden.setdefault(name, []).append(pid)
        return answer.text


def mapped_libraries(maps: str) -> tuple[str, ...]:
    """The libraries of a reduced memory map, in which segments stand behind their device and inode."""
    return tuple(line for line in maps.split("\n") if line.startswith("/"))


def _environment(text: str | None) -> tuple[tuple[str, str], ...] | None:
    if text is None:
        return None
    entries = (entry.partition("=") for entry in text.split("\0"))
    return tuple((name, value) for name, mark, value in entries if mark and name != "HOME")


def _cgroup(text: str | None) -> str | None:
    """The path in the unified hierarchy, else the longest one: it says most."""
    paths = [line.split(":", 2) for line in (text or "").splitlines() if line.count(":") >= 2]
    unified = [path for number, _, path in paths if number == "0" and path != "/"]
    return max(unified or [path for _, _, path in paths], key=len, default=None)


def _container(cgroup: str) -> str | None:
    if found := _CONTAINER.search(cgroup):
        return f"{found[1]} {found[2]}"
    found = _POD_CONTAINER.search(cgroup)
    return f"kubernetes {found[1]}" if found else None


def _kilobytes(text: str | None) -> int | None:
    value = _number((text or "").split()[:1])
    return None if value is None else value << 10


def _number(words: Iterable[str] | Any) -> int | None:
    for word in words:
        if word.isascii() and word.isdigit() and len(word) < 20:
            return int(word)
    return None


def _few(pids: list[int]) -> str:
    return f"process{'es' if len(pids) > 1 else ''} {first_few(map(str, pids))}"
