"""A job's verdict in one sentence: the same on the command line and on the screen."""

from __future__ import annotations

from collections.abc import Iterable

from ibkit.model.mpi import JobVerdict, Layer

_NAMES = {
    "ib": "InfiniBand", "roce": "RoCE", "iwarp": "iWARP", "rdma": "RDMA (verbs; the log does not show whether "
    "InfiniBand or RoCE)", "opa": "Omni-Path", "efa": "EFA", "slingshot": "Slingshot", "ipoib": "TCP over InfiniBand "
    "(IPoIB)", "tcp": "TCP", "shm": "shared memory",
}  # fmt: skip
LAYERS = {"mpi": "MPI", "nccl": "NCCL", "gloo": "Gloo", "tasks": "tasks"}


def sentence(answer: JobVerdict, *, with_reasons: bool = True) -> str:
    """What the job used, and whether that is as it should be; ``with_reasons``: the ids of why it is not."""
    if not answer.layers:
        return "unknown: no line of it tells a transport"
    if len({(layer.verdict, layer.status) for layer in answer.layers}) == 1:
        return said(answer.layers[0], with_reasons=with_reasons)
    parts = (f"{title(layer, answer.layers)}: {said(layer, with_reasons=with_reasons)}" for layer in answer.layers)
    return "; ".join(parts)


def title(layer: Layer, layers: Iterable[Layer]) -> str:
    """``NCCL``, or ``NCCL (run 2)`` where there are several."""
    name = LAYERS.get(layer.layer, layer.layer)
    return f"{name} (run {layer.job})" if has_runs(layer, layers) else name


def has_runs(layer: Layer, layers: Iterable[Layer]) -> bool:
    """Whether the layer is one of several runs, so that it goes by its number."""
    return any(other.job != layer.job for other in layers if other.layer == layer.layer)


def said(layer: Layer, *, with_reasons: bool = True) -> str:
    """The same of one layer."""
    what = _NAMES.get(layer.verdict, layer.verdict)
    if layer.verdict == "rdma" and layer.link_layers:
        told = " and ".join(_NAMES.get(word, word) for word in layer.link_layers)
        what = f"RDMA (verbs; {told} where the log shows it, which it does not of all devices)"
    why = f" ({', '.join(reason.id for reason in layer.reasons)})" if layer.reasons and with_reasons else ""
    if layer.verdict == "none":
        return f"no data path was established, the job aborted{why}"
    if layer.layer == "gloo" and layer.status == "undecided" and layer.verdict != "unknown":
        return f"not decided: Gloo uses {what}, and no line tells whether it carries the data"
    if layer.verdict == "unknown":
        return f"not decided{why}"
    if layer.verdict == "mixed":
        kinds = sorted({pair.transport for pair in layer.pairs if pair.a != pair.b} - {"shm", "mixed"})
        if not any(pair.a != pair.b for pair in layer.pairs):
            return f"the ranks' transports differ{why}"
        return f"a mixture of transports{': ' + ', '.join(kinds) if len(kinds) > 1 else ''}{why}"
    if layer.verdict == "shm":
        where = "on one host" if len(layer.hosts) < 2 else "or NVLink, no network"
        return f"shared memory {where}, {'then the job aborted' if layer.status == 'aborted' else 'as expected'}"
    return {
        "as-expected": f"{what}, as expected",
        "fallback": f"{what}, not RDMA: a fall-back{why}",
        "by-configuration": f"{what}, as configured, not RDMA{why}",
        "aborted": f"{what}, then the job aborted{why}",
        "mixed": f"{what}, but the hosts differ{why}",
        "undecided": f"{what}, not RDMA; the log cannot tell whether RDMA was to be had{why}",
    }[layer.status]
