"""The facts about an MPI job's data path, by process and by run: Open MPI's, and UCX's below any MPI."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from ibkit.parsers import openmpi, ucx
from ibkit.parsers.job_facts import Cut, Failure, Provider, Setting, Version
from ibkit.transport import words
from ibkit.transport.evidence import File, Mark
from ibkit.transport.links import Links
from ibkit.transport.logs.processes import Process
from ibkit.transport.logs.versions import MAX_TOLD, Told

#: Uses of a lane that carry data; keep-alive, wire-up and connection management do not.
_DATA_USES = frozenset(
    ("tag", "am", "am_bw", "rma", "rma_bw", "rma_am", "amo", "amo_am", "stream", "rkey_ptr"),
)  # fmt: skip
#: Which use tells the lane of small messages, best first.
_MAIN_USES = ("tag", "am", "stream", "rma", "rma_am", "rma_bw", "am_bw")


#: Kinds of endpoints with one number that are told apart.
_MAX_KINDS = 20
#: Lines of Open MPI and UCX that tell transports.
_OWN_WORDS = ("mca: bml", "select: ", "UCX ", "cfg", "mtl:", "openib: ")


class Endpoint:
    """One kind of endpoint of one process, as its lines tell it: its lanes, or which lanes carry which sizes."""

    def __init__(self, scope: str | None, mark: Mark) -> None:
        self.scope = scope
        self.mark = mark
        #: The line of the title of the table that tells it.
        self.table: int | None = None
        self.lanes: list[ucx.Lane] = []
        self.rows: list[list[ucx.Lane]] = []

    def data_lanes(self) -> list[ucx.Lane]:
        """The lanes that carry data, that of small messages first."""
        if not self.lanes and self.rows:
            return self.rows[0]
        data = [lane for lane in self.lanes if lane.use in _DATA_USES]
        for use in _MAIN_USES:
            main = next((lane for lane in data if lane.use == use), None)
            if main is not None:
                return [main, *(lane for lane in data if lane is not main)]
        return data


class BtlUse(NamedTuple):
    """A btl line: the module, its peer's host, where it stands, and the module that is better, if any."""

    btl: str
    node: str | None
    mark: Mark
    better: str | None


