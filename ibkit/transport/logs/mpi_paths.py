"""What the lines of one MPI run say of the paths between its hosts.

Lines that name both ends (class path): bml lines of processes whose pml is ob1, and the comm_method matrix. Lines of
one process about its endpoints to any other host (class selection): UCX, PSM2, libfabric, openib ports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from ibkit.parsers import openmpi, ucx
from ibkit.parsers.job_facts import Said
from ibkit.transport import words
from ibkit.transport.evidence import Mark
from ibkit.transport.host_names import Hosts
from ibkit.transport.logs.mpi import BtlUse, Endpoint, Evidence, MpiProcess
from ibkit.transport.logs.mpi_runs import Parts
from ibkit.transport.settings import UCX_COPIES

#: Of a table of more hosts only the cells that differ from the usual one are paths of their own, and those beside the
#: diagonal, so that each host is in one. A thousand hosts have half a million pairs.
MAX_TABLE_HOSTS = 200
#: pml components that send through btl modules.
BTL_PMLS = frozenset(("ob1", "bfo", "csum"))
#: Of networks for which there is no word.
_OTHER_MTLS = frozenset(("mx", "portals", "portals4"))
_BY_TCP = frozenset(("tcp", "ipoib"))
_REFUSALS = frozenset(("no-cpc", "memlock", "no-port", "no-nics", "ib-port-refused", "openib-off"))


class Path(NamedTuple):
    """What moved (or would move) data from host ``a`` to host ``b``, or to any other host where ``b`` is None.

    ``evidence_class`` is path or selection; ``ranks`` are those of a and b. ``is_between``: the line says that b is
    another host; ``needs_hosts``: the line says what another host would be reached by, if there is one;
    ``is_partial``: who is silent may have talked to others as well.
    """

    a: str
    b: str | None
    word: str
    mark: Mark
    evidence_class: str
    ranks: tuple[int, int] | None = None
    is_between: bool = False
    needs_hosts: bool = False
    is_partial: bool = False


class Paths:
    """All paths of one run."""

    def __init__(self, evidence: Evidence, parts: Parts, hosts: Hosts) -> None:
        self._evidence = evidence
        self._parts = parts
        self._processes = [process for process in parts.processes if process.host is not None]
        self._hosts = hosts
        #: Cells of large tables that are not paths of their own, by what all of them say.
        self.folded: dict[tuple[str, ...], int] = {}
        #: Of the ports of HCAs that carry, by host and device, the link layer that lines tell, if any does.
        self.ports: dict[tuple[str, str], str | None] = {}
        jobs = {job for process in self._processes for job, _ in process.btls}
        #: Where a job was spawned, several ranks have one number.
        self._rank_of, self._host_of_rank = _places(self._processes) if len(jobs) < 2 else ({}, {})

    def named(self) -> list[Path]:
        """The paths whose both ends are named."""
        found = [*self._btl_paths(), *self._table_paths()]
        return _linked(found or [path for path in self._broken_paths() if path.b is not None])

    def selected(self) -> list[Path]:
        """What processes say of their endpoints."""
        matching = [*self._matching_paths()]
        found = [*self.endpoint_paths(), *matching, *self._openib_paths()]
        found += self._unmatched_paths() if matching else ()
        if not found:
            found = list(self._supported_paths(self._processes))
        else:
            found += _against(found, self._supported_paths([p for p in self._processes if not p.endpoints]))
        if all(path.b is not None for path in found):
            found += self._nameless_paths() or (path for path in self._broken_paths() if path.b is None)
        else:
            found += _against(found, self._nameless_paths())
        return _linked(found) if len({self._host(process.host) for process in self._processes}) == 2 else found

    def broken_against(self, word: str) -> list[Path]:
        """Queue pairs that broke, where all that is told of the run is ``word``, TCP: then something went by them."""
        return list(self._broken_paths(with_cut=True)) if word in _BY_TCP else []

    def _host(self, name: str | None) -> str:
        return self._hosts[name or ""]

    # -- Open MPI's btl modules

    def _btl_paths(self) -> Iterator[Path]:
        for process in self._processes:
            if process.pml and process.pml[0] not in BTL_PMLS:
                continue  # bml lines of one-sided communication; messages go through the pml
            for (_, peer), uses in self._uses(process).items():
                best = _carrier(uses)
                if best is None or best.btl == "self":
                    continue
                node = best.node or self._host_of_rank.get(peer)
                if words.BTLS.get(best.btl, ("unknown", 0))[0] == "shm":
                    node = node or process.host
                elif not node:
                    node = self._only_other(process.host)
                    if best.node == "" and node is None:
                        continue  # the name was cut off: it may be this host's
                rank = self._rank_of.get((process.host, process.pid))
                ranks = (rank, peer) if rank is not None else None
                yield Path(
                    self._host(process.host), self._hosts[node] if node else None, self._btl_word(process, best.btl),
                    best.mark, "path", ranks,
                )  # fmt: skip

    def _uses(self, process: MpiProcess) -> Mapping[tuple[int, int], list[BtlUse]]:
        """What a process sends by, by peer; where it has repeated an earlier one's lines, those to peers that are here,
        too: as repetitions they were not read.
        """
        if process.repeated is None:
            return process.btls
        lost = {key: uses for key, uses in process.repeated.btls.items() if key[1] in self._ranks}
        return lost | process.btls

    @cached_property
    def _ranks(self) -> set[int | None]:
        return {process.rank for process in self._processes}

    def _only_other(self, host: str | None) -> str | None:
        """The other host that speaks, where there are two: a line that was cut need not name it."""
        others = {process.host for process in self._processes} - {host}
        return others.pop() if len(others) == 1 else None

    def _btl_word(self, process: MpiProcess | None, btl: str) -> str:
        word = words.BTLS.get(btl, ("unknown", 0))[0]
        if btl == "openib" and process is not None and process.openib:
            return self._link_word(process.host, {device for device, _ in process.openib})
        return "ipoib" if word == "tcp" and self._is_ipoib else word

    @cached_property
    def _is_ipoib(self) -> bool:
        """Whether the tcp module uses IPoIB interfaces only: those it tells its peers, or btl_tcp_if_include's."""
        used = {name for process in self._processes for name in process.interfaces}
        if not used:
            values = [
                s.value for s, _ in self._parts.settings if s.runtime == "ompi" and s.name == "btl_tcp_if_include"
            ]
            used = {name for value in values for name in value.split(",")}
        return bool(used) and all(words.of_interface(name) == "ipoib" for name in used)

    def _link_word(self, host: str | None, devices: Iterable[str]) -> str:
        found = set()
        for device in devices:
            word = self._evidence.links.word(host, device)
            self.ports[self._host(host), device] = word
            found.add(word or words.of_device(device))
        return found.pop() if len(found) == 1 else "rdma"

    # -- the comm_method table

    def _table_paths(self) -> Iterator[Path]:
        for table, file, _ in self._parts.tables:
            names = [self._hosts[host.name] for host in table.hosts]
            leaders = [host.ranks[0] if host.ranks else None for host in table.hosts]
            usual = _usual_methods(table) if len(names) > MAX_TABLE_HOSTS else None
            back = {row.number: row.methods for row in table.rows} if usual else {}
            for cell in table.cells:
                if cell.methods == usual and abs(cell.row - cell.column) > 1 and _at(back, cell) == usual:
                    self.folded[usual] = self.folded.get(usual, 0) + 1
                    continue
                if max(cell.row, cell.column) >= len(names) or cell.methods == ("self",):
                    continue
                a, b = names[cell.row], names[cell.column]
                one, other = leaders[cell.row], leaders[cell.column]
                ranks = (one, other) if cell.row != cell.column and one is not None and other is not None else None
                word = self._methods_word(a, cell.methods)
                if a == b and "/" in cell.methods[0] and words.of_ucx(*cell.methods[0].split("/", 1)) == "shm":
                    word = "shm"  # a rail of the HCA stands behind it in the list
                yield Path(a, b, word, file.mark(cell.said), "path", ranks)
            if not table.rows and names:
                yield from self._summary_paths(table, names, file.mark)

    def _summary_paths(
        self, table: openmpi.CommMethod, names: list[str], mark: Callable[[Said], Mark]
    ) -> Iterator[Path]:
        """Only the summary was printed (hook_comm_method_brief, or too many hosts)."""
        if table.off_host and table.off_host_said is not None and len(names) > 1:
            word = self._methods_word(None, table.off_host) if table.is_uniform else "mixed"
            other = names[1] if len(names) == 2 and table.is_uniform else None
            yield Path(names[0], other, word, mark(table.off_host_said), "path")
        elif table.on_host and len(names) == 1 and table.on_host != ("self",):
            yield Path(names[0], names[0], self._methods_word(names[0], table.on_host), mark(table.said), "path")

    def _methods_word(self, host: str | None, methods: tuple[str, ...]) -> str:
        """A cell's transport: a btl's, an mtl's, or that of UCX's lanes in their order."""
        if "/" in methods[0]:
            return self._lanes_word(host, [ucx.Lane("tag", *method.split("/", 1)) for method in methods])
        if methods[0] in words.BTLS and methods[0] != "ofi":
            return self._btl_word(None, methods[0])
        return words.of_provider(methods[0]) if methods[0] in ("psm2", "psm") else "unknown"

    # -- UCX

    def _lanes_word(self, host: str | None, lanes: list[ucx.Lane]) -> str:
        """The transport of an endpoint between hosts: the first network lane's. Large messages may use more rails.

        TCP for the small messages and verbs, or a copy out of the other process's memory, for the large ones is a
        mixture; the other way round it is a second rail or, in tables that list wire-up lanes, nothing at all.
        """
        found = [word for lane in lanes if (word := self._lane_word(host, lane)) != "shm"]
        if not found:
            return "shm"
        rdma = [word for word in found if word in words.RDMA]
        if found[0] in ("tcp", "ipoib"):
            return "mixed" if rdma or _has_copies(lanes) else words.combine(found)
        return words.combine(rdma) if rdma else found[0]

    def _rows_word(self, host: str | None, endpoint: Endpoint) -> str:
        """From which lanes carry which sizes of messages."""
        return words.combine({self._lanes_word(host, row) for row in endpoint.rows})

    def _lane_word(self, host: str | None, lane: ucx.Lane) -> str:
        word = words.of_ucx(lane.transport, lane.device)
        return self._link_word(host, (lane.device,)) if word == "rdma" else word

    def endpoint_paths(self) -> Iterator[Path]:
        """What UCX says of each process's kinds of endpoints."""
        for process in self._processes:
            host = self._host(process.host)
            for endpoint in process.every_endpoint:
                lanes = endpoint.data_lanes()
                kind = _kind(endpoint, lanes)
                if kind == "other-host":
                    word = self._lanes_word(process.host, lanes)
                    if not endpoint.lanes:
                        word = self._rows_word(process.host, endpoint)
                    is_between = endpoint.scope == "inter-node"
                    yield Path(host, None, word, endpoint.mark, "selection", is_between=is_between)
                elif kind == "same-host":
                    is_shared = words.of_ucx(lanes[0].transport, lanes[0].device) == "shm"
                    every = lanes if endpoint.lanes else [lane for row in endpoint.rows for lane in row]
                    word = "shm" if is_shared else self._lanes_word(process.host, every)
                    yield Path(host, host, word, endpoint.mark, "selection")

    def _supported_paths(self, processes: Iterable[MpiProcess]) -> Iterator[Path]:
        """Open MPI 4.1.1 and later choose UCX if it has opened verbs on a device of the list; then it sends by those.

        The check asks UCX's context for what it has, after UCX_TLS and UCX_NET_DEVICES (opal/mca/common/ucx). With
        ``any`` nothing was checked; and what UCX complains of may be that device.
        """
        asked = [
            p for p in self._processes if not p.btls and (p.pml is None or p.pml[0] == "ucx")
        ]  # others send not by UCX
        levels = {process.support[0] if process.support else None for process in asked}
        if levels != {"transports and devices"} or any(failure.runtime == "ucx" for failure, _ in self._parts.failures):
            return
        for process in processes:
            if process.support and process.pml and process.pml[0] == "ucx":
                yield Path(self._host(process.host), None, "rdma", process.support[1], "selection", needs_hosts=True)

    # -- PSM2, libfabric, openib

    def _matching_paths(self) -> Iterator[Path]:
        """Pml cm: PSM2 is Omni-Path, MXM is verbs, libfabric is what its provider is. Pml yalla is MXM.

        MXM has no other way to another host: its modules are SELF, SHM and RDMA (ompi/mca/mtl/mxm/mtl_mxm.c of 1.6).
        """
        for process in self._processes:
            if process.pml is None or process.pml[0] not in ("cm", "yalla"):
                continue
            if has_mxm(process):
                mark = (process.mtl or process.pml)[1]
                yield Path(self._host(process.host), None, "rdma", mark, "selection", needs_hosts=True)
                continue
            if process.mtl is not None and process.mtl[0] in _OTHER_MTLS:
                yield Path(self._host(process.host), None, "unknown", process.mtl[1], "selection", needs_hosts=True)
                continue
            provider = process.provider or next(
                (known for known in self._evidence.providers if words.of_provider(known[0]) != "unknown"), None
            )
            if process.mtl is not None and process.mtl[0] in ("psm2", "psm"):
                provider = process.mtl
            if process.provider and process.provider[0].lower() == "psm3":
                provider = self._evidence.psm3.get(process.host)
            word = words.of_provider(provider[0]) if provider else "unknown"
            if word == "tcp" and provider is process.provider and process.domain:
                word = words.of_interface(process.domain[0])
            if provider is not None and word not in ("shm", "unknown"):
                yield Path(self._host(process.host), None, word, provider[1], "selection", needs_hosts=True)

    def _unmatched_paths(self) -> Iterator[Path]:
        """Of ranks that chose ob1 while others chose a matching layer: by what they send is not told, and these two do
        not talk to each other.
        """
        for process in self._processes:
            if process.pml and process.pml[0] in BTL_PMLS and not process.btls and not process.openib:
                yield Path(self._host(process.host), None, "unknown", process.pml[1], "selection", needs_hosts=True)

    def _openib_paths(self) -> Iterator[Path]:
        """Openib without a word about peers: it carries them, as its exclusivity is above that of TCP.

        Modules are opened before the pml is chosen: only where it is ob1, or ob1's list of peers has begun, are they
        used (btl_openib_component.c, pml_base_select.c).
        """
        if any(failure.topic in _REFUSALS for failure, _ in self._parts.failures) or any(
            use.btl != "self" for process in self._processes for uses in process.btls.values() for use in uses
        ):
            return
        for process in self._processes:
            is_used = process.pml[0] in BTL_PMLS if process.pml else bool(process.btls)
            if process.openib and is_used:
                word = self._link_word(process.host, {device for device, _ in process.openib})
                yield Path(self._host(process.host), None, word, process.openib[0][1], "selection", needs_hosts=True)

    def _nameless_paths(self) -> list[Path]:
        """What UCX says of other hosts in lines whose heads were cut off, where no process with a name says it."""
        processes = self._parts.processes
        if self._parts.tables or any(process.btls for process in processes):
            return []
        endpoints = [e for p in processes if p.host is None and p.pid is None for e in p.every_endpoint]
        return [
            Path("", None, self._lanes_word(None, lanes), endpoint.mark, "selection", is_partial=True)
            for endpoint in endpoints
            if _kind(endpoint, lanes := endpoint.data_lanes()) == "other-host"
        ]

    def _broken_paths(self, *, with_cut: bool = False) -> Iterator[Path]:
        """What was sent by a queue pair did not arrive, which ends a job: by that queue pair, then, it was sent.

        A line whose head was cut off counts ``with_cut`` or where no process with a name speaks.
        """
        has_names = not with_cut and any(process.host is not None for process in self._processes)
        for failure, mark in self._parts.failures:
            if failure.topic == "broken" and not (failure.host is None and has_names):
                word = self._link_word(failure.host, (failure.device,)) if failure.device else "rdma"
                node = self._hosts[failure.detail] if failure.detail else None
                evidence_class = "path" if node else "selection"
                host = "" if failure.host is None else self._host(failure.host)
                yield Path(host, node, word, mark, evidence_class, is_partial=True)


