"""One answer about a job from the verdicts of its layers."""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.model.mpi import STATUSES, JobVerdict, Layer
from ibkit.parsers.base import Problem
from ibkit.transport import words
from ibkit.transport.evidence import Book

_GENERAL_STEP = (
    "nothing in it says which transport was used; run again with NCCL_DEBUG=INFO (NCCL, RCCL), UCX_LOG_LEVEL=info "
    "(UCX), --mca btl_base_verbose 100 --mca pml_base_verbose 100 (Open MPI), I_MPI_DEBUG=5 (Intel MPI), "
    "MPIR_CVAR_DEBUG_SUMMARY=1 (MPICH), and give the whole output of all ranks"
)


def combine(target: str, layers: list[Layer], book: Book, problems: list[Problem]) -> JobVerdict:
    """What the layers' verdicts have in common, else mixed; the worst status; the first step that is still to be taken.

    What is unknown, or moved nothing, or nothing between hosts, has no say in the verdict, unless all is like that; nor
    has Gloo beside NCCL or MPI, where it coordinates the ranks, and where nobody knows whether it does.
    """
    if not layers:
        return JobVerdict(target, "unknown", "undecided", (), book.evidence, _GENERAL_STEP, tuple(problems))
    carriers = [layer for layer in layers if layer.layer != "gloo"] or layers
    decided = {layer.verdict for layer in carriers if is_carrier(layer)} - {"unknown", "none"}
    between = decided - {"shm"} or decided
    if between:
        verdict = words.combine(between)
    else:
        verdict = "none" if all(layer.verdict == "none" for layer in carriers) else "unknown"
    status = min((layer.status for layer in layers), key=STATUSES.index)
    step = next(
        (one.next_step for one in layers if one.next_step and (one.status == "undecided" or one.verdict == "unknown")),
        None,
    )
    return JobVerdict(target, verdict, status, tuple(layers), book.evidence, step, tuple(problems))


def is_carrier(layer: Layer) -> bool:
    """Whether it is known of the layer that it carries data: Gloo may only coordinate the ranks of a silent NCCL."""
    return layer.layer != "gloo" or layer.status != "undecided"


def beside(layer: Layer, others: Iterable[Layer]) -> Layer:
    """Gloo beside NCCL or MPI coordinates the ranks: that it does so by TCP is as it should be."""
    if layer.layer != "gloo" or layer.status not in ("by-configuration", "undecided"):
        return layer
    if all(other.layer == "gloo" for other in others):
        return layer
    return layer._replace(status="as-expected", reasons=(), next_step=None)
