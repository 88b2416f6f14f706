"""The facts about NCCL's and RCCL's data path, by process, communicator and channel."""

from __future__ import annotations

from typing import NamedTuple

from ibkit.parsers import nccl
from ibkit.parsers.job_facts import Cut, Failure, Setting, Version
from ibkit.transport import words
from ibkit.transport.evidence import File, Mark
from ibkit.transport.links import Links
from ibkit.transport.logs.processes import Process
from ibkit.transport.logs.versions import MAX_TOLD, Told

#: More distinct (process, ranks, network) facts than this are only counted by network: memory is bounded.
MAX_CHANNELS = 200_000
_MAX_FAILURES = 10_000

#: Names a communicator: its id and which time it was used, a split of another one, or only its size.
CommKey = tuple[str, ...]


class NcclProcess(Process):
    """What one process said of itself."""

    def __init__(self, host: str | None, pid: int | None, mark: Mark) -> None:
        super().__init__(host, pid, mark)
        self.ranks: dict[CommKey, set[int]] = {}
        self.comms: dict[str, CommKey] = {}
        #: The GPUs of its ranks of a communicator, by number and address.
        self.gpus: dict[CommKey, set[str]] = {}
        self.networks: dict[str, Mark] = {}
        self.devices: dict[str, nccl.Devices] = {}
        self.device_marks: dict[str, Mark] = {}
        self.virtual: dict[int, tuple[str, ...]] = {}
        self.device_links: dict[int | None, str] = {}
        self.link_mark: Mark | None = None
        self.interfaces: dict[str, tuple[str, ...]] = {}
        self.interface_marks: dict[str, Mark] = {}
        #: Addresses by interface.
        self.addresses: dict[str, str] = {}
        self.interface_count: int | None = None
        self.provider: str | None = None
        self.provider_mark: Mark | None = None
        #: The line that tells that verbs are not to be had, and whether libfabric's plugin gave up.
        self.no_verbs: Mark | None = None
        self.has_no_plugin = False
        #: How many nodes a communicator has, by its number of ranks, and the line.
        self.nodes: dict[int, dict[int, Mark]] = {}
        self.connected: Mark | None = None
        self.initialised: Mark | None = None
        self.first_channel: Mark | None = None
        #: Its line that is the log's last one and may be cut.
        self.cut: Mark | None = None

    @property
    def links(self) -> set[str]:
        """All link layers that it lists or connects."""
        return {link for listed in self.devices.values() for link in listed.links} | set(self.device_links.values())

    def chosen(self, version: str | None) -> dict[str, Mark]:
        """The networks that it chose, by its own word; else the one that is left, where that line is missing.

        2.4 and 2.5 have no such line: a plugin is tried first, then IB, and Socket if none of them has a device
        (src/init.cc, initNet). Later versions list Socket's interfaces where they come to it.
        """
        if self.networks:
            return self.networks
        if self.provider_mark is not None and not self.has_no_plugin:
            return {"Libfabric": self.provider_mark}
        if self.no_verbs is not None and "Socket" in self.interfaces and "IB" not in self.devices:
            return {"Socket": self.no_verbs}
        if "IB" in self.device_marks and (version or "").startswith(("2.4.", "2.5.")):
            return {"IB": self.device_marks["IB"]}
        return {}

    @property
    def connection(self) -> Mark | None:
        """The line after which it had connections: until 2.21 it connects before the initialisation completes."""
        if self.connected is None and self.initialised is not None and self.first_channel is not None:
            return self.initialised if self.first_channel.is_before(self.initialised) else None
        return self.connected


class Channel(NamedTuple):
    """A channel line without the channel's number; ``process`` is the number of the process that printed it."""

    process: int
    source: int
    target: int | None
    speaker: int
    medium: str
    network: str | None
    device: int | None
    detail: str | None
    comm: str | None

    @property
    def other(self) -> int | None:
        """The rank at the other end."""
        return self.target if self.speaker == self.source else self.source

    @property
    def is_network(self) -> bool:
        """Whether it leaves the process by a network."""
        return self.medium in ("NET", "COLLNET")


