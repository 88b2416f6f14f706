"""One NCCL run's verdict, status and reasons.

What decides, strongest first: channel lines name both ranks and the network (class path); the chosen network decides
for other hosts where all ranks agree (selection). Device lists, settings and failures never decide.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from ibkit.display import clean
from ibkit.model.mpi import Layer, Pair
from ibkit.parsers.base import Problem
from ibkit.parsers.job_facts import Failure, Said
from ibkit.parsers.nccl import PINNING_CALLS
from ibkit.parsers.torch_distributed import RESTARTED
from ibkit.transport import words
from ibkit.transport.evidence import Book, Mark
from ibkit.transport.host_names import short_name
from ibkit.transport.logs.attempts import Attempts
from ibkit.transport.logs.in_force import in_force
from ibkit.transport.logs.nccl import MAX_CHANNELS, Evidence
from ibkit.transport.logs.nccl_networks import Networks, UcxWords, is_of_libfabric
from ibkit.transport.logs.nccl_peers import Peers
from ibkit.transport.logs.nccl_runs import runs
from ibkit.transport.logs.processes import Launches
from ibkit.transport.logs.run_settings import One, settings_of_runs
from ibkit.transport.logs.versions import Lines, Versions, lines_of, of_runs
from ibkit.transport.reasons import asked_for, reason_of, reasons
from ibkit.transport.settings import leaves_sockets

NEXT_STEP = "run again with NCCL_DEBUG=INFO on all ranks (NCCL_DEBUG_SUBSYS=INIT,NET,ENV) and keep the whole output"
_ALONE_STEP = (
    "each communicator here has one rank, which has nobody to talk to: look whether the launcher started one job "
    "of several ranks, or several jobs of one"
)
_DIED_STEP = "the job died before its ranks had said what they use, its line is in the evidence: mend that first, then "
#: P2P between two names of hosts.
_NVLINK_STEP = (
    "P2P between two hosts is NVLink that spans them (MNNVL), which no word stands for, or they are two containers of "
    "one machine: `nvidia-smi topo -m` and the fabric's state in `nvidia-smi -q` on both tell; to measure the network "
    "run again with NCCL_MNNVL_ENABLE=0"
)

#: What to look at after a failure that proves no reason, by its topic.
_LOOK_AFTER = {
    "retry-exceeded": "a peer did not answer over the fabric (retries exceeded): it may have died, so look for its own "
    "error first; then at the ports of both hosts (`ibkit status`), on RoCE at flow control and the GID index",
    "connect": "a rank could not be reached by TCP, over which NCCL makes its connections: look for that rank's own "
    "error first, then whether the interface that NCCL took reaches all hosts (NCCL_SOCKET_IFNAME, firewalls)",
}
_NO_ANSWER_STEP = (
    "the kernel asked for the Ethernet address of {peer} and nobody answered: on the host of the line look at `ping -I "
    "IFACE {address}` and `ip neigh show {address}`, with the interface of the GID; a peer's port that is down (`ibkit "
    "status` on both hosts), a VLAN or GID index that differs, and a router or firewall between them all fit"
)
_UNTOLD_ERROR = (
    "NCCL did not print why {call} failed, a later version does: mostly it is the limit on locked memory (Max locked "
    "memory in /proc/PID/limits of a rank; in a container --ulimit memlock=-1 and IPC_LOCK), else resources of the HCA"
)

_UCX_STEP = (
    "NCCL's plugin sends by UCX, which tells what it uses only if it is asked: run again with UCX_LOG_LEVEL=info on "
    "all ranks, too, and keep the whole output"
)
_DIFFER_STEP = (
    "the ranks chose different networks, and no line shows that they were connected: NCCL does not connect one network "
    "to another, the job hangs or fails there; look at the hosts that lack what others have"
)
_OTHER_STEP = (
    "no line tells what {name}, which is a plugin's network, is made of: look at it while it runs, by `ibkit "
    "check-mpi-transport running` on one of its hosts"
)
_PROVIDER_STEP = (
    "libfabric took a provider that is TCP: `fi_info` on these hosts lists those that it has (efa, cxi, verbs), and "
    "FI_PROVIDER may ask for one"
)
_SLINGSHOT_STEP = (
    "hosts with interfaces called hsn have Slingshot, whose own NICs are reached by a plugin of aws-ofi-nccl with the "
    "libfabric of cxi, and no plugin was found: `fi_info -p cxi` on these hosts, and {library} on LD_LIBRARY_PATH"
)

Why = dict[str, list[tuple[Mark, str]]]


class Judge(NamedTuple):
    """What other parts of the answer know: a line that shows an HCA, what UCX lines say of a process (for the UCX
    plugin), the launchers' command lines, the number of hosts, from a capture which hosts have no HCA or have an
    active port, and an elastic launcher's attempts.
    """

    device: Mark | None
    ucx: UcxWords
    launches: Sequence[Mark]
    hosts: int | None
    without_hca: frozenset[str]
    has_port: bool
    attempts: Attempts


def layers(evidence: Evidence, book: Book, judge: Judge) -> tuple[list[Layer], list[Problem]]:
    """One layer for each run, in the order of the log."""
    if not evidence.spoke:
        return [], []
    evidence.mend_names()
    groups = runs(evidence, judge.launches, judge.attempts) or [[]]
    found, problems, spans = [], [], [_span(evidence, numbers) for numbers in groups]
    if silent := _silent_attempt(evidence, judge.attempts):
        groups, spans = [[], *groups], [lines_of(silent), *spans]
    versions = _versions(evidence, groups, spans, judge)
    settings = _settings(evidence, groups, spans, judge)
    for index, numbers in enumerate(groups):
        run = _Run(evidence, numbers, _Place(index + 1, spans), judge, versions[index], settings[index])
        found.append(run.layer(book))
        problems += run.problems
    return found, problems


def _span(evidence: Evidence, numbers: list[int]) -> Lines:
    """First and last line of a run, by file."""
    processes = [evidence.processes[number] for number in numbers]
    return lines_of(mark for process in processes for mark in (process.first, process.last))


def _silent_attempt(evidence: Evidence, attempts: Attempts) -> list[Mark]:
    """What a framework tells of NCCL's failures in attempts that ended before any process of NCCL's spoke."""
    told = [mark for failure, mark in evidence.failures if failure.runtime == "nccl" and failure.said.pid is None]
    firsts = [process.first for process in evidence.processes]
    return [mark for mark in told if firsts and all(attempts.is_earlier(mark, first) for first in firsts)]


def _versions(evidence: Evidence, groups: list[list[int]], spans: list[Lines], judge: Judge) -> list[Versions]:
    """What is told of each run's version."""
    run_of = _speakers(evidence, groups)
    return of_runs(
        evidence.versions,
        spans,
        Launches(judge.launches),
        judge.attempts,
        lambda told: run_of(told.mark.host, told.pid),
    )


