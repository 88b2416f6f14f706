"""Did the ranks of a job really use InfiniBand? Reads the job's own output: a log or several, a folder, standard input
(-), or the job in a capture (--from CAPTURE without a target).

Or runs the job itself:

  ibkit check-mpi-transport [NAME] -- mpirun -np 2 ./a.out ...
  ibkit check-mpi-transport ./a.out                with the mpirun of its MPI

or looks at running processes: pid:N (a rank or its launcher), slurm:JOBID, running (all jobs of this host); with
--hosts also on other hosts. `ibkit capture --watch pid:N` records such a look, for --from CAPTURE, or a folder of them.

A launched job's output is passed through, the verdict comes after it, on stderr; with --json or --csv that is on
stdout, and all of the job's output on stderr. Where the job's exit status is not 0 it is ibkit's, too.

verdict: ib, roce, iwarp, rdma (verbs, link layer not shown), opa, efa, slingshot, ipoib, tcp, shm (one host), mixed,
none (no data path was established) or unknown. docs/check-mpi-transport.md says what each one stands on.

exit status: 0 as expected; 1 a fall-back, TCP by configuration, a mixture or an abort; 2 unreadable input;
3 not decided: the answer says what to add to the next run. With --require it is that of the requirement.
"""

from __future__ import annotations

import argparse
import os

from ibkit.cli import mpi_live
from ibkit.cli.mpi_answer import LIST, explain, tell
from ibkit.cli.output import note, origin_line
from ibkit.errors import IbkitError
from ibkit.sources.opening import open_site
from ibkit.transport.require import WORDS

OUTPUTS = ("json", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The target."""
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="a log, a folder of logs, - for standard input, a program to launch, pid:N, slurm:JOBID, running",
    )
    parser.add_argument("more", nargs="*", metavar="LOG", help="more logs and folders of the same job")
    parser.add_argument(
        "--require",
        choices=WORDS,
        help="exit status 0 only if all that went between hosts was this (rdma: ib, roce or iwarp), all was read and "
        "no rank was silent; 1 if not, or the job aborted; 3 if that is not known or nothing did; for prologs and CI",
    )
    parser.add_argument(
        "--explain",
        nargs="?",
        const=LIST,
        metavar="ID",
        help="tell what a reason means (`all`: each of them), and end; without ID list them; it goes with --json alone",
    )
    mpi_live.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Judge the job, print the answer and return the exit status."""
    if args.explain is not None:
        return explain(args)
    from ibkit.transport.logs.job import Job, is_program, job_of_site, open_jobs
    from ibkit.transport.logs.verdict import judge

    if args.more:
        _check_named_together(args)
    if args.launched is not None or (args.target and args.from_path is None and is_program(args.target)):
        from ibkit.cli.mpi_launch import launch_job

        return launch_job(args)
    if mpi_live.is_running(args):
        return mpi_live.look(args)
    job: Job
    if args.from_path is None:
        if args.target is None:
            raise IbkitError("name a log, a folder of logs, - for standard input, or a capture with --from")
        job = open_jobs((args.target, *args.more))
    else:
        site = open_site(args.from_path)
        note(origin_line(site.origin))
        if args.target is None and not site.job and any(host.watched for host in site.hosts):
            return mpi_live.look_back(args, site)
        targets = (args.target, *args.more)
        job = job_of_site(site) if args.target is None else open_jobs(targets)._replace(hosts=site.hosts)
    return tell(args, judge(job))


def _check_named_together(args: argparse.Namespace) -> None:
    """Several names are logs, folders and host files, all of them there. Raises IbkitError."""
    from ibkit.transport.logs.job import is_program

    if "-" in (args.target, *args.more):
        raise IbkitError("- stands alone: what else the job has printed goes into the same pipe, or into files")
    missing = [path for path in (*args.more, args.target) if not os.path.exists(path)]
    if args.launched is not None or args.target in missing or is_program(args.target):
        raise IbkitError(
            f"{(missing or args.more)[0]}: only logs that are there are named together; a command line to be run "
            "stands behind --: ibkit check-mpi-transport -- mpirun ... PROGRAM ARGUMENTS"
        )
    if missing:
        raise IbkitError(f"{missing[0]}: No such file or directory")
