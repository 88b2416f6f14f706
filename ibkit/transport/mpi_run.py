"""An MPI run's data path: from what its lines say to verdict, status and reasons.

What decides, strongest first: lines that name both ends (bml lines of processes whose pml is ob1, the comm_method
matrix); then what each process says of its endpoints to other hosts (UCX, PSM2, libfabric, openib ports), if all ranks
that spoke agree and none is known to be silent. Help messages, settings and candidates never decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ibkit.model.mpi import Layer, Pair
from ibkit.parsers import openmpi, ucx
from ibkit.parsers.base import Problem
from ibkit.parsers.job_facts import Failure, Said, Setting
from ibkit.transport import words
from ibkit.transport.evidence import Book, File, Mark
from ibkit.transport.mpi import BtlUse, Endpoint, Evidence, MpiProcess
from ibkit.transport.processes import Hosts
from ibkit.transport.reasons import reason_of, reasons

_OPENMPI_STEP = (
    "run again with the line that decides: Open MPI 5: --mca hook_comm_method_display mpi_finalize; older: --mca "
    "btl_base_verbose 100 --mca pml_base_verbose 100, and with UCX -x UCX_LOG_LEVEL=info --mca pml_ucx_verbose 100"
)
_STEPS = {
    "Open MPI": _OPENMPI_STEP,
    "UCX": "run again with UCX_LOG_LEVEL=info (UCX 1.7 or later) for all ranks",
    "MPICH": "run again with UCX_LOG_LEVEL=info (ch4:ucx) or MPIR_CVAR_DEBUG_SUMMARY=2 (ch4:ofi, MPICH 4.3 or later)",
    "Intel MPI": "run again with I_MPI_DEBUG=3, and with UCX_LOG_LEVEL=info where the provider is mlx",
    "MVAPICH": "run again with MV2_SHOW_ENV_INFO=2; MVAPICH 3 and later: UCX_LOG_LEVEL=info",
    "libfabric": "run again with FI_LOG_LEVEL=info and the MPI's own debug level",
    "Horovod": "run again with HOROVOD_LOG_LEVEL=debug and NCCL_DEBUG=INFO",
    "Gloo": "Gloo prints no transport: look at GLOO_SOCKET_IFNAME and GLOO_DEVICE_TRANSPORT of the job",
}


def next_step(runtime: str) -> str:
    """What to add to the next run so that this runtime says its transport."""
    return _STEPS.get(runtime, _OPENMPI_STEP)


class Path(NamedTuple):
    """What moved (or would move) data between two hosts: ``b`` is None for any other host.

    ``evidence_class`` is path or selection.
    """

    a: str
    b: str | None
    word: str
    mark: Mark
    evidence_class: str
    ranks: tuple[int, int] | None = None


class Known(NamedTuple):
    """What the rest of the target tells: settings, and how many ranks and hosts the job has."""

    settings: list[tuple[Setting, Mark]]
    ranks: int | None = None
    hosts: int | None = None


class Run:
    """One run of an MPI job."""

    def __init__(
        self, evidence: Evidence, processes: list[MpiProcess], tables: list[tuple[openmpi.CommMethod, File, Mark]],
        failures: list[tuple[Failure, Mark]], known: Known, job: int = 1,
    ) -> None:  # fmt: skip
        self._evidence = evidence
        self._processes = processes
        self._tables = tables
        self._failures = failures
        self._known = known
        self._job = job
        self.problems: list[Problem] = []
        self._hosts = Hosts(self._host_names())

    def _host_names(self) -> Iterator[str]:
        yield from (process.host for process in self._processes if process.host)
        yield from (use.node for p in self._processes for uses in p.btls.values() for use in uses if use.node)
        yield from (host.name for table, _, _ in self._tables for host in table.hosts)
        yield from (failure.host for failure, _ in self._failures if failure.host)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that the run is known to use."""
        return tuple(self._hosts.all(self._host_names()))

    def ranks(self) -> int | None:
        """How many ranks the run is known to have; at least those that spoke or were named."""
        counts = [self._known.ranks or 0, len(self._processes)]
        counts += [sum(len(host.ranks) for host in table.hosts) for table, _, _ in self._tables]
        counts += [peer + 1 for p in self._processes for peer in p.btls]
        counts += [process.rank + 1 for process in self._processes if process.rank is not None]
        return max(counts) or None

    # -- evidence that names both ends

    def _btl_paths(self) -> Iterator[Path]:
        for process in self._processes:
            if process.host is None or (process.pml and process.pml[0] not in _BTL_PMLS):
                continue
            for peer, uses in process.btls.items():
                best = _carrier(uses)
                if best is None or best.btl == "self" or best.node is None:
                    continue
                ranks = (process.rank, peer) if process.rank is not None else None
                yield Path(
                    self._hosts[process.host], self._hosts[best.node], self._btl_word(process, best), best.mark,
                    "path", ranks,
                )  # fmt: skip

    def _btl_word(self, process: MpiProcess, use: BtlUse) -> str:
        word = words.BTLS.get(use.btl, ("unknown", 0))[0]
        if word == "rdma":
            devices = {device for device, _ in process.openib}
            return self._link_word(process.host, devices) if devices else "rdma"
        if word == "tcp" and self._only_ipoib():
            return "ipoib"
        return word

    def _only_ipoib(self) -> bool:
        """btl_tcp_if_include names interfaces, and all of them are IPoIB's."""
        for setting, _ in self._settings("ompi"):
            if setting.name == "btl_tcp_if_include":
                names = setting.value.split(",")
                return all(words.of_interface(name) == "ipoib" for name in names)
        return False

    def _link_word(self, host: str | None, devices: Iterable[str]) -> str:
        found = {self._evidence.links.word(host, device) or "rdma" for device in devices}
        return found.pop() if len(found) == 1 else "rdma"

    def _table_paths(self) -> Iterator[Path]:
        for table, _, _ in self._tables:
            names = [self._hosts[host.name] for host in table.hosts]
            leaders = [host.ranks[0] if host.ranks else None for host in table.hosts]
            for cell in table.cells:
                if cell.row >= len(names) or cell.column >= len(names) or cell.methods == ("self",):
                    continue
                one, other = leaders[cell.row], leaders[cell.column]
                ranks = (one, other) if cell.row != cell.column and one is not None and other is not None else None
                a, b = names[cell.row], names[cell.column]
                yield Path(a, b, self._methods_word(a, cell.methods), self._mark(table, cell.said), "path", ranks)
            if not table.cells and table.off_host and table.off_host_said and len(names) > 1:
                mark = self._mark(table, table.off_host_said)
                word = self._methods_word(None, table.off_host) if table.is_uniform else "mixed"
                if len(names) == 2 and table.is_uniform:
                    yield Path(names[0], names[1], word, mark, "path")
                else:
                    yield Path(names[0], None, word, mark, "path")
            elif not table.cells and table.on_host and len(names) == 1:
                yield Path(
                    names[0],
                    names[0],
                    self._methods_word(names[0], table.on_host),
                    self._mark(table, table.said),
                    "path",
                )

    def _mark(self, table: openmpi.CommMethod, said: Said) -> Mark:
        file = next(file for other, file, _ in self._tables if other is table)
        return file.mark(said)

    def _methods_word(self, host: str | None, methods: tuple[str, ...]) -> str:
        """A cell's transport: a btl's, an mtl's, or the lanes of UCX in their order."""
        if "/" in methods[0]:
            lanes = [ucx.Lane("tag", *method.split("/", 1)) for method in methods]
            return self._lanes_word(host, lanes)
        name = methods[0]
        if name in words.BTLS:
            word = words.BTLS[name][0]
            return "ipoib" if word == "tcp" and self._only_ipoib() else word
        if name in ("psm2", "psm"):
            return words.of_provider(name)
        return "unknown"

    # -- evidence of one process about its peers

    def _lanes_word(self, host: str | None, lanes: list[ucx.Lane]) -> str:
        """The transport of an endpoint between hosts: the first network lane's. Large messages may use more rails.

        TCP for the small messages and verbs for the large ones is a mixture; the other way round is a second rail
        or, in tables that list wire-up lanes, none at all.
        """
        network = [lane for lane in lanes if words.of_ucx(lane.transport, lane.device) != "shm"]
        if not network:
            return "shm"
        found = [self._lane_word(host, lane) for lane in network]
        first = found[0]
        if first in ("tcp", "ipoib"):
            if any(word in words.RDMA for word in found):
                return "mixed"
            return words.combine(found)
        rdma = [word for word in found if word in words.RDMA]
        return words.combine(rdma) if rdma else first

    def _lane_word(self, host: str | None, lane: ucx.Lane) -> str:
        word = words.of_ucx(lane.transport, lane.device)
        return self._link_word(host, (lane.device,)) if word == "rdma" else word

    def _endpoint_paths(self) -> Iterator[Path]:
        for process in self._processes:
            if process.host is None:
                continue
            host = self._hosts[process.host]
            for endpoint in process.endpoints.values():
                lanes = endpoint.data_lanes()
                kind = _kind(endpoint, lanes)
                if kind == "other-host":
                    yield Path(host, None, self._lanes_word(process.host, lanes), endpoint.mark, "selection")
                elif kind == "same-host":
                    word = words.of_ucx(lanes[0].transport, lanes[0].device)
                    if word != "shm":
                        word = self._lanes_word(process.host, lanes)
                    yield Path(host, host, word, endpoint.mark, "selection")

    def _matching_paths(self) -> Iterator[Path]:
        """Pml cm: PSM2 is Omni-Path, libfabric is what its provider is; both reach the same host their own way."""
        for process in self._processes:
            if process.host is None or process.pml is None or process.pml[0] != "cm":
                continue
            host = self._hosts[process.host]
            provider = process.provider or next(
                ((name, mark) for name, mark in self._evidence.providers if words.of_provider(name) != "unknown"), None
            )
            if process.mtl is not None and process.mtl[0] in ("psm2", "psm"):
                yield Path(host, None, words.of_provider(process.mtl[0]), process.mtl[1], "selection")
            elif provider is not None and words.of_provider(provider[0]) != "shm":
                yield Path(host, None, words.of_provider(provider[0]), provider[1], "selection")

    def _openib_paths(self) -> Iterator[Path]:
        """Openib without a word about peers: it carries them, as its exclusivity is above that of TCP."""
        refused = any(
            failure.topic in ("no-cpc", "memlock", "no-port", "no-nics", "ib-port-refused")
            for failure, _ in self._failures
        )
        if refused or any(use.btl != "self" for p in self._processes for uses in p.btls.values() for use in uses):
            return
        for process in self._processes:
            if process.host is None or (process.pml and process.pml[0] not in _BTL_PMLS):
                continue
            if process.openib:
                word = self._link_word(process.host, {name for name, _ in process.openib})
                yield Path(self._hosts[process.host], None, word, process.openib[0][1], "selection")

    def words_by_process(self) -> dict[tuple[str | None, int | None], tuple[str, Mark]]:
        """The transport of each process's endpoints to other hosts, where it is one."""
        found = {}
        for process in self._processes:
            run = Run(self._evidence, [process], [], [], self._known)
            paths = [path for path in run._endpoint_paths() if path.b is None]
            if paths:
                found[process.host, process.pid] = words.combine(_words(paths)), paths[0].mark
        return found

    # -- the answer

    def layer(self, book: Book) -> Layer:
        """The run's layer."""
        runtime, version = self._runtime()
        verdict, pairs, step = self._verdict(book)
        fatal = [mark for failure, mark in self._failures if failure.is_fatal]
        if fatal and verdict in ("unknown", "shm"):
            verdict, pairs, step = "none", (), None
        status, why = self._status(verdict, bool(fatal))
        if step is None and status == "undecided":
            step = next_step(runtime)
        return Layer(
            "mpi", verdict, status, self._job, runtime, version, self.hosts, self.ranks(), pairs,
            reasons(why, book), step,
        )  # fmt: skip

    def _runtime(self) -> tuple[str, str | None]:
        versions = {name: version for name, version, _ in reversed(self._evidence.versions)}
        foreign = [fact.runtime for fact, _ in self._evidence.foreign if fact.layer == "mpi"]
        if "Open MPI" in versions or self._is_openmpi():
            return "Open MPI", versions.get("Open MPI")
        for name in (*foreign, "MPICH"):
            if name in versions or name in foreign:
                return name, versions.get(name)
        return "UCX", versions.get("UCX")

    def _is_openmpi(self) -> bool:
        return bool(self._tables) or any(
            p.pml or p.btls or p.support or p.openib or p.components for p in self._processes
        ) or any(failure.runtime == "ompi" for failure, _ in self._failures)  # fmt: skip

    def _verdict(self, book: Book) -> tuple[str, tuple[Pair, ...], str | None]:
        named = [*self._btl_paths(), *self._table_paths()]
        said = [*self._endpoint_paths(), *self._matching_paths(), *self._openib_paths()]
        if any(path.word == "unknown" for path in named) and said:
            # pml ucx or mtl ofi by name only: what these say of themselves is the transport
            named = [path for path in named if path.word != "unknown"]
        if _decides(named):
            return words.combine(_words(named)), self._pairs(named, book), None
        if named and not said:
            verdict = words.combine(_words(named))
            pairs = self._pairs(named, book)
            if verdict == "shm" and not self._is_one_host():
                return "unknown", pairs, None
            return verdict, pairs, None
        return self._selected([*named, *said], book)

    def _is_one_host(self) -> bool:
        """Whether the run is on one host, as far as anything tells. A rank that said nothing could be elsewhere."""
        if self._known.hosts == 1:
            return True
        if len(self.hosts) != 1:
            return False
        spoke = max(len(self._processes), *(sum(len(h.ranks) for h in t.hosts) for t, _, _ in self._tables), 0)
        return spoke >= (self.ranks() or 0)

    def _selected(self, paths: list[Path], book: Book) -> tuple[str, tuple[Pair, ...], str | None]:
        """No line names both ends of a pair on two hosts: what all ranks say of other hosts decides."""
        other = [path for path in paths if path.b is None]
        local = [path for path in paths if path.b is not None]
        speaking = sum(
            1 for process in self._processes if process.endpoints or process.mtl or process.openib or process.provider
        )
        silent = (self.ranks() or 0) - max(speaking, 1)
        if other:
            if silent > 0:
                self._tell_silent(silent)
                self._cite_selection(other, book)
                return "unknown", (), None
            cited = self._cite_selection(other, book)
            verdict = words.combine(_words(other))
            if len(self.hosts) <= 2 and verdict != "unknown":
                a, b = self.hosts[0], self.hosts[-1]
                return verdict, (Pair(a, b, verdict, (), cited), *self._pairs([p for p in local if a != b], book)), None
            return verdict, self._pairs(local, book), None
        if local and self._is_one_host():
            return words.combine(_words(local)), self._pairs(local, book), None
        if local:
            if silent > 0 and len(self.hosts) == 1:
                self._tell_silent(silent)
            return "unknown", self._pairs(local, book), None
        return self._by_pml(book)

    def _by_pml(self, book: Book) -> tuple[str, tuple[Pair, ...], str | None]:
        """Only the pml is known: ob1 on one host moves data through shared memory, unless that is switched off."""
        chosen = [process.pml for process in self._processes if process.pml]
        if not chosen or len(self._processes) < 2 or not self._is_one_host():
            return "unknown", (), None
        if self._known.hosts != 1 and self._known.ranks is None:
            return "unknown", (), None
        if any(name not in _BTL_PMLS for name, _ in chosen) or self._lacks_shared_memory():
            return "unknown", (), None
        host = self.hosts[0]
        cited = tuple(book.cite(mark, "selection", "shm") for _, mark in chosen[:2])
        return "shm", (Pair(host, host, "shm", (), cited),), None

    def _lacks_shared_memory(self) -> bool:
        btl = next((setting.value for setting, _ in self._settings("ompi") if setting.name == "btl"), None)
        if btl is None:
            return False
        names = set(btl.lstrip("^").split(","))
        return bool(names & {"sm", "vader"}) if btl.startswith("^") else not names & {"sm", "vader"}

    def _tell_silent(self, silent: int) -> None:
        text = f"{silent} of {self.ranks()} ranks said nothing of their transport; what they used is not known"
        self.problems.append(Problem("silent-ranks", text))

    def _cite_selection(self, paths: list[Path], book: Book) -> tuple[int, ...]:
        """One line for each host and transport, at most sixteen."""
        first: dict[tuple[str, str], Path] = {}
        for path in paths:
            first.setdefault((path.a, path.word), path)
        return tuple(book.cite(path.mark, path.evidence_class, path.word) for path in list(first.values())[:16])

    def _pairs(self, paths: list[Path], book: Book) -> tuple[Pair, ...]:
        rows: dict[tuple[str, str], dict[str, list[Path]]] = {}
        for path in paths:
            if path.b is None:
                book.cite(path.mark, path.evidence_class, path.word)
                continue
            is_turned = path.b < path.a
            a, b = (path.b, path.a) if is_turned else (path.a, path.b)
            ranks = path.ranks and (path.ranks[::-1] if is_turned else path.ranks)
            if ranks and a == b:
                ranks = (min(ranks), max(ranks))
            rows.setdefault((a, b), {}).setdefault(path.word, []).append(path._replace(ranks=ranks))
        return tuple(
            Pair(
                a, b, words.combine(by_word),
                tuple(sorted({path.ranks for found in by_word.values() for path in found if path.ranks})),
                tuple(book.cite(p.mark, p.evidence_class, w) for w, found in by_word.items() for p in _ends(found)),
            )
            for (a, b), by_word in sorted(rows.items())
        )  # fmt: skip

    # -- status and reasons

    def _settings(self, runtime: str) -> Iterator[tuple[Setting, Mark]]:
        for setting, mark in (*self._evidence.settings, *self._known.settings):
            if setting.runtime == runtime:
                yield setting, mark

    def _status(self, verdict: str, is_fatal: bool) -> tuple[str, dict[str, list[tuple[Mark, str]]]]:
        why = self._proven()
        if is_fatal:
            return "aborted", why
        if verdict == "unknown":
            return "undecided", why
        if verdict == "mixed":
            return "mixed", why
        if verdict in words.RDMA or verdict == "shm":
            return "as-expected", {}
        asked = self._asked_for_tcp(bool(why))
        if asked:
            return "by-configuration", {"wrongtls": [(mark, "configuration") for mark in asked]}
        return "fallback", why

    def _proven(self) -> dict[str, list[tuple[Mark, str]]]:
        why: dict[str, list[tuple[Mark, str]]] = {}
        _, version = self._runtime()
        for failure, mark in self._failures:
            reason = reason_of(failure)
            if failure.topic == "pml-mismatch" and version == "4.1.1":
                reason = "ucxrace"
            if failure.topic == "ib-port-refused" and version in ("4.0.0", "4.0.1"):
                reason = None  # these print it although they use UCX
            if failure.topic == "transport-missing" and _offers_verbs(failure.detail):
                reason = None
            if reason:
                why.setdefault(reason, []).append((mark, "failure"))
        refused = [p.support for p in self._processes if p.support and p.support[0] in ("none", "transports only")]
        if refused and any(p.btls or (p.pml and p.pml[0] in _BTL_PMLS) for p in self._processes):
            why.setdefault("ucxlist", []).extend((mark, "failure") for _, mark in refused)
        return why

    def _asked_for_tcp(self, has_failed: bool) -> list[Mark]:
        """Settings, or lists of loaded components, that leave nothing but TCP between hosts."""
        by_ucx = any(p.endpoints for p in self._processes)
        found: list[Mark] = []
        if by_ucx:
            found += [mark for setting, mark in self._settings("ucx") if _leaves_tcp_to_ucx(setting)]
        if not by_ucx or any(p.btls for p in self._processes) or self._tables:
            _, version = self._runtime()
            found += [
                mark for setting, mark in self._settings("ompi") if _leaves_tcp_to_openmpi(setting, version, has_failed)
            ]
            found += self._restricted_components()
        return list({(mark.file, mark.line): mark for mark in found}.values())

    def _restricted_components(self) -> list[Mark]:
        """Every build has a shared memory btl: a list of loaded ones without it was restricted by a parameter."""
        found = []
        for process in self._processes:
            loaded = process.components.get("btl", {})
            if (
                "tcp" in loaded
                and "self" in loaded
                and not loaded.keys() & {"sm", "vader", "smcuda", "openib", "uct", "ofi"}
            ):
                found.append(loaded["tcp"])
        return found[:2]


