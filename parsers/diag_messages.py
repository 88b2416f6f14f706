"""What the infiniband-diags say when something goes wrong: mostly on stderr, some of it on stdout.

The grammar was read off the macros that print it (rdma-core: ``libibumad/umad.c``, ``libibmad/mad_osd.h`` and
``rpc.c``, ``libibnetdisc/internal.h`` and ``query_smp.c``, ``infiniband-diags/ibdiag_common.c``). The tools' exit
status says little, so these lines are evidence: a sweep that missed a subtree says so here and nowhere else.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import MAX_LINE_CHARS
from ibkit.parsers.lines import Problems
from ibkit.parsers.records import NamedTuple

#: ``kind`` of a message.
NO_UMAD = "no-umad"  # the kernel module ib_umad is not loaded (or the host has no device at all)
CANNOT_OPEN = "cannot-open"  # the port's umad device could not be opened; ``reason`` where the version tells
NO_SMI = "no-smi"  # the port takes no subnet management packets: an Ethernet (RoCE) port
NO_DEVICE = "no-device"  # no device of that name
NO_ANSWER = "no-answer"  # a node did not answer; ``route`` or ``lid`` says which
MAD_STATUS = "mad-status"  # a node refused; ``status`` is the MAD's status
NO_SM = "no-sm"  # the port knows no subnet manager
SA_STATUS = "sa-status"  # the subnet administrator refused
FAILED = "failed"  # the tool's last word, in ``reason``
SIMULATOR = "simulator"  # ibsim's client library telling where it is attached: harmless
LIBRARY = "library"  # libibnetdisc complains of something else that spoils the sweep
OTHER = "other"

#: Linux errno values that a MAD's completion carries when nobody answered.
TIMEOUTS = (110, 116)


class Message(NamedTuple):
    """One complaint. ``text`` is the line without the process id, so that two runs compare equal.

    ``route`` is a directed route: the ports to leave by, starting with the local port; an empty route is the local
    node itself. ``attribute`` is the management attribute that was asked for (0x11 NodeInfo, 0x15 PortInfo ...),
    ``modifier`` mostly the port it was asked about.
    """

    kind: str
    text: str
    line: int | None = None
    function: str | None = None
    device: str | None = None
    route: tuple[int, ...] | None = None
    lid: int | None = None
    attribute: int | None = None
    modifier: int | None = None
    status: int | None = None
    reason: str | None = None


_LEVEL = re.compile(r"(ibwarn|ibpanic|iberror|ibdebug): \[[0-9]+\] (\w+): (.*)")
_FAILED = re.compile(r"(\S+): iberror: (?:\[pid [0-9]+\] \w+: )?failed: ?(.*)")
_SOURCE_LINE = re.compile(r"\S*\.c:[0-9]+; (.*)")
_BAD_STATUS = re.compile(
    r"(umad|mad) \((.+) Attr 0x([0-9a-fA-F]{1,4}):([0-9]{1,10})\) "
    r"bad status (?:0x([0-9a-fA-F]{1,8})|([0-9]{1,6}))(?:; (.*))?$"
)
_NO_REPLY = re.compile(r"_do_madrpc failed; dport \((.+)\)$")
_COMPLETED = re.compile(r"MAD completed with error status 0x([0-9a-fA-F]{1,8}); dport \((.+)\)$")
_OPEN = re.compile(
    r"[Cc]an't open (?:SMI |GSI )?(?:UMAD|MAD) port(?: \((?P<reason>[^()]*)\))? \((?P<device>.*):[0-9]+\)$"
)
_ABI = re.compile(r"can't read ABI version from .* \((.*)\): is ib_umad module loaded\?$")
_REGISTER = re.compile(r"client_register for mgmt (?:class )?[0-9]+ failed$")
_NO_SM = re.compile(r"No SM/SA found on port (.*):[0-9]+$")
_NOT_FOUND = re.compile(r"'(.*)' IB device can't be found")
_SA = re.compile(r"(?:ERROR: )?Query (?:result returned|SA failed).*")
_PATH = re.compile(r"(?:Lid ([0-9]{1,6}))?(?: Gid \S+)?\s?(?:DR path slid [0-9]+; dlid [0-9]+; ([0-9,]{1,400}))?$")


def parse_lines(text: str) -> tuple[Message, ...]:
    """Every line of a tool's stderr; a line of unknown form is kept as ``other``, a blank one is nothing."""
    messages = []
    for number, line in enumerate(text.replace("\r", "").split("\n"), 1):
        line = line[:MAX_LINE_CHARS].strip()
        if line:
            messages.append(parse_line(line, number) or Message(OTHER, line, number))
    return tuple(messages)


