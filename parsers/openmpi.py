"""Open MPI's lines, 1.2 to 5.0: which module carries data to which peer, what was selected, what was refused.

Formats were read in open-mpi/ompi at its release branches (ompi/mca/bml/r2, ompi/mca/pml/{base,ucx}, ompi/mca/mtl/ofi,
opal/mca/common/ucx, opal/mca/btl/openib, the help-*.txt files, ompi/mca/hook/comm_method). In short:

- ``[HOST:PID] TEXT`` from ``opal_output``; a process is ``[[FAMILY,JOB],RANK]``.
- ``mca: bml: Using X btl to [[f,j],r] on node N`` (1.8 and 1.10), ``... btl for send to ...`` (2.x and later), one line
  for each peer and module; ``Not using X ... because Y btl has higher exclusivity`` beside it.
- ``select: component X selected`` is the process's point-to-point layer (pml).
- Help messages are blocks of a fixed sentence and ``Key: value`` lines; later repetitions are only counted:
  ``N more processes have sent help message FILE / TOPIC``.
- hook_comm_method (5.0) prints a matrix of hosts: one leader rank per host was asked. Cells are a module's name,
  ``ucx[  4]`` with a list below, or letters with a key; a summary follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ibkit.parsers.job_ends import OPEN_MPI
from ibkit.parsers.job_facts import Failure, Said, Setting, Version
from ibkit.parsers.log_lines import CONTEXT, IGNORE, KEEP, Line, segments, shape
from ibkit.parsers.quotations import Speakers
from ibkit.parsers.records import NamedTuple


class Btl(NamedTuple):
    """The module ``btl`` is used (or, with ``better``, is not used, as that one is) to send to a peer.

    ``node`` is the peer's host, None where Open MPI did not know it, empty where its name may be cut off; ``family``
    tells one mpirun from another, ``job`` what was started at first from what that has spawned.
    """

    said: Said
    btl: str
    peer: int
    node: str | None
    family: int
    job: int
    better: str | None = None


class Pml(NamedTuple):
    """The point-to-point layer that this process selected: ob1, ucx, cm ...; ``family`` where the line tells it."""

    said: Said
    component: str
    family: int | None = None


class Mtl(NamedTuple):
    """The matching transport layer that this process selected for pml cm: psm2, ofi ..."""

    said: Said
    component: str


class OfiProvider(NamedTuple):
    """The libfabric provider of mtl ofi; ``none`` where none was acceptable. 4.1 prints its domain in these words."""

    said: Said
    provider: str


class OfiDomain(NamedTuple):
    """The domain of mtl ofi's provider: a device, for what goes over IP an interface."""

    said: Said
    name: str


class TcpInterface(NamedTuple):
    """The tcp module offers its peers an address of this interface."""

    said: Said
    name: str


class OpenibPort(NamedTuple):
    """The openib module initialised a port; the rank is in ``said``."""

    said: Said
    device: str


class UcxSupport(NamedTuple):
    """What pml ucx thinks of the devices that UCX offers: none, transports only, transports and devices, or any."""

    said: Said
    level: str


class UcxRefused(NamedTuple):
    """A transport and device of UCX's that Open MPI's lists for pml ucx do not have, or only the transport."""

    said: Said
    transport: str
    device: str


class Component(NamedTuple):
    """A component of a framework was loaded. The list is short where a parameter restricts it."""

    said: Said
    framework: str
    name: str


class Installed(NamedTuple):
    """``ompi_info`` lists a component of a framework: what a build has, which may not be the job's."""

    said: Said
    framework: str
    name: str


class HostRanks(NamedTuple):
    """A row of the comm_method table's first part; ``ranks`` is empty where it was cut short."""

    name: str
    ranks: tuple[int, ...]


class Cell(NamedTuple):
    """Host ``row``'s leader sends to host ``column``'s by ``methods``, in order; those of UCX are ``TL/DEVICE``."""

    said: Said
    row: int
    column: int
    methods: tuple[str, ...]


class Row(NamedTuple):
    """Host ``number``'s line of the matrix: the methods to each host, none where no connection is known."""

    said: Said
    number: int
    methods: tuple[tuple[str, ...], ...]