def _settings(evidence: Evidence, groups: list[list[int]], spans: list[Lines], judge: Judge) -> list[list[One]]:
    """The settings of each run."""
    run_of = _speakers(evidence, groups)
    return settings_of_runs(
        evidence.settings, spans, judge.launches, judge.attempts,
        lambda setting, _: run_of(setting.said.host, setting.said.pid),
    )  # fmt: skip


def _speakers(evidence: Evidence, groups: list[list[int]]) -> Callable[[str | None, int | None], int | None]:
    """What tells the run of a process, of which a host and a pid are told."""
    owners = {number: index for index, numbers in enumerate(groups) for number in numbers}

    def run_of(host: str | None, pid: int | None) -> int | None:
        number = evidence.numbers.get((host, pid)) if pid is not None else None
        return owners[number] if number is not None else None

    return run_of


class _Place:
    """Which run it is, and where a line of no process is its: up to the next run's first line, the first run from the
    start of the file.
    """

    def __init__(self, job: int, spans: list[Lines]) -> None:
        self.job = job
        self.is_only = len(spans) == 1  # then all is its
        self._lines: dict[int, tuple[int, int]] = {}
        for order, (first, _) in spans[job - 1].items():
            starts = [span[order][0].line for span in spans if order in span]
            end = min((start for start in starts if start > first.line), default=1 << 62)
            self._lines[order] = (0 if first.line == min(starts) else first.line), end

    def holds(self, mark: Mark) -> bool:
        """Whether a line of no process belongs here."""
        first, end = self._lines.get(mark.order, (0, 0))
        return self.is_only or first <= mark.line < end


class _Path(NamedTuple):
    """One channel, resolved."""

    word: str
    process: int
    host: str | None
    peer_host: str | None
    ranks: tuple[int, int] | None
    mark: Mark
    is_network: bool
    peers: set[int]


