"""check-mpi-transport looks at running processes (``pid:N``, ``slurm:JOBID``, ``running``), live or in captures."""

from __future__ import annotations

import argparse
import os

from ibkit.cli.mpi_answer import tell
from ibkit.cli.output import note, origin_line
from ibkit.display import clean
from ibkit.errors import IbkitError
from ibkit.sources.opening import open_site
from ibkit.sources.site import Site

_MAX_WINDOW_SECONDS = 3600
SHORTEST_WINDOW_SECONDS = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options for running jobs."""
    group = parser.add_argument_group("running jobs (pid:N, slurm:JOBID, running)")
    group.add_argument(
        "--window", type=float, metavar="SECONDS", help="how long they are watched (4; longer for more than 32 ranks)"
    )
    group.add_argument(
        "--hosts", metavar="NODES", help="look there, too, over ssh: n[01-16]; `job`: the nodes of slurm:JOBID"
    )
    group.add_argument("--rsh", metavar="COMMAND", help="what runs ibkit on another host (ssh -o BatchMode=yes)")


def is_running(args: argparse.Namespace) -> bool:
    """Whether the target names running processes; a file of that name is a log. Raises IbkitError for lone --hosts."""
    from ibkit.collectors.ranks import LIKE_TARGET, TARGET

    is_file = bool(args.target) and os.path.exists(args.target)
    is_one = bool(args.target and TARGET.fullmatch(args.target)) and not is_file
    if args.target and args.target.startswith(LIKE_TARGET) and not is_one and not is_file:
        raise IbkitError(
            f"{args.target}: neither a running job nor a file; pid:4711 is the number of a process, slurm:4711, "
            "slurm:4711.0 and slurm:4711_3 are a Slurm job, one of its steps and a task of an array"
        )
    if args.hosts is not None and (not is_one or args.from_path is not None):
        raise IbkitError("--hosts is for running jobs: ibkit check-mpi-transport slurm:JOBID --hosts 'n[01-16]'")
    return is_one


def look(args: argparse.Namespace) -> int:
    """Judge running processes from two samples of their hosts."""
    checked_window(args.window)
    if args.from_path is not None:
        site = open_site(args.from_path)
        note(origin_line(site.origin))
        return look_back(args, site)
    if args.hosts is not None:
        return _gather(args)
    from ibkit.collectors.everything import watch_live
    from ibkit.transport.live.verdict import judge_watches

    watched, _ = watch_live(open_site(None), args.target, args.window, _announce)
    return tell(args, judge_watches(args.target, [watched]))


def look_back(args: argparse.Namespace, site: Site) -> int:
    """Judge the running job that one or several hosts' captures hold."""
    watched = [host for host in site.hosts if host.watched]
    targets = {host.watched.target for host in watched if host.watched}
    if not watched or (args.target and targets != {args.target}):
        held = f"it holds {clean(', '.join(sorted(targets)))}" if targets else "record one with ibkit capture --watch"
        raise IbkitError(f"{args.target}: the capture is one moment and holds no window of it; {held}")
    target = targets.pop() if len(targets) == 1 else site.origin.label
    from ibkit.transport.live.hosts import judge_recorded

    return tell(args, judge_recorded(target, watched))


def checked_window(seconds: float | None) -> float:
    """A window of the command line, or the shortest that is worth a look. Raises IbkitError."""
    if seconds is None:
        return SHORTEST_WINDOW_SECONDS
    if not 0 < seconds <= _MAX_WINDOW_SECONDS:
        raise IbkitError(f"--window: seconds, more than 0 and at most {_MAX_WINDOW_SECONDS}")
    return seconds


def _gather(args: argparse.Namespace) -> int:
    """Judge what all hosts see."""
    from ibkit.transport.live.hosts import RSH, judge_on_hosts

    (here,) = open_site(None).hosts
    rsh = RSH if args.rsh is None else args.rsh
    return tell(args, judge_on_hosts(here.source, args.target, args.hosts, rsh, args.window, _tell))


def _tell(text: str) -> None:
    note(clean(text, 500))


def _announce(ranks: dict[int, int | None], window: float) -> None:
    """Who is watched, and for how long."""
    first = list(ranks.items())[:8]
    told = ", ".join(f"{pid}" if rank is None else f"{pid} (rank {rank})" for pid, rank in first)
    note(f"processes {told}{' ...' if len(ranks) > 8 else ''}: what they move in {window:g} s")