_NEVER_ALONE = frozenset(("sm", "vader", "smcuda", "openib", "uct", "ofi"))
_BTL_PMLS = frozenset(("ob1", "bfo", "csum"))


def _carrier(uses: list[BtlUse]) -> BtlUse | None:
    """The module that carries the data to a peer: the used one of the highest exclusivity."""
    used = [use for use in uses if use.better is None]
    return max(used, key=lambda use: words.BTLS.get(use.btl, ("unknown", 0))[1], default=None)


def _kind(endpoint: Endpoint, lanes: list[ucx.Lane]) -> str:
    """Whether an endpoint leads to the process itself, to its host, or to another (or any, without shared memory)."""
    if not lanes or endpoint.scope == "self" or lanes[0].transport == "self":
        return "self"
    if endpoint.scope == "intra-node":
        return "same-host"
    if endpoint.scope == "inter-node":
        return "other-host"
    return "same-host" if words.of_ucx(lanes[0].transport, lanes[0].device) == "shm" else "other-host"


def _decides(paths: list[Path]) -> bool:
    """Whether a line names a path between hosts, or one on a host that is not shared memory."""
    return any(path.word != "unknown" and (path.word != "shm" or path.a != path.b) for path in paths)


def _words(paths: Iterable[Path]) -> set[str]:
    return {path.word for path in paths}


