"""Times of logs that have no year, and what year they may be of. Pure: the reader's own time is an argument.

A time is kept as ISO 8601 writes it: ``2026-08-27T07:13:16`` where the log tells the year, else ``--08-27T07:13:16``
(ISO 8601:2000, 5.2.1.3 d) with as many digits of a second as the log has. The clock is that of the host that wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ibkit.parsers.erased import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
#: February 29 comes back after at most so many years.
_LEAP_YEARS = 8

_TIME = re.compile(
    r"(?P<year>\d{4}|-)-(?P<month>\d\d)-(?P<day>\d\d)T(?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?"
)


def without_year(month: str, day: str, clock: str, fraction: str = "") -> str | None:
    """The time of syslog's words (``Dec``, ``1``, ``20:41:30``); None where the month is none.

    >>> without_year("Dec", " 1", "20:41:30", "661035")
    '--12-01T20:41:30.661035'
    """
    if month not in MONTHS:
        return None
    return f"--{MONTHS.index(month) + 1:02}-{int(day):02}T{clock}{'.' if fraction else ''}{fraction}"


def dates(times: Sequence[str | None], near: datetime) -> list[datetime | None]:
    """The dates of a log's times, in the log's order, under this assumption: of a time without a year, the year is the
    one that brings it nearest to the time after it, and of the last one to ``near`` (the reader's now, or when the log
    was copied). So a log may run over New Year, or be years long, as long as it has no gap of half a year.

    ``near`` and the result are the log's host's own clock, without a zone. What is no time stays None.
    """
    found: list[datetime | None] = []
    after = near
    for time in reversed(times):
        date = _date(time, after)
        found.append(date)
        after = date or after
    return found[::-1]


def _date(time: str | None, near: datetime) -> datetime | None:
    from datetime import datetime

    told = _TIME.match(time or "")
    if not told:
        return None
    years = range(near.year - _LEAP_YEARS, near.year + _LEAP_YEARS + 1) if told["year"] == "-" else [int(told["year"])]
    microseconds = (told["fraction"] or "").ljust(6, "0")[:6]
    candidates = []
    for year in years:
        try:
            text = f"{year:04}-{told['month']}-{told['day']}T{told['clock']}.{microseconds}"
            candidates.append(datetime.fromisoformat(text))
        except ValueError:  # no such day in that year, or none at all
            continue
    return min(candidates, key=lambda date: abs(date - near), default=None)
