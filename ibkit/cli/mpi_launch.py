"""check-mpi-transport runs the job itself, and looks at it while it runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import TextIO

from ibkit.cli.mpi_answer import tell
from ibkit.cli.output import note
from ibkit.display import clean
from ibkit.errors import EXIT_UNDECIDED, IbkitError
from ibkit.sources.opening import open_site


def launch_job(args: argparse.Namespace) -> int:
    """Run the job, then judge it. Its failure is more than any verdict."""
    from ibkit.cli.mpi_live import checked_window
    from ibkit.sources.launched import launch
    from ibkit.transport.launched_steps import with_own_steps
    from ibkit.transport.launching import command_for, judge_launched, prepare
    from ibkit.transport.log_and_live import joined
    from ibkit.transport.watching import Watcher

    if args.from_path is not None:
        raise IbkitError("--from and a job to be launched exclude each other: a capture starts nothing")
    window = checked_window(args.window)
    (host,) = open_site(None).hosts
    environment = dict(os.environ)
    argv = args.launched if args.launched is not None else command_for(host.source, args.target, environment)
    if not argv:
        raise IbkitError("a command must follow `--`: ibkit check-mpi-transport -- mpirun -np 2 ./a.out")
    ready = prepare(host.source, argv, environment)
    watcher = Watcher(host, window)
    note(f"running {clean(' '.join(ready.argv), 400)}")
    note(f"added to its environment: {' '.join(f'{name}={value}' for name, value in ready.variables.items()) or '-'}")
    if ready.kept:
        note(f"left as you have set it, so that lines may be missing: {' '.join(ready.kept)}")
    stdout = _writer(sys.stderr if args.json or args.csv else sys.stdout)
    ended = launch(ready.argv, ready.variables, stdout, _writer(sys.stderr), watcher.start)
    target = args.target or " ".join(argv)
    seen = watcher.end(target)
    if ended.output_lost is not None:
        raise ended.output_lost
    try:
        answer = joined(judge_launched(target, argv, ready, ended, environment, host), seen, watcher.ranks())
        answer = with_own_steps(answer, ready, ended.exit_status, seen)
        status = tell(args, answer, for_people=sys.stderr)
    except IbkitError as error:
        if not ended.exit_status:
            raise
        note(clean(str(error), 2000))
        status = EXIT_UNDECIDED
    if ended.exit_status:
        note(f"the job ended with exit status {ended.exit_status}, and so does this")
        return ended.exit_status
    return status


def _writer(stream: TextIO) -> Callable[[bytes], None]:
    """Bytes, as they are, at once, behind what was printed before."""

    def write(data: bytes) -> None:
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()

    return write