class CommMethod(NamedTuple):
    """One table of hook_comm_method. ``off_host`` is what the summary says of other hosts, ``is_uniform`` for all.

    A thousand hosts have a million cells: they are made when they are looked at.
    """

    said: Said
    hosts: tuple[HostRanks, ...]
    rows: tuple[Row, ...]
    on_host: tuple[str, ...] = ()
    off_host: tuple[str, ...] = ()
    is_uniform: bool = False
    off_host_said: Said | None = None

    @property
    def cells(self) -> Iterator[Cell]:
        """The cells of the matrix that tell something, row by row."""
        return (
            Cell(row.said, row.number, column, methods)
            for row in self.rows
            for column, methods in enumerate(row.methods)
            if methods
        )


OpenMpiFact = (
    Btl
    | Pml
    | Mtl
    | OfiProvider
    | OfiDomain
    | TcpInterface
    | OpenibPort
    | UcxSupport
    | UcxRefused
    | Component
    | Installed
    | CommMethod
    | Setting
    | Version
    | Failure
)

#: Sentences that begin a help message, its topic, and whether the job ends by it. Sources: help-mpi-btl-base.txt,
#: help-mpi-btl-openib.txt, help-mpi-btl-openib-cpc-{base,rdmacm}.txt, help-mtl-{psm,psm2,ofi}.txt,
#: help-mpi-runtime.txt, help-mpi-bml-r2.txt, help-mca-base.txt.
_HELP = (
    ("A high-performance Open MPI point-to-point messaging module", "no-nics", False),
    ("but there are no active ports detected (or Open MPI was unable to use", "no-port", False),
    ("There was an error initializing an OpenFabrics device", "openib-init", False),
    ("There was an error initializing OpenIB device", "openib-init", False),
    ("By default, for Open MPI 4.0 and later, infiniband ports on a device", "ib-port-refused", False),
    ("No preset parameters were found for the device that Open MPI", "no-parameters", False),
    ("allocate some locked memory.", "memlock", False),
    ("No OpenFabrics connection schemes reported that they were able to be", "no-cpc", False),
    ("One or more nonexistent OpenFabrics devices/ports were", "device-missing", False),
    ("create an internal queue.", "create-queue", False),
    ("No OpenFabrics devices of the right type were found within", "no-devices", False),
    ("It appears that an OpenFabrics device does not have an IP address", "no-cpc", False),
    ("A process failed to create a queue pair.", "resources", False),
    # openib goes without the device, or without that peer
    ("fork() support was requested for the OpenFabrics (openib)", "openib-off", False),
    ("The Open MPI receive queue configuration for the OpenFabrics devices", "openib-off", False),
    ("Open MPI detected two different OpenFabrics transport types in the same", "openib-off", False),
    ("Open MPI tried to use a GID index that was too large for an", "openib-off", False),
    ("No queue pairs were defined in the btl_openib_receive_queues", "openib-off", False),
    ("An invalid queue pair type was specified in the", "openib-off", False),
    ("An invalid per-peer receive queue specification was detected", "openib-off", False),
    ("An invalid shared receive queue specification was detected as", "openib-off", False),
    ("The number of buffers for a queue pair specified via the", "openib-off", False),
    ("btl_openib_receive_queues MCA parameter is smaller than the maximum", "openib-off", False),
    ("The Open MPI build was compiled without XRC support, but XRC", "openib-off", False),
    ("PSM was unable to open an endpoint", "psm2", False),
    ("Initialization of PSM library failed", "psm2", False),
    ("Open MPI failed an OFI Libfabric library call", "ofi-call", False),
    ("The OFI MTL was not able to find endpoint information for a remote", "ofi-call", False),
    ("PSM2 was unable to open an endpoint", "psm2", False),
    ("Initialization of PSM2 library failed", "psm2", False),
    # of the tcp module, which has a connection, or asks for one, where something is to be sent by it
    ("Open MPI failed to TCP connect to a peer MPI process", "tcp-module", False),
    ("An MPI communication peer process has unexpectedly disconnected", "tcp-module", False),
    ("Open MPI detected an inbound MPI TCP connection request from a peer", "tcp-module", False),
    ("The InfiniBand retry count between two MPI processes has been", "broken", True),
    ("At least one pair of MPI processes are unable to reach each other for", "unreachable", True),
    ("MPI_INIT has failed because at least one MPI process is unreachable", "unreachable", True),
    ("It looks like MPI_INIT failed for some reason", "init-failed", True),
    ("It looks like MPI_Init failed for some reason", "init-failed", True),
    ("No components were able to be opened in the pml framework", "no-pml", True),
)
_AGGREGATED = {
    ("help-mpi-btl-base.txt", "btl:no-nics"): "no-nics",
    ("help-mpi-btl-openib.txt", "no active ports found"): "no-port",
    ("help-mpi-btl-openib.txt", "error in device init"): "openib-init",
    ("help-mpi-btl-openib.txt", "ib port not selected"): "ib-port-refused",
    ("help-mpi-btl-openib.txt", "no device params found"): "no-parameters",
    ("help-mpi-btl-openib.txt", "init-fail-no-mem"): "memlock",
    ("help-mpi-btl-openib.txt", "nonexistent port"): "device-missing",
    ("help-mpi-btl-openib.txt", "no devices right type"): "no-devices",
    ("help-mpi-btl-openib-cpc-base.txt", "no cpcs for port"): "no-cpc",
    ("help-mpi-btl-openib-cpc-base.txt", "ibv_create_qp failed"): "resources",
    ("help-mpi-btl-openib-cpc-rdmacm.txt", "no valid ip"): "no-cpc",
    ("help-mtl-psm.txt", "psm init"): "psm2",
    ("help-mtl-psm.txt", "unable to open endpoint"): "psm2",
    ("help-mtl-ofi.txt", "OFI call fail"): "ofi-call",
    ("help-mtl-ofi.txt", "modex failed"): "ofi-call",
    ("help-mtl-psm2.txt", "psm2 init"): "psm2",
    ("help-mtl-psm2.txt", "unable to open endpoint"): "psm2",
}

