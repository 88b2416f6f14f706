"""Text in, records out: one module per tool or log format. No I/O, no clock, nothing from the rest of ibkit.

``FORMATS`` is the list of what is recognised by content; a parser's module is imported only when it is used.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.escapes import plain
from ibkit.parsers.records import NamedTuple

#: The sub-command that judges a job's log. What such a log quotes (``ibstat`` in its prologue) is the job's.
JOB_COMMAND = "check-mpi-transport"


class Format(NamedTuple):
    """A tool's output: ``mark`` (a regular expression for a line's start) recognises it, ``command`` reads it; that is
    ``parse`` where no other command does.

    Whatever ``mark`` matches holds one of ``words``: compiling all marks takes as long as half a start of the
    interpreter, and a text without a mark's words spares its. ``module`` is the parser's module below ibkit.parsers,
    None where the format is recognised but not read yet.
    """

    tool: str
    command: str
    mark: str
    words: tuple[str, ...]
    module: str | None = None

    @property
    def reader(self) -> str:
        """Who reads it, as the rest of a sentence about it."""
        if self.command != "parse":
            return f"which is for `ibkit {self.command}`"
        return "which no command reads yet" + ("; `ibkit parse` shows it" if self.module else "")


#: What only a parallel job's runtime prints, wherever in a line: launchers put tags and times before it.
_JOB_MARKS = (
    r"\bNCCL (?:INFO|WARN|TRACE) |\bNCCL version \d|\b\S{1,80}:\d+:\d+ \[\d+\] (?:INFO|WARN) ",
    r"\bUCX {1,2}(?:FATAL|ERROR|WARN|DIAG|INFO|DEBUG|TRACE|REQ|DATA|ASYNC|FUNC|POLL) ",
    r"\[\d{9,11}\.\d{3,9}\] \[\S{1,80}:\d+ {0,9}:",  # UCX's tables
    r"\bcfg#\d+ tag\(|\bTransport retry count exceeded on \S",  # UCX without heads
    r"# Memory domain: |# UCP endpoint",  # ucx_info
    r"\[[\w.-]{1,80}:\d{2,9}\] ",  # Open MPI's own lines
    r"\bhelp-mpi-|\bOpen MPI v?\d|\(Open MPI\) \d|\bopen-mpi\b|MPI processes? |Data for JOB \[",
    r"Host \d+ \[\S{1,80}\] ranks \d",  # Open MPI's hook/comm_method
    r"Host \d+ -- (?:ip )?\S{1,80} -- ranks \d|\bRank \d+:\d+: MPI_Init: ",  # HP-MPI, Platform MPI
    r"\bMPI Distribution : Platform |\bHP MPI \d\d\.|\bMPI Application rank \d+ exited before ",
    r"\[\[\d+,\d+\],\d+\]\[|\bORTE (?:was unable|has lost)|PRTE has |\[[\w.-]{1,80}:mpi_rank_\d+\]",
    r"# OSU MPI|# nThread \d+ nGpus|# {1,2}Rank {1,9}\d+ (?:Group|Pid) |\brank \d+ (?:of|out of) \d",  # benchmarks
    r"A high-performance Open MPI|Another transport will be used instead|Connection summary: \(",
    r"\bMPI startup\(\): |\blibfabric:\S{1,80}:|\blibfabric provider: |\bprovider: \S{1,60}, score = \d",
    r"\[Gloo\] Rank |\bMVAPICH2|\bGloo connectFullMesh ",
    r"\bOFI fi_getinfo\(\) failure|\bNo valid libfabric provider|\bOFI addrinfo\(\) failed",  # MPICH
    r"\bMPICH CH4 OFI netmod using ",
    r"\bFatal error in (?:P?MPI|internal|MPIR)_\w{1,40}: |\bMPICH Version:\s",
    r"\bmpi(?:run|exec)(?:\.hydra)? [^\n]{0,300}?-(?:n|np|H|host|hosts|hostfile|x|mca|genv) ",
    r"\bOpenFabrics device found|PSM2 no hfi units are active|\bpsm_ep\.c:\d{1,6}: ep->epid|\btmi: tmi_\w{1,20}: error",
    r"/gloo/(?:transport|rendezvous|common)/|\bUsing ibverbs device=|\bhorovod(?:run |/common/)",
    r"==== (?:Capability set configuration|UCX netmod Capability)",
    r"\ban OpenFabrics device\b|\bMCA (?:btl|pml|mtl): \w|\bPSM3_IDENTIFY ",
    r"\[[\w.-]{1,80}:\d{1,10} {0,9}:[^\[\]:\n]{0,40}:\d{1,10}\] ",  # UCX's last words
    r"\bDDP Initialized with|\bdistributed_backend=\w|\bMASTER_ADDR=\S",  # PyTorch
    r"\bMPI_ABORT was invoked on rank \d|\bnot enough slots available in the system|\bBAD TERMINATION OF ONE OF YOUR ",
    r"\bProt -  All Int(?:er|ra)-node communication is|\bmscclpp::IbError\b",
)
_JOB_WORDS = (
    "NCCL", "INFO ", "WARN ", "UCX ", "] ", "# Memory domain: ", "# UCP endpoint", "help-mpi-", "Open MPI", "open-mpi",
    "MPI process", "Data for JOB [", "Another transport", "Connection summary: (", "MPI startup", "libfabric",
    "provider: ", "MVAPICH2", "Gloo", "][", "ORTE ", "PRTE has", "mpi_rank", "OSU MPI", "nThread", "Rank ", "rank ",
    "mpirun", "mpiexec", "OpenFabrics device", "no hfi units", "psm_ep.c", "tmi: ", "Prot -  ", "mscclpp::", "cfg#",
    "retry count", "OFI ", "Fatal error in ", "MPICH Version:", "gloo/", "ibverbs device", "horovod", "==== Capability",
    "MCA ", "==== UCX", "PSM3_", "DDP ", "_backend=", "MASTER_ADDR=", "MPI_ABORT", "enough slots", "BAD TERMINATION",
    " -- ranks ", "MPI Distribution", "HP MPI ", "MPI Application",
)  # fmt: skip
_GUID = "0x[0-9a-fA-F]{1,16}"
#: Marks are read off the programs that print them: infiniband-diags (rdma-core), ibv_devinfo (rdma-core), rdma
#: (iproute2), opensm, and the job runtimes' own sources.
_TOOLS = (
    Format(
        "ibnetdiscover",
        "fabric",
        r'(?:Switch|Ca|Rt)\s{0,9}\d+\s{0,9}"[SHR]-[0-9a-fA-F]+"[ \t]{0,9}(?:#|$)|# Topology file: generated'
        r'|\[\d+\](?:\[ext \d+\])?(?:\([0-9a-fA-F]+\))?\s{0,9}"[SHR]-[0-9a-fA-F]+"\[\d+\]'
        rf"|(?:SW|CA|RT)\s{{1,9}}\d+\s{{1,9}}\d+\s{{1,9}}{_GUID}\s{{1,9}}\S"
        r"|(?:\S{0,80}/)?ibnetdiscover: iberror: ",
        ('"S-', '"H-', '"R-', "# Topology", "SW", "CA", "RT", "ibnetdiscover: iberror"),
        "ibnetdiscover",
    ),
    Format(
        "ibstat",
        "status",
        r"(?:CA|Switch|Router|iWARP RNIC|\?\?\?):? '[^'\n]{1,80}'[ \t]*$"
        r"|ibpanic: \[\d+\] \w+: stat of IB device '",
        ("'",),
        "ibstat",
    ),
    Format("sminfo", "sm", r"(?:\S{0,80}/)?sminfo: (?:sm lid \d|iberror: )", ("sminfo: ",), "sminfo"),
    Format(
        "iblinkinfo",
        "fabric",
        rf"(?:{_GUID}\s{{1,20}})?(?:\"[^\"\n]{{0,80}}\"\s{{1,20}})?\d+\s{{1,9}}\d+\[[^\]\n]{{0,9}}\]\s{{0,9}}==\("
        rf"|(?:Switch: {_GUID}|CA:|RT:|Router:) [^\n]{{1,99}}:$",
        ("==(", "Switch: 0x", "CA:", "RT:", "Router:"),
        "iblinkinfo",
    ),
    Format(
        "ibqueryerrors",
        "counters",
        rf"(?:Errors|Data Counters) for (?:{_GUID} )?\"|## Summary: \d+ nodes checked"
        rf"|GUID {_GUID} port (?:ALL|\d+):|ibqueryerrors: iberror: ",
        ("Errors for ", "Data Counters for ", "## Summary", "GUID 0x", "ibqueryerrors: "),
        "ibqueryerrors",
    ),
    Format(
        "perfquery",
        "counters",
        r"# (?:Port(?: extended)?|\w{4,40}(?: with RS-FEC Active)?) counters: |# PortSamplesControl: "
        r"|(?:PortSelect|CounterSelect):\.{2}|perfquery: iberror: ",
        (" counters: ", "# PortSamplesControl", "Select:..", "perfquery: "),
        "perfquery",
    ),
    Format("saquery", "partitions", r"PKeyTableRecord dump:", ("PKeyTableRecord",), "saquery"),
    Format("saquery", "sm", r"SMInfoRecord dump:|IsSM ports$", ("SMInfoRecord", "IsSM ports"), "saquery"),
    Format(
        "saquery",
        "fabric",
        r"(?:Node|Link|PortInfo)Record dump:",
        ("NodeRecord", "LinkRecord", "PortInfoRecord"),
        "saquery",
    ),
    Format("saquery", "parse", r"SA ClassPortInfo:", ("SA ClassPortInfo",), "saquery"),
    Format("saquery", "parse", r"(?:PathRecord|GUIDInfo Record) dump:", ("PathRecord", "GUIDInfo Record"), "saquery"),
    Format("saquery", "parse", r"(?:LFT|MFT|SL2VLTable|SwitchInfo) ?Record dump:", ("Record dump:",), "saquery"),
    Format(
        "saquery",
        "parse",
        r"\w{1,20}(?: ?Record)?(?: group| member)? dump:$| {0,9}LID \"name\"$",
        ("dump:", 'LID "name"'),
        "saquery",
    ),
    Format("smpquery", "partitions", r"\d+:(?: 0x[0-9a-f]{4}){8}$", (": 0x",), "smpquery"),
    Format(
        "smpquery",
        "parse",
        r"# (?:Node info|Port info(?: ext| Extended)?|Switch info|SL2VL table|VLArbitration tables"
        r"|MLNX ext Port info): "
        r"|Node Description:\.{2}|\d+:(?: 0x[0-9a-f]{16}){2}$",
        (" info", " table", "Node Description:..", ": 0x"),
        "smpquery",
    ),
    Format(
        "ibportstate",
        "parse",
        r"(?:CA/RT|CA|Switch|Router) PortInfo:$|Port info: .{1,99}\nLinkState:\.{2}",
        ("PortInfo:", "LinkState:"),
        "smpquery",
    ),
    Format(
        "ibroute",
        "path",
        r"(?:Unicast|Multicast) m?lids \[0x[0-9a-f]+-0x[0-9a-f]+\] of switch ",
        ("lids [0x",),
        "ibroute",
    ),
    Format(
        "ibtracert",
        "path",
        r"From (?:(?:ca|switch|router) )?\{?0x[0-9a-f]+(?:\}(?: portnum |\[)| port )\d",
        ("From ",),
        "ibtracert",
    ),
    Format(
        "ibaddr",
        "parse",
        r"(?:GID [0-9a-f:]{2,45}\s{0,9})?LID start (?:0x)?[0-9a-f]+ end ",
        ("LID start ",),
        "ibaddr",
    ),
    Format(
        "ibstatus",
        "status",
        r"Infiniband device '[^'\n]{1,80}' port (?:\d+|\*) status:|Fatal error: {1,2}(?:No devices|device '\*')",
        ("Infiniband device", "Fatal error"),
        "ibstatus",
    ),
    Format("ibv_devinfo", "status", r"hca_id:\s", ("hca_id:",), "ibv_devinfo"),
    Format(
        "ibdev2netdev",
        "status",
        r"(?:[0-9a-f.:]{12} {1,9})?\S{1,64} {1,40}(?:\([^\n]{1,250}? )?port {1,9}\d{1,3} {1,9}"
        r"(?:\([A-Z_ ]{1,20}\) {1,9})?==> {1,9}\S{1,40} {1,40}\((?:Up|Down)\)",
        ("==> ",),
        "ibdev2netdev",
    ),
    Format(
        "show_gids", "status", r"DEV\s+PORT\s+INDEX\s+GID\s|n_gids_found=\d", ("INDEX", "n_gids_found="), "show_gids"
    ),
    Format(
        "mlxlink",
        "status",
        r"(?:\x1b\[[0-9;]{0,12}m)?Operational Info(?:\x1b\[[0-9;]{0,12}m)?$"
        r"|(?:\{[^\n]{0,9000}?)?\"Operational Info\"\s{0,3}:\s{0,3}\{",
        ("Operational Info",),
        "mlxlink",
    ),
    Format(
        "mlxlink --port_type PCIE",
        "parse",
        r"(?:\{[^\n]{0,9000}?)?\"?PCIe Operational \(Enabled\) Info(?:$|\"\s{0,3}:)",
        ("PCIe Operational (Enabled) Info",),
        "mlxlink_pcie",
    ),
    Format("ibv_devices", "status", r"device {2,40}\s{1,9}node GUID", ("node GUID",), "ibv_devices"),
    Format(
        "rdma",
        "status",
        r"(?:link |\d+/\d+: )\S{1,80}/\d+:? [^\n]{0,400}?\bphysical_state [A-Z_]"
        r"|\[\s{0,9}\{\s{0,99}\"ifindex\":[^{}]{0,2000}?\"physical_state\":"
        r"|\d{1,9}: \S{1,80}: node_type [a-z]|\[\s{0,9}\{\s{0,99}\"ifindex\":[^{}]{0,300}?\"node_type\":"
        r"|link \S{1,80}/\d{1,5}:? (?!lqpn )(?:[A-Za-z]\w{1,80} \d{1,20} ?){2}"
        r"|\[\s{0,9}\{\s{0,99}\"ifname\":\s{0,9}\"[^\"\n]{1,80}\",\s{0,99}\"port\":\s{0,9}\d{1,5},\s{0,99}"
        r"\"\w{1,80}\":\s{0,9}\d",
        ("physical_state", "node_type", "link ", '"ifname"'),
        "rdma",
    ),
    Format(
        "rdma",
        "consumers",
        r"link \S{1,80}/[\d-]+:? (?:cm-idn|lqpn) \d"
        r"|\[\s{0,9}[{\[]\s{0,99}\"ifindex\":[^{}\[\]]{0,2000}?\"(?:cm-idn|lqpn|cm_id)\":"
        r"|\d{1,9}: \S{1,80}: (?:[a-z_]{2,9} \d{1,20} ){0,9}cm_id \d",
        ("lqpn", "cm-idn", "cm_id"),
        "rdma",
    ),
    Format(
        "ibhosts, ibswitches or ibnodes",
        "parse",
        rf"(?:Ca|Switch|Rt)\s{{0,9}}:\s{{0,9}}{_GUID} ports \d",
        (" ports ",),
        "node_list",
    ),
    Format(
        "opensm-subnet.lst",
        "fabric",
        r"\{ (?:SW|CA|R[Tt]|\*\*)(?:-SM)? Ports:[0-9A-Fa-f]{1,3} SystemGUID:",
        (" SystemGUID:",),
        "subnet_list",
    ),
    Format(
        "ibdiagnet2.db_csv",
        "fabric",
        r"START_[A-Z][A-Z0-9_()]{1,100}[ \t]{0,9}\n[ \t>|\u2502]{0,40}\"?[A-Za-z]\w{0,60}\"?,",
        ("START_",),
        "ibdiagnet_csv",
    ),
    Format(
        "ibdiagnet2.net_dump",
        "parse",
        rf"\"[^\n]{{1,80}}\", {{0,9}}[^,\"\n]{{1,40}}, {{0,9}}{_GUID}, LID \d",
        (", LID ",),
        "net_dump",
    ),
    Format(
        "ibdiagnet2.net_dump_ext",
        "parse",
        r"Ty {1,40}: {1,40}# {1,40}: {1,9}#IB {1,9}: {1,40}GUID ",
        ("#IB",),
        "net_dump_ext",
    ),
    Format(
        "ibdiagnet2.log",
        "parse",
        r"-[EW]- (?:Link: \S|\S{1,300}/P[\d/]{1,16} - )|Running version {0,9}: \"IBDIAGNET ",
        ("-E- ", "-W- ", "IBDIAGNET"),
        "ibdiagnet_log",
    ),
    Format(
        "partitions.conf",
        "partitions",
        r"[\w.\-]{0,64}\s{0,9}= ?0x[0-9a-fA-F]{1,4}\s{0,9}(?:,[ \t\w=]{1,60}){0,12}:"
        r"\s{0,9}(?:ALL|SELF|0x[0-9a-fA-F]|mgid=|;)",
        ("=0x", "= 0x"),
        "partitions_conf",
    ),
    Format(
        "opensm-lfts.dump",
        "path",
        r"Unicast lids \[0-\d{1,5}\] of switch Lid \d",
        ("Unicast lids [0-",),
        "opensm_dumps",
    ),
    Format("opensm.fdbs", "path", r"\w{0,40}dump_ucast_routes: Switch 0x", ("dump_ucast_routes: ",), "opensm_dumps"),
    Format("opensm.mcfdbs", "parse", r"LID {4}: Out Port\(s\)", (": Out Port(s)",), "opensm_dumps"),
    Format(
        "opensm-sa.dump",
        "parse",
        r"MC Group 0x[0-9a-f]{4} |mcm_port: port_gid=|InformInfo Record: |Service Record: id=|GUIDInfo Record: base_",
        ("MC Group 0x", "mcm_port: ", "InformInfo Record: ", "Service Record: ", "GUIDInfo Record: "),
        "opensm_sa",
    ),
    Format("guid2lid", "parse", r"0x[0-9a-fA-F]{16}(?: 0x[0-9a-fA-F]{4}){2}[ \t]{0,9}$", (" 0x",), "guid2lid"),
    Format(
        "ibswinfo",
        "parse",
        r"(?:part number|fan status|temperature \(C\)|PSU\d status|uptime \(d-h:m:s\)) {1,12}\| "
        r"|(?:part_number|psu\d\.\w{2,11}(?: \(W\))?|cur\.temp \(C\)|uptime \(sec\)) {1,12}: ",
        ("part number", "fan status", "temperature (C)", "PSU", "uptime (", "part_number", "psu", "cur.temp"),
        "ibswinfo",
    ),
    Format(
        "node-name map",
        "parse",
        rf"{_GUID}[ \t]{{1,40}}\"[^\"\n#]{{1,80}}\"[ \t]{{0,40}}(?:#|$)",
        ("0x",),
        "node_name_map",
    ),
    Format(
        "topology file",
        "parse",
        r"(?=\S{0,40}\d)[A-Za-z][\w./-]{0,60}[ \t]{1,40}-(?:\d{1,2}[xX]-)?(?:[\w.]{1,8}G-)?>"
        r"(?:[ \t]{1,40}[^\s/]{1,80}){2}[ \t]{1,40}\S{1,80}[ \t]{0,40}$",
        ("->",),
        "topology_file",
    ),
    Format(
        "cabling list",
        "parse",
        r"(?:[^\n,;\t]{0,40}[,;\t]){0,16}\"?#?(?:Fields:)?(?:StartDevice|A-Node(?: Name)?|SRC_NAME|HCA/Port)\"?[,;\t]",
        ("StartDevice", "A-Node", "SRC_NAME", "HCA/Port"),
        "cabling_csv",
    ),
    Format(
        "UFM event log",
        "parse",
        r"(?:\w{3} [ \d]\d [\d:]{8} \S{1,255} eventlog\[\d{1,10}\]: [A-Z]{4,12} - )?"
        r"\d{4}-\d\d-\d\d [\d:]{8}(?:\.\d{1,6})? \[\d{1,18}\] \[\d{1,6}\] "
        r"[A-Z]{4,12} (?:Site \[[^\]\n]{0,80}\] )?\[\w{1,40}\] \w{1,40} \[",
        ("] [",),
        "ufm_events",
    ),
    Format(
        "ibacm_route.data",
        "parse",
        rf"(?:Switch|Channel Adapter|Router) {_GUID}, base LID \d",
        (", base LID ",),
        "acm_routes",
    ),
    Format(
        "ibacm_opts.cfg",
        "parse",
        r"(?:(?:addr|route)_(?:prot|timeout|preload|data_file)|loopback_prot)[ \t]{1,20}[\w/.-]",
        ("addr_", "route_", "loopback_prot"),
        "acm_opts",
    ),
    Format(
        "ibacm_addr.cfg",
        "parse",
        r"[^\s#]{1,46}[ \t]{1,20}[A-Za-z]\w{0,30}[ \t]{1,20}\d{1,3}[ \t]{1,20}(?:default|0x[0-9a-fA-F]{4})[ \t]{0,20}$",
        ("default", "0x"),
        "acm_addr",
    ),
    Format(
        "ibacm_hosts.data",
        "parse",
        r"(?!(?:GID|inet6|nameserver|via|src|dst|dev)\s)[^\s#]{1,45}[ \t]{1,20}fe[8c]0:[0-9a-fA-F:]{2,38}"
        r"[ \t]{0,20}(?:#|$)",
        ("fe80:", "fec0:"),
        "acm_hosts",
    ),
    Format("ibsim console", "parse", r"Network simulator ready\.$|sim> ", ("Network simulator", "sim> ")),
    # Node ids of any form, and HCAs by this name, are the simulator's: ibnetdiscover prints "S-..." and Ca.
    Format("ibsim netlist", "parse", r'(?:Switch|Hca)\s{1,9}\d{1,3}\s{1,9}"(?![SHR]-)[^"\n]{1,64}"', ("Switch", "Hca")),
    Format(
        "opensm log",
        "parse",
        r"(?:OpenSM \$ )?(?:\S{3} \d\d )?\d\d:\d\d:\d\d \d{6} \[[0-9A-F]{4,16}\] 0x[0-9a-f]{2} -> "
        r"|(?:\w{3} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT[\d:.+Z-]{8,32}) \S{1,255} (?:OpenSM|opensm)\[\d{1,10}\]: ",
        ("] 0x", "OpenSM[", "opensm["),
        "opensm_log",
    ),
)

#: A line of a job is none that a tool prints: a node may be called "NCCL INFO ".
_TOOL_LINE = "|".join((*(tool.mark for tool in _TOOLS), r"[\w ]{1,40}:?\.{2}"))
FORMATS = (
    *_TOOLS,
    Format("job log", JOB_COMMAND, rf"(?!{_TOOL_LINE})[^\n]{{0,300}}?(?:{'|'.join(_JOB_MARKS)})", _JOB_WORDS),
)

#: What may stand before a line's own text: indentation, quotes of a mail.
_BEFORE = r"^[ \t>|\u2502]*+"
#: The marks are looked for here first, then in all of the text that the caller gives (characters).
_FIRST_LOOK = 1 << 16


def identify(text: str, *, source: str = "") -> Format:
    """The format of ``text``, by its content alone: a job's log if any line is one's, else the format that comes first.

    Raises NotThisFormat listing what was tried.
    """
    text = plain(text).replace("\xa0", " ")  # as a page pads what is pasted from it
    for look in (text[:_FIRST_LOOK], text):
        found = [(place, candidate) for candidate in FORMATS if (place := _place(candidate, look)) is not None]
        for _, candidate in found:
            if candidate.command == JOB_COMMAND:
                return candidate
        if found:
            return min(found, key=lambda pair: pair[0])[1]
    tried = ", ".join(dict.fromkeys(candidate.tool for candidate in FORMATS))
    raise NotThisFormat(f"{source or 'input'}: no known format; tried {tried}")


def holds(text: str, tool: str) -> bool:
    """Whether output of ``tool`` is in ``text`` at all: a terminal log often holds that of several tools."""
    text = plain(text)
    return any(_place(candidate, text) is not None for candidate in FORMATS if candidate.tool == tool)


def _place(candidate: Format, text: str) -> int | None:
    if not any(word in text for word in candidate.words):
        return None
    found = re.search(f"{_BEFORE}(?:{candidate.mark})", text, re.MULTILINE)
    return found.start() if found else None
