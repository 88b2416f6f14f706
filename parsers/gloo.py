"""Gloo's lines, in logs of PyTorch and Horovod jobs.

Gloo names its transport rarely: when it opens a verbs device, and when a connection fails. ``[Gloo] Rank 0 is connected
to 3 peer ranks`` names none. Sources: pytorch/gloo gloo/transport/ibverbs/device.cc, gloo/transport/tcp/device.cc and
pair.cc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Provider, Said
from ibkit.parsers.log_lines import IGNORE, KEEP, Line, shape

NAME = "Gloo"
_VERBS = re.compile(r"Using ibverbs device=([\w.-]{1,64}) port=(\d{1,3}) index=\d{1,4}")
_TCP = re.compile(r"\btcp, pci=[^,\n]{0,64}, iface=([\w.@:-]{1,32}), speed=-?\d{1,9}, addr=\[")
_FAILED = re.compile(r"Gloo connectFullMesh failed with \[\S{0,200}/transport/tcp/")
_NO_VERBS = re.compile(r"No ibverbs devices present|Unable to find device named: ")
_MARKS = (b"Using ibverbs device=", b"tcp, pci=", b"Gloo connectFullMesh failed", b"No ibverbs devices present")
_SHAPES = re.compile(b"|".join(re.escape(shape(mark)) for mark in _MARKS))


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    return KEEP if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Provider | Failure]:
    """What the line says. Never raises."""
    said = Said(line.number, line.raw, None, None, line.rank)
    if found := _VERBS.search(line.text):
        yield Provider(said, NAME, "verbs", found.group(1))
    elif found := _TCP.search(line.text):
        yield Provider(said, NAME, "tcp", found.group(1))
    if _FAILED.search(line.text):
        yield Failure(said, "gloo", "not-connected", True)
    elif _NO_VERBS.search(line.text):
        yield Failure(said, "gloo", "no-device")
