"""``ibkit``: find the command, import its module alone, run it, turn errors into one line and an exit status."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from ibkit import __version__, streams
from ibkit.errors import EXIT_USAGE, IbkitError
from ibkit.parsers.erased import Any
from ibkit.parsers.records import NamedTuple

#: Set it, and a defect raises instead of being told in two lines: for those who look for it, and for tests.
DEBUG_VARIABLE = "IBKIT_DEBUG"


class Command(NamedTuple):
    """A sub-command: its module below ibkit.cli has ``OUTPUTS``, ``add_arguments(parser)`` and ``run(args)``.

    ``launches``: what stands behind ``--`` is the command line of another program, and becomes ``args.launched``.
    """

    name: str
    help: str
    module: str
    launches: bool = False


COMMANDS = (
    Command("doctor", "what ibkit can and cannot see on this host, and how to mend it", "doctor"),
    Command("status", "HCAs, ports, GIDs and P_Keys of the host", "status"),
    Command("fabric", "switches, HCAs and links of the subnet", "fabric"),
    Command("sm", "subnet managers", "sm"),
    Command("partitions", "P_Key tables, and who can talk to whom", "partitions"),
    Command("path", "the way from A to B through the forwarding tables, and whether they can talk", "path"),
    Command("diff", "what changed between two captures, or since one", "diff"),
    Command("graph", "a picture of the fabric, for Graphviz and its kin", "graph"),
    Command("counters", "traffic and error counters of every port", "counters"),
    Command("check", "what is wrong with hosts and fabric, worst first", "check"),
    Command("expect", "write down what the fabric should be like, for check", "expect"),
    Command("consumers", "which processes and kernel services use the RDMA devices", "consumers"),
    Command("resolve", "address or name to GID, P_Key and path, from every source that knows it", "resolve"),
    Command("cache", "the cache of addresses: show, fill, check, give it to ibacm", "cache"),
    Command("check-mpi-transport", "did the ranks of a job really use InfiniBand?", "check_mpi_transport", True),
    Command("tui", "all of it on one screen, live or replayed", "tui"),
    Command("capture", "record what this host and its subnet say, to replay it elsewhere", "capture"),
    Command("record", "record again and again into one file, to look back", "record"),
    Command("parse", "show what a parser reads in a tool's output", "parse"),
)

_EPILOG = """commands:
{commands}

exit status: 0 as it should be, 1 a finding or a fall-back, 2 wrong usage or
unreadable input, 3 cannot be decided.
`ibkit COMMAND --help` tells the rest."""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    try:
        put_back = streams.take()
    except streams.OutputLost as error:
        return _leave(str(error))
    try:
        return _guarded(argv)
    finally:
        put_back()


def _guarded(argv: list[str] | None) -> int:
    """Whatever ends a command early is a line on stderr and an exit status that no answer has."""
    try:
        return _run(argv)
    except IbkitError as error:
        from ibkit.display import clean

        return _leave(clean(str(error), 2000))
    except KeyboardInterrupt:
        streams.forget_stdout()
        return _leave("interrupted", status=130)
    except BrokenPipeError:
        return 141  # the reader (`head`) has what it wanted
    except MemoryError:
        streams.forget_stdout()
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        streams.forget_stdout()  # half an answer would pass for a whole one
        return _leave(*_defect(error))
    # Only here is the memory free that the failed command held.
    return _leave("not enough memory for this input; give it more (ulimit -v, the job's or container's limit)")


def _run(argv: list[str] | None) -> int:
    try:
        args = _parse(sys.argv[1:] if argv is None else argv)
        status: int = args.run(args)
    except SystemExit:
        sys.stdout.flush()  # --help
        raise
    sys.stdout.flush()
    return status


def _defect(error: Exception) -> Sequence[str]:
    """What an exception that nobody expected is told as; one of the system itself is mostly no defect of ibkit."""
    if isinstance(error, OSError) and error.strerror:
        return (f"{error.filename}: {error.strerror}" if error.filename else f"the system says: {error.strerror}",)
    from ibkit.crash import farewell

    return farewell(error, "something broke")


def _leave(*lines: str, status: int = EXIT_USAGE) -> int:
    for line in lines:
        print(f"ibkit: {line}", file=sys.stderr)
    return status


class _Once(argparse.Action):
    """An option whose second value would silently take the place of the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest, None) is not None:
            name = option_string
            parser.error(f"{name} is given twice; the captures of several hosts go into one folder: {name} FOLDER")
        setattr(namespace, self.dest, values)


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
        "--from", dest="from_path", metavar="PATH", action=_Once,
        help="a capture, or one tool's raw output, instead of this host",
    )  # fmt: skip
    top.add_argument("command", nargs="?", metavar="COMMAND", help="one of those below")
    top.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    argv, launched = _without_launched(argv)
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
    parser.set_defaults(run=module.run, from_path=given.from_path, launched=launched)
    parser.add_argument(
        "--from", dest="from_path", metavar="PATH", action=_Once, default=given.from_path,
        help="a capture, or one tool's raw output, instead of this host",
    )  # fmt: skip
    # Without any of them there is no group: argparse cannot print the usage of an empty one.
    outputs = parser.add_mutually_exclusive_group() if module.OUTPUTS else parser
    for output in module.OUTPUTS:
        outputs.add_argument(f"--{output}", action="store_true", help=f"print {output.upper()}, see docs/json.md")
    module.add_arguments(parser)
    args, unknown = parser.parse_known_args(given.rest)
    if unknown:
        hint = f"; a command line to be run stands behind --: ibkit {command.name} -- mpirun ... PROGRAM ARGUMENTS"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint if command.launches else ''}")
    for output in ("json", "csv"):
        setattr(args, output, getattr(args, output, False))
    return args


def _without_launched(argv: list[str]) -> tuple[list[str], list[str] | None]:
    """The arguments before ``--`` and the command line behind it, where a command takes one: argparse, whose ways with
    ``--`` differ from version to version, does not see it.
    """
    place = argv.index("--") if "--" in argv else len(argv)
    if place < len(argv) and any(command.launches and command.name in argv[:place] for command in COMMANDS):
        return argv[:place], argv[place + 1 :]
    return argv, None


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Texts keep their line breaks. A fixed width, because asking for the terminal's imports shutil, on every start."""
    return argparse.RawDescriptionHelpFormatter(prog, width=79)


if __name__ == "__main__":
    raise SystemExit(main())
