"""Why a tool of the infiniband-diags could not ask the subnet: each cause has a kind and a mend of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from typing import NamedTuple

from ibkit.collectors.absence import explain_absence
from ibkit.collectors.access import may_open, read_identity
from ibkit.collectors.sysfs import CLASS
from ibkit.parsers import diag_messages as diag
from ibkit.parsers.base import Problem
from ibkit.parsers.diag_messages import Message
from ibkit.sources.base import DENIED, MISSING, NOT_RECORDED, TIMEOUT, TOO_MUCH, CommandAnswer, Source
from ibkit.sources.raw import RawSource

UMAD_FOLDER = "/dev/infiniband"


class Through(NamedTuple):
    """The port of this host that a tool asks the subnet through; None is the tool's own choice, which is the first
    active InfiniBand port (rdma-core, ``libibumad/umad.c``, resolve_ca_name).
    """

    device: str | None = None
    port: int | None = None

    def command(self, tool: str, *options: str) -> tuple[str, ...]:
        """The words of a command of the infiniband-diags, which all know ``-C`` and ``-P``."""
        device = () if self.device is None else ("-C", self.device)
        port = () if self.port is None else ("-P", str(self.port))
        return (tool, *device, *port, *options)

    def __str__(self) -> str:
        port = "" if self.port is None else f"port {self.port}"
        return " ".join(part for part in (self.device, port) if part) or "the first active port"


#: The tool's own choice.
ANY_PORT = Through()


#: Why asking again would be in vain: the port cannot be used, nobody manages the subnet.
_LASTING = frozenset({diag.NO_UMAD, diag.CANNOT_OPEN, diag.NO_SMI, diag.NO_DEVICE, diag.NO_SM})


def ask(
    source: Source, through: Through, tool: str, *options: str, deadline_seconds: float, longer_ms: int
) -> CommandAnswer:
    """Run a tool; once more where it failed for what may pass, with ``longer_ms`` of patience for each packet.

    Our own time-out is never repeated. The second question has other words, so that a capture holds both answers.
    """
    answer = source.run(through.command(tool, *options), deadline_seconds=deadline_seconds)
    if not _may_pass(answer):
        return answer
    longer = through.command(tool, "-t", str(longer_ms), *options)
    again = source.run(longer, deadline_seconds=deadline_seconds)
    return answer if again.failure == NOT_RECORDED else again


def _may_pass(answer: CommandAnswer) -> bool:
    """Whether it failed as tools do where a packet was lost or a manager busy."""
    if answer.failure is not None or answer.exit_status in (0, None):
        return False
    messages = (*diag.parse_lines(answer.err), *diag.known_lines(answer.out))
    refused = any(message.kind == diag.SA_STATUS and "result returned" in message.text for message in messages)
    return not refused and _LASTING.isdisjoint(message.kind for message in messages)


def label_of(source: Source, answer: CommandAnswer) -> str:
    """What problems name as their source: the command as typed, or the file that was given in its place."""
    if isinstance(source, RawSource):
        return "stdin" if source.path == "-" else source.path
    return answer.command


def only_stdout(answer: CommandAnswer) -> bool:
    """Whether exit status and stderr are not known, as of a file that somebody saved."""
    return answer.exit_status is None and answer.failure is None


def explain_failure(source: Source, answer: CommandAnswer, messages: Iterable[Message]) -> Problem:
    """The one cause of a tool's failure, and how to mend it, from its messages and the host's devices."""
    kind, text = _not_run(answer) or _not_opened(source, tuple(messages)) or _ended(answer, tuple(messages))
    return Problem(kind, text, None, label_of(source, answer))


def _not_run(answer: CommandAnswer) -> tuple[str, str] | None:
    tool = answer.argv[0]
    if answer.failure == MISSING:
        return "tool-missing", f"{tool} is not installed: install the package infiniband-diags"
    if answer.failure == DENIED:
        return "tool-denied", f"{tool} could not be started: look at its permissions and at the limit of processes"
    if answer.failure == NOT_RECORDED:
        if "-C" in answer.argv:
            way = f"{tool} was not asked through {answer.argv[answer.argv.index('-C') + 1]} when this was recorded"
            return NOT_RECORDED, f"{way}: leave out --device and --port, or record it on a host that has such a device"
        return NOT_RECORDED, f"no output of {tool} is recorded here: record it with `ibkit capture`"
    if answer.failure == TIMEOUT:
        time = f"in {answer.seconds:.0f} s" if answer.seconds else "in its time"  # a capture need not tell
        return "timeout", f"{tool} did not end {time} and was stopped"
    if answer.failure == TOO_MUCH:
        return "too-much-output", f"{tool} printed without end and was stopped"
    if answer.exit_status is not None and answer.exit_status < 0:
        return "killed", f"{tool} was killed by {_signal_name(-answer.exit_status)}"
    return None


def _not_opened(source: Source, messages: tuple[Message, ...]) -> tuple[str, str] | None:
    """The umad device of a port could not be used."""
    kinds = {message.kind for message in messages}
    if diag.NO_DEVICE in kinds:
        device = next(message.device for message in messages if message.kind == diag.NO_DEVICE)
        return "no-such-device", f"there is no RDMA device {device}: `ibstat -l` lists those that there are"
    if not kinds & {diag.NO_UMAD, diag.CANNOT_OPEN, diag.NO_SMI}:
        return None
    devices = source.list(CLASS)
    if devices.error == "ENOENT" or devices.entries == ():
        absence = explain_absence(source, devices)
        return absence.kind, absence.text
    if diag.NO_UMAD in kinds:
        other = "" if devices.entries else ", or the host has no RDMA device"
        return (
            "no-umad",
            f"the kernel module ib_umad is not loaded{other}: `modprobe ib_umad` as root, and at every boot",
        )
    ports = _ports(source, devices.names)
    all_ethernet = bool(ports) and all(port.link_layer == "Ethernet" for port in ports)
    if diag.NO_SMI in kinds or all_ethernet:
        sure = "is" if all_ethernet else "seems to be"
        return "no-infiniband", f"the port {sure} Ethernet (RoCE), which has no InfiniBand subnet that could be asked"
    reasons = {message.reason for message in messages if message.kind == diag.CANNOT_OPEN}
    if "No such device" in reasons or (ports and all(port.is_unusable for port in ports)):
        return "no-port", "no InfiniBand port can be used: all are disabled; `ibkit status` shows their state"
    return "umad-denied", f"{_umad_obstacle(source)}: run as root, or let a udev rule give your group access"


class _Port(NamedTuple):
    link_layer: str | None
    physical_state: str | None

    @property
    def is_unusable(self) -> bool:
        """Whether the library passes the port over: Ethernet, or physically disabled (umad.c, resolve_ca_port)."""
        return self.link_layer == "Ethernet" or (self.physical_state or "").startswith("3:")


def _ports(source: Source, devices: Iterable[str]) -> list[_Port]:
    ports = []
    for device in devices:
        for number in source.list(f"{CLASS}/{device}/ports").names:
            folder = f"{CLASS}/{device}/ports/{number}"
            texts = (source.read(f"{folder}/{name}").text for name in ("link_layer", "phys_state"))
            ports.append(_Port(*(None if text is None else text.strip() for text in texts)))
    return ports


def _umad_obstacle(source: Source) -> str:
    """Which device file stands in the way, as far as its mode and the user's groups tell."""
    identity = read_identity(source)
    for entry in source.list(UMAD_FOLDER).entries or ():
        if entry.name.startswith("umad") and may_open(entry, identity) is False:
            return f"{identity} may not open {UMAD_FOLDER}/{entry.name} (mode {entry.mode or 0:04o})"
    return "the port's umad device could not be opened, probably for want of permission"


def _ended(answer: CommandAnswer, messages: tuple[Message, ...]) -> tuple[str, str]:
    """The tool's own words, where nothing better is known."""
    if answer.exit_status == 0 and not answer.stdout.strip():
        return "no-output", f"{answer.argv[0]} ended well, but printed nothing"
    if only_stdout(answer) and not messages:
        return "no-output", f"the text holds nothing of {answer.argv[0]} that could be read"
    if answer.exit_status == 0 and not messages:
        first = answer.out.strip().splitlines()[0][:80]
        return "no-output", f"{answer.argv[0]} ended well, but printed nothing of its own; its first line: {first!r}"
    words = [message.text for message in messages if message.kind != diag.SIMULATOR]
    why = words[0] if words else "it gave no reason"
    status = "" if answer.exit_status is None else f" with exit status {answer.exit_status}"
    return "tool-failed", f"{answer.argv[0]} failed{status}: {why}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