class MpiProcess(Process):
    """What one process said of itself."""

    def __init__(self, host: str | None, pid: int | None, mark: Mark) -> None:
        super().__init__(host, pid, mark)
        #: How many had this host and pid before: containers use pids again.
        self.generation = 0
        self.rank: int | None = None
        self.family: int | None = None
        #: Of its family: what is spawned is a job of its own, with ranks from 0.
        self.job: int | None = None
        self.pml: tuple[str, Mark] | None = None
        self.mtl: tuple[str, Mark] | None = None
        self.provider: tuple[str, Mark] | None = None
        #: Of its libfabric provider.
        self.domain: tuple[str, Mark] | None = None
        self.support: tuple[str, Mark] | None = None
        #: Whether pml ucx was not to use what UCX offers of verbs.
        self.is_refused_verbs = False
        #: By the peer's job and rank.
        self.btls: dict[tuple[int, int], list[BtlUse]] = {}
        #: Of its last line about a btl, unless it began again since.
        self.last_peer: tuple[int, int] | None = None
        #: Where it has said again that it sends to itself: it was started anew, or its lines stand in the log twice.
        self.again: Mark | None = None
        #: Whether a launcher's command line stands before that: it was started anew.
        self.is_relaunched = False
        #: The one before it whose lines it has repeated; repetitions are lost, but for those that tell of a start.
        self.repeated: MpiProcess | None = None
        self.openib: list[tuple[str, Mark]] = []
        self.interfaces: set[str] = set()
        self.endpoints: dict[tuple[str | None, int], list[Endpoint]] = {}
        self.components: dict[str, dict[str, Mark]] = {}
        self.is_cut = False

    def repeats(self, fact: openmpi.OpenMpiFact | ucx.UcxFact) -> bool:
        """Whether it has told already that it sends to itself, or this row of a table: what tells of a start, whose
        other lines are lost as repetitions. What follows may be a later process's.
        """
        match fact:
            case openmpi.Btl(btl="self"):
                return (fact.job, fact.peer) in self.btls
            case ucx.EndpointConfig(table=int()):
                told = self.endpoints.get((fact.context, fact.number), [])
                return any(set(fact.lanes) <= set(endpoint.lanes) for endpoint in told)
        return False

    def follow(self, earlier: MpiProcess) -> None:
        """Be the next one after this that has its host and pid, from where that seemed to begin again."""
        self.generation = earlier.generation + 1
        if earlier.again is not None and earlier.again.order == self.first.order:
            self.first = earlier.again
            self.repeated = earlier
            self.rank, self.family, self.job = earlier.rank, earlier.family, earlier.job

    @property
    def is_openmpis(self) -> bool:
        """Whether it has said what only Open MPI's processes do."""
        return bool(self.pml or self.btls or self.mtl or self.openib or self.support)

    @property
    def every_endpoint(self) -> Iterator[Endpoint]:
        """All kinds of endpoints."""
        return chain.from_iterable(self.endpoints.values())

    def endpoint(self, fact: ucx.EndpointConfig | ucx.ProtocolRow, mark: Mark) -> Endpoint:
        """The kind of endpoint that a fact is about, the last one with its number. Each table is about its own."""
        told = self.endpoints.setdefault((fact.context, fact.number), [])
        table = fact.table if isinstance(fact, ucx.EndpointConfig) else None
        if not told or (table is not None and told[-1].table not in (None, table) and len(told) < _MAX_KINDS):
            told.append(Endpoint(fact.scope, mark))
        told[-1].table = table or told[-1].table
        return told[-1]

    def add_lanes(self, fact: ucx.EndpointConfig, mark: Mark) -> None:
        """Lanes of a kind of endpoint. Other ones with the same number and for the same use are another kind: of
        another worker, or of a later process that has the pid again.
        """
        endpoint = self.endpoint(fact, mark)
        if fact.table is not None or not endpoint.lanes:
            endpoint.lanes += fact.lanes
            return
        told = self.endpoints[fact.context, fact.number]
        lanes = list(fact.lanes)
        is_known = any(lanes == one.lanes or lanes[0].use != one.lanes[0].use for one in told)
        if not is_known and len(told) < _MAX_KINDS:
            told.append(Endpoint(fact.scope, mark))
            told[-1].lanes = lanes

    def contradicts(self, fact: openmpi.Btl, is_next: bool) -> bool:
        """Whether another process must have said this: of two modules to one peer the one of lower exclusivity is not
        used, and is asked last (bml_r2.c). One behind the other in the wrong order may be one process's all the same:
        next to each other in the log, or among its own lines where it has told that it began.
        """
        if fact.better is not None or fact.btl not in words.BTLS:
            return False
        peer = fact.job, fact.peer
        used = {use.btl for use in self.btls.get(peer, ()) if use.better is None} & words.BTLS.keys()
        rank = words.BTLS[fact.btl][1]
        if any(words.BTLS[btl][1] > rank for btl in used):
            return True
        if all(words.BTLS[btl][1] == rank for btl in used):
            return False
        has_begun = any(use.btl == "self" for uses in self.btls.values() for use in uses)
        return peer != self.last_peer or not (is_next or has_begun)

    def has_told(self, fact: openmpi.OpenMpiFact | ucx.UcxFact) -> bool:
        """Whether it has said this of itself already, in these words or in others, or what comes after it."""
        match fact:
            case openmpi.Btl():
                return (fact.job, fact.peer) in self.btls or bool(self.mtl or self.endpoints)
            case openmpi.Pml():
                return self.pml is not None or bool(self.btls or self.mtl or self.endpoints)
            case openmpi.Mtl():
                return self.mtl is not None or bool(self.btls or self.endpoints)
            case openmpi.OfiProvider():
                return self.provider is not None or bool(self.btls or self.endpoints)
            case openmpi.UcxSupport():
                return self.support is not None or bool(self.btls or self.mtl or self.endpoints)
            case openmpi.OpenibPort():
                return bool(self.btls or self.mtl or self.endpoints)
            case openmpi.Component():
                return fact.name in self.components.get(fact.framework, ())
            case ucx.EndpointConfig() | ucx.ProtocolRow():
                return (fact.context, fact.number) in self.endpoints or bool(self.btls or self.mtl)
        return False


