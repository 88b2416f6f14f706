"""The counters of a device or port in /sys: what it counts, and what it has a file for and does not tell.

Formats: the kernel's ``drivers/infiniband/core/sysfs.c`` (``counters``: PortCounters of the port; ``hw_counters``:
what the driver counts, with ``lifespan``, which is the age in ms up to which old values are given).
"""

from __future__ import annotations

from ibkit.model.host import CounterTable
from ibkit.parsers.lines import count_of
from ibkit.sources.base import Source

_NO_COUNTER = "lifespan"
#: After one of these the next file would answer alike, and cards of restricted functions log each attempt.
_FOR_ALL = ("EACCES", "EPERM", "ENODEV", "EIO")


def read_counters(source: Source, folder: str) -> CounterTable | None:
    """All files of a folder of counters; None where there is no such folder."""
    listing = source.list(folder)
    if listing.entries is None:
        return None
    values: dict[str, int] = {}
    unreadable: dict[str, str] = {}
    gone = None
    for name in listing.names:
        if name == _NO_COUNTER:
            continue
        if gone is None:
            answer = source.read(f"{folder}/{name}")
            text = (answer.text or "").strip()
            value = count_of(text)
            if value is not None:
                values[name] = value
                continue
            gone = answer.error if answer.error in _FOR_ALL else None
            unreadable[name] = answer.error or text[:80]  # ``N/A (no PMA)``
        else:
            unreadable[name] = gone
    return CounterTable(values, unreadable)
