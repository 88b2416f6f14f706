"""NCCL and RCCL debug lines, 2.0 to 2.30: who moved data to whom by what, and what could or could not be used.

Formats were read in NVIDIA/nccl at its release tags (src/debug.cc, init.cc, transport/{net,p2p,shm,coll_net,net_ib,
net_socket}.cc), ROCm/rccl, aws/aws-ofi-nccl, Mellanox/nccl-rdma-sharp-plugins and google/nccl-fastsocket. In short:

- A line is ``HOST:PID:TID [CUDADEV] NCCL INFO TEXT``; a warning has ``FILE:LINE`` in between, from 2.30 also
  ``(FUNCTION)``. 2.2 and older have no word NCCL. Version lines have no prefix.
- A channel line was ``a -> b`` in 2.0 and 2.1, ``Ring NN : a -> b`` until 2.6, and is
  ``Channel NN/C : a[dev] -> b[dev]`` now; the device is a CUDA index, a hexadecimal bus id or an NVML index. Since
  2.4.2 ``[send]`` is said by a and ``[receive]`` by b; 2.3 has the receiver speak without a word; P2P and SHM lines are
  said by the sender.
- ``NET/NAME/DEV(PROXY)/SUFFIX``: NAME may hold blanks; the proxy rank stands there when another rank's NIC is used.
- RCCL ends such lines with `` comm 0x... nRanks NN``, which names the communicator.
- ``NET/IB : Using`` lists candidates with their link layer, by position the index of ``NET/IB/N``; 2.21 to 2.23 merge
  NICs in braces; ``; OOB`` and ``for sideband communication`` name bootstrap sockets, which carry no data.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence

from ibkit.parsers.job_facts import Failure, Said, Setting, Version
from ibkit.parsers.log_lines import BULK, CONTEXT, IGNORE, KEEP, Line, shape
from ibkit.parsers.quotations import Speakers
from ibkit.parsers.records import NamedTuple


class Channel(NamedTuple):
    """Rank ``source`` sends to rank ``target`` of one communicator. ``medium`` is NET, P2P, SHM or COLLNET.

    ``network`` and ``device`` are the network's name and the index of the NIC for NET and COLLNET; ``detail`` is the
    kind of P2P or SHM. ``speaker`` is the rank that printed the line, ``comm`` the communicator's pointer (RCCL).
    COLLNET lines have no target: the switch is.
    """

    said: Said
    source: int
    target: int | None
    speaker: int
    medium: str
    network: str | None = None
    device: int | None = None
    detail: str | None = None
    comm: str | None = None


class RankInit(NamedTuple):
    """A process joins a communicator as ``rank`` of ``ranks``. ``comm_id`` is common to its ranks (2.16 and later).

    ``comm`` is a pointer in that process; ``parent`` and ``split`` name a communicator that was split off another;
    ``gpu`` is the device's number and its address on PCIe.
    """

    said: Said
    rank: int
    ranks: int
    comm: str | None = None
    comm_id: str | None = None
    parent: str | None = None
    split: str | None = None
    is_complete: bool = False
    gpu: str | None = None


class Nodes(NamedTuple):
    """How many nodes a communicator of ``ranks`` ranks has (2.19 and later, src/init.cc).

    With ``is_nvlink`` (MNNVL 1) a node is a domain of NVLink, which may span several hosts.
    """

    said: Said
    ranks: int
    nodes: int
    is_nvlink: bool


class RankMap(NamedTuple):
    """A line of the nccl-tests header: rank, process and host."""

    said: Said
    rank: int
    pid: int
    host: str


class Network(NamedTuple):
    """The network that this process chose."""

    said: Said
    name: str


class Devices(NamedTuple):
    """What a network's plugin could use, by index: ``links`` are IB, RoCE or another word, ``names`` with the port.

    ``is_indexed`` is False where the list's order is not that of the device numbers in channel lines.
    """

    said: Said
    network: str
    names: tuple[str, ...]
    links: tuple[str, ...]
    is_indexed: bool = True


class VirtualDevice(NamedTuple):
    """NICs merged into one (2.24 and later): the index in channel lines and the names of its parts."""

    said: Said
    number: int
    parts: tuple[str, ...]


class Interfaces(NamedTuple):
    """The network interfaces of a socket transport, by index, and their addresses; ``Bootstrap`` carries no data.

    2.4.2 to 2.4.7 print the list of Socket even when the data goes another way.
    """

    said: Said
    network: str
    names: tuple[str, ...]
    addresses: tuple[str, ...] = ()


class InterfaceCount(NamedTuple):
    """How many interfaces the socket transport of 2.2 and 2.3 found; it takes the bootstrap's first."""

    said: Said
    interfaces: int