def _places(
    processes: Iterable[MpiProcess],
) -> tuple[dict[tuple[str | None, int | None], int], dict[int, str | None]]:
    """The rank of each process, and the host of each rank.

    The number in front of a line may be another launcher's (``srun -n 1 -l mpirun ...`` puts 0 before all): it is no
    rank where several processes have it, or where it is that of a peer that the process sends to.
    """
    known: dict[int, list[MpiProcess]] = {}
    for process in processes:
        if process.rank is not None:
            known.setdefault(process.rank, []).append(process)
    sure = {
        rank: found[0]
        for rank, found in known.items()
        if len({(process.host, process.pid) for process in found}) == 1 and not _sends_to(found[0], rank)
    }
    ranks = {(process.host, process.pid): rank for rank, process in sure.items()}
    return ranks, {rank: process.host for rank, process in sure.items()}


def _sends_to(process: MpiProcess, rank: int) -> bool:
    uses = process.btls.get((process.job, rank), ()) if process.job is not None else ()
    return any(use.btl != "self" and use.better is None for use in uses)


def _usual_methods(table: openmpi.CommMethod) -> tuple[str, ...] | None:
    """What most cells of two different hosts say."""
    counts: Counter[tuple[str, ...]] = Counter()
    for row in table.rows:
        counts.update(methods for column, methods in enumerate(row.methods) if methods and column != row.number)
    return max(counts, key=lambda methods: counts[methods], default=None)


