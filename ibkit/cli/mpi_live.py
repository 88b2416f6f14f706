"""check-mpi-transport looks at running processes: ``pid:N``, ``slurm:JOBID``."""

from __future__ import annotations

import argparse
import re

from ibkit.cli.mpi_answer import tell
from ibkit.cli.output import note
from ibkit.errors import IbkitError
from ibkit.sources.opening import open_site


def look(args: argparse.Namespace) -> int:
    """Judge running processes from two samples of their host."""
    import time

    from ibkit.collectors.ranks import ranks_of_process, ranks_of_slurm_job, sample
    from ibkit.transport.live import judge_samples

    if args.from_path is not None:
        raise IbkitError(f"{args.target}: a capture is one moment; running processes are looked at on their host")
    kind, _, name = args.target.partition(":")
    if not re.fullmatch(r"[0-9]{1,10}" if kind == "pid" else r"[0-9]{1,10}(?:[._+][0-9a-z]{1,10})?", name):
        raise IbkitError(f"{args.target}: not a number of a {'process' if kind == 'pid' else 'job'}")
    if not 0 < args.window <= 3600:
        raise IbkitError("--window: seconds, more than 0 and at most 3600")
    (host,) = open_site(None).hosts
    found = ranks_of_process(host.source, int(name)) if kind == "pid" else ranks_of_slurm_job(host.source, name)
    first = list(found.ranks.items())[:8]
    told = ", ".join(f"{pid}" if rank is None else f"{pid} (rank {rank})" for pid, rank in first)
    note(f"processes {told}{' ...' if len(found.ranks) > 8 else ''}: what they move in {args.window:g} s")
    before = sample(host.source, host.name)
    time.sleep(args.window)
    return tell(args, judge_samples(args.target, host, found, before, sample(host.source, host.name)))
