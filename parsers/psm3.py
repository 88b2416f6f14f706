"""What libfabric's provider psm3 says of itself with ``PSM3_IDENTIFY=1``, in logs of a job.

``LABEL PSM3_IDENTIFY HAL: verbs (...)`` or ``HAL: sockets (...)``: what it stands on. LABEL is ``HOST:rankN`` or the
host with a process or context. Source: ofiwg/libfabric prov/psm3/psm3/{psm_utils,psm_ep}.c, hal_{verbs,sockets}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Provider, RankPlace, Said
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape

NAME = "psm3"
_LINE = re.compile(r"(?:\A|(?<=\s))(?P<host>[A-Za-z][\w.-]{0,252})[:.]\S{0,80} PSM3_IDENTIFY (?P<text>.*)")
_HAL = re.compile(r"HAL: (verbs|sockets) \(")
_RANK = re.compile(r"Global Rank (\d{1,7}) \((\d{1,7}) total\) Local Rank (\d{1,7}) ")
_SHAPE = shape(b"PSM3_IDENTIFY ")


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader. Those of two ranks are alike."""
    return CONTEXT if _SHAPE in form else IGNORE


def read(line: Line) -> Iterator[Provider | RankPlace]:
    """What the line says. Never raises."""
    if "PSM3_IDENTIFY " not in line.text or not (found := _LINE.search(line.text)):
        return
    host = found["host"]
    said = Said(line.number, line.raw, host, None, line.rank)
    if hal := _HAL.match(found["text"]):
        yield Provider(said, NAME, hal.group(1), None, "psm3")
    elif rank := _RANK.match(found["text"]):
        yield RankPlace(said, NAME, int(rank.group(1)), host, int(rank.group(3)))
