"""What a link carries, from its width and speed as printed."""

from __future__ import annotations

import re

#: Nominal Gb/s of one lane (InfiniBand Architecture Specification 1.7, volume 1, PortInfo LinkSpeedActive and
#: LinkSpeedExtActive; FDR10 is NVIDIA's own). In the order of generations.
LANE_GBPS = {
    "SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR10": 10.3125, "FDR": 14.0625, "EDR": 25.0, "HDR": 50.0, "NDR": 100.0,
    "XDR": 200.0,
}  # fmt: skip
_WIDTH = re.compile(r"(\d{1,2})x\Z", re.IGNORECASE)


def lanes(width: str | None) -> int | None:
    """``4x`` as 4; None where the width is not known or not a width."""
    found = _WIDTH.match(width or "")
    return int(found.group(1)) if found else None


def lane_gbps(speed: str | None) -> float | None:
    """Gb/s of one lane; None for a speed that is not known."""
    return LANE_GBPS.get((speed or "").upper())


def rate_gbps(width: str | None, speed: str | None) -> float | None:
    """Nominal Gb/s of the link; None where either part is not known."""
    count, lane = lanes(width), lane_gbps(speed)
    return None if count is None or lane is None else count * lane


def width_speed(width: str | None, speed: str | None) -> str | None:
    """``4x HDR``; None where nothing is known."""
    return None if width is None and speed is None else f"{width or '?x'} {speed or '?'}"
