"""Warnings of libibverbs that any runtime's log may hold: a device, a driver or locked memory is missing.

Formats: linux-rdma/rdma-core, libibverbs/{init,device,sysfs}.c. They name no layer; most are harmless, such as a
missing driver of a vendor whose hardware is not there: rdma-core looks for the drivers of all that it knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Said
from ibkit.parsers.log_lines import IGNORE, KEEP, Line, shape

_SHAPE = shape(b"libibverbs: ")
_STAT = re.compile(r"couldn't stat '/sys/class/infiniband/([\w.-]{1,64})'")
#: A device that is there, by its path (before rdma-core) or its name.
_NO_DRIVER = re.compile(r"no userspace device-specific driver found for (?:\S{1,80}/)?([\w.-]{1,64})")
_MEMLOCK = re.compile(r"RLIMIT_MEMLOCK is (\d{1,20}) bytes")


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader."""
    return KEEP if _SHAPE in form else IGNORE


def read(line: Line) -> Iterator[Failure]:
    """What the line says. Never raises."""
    if "libibverbs: " not in line.text:
        return
    said = Said(line.number, line.raw, None, None, line.rank)
    if found := _STAT.search(line.text):
        yield Failure(said, "verbs", "stat-device", device=found.group(1))
    elif found := _MEMLOCK.search(line.text):
        yield Failure(said, "verbs", "memlock", detail=f"{found.group(1)} bytes")
    elif found := _NO_DRIVER.search(line.text):
        yield Failure(said, "verbs", "no-driver", device=found.group(1))
    elif "kernel ABI version" in line.text:
        yield Failure(said, "verbs", "ofed-mismatch")