_AT_START = (b"mca: bml: Using self btl", b"Open MPI v", b"(Open MPI) ")
_KEPT = re.compile(
    b"|".join(
        re.escape(shape(mark))
        for mark in (
            b"mca: bml: Using ", b"mca: bml: Not using ", b"select: component ", b"check:select: checking my pml",
            b" selected pml ", b"openib: using port ", b"mtl:ofi:prov", b"Selected component [", b"support level is",
            b"match transport list", b"matched transport list but",
            b"ucx is enabled on any transport", b"mca_pml_ucx_open", b"connecting to proc",
            b": cannot open shared object file", b"btl_tcp_endpoint.c:", b"btl_tcp_frag.c:", b"btl_tcp_proc.c:",
            b"btl_tcp.c:", b"UCX PML is disabled",
            b"found loaded component ",
            b"registering framework ", b"btl:tcp: using ipv",
            b"ucp_ep_create(proc=", b"was unable to find any ", b"have sent help message ",
            b"PSM2 no hfi units", b"PSM2 can't open hfi unit", b"mmap of rcvhdrq", b"comp_mask",
            b" (MCA v", b"] btl=", b"] pml=", b"] mtl=", b"] btl_tcp_if_", b"] btl_openib_",
            b"error obtaining device attributes for", b"error obtaining device context for",
            b"error creating qp", b"contexts on opa device", b"psm_ep.c:", b"*** MPI_ERRORS_ARE_FATAL (",
            b"An error occurred in MPI_Init", b"error polling ",
        )
    )
)  # fmt: skip
#: Never taken for repetitions: the fields that follow differ; and what each process or run says once, when it starts.
_SENTENCES = re.compile(
    b"|".join(re.escape(shape(mark)) for mark in (*(sentence.encode() for sentence, _, _ in _HELP), *_AT_START))
)
_CONTEXT = re.compile(
    # Fields of help messages and the line of dashes around them, behind what launchers and collectors put there:
    # what ends in one of these characters, words in capitals and times, a pod and its container, SageMaker's streams.
    rb"(?:(?m:^)|[\])>:|\t\"+#`\x07\xbf]|\\t| - ) ?(?:[^a-z\s]{1,40} {1,3}|st(?:out|rr) [FP] "
    rb"|[\w.-]{0,200}(?:-\w{0,5} [a-z][\w-]{0,62}|/lgo--) ){0,6}[ \t]{0,12}(?:"
    + b"|".join(
        re.escape(shape(mark)).replace(b"\\ ", b"[ \\t]")
        for mark in (
            b"Module: ", b"Host: ", b"Local host: ", b"Local device: ", b"Local adapter: ", b"Local port: ",
            b"Peer host: ",
            b"Device name: ", b"Device: ", b"CPCs attempted: ", b"Memlock limit: ", b"Nonexistent entities: ",
            b"Error: ", b"PML ", b"-----------------------------------",
            # the tables of hook_comm_method
            b"Host  [", b"host | ", b" : ", b"key: ", b"UCX Transport/Device", b"ucx[", b"Connection summary: (",
            b"on-host: ", b"off-host: ", b"Exceptions:", b"host : [",
        )
    )
    + rb")"
)  # fmt: skip
_ROW = re.compile(rb" {3,12}[a-z_]{2,16} +[\w.:@-]+ *(?:(?m:$)|[\\\"<&`])")


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    if _SENTENCES.search(form):
        return CONTEXT
    if _KEPT.search(form):
        return KEEP
    return CONTEXT if _CONTEXT.search(form) or _ROW.search(form) else IGNORE


