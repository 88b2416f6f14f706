"""Record what this host and its subnet say, as a folder or a .tar.gz, to replay it elsewhere with --from.

Nothing is changed on the host or in the subnet. A capture holds names, addresses and GUIDs as they are, unless you
--anonymise it. With --from an older capture, or a tool's output, is taken over.

exit status: 0 the capture was written, whatever it could or could not see; 2 it could not be written.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ibkit.cli.output import note, print_problems, print_table, site_of
from ibkit.collectors.everything import record_site
from ibkit.display import counted
from ibkit.errors import EXIT_OK, IbkitError
from ibkit.parsers.base import Problem
from ibkit.sources.base import CommandAnswer
from ibkit.sources.job import open_job
from ibkit.sources.processes import signals_raise
from ibkit.sources.recording import RecordingSource
from ibkit.sources.site import Site
from ibkit.sources.writer import Recorded, check_target, pack, write_capture

OUTPUTS = ()
#: A tool that was run more often has one row for all: each switch is asked for its forwarding table.
MAX_ROWS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where it goes, and what comes with it."""
    parser.add_argument(
        "-o", "--output", metavar="PATH", required=True, help="a new folder, or a new .tar.gz; -: a .tar.gz on stdout"
    )
    parser.add_argument("--job", metavar="PATH", help="a job's log, or the folder of its logs, to put in as well")
    parser.add_argument(
        "--watch",
        metavar="JOB",
        help="a running job (pid:N, slurm:JOBID, running): what check-mpi-transport needs of it here, and no more",
    )
    parser.add_argument(
        "--window", type=float, metavar="SECONDS", help="how long --watch watches them (4; longer for many ranks)"
    )
    parser.add_argument(
        "--anonymise", action="store_true", help="replace names, addresses and GUIDs; the diagnosis stays the same"
    )
    parser.add_argument("--note", metavar="TEXT", help="what a reader should know, such as what was wrong")


def run(args: argparse.Namespace) -> int:
    """Record, write, tell what the capture holds."""
    to_stdout = args.output == "-"
    if not to_stdout:
        check_target(args.output)
    elif sys.stdout.isatty():
        raise IbkitError("-o -: a .tar.gz is nothing for a terminal; redirect it")
    job = open_job(args.job) if args.job else ()
    with signals_raise():
        site = site_of(args.from_path)
        recorded, problems = _watched(args, site) if args.watch else record_site(site, note)
        recorded = recorded._replace(job=(*recorded.job, *job), note=args.note or recorded.note)
        if args.anonymise:
            recorded = _anonymised(recorded)
        if to_stdout:
            pack(sys.stdout.buffer, "capture", recorded)
        else:
            write_capture(args.output, recorded)
    if not to_stdout:
        _print(recorded)
    print_problems(dict.fromkeys(problems))
    note(f"written to {'stdout' if to_stdout else args.output}")
    return EXIT_OK


def _watched(args: argparse.Namespace, site: Site) -> tuple[Recorded, Sequence[Problem]]:
    """A running job between two samples."""
    from ibkit.cli.mpi_live import checked_window
    from ibkit.collectors.everything import watch_live
    from ibkit.collectors.ranks import TARGET

    if args.from_path is not None or args.job:
        raise IbkitError("--watch looks at processes of this host: it goes neither with --from nor with --job")
    if not TARGET.fullmatch(args.watch):
        raise IbkitError(f"{args.watch}: pid:N, slurm:JOBID or running")
    checked_window(args.window)
    watch, recorded = watch_live(
        site,
        args.watch,
        args.window,
        lambda pids, seconds: note(f"watching {counted(len(pids), 'process', 'processes')} for {seconds:g} s"),
    )
    return recorded, watch.problems


def _anonymised(recorded: Recorded) -> Recorded:
    """With a key that nobody keeps."""
    import secrets

    from ibkit.sources.anonymise import anonymised

    note("replacing names and addresses; read what is left before you give it away")
    return anonymised(recorded, secrets.token_bytes(32))


def _print(recorded: Recorded) -> None:
    print_table(("COMMAND", "ON", "EXIT", "SECONDS", "BYTES"), _command_rows(recorded))
    print()
    print_table(("READ", "ON", "COUNT"), _count_rows(recorded))


def _sources(recorded: Recorded) -> Iterator[tuple[str, RecordingSource]]:
    yield from recorded.hosts
    yield "subnet", recorded.subnet


def _command_rows(recorded: Recorded) -> Iterator[Sequence[Any]]:
    for where, source in _sources(recorded):
        if source.text is not None:
            yield source.text.path, where, "saved", "", len(source.text.data)
        by_tool: dict[str, list[CommandAnswer]] = {}
        for answer in source.commands.values():
            by_tool.setdefault(answer.argv[0], []).append(answer)
        for tool, answers in by_tool.items():
            if len(answers) > MAX_ROWS:
                ends = ", ".join(dict.fromkeys(str(_ended(answer)) for answer in answers))
                size = sum(len(answer.stdout) for answer in answers)
                yield f"{tool} ({len(answers)} times)", where, ends, f"{sum(one.seconds for one in answers):.1f}", size
                continue
            for answer in answers:
                yield answer.command, where, _ended(answer), f"{answer.seconds:.1f}", len(answer.stdout)


def _ended(answer: CommandAnswer) -> Any:
    return answer.exit_status if answer.failure is None else answer.failure


def _count_rows(recorded: Recorded) -> Iterator[Sequence[Any]]:
    for where, source in _sources(recorded):
        for what, answers in (("files", source.files), ("folders", source.folders)):
            for error, count in sorted(Counter(answer.error or "" for answer in answers.values()).items()):
                yield f"{what}{f' not read: {error}' if error else ''}", where, count
        if source.verbs_answer is not None:
            yield "verbs" if source.verbs_answer.error is None else "verbs not read", where, 1
        if source.exchanges:
            yield "requests to services", where, len(source.exchanges)
    if recorded.job:
        yield "logs", "job", len(recorded.job)