class _Run:
    def __init__(
        self,
        evidence: Evidence,
        numbers: list[int],
        place: _Place,
        judge: Judge,
        versions: Versions,
        settings: Sequence[One],
    ) -> None:
        self._evidence = evidence
        self._versions = versions
        self._place = place
        self._judge = judge
        self._told_settings = settings
        self._set = set(numbers)
        self._peers = Peers(evidence, numbers, place.is_only)
        self._networks = Networks(self._peers, judge.ucx)
        self._hosts = self._peers.host_names()
        self._chosen = {n: chosen for n in numbers if (chosen := self._peers.process(n).chosen(self._version()[1]))}
        self.problems: list[Problem] = []

    def _processes(self) -> Iterator[tuple[int, str | None]]:
        for number in self._peers.numbers:
            yield number, self._peers.host(number)

    def _is_mine(self, mark: Mark, host: str | None, pid: int | None) -> bool:
        number = self._evidence.numbers.get((host, pid)) if pid is not None else None
        return number in self._set if number is not None else self._place.holds(mark)

    @cached_property
    def _last_lines(self) -> dict[int, list[tuple[int, bool]]]:
        """By file the last lines of all processes, sorted, and which of these are this run's."""
        found: dict[int, list[tuple[int, bool]]] = {}
        for number, process in enumerate(self._evidence.processes):
            found.setdefault(process.last.order, []).append((process.last.line, number in self._set))
        for lines in found.values():
            lines.sort()
        return found

    def _has_failed_by(self, mark: Mark) -> bool:
        """Whether an elastic launcher's word that an attempt failed is about this run: about the process that was the
        last one to fall silent before it, or, in a file of its own, about the run of that attempt.
        """
        if lines := self._last_lines.get(mark.order):
            before = bisect_left(lines, (mark.line, False))
            return lines[before - 1][1] if before else not self._set
        number = self._judge.attempts.number
        return number(mark) in {number(self._peers.process(n).first) for n in self._peers.numbers}

    @cached_property
    def _settings(self) -> list[One]:
        return in_force((setting, self._placed(mark, setting.said)) for setting, mark in self._told_settings)

    def _placed(self, mark: Mark, said: Said) -> Mark:
        """The mark with its speaker's rank in the run's largest communicator, where the line does not tell it."""
        number = self._evidence.numbers.get((said.host, said.pid)) if said.pid is not None else None
        if mark.rank is not None or number not in self._set or number is None:
            return mark
        return mark._replace(rank=self._peers.world_rank(number))

    # -- the answer

    def layer(self, book: Book) -> Layer:
        """The run's layer."""
        failures = [
            (f, self._placed(m, f.said))
            for f, m in self._evidence.failures
            if (self._has_failed_by(m) if f.detail == RESTARTED else self._is_mine(m, f.said.host, f.said.pid))
        ]
        ends = list(self._not_made_good(failures))
        if not self._has_no_path(failures, ends):
            verdict, pairs, step = self._verdict(book)
        else:
            verdict, pairs, step = "none", (), None
            self._cite_intended(book)
        if verdict == "unknown" and not any(channel.is_network for channel, _ in self._peers.channels):
            verdict = self._broken_path(failures, book)
        if verdict in _BY_SOCKETS and (broken := [mark for failure, mark in failures if failure.topic in _OF_A_PATH]):
            verdict = "mixed"  # sockets have no completions: another run's, which nothing tells apart
            for mark in broken[:2]:
                book.cite(mark, "selection", "rdma")
        for _, mark in ends[:2]:
            book.cite(mark, "failure")
        has_ended = any(failure.topic != "died" for failure, _ in ends)
        if verdict not in ("unknown", "none", "shm"):
            self._cite_kinds(book)
        status, why, look = self._status(verdict, failures, has_ended)
        look = look or self._look_after(ends, why) or (step if verdict == "mixed" else None)
        if ends and verdict != "unknown":
            status = "aborted"
        elif ends:
            step = f"{_DIED_STEP}{step or look}"
        runtime, version = self._version()
        return Layer(
            "nccl", verdict, status, self._place.job, runtime, version, self._hosts, self._peers.ranks_told, pairs,
            reasons(why, book), (step or look) if verdict == "unknown" else look,
            reasons(self._remarks(failures), book) if verdict in _VERBS else (), evidence=book.cited(),
        )  # fmt: skip

    def _has_no_path(self, failures: Sequence[tuple[Failure, Mark]], ends: Sequence[tuple[Failure, Mark]]) -> bool:
        """Whether the run ended before anything was connected: its channel lines tell what it was about to connect."""
        is_at_setup = any(failure.topic in _AT_SETUP for failure, _ in ends)
        return is_at_setup and not self._was_connected() and not any(f.topic in _OF_A_PATH for f, _ in failures)

    def _cite_intended(self, book: Book) -> None:
        """Two channel lines of networks that were not connected."""
        channels = [(channel, mark) for channel, mark in self._peers.channels if channel.is_network]
        for channel, mark in channels[:2]:
            word = self._networks.word(channel.process, channel.network or "", channel.device)
            book.cite(mark, "candidate", word)

    def _cite_kinds(self, book: Book) -> None:
        """The lines that make the networks' names words, for each word that of two hosts: a channel line tells neither
        InfiniBand from RoCE nor a provider.
        """
        used = {(c.process, c.network or "", c.device) for c, _ in self._peers.channels if c.is_network}
        used = used or {(number, name, None) for number, names in self._chosen.items() for name in names}
        told: dict[str, set[str | None]] = {}
        for number, network, device in sorted(used, key=lambda use: use[0]):
            word = self._networks.word(number, network, device)
            hosts = told.setdefault(word, set())
            host = self._peers.host(number)
            mark = self._networks.proof(number, network, word)
            if mark is not None and host not in hosts and len(hosts) < 2:
                hosts.add(host)
                book.cite(mark, "candidate", word)

    @staticmethod
    def _look_after(ends: Sequence[tuple[Failure, Mark]], why: Why) -> str | None:
        """What to look at after the failures that ended the run, if no line proves a reason, or one leaves several
        causes.
        """
        for failure, mark in ends:
            if "gid" in why and failure.topic == "gid" and _NO_ANSWER in mark.text:
                found = _PEER_GID.search(mark.text)
                address = found.group(1) if found else None
                peer = f"the peer's GID, {address}," if address else "the peer's GID"
                return _NO_ANSWER_STEP.format(peer=peer, address=address or "ADDRESS")
        for failure, mark in () if why else ends:
            if failure.topic == "verbs-call" and failure.detail in PINNING_CALLS and " with error " not in mark.text:
                return _UNTOLD_ERROR.format(call=failure.detail)
            if failure.topic in _LOOK_AFTER:
                return _LOOK_AFTER[failure.topic]
        return None

    def _version(self) -> tuple[str, str | None]:
        """A job has one kind of GPUs: RCCL's name in any of its runs is that of all, a version is its own run's."""
        names = self._versions or {told.runtime for told in self._evidence.versions}
        runtime = "RCCL" if "RCCL" in names else "NCCL"
        return runtime, self._versions.get(runtime)

    def _verdict(self, book: Book) -> tuple[str, tuple[Pair, ...], str | None]:
        paths = list(self._paths())
        overflow = {key: at for key, at in self._evidence.overflow.items() if at[0] in self._set}
        found = {path.word for path in paths if path.is_network}
        for (medium, network), (number, mark) in overflow.items():
            if medium in ("NET", "COLLNET"):
                word = self._networks.word(number, network or "", None)
                found.add(word)
                book.cite(mark, "path", word)
        if overflow:
            text = f"more than {MAX_CHANNELS} different channel lines: the list of pairs is not whole"
            self.problems.append(Problem("many-channels", text))
        if found:
            if self._peers.silent:
                self._tell_silent(self._peers.silent)
            paths, others = self._contradicted(paths, book)
            verdict = words.combine({*others, *(path.word for path in paths if path.is_network), *found})
            if self._is_chosen_otherwise(verdict, paths):
                return "unknown", self._pairs(paths, book), _DIFFER_STEP
            return verdict, self._pairs(paths, book), self._plugin_step() if verdict == "unknown" else None
        if paths:
            return self._local_verdict(paths, book)
        return self._selected(book)

    def _paths(self) -> Iterator[_Path]:
        nodes, _ = self._peers.nodes()
        for channel, mark in self._peers.channels:
            peer = self._peers.peer(channel)
            host = self._peers.host(channel.process)
            word = "shm"
            is_of_two = None not in (host, peer.host) and host != peer.host
            if channel.detail is not None and is_of_two and nodes != 1:
                word = "unknown"  # multi-node NVLink, or two containers of one machine; either may be told as one node
            if channel.is_network:
                word = self._networks.word(channel.process, channel.network or "", channel.device)
                if word == "rdma" and peer.host is not None:
                    word = self._networks.link_word(peer.host)  # queue pairs connect equal link layers only
            yield _Path(
                word, channel.process, host, peer.host,
                self._peers.ranks_of(channel, peer), mark, channel.is_network,
                self._peers.candidates(channel),
            )  # fmt: skip

    def _contradicted(self, paths: list[_Path], book: Book) -> tuple[list[_Path], set[str]]:
        """What processes without a network channel of their own chose, where that contradicts the channels.

        A channel line of one end is what that end set up. If the other end chose another network, or found no HCA,
        the pair has no such path. What a process chose whose communicators stay on its host moved nothing. Returns the
        paths with their words, and those words that no path has.
        """
        speaking = {path.process for path in paths if path.is_network}
        chosen: dict[int, str] = {}
        for number in self._set - speaking:
            process = self._peers.process(number)
            if process.networks and not self._peers.are_comms_local((number,)):
                chosen[number] = words.combine(self._networks.word(number, name, None) for name in process.networks)
        blind = {
            self._evidence.numbers[failure.said.host, failure.said.pid]
            for failure, _ in self._evidence.failures
            if failure.topic == "no-device" and failure.detail == "IB" and failure.said.pid is not None
        } - speaking
        said = {path.word for path in paths if path.is_network}
        against = {
            number: word if self._peers.may_reach_others(number) else "unknown"
            for number, word in chosen.items()
            if words.combine({*said, word}) == "mixed"
        }
        for number in against:
            for mark in self._peers.process(number).networks.values():
                book.cite(mark, "selection", against[number])
        turned = []
        for path in paths:
            if path.is_network:
                peers = path.peers or {
                    n for n, host in self._processes() if host is not None and host == path.peer_host
                }
                ends = {against[number] for number in peers if number in against}
                if ends:
                    path = path._replace(word=words.combine({path.word, *ends}))
                elif peers and peers <= blind - chosen.keys() and path.word in _VERBS:
                    path = path._replace(word="unknown")
            turned.append(path)
        return turned, set(against.values())

    def _is_chosen_otherwise(self, verdict: str, paths: list[_Path]) -> bool:
        """Whether processes that no channel line is of, or leads to, have nothing but another network, as they list
        their devices and do not name it: these may be of another run.
        """
        named = {path.process for path in paths if path.is_network}.union(*(path.peers for path in paths))
        told = {
            self._networks.word(number, name, None)
            for number in self._chosen.keys() - named
            if not self._peers.process(number).networks and not self._peers.are_comms_local((number,))
            for name in self._chosen[number]
        }
        return verdict not in ("mixed", "unknown") and words.combine({verdict, *told}) == "mixed"

    def _pairs(self, paths: list[_Path], book: Book) -> tuple[Pair, ...]:
        """Host pairs with the rank pairs that were named; a path whose other end is not known is only cited."""
        rows: dict[tuple[str, str], dict[str, list[_Path]]] = {}
        for path in paths:
            is_of_two = path.host == path.peer_host and path.host in self._peers.shared_names
            if path.host is None or path.peer_host is None or (is_of_two and path.is_network):
                if path.is_network:
                    book.cite(path.mark, "path", path.word)
                continue
            a, b = sorted((path.host, path.peer_host))
            rows.setdefault((a, b), {}).setdefault(path.word, []).append(path)
        return tuple(
            Pair(a, b, word, _rank_pairs(a, carrying), _cite(carrying, book))
            for (a, b), by_word in sorted(rows.items())
            for word in (words.combine(by_word),)
            for carrying in ({w: found for w, found in by_word.items() if word == "shm" or w != "shm"},)
        )

    def _local_verdict(self, paths: list[_Path], book: Book) -> tuple[str, tuple[Pair, ...], str | None]:
        """Only P2P and shared memory: a run on one host, unless ranks are missing that could be elsewhere."""
        pairs = self._pairs(paths, book)
        silent = self._peers.silent
        nodes, _ = self._peers.nodes()
        if any(path.word == "unknown" for path in paths):
            return "unknown", pairs, _NVLINK_STEP
        if self._may_leave(self._peers.is_size_told or nodes is not None):
            return "unknown", pairs, NEXT_STEP
        if nodes == 1 or any(pair.a != pair.b for pair in pairs):
            return "shm", pairs, None
        if nodes is not None:
            return "unknown", pairs, NEXT_STEP
        if silent == 0 and (len(self._hosts) <= 1 or self._peers.are_comms_local(self._set)):
            return "shm", pairs, None
        if silent and len(self._hosts) <= 1:
            self._tell_silent(silent)
        return "unknown", pairs, NEXT_STEP

    def _may_leave(self, is_size_told: bool) -> bool:
        """Whether a line that is cut may be about a rank on another host: it has begun to name a network, or nothing
        else tells how many ranks there are.
        """
        cut = [mark for number in self._peers.numbers if (mark := self._peers.process(number).cut)]
        return any(_TO_NETWORK.search(mark.text) or not is_size_told for mark in cut)

    def _tell_silent(self, silent: int) -> None:
        text = f"{silent} of {self._peers.ranks} ranks said nothing here; what they used is not known"
        self.problems.append(Problem("silent-ranks", text))

    def _selected(self, book: Book) -> tuple[str, tuple[Pair, ...], str | None]:
        """No channel line: the chosen network speaks for other hosts, if all ranks chose the same."""
        nodes, marks = self._peers.nodes()
        if self._peers.ranks == 1:
            return "unknown", (), _ALONE_STEP
        if nodes == 1 and not self._is_local_off():
            for mark in marks[:2]:
                book.cite(mark, "selection", "shm")
            return "shm", (), None
        may_be_one = (nodes or 1) == 1
        is_one_name = len(self._hosts) == 1 and not self._peers.shared_names
        if is_one_name and nodes is None and self._peers.may_share_names:
            return "unknown", (), NEXT_STEP
        # Of two names NCCL makes two hosts, be they containers of one.
        is_one_host = may_be_one and (is_one_name or (self._judge.hosts == 1 and len(self._hosts) < 2))
        numbers = [n for n in self._peers.numbers if not self._peers.are_comms_local((n,))]
        is_one_host |= not numbers
        chosen = {n: self._chosen[n] for n in numbers if n in self._chosen}
        if is_one_host and self._peers.ranks is not None and not self._peers.silent and not self._is_local_off():
            for mark in self._peers.size_marks()[:2]:
                book.cite(mark, "selection", "shm")
            return "shm", (), None
        if not chosen or is_one_host or (may_be_one and not self._hosts) or not self._peers.do_comms_leave_hosts():
            return "unknown", (), NEXT_STEP
        found: dict[str, dict[str | None, Mark]] = {}
        for number, networks in chosen.items():
            for name, mark in networks.items():
                word = self._networks.word(number, name, None)
                found.setdefault(word, {}).setdefault(self._peers.host(number), mark)
        cited = tuple(
            book.cite(mark, "selection", word) for word, marks in found.items() for mark in list(marks.values())[:4]
        )
        if self._peers.silent:
            self._tell_silent(self._peers.silent)
            return "unknown", (), NEXT_STEP
        if waiting := len(numbers) - len(chosen):
            text = f"{waiting} of {len(numbers)} processes did not say which network they chose"
            self.problems.append(Problem("silent-ranks", text))
            return "unknown", (), NEXT_STEP
        verdict = words.combine(found)
        is_told = all(self._peers.process(number).networks for number in chosen)
        if verdict == "unknown" or (verdict == "mixed" and not is_told):
            return "unknown", (), self._plugin_step()
        if len(self._hosts) == 2 and verdict != "mixed":
            a, b = sorted(self._hosts)
            return verdict, (Pair(a, b, verdict, (), cited),), None
        return verdict, (), _DIFFER_STEP if verdict == "mixed" else None

    def _plugin_step(self) -> str:
        """What is to be done where the network's name is that of a plugin of which no line tells what it uses."""
        named = {(channel.process, channel.network or "") for channel, _ in self._peers.channels if channel.is_network}
        named |= {(number, name) for number, chosen in self._chosen.items() for name in chosen}
        plugins = {name for number, name in named if self._networks.word(number, name, None) == "unknown"}
        if any(name.startswith("UCX") for name in plugins):
            return _UCX_STEP
        other = sorted(name for name in plugins if name and not is_of_libfabric(name))
        return _OTHER_STEP.format(name=clean(other[0])) if other else NEXT_STEP

    def _is_local_off(self) -> bool:
        """Whether P2P and shared memory are both switched off, so that ranks on one host use the network."""
        values = {setting.name: setting.value for setting, _ in self._settings}
        off = {name for name, value in values.items() if value not in ("0", "")}
        is_p2p_off = "NCCL_P2P_DISABLE" in off or values.get("NCCL_P2P_LEVEL") in ("LOC", "0")
        return is_p2p_off and "NCCL_SHM_DISABLE" in off

    def _broken_path(self, failures: Sequence[tuple[Failure, Mark]], book: Book) -> str:
        """What a completion with an error tells: a queue pair was connected, and this message went by it."""
        chosen = {self._networks.word(n, name, None) for n, names in self._chosen.items() for name in names}
        broken = [(failure.said.host, mark) for failure, mark in failures if failure.topic in _OF_A_PATH]
        if not broken:
            return "unknown"
        hosts = {
            name for host, _ in broken for name in ((self._peers.hosts[host],) if host else self._hosts or (None,))
        }
        found = words.combine(map(self._networks.link_word, hosts))
        if words.combine({found, *chosen}) not in _VERBS:
            return "unknown"
        for _, mark in broken[:2]:
            book.cite(mark, "selection", found)
        return found

    # -- the end of a run that failed

    def _was_connected(self) -> bool:
        """Whether any rank had its connections, or the run printed results."""
        return self._was_told_connected() or any(self._peers.process(n).connection for n in self._peers.numbers)

    def _is_at_start(self, failure: Failure) -> bool:
        """Whether the process of this failure tells how it began, and nobody that he had connections."""
        number = self._evidence.numbers.get((failure.said.host, failure.said.pid))
        if failure.said.pid is None or number not in self._set or number is None:
            return False
        process = self._peers.process(number)
        return bool(process.networks or process.first_channel) and not self._was_told_connected()

    def _was_told_connected(self) -> bool:
        """Whether a line says so, and not only their order."""
        if any(self._place.holds(mark) for mark in self._evidence.results):
            return True
        return any(self._peers.process(number).connected for number in self._peers.numbers)

    def _not_made_good(self, failures: list[tuple[Failure, Mark]]) -> Iterator[tuple[Failure, Mark]]:
        """Fatal failures without a later connection of the same process, or later results of the run.

        What another process says later in the log may have been said earlier: nodes' logs are put one after the other.
        """
        results = [mark for mark in self._evidence.results if self._place.holds(mark)]
        for failure, mark in failures:
            if not failure.is_fatal:
                continue
            number = self._evidence.numbers.get((failure.said.host, failure.said.pid))
            own = self._peers.process(number).connection if number in self._set and number is not None else None
            if not any(mark.is_before(later) for later in (*results, own) if later is not None):
                yield failure, mark

    # -- status and reasons

    def _status(
        self, verdict: str, failures: list[tuple[Failure, Mark]], has_ended: bool
    ) -> tuple[str, Why, str | None]:
        """Status, the lines that prove the reasons, and what to look at where the log cannot tell."""
        why = self._proven(failures)
        if has_ended:
            return "aborted", why, None
        if verdict == "unknown":
            # What the other ranks used is not known; that sockets were all that these may use is.
            return "undecided", {**why, **asked_for(self._asked_for_tcp_apart())}, None
        if verdict == "mixed":
            return "mixed", {**why, **asked_for(self._asked_for_tcp_apart())}, None
        if verdict == "shm":
            return "as-expected", {}, None
        if verdict in words.RDMA:
            uneven = self._uneven(failures)
            return ("mixed", uneven, None) if uneven else ("as-expected", {}, None)
        asked = self._asked_for_tcp()
        if asked:
            apart = _of_other_hosts(why, asked)
            return "fallback" if apart else "by-configuration", {**apart, **asked_for(asked)}, None
        return self._fallback(why, failures)

    def _fallback(self, why: Why, failures: Sequence[tuple[Failure, Mark]]) -> tuple[str, Why, str | None]:
        """TCP that nothing asked for: a fall-back, unless the hosts have no HCA."""
        is_libfabric = any(is_of_libfabric(name) for chosen in self._chosen.values() for name in chosen)
        has_sign = is_libfabric or self._judge.device is not None or self._judge.has_port
        if why.keys() <= {"noport", "nolib"} and not has_sign and not any(f.runtime == "ofi" for f, _ in failures):
            if self._hosts and {short_name(host) for host in self._hosts} <= self._judge.without_hca:
                return "as-expected", {}, None
            if self._hosts and all(_EC2_NAME.match(host) for host in self._hosts):
                look = (
                    "whether these instances have an EFA at all: run `fi_info -p efa` and `ls /sys/class/infiniband` "
                    "there; without one TCP is what they can do"
                )
                return "undecided", why, look
        if is_libfabric and not why:
            return "fallback", why, _PROVIDER_STEP
        return "fallback", why, self._slingshot_step() if self._lacks_plugin(failures) else None

    def _lacks_plugin(self, failures: Sequence[tuple[Failure, Mark]]) -> bool:
        """Whether these are HPE's hosts, by the names of the interfaces that carry the data, and have no plugin."""
        names = {name for n in self._chosen for name in self._peers.process(n).interfaces.get("Socket", ())}
        is_of_hpe = bool(names) and all(map(_HSN.match, names))
        return is_of_hpe and any(failure.topic == "no-plugin" for failure, _ in failures)

    def _slingshot_step(self) -> str:
        return _SLINGSHOT_STEP.format(library="librccl-net.so" if self._version()[0] == "RCCL" else "libnccl-net.so")

    def _proven(self, failures: list[tuple[Failure, Mark]]) -> Why:
        why: Why = {}
        for failure, mark in failures:
            reason = reason_of(failure)
            if failure.topic == "no-device" and failure.detail != "IB":
                reason = None
            elif failure.topic == "plugin-init" and failure.detail not in ("IB", "Socket"):
                reason = "plugin"
            elif failure.topic == "memlock" and any(
                "ulimit -l unlimited" in line.text for line in self._judge.launches
            ):
                reason = None  # the ranks were started with that limit lifted: some other memory is short
            elif failure.topic == "gid" and _NO_ANSWER in mark.text and self._links() == {"IB"}:
                reason = None  # InfiniBand looks nothing up: it was the HCA that did not answer
            elif failure.topic == "retry-exceeded" and self._is_roce() and self._is_at_start(failure):
                reason = "gid"  # of a connection that worked before it says nothing: the peer may be gone
            if reason:
                why.setdefault(reason, []).append((mark, "failure"))
        if "nodev" in why or "nolib" in why or any(failure.topic == "ofi-no-provider" for failure, _ in failures):
            # The HCA that could not be opened, or without the library, is not found either; and where libfabric was to
            # carry the data there need be none.
            why.pop("noport", None)
        if "noport" in why and (wanted := self._wanted_device()):
            why = {"wrongdev": [(wanted, "configuration"), *why.pop("noport")], **why}
        return why

    @staticmethod
    def _remarks(failures: list[tuple[Failure, Mark]]) -> Why:
        """RDMA that goes through the host's memory is RDMA all the same."""
        marks = [(mark, "candidate") for failure, mark in failures if failure.topic == "no-peer-memory"]
        return {"peermem": marks} if marks else {}

    def _links(self) -> set[str]:
        return {link for n in self._peers.numbers for link in self._peers.process(n).links}

    def _is_roce(self) -> bool:
        return self._links() == {"RoCE"}

    def _wanted_device(self) -> Mark | None:
        """NCCL_IB_HCA names devices: then the user expects them."""
        for setting, mark in self._settings:
            if setting.name == "NCCL_IB_HCA" and setting.value and not setting.value.startswith("^"):
                return mark
        return None

    def _asked_for_tcp(self) -> list[Mark]:
        """Settings that leave sockets alone."""
        return [mark for setting, mark in self._settings if leaves_sockets(setting)]

    def _asked_for_tcp_apart(self) -> list[Mark]:
        """Settings that leave sockets alone, of processes that use sockets, where others do not."""
        found = []
        for setting, mark in self._settings:
            number = self._evidence.numbers.get((setting.said.host, setting.said.pid))
            if leaves_sockets(setting) and number in self._chosen and number is not None:
                chosen = {self._networks.word(number, name, None) for name in self._chosen[number]}
                if chosen <= _BY_SOCKETS:
                    found.append(mark)
        return found

    def _uneven(self, failures: list[tuple[Failure, Mark]]) -> Why:
        """Some host could not open a device that others have: rails are missing though RDMA is used."""
        sizes = {len(listed.names) for n in self._peers.numbers for listed in self._peers.process(n).devices.values()}
        closed = [mark for failure, mark in failures if failure.topic == "open-device"]
        if closed and len(sizes) > 1:
            return {"nodev": [(mark, "failure") for mark in closed]}
        warned = [mark for failure, mark in failures if failure.topic in ("mixed-devices", "mixed-links")]
        if warned:
            return {"mixed": [(mark, "failure") for mark in warned]}
        shorter = self._shorter_lists()
        return {"mixed": [(mark, "candidate") for mark in shorter]} if shorter else {}

    def _shorter_lists(self) -> list[Mark]:
        """The device lists of hosts that lack some of the devices that another host lists, a line for each host.

        Processes of one host that list different devices (one HCA for each container) tell nothing of the host.
        """
        lists: dict[str, dict[frozenset[str], Mark]] = {}
        for number, host in self._processes():
            for network, listed in self._peers.process(number).devices.items():
                if host is not None and network in self._peers.process(number).networks and listed.is_indexed:
                    mark = self._peers.process(number).device_marks[network]
                    lists.setdefault(host, {}).setdefault(frozenset(listed.names), mark)
        if any(len(found) > 1 for found in lists.values()):
            return []
        every = [(names, mark) for found in lists.values() for names, mark in found.items()]
        return [mark for names, mark in every if any(names < others for others, _ in every)]


