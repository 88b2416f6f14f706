"""All of it on one screen, live or replayed: fabric, counters, hosts, subnet, addresses, jobs, findings.

On a terminal this is an application: `?` lists its keys, `q` leaves it. Without a terminal (a pipe, CI, TERM=dumb)
the same facts are printed as text. --serve shows it in a browser on this host, where it only reads.

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
    parser.add_argument(
        "--expect", metavar="FILE", help="expectations to compare with, limits and waivers (ibkit expect)"
    )
    parser.add_argument("--theme", choices=THEMES, default=THEMES[0], help="colours; NO_COLOR chooses mono")
    parser.add_argument(
        "--no-mouse", action="store_true", help="leave the mouse to the terminal, so that it selects text"
    )
    parser.add_argument("--read-only", action="store_true", help="offer nothing that writes a file")
    parser.add_argument(
        "--serve", nargs="?", type=port, const=0, metavar="PORT",
        help="show it in a browser on this host, read-only: prints the address, which holds a secret; without PORT a "
        "free one. Needs ibkit[serve]",
    )  # fmt: skip


def seconds(text: str) -> float:
    """A number of seconds up to a day; argparse names this function where it is none."""
    value = float(text)
    if not 0 <= value <= 86_400:
        raise ValueError
    return value


def port(text: str) -> int:
    """A TCP port that needs no privilege, or 0; argparse names this function where it is none."""
    value = int(text)
    if value != 0 and not 1024 <= value <= 65_535:
        raise ValueError
    return value


def run(args: argparse.Namespace) -> int:
    """Show the screen, or print it."""
    if args.expect:
        from ibkit.rules.expectation_file import read_expectations

        read_expectations(args.expect)  # what is wrong in it is told now, with its line
    if args.serve is not None:
        return _serve(args)
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
            mouse=not args.no_mouse, read_only=args.read_only,
            recording=recording_of(args.from_path) if args.from_path else None,
            expect=args.expect,
        )  # fmt: skip
    except Crashed as crash:
        for line in str(crash).splitlines():
            note(line)
        return EXIT_USAGE


def is_interactive() -> bool:
    """Whether there is a terminal to draw on. textual draws on stderr and reads stdin; a piped stdout wants text."""
    if os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver"):  # what `--serve` starts for a visitor
        return True
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return os.environ.get("TERM", "dumb") != "dumb" and all(
        stream is not None and stream.isatty() for stream in streams
    )


def _serve(args: argparse.Namespace) -> int:
    """Start a screen for each visitor until somebody ends it."""
    try:
        from ibkit.tui.serving import screen_command, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("aiohttp", "textual_serve", "textual", "rich"):
            raise
        raise IbkitError(
            f"ibkit tui --serve needs textual-serve, which is not installed here ({error}): "
            f"{sys.executable} -m pip install 'ibkit[serve]'"
        ) from error
    options = ["--interval", str(args.interval), "--theme", args.theme]
    if args.expect:
        options += ["--expect", args.expect]
    if args.from_path:
        open_site(args.from_path)  # what cannot be read is told here, not to each visitor
        options += ["--from", args.from_path]

    def ready(address: str, number: int) -> None:
        print(address, flush=True)
        note("read-only; whoever has this address may look. ctrl+c ends it. From another machine:")
        note(f"ssh -L {number}:127.0.0.1:{number} {os.uname().nodename}, and the same address there")

    try:
        serve(screen_command([*options, args.screen]), args.serve, "ibkit tui", ready)
    except OSError as error:
        raise IbkitError(f"port {args.serve} of 127.0.0.1: {error.strerror}; name another one, or none") from error
    return EXIT_OK


def _print(args: argparse.Namespace) -> int:
    from ibkit.tui.plain import report
    from ibkit.tui.snapshot import read_all

    has_terminal = sys.stderr is not None and sys.stderr.isatty()
    site = open_site(args.from_path, tick=progress if has_terminal else None)
    for line in report(read_all(site, args.expect), args.screen):
        print(line)
    return EXIT_OK
