"""The processes of a running job on one host, their queue pairs and TCP sockets, as they are at one moment.

Which processes belong together say the launchers' own variables: PMIx's name space (Open MPI, Slurm), Slurm's step,
else one parent for all ranks (Hydra's proxy, torchrun). Of two samples the moving counters tell what is in use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ibkit.collectors.consumers import collect_consumers
from ibkit.collectors.processes import PROC
from ibkit.errors import UnreadableInput
from ibkit.model.consumers import Consumers
from ibkit.parsers import ss_tcp
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.parsers.ip_json import parse_addresses
from ibkit.parsers.records import NamedTuple
from ibkit.parsers.ss_tcp import TcpSocket
from ibkit.sources.base import MISSING, Source

SOCKETS = ("ss", "-tinpH")
ADDRESSES = ("ip", "-j", "-d", "addr")
#: Netlink dumps of a host with many sockets (seconds).
DEADLINE_SECONDS = 20.0

_PARENT = re.compile(r"^PPid:[ \t]+([0-9]{1,10})$", re.MULTILINE)
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "RANK")
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "WORLD_SIZE", "SLURM_NTASKS")


class Ranks(NamedTuple):
    """A job's processes on a host: rank by pid, None where nothing tells it, and how many ranks the whole job has."""

    ranks: Mapping[int, int | None]
    size: int | None = None
    environment: Mapping[str, str] = {}
    problems: tuple[Problem, ...] = ()


class Sample(NamedTuple):
    """What the host shows at one moment. ``sockets`` is None where they could not be listed; ``ipoib`` are the
    addresses of IPoIB interfaces.
    """

    consumers: Consumers
    sockets: tuple[TcpSocket, ...] | None
    ipoib: frozenset[str]
    problems: tuple[Problem, ...] = ()


def ranks_of_process(source: Source, pid: int) -> Ranks:
    """The job that a process is a rank, or the launcher, of. Raises UnreadableInput where there is no such process."""
    if source.read(f"{PROC}/{pid}/status").text is None:
        raise UnreadableInput(f"pid:{pid}: no such process here, or /proc hides it")
    own = _environment(source, pid)
    is_rank = _number(own or {}, _RANKS) is not None
    key = _key(own or {}) if is_rank else None
    parent = _parent(source, pid) if is_rank else pid
    found: dict[int, int | None] = {}
    for name in source.list(PROC).names if own is not None else ():
        if not name.isdigit():
            continue
        other = int(name)
        variables = _environment(source, other) or {}
        rank = _number(variables, _RANKS)
        # A launcher's own children are ranks of its job, or daemons, which have no rank.
        if rank is not None and (_key(variables) == key if key else _parent(source, other) == parent):
            found[other] = rank
    if not found:
        found = {pid: None}
    environment = _environment(source, min(found)) or {}
    problems = []
    if own is None:
        text = "the environment may not be read: only the process's user and root may; other ranks were not looked for"
        problems.append(Problem("not-permitted", text, None, f"{PROC}/{pid}/environ"))
    return Ranks(found, _number(environment, _SIZES), environment, tuple(problems))


def ranks_of_slurm_job(source: Source, job: str) -> Ranks:
    """The tasks of a Slurm job on this host, by ``scontrol listpids``. Raises UnreadableInput where it has none."""
    answer = source.run(("scontrol", "listpids", job), deadline_seconds=DEADLINE_SECONDS)
    if answer.failure == MISSING:
        raise UnreadableInput(f"slurm:{job}: scontrol is not installed here; run it on a node of the job")
    rows = [line.split() for line in answer.out.splitlines()]
    pids = [int(row[0]) for row in rows if len(row) >= 5 and row[0].isdigit() and len(row[0]) < 11 and row[4].isdigit()]
    if not pids:
        said = next(iter(answer.err.strip().splitlines()), "it lists no task of it")
        raise UnreadableInput(f"slurm:{job}: no process of it on this host: scontrol says: {said[:200]}")
    found: dict[int, int | None] = {}
    environment: dict[str, str] = {}
    for pid in pids:
        variables = _environment(source, pid) or {}
        if (rank := _number(variables, _RANKS)) is not None:
            found[pid] = rank
            environment = environment or variables
    return Ranks(found or dict.fromkeys(pids), _number(environment, _SIZES), environment)


def sample(source: Source, host: str) -> Sample:
    """Queue pairs and TCP sockets now."""
    problems: list[Problem] = []
    answer = source.run(SOCKETS, deadline_seconds=DEADLINE_SECONDS)
    sockets: tuple[TcpSocket, ...] | None = None
    if answer.failure or answer.exit_status not in (0, None):
        said = answer.failure or next(iter(answer.err.strip().splitlines()), f"exit status {answer.exit_status}")
        problems.append(Problem("tool-failed", f"TCP sockets cannot be listed: {said[:400]}", None, answer.command))
    else:
        sockets = ss_tcp.parse(answer.out, source=answer.command).value
    return Sample(collect_consumers(source, host), sockets, _ipoib(source), tuple(problems))


def _ipoib(source: Source) -> frozenset[str]:
    answer = source.run(ADDRESSES, deadline_seconds=DEADLINE_SECONDS)
    try:
        interfaces = parse_addresses(answer.out).value
    except NotThisFormat:
        return frozenset()
    ipoib = (one for one in interfaces if one.link_type == "infiniband")
    return frozenset(address.split("/")[0] for one in ipoib for address in one.addresses)


def _environment(source: Source, pid: int) -> dict[str, str] | None:
    text = source.read(f"{PROC}/{pid}/environ").text
    if text is None:
        return None
    return {name: value for name, mark, value in (entry.partition("=") for entry in text.split("\0")) if mark}


def _parent(source: Source, pid: int) -> int | None:
    found = _PARENT.search(source.read(f"{PROC}/{pid}/status").text or "")
    return int(found[1]) if found else None


def _key(variables: Mapping[str, str]) -> tuple[str, ...] | None:
    """What all ranks of one run share and no other run has."""
    if space := variables.get("PMIX_NAMESPACE"):
        return ("pmix", space)
    if "SLURM_STEP_ID" in variables and "PMI_RANK" not in variables:
        return ("slurm", variables.get("SLURM_JOB_ID", ""), variables["SLURM_STEP_ID"])
    return None


def _number(variables: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = variables.get(name, "")
        if value.isascii() and value.isdigit() and len(value) < 9:
            return int(value)
    return None
