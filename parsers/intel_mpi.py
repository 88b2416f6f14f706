"""Intel MPI's lines of ``I_MPI_DEBUG``, in logs of a job: 2019 and later (libfabric only) and the releases before.

``[0] MPI startup(): TEXT`` is rank 0's; ``[0#18811@n01] `` tells process and host as well (``I_MPI_DEBUG=+5``), with
a thread behind the process where that was asked for (``[0#18811:18811@n01] ``).
Sources: Intel MPI Library Developer Reference, "Other Environment Variables" (I_MPI_DEBUG) and "Fabrics Control"; the
same of Intel MPI 2018 for the old fabrics (dapl, ofa, tmi, tcp); public logs for the wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Provider, RankPlace, Said, Setting, SharedMemory, Version
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape
from ibkit.parsers.quotations import Speakers

NAME = "Intel MPI"
_STARTUP = re.compile(
    r"(?:\[(?P<rank>\d{1,7})(?:#(?P<pid>\d{1,9})(?::\d{1,9})?(?:@(?P<host>[\w.-]{1,253}))?)?\] {0,3})?"
    r"MPI startup\(\): {1,9}(?P<text>.*)"
)
_VERSION = re.compile(r"Intel\(R\) MPI Library,? Version (\d[\w.]{0,20}(?: Update \d{1,2})?)")
_PROVIDER = re.compile(r"libfabric provider: {1,9}(\S{1,100})\s{0,99}\Z")
#: Releases before 2019, at level 2: "shm and dapl data transfer modes", "tcp data transfer mode".
_MODES = re.compile(r"(\w{2,8}(?: and \w{2,8}){0,2}) data transfer mode")
_PLACE = re.compile(
    r"(\d{1,7}) {1,20}(\d{1,10}) {1,20}([A-Za-z][\w.-]{0,252}|\d[\w.-]{0,252}[A-Za-z][\w.-]{0,252})(?: |\Z)"
)
#: The tuning file of the fabrics in use: ``tuning_skx_shm-ofi.dat``; and the fabrics themselves.
_TUNING = re.compile(r'Load tuning file: "[^"]{0,400}/tuning_\w{1,40}_(shm-ofi|shm|ofi)[\w.-]{0,100}"')
#: Since 2021.10 or so: ``===== NIC pinning on HOST =====``, ``Rank    Pin nic``, and a row for each rank of that host.
_NIC_HEAD = re.compile(r"Rank {1,20}Pin nic\Z")
_NIC_ROW = re.compile(r"(\d{1,7}) {1,20}([A-Za-z][\w.:@-]{0,63})\Z")
_SETTING = re.compile(r"(I_MPI_\w{1,80}|FI_\w{1,80})=(\S.{0,400}|)\Z")
_TMI = re.compile(r"TMI provider initialized: (\w{1,20})")
#: "trying to open DAPL provider ..." is what it tries; this is what it has opened.
_DAPL = re.compile(r"DAPL provider (\S{1,80})\Z")
_NO_FABRIC = re.compile(r"(\w{2,12}) fabric is not available and fallback fabric is not enabled")
_NO_DAT = re.compile(r"cannot open dynamic library libdat2?\.so|open_hca: getaddr_netdev")
_NO_TMI = "/tmi.conf: No such file"
_MARKS = (
    b"MPI startup():", b"TMI provider initialized", b"fabric is not available and", b"open dynamic library libdat",
    b"/tmi.conf: No", b"open_hca: getaddr_netdev", b"RLIMIT_MEMLOCK too small", b"OFI addrinfo() failed",
)  # fmt: skip
_SHAPES = re.compile(b"|".join(re.escape(shape(mark)) for mark in _MARKS))


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader. Those of a second run may be alike."""
    return CONTEXT if _SHAPES.search(form) else IGNORE