class DeviceLink(NamedTuple):
    """NIC ``device`` is of this link layer: a queue pair was connected by LID (InfiniBand) or by GID (RoCE), its error
    names GIDs, or its name is the one that rdma-core gives by the port's protocol (kernel-boot/rdma_rename.c).
    """

    said: Said
    device: int | None
    link: str


class Provider(NamedTuple):
    """The libfabric provider of aws-ofi-nccl; not ``is_selected`` where it is only the one that is looked for."""

    said: Said
    name: str
    is_selected: bool = True


class Connected(NamedTuple):
    """This process has its connections (``what``: rings, trees ...), or the run printed results."""

    said: Said
    what: str


NcclFact = (
    Channel
    | RankInit
    | Nodes
    | RankMap
    | Network
    | Devices
    | VirtualDevice
    | Interfaces
    | InterfaceCount
    | DeviceLink
    | Provider
    | Connected
    | Version
    | Setting
    | Failure
)

_SHAPE_INFO = shape(b"NCCL INFO ")
_SHAPE_VIA = shape(b" via ")
_SHAPE_BULK = (shape(b"Channel "), shape(b"Ring "))
_SHAPE_VERSION = (shape(b"CCL version"), shape(b"nccl-library="))
#: What a line holds that may say something, in the shape's spelling. WARN lines all may.
_SHAPES = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b" WARN ", b" INFO Ring ", b" INFO 0 -> ", b"NET/", b"Net/IB: call to", b"NET :",
            b"Using network", b"Using internal Network",
            b"Using external Network",
            b" - Init ", b" - COMPLETE", b" nranks ",
            b"INFO rank ", b" nNodes ", b"Abort COMPLETE", b"Connected all", b"Connected NVLS", b"Connected CollNet",
            b"Connected binomial", b"Connected Coll", b"Connected coll", b"CCL version", b"nccl-library=",
            b"libibverbs",
            b"set by environment", b" set to ", b"NCCL_",
            b"Bootstrap", b"NET plugin", b"COLLNET", b"ncclSystemError", b"ncclRemoteError", b"ncclInternalError",
            b"NCCL failure", b"NCCL error", b"NCCL Error", b"unhandled system error", b"Avg bus bandwidth",
            b"Net device", b"Call to ibv", b"Last error:",
        )
    )
    + rb"|# +[Rr]?nk +.*Pi|(?:init|group|nquu)\.u?: (?:\([^()]*\) )?-> "
)  # fmt: skip


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    if _SHAPE_VIA in form and _SHAPE_INFO in form and (_SHAPE_BULK[0] in form or _SHAPE_BULK[1] in form):
        return BULK
    if any(mark in form for mark in _SHAPE_VERSION) and _SHAPE_INFO not in form:
        return CONTEXT  # that of a second run may be alike
    return KEEP if _SHAPES.search(form) else IGNORE


def fact_of(line: bytes) -> tuple[Hashable, Hashable]:
    """What a channel line says apart from the channel's number: who, and from where to where by what; and by what."""
    head, _, tail = line.partition(b" NCCL INFO ")
    what = tail.partition(b" : ")[2]
    if not what:  # other blanks than these, as a word processor makes them
        return line, line.rpartition(b"via")[2]
    return (head.rpartition(b" ")[0].rpartition(b" ")[2], what), what.rpartition(b" via ")[2]


_HEAD = re.compile(
    r":(?P<pid>\d{1,10}):-?\d{1,10} (?:\[-?\d{1,6}\] )?(?:\S{1,200}:\d{1,7} (?:\([^()]{0,200}\) )?)?"
    r"(?:NCCL )?(?P<level>INFO|WARN) "
)
_NOT_HOST = frozenset(" \t:[](){}|,;=\"'/\\")