#: Fatal failures before data was moved; the generic errors that follow any failure are not among them.
_AT_SETUP = frozenset(
    ("memlock", "gid", "verbs-call", "connect", "no-such-network", "no-network", "mixed-devices", "mixed-links",
     "no-interface"),
)  # fmt: skip
#: Failures of a queue pair that was connected.
_OF_A_PATH = frozenset(("retry-exceeded", "completion-error"))
_VERBS = frozenset(("ib", "roce", "rdma"))
_BY_SOCKETS = frozenset(("tcp", "ipoib"))
#: ETIMEDOUT of ibv_modify_qp: the kernel did not learn the peer's Ethernet address (drivers/infiniband/core/addr.c).
_NO_ANSWER = "Connection timed out"
#: The address that a GID of the peer is made of.
_PEER_GID = re.compile(r"\bremote GID ::ffff:(\d{1,3}(?:\.\d{1,3}){3})\b")
#: The start of NET or COLLNET in a channel line.
_TO_NETWORK = re.compile(r" via [NC]")
#: HPE's names for the interfaces of Slingshot's NICs, and of the Ethernet NICs of Slingshot 10.
_HSN = re.compile(r"hsn\d{1,3}\Z")
#: EC2's private DNS names. EC2 has no InfiniBand and no RoCE; some instance types have an EFA.
_EC2_NAME = re.compile(r"ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.|\Z)")


