"""Did the ranks of a job really use InfiniBand? Reads the job's own output: a log, a folder, standard input (-), or the
job in a capture (--from CAPTURE without a target).

Or runs the job itself:

  ibkit check-mpi-transport [NAME] -- mpirun -np 2 ./a.out ...
  ibkit check-mpi-transport ./a.out                with the mpirun of its MPI

or looks at running processes of this host: pid:N (a rank or its launcher), slurm:JOBID.

A launched job's output is passed through, the verdict comes after it, on stderr; with --json or --csv that is on
stdout, and all of the job's output on stderr. Where the job's exit status is not 0 it is ibkit's, too.

verdict: ib, roce, iwarp, rdma (verbs, link layer not shown), opa, efa, slingshot, ipoib, tcp, shm (one host), mixed,
none (no data path was established) or unknown. docs/check-mpi-transport.md says what each one stands on.

exit status: 0 as expected; 1 a fall-back, TCP by configuration, a mixture or an abort; 2 unreadable input;
3 not decided: the answer says what to add to the next run.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TextIO

from ibkit.cli.output import note, origin_line, print_csv, print_json, print_problems
from ibkit.display import clean
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, IbkitError
from ibkit.export.mpi import COLUMNS, mpi_document, mpi_rows
from ibkit.export.mpi_sentence import LAYERS, sentence
from ibkit.model.mpi import Evidence, JobVerdict, Layer, Pair
from ibkit.sources.opening import open_site

OUTPUTS = ("json", "csv")

_EXIT_OF = {"as-expected": EXIT_OK, "undecided": EXIT_UNDECIDED}
#: So many pairs, and lines of evidence, are shown to people; --json has all.
_SHOWN_PAIRS = 12
_SHOWN_EVIDENCE = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The target."""
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="a log, a folder of logs, - for standard input, a program to launch, pid:N, slurm:JOBID",
    )
    parser.add_argument(
        "--window", type=float, default=2.0, metavar="SECONDS", help="how long running processes are watched (2)"
    )


def run(args: argparse.Namespace) -> int:
    """Judge the job, print the answer and return the exit status."""
    from ibkit.transport.job import Job, is_program, job_of_site, open_job
    from ibkit.transport.verdict import judge

    if args.launched is not None or (args.target and args.from_path is None and is_program(args.target)):
        return _launch(args)
    if args.target and re.match(r"(?:pid|slurm):", args.target) and not os.path.exists(args.target):
        return _look(args)
    job: Job
    if args.from_path is None:
        if args.target is None:
            raise IbkitError("name a log, a folder of logs, - for standard input, or a capture with --from")
        job = open_job(args.target)
    else:
        site = open_site(args.from_path)
        note(origin_line(site.origin))
        job = job_of_site(site) if args.target is None else open_job(args.target)._replace(hosts=site.hosts)
    return _tell(args, judge(job))


def _tell(args: argparse.Namespace, answer: JobVerdict, *, for_people: TextIO | None = None) -> int:
    if args.json:
        print_json(mpi_document(answer))
    elif args.csv:
        print_csv(COLUMNS, mpi_rows(answer))
    else:
        for line in lines(answer):
            print(line, file=for_people)
    print_problems(answer.problems)
    return _EXIT_OF.get(answer.status, EXIT_FINDING)


def _launch(args: argparse.Namespace) -> int:
    """Run the job, then judge it. Its failure is more than any verdict."""
    from ibkit.sources.launched import launch
    from ibkit.transport.launching import command_for, judge_launched, prepare

    if args.from_path is not None:
        raise IbkitError("--from and a job to be launched exclude each other: a capture starts nothing")
    (host,) = open_site(None).hosts
    environment = dict(os.environ)
    argv = args.launched if args.launched is not None else command_for(host.source, args.target, environment)
    if not argv:
        raise IbkitError("a command must follow `--`: ibkit check-mpi-transport -- mpirun -np 2 ./a.out")
    ready = prepare(host.source, argv, environment)
    note(f"running {clean(' '.join(ready.argv), 400)}")
    note(f"added to its environment: {' '.join(f'{name}={value}' for name, value in ready.variables.items()) or '-'}")
    if ready.kept:
        note(f"left as you have set it, so that lines may be missing: {' '.join(ready.kept)}")
    stdout = _writer(sys.stderr if args.json or args.csv else sys.stdout)
    ended = launch(ready.argv, ready.variables, stdout, _writer(sys.stderr))
    if ended.output_lost is not None:
        raise ended.output_lost
    target = args.target or " ".join(argv)
    try:
        status = _tell(args, judge_launched(target, argv, ready, ended, environment, host), for_people=sys.stderr)
    except IbkitError as error:
        if not ended.exit_status:
            raise
        note(clean(str(error), 2000))
        status = EXIT_UNDECIDED
    if ended.exit_status:
        note(f"the job ended with exit status {ended.exit_status}, and so does this")
        return ended.exit_status
    return status