def _messages(line: Line) -> Iterator[tuple[str, str, Said]]:
    """Level, text and speaker of each message on the line: processes that share a stream write into one another."""
    text = line.text
    heads = list(_HEAD.finditer(text))
    if not heads:
        return
    starts = [_word_before(text, head.start()) for head in heads]
    for head, start, end in zip(heads, starts, [*starts[1:], len(text)], strict=True):
        # A slash in front: glued to the text of another process, and where that ends cannot be told.
        is_glued = start > 0 and text[start - 1] in "/\\"
        host = None if is_glued else text[start : head.start()] or None
        yield (
            head["level"],
            text[head.end() : end].strip(),
            Said(line.number, line.raw, host, int(head["pid"]), line.rank),
        )


def _word_before(text: str, end: int) -> int:
    """Where the host's name before ``end`` starts."""
    start = end
    while start and end - start < 253 and text[start - 1] not in _NOT_HOST:
        start -= 1
    return start


#: A line whose prefix somebody took away before pasting it: what it says stands, who said it is not known.
_NO_HEAD = re.compile(r"NCCL (INFO|WARN) ")


def read(line: Line) -> Iterator[NcclFact]:
    """What the line says. Never raises."""
    messages = list(_messages(line))
    if not messages and (found := _NO_HEAD.search(line.text)):
        said = Said(line.number, line.raw, None, None, line.rank)
        messages = [(found.group(1), line.text[found.end() :].strip(), said)]
    for level, text, said in messages:
        yield from _info(text, said)
        yield from _failure(text, said, is_warning=level == "WARN")
    if not messages:
        yield from _bare(line)


#: PyTorch passes NCCL's last warning on, without its prefix, behind these words (ProcessGroupNCCL's exceptions).
_ANNOUNCED = "Last error:"
_PASSED_ON = re.compile(r"Call to ibv_\w{1,40} failed|NET/IB ?: Got completion")
#: Lines in which the other ranks of a host tell their errors, too.
_NEAR = 200


class Reader:
    """Reads the lines of one stream, but for quotations."""

    def __init__(self) -> None:
        self._speakers = Speakers()
        self._announced: int | None = None

    def read(self, line: Line) -> Iterator[NcclFact]:
        """What the line says, nothing where it is a quotation. Never raises."""
        text = line.text.strip()
        if text.endswith(_ANNOUNCED):
            self._announced = line.number
        elif self._announced is not None and line.number - self._announced <= _NEAR and _PASSED_ON.match(text):
            said = Said(line.number, line.raw, None, None, line.rank)
            yield from _info(text, said)
            yield from _failure(text, said, is_warning=True)
            return
        for spoken in self._spoken(line):
            yield from read(spoken)

    def finish(self) -> Iterator[NcclFact]:
        """What lines say that looked like quotations."""
        for held in self._speakers.rest():
            yield from read(held)

    def _spoken(self, line: Line) -> Sequence[Line]:
        text = line.text
        head = _HEAD.search(text)
        if head is None:
            return (line,)
        start = _word_before(text, head.start())
        return self._speakers.spoken(line, text[:start], (text[start : head.start()], head["pid"]))


_CHANNEL = re.compile(
    r"(?:(?:Channel|Ring) \d{1,6}(?:/-?\d{1,6})? : )?(?P<a>\d{1,9})(?:\[[^\]\s]{0,40}\])? -> (?P<b>\d{1,9})"
    r"(?:\[[^\]\s]{0,40}\])? (?:\[(?P<way>send|receive)\] )?via (?P<via>\S.*)"
)
_COLLNET = re.compile(
    r"Coll(?:Net)? \d{1,6}(?:/-?\d{1,6})? : (?P<a>\d{1,9}) \[(?:send|receive)\] via (?P<via>COLLNET/.*)"
)
_NET = re.compile(r"(?P<medium>NET|COLLNET)/(?P<name>[^/]{1,64})/(?P<device>\d{1,6})")
_COMM = re.compile(r" comm (0x[0-9a-fA-F]{1,16}) nRanks \d+\s*\Z")