def worth_as_row(form: bytes) -> int:
    """The same of a line that holds no word of Open MPI's: a row of one of its tables."""
    return CONTEXT if _ROW.search(form) or (b" : " in form and _CONTEXT.search(form)) else IGNORE


_HEAD = re.compile(r"\[(?P<host>[^\[\]\s:]{1,253}):(?P<pid>\d{1,10})\] ")
_BTL = re.compile(
    r"mca: bml: (?:Not u|U)sing (?P<btl>\w{1,40}) btl (?:for send )?to "
    # A mail may have broken the line before the host; a table of values (CSV) ends with a quotation mark.
    r"\[\[(?P<family>\d{1,10}),(?P<job>\d{1,10})\],(?P<rank>\d{1,9})\](?: on(?: node(?: (?P<node>[^\s\"]{1,253}))?)?)?"
    r"(?: because (?P<better>\w{1,40}) btl has higher exclusivity)?"
)
_PMLS = frozenset(("ob1", "ucx", "cm", "yalla", "bfo", "csum"))
#: Before 2.0 nothing else tells the mtl (mtl_base_component.c); of what prints such lines only mtl has these.
_MTLS = frozenset(("psm", "psm2", "mxm", "ofi", "mx", "portals", "portals4"))
_SELECTED = re.compile(r"select: component (\w{1,40}) selected")
_PML_CHECK = re.compile(
    r"check:select: checking my pml (\w{1,40}) against process \[\[(\d{1,10}),\d{1,10}\],\d{1,9}\] pml \w"
)
_MISMATCH = re.compile(
    r"\[\[\d{1,10},\d{1,10}\],(\d{1,9})\] selected pml (\w{1,40}), "
    r"but peer \[\[\d{1,10},\d{1,10}\],\d{1,9}\] on (\S{1,253}) selected pml(?: (\w{1,40}))?"
)
#: handle_wc of btl_openib_component.c: what was sent to a peer did not arrive. What is flushed follows that.
_BROKEN = re.compile(
    r"(?:\[(?:\[\d{1,10},\d{1,10}\]|\d{1,9},\d{1,9}),(\d{1,9})\]\[\S{1,300}\] )?"
    r"from (\S{1,253}) to: (\S{1,253}) error polling (?:[HL]P )?CQ with status (?!WORK REQUEST FLUSHED)[A-Z]"
)
#: BTL_ERROR of btl_base_error.h: the host, the process, and the source file. 1.2 has three numbers for the process.
_BTL_HEAD = re.compile(
    r"\[(?P<host>[^\[\]\s:]{1,253})\]\[(?:\[\d{1,10},\d{1,10}\]|\d{1,9},\d{1,9}),(?P<rank>\d{1,9})\]"
    r"\[[^\[\]\s]{1,300}\] "
)
_TCP_ERROR = re.compile(r"\]\[(?:\S{0,200}/)?btl_tcp(?:_(?:endpoint|frag|proc))?\.c:\d")
#: The rest of such a line, which a mailer has wrapped: the sender is on the one before it.
_BROKEN_REST = re.compile(
    r"(?:to: \S{1,253} )?error polling (?:[HL]P )?CQ with status (?!WORK REQUEST FLUSHED)[A-Z]{3}"
)
#: PSM2's own errors have the host and the process before them, and nothing between.
_PSM2_HEAD = re.compile(r"(?:\A|(?<=[\s>:]))(?P<host>[A-Za-z][\w.-]{0,252})\.\d{1,10}(?:PSM2 |[a-z][a-z0-9_]{1,40}: )")
#: The word with which pml_base_select.c ends a job that asked for a pml by its name.
_NO_PML = re.compile(r"PML (\w{1,40}) cannot be selected\s{0,9}\Z")
#: psm_ep.c of PSM and PSM2, as an endpoint is opened: it has no address, and the process aborts (psm_error.c).
_NO_ENDPOINT = re.compile(
    r"(?:(?:\A|(?<=[\s>:]))(?P<host>[A-Za-z][\w.-]{0,252})\.\d{1,10}|\A)"
    r"Assertion failure at \S{0,200}psm_ep\.c:\d{1,6}: ep->epid != 0\s{0,9}\Z"
)
#: ompi/errhandler/errhandler_predefined.c: an error of a call of MPI's, in any release, that ends the job.
_FATAL_CALL = re.compile(r"\*\*\* MPI_ERRORS_ARE_FATAL \((?:processes in this |your MPI job |goodbye)")
_NO_CONTEXT = re.compile(r"error obtaining device context for (\S{1,80}) errno says (.*)")
_PORT = re.compile(r"\[rank=(\d{1,9})\] openib: using port (\S{1,80}:\d{1,3})")
_INTERFACE = re.compile(r"btl:tcp: using ipv[46] interface (\S{1,40})")
_MTL = re.compile(r"mca:base:select:\( {0,9}mtl\) Selected component \[(\w{1,40})\]")
_OFI = re.compile(r"mtl:ofi:prov(?:ider)?(?P<what>:domain)?: (?P<name>\S{1,80})")
_LOADED = re.compile(r"components_(?:register|open): found loaded component (\w{1,40})")
#: A parameter as ``mpi_show_mca_params`` prints it: from the environment, the command line or a file.
_PARAMETER = re.compile(r"((?:btl|pml|mtl)(?:_\w{1,60})?)=(\S{1,400}) \((?!default)[^()\n]{1,300}")
_INSTALLED = re.compile(r"[ \t]{0,40}MCA (\w{1,30}): (\w{1,40}) \(MCA v")
_FRAMEWORK = re.compile(r"components_(?:register: registering framework|open: opening) (\w{1,40}) components")
_SUPPORT = re.compile(r"support level is (none|transports only|transports and devices)")
#: mca_base_component_repository.c, before 1.10 component_find.c: a module whose libraries are not there is passed over.
#: PSM, DAPL, libfabric and others are missing on every cluster that has no use for them.
_NO_LIBRARY = re.compile(
    r"unable to open (?:\S{0,300}/)?mca_(btl_openib|btl_uct|pml_ucx|pml_yalla|mtl_mxm): "
    r"lib(?:ibverbs|rdmacm|mlx\d|uc[psmt]|mxm)\.so\S{0,20}: cannot open shared object file"
)
_REFUSED = re.compile(
    r"common_ucx\.c:\d{1,6} (\w{1,30})/(\S{1,80}): "
    r"(?:did not match transport list|matched transport list but not device)"
)
_UCX_VERSION = re.compile(r"pml_ucx_open: UCX version (\d[\w.]{0,30})")
_MORE = re.compile(r"(\d{1,9}) more process(?:es)? ha(?:s|ve) sent help message (\S{1,120}) / (.{1,120}?)\s*\Z")
_VERSION = re.compile(r"(?:Open MPI v|\(Open MPI\) v?)(\d{1,3}\.\d{1,3}[\w.]{0,20})")
#: 1.2's help messages are one sentence.
_NO_NICS_12 = re.compile(r"\[\d{1,9},\d{1,9},(\d{1,9})\]: (.{1,60}) on host (\S{1,253}) was unable to find any ")


