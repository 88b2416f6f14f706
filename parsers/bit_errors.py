"""Bit error ratios as NVIDIA's tools print them: coefficient and magnitude of a register, ``3E-8`` or ``1.50e-254``.

A clean link holds the register's floor, 15E-255, which is no measurement (mstflint's mlxlink; ibdiagnet prints the same
register, Mellanox/ufm_sdk_3.0 and the readers of its ``net_dump_ext`` compare with 1.5E-254).
"""

from __future__ import annotations

import re

from ibkit.parsers.records import NamedTuple

#: Magnitudes from here on are the register's floor.
FLOOR_MAGNITUDE = 250

_RATIO = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,9})?)[Ee]-([0-9]{1,3})\Z")


class BitErrorRatio(NamedTuple):
    """``text`` is as printed, ``ratio`` None where no errors were seen or the register holds none."""

    text: str
    ratio: float | None


def ratio_of(text: str) -> BitErrorRatio | None:
    """None for what is no ratio. A coefficient of 0 is what an empty register holds."""
    found = _RATIO.match(text)
    if not found:
        return None
    measured = float(found[1]) > 0 and int(found[2]) < FLOOR_MAGNITUDE
    return BitErrorRatio(text, float(text) if measured else None)