def _of_other_hosts(why: Why, asked: list[Mark]) -> Why:
    """What failed on hosts that did not ask for sockets: those of their ranks that did do not explain it."""
    hosts = {mark.host for mark in asked}
    others = {
        reason: [(mark, kind) for mark, kind in marks if mark.host and mark.host not in hosts]
        for reason, marks in why.items()
    }
    return {reason: marks for reason, marks in others.items() if marks} if None not in hosts else {}


def _rank_pairs(a: str, by_word: Mapping[str, list[_Path]]) -> tuple[tuple[int, int], ...]:
    """Sorted, with the rank on host ``a`` first; on one host the smaller first."""
    found: set[tuple[int, int]] = set()
    for path in (path for paths in by_word.values() for path in paths):
        if path.ranks is not None:
            one, other = path.ranks
            is_turned = one > other if path.host == path.peer_host else path.host != a
            found.add((other, one) if is_turned else (one, other))
    return tuple(sorted(found))


def _cite(by_word: Mapping[str, list[_Path]], book: Book) -> tuple[int, ...]:
    """At most two lines for each transport: one from either end."""
    cited = []
    for word, paths in by_word.items():
        speakers: dict[str | None, _Path] = {}
        for path in paths:
            speakers.setdefault(path.host, path)
            if len(speakers) == 2:
                break
        cited += [book.cite(path.mark, "path", word) for path in speakers.values()]
    return tuple(dict.fromkeys(cited))
