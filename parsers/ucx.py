"""UCX log lines, 1.2 to 1.22: which transports a process uses for which kind of peer, and what it could not use.

Formats were read in openucx/ucx at its release tags (src/ucs/debug/log.c, src/ucp/core/ucp_{worker,ep,context}.c,
src/ucp/proto/proto_debug.c, src/ucp/wireup/{select,wireup_lane_info}.c, src/uct/ib). In short:

- A line is ``[SEC.USEC] [HOST:PID:TID] FILE:LINE UCX LEVEL TEXT``; tables leave out everything between the second
  bracket and the text.
- 1.7 to 1.14, at level info: ``ep_cfg[N]: tag(TL/DEV TL/DEV); rma(...)`` once per *kind* of endpoint, not per peer. The
  process itself is a peer, too. From 1.15 on ``[CONTEXT ]self|intra-node|inter-node cfg#N tag(...)``.
- The transports in ``tag(...)`` are in the order of the lanes: the first carries the small messages, the others help
  with large ones. ``ka(...)`` is keep-alive and no data.
- ``UCX_PROTO_INFO=y`` prints a table per endpoint kind and operation; 1.22 prints the lanes as a table
  (``Endpoint Config #N``) with the lanes' types.
- ``network device 'X' is not available, please use one or more of`` is a warning; ``no ... transport to`` an error by
  which the connection fails; verbs errors tell what the system refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ibkit.parsers.job_facts import Failure, Said, Setting, Version
from ibkit.parsers.log_lines import CONTEXT, IGNORE, KEEP, Line, segments, shape
from ibkit.parsers.quotations import Speakers
from ibkit.parsers.records import NamedTuple


class Lane(NamedTuple):
    """A transport of an endpoint. ``use`` is tag, am, rma, am_bw ...; ``device`` ``mlx5_0:1``, ``eth0``, ``memory``."""

    use: str
    transport: str
    device: str


class EndpointConfig(NamedTuple):
    """The lanes of one kind of endpoint. ``scope`` is self, intra-node, inter-node, or None where the line has no word.

    A table tells one device at a time: then ``table`` is the line of its title.
    """

    said: Said
    number: int
    scope: str | None
    context: str | None
    lanes: tuple[Lane, ...]
    table: int | None = None


class ProtocolRow(NamedTuple):
    """Which lanes carry one range of message sizes of an operation, of endpoint kind ``number``."""

    said: Said
    number: int
    scope: str | None
    context: str | None
    operation: str
    sizes: str
    lanes: tuple[Lane, ...]


class DeviceLink(NamedTuple):
    """The link layer of an HCA port, IB or RoCE, as an error message tells it."""

    said: Said
    device: str
    link: str


UcxFact = EndpointConfig | ProtocolRow | DeviceLink | Version | Setting | Failure

_SHAPES = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b"ep_cfg[", b"-node cfg#", b"self cfg#", b"not available", b" transport to ", b"UCX_", b"  Version ",
            b"max locked memory", b"Cannot allocate memory", b"ibv_open_device(", b"ibv_exp_query_device(",
            b"invalid comp_mask", b"valid pkey", b"specified pkey", b"IB ports found", b"is not active (state",
            b"find a gid", b"retry count exceeded on", b" (synd ", b"unhandled timeout", b"Endpoint Config #",
            b"allocate memory pool", b"end completion with error: ", b" transports/devices",
            b"UCX  ERROR ", b"UCX  FATAL ",
        )
    )
)  # fmt: skip
#: A row of a table, or its title: the compact prefix, then a bar. A later run's are no repetitions.
_ROWS = re.compile(rb"\[\.\] \[[^\[\]]{0,300}\] {1,8}\|")


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    if _ROWS.search(form):
        return CONTEXT
    return KEEP if _SHAPES.search(form) else IGNORE


_HEAD = re.compile(r"\[\d{1,12}\.\d{1,9}\] \[(?P<host>[^\[\]\s:]{0,253}) *:(?P<pid>\d{1,10}) *:[^\[\]]{0,40}\] *")
#: The message by which a process ends (ucs_fatal_error) has another head: ``[HOST:PID:THREAD:TID] FILE:LINE  TEXT``.
_FATAL = re.compile(
    r"\[(?P<host>[^\[\]\s:]{1,253}) *:(?P<pid>\d{1,10}) *:[^\[\]:]{0,40}:\d{1,10}\] +\S{1,120}:\d{1,7} +(?P<text>\S.*)"
)
#: The same, and a choice, where someone has cut the head off. Only UCX has a source file and a context of these names.
_BARE_FATAL = re.compile(r"ib_mlx5_log\.c:\d{1,7} +(?P<text>\S.*)")
_BARE_CONFIG = re.compile(r"ucp_context_\d{1,6} (?:self|intra-node|inter-node) cfg#\d{1,6}\s+\w{1,20}\(")
_TEXT = re.compile(r"(?:\S{1,120}:\d{1,7} +)?UCX +(?P<level>[A-Z]{3,6}) +(?P<text>\S.*)")

_CONFIG = re.compile(
    r"(?:(?P<context>\S{1,80}) )?(?:ep_cfg\[(?P<old>\d{1,6})\]:?"
    r"|(?P<scope>self|intra-node|inter-node) cfg#(?P<new>\d{1,6}))\s*(?P<lanes>\w{1,20}\(.*)"
)
#: UCX cuts the line at 256 bytes: the last list may have no end, and its last transport only a beginning.
_LANES = re.compile(r"(\w{1,20})\(([^()]{0,2000})(\)|\Z)")
_LANE = re.compile(r"\b([a-z][a-z0-9_]{1,30})/([\w.:@-]{1,80}|<\w+>)")
_ENV = re.compile(r"UCX_\* env variables?: (.*)")
_VERSION = re.compile(r"Version (\d[\w.+-]{0,40}) \(loaded from")


class Reader:
    """Reads the lines of one stream; remembers which table each process is printing."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str | None, int | None], _Table] = {}
        self._speakers = Speakers()

    def read(self, line: Line) -> Iterator[UcxFact]:
        """What the line says, nothing where it is a quotation. Never raises."""
        for spoken in self._spoken(line):
            yield from self._read(spoken)

    def finish(self) -> Iterator[UcxFact]:
        """What lines say that looked like quotations."""
        for held in self._speakers.rest():
            yield from self._read(held)

    def _spoken(self, line: Line) -> Sequence[Line]:
        head = _HEAD.search(line.text)
        if head is None:
            return (line,)
        return self._speakers.spoken(line, line.text[: head.start()], (head["host"], head["pid"]))

    def _read(self, line: Line) -> Iterator[UcxFact]:
        text = line.text
        said = None
        for head, part in segments(_HEAD, text):
            said = Said(line.number, line.raw, head["host"] or None, int(head["pid"]), line.rank)
            yield from self._part(part, said)
        if said is None and (fatal := _FATAL.search(text)):
            said = Said(line.number, line.raw, fatal["host"], int(fatal["pid"]), line.rank)
            yield from _failure(fatal["text"], "FATAL", said)
        elif said is None:
            said = Said(line.number, line.raw, None, None, line.rank)
            if bare := _BARE_FATAL.match(text):
                yield from _failure(bare["text"], "FATAL", said)
            elif _BARE_CONFIG.match(text):
                yield from _message(text, "INFO", said)
            else:
                yield from self._part(text, said)

    def _part(self, text: str, said: Said) -> Iterator[UcxFact]:
        if body := _TEXT.search(text):
            yield from _message(body["text"], body["level"], said)
        elif text.startswith("|"):
            yield from self._row(text, said)

    def _row(self, text: str, said: Said) -> Iterator[UcxFact]:
        key = said.host, said.pid
        if title := _TITLE.match(text):
            if len(self._tables) > 10_000:
                self._tables.clear()
            number = title["lanes"] or title["old"] or title["new"]
            scope = title["type"] or title["scope"]
            context = title["ctx"] or title["context"]
            operation = None if title["lanes"] else (title["operation"] or "").strip()
            self._tables[key] = _Table(int(number), scope, context, operation, said.line)
        elif (table := self._tables.get(key)) is not None:
            cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
            if table.operation is not None and len(cells) == 3:
                lanes = tuple(Lane("proto", *lane) for lane in _LANE.findall(cells[2]))
                if lanes:
                    yield ProtocolRow(said, *table[:3], table.operation, cells[0], lanes)
            elif table.operation is None and len(cells) == 4 and cells[2].isdigit():
                transport = cells[0] or table.transport
                self._tables[key] = table._replace(transport=transport)
                device = cells[1].split(" ", 1)[0]
                lanes = tuple(Lane(use.strip(), transport, device) for use in cells[3].split(","))
                if transport:
                    yield EndpointConfig(said, *table[:3], lanes, table.title)