class Reader:
    """Reads the lines of one stream; remembers the help message and the table that are being printed."""

    def __init__(self) -> None:
        self._help: _Help | None = None
        self._table: _Table | None = None
        self._framework: dict[tuple[str, str], str] = {}
        self._speakers = Speakers()

    def read(self, line: Line) -> Iterator[OpenMpiFact]:
        """What the line says if it is no quotation; of a help message or a table, when it has ended. Never raises."""
        for spoken in self._spoken(line):
            yield from self._read(spoken)

    def _spoken(self, line: Line) -> Sequence[Line]:
        """Only lines of a process may be quotations: what a launcher says has no head."""
        head = _HEAD.search(line.text) or _BTL_HEAD.search(line.text)
        if head is None:
            return (line,)
        return self._speakers.spoken(line, line.text[: head.start()], (head[1], head[2]))

    def _read(self, line: Line) -> Iterator[OpenMpiFact]:
        text = line.text
        for head, part in segments(_HEAD, text):
            said = Said(line.number, line.raw, head["host"], int(head["pid"]), line.rank)
            yield from self._message(part, said)
        yield from self._text(text, line)

    def finish(self) -> Iterator[OpenMpiFact]:
        """What was not ended when the stream did, and what lines say that looked like quotations."""
        for held in self._speakers.rest():
            yield from self._read(held)
        yield from self._end_help()
        yield from self._end_table()

    def _message(self, text: str, said: Said) -> Iterator[OpenMpiFact]:
        key = (said.host or "", str(said.pid))
        if found := _BTL.search(text):
            node = found["node"] if found["node"] not in ("unknown", "(null)", "NULL") else None
            family, job, rank = int(found["family"]), int(found["job"]), int(found["rank"])
            yield Btl(said, found["btl"], rank, node, family, job, found["better"])
        elif found := _SELECTED.match(text):
            if (component := found.group(1)) in _PMLS:
                yield Pml(said, component)
            elif component in _MTLS:
                yield Mtl(said, component)
        elif found := _PML_CHECK.match(text):
            yield Pml(said, found.group(1), int(found.group(2)))
        elif found := _MISMATCH.search(text):
            detail = f"{found.group(2)}, {found.group(4) or '?'} on {found.group(3)}"
            yield Failure(
                said._replace(rank=int(found.group(1))), "ompi", "pml-mismatch", True, said.host, detail=detail
            )
        elif "pml_ucx.c" in text and "connecting to proc" in text:
            yield Pml(said, "ucx")  # only the selected pml connects
        elif found := _PORT.search(text):
            yield OpenibPort(said._replace(rank=int(found.group(1))), found.group(2))
        elif found := _INTERFACE.search(text):
            yield TcpInterface(said, found.group(1))
        elif found := _MTL.search(text):
            yield Mtl(said, found.group(1))
        elif found := _PARAMETER.match(text):
            yield Setting(said, "ompi", found.group(1), found.group(2))
        elif found := _FRAMEWORK.search(text):
            if len(self._framework) > 100_000:
                self._framework.clear()
            self._framework[key] = found.group(1)
        elif found := _LOADED.search(text):
            if framework := self._framework.get(key):
                yield Component(said, framework, found.group(1))
        elif found := _SUPPORT.search(text):
            yield UcxSupport(said, found.group(1))
        elif found := _NO_LIBRARY.search(text):
            yield Failure(said, "ompi", "no-library", False, said.host, detail=found.group(1))
        elif found := _NO_PML.match(text):
            yield Failure(said, "ompi", "no-pml", True, said.host, detail=found.group(1))
        elif found := _REFUSED.search(text):
            yield UcxRefused(said, found.group(1), found.group(2))
        elif "ucx is enabled on any transport or device" in text:
            yield UcxSupport(said, "any")
        elif "mca_pml_ucx_open" in text:
            yield Component(said, "pml", "ucx")
            if found := _UCX_VERSION.search(text):
                yield Version(said, "UCX", found.group(1))
        elif "UCX PML is disabled because" in text:
            yield Failure(said, "ompi", "ucx-off", False, said.host)
        elif "ucp_ep_create(proc=" in text and "failed" in text:
            yield Failure(said, "ompi", "unreachable", True, said.host)
        elif (found := _MORE.match(text)) and (topic := _AGGREGATED.get((found.group(2), found.group(3)))):
            yield Failure(said, "ompi", topic, detail=f"{found.group(1)} more processes")

    def _text(self, text: str, line: Line) -> Iterator[OpenMpiFact]:
        said = Said(line.number, line.raw, None, None, line.rank)
        for sentence, topic, is_fatal in _HELP:
            if sentence in text:
                yield from self._end_help()
                self._help = _Help(topic, is_fatal, said)
                return
        if self._help is not None:
            ended = self._help.read(text, line.number)
            if ended:
                yield from self._end_help()
        if found := _OFI.search(text):
            head = _HEAD.search(text)
            who = said._replace(host=head["host"], pid=int(head["pid"])) if head else said
            yield OfiDomain(who, found["name"]) if found["what"] else OfiProvider(who, found["name"])
        elif found := _INSTALLED.match(text):
            yield Installed(said, found.group(1), found.group(2))
        elif found := _VERSION.search(text):
            yield Version(said, "Open MPI", found.group(1))
        elif found := _NO_NICS_12.search(text):
            who = said._replace(host=found.group(3), rank=int(found.group(1)))
            yield Failure(who, "ompi", "no-nics", False, found.group(3), detail=found.group(2))
        elif _BROKEN_REST.match(text):
            yield Failure(said, "ompi", "broken", True)
        elif found := _BROKEN.search(text):
            who = said._replace(rank=int(found.group(1)) if found.group(1) else line.rank)
            peer = None if found.group(3).isdigit() else found.group(3)  # 1.5 and 1.6: an address up to its first dot
            yield Failure(who, "ompi", "broken", True, found.group(2), detail=peer)
        elif "PSM2 no hfi units" in text or "PSM2 can't open hfi unit" in text or "contexts on opa device" in text:
            who = _speaker(_PSM2_HEAD, text, said)
            yield Failure(who, "psm2", "psm2", False, who.host)
        elif "mmap of rcvhdrq at" in text and "Resource temporarily unavailable" in text:
            who = _speaker(_PSM2_HEAD, text, said)
            yield Failure(who, "psm2", "memlock", False, who.host)  # PSM2's; mmap(2): too much memory is locked
        elif "invalid comp_mask" in text or "error obtaining device attributes for" in text:
            who = _speaker(_BTL_HEAD, text, said)
            yield Failure(who, "ompi", "ofed-mismatch", False, who.host)
        elif _TCP_ERROR.search(text):
            who = _speaker(_BTL_HEAD, text, said)
            yield Failure(who, "ompi", "tcp-module", False, who.host)
        elif "error creating qp errno says " in text:
            who = _speaker(_BTL_HEAD, text, said)
            yield Failure(who, "ompi", "qp-refused", False, who.host)
        elif found := _NO_CONTEXT.search(text):
            topic = "resources" if "Cannot allocate memory" in found.group(2) else "open-device"
            who = _speaker(_BTL_HEAD, text, said)
            yield Failure(who, "ompi", topic, False, who.host, found.group(1))
        elif found := _NO_ENDPOINT.search(text):
            yield Failure(said._replace(host=found["host"]), "psm2", "no-endpoint", True, found["host"])
        elif "An error occurred in MPI_Init" in text:
            yield Failure(said, "ompi", "init-failed", True)
        elif _FATAL_CALL.search(text):
            head = _HEAD.search(text)
            host = head["host"] if head else None
            yield Failure(said._replace(host=host), "job", "died", True, host, detail=OPEN_MPI)
        yield from self._table_line(text, said)

    def _end_help(self) -> Iterator[Failure]:
        if self._help is not None:
            yield self._help.failure()
            self._help = None

    def _table_line(self, text: str, said: Said) -> Iterator[CommMethod]:
        if found := _HOST_ROW.match(text):
            number, row = int(found.group(1)), HostRanks(found.group(2), _ranks(found.group(3)))
            if self._table is not None and self._table.ends_with(number, row):
                return  # a log in which each line stands twice
            if not number:
                yield from self._end_table()
                self._table = _Table(said)
            if self._table is not None:
                self._table.hosts.append(row)
        elif self._table is not None:
            self._table.read(text, said)

    def _end_table(self) -> Iterator[CommMethod]:
        if self._table is not None:
            yield self._table.comm_method()
            self._table = None


