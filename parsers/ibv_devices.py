"""Read ``ibv_devices``: names of devices and their node GUIDs, and nothing of their ports.

Format: rdma-core ``libibverbs/examples/device_list.c``. There is no end mark; a host without a device has the two lines
of the heading alone.
"""

from __future__ import annotations

import re

from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.parsers.lines import BEFORE, Problems, lines_of
from ibkit.parsers.records import NamedTuple

_HEADING = re.compile(r"device {2,40}\s{1,9}node GUID\s*\Z")
_RULE = re.compile(r"-{6}\s+-{16}\s*\Z")
_ROW = re.compile(r"(\S{1,64})\s+([0-9a-f]{16})\s*\Z")
_FAILURE = re.compile(r"Failed to get IB devices list.{0,200}")


class ListedDevice(NamedTuple):
    """A device as printed."""

    name: str
    node_guid: str


def parse(text: str, *, source: str = "") -> Parsed[tuple[ListedDevice, ...]]:
    """Read all devices; none below a heading is the problem ``no-rdma-device``. Raises NotThisFormat without one."""
    lines, first = lines_of(text, source)
    problems = Problems(source, first)
    devices = []
    heading = failed = None
    listing = False
    for number, raw in enumerate(lines, 1):
        line = raw.strip(BEFORE)
        if _HEADING.match(line):
            heading, listing = heading or number, True
        elif failure := _FAILURE.match(line):
            failed = number
            problems.add("tool-error", f"ibv_devices: {failure[0]}", number)
        elif listing and (found := _ROW.match(line)):
            devices.append(ListedDevice(found[1], found[2]))
        elif listing and number == len(lines) and raw.startswith("    "):
            problems.add("truncated", f"the text ends inside this line: {line[:120]!r}", number)
        elif listing and not _RULE.match(line):
            listing = not line  # what follows is another tool's
    if heading is None and failed is None:
        raise NotThisFormat(f"{source or 'input'}: no heading 'device ... node GUID', so not output of ibv_devices")
    if not devices and failed is None:
        problems.add("no-rdma-device", "no RDMA device: ibv_devices lists none", heading)
    return Parsed(tuple(devices), problems.all())
