"""MPICH's summary of its libfabric module and what it was built for, in logs of a job; MVAPICH 3 and 4 print the same.

``MPIR_CVAR_DEBUG_SUMMARY=1`` makes rank 0 print the candidates (``provider: NAME, score = 5, ...``, which decide
nothing) and the chosen one (``libfabric provider: NAME - FABRIC``); ``=2`` adds a row for every rank with its place on
its host and its NIC. ``mpichversion`` and MPI_Get_library_version tell the device (``MPICH Device: ch3:nemesis``) and
how it was configured, ``mpiexec --version`` only the latter. MVAPICH2 2.x is built on the same, under its own name.
Sources: pmodels/mpich src/mpid/ch4/netmod/ofi/{ofi_init,ofi_nic}.c, src/env/mpichversion.c, src/pm/hydra.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Build, Failure, Provider, RankPlace, Said, Version
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape

NAME = "MPICH"
#: Intel MPI's line has "MPI startup(): " before it.
#: HPE's PALS labels lines by ``HOST RANK: ``.
_LABEL = r"(?:[\w.-]{1,253} \d{1,7}: )?"
_PROVIDER = re.compile(_LABEL + r"\s{0,9}libfabric provider: {1,9}(\S{1,80})(?: - (\S{1,200}))?\s{0,99}\Z")
_RANK = re.compile(_LABEL + r"\s{0,9}Rank: (\d{1,7}), Local_rank: (\d{1,7}), NIC: (\S.{0,200}?)\s{0,99}\Z")
_NO_PROVIDER = re.compile(r"OFI fi_getinfo\(\) fail(?:ure|ed)|No valid libfabric provider|OFI addrinfo\(\) failed")
#: HPE Cray's MPICH says it with MPICH_OFI_VERBOSE=1.
CRAY = "Cray MPICH"
_PE = _LABEL + r"\s{0,9}(?:PE \d{1,7}: )?"
_CRAY_PROVIDER = re.compile(
    _PE + r"MPICH CH4 OFI netmod using (\S{1,60}) provider(?: \(domain_name=([^\s()]{1,80})\))?"
)
#: MPICH_OFI_NIC_VERBOSE=2: ``PE 3: Host nid005187 selected NIC index=1, domain_name=cxi1, numa_node=1, ...``.
_CRAY_PLACE = re.compile(
    _LABEL + r"\s{0,9}PE (\d{1,7}): Host ([\w.-]{1,253}) selected NIC index=\d{1,4}, domain_name=([^\s,]{1,80})"
)
_CRAY_VERSION = re.compile(r"CRAY MPICH version (\d[\d.]{0,20})")
_VERSION = re.compile(r"(MVAPICH2?) Version {0,20}:\s{1,20}(\d[\w.]{0,20})")
_DEVICE = re.compile(r"(MPICH|MVAPICH2?) Device {0,20}:\s{0,20}(ch[34]:\S{1,80})")
#: The heads of what a network module prints with MPIR_CVAR_DEBUG_SUMMARY; UCX's lists what UCX sees, not what it uses.
_NETMOD = re.compile(r"==== (?:(UCX netmod) Capability|Capability set configuration) ====")
#: ``mpiname -a`` of MVAPICH2 1.x and 2.x: name, version, date, device.
_MPINAME = re.compile(
    r"MVAPICH2 (\d[\w.]{0,20}) (?:\w{3,9} ){1,2}\d{1,2} [\d:]{8} (?:[A-Z]{2,5} )?\d{4} (ch3:\S{1,80})\s{0,9}\Z"
)
_CONFIGURED = re.compile(r"(?:(MPICH|MVAPICH2?) configure {0,20}:|Configure options:)\s")
_WITH_DEVICE = re.compile(r"--with-device=(ch[34](?::[\w,]{1,60}){0,3})")
_MARKS = (
    b"libfabric provider: ",
    b"MPICH CH4 OFI netmod using ",
    b"CRAY MPICH version ",
    b" selected NIC index=",
    b"MPICH Device",
    b"MVAPICH Device",
    b"MPICH configure",
    b"MVAPICH configure",
    b"Configure options: ",
    b"MVAPICH Version",
    b"MVAPICH2 2.",
    b"==== UCX netmod Capability",
    b"==== Capability set configuration",
    b"Local_rank: ",
    b"OFI fi_getinfo() fail",
    b"No valid libfabric",
    b"OFI addrinfo()",
)
_SHAPES = re.compile(b"|".join(re.escape(shape(mark)) for mark in _MARKS))


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader. Rows of ranks of two jobs may be alike."""
    return CONTEXT if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Provider | RankPlace | Build | Version | Failure]:
    """What the line says. Never raises."""
    said = Said(line.number, line.raw, None, None, line.rank)
    if found := _PROVIDER.match(line.text):
        yield Provider(said, NAME, found.group(1), found.group(2))
    elif found := _RANK.match(line.text):
        yield RankPlace(said, NAME, int(found.group(1)), None, int(found.group(2)), found.group(3))
    elif found := _CRAY_PROVIDER.match(line.text):
        yield Provider(said, CRAY, found.group(1), found.group(2))
    elif found := _CRAY_PLACE.match(line.text):
        yield RankPlace(said, CRAY, int(found.group(1)), found.group(2), None, found.group(3))
    elif found := _CRAY_VERSION.search(line.text):
        yield Version(said, CRAY, found.group(1))
    elif found := _NETMOD.search(line.text):
        yield Build(said, NAME, "ch4:ucx" if found.group(1) else "ch4:ofi")
    elif found := _DEVICE.search(line.text):
        yield Build(said, found.group(1), found.group(2))
    elif found := _MPINAME.match(line.text):
        yield Version(said, "MVAPICH2", found.group(1))
        yield Build(said, "MVAPICH2", found.group(2))
    elif found := _CONFIGURED.search(line.text):
        yield from _configured(found.group(1), line.text, said)
    elif found := _VERSION.search(line.text):
        yield Version(said, found.group(1), found.group(2))
    elif _NO_PROVIDER.search(line.text):
        yield Failure(said, "mpich", "no-provider", True)


def _configured(runtime: str | None, options: str, said: Said) -> Iterator[Build]:
    """The device among the options; PSM2 or PSM beside ch3:psm. Without one it is the default of that release."""
    found = _WITH_DEVICE.search(options)
    device = found.group(1) if found else ""
    if device == "ch3:psm" and "--with-psm2" in options:
        device = "ch3:psm:psm2"
    is_mvapich = device.startswith(("ch3:mrail", "ch3:psm"))
    yield Build(said, runtime or ("MVAPICH2" if is_mvapich else "MPICH"), device, True)