class _Table(NamedTuple):
    number: int
    scope: str | None
    context: str | None
    operation: str | None
    title: int
    transport: str = ""


_TITLE = re.compile(
    r"\| {0,200}(?:Endpoint Config #(?P<lanes>\d{1,6}) "
    r"\((?:ctx: (?P<ctx>[^,()]{1,80}), )?type: (?P<type>[a-z-]{4,12})\)"
    r"|(?:(?P<context>[^\s|]{1,80}) )?(?:ep_cfg\[(?P<old>\d{1,6})\]"
    r"|(?P<scope>self|intra-node|inter-node) cfg#(?P<new>\d{1,6})) {0,200}\| (?P<operation>[^|]{1,400})\|)"
)


def _message(text: str, level: str, said: Said) -> Iterator[UcxFact]:
    if config := _CONFIG.match(text):
        lanes = tuple(
            Lane(use, *lane)
            for use, inside, end in _LANES.findall(config["lanes"].rstrip())
            for lane in _LANE.findall(inside if end else inside.rpartition(" ")[0])
        )
        if lanes:
            number = int(config["old"] or config["new"])
            yield EndpointConfig(said, number, config["scope"], config["context"], lanes)
    elif found := _ENV.match(text):
        for word in found.group(1).split():
            name, equals, value = word.partition("=")
            if equals and name.startswith("UCX_"):
                yield Setting(said, "ucx", name, value)
    elif found := _VERSION.match(text):
        yield Version(said, "UCX", found.group(1))
    else:
        yield from _failure(text, level, said)


