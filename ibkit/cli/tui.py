"""All of it on one screen, live or replayed: fabric, counters, hosts, subnet, addresses, jobs, findings.

On a terminal this is an application: `?` lists its keys, `q` leaves it. Without a terminal (a pipe, CI, TERM=dumb)
the same facts are printed as text.

exit status: 0; 2 where the screen broke.
"""

from __future__ import annotations

import argparse
import os
import sys

from ibkit.cli.output import note, progress
from ibkit.errors import EXIT_OK, EXIT_USAGE, IbkitError
from ibkit.sources.opening import open_site, recording_of

OUTPUTS = ()
#: The pages, and what the theme is called; a test holds these equal to the lists in ibkit.tui, which cost an import.
PAGES = (
    "overview", "fabric", "counters", "host", "subnet", "resolve", "jobs", "findings", "problems", "links",
)  # fmt: skip
THEMES = ("dark", "light", "colour-blind", "mono")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``ibkit tui``."""
    parser.add_argument(
        "screen", nargs="?", choices=PAGES, default=PAGES[0], metavar="SCREEN", help=f"{', '.join(PAGES)}"
    )
    parser.add_argument(
        "--interval", type=seconds, default=30.0, metavar="SECONDS",
        help="how often a live view reads anew (default 30; 0: on the key r only)",
    )  # fmt: skip
    parser.add_argument("--theme", choices=THEMES, default=THEMES[0], help="colours; NO_COLOR chooses mono")
    parser.add_argument(
        "--no-mouse", action="store_true", help="leave the mouse to the terminal, so that it selects text"
    )


def seconds(text: str) -> float:
    """A number of seconds up to a day; argparse names this function where it is none."""
    value = float(text)
    if not 0 <= value <= 86_400:
        raise ValueError
    return value


def run(args: argparse.Namespace) -> int:
    """Show the screen, or print it."""
    if not is_interactive():
        return _print(args)
    try:
        from ibkit.tui.collecting import Collecting
        from ibkit.tui.start import Crashed, show
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("textual", "rich"):
            raise
        raise IbkitError(
            f"ibkit tui needs textual, which is not installed here ({error}): pip install 'textual>=8.2,<9'; "
            "`ibkit tui | cat` shows the same facts without it"
        ) from error
    collecting = Collecting()
    site = open_site(args.from_path, tick=collecting.tick)
    try:
        return show(
            site, collecting, page=args.screen, interval_seconds=args.interval, theme=args.theme,
            mouse=not args.no_mouse, recording=recording_of(args.from_path) if args.from_path else None,
        )  # fmt: skip
    except Crashed as crash:
        for line in str(crash).splitlines():
            note(line)
        return EXIT_USAGE


def is_interactive() -> bool:
    """Whether there is a terminal to draw on. textual draws on stderr and reads stdin; a piped stdout wants text."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return os.environ.get("TERM", "dumb") != "dumb" and all(
        stream is not None and stream.isatty() for stream in streams
    )


def _print(args: argparse.Namespace) -> int:
    from ibkit.tui.plain import report
    from ibkit.tui.snapshot import read_all

    has_terminal = sys.stderr is not None and sys.stderr.isatty()
    site = open_site(args.from_path, tick=progress if has_terminal else None)
    for line in report(read_all(site), args.screen):
        print(line)
    return EXIT_OK