def _channel(text: str, said: Said) -> Channel | None:
    found = _CHANNEL.match(text) or _COLLNET.match(text)
    if not found:
        return None
    groups = found.groupdict()
    source, way, via = int(groups["a"]), groups.get("way"), groups["via"]
    target = int(groups["b"]) if "b" in groups else None
    comm = None
    if suffix := _COMM.search(via):
        comm, via = suffix.group(1), via[: suffix.start()]
    net = _NET.match(via)
    if net:
        speaker = source
        if target is not None and way != "send":
            speaker = target  # 2.3 prints in the receiver's set-up and names no direction
        name = net["name"].strip()
        return Channel(said, source, target, speaker, net["medium"], name, int(net["device"]), comm=comm)
    if via.startswith("P2P/"):
        return Channel(said, source, target, source, "P2P", detail=via[4:].strip(), comm=comm)
    if via.startswith(("SHM", "direct shared memory")):
        return Channel(said, source, target, source, "SHM", detail=via.strip(), comm=comm)
    return None


_INIT = re.compile(r"(?:comm (?P<comm>0x[0-9a-fA-F]{1,16}) )?rank (?P<rank>\d{1,9}) nranks (?P<ranks>\d{1,9})\b")
_NODES = re.compile(r"comm 0x[0-9a-fA-F]{1,16} rank \d{1,9} nRanks (?P<ranks>\d{1,9}) nNodes (?P<nodes>\d{1,9})\b")
_COMM_ID = re.compile(r"\bcommId (0x[0-9a-fA-F]{1,16})")
_GPU = re.compile(r"\b((?:cudaDev|nvmlDev) \d{1,4} busId [\da-f]{1,16})\b")
_PARENT = re.compile(r"\bparent (0x[0-9a-fA-F]{1,16})")
_SPLIT = re.compile(r"\b(?:(?:split|child)Count (\d{1,9}) )?color (-?\d{1,11})")
_NETWORK = re.compile(r"Using (?:internal |external )?[Nn]etwork (\S.{0,60})")
_LIST = re.compile(r"NET/(?P<net>[^:\[\]]{1,40}?) ?: Using(?P<list> \[\d+\].*)")
_ENTRY = re.compile(
    r"\[\d{1,4}\]=\{(?P<merged>[^{}]{0,1000})\}"
    r"|\[\d{1,4}\] ?(?P<name>[^\s:\[\]{},]{1,80}:\d{1,3})(?::\d{0,6}){0,2}/(?P<link>\w{1,16})"
)
_LINK = re.compile(r"([^\s:\[\]{},]{1,80}:\d{1,3})(?::\d{0,6}){0,2}/(\w{1,16})")
_ONE_DEVICE = re.compile(r"NET/(\S{1,40}?) ?: \[\d{1,4}\] ([^:\s]{1,80}):(?:[^:\s]{1,80}:)?(\d{1,3})/(IB|RoCE)\b")
_VIRTUAL = re.compile(r"NET/\S{1,40} ?: Made virtual device \[(\d{1,4})\] name=(\S{1,300}) speed=")
_BOOTSTRAP = re.compile(r"(?:Bootstrap|NET) ?: Using (?:interface )?(?:\[0\])?([^\s:\[\]]{1,40}):([^\s<>]{0,60})")
_INTERFACE_COUNT = re.compile(r"NET/Socket : (\d{1,4}) interfaces found")
_INTERFACE = re.compile(r"\[\d{1,4}\]([^\s:\[\]]{1,40}):([^\s<>]{0,60})")
_QUEUE_PAIR = re.compile(r"NET/\S{1,40} ?: [^[]{0,60}?\b(Ib)?Dev (\d{1,4}) Port \d{1,4} qpn \d.*?\b(LID|GID)\b")
#: A completion's error names GIDs on Ethernet only (src/transport/net_ib.cc, ncclIbTest).
_GIDS = re.compile(r"NET/\S{1,40} ?: Got completion .{0,400} localGid [\da-fA-F:.]*\d")
_NAMED = re.compile(
    r"NET/(?!Socket|FastSocket)\S{1,40} ?: GPU Direct RDMA (?:\(\w{1,10}\) )?\w{7,8} for HCA (\d{1,4}) "
    r"'roce(?:(?:P\d{1,6})?p\d{1,4}s\d{1,3}|o\d{1,6}|x[\da-f]{16})"
)
_PROVIDER = re.compile(r"NET/OFI (?:Selected [Pp]rovider is|Setting (?P<filter>provider_filter) to) ([^\s,()]{1,60})")
_FAST_SOCKET = re.compile(r"NET/(FastSocket) : (?:Accepted data socket|Connected after) \d")
_SETTING = re.compile(r"([A-Z]+CCL_\w{1,60}) set (?:by environment )?to (.{0,200}?)\.?\s*\Z")
_CONNECTED = re.compile(
    r"Connected (?:all (rings|trees)|(NVLS) tree|(binomial) trees|(Coll[Nn]et) Chains|(collnet) \+)"
    r"|rank \d{1,9} Connected (CollNet)"
)
_ANY_VERSION = re.compile(r"\b([NR]CCL) version ?:? ?(\d\S{0,60})")


