"""NCCL's and RCCL's data path: from what their lines say to a verdict for each run.

What decides, strongest first: channel lines name both ranks and the network (class path); the chosen network decides
for other hosts where all ranks agree (selection). Device lists, settings and failures never decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ibkit.model.mpi import Layer, Pair
from ibkit.parsers import nccl
from ibkit.parsers.base import Problem
from ibkit.parsers.job_facts import Failure, Setting, Version
from ibkit.transport import words
from ibkit.transport.evidence import Book, File, Mark
from ibkit.transport.links import Links
from ibkit.transport.processes import Group, Hosts, Process, unions
from ibkit.transport.reasons import reason_of, reasons

#: More distinct (process, ranks, network) facts than this are only counted by network: memory is bounded.
MAX_CHANNELS = 150_000

#: Names of networks, see facts in docs/check-mpi-transport.md.
_SOCKETS = frozenset(("Socket", "FastSocket"))
_LIBFABRIC = frozenset(("AWS Libfabric", "Libfabric", "OFI"))
_INTERNAL = frozenset(("IB", "Socket"))

NEXT_STEP = "run again with NCCL_DEBUG=INFO on all ranks (NCCL_DEBUG_SUBSYS=INIT,NET,ENV) and keep the whole output"

_CommKey = tuple[str, ...]


class _NcclProcess(Process):
    """What one process said of itself."""

    def __init__(self, host: str | None, pid: int | None, mark: Mark) -> None:
        super().__init__(host, pid, mark)
        self.ranks: dict[_CommKey, set[int]] = {}
        self.comms: dict[str, _CommKey] = {}
        self.networks: dict[str, Mark] = {}
        self.devices: dict[str, tuple[nccl.Devices, Mark]] = {}
        self.virtual: dict[int, tuple[str, ...]] = {}
        self.queue_pairs: dict[int | None, str] = {}
        self.interfaces: dict[str, tuple[str, ...]] = {}
        self.provider: tuple[str, Mark] | None = None
        self.connected: Mark | None = None
        self.initialised: Mark | None = None
        self.first_channel: Mark | None = None


class _Channel(NamedTuple):
    process: int
    source: int
    target: int | None
    speaker: int
    medium: str
    network: str | None
    device: int | None
    detail: str | None
    comm: str | None


class Evidence:
    """Takes the facts of all logs of a target, gives a layer for each run."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._numbers: dict[tuple[str | None, int | None], int] = {}
        self._processes: list[_NcclProcess] = []
        self._channels: dict[_Channel, Mark] = {}
        self._overflow: dict[tuple[str, str | None], tuple[int, Mark]] = {}
        self._members: dict[_CommKey, dict[int, set[int]]] = {}
        self._sizes: dict[_CommKey, int] = {}
        self._map: dict[int, tuple[str, int]] = {}
        self._results: list[Mark] = []
        self._versions: list[tuple[str, str, Mark]] = []
        self._settings: list[tuple[Setting, Mark]] = []
        self._failures: list[tuple[Failure, Mark]] = []
        self.device_mark: Mark | None = None

    def add(self, fact: nccl.NcclFact, file: File) -> None:
        """Take one fact."""
        mark = file.mark(fact.said)
        if isinstance(fact, Version):
            self._versions.append((fact.runtime, fact.version, mark))
        elif isinstance(fact, Setting):
            self._settings.append((fact, mark))
        elif isinstance(fact, Failure):
            self._fail(fact, mark)
        elif isinstance(fact, nccl.RankMap):
            self._map[fact.rank] = fact.host, fact.pid
        elif isinstance(fact, nccl.Connected) and fact.said.pid is None:
            self._results.append(mark)
        else:
            self._of_process(fact, mark)

    def _fail(self, fact: Failure, mark: Mark) -> None:
        if len(self._failures) < 10_000:
            self._failures.append((fact, mark))
        if fact.topic in ("open-device", "stat-device") and self.device_mark is None:
            self.device_mark = mark
        if fact.said.pid is not None:
            self._process(fact.said.host, fact.said.pid, mark)

    def _process(self, host: str | None, pid: int | None, mark: Mark) -> int:
        number = self._numbers.get((host, pid))
        if number is None:
            number = self._numbers[host, pid] = len(self._processes)
            self._processes.append(_NcclProcess(host, pid, mark))
        self._processes[number].saw(mark)
        return number

    def _of_process(self, fact: nccl.NcclFact, mark: Mark) -> None:
        number = self._process(fact.said.host, fact.said.pid, mark)
        process = self._processes[number]
        match fact:
            case nccl.Channel():
                process.first_channel = process.first_channel or mark
                self._channel(number, fact, mark)
            case nccl.RankInit():
                self._init(number, fact, mark)
            case nccl.Network():
                process.networks.setdefault(fact.name, mark)
            case nccl.Devices():
                self._devices(process, fact, mark)
            case nccl.VirtualDevice():
                process.virtual[fact.number] = fact.parts
            case nccl.QueuePair():
                process.queue_pairs[fact.device] = fact.link
            case nccl.Interfaces():
                process.interfaces[fact.network] = fact.names
                if self.device_mark is None and any(words.of_interface(name) == "ipoib" for name in fact.names):
                    self.device_mark = mark
            case nccl.Provider():
                process.provider = process.provider or (fact.name, mark)
            case nccl.Connected():
                process.connected = mark

    def _channel(self, number: int, fact: nccl.Channel, mark: Mark) -> None:
        key = _Channel(
            number, fact.source, fact.target, fact.speaker, fact.medium, fact.network,
            fact.device, fact.detail if fact.medium == "P2P" else None, fact.comm,
        )  # fmt: skip
        if key not in self._channels:
            if len(self._channels) < MAX_CHANNELS:
                self._channels[key] = mark
            else:
                self._overflow.setdefault((fact.medium, fact.network), (number, mark))

    def _init(self, number: int, fact: nccl.RankInit, mark: Mark) -> None:
        process = self._processes[number]
        if fact.comm_id:
            key: _CommKey = ("id", fact.comm_id)
        elif fact.parent and fact.split:
            key = ("split", *process.comms.get(fact.parent, (fact.parent,)), fact.split)
        else:
            key = ("size", str(fact.ranks))
        process.ranks.setdefault(key, set()).add(fact.rank)
        if fact.comm:
            process.comms[fact.comm] = key
        self._members.setdefault(key, {}).setdefault(fact.rank, set()).add(number)
        self._sizes[key] = fact.ranks
        if fact.is_complete:
            process.initialised = mark

    def _devices(self, process: _NcclProcess, fact: nccl.Devices, mark: Mark) -> None:
        self.device_mark = self.device_mark or mark
        known = process.devices.get(fact.network)
        if known is not None and not fact.is_indexed:
            fact = known[0]._replace(names=known[0].names + fact.names, links=known[0].links + fact.links)
        process.devices[fact.network] = fact, mark
        for name, link in zip(fact.names, fact.links, strict=True):
            for part in name.split("+"):
                self._links.add(fact.said.host, part, link, mark)

    # -- runs ----------------------------------------------------------------------------------------------------

    @property
    def spoke(self) -> bool:
        """Whether NCCL said anything that makes it a layer of the job."""
        return bool(self._processes) or any(failure.runtime == "nccl" for failure, _ in self._failures)

    @property
    def processes(self) -> Mapping[tuple[str | None, int | None], int]:
        """The processes that spoke, by host and pid."""
        return self._numbers

    def uses(self, prefix: str) -> bool:
        """Whether a channel goes by a network whose name starts so."""
        return any((channel.network or "").startswith(prefix) for channel in self._channels)

    def layers(self, book: Book, judge: Judge) -> tuple[list[Layer], list[Problem]]:
        """One layer for each run, in the order of the log."""
        if not self.spoke:
            return [], []
        self._mend_names()
        groups = self._groups()
        layers, problems = [], []
        for job, group in enumerate(groups, 1):
            run = _Run(self, group, job, groups, judge)
            layers.append(run.layer(book))
            problems += run.problems
        return layers, problems

    def _mend_names(self) -> None:
        """A name that is glued to another process's text ends in the real one: the process with that pid."""
        for (host, pid), number in list(self._numbers.items()):
            for (other, other_pid), real in self._numbers.items():
                if host and other and pid == other_pid and host != other and host.endswith(other):
                    self._processes[number].host = self._processes[real].host
                    break

    def _groups(self) -> list[Group[_NcclProcess]]:
        """Processes of one communicator are one run; runs are told apart only where that is certain.

        Certain is: one is over before the other begins, and both have the same rank of their largest communicator.
        """
        pairs = [
            (min(numbers), number)
            for key, members in self._members.items()
            if key[0] != "size"
            for numbers in [set().union(*members.values())]
            for number in numbers
        ]
        roots = unions(pairs, len(self._processes))
        by_root: dict[int, list[int]] = {}
        for number, root in enumerate(roots):
            by_root.setdefault(root, []).append(number)
        runs: list[list[int]] = []
        for members_ in sorted(by_root.values(), key=lambda numbers: self._start(numbers)):
            same = next((run for run in runs if not self._apart(run, members_)), None)
            if same is None:
                runs.append(list(members_))
            else:
                same += members_
        return [Group(self._processes[number] for number in run) for run in runs]

    def _start(self, numbers: Iterable[int]) -> tuple[int, int]:
        return min((self._processes[n].first.order, self._processes[n].first.line) for n in numbers)

    def _apart(self, one: list[int], other: list[int]) -> bool:
        mine, theirs = self._world_ranks(one), self._world_ranks(other)
        if not mine or not theirs or not {(r, n) for r, n in mine} & {(r, n) for r, n in theirs}:
            return False
        first = Group(self._processes[n] for n in one)
        second = Group(self._processes[n] for n in other)
        return first.ends_before(second) or second.ends_before(first) or not self._share_files(one, other)

    def _share_files(self, one: list[int], other: list[int]) -> bool:
        return bool({self._processes[n].first.order for n in one} & {self._processes[n].first.order for n in other})

    def _world_ranks(self, numbers: list[int]) -> set[tuple[int, int]]:
        """Rank and size of the largest communicator of these processes."""
        keys = {key for n in numbers for key in self._processes[n].ranks}
        if not keys:
            return set()
        size = max(self._sizes[key] for key in keys)
        return {
            (rank, size)
            for n in numbers
            for key, ranks in self._processes[n].ranks.items()
            if self._sizes[key] == size
            for rank in ranks
        }


