"""The next step after a job that was launched names nothing that ibkit has set itself."""

from __future__ import annotations

import pytest

from ibkit.model.mpi import JobVerdict, Layer
from ibkit.transport.launched_steps import with_own_steps
from ibkit.transport.launching import Launch, Runtime, verbosity
from ibkit.transport.logs.mpi_run import next_step

OPENMPI = Runtime("Open MPI", "4.1.4")
STEP = next_step("Open MPI")


def stepped(
    layer: Layer | None = None,
    *,
    runtime: Runtime = OPENMPI,
    kept: tuple[str, ...] = (),
    exit_status: int = 0,
    seen: tuple[JobVerdict, ...] = (),
) -> str | None:
    layers = (layer,) if layer else ()
    answer = JobVerdict("a", "unknown", "undecided", layers, next_step=layer.next_step if layer else "run again with x")
    done = with_own_steps(answer, Launch((), verbosity(runtime), runtime, kept), exit_status, seen)
    if layer:
        assert done.layers[0].next_step == done.next_step
    return done.next_step


def undecided(step: str | None = STEP, ranks: int | None = 2) -> Layer:
    return Layer("mpi", "unknown", "undecided", runtime="Open MPI", ranks=ranks, next_step=step)


def test_the_logs_own_step_names_settings() -> None:
    """Which is right for a log that somebody sends, and is what the other tests stand on."""
    assert "btl_base_verbose" in STEP


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (stepped(undecided()), "let it run longer"),
        (stepped(undecided(ranks=1)), "run it with two or more"),
        (stepped(undecided(), exit_status=7), "exit status 7"),
        (stepped(exit_status=132), "exit status 132"),
        (stepped(), "Open MPI was told to say its transport"),
        (stepped(runtime=Runtime()), "does it start ranks at all?"),
        (stepped(runtime=Runtime()), "2>/dev/null hides it"),
        (stepped(undecided(), kept=("OMPI_MCA_btl_base_verbose",)), "without OMPI_MCA_btl_base_verbose"),
        (stepped(kept=("OMPI_MCA_btl_base_verbose",)), "without OMPI_MCA_btl_base_verbose"),
    ],
)
def test_what_is_still_to_be_done(step: str | None, words: str) -> None:
    assert step is not None
    assert words in step
    assert "run again with" not in step


def test_a_step_about_something_else_stays() -> None:
    assert stepped(undecided("nemesis sends by the module that it was configured with")) == (
        "nemesis sends by the module that it was configured with"
    )


def test_what_a_look_at_the_running_job_lacked_is_the_step() -> None:
    live = JobVerdict("a", "unknown", "undecided", (undecided("look on all hosts of the job (--hosts)"),))
    assert stepped(undecided(), seen=(live,)) == "look on all hosts of the job (--hosts)"


def test_what_is_decided_needs_none() -> None:
    layer = Layer("mpi", "tcp", "fallback", ranks=1)
    answer = JobVerdict("a", "tcp", "fallback", (layer,))
    assert with_own_steps(answer, Launch((), {}, OPENMPI), 0, ()) == answer