def _info(text: str, said: Said) -> Iterator[NcclFact]:
    if channel := _channel(text, said):
        yield channel
        return
    if found := _NODES.match(text):
        yield Nodes(said, int(found["ranks"]), int(found["nodes"]), "MNNVL 1" in text)
    elif (init := _INIT.search(text)) and (not init.start() or "Init " in text or "COMPLETE" in text):
        yield from _rank_init(init, text, said)
    elif found := _NETWORK.match(text):
        yield Network(said, found.group(1).strip())
    elif found := _LIST.match(text):
        yield from _device_list(found["net"], found["list"], said)
    elif found := _BOOTSTRAP.match(text):
        yield Interfaces(said, "Bootstrap", (found.group(1),), (found.group(2),))
    elif found := _INTERFACE_COUNT.match(text):
        yield InterfaceCount(said, int(found.group(1)))
    elif found := _ONE_DEVICE.match(text):
        yield Devices(said, found.group(1), (f"{found.group(2)}:{found.group(3)}",), (found.group(4),), False)
    elif found := _VIRTUAL.match(text):
        yield VirtualDevice(said, int(found.group(1)), tuple(found.group(2).split("+")))
    elif found := _QUEUE_PAIR.match(text):
        yield DeviceLink(
            said, None if found.group(1) else int(found.group(2)), "IB" if found.group(3) == "LID" else "RoCE"
        )
    elif _GIDS.match(text):
        yield DeviceLink(said, None, "RoCE")
    elif found := _NAMED.match(text):
        yield DeviceLink(said, int(found.group(1)), "RoCE")
    elif found := _PROVIDER.match(text):
        yield Provider(said, found.group(2), not found["filter"])
    elif found := _FAST_SOCKET.match(text):
        yield Network(said, found.group(1))
    elif found := _SETTING.match(text):
        yield Setting(said, "nccl", found.group(1), found.group(2).strip())
    elif found := _CONNECTED.match(text):
        yield Connected(said, next(filter(None, found.groups())).lower())
    elif found := _ANY_VERSION.search(text):
        yield Version(said, found.group(1), found.group(2))


def _rank_init(init: re.Match[str], text: str, said: Said) -> Iterator[RankInit]:
    if "Destroy COMPLETE" in text or "Abort COMPLETE" in text:
        return  # PyTorch aborts its communicators at the end of a healthy run, too
    comm_id, parent, split = _COMM_ID.search(text), _PARENT.search(text), _SPLIT.search(text)
    yield RankInit(
        said,
        int(init["rank"]),
        int(init["ranks"]),
        init["comm"],
        comm_id.group(1) if comm_id else None,
        parent.group(1) if parent else None,
        f"{split.group(1) or ''}/{split.group(2)}" if split else None,
        "COMPLETE" in text,
        gpu.group(1) if (gpu := _GPU.search(text)) else None,
    )


def _device_list(network: str, text: str, said: Said) -> Iterator[Devices | Interfaces]:
    text = text.partition("; OOB")[0]
    names, links = [], []
    for entry in _ENTRY.finditer(text):
        if entry["merged"] is None:
            names.append(entry["name"])
            links.append(entry["link"])
        else:
            parts = _LINK.findall(entry["merged"])
            names.append("+".join(name for name, _ in parts))
            kinds = {link for _, link in parts}
            links.append(kinds.pop() if len(kinds) == 1 else "mixed")
    if names:
        yield Devices(said, network, tuple(names), tuple(links))
    elif interfaces := _INTERFACE.findall(text):
        yield Interfaces(said, network, tuple(name for name, _ in interfaces), tuple(at for _, at in interfaces))