class Judge(NamedTuple):
    """What other parts of the answer know: a sign that hosts have HCAs, what UCX lines say of a process (for the UCX
    plugin), and settings from elsewhere (command lines, environment files).
    """

    device: Mark | None
    ucx: Mapping[tuple[str | None, int | None], tuple[str, Mark]]
    settings: list[tuple[Setting, Mark]]
    expected_hosts: int | None = None
    without_hca: frozenset[str] = frozenset()
    has_port: bool = False


class _Path(NamedTuple):
    """One channel, resolved: the word for its transport and the peer's host, None where it cannot be told."""

    word: str
    process: int
    peer: int | None
    peer_host: str | None
    ranks: tuple[int, int] | None
    mark: Mark
    is_network: bool


class _Run:
    """One run: its pairs, verdict, status and reasons."""

    def __init__(
        self, all_: Evidence, group: Group[_NcclProcess], job: int, groups: list[Group[_NcclProcess]], judge: Judge
    ) -> None:
        self._all = all_
        self._group = group
        self._job = job
        self._judge = judge
        self._numbers = {number for number, p in enumerate(all_._processes) if p in group.processes}
        self._is_only = len(groups) == 1
        self._span = _span(group)
        self._earlier = [_span(other) for other in groups[: job - 1]]
        self.problems: list[Problem] = []
        self._hosts = Hosts(
            host for host in (*group.hosts, *(host for host, _ in all_._map.values())) if host is not None
        )
        self._speakers = self._speaking_ranks()
        self._links_by_host: dict[str | None, str] = {}

    # -- what belongs to this run

    def _mine(self, mark: Mark, pid: int | None, host: str | None) -> bool:
        """Whether a line without a process belongs here: after the run before, up to this one's last line."""
        if self._is_only:
            return True
        number = self._all._numbers.get((host, pid))
        if pid is not None and number is not None:
            return number in self._numbers
        spans = self._span.get(mark.order)
        if spans is None:
            return False
        before = max((span[mark.order][1] for span in self._earlier if mark.order in span), default=0)
        return before < mark.line <= spans[1]

    def _settings(self) -> Iterator[tuple[Setting, Mark]]:
        for setting, mark in (*self._all._settings, *self._judge.settings):
            if setting.runtime == "nccl" and (
                setting.said.pid is None or self._mine(mark, setting.said.pid, setting.said.host)
            ):
                yield setting, mark

    def _failures(self) -> Iterator[tuple[Failure, Mark]]:
        for failure, mark in self._all._failures:
            if self._mine(mark, failure.said.pid, failure.said.host):
                yield failure, mark

    # -- ranks and hosts

    def _speaking_ranks(self) -> dict[int, set[int]]:
        """Which processes print channel lines as which rank; helps where no line tells a communicator's members."""
        speaking: dict[int, set[int]] = {}
        for channel in self._all._channels:
            if channel.process in self._numbers:
                speaking.setdefault(channel.speaker, set()).add(channel.process)
        return speaking

    def _sizes(self) -> list[int]:
        return [self._all._sizes[key] for number in self._numbers for key in self._all._processes[number].ranks]

    def ranks(self) -> int | None:
        """How many ranks the run has, by its own word."""
        sizes = self._sizes()
        if sizes:
            return max(sizes)
        if self._all._map and self._is_only:
            return max(self._all._map) + 1
        named = {
            rank
            for channel in self._all._channels
            if channel.process in self._numbers
            for rank in (channel.source, channel.target)
            if rank is not None
        }
        return max(named) + 1 if named else None

    def _world(self, number: int) -> int | None:
        """The rank of a process in the largest communicator."""
        process, size = self._all._processes[number], max(self._sizes(), default=0)
        ranks = {rank for key, found in process.ranks.items() if self._all._sizes[key] == size for rank in found}
        return next(iter(ranks)) if len(ranks) == 1 else None

    def _seen_ranks(self) -> int:
        """How many ranks of the run spoke here."""
        world = {self._world(number) for number in self._numbers} - {None}
        return max(len(world), len(self._speakers))

    def _peer(self, channel: _Channel) -> tuple[set[int], bool]:
        """Processes that may be the other end, and whether the communicator's members are known."""
        process = self._all._processes[channel.process]
        other = channel.target if channel.speaker == channel.source else channel.source
        if other is None:
            return set(), False
        if channel.comm and channel.comm in process.comms:
            keys = [process.comms[channel.comm]]
        else:
            keys = [key for key, ranks in process.ranks.items() if channel.speaker in ranks]
        found: set[int] = set()
        for key in keys:
            found |= self._all._members.get(key, {}).get(other, set()) & self._numbers
        if not found and (at := self._all._map.get(other)) and self._is_only:
            number = next((n for n in self._numbers if self._is_at(n, *at)), None)
            found = set() if number is None else {number}
        if not found and not keys:
            found = self._speakers.get(other, set()) - {channel.process}
        return found - {channel.process}, bool(keys)

    def _is_at(self, number: int, host: str, pid: int) -> bool:
        process = self._all._processes[number]
        return process.pid == pid and process.host is not None and self._hosts[process.host] == self._hosts[host]

    # -- transports

    def _verbs_word(self, process: _NcclProcess, network: str, device: int | None) -> str:
        """The link layer of NIC ``device`` of this process's host."""
        listed = process.devices.get(network) or process.devices.get("IB")
        if listed is not None and device is not None and listed[0].is_indexed:
            names, links = listed[0].names, listed[0].links
            if parts := process.virtual.get(device):
                kinds = {link for name, link in zip(names, links, strict=True) if name.rsplit(":", 1)[0] in parts}
                if len(kinds) == 1:
                    return _LINK_WORDS.get(kinds.pop(), "rdma")
            elif device < len(links):
                return _LINK_WORDS.get(links[device], "rdma")
        if device in process.queue_pairs:
            return _LINK_WORDS[process.queue_pairs[device]]
        return self._uniform(process)

    def _uniform(self, process: _NcclProcess) -> str:
        """The host's link layer where all its NICs have the same one."""
        same_host = [p for p in self._group.processes if p.host == process.host]
        kinds = {link for p in same_host for listed, _ in p.devices.values() for link in listed.links}
        kinds |= {link for p in same_host for link in p.queue_pairs.values()}
        if len(kinds) == 1:
            return _LINK_WORDS.get(kinds.pop(), "rdma")
        return self._links_by_host.get(process.host, "rdma") if not kinds else "rdma"

    def _word(self, number: int, network: str, device: int | None) -> str:
        """The word for a network of one process."""
        process = self._all._processes[number]
        if network in _SOCKETS:
            names = process.interfaces.get(network) or self._of_host(process, network)
            if device is not None and device < len(names):
                return words.of_interface(names[device])
            return words.combine(words.of_interface(name) for name in names) if names else "tcp"
        if network == "IB" or network.startswith("IBext") or network in process.devices or network == "SHARP":
            return self._verbs_word(process, network, device)
        if network in _LIBFABRIC:
            provider = process.provider or next((p.provider for p in self._group.processes if p.provider), None)
            return words.of_provider(provider[0]) if provider else "unknown"
        if network.startswith("UCX"):
            found = self._judge.ucx.get((process.host, process.pid))
            return found[0] if found else "unknown"
        return "unknown"

    def _of_host(self, process: _NcclProcess, network: str) -> tuple[str, ...]:
        lists = {
            p.interfaces[network] for p in self._group.processes if p.host == process.host and network in p.interfaces
        }
        return lists.pop() if len(lists) == 1 else ()

    def _paths(self) -> list[_Path]:
        channels = [(c, m) for c, m in self._all._channels.items() if c.process in self._numbers]
        resolved = [(channel, mark, *self._peer(channel)) for channel, mark in channels]
        self._spread_links(resolved)
        return [self._path(channel, mark, peers, known) for channel, mark, peers, known in resolved]

    def _path(self, channel: _Channel, mark: Mark, peers: set[int], known: bool) -> _Path:
        process = self._all._processes[channel.process]
        is_network = channel.medium in ("NET", "COLLNET")
        word = self._word(channel.process, channel.network or "", channel.device) if is_network else "shm"
        hosts = {self._all._processes[number].host for number in peers}
        peer_host = next(iter(hosts)) if len(hosts) == 1 else None
        if (not is_network and channel.detail is not None and "MNNVL" not in channel.detail) or channel.medium == "SHM":
            peer_host = process.host
        peer = next(iter(peers)) if len(peers) == 1 else None
        return _Path(word, channel.process, peer, peer_host, self._rank_pair(channel, peer), mark, is_network)

    def _rank_pair(self, channel: _Channel, peer: int | None) -> tuple[int, int] | None:
        """World ranks, this process's first. Ranks of a smaller communicator are not passed off as such."""
        other = channel.target if channel.speaker == channel.source else channel.source
        if other is None:
            return None
        if len(set(self._sizes())) <= 1:
            return channel.speaker, other
        mine, theirs = self._world(channel.process), self._world(peer) if peer is not None else None
        return (mine, theirs) if mine is not None and theirs is not None else None

    def _spread_links(self, resolved: list[tuple[_Channel, Mark, set[int], bool]]) -> None:
        """Queue pairs connect equal link layers only: a host without a device list has those of all its peers."""
        while True:
            found: dict[str | None, set[str]] = {}
            for channel, _, peers, _ in resolved:
                process = self._all._processes[channel.process]
                if channel.medium != "NET" or not (channel.network or "").startswith("IB") or not peers:
                    continue
                if self._uniform(process) == "rdma" and not process.devices:
                    kinds = {self._uniform(self._all._processes[number]) for number in peers}
                    found.setdefault(process.host, set()).update(kinds)
            news = {
                host: kinds.pop()
                for host, kinds in found.items()
                if len(kinds) == 1 and kinds != {"rdma"} and host not in self._links_by_host
            }
            if not news:
                return
            self._links_by_host.update(news)

    # -- the answer

    def layer(self, book: Book) -> Layer:
        """The run's layer."""
        paths = self._paths()
        runtime, version = self._version()
        hosts = tuple(self._hosts.all((*self._group.hosts, *(self._map_hosts()))))
        verdict, next_step, pairs = self._verdict(paths, hosts, book)
        failures = list(self._failures())
        ended = self._ended([mark for failure, mark in failures if failure.is_fatal], version)
        if ended and not self._established(version):
            verdict, pairs, next_step = "none", (), None
        status, why, undecided_step = self._status(verdict, hosts, failures, bool(ended))
        return Layer(
            "nccl", verdict, status, self._job, runtime, version, hosts, self.ranks(), pairs,
            reasons(why, book), next_step or undecided_step,
        )  # fmt: skip

    def _map_hosts(self) -> Iterator[str]:
        if self._is_only:
            yield from (host for _, (host, _) in sorted(self._all._map.items()))

    def _version(self) -> tuple[str, str | None]:
        found = [v for v in self._all._versions if self._mine(v[2], None, None)] or self._all._versions
        if not found:
            return "NCCL", None
        names = {name for name, _, _ in found}
        return ("RCCL" if "RCCL" in names else "NCCL"), found[0][1]

    def _verdict(
        self, paths: list[_Path], hosts: tuple[str, ...], book: Book
    ) -> tuple[str, str | None, tuple[Pair, ...]]:
        network = [path for path in paths if path.is_network]
        overflow = {key: at for key, at in self._all._overflow.items() if at[0] in self._numbers}
        if network or any(medium != "P2P" and medium != "SHM" for medium, _ in overflow):
            found = {path.word for path in network}
            for (medium, name), (number, mark) in overflow.items():
                if medium in ("NET", "COLLNET"):
                    found.add(self._word(number, name or "", None))
                    book.cite(mark, "path", self._word(number, name or "", None))
            if overflow:
                text = f"more than {MAX_CHANNELS} different channel lines: the list of pairs is not whole"
                self.problems.append(Problem("many-channels", text))
            pairs = self._pairs(paths, book)
            verdict = self._combine_paths(network, found)
            return verdict, NEXT_STEP if verdict == "unknown" else None, pairs
        if paths:
            return self._local_verdict(paths, hosts, book)
        return self._selected(hosts, book)

    @staticmethod
    def _combine_paths(network: list[_Path], found: set[str]) -> str:
        return words.combine(found)

    def _pairs(self, paths: list[_Path], book: Book) -> tuple[Pair, ...]:
        """Host pairs with the rank pairs that were named; a path whose other end is not known is only cited."""
        rows: dict[tuple[str, str], dict[str, list[_Path]]] = {}
        for path in paths:
            mine = self._all._processes[path.process].host
            if mine is None or path.peer_host is None:
                if path.is_network:
                    rows.setdefault(("", ""), {}).setdefault(path.word, []).append(path)
                continue
            a, b = sorted((self._hosts[mine], self._hosts[path.peer_host]))
            rows.setdefault((a, b), {}).setdefault(path.word, []).append(path)
        for by_word in [rows.pop(("", ""), {})]:
            for word, found in by_word.items():
                book.cite(found[0].mark, "path", word)
        return tuple(
            Pair(a, b, words.combine(by_word), self._rank_pairs(a, by_word), self._cite(by_word, book))
            for (a, b), by_word in sorted(rows.items())
        )

    def _rank_pairs(self, a: str, by_word: Mapping[str, list[_Path]]) -> tuple[tuple[int, int], ...]:
        """Sorted, with the rank on host ``a`` first; on one host the smaller first."""
        found = set()
        for paths in by_word.values():
            for path in paths:
                if path.ranks is None:
                    continue
                mine = self._all._processes[path.process].host
                is_local = mine == path.peer_host
                is_first = mine is not None and self._hosts[mine] == a
                ranks = path.ranks
                found.add(tuple(sorted(ranks)) if is_local else ranks if is_first else ranks[::-1])
        return tuple(sorted(found))  # type: ignore[arg-type]

    @staticmethod
    def _cite(by_word: Mapping[str, list[_Path]], book: Book) -> tuple[int, ...]:
        """At most two lines for each transport: one from either end."""
        cited = []
        for word, paths in by_word.items():
            speakers: dict[int, _Path] = {}
            for path in paths:
                speakers.setdefault(path.process, path)
                if len(speakers) == 2:
                    break
            cited += [book.cite(path.mark, "path", word) for path in speakers.values()]
        return tuple(cited)

    def _local_verdict(
        self, paths: list[_Path], hosts: tuple[str, ...], book: Book
    ) -> tuple[str, str | None, tuple[Pair, ...]]:
        """Only P2P and shared memory: a run on one host, unless ranks are missing that could be elsewhere."""
        pairs = self._pairs(paths, book)
        between = [pair for pair in pairs if pair.a != pair.b]
        silent = (self.ranks() or 0) - self._seen_ranks()
        if between or (silent <= 0 and (len(hosts) <= 1 or self._are_comms_local())):
            return "shm", None, pairs
        if len(hosts) > 1:
            return "unknown", NEXT_STEP, pairs
        self._tell_silent(silent)
        return "unknown", NEXT_STEP, pairs

    def _are_comms_local(self) -> bool:
        """Whether each communicator of the run has all its members on one host."""
        keys = {key for number in self._numbers for key in self._all._processes[number].ranks}
        for key in keys:
            members = self._all._members[key]
            hosts = {self._all._processes[n].host for numbers in members.values() for n in numbers}
            if len(hosts) != 1 or len(members) != self._all._sizes[key] or key[0] == "size":
                return False
        return bool(keys)

    def _tell_silent(self, silent: int) -> None:
        ranks = self.ranks()
        text = f"{silent} of {ranks} ranks said nothing here; what they used is not known"
        self.problems.append(Problem("silent-ranks", text))

    def _selected(self, hosts: tuple[str, ...], book: Book) -> tuple[str, str | None, tuple[Pair, ...]]:
        """No channel line: the chosen network speaks for other hosts, if all ranks chose the same."""
        chosen = {
            number: process.networks
            for number in self._numbers
            for process in [self._all._processes[number]]
            if process.networks
        }
        ranks, speaking = self.ranks(), max(len(chosen), 0)
        is_whole = ranks is None or max(self._seen_ranks(), speaking) >= ranks
        is_one_host = len(hosts) == 1 or self._judge.expected_hosts == 1
        if is_one_host and ranks is not None and is_whole and not self._is_local_off():
            return "shm", None, ()
        if not chosen or is_one_host or not hosts:
            return "unknown", NEXT_STEP, ()
        found: dict[str, list[tuple[int, Mark]]] = {}
        for number, networks in chosen.items():
            for name, mark in networks.items():
                found.setdefault(self._word(number, name, None), []).append((number, mark))
        names = {name for networks in chosen.values() for name in networks}
        cited = tuple(
            book.cite(mark, "selection", word)
            for word, marks in found.items()
            for mark in list({self._all._processes[n].host: m for n, m in reversed(marks)}.values())[:4]
        )
        if not is_whole:
            self._tell_silent((ranks or 0) - speaking)
            return "unknown", NEXT_STEP, ()
        verdict = words.combine(found)
        if len(names) > 1 and words.combine(found) != "unknown":
            verdict = words.combine(found)
        if verdict == "unknown":
            return "unknown", NEXT_STEP, ()
        if len(hosts) == 2 and verdict != "mixed":
            a, b = sorted(hosts)
            return verdict, None, (Pair(a, b, verdict, (), cited),)
        return verdict, None, ()

    def _is_local_off(self) -> bool:
        """Whether P2P and shared memory are both switched off, so that ranks on one host use the network."""
        off = {setting.name for setting, _ in self._settings() if setting.value not in ("0", "")}
        return {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"} <= off

    # -- the end of a run that failed

    def _established(self, version: str | None) -> bool:
        """Whether any rank had its connections: NCCL says so; until 2.21 it connects before the initialisation ends."""
        if any(self._mine(mark, None, None) for mark in self._all._results):
            return True
        return any(self._is_connected(process) is not None for process in self._group.processes)

    @staticmethod
    def _is_connected(process: _NcclProcess) -> Mark | None:
        if process.connected is not None:
            return process.connected
        done = process.initialised
        if done is not None and process.first_channel is not None and process.first_channel.is_before(done):
            return done
        return None

    def _ended(self, fatal: list[Mark], version: str | None) -> list[Mark]:
        """The failures that no later connection of the run made good."""
        connections = [mark for process in self._group.processes if (mark := self._is_connected(process))]
        return [mark for mark in fatal if not any(mark.is_before(later) for later in connections)]

    # -- status and reasons

    def _status(
        self, verdict: str, hosts: tuple[str, ...], failures: list[tuple[Failure, Mark]], has_ended: bool
    ) -> tuple[str, dict[str, list[tuple[Mark, str]]], str | None]:
        """Status, the lines that prove the reasons, and what to look at where the log cannot tell."""
        why = self._proven(failures)
        if has_ended:
            return "aborted", why, None
        if verdict == "unknown":
            return "undecided", why, None
        if verdict == "mixed":
            return "mixed", {**why, "mixed": why.get("mixed", [])} if why.get("mixed") else why, None
        if verdict == "shm":
            return "as-expected", {}, None
        if verdict in words.RDMA:
            uneven = self._uneven(failures)
            return ("mixed", uneven, None) if uneven else ("as-expected", {}, None)
        asked = self._asked_for_tcp()
        if asked:
            return "by-configuration", {"wrongtls": [(mark, "configuration") for mark in asked]}, None
        if set(why) <= {"noport"} and why and self._judge.device is None and not self._wants_device():
            return (
                "undecided",
                why,
                (
                    f"whether {', '.join(hosts[:4]) or 'these hosts'} have an HCA at all: run `ibkit status` or "
                    "`ls /sys/class/infiniband` there; without one TCP is what these hosts can do"
                ),
            )
        return "fallback", why, None

    def _proven(self, failures: list[tuple[Failure, Mark]]) -> dict[str, list[tuple[Mark, str]]]:
        why: dict[str, list[tuple[Mark, str]]] = {}
        for failure, mark in failures:
            reason = reason_of(failure)
            if failure.topic == "no-device" and failure.detail not in ("IB", None):
                continue
            if failure.topic == "plugin-init":
                reason = "plugin" if failure.detail not in _INTERNAL else None
            if failure.topic == "retry-exceeded" and self._is_roce():
                reason = "gid"
            if reason:
                why.setdefault(reason, []).append((mark, "failure"))
        if "nodev" in why:
            why.pop("noport", None)  # the HCA that could not be opened is the one that was not found
        if "noport" in why and (wanted := self._wants_device()):
            why = {"wrongdev": [(wanted, "configuration"), *why.pop("noport")], **why}
        return why

    def _is_roce(self) -> bool:
        kinds = {link for p in self._group.processes for listed, _ in p.devices.values() for link in listed.links}
        return kinds == {"RoCE"}

    def _wants_device(self) -> Mark | None:
        """NCCL_IB_HCA names devices: then the user expects them."""
        for setting, mark in self._settings():
            if setting.name == "NCCL_IB_HCA" and setting.value and not setting.value.startswith("^"):
                return mark
        return None

    def _asked_for_tcp(self) -> list[Mark]:
        """Settings that leave sockets alone. NCCL_SOCKET_IFNAME never does."""
        found = []
        for setting, mark in self._settings():
            is_off = setting.name == "NCCL_IB_DISABLE" and setting.value.strip() not in ("0", "")
            is_socket = setting.name == "NCCL_NET" and setting.value.strip("\"'").lower() in ("socket", "fastsocket")
            if is_off or is_socket:
                found.append(mark)
        return list({(mark.file, mark.line): mark for mark in found}.values())

    def _uneven(self, failures: list[tuple[Failure, Mark]]) -> dict[str, list[tuple[Mark, str]]]:
        """Some host could not open a device that others have: rails are missing though RDMA is used."""
        warned = [mark for failure, mark in failures if failure.topic in ("mixed-devices", "mixed-links")]
        counts: dict[str | None, set[int]] = {}
        for process in self._group.processes:
            for listed, _ in process.devices.values():
                counts.setdefault(process.host, set()).add(len(listed.names))
        sizes = {size for found in counts.values() for size in found}
        closed = [mark for failure, mark in failures if failure.topic == "open-device"]
        if closed and len(sizes) > 1:
            return {"nodev": [(mark, "failure") for mark in closed]}
        return {"mixed": [(mark, "failure") for mark in warned]} if warned else {}


_LINK_WORDS = {"IB": "ib", "RoCE": "roce"}


def _span(group: Group[_NcclProcess]) -> dict[int, tuple[int, int]]:
    """First and last line of a run, by file."""
    span: dict[int, tuple[int, int]] = {}
    for process in group.processes:
        for mark in (process.first, process.last):
            first, last = span.get(mark.order, (mark.line, mark.line))
            span[mark.order] = min(first, mark.line), max(last, mark.line)
    return span