class Reader:
    """Reads the lines of one stream; remembers whether the table of the ranks' NICs is being printed."""

    def __init__(self) -> None:
        self._is_nics = False
        self._speakers = Speakers()

    def read(self, line: Line) -> Iterator[Version | Provider | RankPlace | SharedMemory | Setting | Failure]:
        """What the line says, nothing where it is a quotation. Never raises."""
        found = _STARTUP.search(line.text)
        if found is None:
            yield from read(line)
            return
        speaker = found["host"] or "", found["rank"] or ""
        for spoken in self._speakers.spoken(line, line.text[: found.start()], speaker):
            yield from self._read(spoken)

    def finish(self) -> Iterator[Version | Provider | RankPlace | SharedMemory | Setting | Failure]:
        """What lines say that looked like quotations."""
        for held in self._speakers.rest():
            yield from self._read(held)

    def _read(self, line: Line) -> Iterator[Version | Provider | RankPlace | SharedMemory | Setting | Failure]:
        yield from read(line)
        if not (found := _STARTUP.search(line.text)):
            return
        text = found["text"].rstrip()
        if self._is_nics and (row := _NIC_ROW.match(text)):
            said = Said(line.number, line.raw, None, None, line.rank)
            yield RankPlace(said, NAME, int(row.group(1)), nic=row.group(2))
        else:
            self._is_nics = _NIC_HEAD.match(text) is not None


def read(line: Line) -> Iterator[Version | Provider | RankPlace | SharedMemory | Setting | Failure]:
    """What the line says by itself. Never raises."""
    text = line.text
    said = Said(line.number, line.raw, None, None, line.rank)
    if found := _STARTUP.search(text):
        rank = line.rank if found["rank"] is None else int(found["rank"])
        pid = int(found["pid"]) if found["pid"] else None
        said = Said(line.number, line.raw, found["host"], pid, rank)
        yield from _startup(found["text"].rstrip(), said)
    elif found := _TMI.search(text):
        yield Provider(said, NAME, found.group(1), None, "tmi")
    if _NO_DAT.search(text):
        yield Failure(said, "intel", "no-dat")
    elif _NO_TMI in text:
        yield Failure(said, "intel", "no-tmi")
    if found := _NO_FABRIC.search(text):
        yield Failure(said, "intel", "no-fabric", True, detail=found.group(1))
    if "RLIMIT_MEMLOCK too small" in text:
        yield Failure(said, "intel", "memlock")


def _startup(text: str, said: Said) -> Iterator[Version | Provider | RankPlace | SharedMemory | Setting]:
    if found := _VERSION.match(text):
        yield Version(said, NAME, found.group(1))
    elif found := _PROVIDER.match(text):
        yield Provider(said, NAME, found.group(1))
    elif found := _MODES.search(text):
        names = found.group(1).split(" and ")
        if "shm" in names:
            yield SharedMemory(said, NAME, names == ["shm"])
        for name in names:
            if name != "shm":
                yield Provider(said, NAME, name, "fabric")
    elif found := _TMI.search(text):
        yield Provider(said, NAME, found.group(1), None, "tmi")
    elif found := _DAPL.match(text):
        yield Provider(said, NAME, "dapl:" + found.group(1), None, "dapl")
    elif text.startswith("shm segment size"):
        yield SharedMemory(said, NAME)
    elif found := _TUNING.match(text):
        if found.group(1) == "ofi":
            yield Setting(said, "intel", "I_MPI_FABRICS", "ofi")
        else:
            yield SharedMemory(said, NAME, found.group(1) == "shm")
    elif found := _SETTING.match(text):
        if found.groups() == ("I_MPI_FABRICS", "shm"):
            yield SharedMemory(said, NAME, True)
        yield Setting(said, "intel" if found.group(1).startswith("I_MPI") else "ofi", found.group(1), found.group(2))
    elif found := _PLACE.match(text):
        yield RankPlace(said, NAME, int(found.group(1)), found.group(3))
