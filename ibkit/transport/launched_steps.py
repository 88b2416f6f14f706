"""The next step after a job that was launched here: a step that ibkit has taken itself already is none."""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.model.mpi import JobVerdict, Layer
from ibkit.transport.launching import Launch
from ibkit.transport.watching import LOOKS

_ONE_RANK = "the job has one rank, which has no other one to send to: run it with two or more"
_LONGER = (
    f"its output leaves it open, and it ended before it was looked at, which begins after {LOOKS[0]:g} s: let "
    "it run longer (more iterations, a larger problem), or look at a longer run: ibkit check-mpi-transport running"
)


def with_own_steps(answer: JobVerdict, launch: Launch, exit_status: int, seen: Sequence[JobVerdict]) -> JobVerdict:
    """The answer with steps that are still to be taken; ``seen`` are the looks at the running job."""
    layers = tuple(_stepped(layer, launch, exit_status, seen) for layer in answer.layers)
    step = next((layer.next_step for layer in layers if layer.next_step and layer.status == "undecided"), None)
    if not layers:
        step = _without_lines(launch, exit_status)
    return answer._replace(layers=layers, next_step=step)


def _stepped(layer: Layer, launch: Launch, exit_status: int, seen: Sequence[JobVerdict]) -> Layer:
    if layer.status != "undecided":
        return layer
    if layer.ranks == 1:
        return layer._replace(next_step=_ONE_RANK)
    if layer.next_step is None or not _is_taken(layer.next_step, launch):
        return layer
    if exit_status:
        return layer._replace(next_step=_failed(exit_status))
    if launch.kept:
        return layer._replace(next_step=_without_settings(launch.kept))
    looked = next((one.layers[0].next_step for one in reversed(seen) if one.layers and one.layers[0].next_step), None)
    return layer._replace(next_step=looked or _LONGER)


def _is_taken(step: str, launch: Launch) -> bool:
    """Whether it asks for something that was in the job's environment."""
    return any(name.removeprefix("OMPI_MCA_") in step for name in (*launch.variables, *launch.kept))


def _failed(exit_status: int) -> str:
    return (
        f"the job ended with exit status {exit_status} before a rank told its transport: what it printed itself, if "
        "anything, says why, and comes first"
    )


def _without_settings(names: Sequence[str]) -> str:
    """What the user has set silences the lines that decide."""
    return (
        f"run it again without {' and '.join(names)}, as you have set {'it' if len(names) == 1 else 'them'}: the "
        "lines that decide are not printed so, and ibkit sets what is needed"
    )


def _without_lines(launch: Launch, exit_status: int) -> str:
    """Nothing of it was recognised."""
    if exit_status:
        return _failed(exit_status)
    if launch.kept:
        return _without_settings(launch.kept)
    if launch.runtime.name:
        return (
            f"{launch.runtime.name} was told to say its transport, and what it started printed no line of it: is that "
            "linked with this MPI (ldd PROGRAM)? A program that calls no MPI_Init has no transport"
        )
    return (
        "no rank of MPI, NCCL or Gloo spoke, though all were told to: does it start ranks at all? Where the command "
        "sends their output to a file give that file, and 2>/dev/null hides it; where they run elsewhere (a batch job, "
        "another container) give their log, or look at them while they run: ibkit check-mpi-transport running"
    )
