"""The names of hosts and users in a recording, found where tools and runtimes print them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from ibkit.parsers import holds
from ibkit.sources.messages import names_in
from ibkit.sources.recording import RecordingSource
from ibkit.sources.writer import Recorded

#: Words that are nobody's name: what vendors and drivers put into node descriptions, and the words of fabrics,
#: transports and logs. To take one of them for a host would change what a text says.
NOBODYS = re.compile(
    r"mellanox|technologies|nvidia|connect\S*|mt\d+\S*|quantum\S*|switch\S*|infiniscale\S*|aggregation|hca\S*|mlx\d\S*|mf\d"
    r"|hfi\d\S*|qib\d+|u\d+|[mqs][a-z]{1,2}\d{4}\S*|rxe\S*|siw\S*|irdma\S*|bnxt_\S*|ibsim\S*|localhost\S*|intel\S*"
    r"|omni-path|qlogic|voltaire|cisco|sun|oracle|infiniband|router|sharp\S*|iba"
    r"|(?:ib|en|eth|bond|lo|ve|veth|hsn|br|vlan|docker|virbr|wl|usb|net)[\dpsonf]?\w*\d\w*"  # network interfaces
    r"|nodes?|hosts?|hostname|local|remote|ranks?|process|ports?|jobs?|slots?|root|users?|home|unknown|none|n/a|memory"
    r"|tcp|udp|sm|shm|self|vader|cma|knem|posix|sysv|xpmem|cuda\w*|rocm\w*|gdr\w*|[ru]c\w*|ud\w*|dc\w*|ib|roce|iwarp"
    r"|verbs|ofi|ucx|pml|btl|mtl|bml|mca|cm|ob1|openib|udapl|psm\d?|mxm|efa|cxi|nccl|rccl|gloo|mpi|socket|plugin|info"
    r"|warn|error|debug|trace|libfabric|provider|active|armed|down|init\w*|polling|disabled|linkup|link|lid|lmc|g?uid|gid"
    r"|[SHR]-[0-9a-f]+|rate|speed|width|layer|state|rack|row|storage|compute|login|management|leaf|spine|core|\W*\d[\d.]*|.",
    re.IGNORECASE,
)
_NAME = r"([A-Za-z][\w-]{0,62}(?:\.[\w-]{1,63}){0,9})"
#: Where a message comes from, as Open MPI and DeepSpeed print it: file, line, function.
_CODE = r"[\w-]{1,99}\.(?:c|cc|cpp|h|py):\d{1,9}:[A-Za-z_]"
#: Prefixes and lines of runtimes that hold nothing but a host there.
_SURELY = re.compile(
    rf"(?<![\w.]){_NAME}:\d+:\d+ \[\d+\] |\[(?!{_CODE}){_NAME}:\d+(?: *:\w+)?\]|Host \d+ \[{_NAME}\] ranks"
    rf"|\w@{_NAME}[ \]:]"
    rf"|\b(?:HOSTNAME|SLURMD_NODENAME|MASTER_ADDR)={_NAME}|^{_NAME} (?:max_)?slots=",
    re.MULTILINE,
)
#: Words after which a host follows, or any other word.
_PERHAPS = re.compile(rf"\b(?:host|node|hostname)s?:? {{1,20}}{_NAME}", re.IGNORECASE)
_LISTS = re.compile(r"(?:NODELIST=|NodeList=|-hosts? |-w )(\S{1,4000})")
_USERS = re.compile(r"/(?:home|users)/([A-Za-z_][\w.-]{0,31})|\b(?:USER|LOGNAME|SLURM_JOB_USER)=(\w{1,32})")
_HOST_FILES = re.compile(
    r"(?:^|[/_.-])(?:hostfile|machinefile|hosts|nodes|nodelist|machines)(?:[/_.-]|$)", re.IGNORECASE
)
#: Files each of whose lines starts with a host's name or address.
_FILES_OF_NAMES = ("/ibacm_hosts.data", "/ibacm_addr.cfg")
_DESCRIPTIONS = re.compile(
    r"\"([^\"\n]{1,80})\"|'([^'\n]{1,80})'|Node ?Description:?\.{2,}(.{1,80})|^(?:CA|RT|Router): (.{1,80}):$"
    r"|^Switch: 0x[0-9a-f]+ (.{1,80}):$",
    re.MULTILINE,
)
#: Tools whose quoted words are node descriptions.
_DESCRIBING = frozenset(
    (
        "ibnetdiscover",
        "iblinkinfo",
        "ibqueryerrors",
        "saquery",
        "smpquery",
        "ibhosts",
        "ibswitches",
        "ibroute",
        "ibtracert",
    )
)
#: Lines of an address and names.
_NAMES_OF_ADDRESSES = "/etc/hosts"
#: Bytes of a log that are looked at together; a line that is longer is looked at in pieces.
CHUNK_BYTES = 1 << 20


def names_of(recorded: Recorded) -> set[str]:
    """Each name in full and without its domain."""
    found = set(_names(recorded))
    found |= {name.partition(".")[0] for name in found}
    return {name for name in found if not NOBODYS.fullmatch(name) and re.search("[A-Za-z]", name)}


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """A log in pieces of whole lines, as far as its lines have ends."""
    while lines := file.readlines(CHUNK_BYTES):
        yield b"".join(lines)


def _names(recorded: Recorded) -> Iterator[str]:
    yield recorded.host
    for name, source in recorded.hosts:
        yield name
        yield from _in_source(source)
    yield from _in_source(recorded.subnet)
    for log in recorded.job:
        is_host_file = _HOST_FILES.search(log.name) is not None
        with log.open() as file:
            for data in chunks(file):
                text = _text(data)
                yield from _in_log(text)
                if is_host_file:
                    yield from re.findall(rf"^{_NAME}", text, re.MULTILINE)


def _in_source(source: RecordingSource) -> Iterator[str]:
    if source.watched is not None:
        yield from _in_source(source.watched.later)
    if source.text is not None:
        text = _text(source.text.data)
        if not holds(text, "job log"):
            yield from _in_descriptions(_groups(_DESCRIPTIONS, text))
        yield from _in_log(text)
    for answer in source.commands.values():
        if answer.argv[0].rpartition("/")[2] in _DESCRIBING:
            yield from _in_descriptions(_groups(_DESCRIPTIONS, _text(answer.stdout)))
        yield from _in_log(_text(answer.stdout))
        yield from _in_log(_text(answer.stderr))
    for file in source.files.values():
        if file.path.endswith("/node_desc") and file.data:
            yield from _in_descriptions([_text(file.data)])
        elif file.path == _NAMES_OF_ADDRESSES and file.data:
            yield from re.findall(rf"(?<=\s){_NAME}(?=\s)", _text(file.data))
        elif file.path.endswith(_FILES_OF_NAMES) and file.data:
            yield from re.findall(rf"^{_NAME}(?=\s)", _text(file.data), re.MULTILINE)
    for exchange in source.exchanges.values():
        for name in names_in(exchange):
            yield from re.findall(rf"\A{_NAME}\Z", name)
    devices = source.verbs_answer.devices if source.verbs_answer else None
    for device in devices if isinstance(devices, list) else ():
        if isinstance(device, dict):
            yield from _in_descriptions(str(value) for key, value in device.items() if key.startswith("node_desc"))


def _in_descriptions(descriptions: Iterable[str]) -> Iterator[str]:
    for description in descriptions:
        yield from re.findall(r"[\w.-]+", description)


def _in_log(text: str) -> Iterator[str]:
    yield from _groups(_SURELY, text)
    yield from _groups(_USERS, text)
    yield from (name for name in _groups(_PERHAPS, text) if re.search(r"[\d.]", name))
    for hosts in _groups(_LISTS, text):  # n[01-04],login1:2
        yield from re.findall(_NAME, re.sub(r"\[[^\]]*\]", "0", hosts))


def _groups(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for found in pattern.finditer(text):
        if found.lastindex:
            yield found[found.lastindex]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
