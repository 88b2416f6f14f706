"""Horovod: which library moves tensors of the CPU, which one only coordinates, and what ``horovodrun`` adds by itself.

Lines are printed at HOROVOD_LOG_LEVEL=debug: ``[TIME: D FILE:LINE] TEXT``, without the time at HOROVOD_LOG_HIDE_TIME
(horovod/common/{logging,operations}.cc). Whether GPU tensors go by NCCL is decided when Horovod is built, and no line
says it. Horovod's Gloo is TCP in all builds (horovod/common/gloo/gloo_context.cc makes no other device).
``horovodrun`` starts Open MPI with ``-mca pml ob1 -mca btl ^openib`` (horovod/runner/mpi_run.py), and no MPI at all
with ``--gloo``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ibkit.parsers.job_facts import Backend, Said, Setting
from ibkit.parsers.log_lines import IGNORE, KEEP, Line, shape
from ibkit.parsers.prompts import command

NAME = "Horovod"
_OPERATIONS = re.compile(r"Using (MPI|Gloo|GLOO|oneCCL|MLSL|DDL) to perform (CPU|controller) operations")
_COMMAND = re.compile(r"(?:\S{0,1000}/)?horovodrun (.*)\Z")
_INTERFACE = re.compile(
    r"(?:export |declare -x )?(HOROVOD_GLOO_IFACE|HOROVOD_CPU_OPERATIONS|HOROVOD_CONTROLLER)=[\"']?([\w.,:-]{1,200})"
)
_SHAPES = re.compile(
    b"|".join(re.escape(shape(mark)) for mark in (b" to perform ", b"horovodrun ", b"HOROVOD_GLOO_I", b"HOROVOD_C"))
)


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    return KEEP if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Backend | Setting]:
    """What the line says. Never raises."""
    said = Said(line.number, line.raw, None, None, line.rank)
    text = line.text.strip()
    if found := _OPERATIONS.search(text):
        yield Backend(said, NAME, found.group(1).lower(), "data" if found.group(2) == "CPU" else "control")
    elif found := _COMMAND.match(command(text)):
        words = found.group(1).split()
        if "--gloo" in words:
            yield Backend(said, NAME, "gloo", "data")
        else:
            yield Setting(said, "ompi", "pml", "ob1", "command")
            yield Setting(said, "ompi", "btl", "^openib", "command")
        for option, value in pairwise(words):
            if option in ("--network-interfaces", "--network-interface"):
                yield Setting(said, "gloo", "HOROVOD_GLOO_IFACE", value, "command")
    elif found := _INTERFACE.match(text):
        name, value = found.groups()
        if name == "HOROVOD_GLOO_IFACE":
            yield Setting(said, "gloo", name, value)
        elif name == "HOROVOD_CPU_OPERATIONS" and value.lower() == "gloo":
            yield Backend(said, NAME, "gloo", "data")
