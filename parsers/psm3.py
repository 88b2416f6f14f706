"""What libfabric's provider psm3 says of itself with ``PSM3_IDENTIFY=1``, and why it has no queue pair, in jobs' logs.

``LABEL PSM3_IDENTIFY HAL: verbs (...)`` or ``HAL: sockets (...)``: what it stands on. LABEL is ``HOST:rankN`` or the
host with a process or context. ``LABEL.PROGRAM: Failed to modify UD QP to INIT on mlx5_0: Operation not permitted`` is
its verbs side. Source: ofiwg/libfabric prov/psm3/psm3/{psm_utils,psm_ep}.c, hal_verbs/verbs_ep.c, hal_sockets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibkit.parsers.job_facts import Failure, Provider, RankPlace, Said
from ibkit.parsers.log_lines import CONTEXT, IGNORE, Line, shape

NAME = "psm3"
_LINE = re.compile(r"(?:\A|(?<=\s))(?P<host>[A-Za-z][\w.-]{0,252})[:.]\S{0,80} PSM3_IDENTIFY (?P<text>.*)")
_HAL = re.compile(r"HAL: (verbs|sockets) \(")
_RANK = re.compile(r"Global Rank (\d{1,7}) \((\d{1,7}) total\) Local Rank (\d{1,7}) ")
#: EPERM, which the kernel answers to a Q_Key that is kept for the privileged (drivers/infiniband/core/uverbs_cmd.c). Of
#: UCX's line for its own queue pair the device is no part.
_REFUSED = re.compile(
    r"(?:(?:\A|(?<=\s))(?P<host>[A-Za-z][\w.-]{0,252}):(?:rank(?P<rank>\d{1,7})|\d{1,10})(?:\.[^\s:]{1,80})?: {1,3}"
    r"|\A\s{0,9})"
    r"Failed to modify UD QP to INIT on (?P<device>[\w.-]{1,64}): Operation not permitted\s{0,9}\Z"
)
_SHAPES = re.compile(b"|".join(re.escape(shape(mark)) for mark in (b"PSM3_IDENTIFY ", b"modify UD QP to INIT on ")))


def worth(form: bytes) -> int:
    """Whether lines of this shape may say something to this reader. Those of two ranks are alike."""
    return CONTEXT if _SHAPES.search(form) else IGNORE


def read(line: Line) -> Iterator[Provider | RankPlace | Failure]:
    """What the line says. Never raises."""
    if " QP to INIT on " in line.text and (no_qp := _REFUSED.search(line.text)):
        number = line.rank if no_qp["rank"] is None else int(no_qp["rank"])
        said = Said(line.number, line.raw, no_qp["host"], None, number)
        yield Failure(said, "psm3", "qkey", False, no_qp["host"], no_qp["device"])
    if "PSM3_IDENTIFY " not in line.text or not (found := _LINE.search(line.text)):
        return
    host = found["host"]
    said = Said(line.number, line.raw, host, None, line.rank)
    if hal := _HAL.match(found["text"]):
        yield Provider(said, NAME, hal.group(1), None, "psm3")
    elif rank := _RANK.match(found["text"]):
        yield RankPlace(said, NAME, int(rank.group(1)), host, int(rank.group(3)))
