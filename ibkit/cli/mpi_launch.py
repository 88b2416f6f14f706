"""check-mpi-transport runs the job itself, and looks at it while it runs."""

from __future__ import annotations

import argparse
import os
import sys
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
    stdout, stderr = _Writer(sys.stderr if args.json or args.csv else sys.stdout), _Writer(sys.stderr)
    ended = launch(ready.argv, ready.variables, stdout, stderr, watcher.start)
    if stderr.is_amid_line or stdout.is_amid_line:
        print(file=sys.stderr)  # what is told now begins a line of its own
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


class _Writer:
    """Writes bytes, as they are, at once, behind what was printed before."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_beside_stderr = stream is sys.stderr or stream.isatty()
        #: Whether what stderr gets now goes on with an open line of the job's.
        self.is_amid_line = False

    def __call__(self, data: bytes) -> None:
        self._stream.flush()
        self._stream.buffer.write(data)
        self._stream.buffer.flush()
        self.is_amid_line = self._is_beside_stderr and not data.endswith(b"\n")