_FIELD = re.compile(r"[ \t]{0,12}(\w[\w ]{1,40}):[ \t]+(\S.{0,300})")
_HELP_LINES = 40


class _Help:
    """A help message as it goes on."""

    def __init__(self, topic: str, is_fatal: bool, said: Said) -> None:
        self._topic = topic
        self._is_fatal = is_fatal
        name = _NAME.match(said.text) or _NAME.search(said.text[:300])
        self._said = said._replace(rank=int(name.group(1))) if name else said
        self._fields: dict[str, str] = {}

    def read(self, text: str, number: int) -> bool:
        """Take a field; whether the message has ended."""
        if text.startswith("-----") or number > self._said.line + _HELP_LINES:
            return True
        if (found := _FIELD.match(text)) and len(self._fields) < 12:
            self._fields.setdefault(found.group(1).strip().lower(), found.group(2).strip())
        return False

    def failure(self) -> Failure:
        """What it said."""
        get = self._fields.get
        host = get("local host") or get("host")
        device = get("local device") or get("local adapter") or get("device name") or get("device")
        if device and (port := get("local port")) and ":" not in device:
            device = f"{device}:{port}"
        topic = self._topic
        if topic == "create-queue" and "Cannot allocate memory" in (get("error") or ""):
            topic = "memlock"
        detail = get("module") or get("cpcs attempted") or get("memlock limit") or get("nonexistent entities")
        if (peer := get("peer host")) and not peer.isdigit():
            detail = peer
        return Failure(self._said._replace(host=host), "ompi", topic, self._is_fatal, host, device, detail)