_CALL = re.compile(r"Call to (ibv_\w{1,40}|mlx5dv_\w{1,40}) (?:failed|returned)(.*)")
_COMPLETION = re.compile(r"NET/\S{1,40} ?: Got completion .*?(?:error |status=)(?:\w{1,40}\()?(\d{1,3})")
_CONNECT = re.compile(
    r"[Cc]all to (?:connect|bind) .*failed|Connect to \S+ (?:failed|returned)|Socket creation failed"
    r"|exceeded error retry count"
)
#: NCCL hands a call's error back (checks.h): where it stands in a file of its interface, the caller has it. What is
#: below may have taken another way; 7 is a call that goes on (ncclInProgress). In the first lines of init.cc networks
#: were tried until 2.11.
_HANDED_BACK = re.compile(
    r"(?:\S{1,200}/)?(?:(?:group|enqueue)\.c[cu]:\d{1,6}|init\.c[cu]:(?:[3-9]\d{2}|\d{4,6})) (?:\([^()]{1,200}\) )?"
    r"-> [1-6](?:\Z|\s)"
)
#: Two processes of a communicator could not be connected, or not learn of one another.
_UNCONNECTED = re.compile(
    r"\[(?:Proxy Service|Service thread)(?: \d{1,9})?\] (?:Failed to execute|Error encountered progressing) operation"
    r"[ =](?:Connect|Setup)\b|Proxy Call to rank \d{1,9} failed \((?:Connect|Setup)\)"
    r"|.{0,40}connecting to address .{0,60}with family \d{1,6} is neither|socketFinalizeAccept: wrong type"
    r"|\S{1,200}:\d{1,6} ?-> ?\d \[Proxy thread error\]|NET/OFI Couldn't open a fabric access domain"
)
_NO_MEMORY = "Cannot allocate memory"
#: "No data available" is the kernel's word for an entry of the GID table that is empty (core/cache.c).
_GID_ERRORS = ("No such device", "Network is unreachable", "Connection timed out", "No data available")
#: The same by its number, where the line is wrapped; and an empty GID, of this end or of the other one.
_NO_GID = re.compile(r" with 61\b|(?:local|remote) GID ::(?:,|\s|\Z)")
#: A regular expression for the text's start, the topic, and whether a warning of it ends the communicator. The group
#: is the detail.
_TOPICS = tuple(
    (re.compile(pattern), topic, is_fatal)
    for pattern, topic, is_fatal in (
        (r"Failed to open libibverbs\.so", "no-verbs-library", False),
        (r"N(?:ET|et)/([^:]{1,40}?) ?: (?:No device found|call to devices\(\) returned 0 devices)", "no-device", False),
        (r"NET/OFI (?:.{0,200} )?Could(?: not|n't) find any optimal provider", "ofi-no-provider", False),
        (r"NET/OFI (?:aws-ofi-\w{2,8} initialization|Initializing plugin) failed", "ofi-no-provider", False),
        (r"NET/Plugin ?: .{0,400}(?:No plugin found|Could not find:)", "no-plugin", False),
        (r"Failed to initialize NET plugin (\S.{0,60})", "plugin-init", False),
        (r"Error: network (.{0,60}) not found", "no-such-network", True),
        (r"Failed to initialize any NET plugin", "no-network", True),
        (r"Detected mixed local Net device counts", "mixed-devices", True),
        (r"NET/IB : Attempted to connect incompatible devices", "mixed-links", True),
        (r"NET/IB : Remote \S+ device is incompatible with the local", "mixed-links", True),
        (r"(?:Bootstrap|NET/Socket) ?: [Nn]o (?:socket |usable listening )?interface found", "no-interface", True),
        (r"No (?:usable listening interface|interface found in the same subnet)", "no-interface", True),
        (r"(?:Bootstrap|NET/Socket) ?: Using ?(?:interface )?(?:\[0\])?lo:", "loopback", False),
        (r"NET/(?!Socket)\S{1,40} ?: GPU Direct RDMA Disabled for .*\(no module", "no-peer-memory", False),
        (r"NET/\S{1,40} ?: .{0,120}async fatal event", "async-fatal", True),
    )
)