def _look(args: argparse.Namespace) -> int:
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
    return _tell(args, judge_samples(args.target, host, found, before, sample(host.source, host.name)))


def _writer(stream: TextIO) -> Callable[[bytes], None]:
    """Bytes, as they are, at once, behind what was printed before."""

    def write(data: bytes) -> None:
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()

    return write


def lines(answer: JobVerdict) -> Iterator[str]:
    """The answer for people: the verdict in one sentence first."""
    yield f"{clean(answer.target)}: {sentence(answer)}"
    evidence = {item.id: item for item in answer.evidence}
    for layer in answer.layers:
        yield ""
        yield _heading(layer)
        yield from _pairs(layer)
        for reason in layer.reasons:
            yield f"  reason {reason.id}: {reason.text}"
            yield f"    fix: {reason.fix}"
            yield from (f"    {place(evidence[id])}" for id in reason.evidence[:2] if id in evidence)
        if layer.next_step and layer.status == "undecided":
            yield f"  next step: {clean(layer.next_step, 600)}"
    if answer.evidence:
        yield ""
        yield "evidence:"
        for item in answer.evidence[:_SHOWN_EVIDENCE]:
            yield f"  [{item.evidence_class}] {place(item)}"
        if len(answer.evidence) > _SHOWN_EVIDENCE:
            yield f"  ... and {len(answer.evidence) - _SHOWN_EVIDENCE} more lines; --json lists all"
    if answer.next_step and not any(layer.next_step == answer.next_step for layer in answer.layers):
        yield ""
        yield f"next step: {clean(answer.next_step, 600)}"


def _heading(layer: Layer) -> str:
    runtime = clean(" ".join(word for word in (layer.runtime, layer.version) if word))
    name = runtime or LAYERS.get(layer.layer, layer.layer)
    run = f" run {layer.job}" if layer.job > 1 else ""
    ranks = "ranks not known" if layer.ranks is None else f"{layer.ranks} rank{'s' if layer.ranks != 1 else ''}"
    hosts = ", ".join(clean(host) for host in layer.hosts[:6]) or "hosts not known"
    if len(layer.hosts) > 6:
        hosts += f" and {len(layer.hosts) - 6} more"
    return f"{name}{run} ({ranks}; {hosts}): {layer.verdict}, {layer.status}"


def _pairs(layer: Layer) -> Iterator[str]:
    """Between hosts first, and of these the rarest transports: what differs is what is looked for."""
    counts = Counter(pair.transport for pair in layer.pairs if pair.a != pair.b)
    pairs = sorted(layer.pairs, key=lambda pair: (pair.a == pair.b, counts[pair.transport]))
    for pair in pairs[:_SHOWN_PAIRS]:
        yield f"  {_pair(pair)}"
    if len(pairs) > _SHOWN_PAIRS:
        rest = Counter(pair.transport for pair in pairs[_SHOWN_PAIRS:])
        told = ", ".join(f"{count} {transport}" for transport, count in sorted(rest.items()))
        yield f"  ... and {len(pairs) - _SHOWN_PAIRS} more pairs: {told}"


def _pair(pair: Pair) -> str:
    where = f"{clean(pair.a)} - {clean(pair.b)}" if pair.a != pair.b else f"on {clean(pair.a)}"
    ranks = " ".join(f"{a}-{b}" for a, b in pair.ranks[:8])
    more = f" and {len(pair.ranks) - 8} more" if len(pair.ranks) > 8 else ""
    return f"{where}: {pair.transport}" + (f" (ranks {ranks}{more})" if ranks else "")


def place(evidence: Evidence) -> str:
    """``file:line: text``."""
    return f"{clean(evidence.file)}:{evidence.line}: {clean(evidence.text.strip(), 160)}"
