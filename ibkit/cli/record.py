"""Record again and again into one file, to look back later: what was, what changed, since when.

Each frame is a capture. `--from FILE` works on the last frame, `--from FILE@WHICH` on another one: its number, `first`,
`last`, or a time. The file never outgrows --max-size (the oldest frames go), may be read while it grows, and survives a
kill at any moment. An existing recording is continued. With --from, a capture becomes the next frame.

exit status: 0 interrupted, or --count frames were written; 2 the file could not be written or read.
"""

from __future__ import annotations

import argparse
import time

from ibkit.cli.output import note, print_problems, print_table, site_of
from ibkit.collectors.everything import record_site
from ibkit.errors import EXIT_OK
from ibkit.parsers.base import Problem
from ibkit.sources.processes import signals_raise
from ibkit.sources.recording_file import append, frames
from ibkit.sources.site import Site

OUTPUTS = ()

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which file, how often, how large."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("-o", "--output", metavar="FILE", help="the recording, made if it is not there")
    what.add_argument("--list", metavar="FILE", help="list the frames of a recording instead")
    parser.add_argument(
        "--interval", type=_seconds, default=30.0, metavar="SECONDS", help="from frame to frame (default 30)"
    )
    parser.add_argument("--count", type=_count, metavar="N", help="end after so many frames; else at an interrupt")
    parser.add_argument(
        "--max-size", type=_bytes, default=1 << 30, metavar="BYTES", help="such as 500M or 2G (default 1G)"
    )


def run(args: argparse.Namespace) -> int:
    """Record until somebody interrupts, or list."""
    if args.list:
        print_table(("FRAME", "TIME", "HOST"), frames(args.list))
        return EXIT_OK
    try:
        with signals_raise():
            _record(args)
    except (KeyboardInterrupt, SystemExit):  # a unit that systemd stops has not failed
        note(f"interrupted; {args.output} holds all frames before")
    return EXIT_OK


def _record(args: argparse.Namespace) -> None:
    known: set[Problem] = set()
    count = args.count
    while True:
        began = time.monotonic()
        site = site_of(args.from_path)
        recorded, problems = record_site(site, _nothing)
        frame = append(args.output, recorded, args.max_size)
        took = time.monotonic() - began
        print_problems(dict.fromkeys(problem for problem in problems if problem not in known))
        known = set(problems)
        late = f"; slower than the interval of {args.interval:g} s" if took > args.interval else ""
        note(f"frame {frame.id} of {args.output} written in {took:.1f} s{late}")
        count = count and count - 1
        if count == 0 or not _is_live(site):
            return
        time.sleep(max(0.0, args.interval - took))


def _is_live(site: Site) -> bool:
    """A capture says the same each time, so it is recorded once."""
    return site.origin.kind == "live"


def _nothing(_: str) -> None:
    """What is being recorded is told by the slow tools' progress, not by a line for each step of each frame."""


def _seconds(text: str) -> float:
    seconds = _number(text)
    if not 1 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"not a number of seconds from 1 to 86400 (a day): {text[:40]}")
    return seconds


def _count(text: str) -> int:
    count = _number(text)
    if not (1 <= count < 1e9 and count == int(count)):
        raise argparse.ArgumentTypeError(f"not a whole number above 0: {text[:40]}")
    return int(count)


def _bytes(text: str) -> int:
    """A number with K, M, G or T behind it."""
    number, unit = text.strip().upper().removesuffix("B").removesuffix("I"), ""
    if number[-1:] in _UNITS and number[-1:]:
        number, unit = number[:-1], number[-1]
    size = _number(number) * _UNITS[unit]
    if not 1 << 20 <= size <= 1 << 50:
        raise argparse.ArgumentTypeError(f"not a size from 1M to 1024T, such as 500M: {text[:40]}")
    return int(size)


def _number(text: str) -> float:
    """NaN, which is in no range, for what is no number."""
    try:
        return float(text)
    except ValueError:
        return float("nan")