_NAME = re.compile(r"\[\[\d{1,10},\d{1,10}\],(\d{1,9})\]: ")

_HOST_ROW = re.compile(r"\s{0,8}Host (\d{1,7}) \[([^\[\]\s]{1,253})\] ranks (\d[\d ,.-]{0,400})")
_MATRIX_ROW = re.compile(r"\s{0,16}(\d{1,7}) : (\S.{0,65000})")
_CELL = re.compile(r"ucx\[ {0,3}\d{1,4}\]|\S+")
_KEY = re.compile(r"\s{0,8}key: (\S) == (\S{1,400})")
_UCX_ID = re.compile(r"\s{0,8}ucx\[ {0,3}(\d{1,4})\]:\s*\Z")
_UCX_ROW = re.compile(r"\s{1,16}(\w{1,30}) +(\S{1,80})\s*\Z")
_SUMMARY = re.compile(r"\s{0,12}(on|off)-host: +(all|most) connections are (\S{1,400})")


class _Table:
    """A comm_method table as it goes on."""

    def __init__(self, said: Said) -> None:
        self.hosts: list[HostRanks] = []
        self._said = said
        self._rows: list[tuple[Said, int, list[str]]] = []
        self._texts: dict[str, str] = {}
        self._letters: dict[str, str] = {}
        self._ucx: dict[str, list[str]] = {}
        self._ucx_id: str | None = None
        self._summary: dict[str, tuple[str, str, Said]] = {}

    def ends_with(self, number: int, row: HostRanks) -> bool:
        """Whether this host is the one that was named last."""
        return number == len(self.hosts) - 1 and self.hosts[-1] == row and not self._rows

    def read(self, text: str, said: Said) -> None:
        """Take one line of it."""
        if found := _MATRIX_ROW.match(text):
            if len(self._rows) < 4096:
                texts = [self._texts.setdefault(text, text) for text in _CELL.findall(found.group(2))]
                self._rows.append((said, int(found.group(1)), texts))
        elif found := _KEY.match(text):
            self._letters[found.group(1)] = found.group(2)
        elif found := _UCX_ID.match(text):
            self._ucx_id = found.group(1)
            self._ucx[self._ucx_id] = []
        elif found := _SUMMARY.match(text):
            self._summary.setdefault(found.group(1), (found.group(2), found.group(3), said))
            self._ucx_id = None
        elif self._ucx_id is not None and (found := _UCX_ROW.match(text)):
            self._ucx[self._ucx_id].append(f"{found.group(1)}/{found.group(2)}")

    def comm_method(self) -> CommMethod:
        """The table, with the cells' abbreviations written out."""
        known = {text: self._methods(text) for _, _, texts in self._rows for text in texts}
        rows = tuple(Row(said, row, tuple(map(known.__getitem__, texts))) for said, row, texts in self._rows)
        _, on_host, _ = self._summary.get("on", ("", "", self._said))
        quantity, off_host, off_said = self._summary.get("off", ("", "", None))
        return CommMethod(
            self._said, tuple(self.hosts), rows,
            self._methods(on_host), self._methods(off_host), quantity == "all", off_said,
        )  # fmt: skip

    def _methods(self, text: str) -> tuple[str, ...]:
        text = self._letters.get(text, text)
        if found := re.match(r"ucx\[ {0,3}(\d{1,4})\]", text):
            return tuple(self._ucx.get(found.group(1), ())) or ("ucx",)
        if text.startswith("ucx="):
            # "ucx=TL;DEV,TL;DEV", cut at 200 characters: the last entry may be half of one
            entries = [entry.replace(";", "/", 1) for entry in text[4:].split(",") if ";" in entry]
            return tuple(entries[:-1] if len(text) >= 199 and len(entries) > 1 else entries) or ("ucx",)
        return () if text in ("", "n/a") else (text,)


def _speaker(head: re.Pattern[str], text: str, said: Said) -> Said:
    """Who said it, where the line has a head that tells it."""
    found = head.search(text)
    if found is None:
        return said
    rank = found.groupdict().get("rank")
    return said._replace(host=found["host"], rank=said.rank if rank is None else int(rank))


def _ranks(text: str) -> tuple[int, ...]:
    """``0 - 3, 8`` as numbers; empty where the list ends in dots or is absurd."""
    ranks: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        if ".." in part or not low.strip().isdigit():
            return ()
        first = int(low)
        last = int(high) if high.strip().isdigit() else first
        if last - first > 100_000 or len(ranks) > 1_000_000:
            return ()
        ranks.extend(range(first, last + 1))
    return tuple(ranks)
