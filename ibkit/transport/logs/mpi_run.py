"""An MPI run's verdict, and what it stands on. Its status and its reasons are in ``mpi_reasons``.

What decides, strongest first: paths whose both ends are named; then what all ranks that spoke say of other hosts, if
they agree. Help messages, settings and candidates never decide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ibkit.display import and_more, clean
from ibkit.model.mpi import Layer, Pair
from ibkit.parsers.base import Problem
from ibkit.parsers.job_ends import HYDRA
from ibkit.transport import words
from ibkit.transport.evidence import Book, Mark
from ibkit.transport.host_names import Hosts
from ibkit.transport.logs import mpich_steps, openmpi_steps
from ibkit.transport.logs.mpi import Evidence, MpiProcess
from ibkit.transport.logs.mpi_paths import Path, Paths, has_mxm
from ibkit.transport.logs.mpi_reasons import Reasons
from ibkit.transport.logs.mpi_runs import Parts
from ibkit.transport.logs.several_mpis import is_openmpi
from ibkit.transport.logs.sizes import Known
from ibkit.transport.logs.versions import Versions
from ibkit.transport.reasons import reasons

_STEPS = {
    "UCX": "run again with UCX_LOG_LEVEL=info (UCX 1.7 or later) for all ranks",
    "MPICH": mpich_steps.transport_step(None),
    "Cray MPICH": "run again with MPICH_OFI_VERBOSE=1",
    "Intel MPI": "run again with I_MPI_DEBUG=3, and with UCX_LOG_LEVEL=info where the provider is mlx",
    "MVAPICH": "run again with MV2_SHOW_ENV_INFO=2; MVAPICH 3 and later: UCX_LOG_LEVEL=info",
    HYDRA: "run again with I_MPI_DEBUG=5 (Intel MPI), MPIR_CVAR_DEBUG_SUMMARY=1 (MPICH 4.0 or later), or "
    "MV2_SHOW_ENV_INFO=2 (MVAPICH2), and with UCX_LOG_LEVEL=info",
    "libfabric": "run again with FI_LOG_LEVEL=info and the MPI's own debug level",
    "Horovod": "run again with HOROVOD_LOG_LEVEL=debug and NCCL_DEBUG=INFO",
    "Gloo": "Gloo prints no transport: look at GLOO_SOCKET_IFNAME and GLOO_DEVICE_TRANSPORT of the job",
}

_Answer = tuple[str, tuple[Pair, ...]]


def next_step(runtime: str | None, version: str | None = None) -> str:
    """What to add to the next run so that this runtime says its transport."""
    return _STEPS.get(runtime or "") or openmpi_steps.transport_step(version if runtime == "Open MPI" else None)


class Run:
    """One run of an MPI job."""

    def __init__(
        self, evidence: Evidence, parts: Parts, known: Known, job: int = 1, versions: Versions | None = None
    ) -> None:
        self._evidence = evidence
        self._versions = versions or {}
        self._parts = parts
        self._known = known
        self._job = job
        names = list(self._host_names())
        spelled = Hosts(names)
        self._paths = Paths(evidence, parts, spelled)
        self._hosts = tuple(spelled.all(names))
        self._reasons = Reasons(evidence, parts, self._is_one_host, self._word_of)
        self.problems: list[Problem] = []

    def _host_names(self) -> Iterator[str]:
        processes, tables, failures, _ = self._parts
        yield from (process.host for process in processes if process.host)
        yield from (use.node for p in processes for uses in p.btls.values() for use in uses if use.node)
        yield from (host.name for table, _, _ in tables for host in table.hosts)
        yield from (failure.host for failure, _ in failures if failure.host)
        yield from (failure.detail for failure, _ in failures if failure.topic == "broken" and failure.detail)

    def _ranks(self) -> int | None:
        """How many ranks the run is known to have; at least those that spoke or were named."""
        processes = self._parts.processes
        named = sum(1 for process in processes if process.pid is not None)
        counts = [self._known.ranks or 0, named, self._ranks_in_tables()]
        highest: dict[int, int] = {}
        for job, peer in (key for process in processes for key in process.btls):
            highest[job] = max(peer, highest.get(job, 0))
        counts.append(sum(peer + 1 for peer in highest.values()))
        counts += [process.rank + 1 for process in processes if process.rank is not None]
        return max(counts) or None

    def _ranks_in_tables(self) -> int:
        return max((sum(len(host.ranks) for host in table.hosts) for table, _, _ in self._parts.tables), default=0)

    def _is_one_host(self) -> bool:
        """Whether the run is on one host, as far as anything tells. A rank that said nothing could be elsewhere."""
        if len(self._hosts) > 1:
            return False
        if not self._hosts or self._known.hosts == 1:
            return self._known.hosts == 1
        if self._known.hosts is not None and self._known.ranks is None and not self._parts.tables:
            return False  # hosts were given to the job that nobody speaks of
        processes = self._parts.processes
        spoke = max(len(processes), self._ranks_in_tables())
        if self._known.ranks is not None:
            uses = ((peer, use) for p in processes for peer, found in p.btls.items() for use in found)
            spoke = max(spoke, len({peer for peer, use in uses if use.node}))
        elif len(processes) == 1 and any(path.b is not None for path in self._paths.endpoint_paths()):
            return False  # it has a peer that is not heard: the log is one rank's, or was read while the job began
        return spoke >= (self._ranks() or 0)

    # -- the answer

    def layer(self, book: Book) -> Layer:
        """The run's layer."""
        runtime, version = self._runtime()
        verdict, pairs = self._verdict(book)
        if against := self._paths.broken_against(verdict):
            self._cite(against, book)
            verdict = "mixed"  # both were used, or these are two runs that nothing tells apart
        if verdict == "shm" and any(process.is_cut for process in self._parts.processes):
            verdict = "unknown"  # what is cut may have named another host
        if verdict in words.RDMA and self._lacks_buffers():
            verdict, pairs = "unknown", ()
        fatal = [(f.topic, mark) for f, mark in self._parts.failures if f.is_fatal and self._is_end(mark)]
        own = [topic for topic, mark in fatal if not (topic == "not-started" and self._has_spoken_before(mark))]
        has_ended = any(topic != "died" for topic in own)
        if any(topic in _AT_START for topic in own) or (has_ended and verdict in ("unknown", "shm")):
            verdict, pairs = "none", ()
        for _, mark in fatal[:2]:
            book.cite(mark, "failure")
        status, why = self._reasons.status(verdict, version, has_ended)
        if fatal:
            status = "aborted"
        step = self._next_step(runtime, version) if verdict == "unknown" else self._mend(status, why, book)
        links = self._paths.ports if verdict == "rdma" else {}
        return Layer(
            "mpi", verdict, status, self._job, runtime, version, self._hosts, self._ranks(), pairs,
            reasons(why, book), step or _link_step(links),
            link_layers=tuple(sorted({word for word in links.values() if word})), evidence=book.cited(),
        )  # fmt: skip

    def _next_step(self, runtime: str | None, version: str | None) -> str:
        """What to add to the next run: for the modules that are named, or the pml that all chose, where that is all
        that they say.
        """
        processes = self._parts.processes
        step = openmpi_steps.module_step(self._modules())
        chosen = {process.pml[0] for process in processes if process.pml}
        if len(chosen) == 1 and not any(p.btls or p.endpoints or p.mtl for p in processes):
            step = step or openmpi_steps.pml_step(chosen.pop())
        return step or next_step(runtime, version)

    def _mend(self, status: str, why: Collection[str], book: Book) -> str | None:
        """Where the catalogue has no reason and Open MPI says in a message of its own why something was not used."""
        told = next(((f.topic, mark) for f, mark in self._parts.failures if f.topic in openmpi_steps.MENDS), None)
        if told is None or why or status not in ("fallback", "mixed"):
            return None
        book.cite(told[1], "failure")
        return openmpi_steps.MENDS[told[0]]

    def _modules(self) -> set[str]:
        """The modules that carry, as far as lines name them: btls to other processes, the mtl, those in tables."""
        processes, tables, _, _ = self._parts
        found = {use.btl for p in processes for uses in p.btls.values() for use in uses if use.better is None}
        found |= {p.mtl[0] for p in processes if p.mtl and p.pml and p.pml[0] == "cm"}
        for table, _, _ in tables:
            found.update(methods[0] for row in table.rows for methods in row.methods if methods)
            found.update(table.off_host)
        return found

    def _lacks_buffers(self) -> bool:
        """Whether UCX had no memory to send or receive with on what it had chosen: it tries for ever, and may have had
        some before.
        """
        for failure, mark in self._parts.failures:
            if failure.topic == "no-buffers":
                speaker = self._evidence.by_key.get((failure.said.host, failure.said.pid))
                chosen = speaker.every_endpoint if speaker else ()
                if any(endpoint.mark.is_before(mark) for endpoint in chosen):
                    return True
        return False

    def _is_end(self, mark: Mark) -> bool:
        """Whether a failure is this run's: not if all its processes spoke for the first time after it."""
        processes = self._parts.processes
        return not processes or not all(mark.is_before(process.first) for process in processes)

    def _has_spoken_before(self, mark: Mark) -> bool:
        """Whether a process said something before a line: where that tells of a job that was not started, of a later
        one.
        """
        return any(process.first.is_before(mark) for process in self._parts.processes)

    def _runtime(self) -> tuple[str | None, str | None]:
        versions = self._versions
        foreign = self._evidence.foreign
        if "Open MPI" in versions or self._is_openmpis():
            return "Open MPI", versions.get("Open MPI")
        if any(failure.runtime == "mvapich2" for failure, _ in self._parts.failures):
            return "MVAPICH2", versions.get("MVAPICH2")
        if any(failure.topic == "no-fabric" for failure, _ in self._parts.failures):
            return "Intel MPI", versions.get("Intel MPI")
        for name in (*foreign, "MPICH", "MVAPICH"):
            if name in versions or name in foreign:
                return name, versions.get(name)
        is_ucx = "UCX" in versions or any(p.endpoints for p in self._parts.processes)
        is_ucx |= any(failure.runtime == "ucx" for failure, _ in self._parts.failures)
        if is_ucx and self._reasons.is_barred_from_ucx():
            return "Open MPI", None
        return ("UCX" if is_ucx else None), versions.get("UCX")

    def _is_openmpis(self) -> bool:
        """Whether it is Open MPI's: also where its processes tell no more than which modules they have."""
        return (
            is_openmpi(self._parts)
            or any(process.components for process in self._parts.processes)
            or any(failure.runtime == "ompi" for failure, _ in self._parts.failures)
        )

    def _verdict(self, book: Book) -> _Answer:
        named, said = self._paths.named(), self._paths.selected()
        for methods, cells in self._paths.folded.items():
            text = f"{cells // 2} more pairs of hosts are as most are, {', '.join(methods)}, and are not listed"
            self.problems.append(Problem("many-pairs", text))
        if said:
            # A name such as ucx or ofi is no transport: what these say of themselves is.
            named = [path for path in named if path.word != "unknown"]
        if any(path.word != "shm" or path.a != path.b for path in named):
            between = [path for path in named if path.a != path.b] or named
            return self._with_said(words.combine(path.word for path in between), said, book), self._pairs(named, book)
        if named and not said:
            verdict = "shm" if self._is_one_host() else "unknown"
            return verdict, self._pairs(named, book)
        return self._selected([*named, *said], book)

    def _with_said(self, verdict: str, said: list[Path], book: Book) -> str:
        """The verdict of named paths beside what processes say of other hosts.

        A contradiction is a mixture, or two runs that nothing tells apart. Where the same processes say both, one of
        the two is not what carries the messages, and which one cannot be told.
        """
        against = [path for path in said if path.b is None and words.combine((verdict, path.word)) == "mixed"]
        if verdict == "mixed" or not against:
            return verdict
        self._cite(against, book)
        speakers = {(path.mark.host, path.mark.order) for path in against}
        is_of_one = any(
            process.btls and process.endpoints and (process.host, process.first.order) in speakers
            for process in self._parts.processes
        )
        return "unknown" if is_of_one else "mixed"

    def _selected(self, paths: list[Path], book: Book) -> _Answer:
        """No line names both ends of a pair on two hosts: what the ranks say of other hosts decides."""
        other = [path for path in paths if path.b is None]
        local = [path for path in paths if path.b is not None]
        processes = self._parts.processes
        silent = (self._ranks() or 0) - sum(
            1 for p in processes if p.endpoints or p.mtl or p.openib or p.provider or p.support or has_mxm(p)
        )
        if silent > 0 and paths and not self._parts.tables and not all(path.is_partial for path in paths):
            self._tell_silent(silent)
        if other:
            cited = self._cite(other, book)
            verdict = words.combine(path.word for path in other)
            if len(self._hosts) < 2 and any(path.needs_hosts for path in other):
                return "unknown", ()
            is_split = verdict == "mixed" and all(path.word == "mixed" for path in other)  # by size, in each process
            if any(path.is_partial for path in other):
                return verdict, self._pairs(local, book)
            if len(self._hosts) > 2 or (verdict in ("unknown", "mixed") and not is_split):
                return verdict, self._pairs(local, book)
            a, b = sorted((self._hosts[0], self._hosts[-1]))
            is_elsewhere = local or silent > 0 or any(path.is_between for path in other)
            if a == b and (is_elsewhere or len(processes) < 2):
                return verdict, self._pairs(local, book)  # the peers are on a host that is not seen here
            return verdict, (Pair(a, b, verdict, (), cited), *self._pairs(local, book))
        if local:
            verdict = words.combine(path.word for path in local) if self._is_one_host() else "unknown"
            return verdict, self._pairs(local, book)
        return "unknown", ()

    def _tell_silent(self, silent: int) -> None:
        text = f"{silent} of {self._ranks()} ranks said nothing of their transport"
        self.problems.append(Problem("silent-ranks", text))

    def words_by_process(self) -> dict[tuple[str | None, int | None], tuple[str, Mark]]:
        """The transport of each process's UCX endpoints to other hosts, where it is one."""
        found = {}
        for process in self._parts.processes:
            if word := self._word_of(process):
                found[process.host, process.pid] = word
        return found

    def _word_of(self, process: MpiProcess) -> tuple[str, Mark] | None:
        """The transport of its UCX endpoints to other hosts, and a line that tells it."""
        run = Run(self._evidence, Parts([process], [], [], []), self._known)
        paths = [path for path in run._paths.endpoint_paths() if path.b is None]
        return (words.combine(path.word for path in paths), paths[0].mark) if paths else None

    # -- pairs and their evidence

    @staticmethod
    def _cite(paths: Iterable[Path], book: Book) -> tuple[int, ...]:
        """One line for each host and transport, at most sixteen."""
        first: dict[tuple[str, str], Path] = {}
        for path in paths:
            first.setdefault((path.a, path.word), path)
        return _unique(book.cite(path.mark, path.evidence_class, path.word) for path in list(first.values())[:16])

    def _pairs(self, paths: Iterable[Path], book: Book) -> tuple[Pair, ...]:
        rows: dict[tuple[str, str], dict[str, list[Path]]] = {}
        for path in paths:
            path = _turned(path)
            if path.b is None:
                book.cite(path.mark, path.evidence_class, path.word)
            else:
                rows.setdefault((path.a, path.b), {}).setdefault(path.word, []).append(path)
        return tuple(
            Pair(
                a, b, words.combine(by_word),
                tuple(sorted({path.ranks for found in by_word.values() for path in found if path.ranks})),
                _unique(book.cite(p.mark, p.evidence_class, w) for w, found in by_word.items() for p in _ends(found)),
            )
            for (a, b), by_word in sorted(rows.items())
        )  # fmt: skip