def known_lines(text: str) -> tuple[Message, ...]:
    """The messages in a tool's stdout, whose other lines are no messages."""
    lines = enumerate(text.replace("\r", "").split("\n"), 1)
    messages = (parse_line(line[:MAX_LINE_CHARS], number) for number, line in lines)
    return tuple(message for message in messages if message)


def parse_line(line: str, number: int | None = None) -> Message | None:
    """The message in one line, or None where the line is not one of the infiniband-diags' messages.

    >>> parse_line("src/query_smp.c:199; umad (DR path slid 0; dlid 0; 0,1,10,19 Attr 0x11:0) bad status 110; x").route
    (1, 10, 19)
    """
    line = line.strip()
    if ": " not in line and "; " not in line:
        return None
    found = _LEVEL.match(line)
    if found:
        level, function, body = found.groups()
        if function == "sim_connect" and body.startswith("attached as client "):
            return Message(SIMULATOR, body, number, function)
        return _body(body, f"{level}: {function}: {body}", number)._replace(function=function)
    found = _SOURCE_LINE.match(line)
    if found:
        message = _body(found[1], found[1], number)
        return message._replace(kind=LIBRARY) if message.kind == OTHER else message
    found = _FAILED.match(line)
    if found:
        opened = found[2].startswith("Failed to open")
        return Message(CANNOT_OPEN if opened else FAILED, line, number, reason=found[2])
    if _SA.match(line):
        return Message(SA_STATUS, line, number, reason=line)
    return None


class Complaints:
    """The messages that somebody's ``2>&1`` mixed into one tool's text, in its order.

    A message of the tool itself, which ``own`` matches, is its last word: a problem, and the tool has ``failed``.
    """

    def __init__(self, own: re.Pattern[str], problems: Problems) -> None:
        self.messages: list[Message] = []
        self.failed = False
        self._own = own
        self._problems = problems

    def take(self, number: int, line: str) -> bool:
        """Keep the message in ``line``; False where there is none."""
        message = parse_line(line, number)
        if message and self._own.match(message.text):
            self.failed = True
            self._problems.add(message.kind, message.text, number)
        elif message and message.kind != SIMULATOR:
            self.messages.append(message)
        return message is not None


def _body(body: str, text: str, number: int | None) -> Message:
    """A message by its words, whatever stands before them."""
    message = Message(OTHER, text, number)
    found = _BAD_STATUS.match(body)
    if found:
        layer, path, attribute, modifier, hexadecimal, decimal, reason = found.groups()
        status = int(hexadecimal, 16) if hexadecimal else int(decimal)
        kind = NO_ANSWER if layer == "umad" and status in TIMEOUTS else MAD_STATUS
        return _with_path(message, path)._replace(
            kind=kind, attribute=int(attribute, 16), modifier=int(modifier), status=status, reason=reason
        )
    found = _NO_REPLY.match(body)
    if found:
        return _with_path(message, found[1])._replace(kind=NO_ANSWER)
    found = _COMPLETED.match(body)
    if found:
        return _with_path(message, found[2])._replace(kind=MAD_STATUS, status=int(found[1], 16))
    found = _OPEN.match(body)
    if found:
        return message._replace(kind=CANNOT_OPEN, device=_device(found["device"]), reason=found["reason"])
    found = _ABI.match(body)
    if found:
        return message._replace(kind=NO_UMAD, reason=found[1])
    if _REGISTER.match(body):
        return message._replace(kind=NO_SMI)
    found = _NO_SM.match(body)
    if found:
        return message._replace(kind=NO_SM, device=_device(found[1]))
    found = _NOT_FOUND.match(body)
    if found:
        return message._replace(kind=NO_DEVICE, device=found[1])
    return message


def _with_path(message: Message, path: str) -> Message:
    """``Lid 4``, ``DR path slid 0; dlid 0; 0,1,10`` or both; any other destination is left out."""
    found = _PATH.match(path)
    if not found:
        return message
    lid, hops = found.groups()
    route: tuple[int, ...] | None = None
    if hops:
        numbers = hops.split(",")
        if all(1 <= len(hop) <= 3 for hop in numbers):
            route = tuple(int(hop) for hop in numbers[1:])
    return message._replace(lid=int(lid) if lid else None, route=route)


def _device(name: str) -> str | None:
    """The device that was asked for; ``(null)`` is "any"."""
    return None if name in ("(null)", "(nil)", "") else name