def _at(rows: Mapping[int, tuple[tuple[str, ...], ...]], cell: openmpi.Cell) -> tuple[str, ...] | None:
    """What the cell of the other direction says."""
    methods = rows.get(cell.column, ())
    return methods[cell.row] if cell.row < len(methods) else None


def _linked(paths: list[Path]) -> list[Path]:
    """With the other end's link layer for what is only known to be verbs: queue pairs connect equal link layers.

    Between two hosts, where all that one of them says has one link layer. A path without ``b`` is to the only other
    host there is.
    """
    ends: dict[frozenset[str | None], dict[str, set[str]]] = {}
    for path in paths:
        if path.a != path.b:
            ends.setdefault(_ends_of(path), {}).setdefault(path.a, set()).add(path.word)

    def word(path: Path) -> str:
        if path.word != "rdma" or path.a == path.b:
            return path.word
        others = [found for host, found in ends[_ends_of(path)].items() if host != path.a]
        known = next((found for found in others if len(found) == 1), {path.word})
        return next(iter(known)) if known <= words.LINK_LAYERS else path.word

    return [path._replace(word=word(path)) for path in paths]


def _against(paths: Sequence[Path], others: Iterable[Path]) -> list[Path]:
    """Of others those that say TCP where all of these say RDMA, or the other way round."""
    known = {path.word for path in paths if path.b is None}
    opposite = words.RDMA if known <= _BY_TCP else _BY_TCP if known <= words.RDMA else frozenset()
    return [path for path in others if path.word in opposite]