class Evidence:
    """Takes the facts of all logs of a target."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self.numbers: dict[tuple[str | None, int | None], int] = {}
        self.processes: list[NcclProcess] = []
        self.channels: dict[Channel, Mark] = {}
        self.overflow: dict[tuple[str, str | None], tuple[int, Mark]] = {}
        self.members: dict[CommKey, dict[int, set[int]]] = {}
        self.sizes: dict[CommKey, int] = {}
        self.size_marks: dict[CommKey, Mark] = {}
        self.rank_map: dict[int, tuple[str, int]] = {}
        self.rank_marks: list[Mark] = []
        self.results: list[Mark] = []
        self.versions: list[Told] = []
        self.settings: list[tuple[Setting, Mark]] = []
        self.failures: list[tuple[Failure, Mark]] = []
        self.device_mark: Mark | None = None
        self._uses: dict[str, int] = {}

    @property
    def spoke(self) -> bool:
        """Whether NCCL said anything that makes it a layer of the job."""
        return bool(self.processes or self.rank_map) or any(failure.runtime == "nccl" for failure, _ in self.failures)

    def uses(self, prefix: str) -> bool:
        """Whether a channel goes by a network whose name starts so."""
        return any((channel.network or "").startswith(prefix) for channel in self.channels)

    def add(self, fact: nccl.NcclFact, file: File) -> None:
        """Take one fact."""
        mark = file.mark(fact.said)
        match fact:
            case Version():
                if len(self.versions) < MAX_TOLD:
                    self.versions.append(Told(fact.runtime, fact.version, mark, fact.said.pid))
            case Setting():
                self.settings.append((fact, mark))
            case Failure():
                self._fail(fact, mark)
            case nccl.RankMap():
                self.rank_map[fact.rank] = fact.host, fact.pid
                self.rank_marks.append(mark)
            case nccl.Connected() if fact.said.pid is None:
                self.results.append(mark)
            case _:
                self._of_process(fact, mark)

    def cut(self, fact: Cut, file: File) -> None:
        """A process is there, whatever it said."""
        mark = file.mark(fact.said)
        self.processes[self._process(fact.said.host, fact.said.pid, mark)].cut = mark

    def _fail(self, fact: Failure, mark: Mark) -> None:
        if len(self.failures) < _MAX_FAILURES:
            self.failures.append((fact, mark))
        if fact.topic in ("open-device", "stat-device") and self.device_mark is None:
            self.device_mark = mark
        if fact.said.pid is None:
            return
        process = self.processes[self._process(fact.said.host, fact.said.pid, mark)]
        if fact.topic == "no-verbs-library" or (fact.topic == "no-device" and fact.detail == "IB"):
            process.no_verbs = process.no_verbs or mark
        process.has_no_plugin |= fact.topic == "ofi-no-provider"

    def _process(self, host: str | None, pid: int | None, mark: Mark) -> int:
        number = self.numbers.get((host, pid))
        if number is None:
            number = self.numbers[host, pid] = len(self.processes)
            self.processes.append(NcclProcess(host, pid, mark))
        self.processes[number].saw(mark)
        return number

    def _of_process(self, fact: nccl.NcclFact, mark: Mark) -> None:
        number = self._process(fact.said.host, fact.said.pid, mark)
        process = self.processes[number]
        match fact:
            case nccl.Channel():
                process.first_channel = process.first_channel or mark
                self._channel(number, fact, mark)
            case nccl.RankInit():
                self._init(number, fact, mark)
            case nccl.Nodes():
                process.nodes.setdefault(fact.ranks, {}).setdefault(fact.nodes, mark)
            case nccl.Network():
                process.networks.setdefault(fact.name, mark)
            case nccl.Devices():
                self._devices(process, fact, mark)
            case nccl.VirtualDevice():
                process.virtual[fact.number] = fact.parts
            case nccl.DeviceLink():
                process.device_links[fact.device] = fact.link
                process.link_mark = process.link_mark or mark
            case nccl.Interfaces():
                process.interfaces.setdefault(fact.network, fact.names)
                process.interface_marks.setdefault(fact.network, mark)
                process.addresses.update(zip(fact.names, fact.addresses, strict=False))
                if self.device_mark is None and any(words.of_interface(name) == "ipoib" for name in fact.names):
                    self.device_mark = mark
            case nccl.InterfaceCount():
                process.interface_count = fact.interfaces
            case nccl.Provider():
                process.provider = process.provider or fact.name
                if fact.is_selected:
                    process.provider_mark = process.provider_mark or mark
            case nccl.Connected():
                process.connected = mark

    def _channel(self, number: int, fact: nccl.Channel, mark: Mark) -> None:
        key = Channel(
            number, fact.source, fact.target, fact.speaker, fact.medium, fact.network,
            fact.device, fact.detail if fact.medium == "P2P" else None, fact.comm,
        )  # fmt: skip
        if key in self.channels:
            return
        if len(self.channels) < MAX_CHANNELS:
            self.channels[key] = mark
        else:
            self.overflow.setdefault((fact.medium, fact.network), (number, mark))

    def _init(self, number: int, fact: nccl.RankInit, mark: Mark) -> None:
        process = self.processes[number]
        key = self._key(number, fact)
        process.ranks.setdefault(key, set()).add(fact.rank)
        if fact.comm:
            process.comms[fact.comm] = key
        if fact.gpu:
            process.gpus.setdefault(key, set()).add(fact.gpu)
        self.members.setdefault(key, {}).setdefault(fact.rank, set()).add(number)
        self.sizes[key] = fact.ranks
        self.size_marks.setdefault(key, mark)
        if fact.is_complete:
            process.initialised = mark

    def _key(self, number: int, fact: nccl.RankInit) -> CommKey:
        """A communicator's name. An id whose rank another process has already is that of a later run."""
        process = self.processes[number]
        if fact.comm_id:
            for key, ranks in process.ranks.items():
                if key[:2] == ("id", fact.comm_id) and fact.rank in ranks:
                    return key
            use = self._uses.setdefault(fact.comm_id, 0)
            if self.members.get(("id", fact.comm_id, str(use)), {}).get(fact.rank, {number}) != {number}:
                use = self._uses[fact.comm_id] = use + 1
            return "id", fact.comm_id, str(use)
        if fact.parent and fact.split:
            return "split", *process.comms.get(fact.parent, (fact.parent,)), fact.split
        return "size", str(fact.ranks)

    def _devices(self, process: NcclProcess, fact: nccl.Devices, mark: Mark) -> None:
        self.device_mark = self.device_mark or mark
        known = process.devices.get(fact.network)
        if known is not None and not fact.is_indexed:
            if known.is_indexed:
                return  # a second, more talkative list of the same devices
            fact = known._replace(names=known.names + fact.names, links=known.links + fact.links)
        process.devices[fact.network] = fact
        process.device_marks.setdefault(fact.network, mark)
        for name, link in zip(fact.names, fact.links, strict=True):
            for part in name.split("+"):
                self._links.add(fact.said.host, part, link, mark)

    def mend_names(self) -> None:
        """A name that is glued to another process's text ends in the real one: that of the process with the same pid.

        Processes share a stream, and a line may start in the middle of another one.
        """
        names: dict[int | None, set[str]] = {}
        for host, pid in self.numbers:
            if host:
                names.setdefault(pid, set()).add(host)
        for (host, pid), number in self.numbers.items():
            if host and len(names[pid]) > 1:
                ends = (host[start:] for start in range(1, len(host) - 1))
                self.processes[number].host = next((end for end in ends if end in names[pid]), host)