class Evidence:
    """Takes the facts of all logs of a target."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.processes: list[MpiProcess] = []
        self.by_key: dict[tuple[str | None, int | None], MpiProcess] = {}
        self.tables: list[tuple[openmpi.CommMethod, File, Mark]] = []
        self.versions: list[Told] = []
        self.settings: list[tuple[Setting, Mark]] = []
        self.failures: list[tuple[Failure, Mark]] = []
        #: The runtimes whose lines are recognised only, in the order that they spoke first.
        self.foreign: list[str] = []
        self.providers: list[tuple[str, Mark]] = []
        #: What psm3 stands on, by host.
        self.psm3: dict[str | None, tuple[str, Mark]] = {}
        self.installed: dict[str, dict[str, Mark]] = {}
        self._nameless: MpiProcess | None = None
        #: Who said the last line about a module in use.
        self._last_use: MpiProcess | None = None
        self._launch: Mark | None = None

    def add(self, fact: openmpi.OpenMpiFact | ucx.UcxFact, file: File) -> None:
        """Take one fact."""
        mark = file.mark(fact.said)
        if isinstance(fact, Version):
            if len(self.versions) < MAX_TOLD:
                self.versions.append(Told(fact.runtime, fact.version, mark, fact.said.pid))
        elif isinstance(fact, Setting):
            if len(self.settings) < 10_000:
                self.settings.append((fact, mark))
        elif isinstance(fact, Failure):
            self._fail(fact, mark)
        elif isinstance(fact, openmpi.CommMethod):
            self.tables.append((fact, file, mark))
        elif isinstance(fact, ucx.DeviceLink):
            self.links.add(fact.said.host or "", fact.device, fact.link, mark)
        elif fact.said.pid is None:
            self._of_nobody(fact, mark)
        else:
            self._of_process(fact, mark)

    def launch(self, mark: Mark) -> None:
        """A launcher's command line."""
        self._launch = mark

    def add_psm3(self, fact: Provider, file: File) -> None:
        """Below libfabric's provider psm3 stands this one."""
        self.psm3[fact.said.host] = fact.provider, file.mark(fact.said)

    def cut(self, fact: Cut, file: File) -> None:
        """A process is there, whatever it said."""
        mark = file.mark(fact.said)
        if any(word in mark.text for word in _OWN_WORDS):
            process = self._process(fact.said.host, fact.said.pid, mark)
            process.saw(mark)
            process.is_cut = True

    def _fail(self, fact: Failure, mark: Mark) -> None:
        if len(self.failures) < 10_000:
            self.failures.append((fact, mark))

    def _of_nobody(self, fact: openmpi.OpenMpiFact | ucx.UcxFact, mark: Mark) -> None:
        if isinstance(fact, openmpi.OfiProvider):
            self.providers.append((fact.provider, mark))
        elif isinstance(fact, openmpi.Installed):
            self.installed.setdefault(fact.framework, {}).setdefault(fact.name, mark)
        elif isinstance(fact, ucx.EndpointConfig) and fact.table is None:
            self._of_nameless(fact, mark)

    def _of_nameless(self, fact: ucx.EndpointConfig, mark: Mark) -> None:
        """A line whose head somebody cut off: of which process it was, and of how many, is not known."""
        if self._nameless is None:
            self._nameless = MpiProcess(None, None, mark)
            self.processes.append(self._nameless)
        self._nameless.saw(mark)
        if len(self._nameless.endpoints) < 100:
            self._nameless.add_lanes(fact, mark)

    def _process(
        self, host: str | None, pid: int | None, mark: Mark, fact: openmpi.OpenMpiFact | ucx.UcxFact | None = None
    ) -> MpiProcess:
        """The process with this host and pid, a new one where the fact cannot be of the last one that had them."""
        process = self.by_key.get((host, pid))
        if process is None or (fact is not None and self._is_anothers(process, fact, mark)):
            earlier = process
            process = self.by_key[host, pid] = MpiProcess(host, pid, mark)
            if earlier is not None:
                process.follow(earlier)
            self.processes.append(process)
        return process

    def _is_anothers(self, process: MpiProcess, fact: openmpi.OpenMpiFact | ucx.UcxFact, mark: Mark) -> bool:
        """Containers use pids again: another job family, or what the process has told already and a launcher's command
        line in between, or a module that it cannot use beside those that it has told, is another process.
        """
        family = getattr(fact, "family", None)
        if family is not None and process.family not in (None, family):
            return True
        if isinstance(fact, openmpi.Btl) and (
            process.is_relaunched or process.contradicts(fact, self._last_use is process)
        ):
            return not process.repeats(fact)
        return self._is_launched_since(process.last, mark) and process.has_told(fact) and not process.repeats(fact)

    def _is_launched_since(self, last: Mark, mark: Mark) -> bool:
        launch = self._launch
        return launch is not None and last.order == launch.order == mark.order and last.line < launch.line < mark.line

    def _of_process(self, fact: openmpi.OpenMpiFact | ucx.UcxFact, mark: Mark) -> None:
        said = fact.said
        process = self._process(said.host, said.pid, mark, fact)
        if process.repeats(fact):
            process.again = mark
            process.is_relaunched |= self._is_launched_since(process.last, mark)
            process.last_peer = None
            if isinstance(fact, openmpi.Btl):
                return
        else:
            process.saw(mark)
        if said.rank is not None and process.rank is None:
            process.rank = said.rank
        match fact:
            case openmpi.Btl():
                process.family = process.family or fact.family
                peer = fact.job, fact.peer
                uses = process.btls.setdefault(peer, [])
                if process.job is None or fact.btl == "self":
                    process.job = fact.job
                if len(uses) < 20:
                    uses.append(BtlUse(fact.btl, fact.node, mark, fact.better))
                if fact.better is None:
                    self._last_use = process
                    process.last_peer = peer
                if fact.btl == "self" and fact.better is None:
                    process.rank = fact.peer
            case openmpi.Pml():
                process.family = process.family or fact.family
                process.pml = process.pml or (fact.component, mark)  # osc says the same of a window, later (5.0)
            case openmpi.Mtl():
                process.mtl = fact.component, mark
            case openmpi.OfiProvider():
                if process.provider is not None:
                    process.domain = process.domain or (fact.provider, mark)  # 4.1
                elif words.of_provider(fact.provider) != "unknown" or fact.provider == "psm3":
                    process.provider = fact.provider, mark
            case openmpi.OfiDomain():
                process.domain = fact.name, mark
            case openmpi.TcpInterface():
                process.interfaces.add(fact.name)
            case openmpi.OpenibPort():
                process.openib.append((fact.device, mark))
            case openmpi.UcxSupport():
                process.support = fact.level, mark
            case openmpi.UcxRefused():
                process.is_refused_verbs |= words.of_ucx(fact.transport, fact.device) in words.RDMA
            case openmpi.Component():
                process.components.setdefault(fact.framework, {}).setdefault(fact.name, mark)
            case ucx.EndpointConfig():
                process.add_lanes(fact, mark)
            case ucx.ProtocolRow():
                endpoint = process.endpoint(fact, mark)
                if len(endpoint.rows) < 100:
                    endpoint.rows.append(list(fact.lanes))