def _failure(text: str, said: Said, *, is_warning: bool) -> Iterator[Failure]:
    """Topics of NCCL's failures. Only warnings end a communicator; INFO lines tell of the next try."""
    for pattern, topic, ends in _TOPICS:
        if found := pattern.match(text):
            detail = found.group(1).strip() if pattern.groups else None
            yield Failure(said, "nccl", topic, ends and is_warning, said.host, detail=detail)
            return
    if found := _OPEN.match(text):
        yield Failure(said, "nccl", "open-device", False, said.host, found.group(1).rstrip("."))
    elif found := _CALL.match(text):
        call_topic, can_end = _verbs_call(found.group(1), found.group(2))
        if call_topic:
            yield Failure(said, "nccl", call_topic, can_end and is_warning, said.host, detail=found.group(1))
    elif found := _COMPLETION.match(text):
        yield Failure(said, "nccl", "retry-exceeded" if found.group(1) == "12" else "completion-error", True, said.host)
    elif is_warning and _CONNECT.search(text):
        yield Failure(said, "nccl", "connect", True, said.host)
    elif _HANDED_BACK.match(text) or (is_warning and _UNCONNECTED.match(text)):
        yield Failure(said, "nccl", "aborted", True, said.host)


_OPEN = re.compile(r"NET/\S{1,40} ?: Unable to open device (\S{1,80})")
#: These pass a device over, or another way is taken.
_HARMLESS_CALLS = ("ibv_query_device", "ibv_query_port", "ibv_get_device_list", "ibv_reg_dmabuf_mr")
#: These pin memory.
PINNING_CALLS = ("ibv_create_cq", "ibv_create_qp", "ibv_reg_mr", "ibv_reg_mr_iova2")


def _verbs_call(call: str, rest: str) -> tuple[str | None, bool]:
    """Topic of a verbs call that failed, and whether a warning of it ends the communicator."""
    if call in _HARMLESS_CALLS or "retrying" in rest or "not supported" in rest:
        return None, False
    if call == "ibv_open_device":
        return "open-device", False
    if _NO_MEMORY in rest and call in PINNING_CALLS:
        return "memlock", True
    if call == "ibv_modify_qp" and (any(error in rest for error in _GID_ERRORS) or _NO_GID.search(rest)):
        return "gid", True
    return "verbs-call", True


_RANK_MAP = re.compile(
    r"#\s{1,8}Rank\s{1,8}(\d{1,9})\s(?:\s{0,8}Group\s{1,8}\d{1,9}\s)?\s{0,8}Pid\s{1,8}(\d{1,10})\s+on\s+(\S{1,253})\s+device"
)
_ERROR = re.compile(
    r"(?:Test )?NCCL failure|ncclSystemError|ncclRemoteError|ncclInternalError|unhandled system error|NCCL [Ee]rror in"
    r"|NCCL [Ee]rror (?:at )?\S{1,200}:\d{1,6}[: ]"
)


#: nccl-tests since 2.17 (src/util.cu): the versions that it was built with and that it found.
_TESTS_LIBRARY = re.compile(r"# nccl-tests version \S{1,40} nccl-headers=\d{1,7} nccl-library=(\d{4,7})\b")


def _version(code: int) -> str:
    """NCCL_VERSION_CODE in words: 22703 is 2.27.3; before 2.9 a version had a digit less (nccl.h)."""
    major = 10_000 if code >= 10_000 else 1000
    return f"{code // major}.{code % major // 100}.{code % 100}"


def _bare(line: Line) -> Iterator[NcclFact]:
    """Lines without NCCL's prefix: the version, the header and the results of nccl-tests, errors passed on."""
    said = Said(line.number, line.raw, None, None, line.rank)
    if (found := _ANY_VERSION.search(line.text)) and found.start() < 3:
        yield Version(said, found.group(1), found.group(2))
    elif found := _TESTS_LIBRARY.match(line.text.strip()):
        yield Version(said, "NCCL", _version(int(found.group(1))))
    elif found := _RANK_MAP.search(line.text):
        yield RankMap(said, int(found.group(1)), int(found.group(2)), found.group(3))
    elif "# Avg bus bandwidth" in line.text:
        yield Connected(said, "results")
    elif _ERROR.search(line.text):
        yield Failure(said, "nccl", "aborted", True)