_UNAVAILABLE = re.compile(
    r"(?P<kind>(?:[\w ]{1,30} )?device|transport)s? (?P<names>'.{1,400}?) (?:is|are) not available"
    r"(?:, please use one or more of: (?P<offered>.*))?"
)
#: 1.2 to 1.6, of each name in UCX_NET_DEVICES that no component has.
_OLD_UNAVAILABLE = re.compile(r"Device (\S{1,80}) is not available\Z")
#: Nothing is left of all that was asked for (ucp_context.c; "No matching" in 1.2). Of devices that are named all lack.
_NOTHING_LEFT = re.compile(
    r"[Nn]o (?:matching|usable) transports/devices,? (?:using|\(?asked) (?:(?P<kinds>\S{1,200}(?: transports)?) on )?"
    r"network:(?P<names>[\w.:,@-]{1,100})"
)
_UNREACHABLE = re.compile(r"no [a-z][a-z /_-]{1,60} transport to .{1,200}")
_OPEN = re.compile(r"ibv_open_device\(([^()]{1,80})\) failed: (.*)")
_ON_LINK = re.compile(r" on (\S{1,80}:\d{1,3})/(IB|RoCE) \(synd")
#: uct/ib/rc/verbs/rc_verbs_iface.c, mlx5/ib_mlx5_log.c, ud/base/ud_ep.c: what was sent by a queue pair did not arrive.
#: UCX 1.4 and 1.5 name the queue pair before the error, and no link layer.
_BROKEN = re.compile(
    r"[Ss]end completion with error: |retry count exceeded on |\bUD endpoint \w{1,18}.{0,250}: unhandled timeout"
    r"|Error on (?:\S{1,80}:\d{1,3} )?QP 0x[0-9a-f]{1,8} wqe\[\d{1,6}\]: .{1,80} \(synd "
)
#: ucs/datastruct/mpool.c, for the messages that a verbs interface sends and receives with.
_NO_BUFFERS = re.compile(r"Failed to allocate memory pool \(name=(?:rc|ud|dc)_[a-z0-9_]{1,40}\)")
#: A queue pair is connected, or the address of its peer made (rc/base/rc_iface.c, mlx5/dc/dc_mlx5.c, base/ib_device.c):
#: the kernel looks up the peer's Ethernet address then.
_NO_WAY = re.compile(
    r"(?:modify(?:ing)? \w{2,10}(?: QP)? to RTR|modify_qp\(\w{2,10}, RTR\) failed {0,2}"
    r"|ibv_create_ah\(.{1,300}\).{0,99} failed)"
    r": (?:No such device|Network is unreachable|Connection timed out|No route to host)\s*\Z"
)
#: Any other error of libibverbs, or of what UCX does with an HCA: queue pairs that were not made or changed, memory
#: that was not registered. UCX itself calls each cause "Input/output error" then (ucp_mm.c); what the system answered
#: stands in the line before. A module's name that is not of an HCA is one of GPUs, shared memory or sockets.
_VERBS_ERROR = re.compile(
    r"\b(?:ibv|mlx5dv)_\w{3,60}\(.{0,300}(?:failed|returned)\b"
    r"|[Ff]ailed to register address .{1,120} on md\[\d{1,3}\]="
    r"(?P<device>(?!cuda|gdr|rocm|ze_|sysv|posix|xpmem|knem|cma|self|tcp)[\w.-]{1,64}):"
    r"|[Ff]ailed to (?:modify|create) \w{2,20}(?: \w{2,10})? QP\b|modifying (?:QP|DCT) to (?:INIT|RTR|RTS)"
)
#: Other flags than 0 ask for what a device may lack: DC, or mlx5's own way (uct/ib/base/ib_device.c).
_NO_PORT = re.compile(r"no compatible IB ports found for flags 0x0\Z|is not active \(state")
_NO_MEMORY = "Cannot allocate memory"


