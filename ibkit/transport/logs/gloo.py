"""Gloo's layer: what the processes of PyTorch and Horovod send CPU tensors with.

A Gloo context has one device and no shared memory, so that its transport is the same for all its ranks, on whatever
hosts they are. In PyTorch on Linux it is TCP unless GLOO_DEVICE_TRANSPORT names another one, in Horovod always.
Beside NCCL or MPI it coordinates the ranks, and nothing of it decides. NCCL may be silent, and PyTorch, vLLM and SGLang
make groups of Gloo beside it, also later on, and with TORCH_DISTRIBUTED_DEBUG=DETAIL for each of NCCL's
(c10d/ProcessGroupWrapper.cpp): that Gloo connected its ranks, failed to, or lost one shows neither that it carries
their data, nor that nothing did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ibkit.model.mpi import Layer, Pair
from ibkit.parsers import gloo, horovod, torch_distributed
from ibkit.parsers.job_facts import Backend, Failure, Mesh, Provider, Setting
from ibkit.transport import words
from ibkit.transport.evidence import Book, File, Mark
from ibkit.transport.links import Links
from ibkit.transport.logs.attempts import Attempts
from ibkit.transport.logs.in_force import in_force
from ibkit.transport.logs.processes import MAX_RUNS, Launches
from ibkit.transport.logs.run_settings import One, settings_of_runs
from ibkit.transport.logs.sizes import Known
from ibkit.transport.logs.versions import lines_of
from ibkit.transport.reasons import asked_for, reason_of, reasons

NAME = gloo.NAME
NEXT_STEP = (
    "Gloo prints its transport only when it opens a verbs device or fails: look at the job while it runs (ibkit "
    "check-mpi-transport running), or run again with GLOO_LOG_LEVEL=INFO, where the model is a DDP also with "
    "TORCH_DISTRIBUTED_DEBUG=INFO and TORCH_CPP_LOG_LEVEL=INFO, and print `PyTorch version: ` with torch.__version__ "
    "(before 2.8 Gloo has TCP alone)"
)
_CARRIER = (
    "no line tells whether Gloo carries the data or coordinates ranks of NCCL, which is silent unless it is asked: run "
    "again with NCCL_DEBUG=INFO and TORCH_DISTRIBUTED_DEBUG=INFO, or keep the line that tells the backend "
    '(init_process_group(backend="gloo")) in the log'
)
CARRIER_STEP = f"Gloo connected its ranks, but {_CARRIER}"
LOST_STEP = (
    f"Gloo lost a rank: look for that one's own error first. What moved the data until then is not told: {_CARRIER}"
)
APART_STEP = (
    f"a group of Gloo was not connected, and whether data had moved by another one before is not told: {_CARRIER}"
)
#: Values of GLOO_DEVICE_TRANSPORT that are TCP (c10d/GlooDeviceFactory.cpp). An unset one is told as an empty one.
_TCP_DEVICES = frozenset(("", "TCP", "TCP_TLS", "LINUX", "UV", "LAZY_TCP"))
_INTERFACES = frozenset(("GLOO_SOCKET_IFNAME", "HOROVOD_GLOO_IFACE"))
#: Failures of a group that was connected.
_OF_CONNECTED = frozenset(("connection-lost", "barrier"))
#: PyTorch's first release whose Gloo can have a device for verbs.
_FIRST_WITH_VERBS = (2, 8)
#: So many lines a traceback has between a frame of PyTorch's and the error: one frame is two or three.
_FRAME_LINES = 40
#: The error that a frame raised by itself, and did not pass on in words of its own.
_RAISED = re.compile(r"RuntimeError: \[")
_MAX_FACTS = 100_000

Fact = Provider | Mesh | Failure
_Told = dict[str, tuple[Mark, str]]


class Evidence:
    """Takes the facts of all logs of a target."""

    def __init__(self) -> None:
        self._facts: list[tuple[Fact, Mark]] = []
        self._backends: list[tuple[Backend, Mark]] = []
        self._settings: list[tuple[Setting, Mark]] = []
        #: Frames of tracebacks, by what they are about.
        self._frames: dict[str, list[Mark]] = {}
        self._has_others = False

    def add(self, fact: Fact | Backend | Setting, file: File) -> None:
        """Take one fact."""
        mark = file.mark(fact.said)
        if isinstance(fact, Setting):
            self._settings.append((fact, mark))
        elif isinstance(fact, Backend):
            if fact.purpose in (torch_distributed.START, torch_distributed.BACKWARD):
                self._frames.setdefault(fact.purpose, []).append(mark)
            elif fact.purpose == "data" and fact.name == "gloo":
                self._backends.append((fact, mark))
            else:
                self._has_others |= fact.purpose == "data"
        elif len(self._facts) < _MAX_FACTS:
            self._facts.append((fact, mark))

    def layers(
        self, launches: Sequence[Mark], attempts: Attempts, known: Known, links: Links, book: Book
    ) -> Iterator[Layer]:
        """A layer for each run: a command line, or a new attempt, stands between two of them."""
        places = Launches(launches)
        runs: dict[tuple[int, tuple[int, int]], list[tuple[Fact, Mark]]] = {}
        for fact, mark in self._facts:
            runs.setdefault((places.between(mark.order, 0, mark.line), attempts.number(mark)), []).append((fact, mark))
        found = [runs[key] for key in sorted(runs)] or ([[]] if self._backends else [])
        lines = [lines_of(mark for _, mark in facts) for facts in found]
        own = settings_of_runs(self._settings, lines, launches, attempts, lambda setting, mark: None)
        for job, (facts, settings) in enumerate(zip(found[:MAX_RUNS], own, strict=False), 1):
            yield self._layer(facts, in_force(settings), job, known if len(found) == 1 else Known(), links, book)

    def _layer(
        self, facts: list[tuple[Fact, Mark]], settings: list[One], job: int, known: Known, links: Links, book: Book
    ) -> Layer:
        told = self._told(facts, settings, links)
        word = words.combine(told) if told.keys() else "unknown"
        if word == "mixed":
            word = "unknown"  # two devices of one process: which of them its tensors take is not told
        why: dict[str, list[tuple[Mark, str]]] = {}
        fatal = [(fact, mark) for fact, mark in facts if isinstance(fact, Failure) and fact.is_fatal]
        for fact, mark in fatal:
            if reason := reason_of(fact):
                why.setdefault(reason, []).append((mark, "failure"))
        apart = [mark for fact, mark in fatal if fact.topic not in _OF_CONNECTED]
        if apart and not _was_connected(facts, apart):
            word = "none" if self._has_frame(torch_distributed.START, apart) else "unknown"
        elif fatal and not self._carries_data() and not self._has_others:
            word = "unknown"
        cited = tuple(book.cite(mark, kind, name) for name, (mark, kind) in told.items() if word != "none")
        status, step = "undecided" if word == "unknown" else "as-expected", None
        if fatal:
            status = "aborted"
            if word == "unknown":
                step = APART_STEP if apart else LOST_STEP
        elif word == "unknown":
            step = NEXT_STEP
        elif not self._carries_data():
            status, step = "undecided", CARRIER_STEP
        elif word in ("tcp", "ipoib") and known.hosts != 1:
            status = "by-configuration"
            asked = [mark for setting, mark in settings if _asks_for_tcp(setting)]
            why = asked_for(asked) or {"glootcp": list(told.values())}
        for _, mark in fatal[:2]:
            book.cite(mark, "failure")
        pairs: tuple[Pair, ...] = ()
        if len(known.names) == 2 and word not in ("unknown", "none"):
            a, b = sorted(known.names)
            pairs = (Pair(a, b, word, (), cited),)
        ranks = max((fact.ranks for fact, _ in facts if isinstance(fact, Mesh)), default=known.ranks)
        return Layer(
            "gloo", word, status, job, NAME, None, known.names, ranks, pairs, reasons(why, book), step,
            evidence=book.cited(),
        )  # fmt: skip

    def _carries_data(self) -> bool:
        """Whether tensors go by Gloo: a framework names it as its backend, or the backward pass ended by its error."""
        lost = [mark for fact, mark in self._facts if isinstance(fact, Failure) and fact.topic == "connection-lost"]
        raised = [mark for mark in lost if _RAISED.search(mark.text)]
        return bool(self._backends) or self._has_frame(torch_distributed.BACKWARD, raised)

    def _has_frame(self, purpose: str, errors: Iterable[Mark]) -> bool:
        """Whether one of these errors ended a traceback with such a frame, or with the call itself."""
        frames = self._frames.get(purpose, ())
        return any(
            frame.rank == error.rank and frame.is_before(error) and error.line - frame.line <= _FRAME_LINES
            for error in errors
            for frame in frames
        )

    def _told(self, facts: Iterable[tuple[Fact, Mark]], settings: Sequence[One], links: Links) -> _Told:
        """The transports that lines name, each with the line that does, and its class."""
        told: _Told = {}
        for fact, mark in facts:
            if isinstance(fact, Provider):
                told.setdefault(_word(fact, links), (mark, "selection"))
        for fact, mark in facts:
            if isinstance(fact, Mesh) or (isinstance(fact, Failure) and fact.detail == "tcp"):
                told.setdefault(_tcp_word(told, settings), (mark, "selection"))
            elif isinstance(fact, Failure) and fact.detail == "verbs":
                told.setdefault("rdma", (mark, "selection"))
        if not told:
            for backend, mark in self._backends:
                if backend.framework == horovod.NAME or _has_tcp_device(settings):
                    told.setdefault(_tcp_word(told, settings), (mark, "selection"))
        return told


def _tcp_word(told: _Told, settings: Iterable[One]) -> str:
    """TCP over the interfaces that a device line, or a setting, names."""
    if "ipoib" in told:
        return "ipoib"
    names = [name for setting, _ in settings if setting.name in _INTERFACES for name in setting.value.split(",")]
    names = [name for name in names if name]
    return words.combine(words.of_interface(name) for name in names) if names else "tcp"


def _has_tcp_device(settings: Sequence[One]) -> bool:
    """Whether processes say that PyTorch's Gloo has a TCP device, or their version has no other one."""
    values = {setting.value.upper() for setting, _ in settings if setting.name == "GLOO_DEVICE_TRANSPORT"}
    if values:
        return values <= _TCP_DEVICES
    versions = [setting.value for setting, _ in settings if setting.name == torch_distributed.VERSION]
    return bool(versions) and all(map(_has_no_verbs, versions))


def _word(device: Provider, links: Links) -> str:
    """A device's transport: an interface's, or a port's by its link layer."""
    if device.provider == "tcp":
        return words.of_interface(device.detail)
    return links.word(device.said.host, device.detail or "") or "rdma"


def _has_no_verbs(version: str) -> bool:
    major, minor = map(int, re.findall(r"\d+", version)[:2])
    return (major, minor) < _FIRST_WITH_VERBS


def _was_connected(facts: Iterable[tuple[Fact, Mark]], errors: Iterable[Mark]) -> bool:
    """Whether a rank had all its connections before all of these errors."""
    whole = [mark for fact, mark in facts if isinstance(fact, Mesh) and fact.connected == fact.ranks - 1]
    return any(all(mark.is_before(error) for error in errors) for mark in whole)


def _asks_for_tcp(setting: Setting) -> bool:
    return setting.name == "GLOO_DEVICE_TRANSPORT" and setting.value != "" and setting.value.upper() in _TCP_DEVICES
