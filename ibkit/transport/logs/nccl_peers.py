"""Who is at the other end of a channel: ranks, processes and hosts of one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ibkit.transport.evidence import Mark
from ibkit.transport.host_names import Hosts
from ibkit.transport.logs.nccl import Channel, CommKey, Evidence, NcclProcess


class Peer(NamedTuple):
    """The other end: the process and the host, each None where it cannot be told for certain."""

    process: int | None
    host: str | None


class Peers:
    """Ranks and hosts of one run, from its communicators where lines tell them, else from its channel lines."""

    def __init__(self, evidence: Evidence, numbers: list[int], is_only: bool) -> None:
        self._evidence = evidence
        self.numbers = numbers
        self._set = set(numbers)
        self._map = evidence.rank_map if is_only else {}
        self.hosts = Hosts(
            host
            for host in (*(self.process(n).host for n in numbers), *(host for host, _ in self._map.values()))
            if host is not None
        )
        self.shared_names = frozenset(self._shared())
        self.channels: list[tuple[Channel, Mark]] = [
            (channel, mark) for channel, mark in evidence.channels.items() if channel.process in self._set
        ]
        self._sizes = {evidence.sizes[key] for n in numbers for key in self.process(n).ranks}
        self._sizes |= {size for n in numbers for size in self.process(n).nodes}
        self._known: dict[CommKey, bool] = {}
        self._spanning: dict[CommKey, bool] = {}
        self._speakers: dict[int, set[int]] = {}
        self._spoken: dict[int, set[int]] = {}
        for channel, _ in self.channels:
            self._speakers.setdefault(channel.speaker, set()).add(channel.process)
            self._spoken.setdefault(channel.process, set()).add(channel.speaker)
        self._is_one_each = all(len(one) == 1 for one in (*self._speakers.values(), *self._spoken.values()))
        self._world: dict[int, int | None] = {n: self._world_rank(n) for n in numbers}
        self._rank_hosts = self._hosts_of_ranks()

    def process(self, number: int) -> NcclProcess:
        """A process by its number."""
        return self._evidence.processes[number]

    def host(self, number: int) -> str | None:
        """A process's host by its one name."""
        name = self.process(number).host
        return self.hosts[name] if name is not None else None

    def _shared(self) -> Iterator[str]:
        """Names of several machines (``ubuntu``, or masked): the same interface has different addresses there."""
        seen: dict[tuple[str, str], str] = {}
        for process in map(self.process, self.numbers):
            if process.host is not None:
                host = self.hosts[process.host]
                for interface, address in process.addresses.items():
                    if seen.setdefault((host, interface), address) != address:
                        yield host

    @property
    def may_share_names(self) -> bool:
        """Whether two ranks of a communicator have a GPU of one address on hosts of one name: two machines, or one GPU
        that they share, which 2.30 and later can be told to allow.
        """
        seen: dict[tuple[CommKey, str, str], int] = {}
        return any(
            seen.setdefault((key, host, gpu), number) != number
            for number in self.numbers
            if (host := self.host(number)) is not None
            for key, gpus in self.process(number).gpus.items()
            if key[0] != "size"
            for gpu in gpus
        )

    def host_names(self) -> tuple[str, ...]:
        """All hosts of the run, in the order in which they spoke."""
        return tuple(self.hosts.all((*(self.process(n).host for n in self.numbers), *self._mapped_hosts())))

    def _mapped_hosts(self) -> Iterator[str]:
        yield from (host for _, (host, _) in sorted(self._map.items()))

    # -- how many

    @property
    def ranks(self) -> int | None:
        """How many ranks the run has, by its own word."""
        if self._sizes:
            return max(self._sizes)
        if self._map:
            return max(self._map) + 1
        named = {rank for channel, _ in self.channels for rank in (channel.source, channel.target) if rank is not None}
        return max(named) + 1 if named else None

    @property
    def ranks_told(self) -> int | None:
        """The same for a reader; None where more processes are ranks of some communicator than the largest one has:
        the lines of two jobs are mixed, or what all ranks share is not in the log.
        """
        members = sum(1 for n in self.numbers if self.process(n).ranks)
        return self.ranks if self.ranks is None or members <= self.ranks else None

    @property
    def is_size_told(self) -> bool:
        """Whether a line tells how many ranks there are."""
        return bool(self._sizes or self._map)

    @property
    def silent(self) -> int:
        """How many ranks of the run did not speak here. A process may be several ranks."""
        ranks = self.ranks or 0
        spoke = [len(self._speakers), self._mapped_speakers()]
        if self._are_all_processes(ranks):
            return 0
        for key, members in self._evidence.members.items():
            if self._evidence.sizes[key] == ranks:
                spoke.append(sum(1 for numbers in members.values() if numbers & self._set))
        return max(0, ranks - max(spoke))

    def _mapped_speakers(self) -> int:
        """How many ranks of the header belong to processes that speak."""
        processes = [self.process(n) for n in self.numbers]
        speaking = {(self.hosts[process.host], process.pid) for process in processes if process.host is not None}
        return sum(1 for host, pid in self._map.values() if (self.hosts[host], pid) in speaking)

    def _are_all_processes(self, ranks: int) -> bool:
        """Whether there are as many processes as ranks, though some have no channel line: no rank speaks twice. The
        highest rank that channel lines name is no number of ranks.
        """
        spoken = list(self._speakers.values())
        return (
            self.is_size_told
            and len(self.numbers) == ranks
            and len(self._speakers) > 0
            and all(len(processes) == 1 for processes in spoken)
            and len(set().union(*spoken)) == len(spoken)
        )

    def nodes(self) -> tuple[int | None, list[Mark]]:
        """How many nodes the run's largest communicator has, if its ranks tell and agree, and the lines."""
        ranks = self.ranks or 0
        told = [found for n in self.numbers if (found := self.process(n).nodes.get(ranks))]
        counts = {count for found in told for count in found}
        return (counts.pop() if len(counts) == 1 else None), [mark for found in told for mark in found.values()]

    def size_marks(self) -> list[Mark]:
        """The lines that tell how many ranks the run has."""
        keys = {key for n in self.numbers for key in self.process(n).ranks if self._evidence.sizes[key] == self.ranks}
        marks = [self._evidence.size_marks[key] for key in sorted(keys)]
        return marks or (self._evidence.rank_marks if self._map else [])

    def world_rank(self, number: int) -> int | None:
        """The rank of a process of this run in its largest communicator."""
        return self._world.get(number)

    def _world_rank(self, number: int) -> int | None:
        """The rank of a process in the largest communicator; where no line tells one, as which it speaks of channels,
        if each process speaks as one rank, and each rank is one process.
        """
        largest = max(self._sizes, default=0)
        found = {
            rank
            for key, ranks in self.process(number).ranks.items()
            if self._evidence.sizes[key] == largest
            for rank in ranks
        }
        if not self._sizes and self._is_one_each:
            found = self._spoken.get(number, set())
        return next(iter(found)) if len(found) == 1 else None

    # -- who

    def peer(self, channel: Channel) -> Peer:
        """The other end of a channel."""
        processes = self.candidates(channel)
        hosts = {self.host(number) for number in processes}
        if not processes and channel.other is not None and not self._keys(channel):
            hosts = self._rank_hosts.get(channel.other, set())
        host = next(iter(hosts)) if len(hosts) == 1 else None
        if _is_local(channel) and not (host and processes and self._keys(channel)):
            host = self.host(channel.process)  # pods of one machine are hosts of their own: there the members tell
        return Peer(next(iter(processes)) if len(processes) == 1 else None, host)

    def ranks_of(self, channel: Channel, peer: Peer) -> tuple[int, int] | None:
        """Ranks in the largest communicator, the speaker's first; those of a smaller one are not passed off as such."""
        if channel.other is None:
            return None
        if len(self._sizes) <= 1:
            return channel.speaker, channel.other
        mine = self._world[channel.process]
        theirs = self._world.get(peer.process) if peer.process is not None else None
        return (mine, theirs) if mine is not None and theirs is not None else None

    def _keys(self, channel: Channel) -> list[CommKey]:
        """The communicators that a channel may belong to, as far as their members are known."""
        process = self.process(channel.process)
        if channel.comm and channel.comm in process.comms:
            keys = [process.comms[channel.comm]]
        else:
            keys = [key for key, ranks in process.ranks.items() if channel.speaker in ranks]
        return [key for key in keys if self._is_known(key)]

    def _is_known(self, key: CommKey) -> bool:
        """Communicators that are only told by their size may be several: then each rank must be there as often."""
        if key[0] != "size":
            return True
        if key not in self._known:
            members = self._evidence.members[key]
            counts = {len(numbers & self._set) for numbers in members.values()}
            self._known[key] = len(members) == self._evidence.sizes[key] and len(counts) == 1
        return self._known[key]

    def candidates(self, channel: Channel) -> set[int]:
        """The processes that may be the other end."""
        other = channel.other
        if other is None:
            return set()
        found: set[int] = set()
        keys = self._keys(channel)
        for key in keys:
            found |= self._evidence.members.get(key, {}).get(other, set())
        if not keys and (at := self._map.get(other)):
            found = {n for n in self.numbers if self.process(n).pid == at[1] and self.host(n) == self.hosts[at[0]]}
        elif not keys:
            found = self._speakers.get(other, set())
        return (found & self._set) - {channel.process}

    def _hosts_of_ranks(self) -> dict[int, set[str | None]]:
        """Hosts of ranks that do not speak: the P2P and SHM partner's, the header's, or the only ones that are left."""
        found: dict[int, set[str | None]] = {rank: {self.hosts[host]} for rank, (host, _) in self._map.items()}
        named: set[int] = set()
        for channel, _ in self.channels:
            named.update(rank for rank in (channel.source, channel.target) if rank is not None)
            found.setdefault(channel.speaker, set()).add(self.host(channel.process))
            if channel.target is not None and _is_local(channel):
                found.setdefault(channel.target, set()).add(self.host(channel.process))
        speaking = set().union(*self._speakers.values())
        quiet = [number for number in self.numbers if number not in speaking]
        left = named - self._speakers.keys()
        if left and len(left) == len(quiet) and len(named) == len(self.numbers):
            hosts = {self.host(number) for number in quiet}
            if len(hosts) == 1:
                for rank in left:
                    found.setdefault(rank, set()).update(hosts)
        return found

    def are_comms_local(self, numbers: Iterable[int]) -> bool:
        """Whether each communicator of these processes has all its members on one host."""
        keys = {key for number in numbers for key in self.process(number).ranks}
        return bool(keys) and all(map(self._is_on_one_host, keys))

    def may_reach_others(self, number: int) -> bool:
        """Whether a process has a communicator with members on other hosts, or none at all in the run is told: of the
        members of another one, some of which may not have spoken, all that did are on its own host.
        """
        if not any(self.process(n).ranks for n in self.numbers):
            return True
        return any(map(self._spans_hosts, self.process(number).ranks))

    def do_comms_leave_hosts(self) -> bool:
        """Whether a communicator has members on several hosts, by its members or its number of nodes, or none of the
        communicators has a name by which its members are known.
        """
        keys = {key for number in self.numbers for key in self.process(number).ranks}
        named = [key for key in keys if key[0] != "size"]
        has_nodes = any(count > 1 for n in self.numbers for told in self.process(n).nodes.values() for count in told)
        return not named or has_nodes or any(map(self._spans_hosts, keys))

    def _spans_hosts(self, key: CommKey) -> bool:
        """Whether members of a communicator that spoke are on several hosts, or on machines of one name."""
        if key not in self._spanning:
            members = self._evidence.members[key].values()
            hosts = {self.host(n) for numbers in members for n in numbers if n in self._set}
            self._spanning[key] = len(hosts) > 1 or bool(hosts & self.shared_names)
        return self._spanning[key]

    def _is_on_one_host(self, key: CommKey) -> bool:
        members = self._evidence.members[key]
        if len(members) != self._evidence.sizes[key] or key[0] == "size":
            return False
        hosts = (self.host(n) for numbers in members.values() for n in numbers if n in self._set)
        first = next(hosts, None)
        if first is None or first in self.shared_names:
            return False
        return all(host == first for host in hosts)  # ends at the second one: each of its processes asks this


def _is_local(channel: Channel) -> bool:
    """P2P and shared memory stay on one machine, unless its NVLink spans several."""
    return not channel.is_network and "MNNVL" not in (channel.detail or "")