def _failure(text: str, level: str, said: Said) -> Iterator[UcxFact]:
    """Topics of UCX's failures. An error of a transport that is tried first is no end; a lost connection is."""

    def fail(topic: str, is_fatal: bool = False, device: str | None = None, detail: str | None = None) -> Failure:
        return Failure(said, "ucx", topic, is_fatal, said.host, device, detail)

    if found := _UNAVAILABLE.search(text):
        topic = "transport-missing" if found["kind"] == "transport" else "device-missing"
        yield fail(topic, device=found["names"].replace("'", ""), detail=found["offered"])
    elif found := _OLD_UNAVAILABLE.match(text):
        yield fail("device-missing", device=found.group(1))
    elif found := _NOTHING_LEFT.match(text):
        if _asks_for_verbs(found["kinds"]):
            yield fail("device-missing", device=found["names"])
    elif _UNREACHABLE.match(text):
        yield fail("unreachable", level in ("ERROR", "FATAL"))
    elif found := _OPEN.search(text):
        yield fail("resources" if _NO_MEMORY in found.group(2) else "open-device", device=found.group(1))
    elif "Please set max locked memory" in text:
        yield fail("memlock")
    elif _NO_BUFFERS.match(text):
        yield fail("no-buffers")
    elif "mlx5dv_devx_obj_create" in text and _NO_MEMORY in text:
        yield fail("resources")
    elif "ibv_" in text and _NO_MEMORY in text:
        yield fail("memlock")
    elif "invalid comp_mask" in text or ("ibv_exp_query_device(" in text and "returned 38" in text):
        yield fail("ofed-mismatch")
    elif "no valid pkey" in text or "unable to find specified pkey" in text:
        yield fail("pkey")
    elif "failed to find a gid" in text:
        yield fail("gid")
    elif _NO_PORT.search(text):
        yield fail("no-port")
    elif found := _ON_LINK.search(text):
        yield DeviceLink(said, found.group(1), found.group(2))
        yield fail("broken", level in ("ERROR", "FATAL"), found.group(1))
    elif _BROKEN.search(text):
        yield fail("broken", level in ("ERROR", "FATAL"))
    elif level in ("ERROR", "FATAL") and _NO_WAY.search(text):
        yield fail("gid")
    elif level in ("ERROR", "FATAL") and (found := _VERBS_ERROR.search(text)):
        yield fail("verbs-error", device=found["device"])


def _asks_for_verbs(kinds: str | None) -> bool:
    """Whether these kinds of transports, or all where none are named, hold one for HCAs."""
    families = {kind.split("_")[0] for kind in (kinds or "all").split(" ")[0].split(",")}
    return bool(families & {"all", "ib", "rc", "ud", "dc"})
