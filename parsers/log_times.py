"""Times of logs that have no year.

A time is kept as ISO 8601 writes it: ``2026-08-27T07:13:16`` where the log tells the year, else ``--08-27T07:13:16``
(ISO 8601:2000, 5.2.1.3 d) with as many digits of a second as the log has. The clock is that of the host that wrote it.
"""

from __future__ import annotations

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def without_year(month: str, day: str, clock: str, fraction: str = "") -> str | None:
    """The time of syslog's words (``Dec``, ``1``, ``20:41:30``); None where the month is none.

    >>> without_year("Dec", " 1", "20:41:30", "661035")
    '--12-01T20:41:30.661035'
    """
    if month not in MONTHS:
        return None
    return f"--{MONTHS.index(month) + 1:02}-{int(day):02}T{clock}{'.' if fraction else ''}{fraction}"
