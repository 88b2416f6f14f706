"""``ibkit``: find the command, import its module alone, run it, turn errors into one line and an exit status."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys

from ibkit import __version__
from ibkit.errors import EXIT_USAGE, IbkitError
from ibkit.parsers.records import NamedTuple


class Command(NamedTuple):
    """A sub-command: its module below ibkit.cli has ``OUTPUTS``, ``add_arguments(parser)`` and ``run(args)``."""

    name: str
    help: str
    module: str


COMMANDS = (
    Command("doctor", "what ibkit can and cannot see on this host, and how to mend it", "doctor"),
    Command("status", "HCAs, ports, GIDs and P_Keys of the host", "status"),
    Command("fabric", "switches, HCAs and links of the subnet", "fabric"),
    Command("sm", "subnet managers", "sm"),
    Command("counters", "traffic and error counters of every port", "counters"),
    Command("consumers", "which processes and kernel services use the RDMA devices", "consumers"),
    Command("check-mpi-transport", "did the ranks of a job really use InfiniBand?", "check_mpi_transport"),
    Command("tui", "all of it on one screen, live or replayed", "tui"),
    Command("capture", "record what this host and its subnet say, to replay it elsewhere", "capture"),
    Command("parse", "show what a parser reads in a tool's output", "parse"),
)

_EPILOG = """commands:
{commands}

exit status: 0 as it should be, 1 a finding or a fall-back, 2 wrong usage or
unreadable input, 3 cannot be decided.
`ibkit COMMAND --help` tells the rest."""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that has no letters for a node's name
    try:
        args = _parse(sys.argv[1:] if argv is None else argv)
        status: int = args.run(args)
        sys.stdout.flush()
    except IbkitError as error:
        from ibkit.display import clean

        print(f"ibkit: {clean(str(error), 2000)}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print("ibkit: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _forget_stdout()  # the reader (`head`) has what it wanted
        return 141
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        _forget_stdout()
        print(f"ibkit: the output could not be written: {error.strerror}", file=sys.stderr)
        return EXIT_USAGE
    return status


def _forget_stdout() -> None:
    """What is still to be written would make the interpreter complain at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(argv: list[str]) -> argparse.Namespace:
    top = argparse.ArgumentParser(
        prog="ibkit",
        description="InfiniBand and RDMA fabric diagnostics.",
        usage="ibkit [--from PATH] COMMAND [--json | --csv] ...",
        epilog=_EPILOG.format(commands="\n".join(f"  {c.name:<20} {c.help}" for c in COMMANDS)),
        formatter_class=_formatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"ibkit {__version__}")
    top.add_argument(
        "--from", dest="from_path", metavar="PATH", help="a capture, or one tool's raw output, instead of this host"
    )
    top.add_argument("command", nargs="?", metavar="COMMAND", help="one of those below")
    top.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = top.parse_args(argv)
    if given.command is None:
        top.print_help(sys.stderr)
        raise SystemExit(EXIT_USAGE)
    command = next((c for c in COMMANDS if c.name == given.command), None)
    if command is None:
        top.error(f"unknown command {given.command!r}; `ibkit --help` lists them")
    module = importlib.import_module(f"ibkit.cli.{command.module}")
    parser = argparse.ArgumentParser(
        prog=f"ibkit {command.name}", description=module.__doc__, allow_abbrev=False,
        formatter_class=_formatter,
    )  # fmt: skip
    parser.set_defaults(run=module.run, from_path=given.from_path)
    parser.add_argument(
        "--from", dest="from_path", metavar="PATH", default=given.from_path,
        help="a capture, or one tool's raw output, instead of this host",
    )  # fmt: skip
    # Without any of them there is no group: argparse cannot print the usage of an empty one.
    outputs = parser.add_mutually_exclusive_group() if module.OUTPUTS else parser
    for output in module.OUTPUTS:
        outputs.add_argument(f"--{output}", action="store_true", help=f"print {output.upper()}, see docs/json.md")
    module.add_arguments(parser)
    args = parser.parse_args(given.rest)
    for output in ("json", "csv"):
        setattr(args, output, getattr(args, output, False))
    return args


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Texts keep their line breaks. A fixed width, because asking for the terminal's imports shutil, on every start."""
    return argparse.RawDescriptionHelpFormatter(prog, width=79)


if __name__ == "__main__":
    raise SystemExit(main())