def _ends(paths: list[Path]) -> list[Path]:
    """One path from either end, at most."""
    ends: dict[tuple[int, ...] | None, Path] = {}
    for path in paths:
        key = (
            None if path.mark.rank is None and path.mark.host is None else (hash(path.mark.host), path.mark.rank or -1)
        )
        ends.setdefault(key, path)
        if len(ends) == 2:
            break
    return list(ends.values())


def _offers_verbs(offered: str | None) -> bool:
    names = (offered or "").replace(",", " ").split()
    return any(name.split("_")[0] in ("rc", "ud", "dc", "ib") for name in names)


def _leaves_tcp_to_ucx(setting: Setting) -> bool:
    """UCX_TLS without verbs, or UCX_NET_DEVICES without an HCA port."""
    names = [name for name in setting.value.split(",") if name]
    if setting.name == "UCX_TLS" and names:
        is_denied = names[0].startswith("^")
        kinds = {name.lstrip("^\\").split(":")[0] for name in names}
        verbs = {name for name in kinds if name == "ib" or name.split("_")[0] in ("rc", "ud", "dc", "srd")}
        if is_denied:
            return "ib" in kinds or {"rc", "ud", "dc"} <= {name.split("_")[0] for name in kinds}
        return not verbs and "all" not in kinds
    return (
        setting.name == "UCX_NET_DEVICES" and bool(names) and all(":" not in name and name != "all" for name in names)
    )


def _leaves_tcp_to_openmpi(setting: Setting, version: str | None, has_failed: bool) -> bool:
    """``btl`` without a module for HCAs, ``pml ob1`` where ob1 has no such module, pml or mtl denied."""
    names = set(setting.value.lstrip("^").split(","))
    is_denied = setting.value.startswith("^")
    if setting.name == "btl":
        if is_denied:
            return "openib" in names
        return "tcp" in names and not names & {"openib", "uct", "ofi", "usnic", "ugni", "mx", "udapl"}
    if setting.name == "pml":
        has_ucx_only = version is None or version[:1] not in "123"
        return has_ucx_only and not has_failed and (names == {"ob1"} if not is_denied else "ucx" in names)
    return False
