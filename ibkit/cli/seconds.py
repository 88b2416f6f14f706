"""Seconds on a command line."""

from __future__ import annotations

import argparse
import math


def seconds(text: str) -> float:
    """A number above 0, up to a day. Raises ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(f"not a number of seconds up to a day: {text}")
    return value
