"""How a job is started so that it says its transport: which runtime it has, and what that runtime must be told.

The runtime is what the launcher says of itself. Only variables are added, and none that the user has set; Open MPI's
launcher takes no other variables than its own to other hosts, so it gets ``-x NAME`` for those.
Sources: `mpirun --version` of Open MPI (orterun, prterun), Hydra (its build details) and Intel MPI; the variables are
those of docs/check-mpi-transport.md, "What is read".
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ibkit.errors import UnreadableInput
from ibkit.model.mpi import JobVerdict
from ibkit.parsers.base import Problem
from ibkit.sources.base import Source
from ibkit.sources.launched import Launched
from ibkit.sources.log_streams import Bytes
from ibkit.sources.private import reduced_file
from ibkit.sources.site import Host
from ibkit.transport.logs.job import Job, Log, allocated
from ibkit.transport.logs.verdict import judge

#: Names that are sure to understand --version.
_LAUNCHER = re.compile(r"(?:mpirun|mpiexec)(?:[.-](?:openmpi|mpich|hydra|intel|[\d.]{1,9}))?\Z|(?:orterun|prterun)\Z")
#: What stands behind these runs on another host, in a container with an MPI of its own, or without this environment.
_ELSEWHERE = frozenset(
    (
        "ssh", "rsh", "pdsh", "clush", "sudo", "su", "chroot", "nsenter", "systemd-run", "docker", "podman",
        "apptainer", "singularity", "shifter", "enroot", "ch-run", "kubectl", "srun",
    )
)  # fmt: skip
_VERSIONS = (
    ("Open MPI", re.compile(r"\((?:Open MPI|OpenRTE|PRRTE)\) (\d{1,4}(?:\.\d{1,4})*)")),
    ("Intel MPI", re.compile(r"Intel\(R\) MPI Library[^\n]{0,80}?Version (\d{1,4}(?:\.\d{1,4})*)")),
    ("MPICH", re.compile(r"HYDRA build details:\s{1,20}Version: {1,60}(\d{1,4}(?:\.\d{1,4})*)")),
)  # fmt: skip
_DEVICE = re.compile(r"--with-device=(ch[34][\w:,-]{0,40})")
#: Launchers that are looked for where a program alone is named, the plain names first.
LAUNCHERS = ("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra", "mpirun.mpich")
#: A library of the program, and the runtime that it belongs to. libmpi.so.12 is that of several (MPICH's ABI).
_LIBRARIES = (("libmpich.so", "MPICH"), ("libopen-pal.so", "Open MPI"), ("libopen-rte.so", "Open MPI"))
#: Batch systems tell their launchers how many ranks there are.
_ALLOCATIONS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID")

_BELOW_ANY = {"UCX_LOG_LEVEL": "info", "NCCL_DEBUG": "INFO"}
_OPENMPI = {
    "OMPI_MCA_pml_base_verbose": "100", "OMPI_MCA_btl_base_verbose": "100", "OMPI_MCA_mtl_base_verbose": "100",
    "OMPI_MCA_opal_common_ofi_verbose": "1",  # the provider of mtl ofi; before 4.1 mtl_base_verbose tells it
    "OMPI_MCA_mpi_show_mca_params": "file,environment",  # whatever parameter file it was that has chosen
}  # fmt: skip
_OPENMPI_TABLE = {"OMPI_MCA_hook_comm_method_display": "mpi_finalize"}
#: The library that checks whether UCX finds an HCA: the reason why pml ucx is not taken.
_OPENMPI_UCX = {"OMPI_MCA_pml_ucx_verbose": "100"}
_VERSION_SECONDS = 10.0


class Runtime(NamedTuple):
    """What starts the job: ``name`` as the verdict calls it; None for srun, torchrun, a script, anything else."""

    name: str | None = None
    version: str | None = None
    device: str | None = None

    def is_from(self, *wanted: int) -> bool:
        """Whether the version is known and not below this one."""
        return self.version is not None and tuple(int(part) for part in self.version.split(".")) >= wanted


class Launch(NamedTuple):
    """A command that is ready to be run, the variables that are added, and those that the user has set otherwise."""

    argv: tuple[str, ...]
    variables: dict[str, str]
    runtime: Runtime
    kept: tuple[str, ...] = ()


def prepare(source: Source, argv: Sequence[str], environment: Mapping[str, str]) -> Launch:
    """The command with what its runtime needs to tell its transport."""
    place = next((n for n, word in enumerate(argv) if _LAUNCHER.match(os.path.basename(word))), None)
    if any(os.path.basename(word) in _ELSEWHERE for word in argv[:place]):
        place = None  # nothing is known of that launcher
    runtime = Runtime() if place is None else runtime_of(source, argv[place])
    wanted = verbosity(runtime)
    kept = tuple(name for name in wanted if name in environment or _is_named(name, argv))
    variables = {name: value for name, value in wanted.items() if name not in kept}
    words = list(argv)
    if place is not None and runtime.name == "Open MPI" and not _has_list(argv, environment):
        exported = [name for name in variables if not name.startswith("OMPI_")]
        # Each part of a command with several programs has its own: mpirun -np 1 ./a : -np 1 ./b
        starts = [place, *(number for number, word in enumerate(argv) if word == ":" and number > place)]
        for start in reversed(starts):
            words[start + 1 : start + 1] = [word for name in exported for word in ("-x", name)]
    differing = tuple(name for name in kept if environment.get(name) != wanted[name])
    return Launch(tuple(words), variables, runtime, differing)


def runtime_of(source: Source, launcher: str) -> Runtime:
    """What a launcher says of itself."""
    answer = source.run((launcher, "--version"), deadline_seconds=_VERSION_SECONDS)
    told = answer.out + answer.err
    for name, pattern in _VERSIONS:
        if found := pattern.search(told):
            device = _DEVICE.search(told)
            return Runtime(name, found[1], device[1] if device else None)
    return Runtime()


def verbosity(runtime: Runtime) -> dict[str, str]:
    """The variables that make this runtime tell its transport.

    MPICH before 4.3 has a switch where later ones have a level, and ends the job at a ``2``.
    """
    if runtime.name == "Open MPI":
        table = _OPENMPI_TABLE if runtime.is_from(5) else {}
        checks = _OPENMPI_UCX if runtime.is_from(4, 1, 1) and not runtime.is_from(5) else {}
        return {**_OPENMPI, **checks, **table, **_BELOW_ANY}
    if runtime.name == "Intel MPI":
        return {"I_MPI_DEBUG": "5", **_BELOW_ANY}
    if runtime.name == "MPICH":  # and its children: MVAPICH2 prints its table, MVAPICH 3 and 4 do as MPICH does
        return {
            "MPIR_CVAR_DEBUG_SUMMARY": "2" if runtime.is_from(4, 3) else "1",
            "MV2_SHOW_ENV_INFO": "2",
            **_BELOW_ANY,
        }
    return {
        **_OPENMPI, **_OPENMPI_TABLE, "I_MPI_DEBUG": "5", "MPIR_CVAR_DEBUG_SUMMARY": "1", "MV2_SHOW_ENV_INFO": "2",
        **_BELOW_ANY,
    }  # fmt: skip


def command_for(source: Source, program: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """How a program alone is started: by its own MPI's launcher, with the ranks that the batch system gives, else 2.

    Raises UnreadableInput where there is none.
    """
    path = program if "/" in program else f"./{program}"
    linked = source.run(("ldd", path)).out
    wanted = next((name for library, name in _LIBRARIES if library in linked), None)
    found: list[str] = []
    for launcher in LAUNCHERS:
        runtime = runtime_of(source, launcher)
        if runtime.name is None:
            continue
        if wanted is None or runtime.name == wanted:
            count = () if any(name in environment for name in _ALLOCATIONS) else ("-np", "2")
            return (launcher, *count, path)
        found.append(f"{launcher} ({runtime.name})")
    what = f"of {wanted}, which it is linked with," if wanted else "(mpirun, mpiexec)"
    others = f"; there is {', '.join(found)}" if found else ""
    raise UnreadableInput(
        f"{program}: no launcher {what} was found{others}; name it: ibkit check-mpi-transport -- mpirun ... {program}"
    )


def judge_launched(
    target: str, argv: Sequence[str], launch: Launch, ended: Launched, environment: Mapping[str, str], host: Host
) -> JobVerdict:
    """What the output of a job that was started here says; ``argv`` is the command as the user gave it."""
    logs = [
        Log("command", _text(" ".join(argv))),
        Log("environment", _text(*_settings(environment))),
        Log("stdout", ended.stdout.open),
        Log("stderr", ended.stderr.open),
    ]
    streams = (("stdout", ended.stdout), ("stderr", ended.stderr))
    problems = [Problem("not-whole", kept.cut, None, name) for name, kept in streams if kept.cut]
    listed = allocated(environment, host.source)
    return named(judge(Job(target, tuple(logs), (host,), listed, tuple(problems))), launch.runtime)


def named(answer: JobVerdict, runtime: Runtime) -> JobVerdict:
    """With the runtime of MPI layers that do not tell it, or tell it without its version, as the launcher does."""
    if runtime.name is None:
        return answer
    layers = tuple(
        layer._replace(runtime=runtime.name, version=runtime.version)
        if layer.layer == "mpi"
        and (layer.runtime in (None, "UCX") or (layer.runtime, layer.version) == (runtime.name, None))
        else layer
        for layer in answer.layers
    )
    return answer._replace(layers=layers)


def _settings(environment: Mapping[str, str]) -> list[str]:
    """The variables that choose a transport, a line for each."""
    whole = "\0".join(f"{name}={value}" for name, value in environment.items())
    kept = reduced_file("/proc/1/environ", whole.encode("utf-8", "surrogateescape"))
    return kept.decode("utf-8", "surrogateescape").split("\0")


def _text(*lines: str) -> Callable[[], Bytes]:
    data = "".join(" ".join(line.split()) + "\n" for line in lines).encode("utf-8", "surrogateescape")
    return lambda: io.BytesIO(data)


def _is_named(name: str, argv: Sequence[str]) -> bool:
    """Whether the command line sets it: ``-x NAME``, ``-x NAME=VALUE``, ``-genv NAME VALUE``, ``--mca NAME VALUE``."""
    names = {name, name.removeprefix("OMPI_MCA_")}
    return any(word.split("=", 1)[0] in names for word in argv)


def _has_list(argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Open MPI refuses ``-x`` beside a list of variables in a parameter."""
    return "OMPI_MCA_mca_base_env_list" in environment or "mca_base_env_list" in argv