def _ends_of(path: Path) -> frozenset[str | None]:
    return frozenset((None,)) if path.b is None else frozenset((path.a, path.b))


def has_mxm(process: MpiProcess) -> bool:
    """Whether a process has chosen Mellanox's MXM, as its pml or below pml cm."""
    pml, mtl = process.pml, process.mtl
    return pml is not None and (pml[0] == "yalla" or (pml[0] == "cm" and mtl is not None and mtl[0] == "mxm"))


def _carrier(uses: list[BtlUse]) -> BtlUse | None:
    """The module that carries the data to a peer: the used one of the highest exclusivity."""
    used = [use for use in uses if use.better is None]
    return max(used, key=lambda use: words.BTLS.get(use.btl, ("unknown", 0))[1], default=None)


def _kind(endpoint: Endpoint, lanes: list[ucx.Lane]) -> str:
    """Whether an endpoint leads to the process itself, to its host, or to another (or any, without shared memory)."""
    if not lanes or endpoint.scope == "self" or lanes[0].transport == "self":
        return "self"
    if endpoint.scope is not None:
        return "same-host" if endpoint.scope == "intra-node" else "other-host"
    if _has_copies(lanes):
        return "same-host"
    return "same-host" if words.of_ucx(lanes[0].transport, lanes[0].device) == "shm" else "other-host"


def _has_copies(lanes: Iterable[ucx.Lane]) -> bool:
    """Whether one process reads another's memory, which it can on its own host only."""
    return any(lane.transport in UCX_COPIES for lane in lanes)
