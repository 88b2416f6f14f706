"""libfabric's own lines (``FI_LOG_LEVEL=info``), in logs of a job, of three generations of their prefix.

Up to 1.7 ``libfabric:PROV:SUBSYS:func():LINE<level> TEXT``, then with the process id after ``libfabric:``, from 1.15 on
with id, time and a prefix of the caller's. ``Opened fabric: NAME`` tells what a process chose, by the *fabric's* name:
a device of verbs is ``IB-0x`` and its subnet prefix whatever its link layer (RoCE too), an iWARP one
``Ethernet-iWARP``; tcp, sockets and udp take the IP network's. ``registering provider`` is printed for all that the
build has and says nothing. Sources: ofiwg/libfabric src/{log,fabric}.c, prov/verbs/src/verbs_info.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Provider, Said
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape

NAME = "libfabric"
_LINE = re.compile(
    r"libfabric:(?:(?P<pid>\d{1,10}):(?:\d{1,12}:[^:]{0,64}:)?)?(?P<provider>[^\s:]{1,60}):[^\s:]{1,60}:\w{1,80}\(\):\d{1,7}"
    r"<\w{1,10}> (?P<text>.*)"
)
_OPENED = re.compile(r"Opened fabric: (\S{1,80})\s{0,9}\Z")
#: Of all providers only verbs' word counts: those of hardware that is not there have nothing either.
_UNUSABLE = re.compile(r"fi_getinfo: provider verbs(?:;\S{1,40})? (?:returned -61\b|output empty list)")
_NO_ADDRESS = "rdma_resolve_addr: "
_NETWORK = re.compile(r"(?:[\d.]{7,15}|[0-9A-Fa-f:]{2,39})/\d{1,3}\Z")
_SHAPES = re.compile(
    b"|".join(re.escape(shape(mark)) for mark in (b"Opened fabric: ", b"fi_getinfo: provider ", b"rdma_resolve_addr: "))
)  # fmt: skip


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader. Those of two processes are alike."""
    return CONTEXT if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Provider | Failure]:
    """What the line says. Never raises."""
    if "libfabric:" not in line.text or not (found := _LINE.search(line.text)):
        return
    said = Said(line.number, line.raw, None, int(found["pid"]) if found["pid"] else None, line.rank)
    if opened := _OPENED.match(found["text"]):
        yield Provider(said, NAME, provider_of(opened.group(1)), opened.group(1))
    elif _UNUSABLE.match(found["text"]) or (found["provider"] == "verbs" and _NO_ADDRESS in found["text"]):
        yield Failure(said, "ofi", "no-verbs")


def provider_of(fabric: str) -> str:
    """The provider that names its fabrics so; the name itself where it is one's, or nobody's.

    >>> provider_of("IB-0xfe80000000000000"), provider_of("10.20.0.0/16"), provider_of("efa-direct"), provider_of("cxi")
    ('verbs', 'tcp', 'efa', 'cxi')
    """
    if fabric.startswith("IB-0x") or fabric == "Ethernet-iWARP":
        return "verbs"
    if _NETWORK.match(fabric):
        return "tcp"
    if fabric.upper().startswith("OPX"):
        return "opx"
    return "efa" if fabric.startswith("efa-") else fabric
