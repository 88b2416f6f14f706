"""ibkit on other hosts: started there by a remote shell, all at once; what comes back is a capture each."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from ibkit.errors import IbkitError, UnreadableInput
from ibkit.model.node_set import BadNodeSet, expand
from ibkit.parsers.base import Problem
from ibkit.sources.base import MISSING, CommandAnswer, Source
from ibkit.sources.live import LiveSource
from ibkit.sources.site import Host

#: As many remote shells at a time as a login node bears.
MAX_AT_A_TIME = 64
MAX_HOSTS = 16_384
#: Beyond the window: logging in, starting there, finding the ranks, sending the capture (seconds).
PATIENCE_SECONDS = 60.0
#: Stands for the nodes of the Slurm job that is asked for.
OF_THE_JOB = "job"


def hosts_of(source: Source, nodes: str, target: str) -> tuple[str, ...]:
    """The names of a short form (``n[01-16]``), or for ``job`` what Slurm says. Raises IbkitError."""
    if nodes == OF_THE_JOB:
        kind, _, job = target.partition(":")
        if kind != "slurm":
            raise IbkitError("--hosts job: only Slurm tells a job's nodes (slurm:JOBID); name them: --hosts 'n[01-16]'")
        answer = source.run(("squeue", "--noheader", "--jobs", job.partition(".")[0], "--format", "%N"))
        nodes = ",".join(answer.out.split())  # a line for each task of an array, each part of a job
        if not nodes:
            said = next(iter(answer.err.strip().splitlines()), answer.failure or "no node")
            raise IbkitError(f"{target}: squeue tells no nodes ({said[:200]}); name them: --hosts 'n[01-16]'")
    try:
        names = expand(nodes)
    except BadNodeSet as error:
        raise IbkitError(f"--hosts: {error}") from error
    bad = next((name for name in names if name.startswith("-")), None)
    if bad is not None or not names or len(names) > MAX_HOSTS:
        raise IbkitError(f"--hosts: {bad or nodes}: no set of hosts, as in n[01-16],login1")
    return names


def captures_of_hosts(
    hosts: Sequence[str],
    rsh: str,
    words: Sequence[str],
    window: float,
    folder: str,
    tell: Callable[[str], None],
    here: str,
) -> tuple[list[Host], list[Problem]]:
    """Each host's capture by ``ibkit WORDS`` there, kept in ``folder``, and a problem for each that gave none.

    The remote shell gets the host and one word that it, or the shell over there, takes apart; this host's own ibkit is
    started without one. Raises IbkitError where the remote shell is no command.
    """
    try:
        shell = tuple(shlex.split(rsh))
    except ValueError as error:
        raise IbkitError(f"--rsh: {error}") from error
    if not shell:
        raise IbkitError("--rsh: no command; the default is ssh -o BatchMode=yes")
    commands = {
        host: (sys.executable, "-m", "ibkit", *words)
        if host.partition(".")[0] == here.partition(".")[0]
        else (*shell, host, shlex.join(("ibkit", *words)))
        for host in hosts
    }
    found: dict[str, Host] = {}
    problems: dict[str, Problem] = {}
    for count, (host, answer) in enumerate(_run_all(commands, window + PATIENCE_SECONDS), 1):
        if answer.failure == MISSING:
            raise IbkitError(f"--rsh: {shell[0]} is not installed here")
        path = os.path.join(folder, f"{count}.tar.gz")
        one = _host_in(host, answer, path)
        if isinstance(one, Host) and any(other.name == one.name for other in found.values()):
            one = f"its capture is of host {one.name}, as another one's is"
        if isinstance(one, Host):
            found[host] = one
            tell(f"{host}: {len(answer.stdout) >> 10} KiB in {answer.seconds:.1f} s ({count} of {len(hosts)})")
        else:
            problems[host] = Problem("host-failed", f"{host}: {one}", None, host)
            tell(f"{host}: {one} ({count} of {len(hosts)})")
    in_order = [found[host] for host in hosts if host in found]
    return in_order, [problems[host] for host in hosts if host in problems]


def _host_in(host: str, answer: CommandAnswer, path: str) -> Host | str:
    """The host of a capture that came back, or why there is none."""
    from ibkit.sources.capture import open_capture

    if answer.failure or answer.exit_status or not answer.stdout:
        lines = [line for line in answer.err.strip().splitlines() if line.strip()]
        why = answer.failure or f"exit status {answer.exit_status}"
        return f"{why}: {lines[-1][:300]}" if lines else f"{why}, and nothing was said"
    try:
        with open(path, "xb") as file:
            file.write(answer.stdout)
        site = open_capture(path)
    except UnreadableInput as error:
        return f"what came back is no capture: {str(error).removeprefix(path)[:300].lstrip(': ')}"
    watched = [one for one in site.hosts if one.watched]
    return watched[0] if len(watched) == 1 else "the capture that came back holds no running job"


def _run_all(commands: dict[str, tuple[str, ...]], deadline_seconds: float) -> Iterator[tuple[str, CommandAnswer]]:
    """The answers as they come. Where the reader stops early, what still runs is ended."""
    stop = threading.Event()

    def tick(_command: str, _seconds: float) -> None:
        if stop.is_set():
            raise InterruptedError

    def run(argv: tuple[str, ...]) -> CommandAnswer:
        return LiveSource(tick=tick).run(argv, deadline_seconds=deadline_seconds)

    with ThreadPoolExecutor(min(MAX_AT_A_TIME, len(commands))) as pool:
        names: dict[Future[CommandAnswer], str] = {pool.submit(run, argv): host for host, argv in commands.items()}
        waiting = set(names)
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield names[future], future.result()
        finally:
            stop.set()
            for future in waiting:
                future.cancel()