_LINK_NAMES = {"ib": "InfiniBand", "roce": "RoCE", "iwarp": "iWARP", "opa": "Omni-Path"}
#: Fatal failures of a start: no data was moved yet.
_AT_START = frozenset(("unreachable", "init-failed", "no-pml", "pml-mismatch", "not-started", "no-endpoint"))


def _link_step(ports: Mapping[tuple[str, str], str | None]) -> str | None:
    """Which ports' link layers are told, and which are not, where both are so."""
    told: dict[str, list[str]] = {}
    for (host, device), word in sorted(ports.items()):
        told.setdefault(_LINK_NAMES.get(word or "", ""), []).append(f"{device} of {host}" if host else device)
    if not any(told):
        return None
    untold = told.pop("", [])
    known = "; ".join(f"{_some(places)}: {name}" for name, places in told.items())
    return f"the log tells the link layer of {known}; of {_some(untold)} `ibkit status` tells it" if untold else known


def _some(places: Sequence[str]) -> str:
    """The first four."""
    return clean(", ".join(places[:4])) + and_more(len(places) - 4)


def _turned(path: Path) -> Path:
    """The same path with the hosts, and on one host the ranks, in order."""
    if path.b is not None and path.b < path.a:
        return path._replace(a=path.b, b=path.a, ranks=path.ranks and path.ranks[::-1])
    if path.ranks and path.a == path.b:
        return path._replace(ranks=(min(path.ranks), max(path.ranks)))
    return path


def _unique(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(numbers))


def _ends(paths: list[Path]) -> list[Path]:
    """One path from either end, at most."""
    ends: dict[tuple[str | None, int | None], Path] = {}
    for path in paths:
        ends.setdefault((path.mark.host, path.mark.rank), path)
        if len(ends) == 2:
            break
    return list(ends.values())
