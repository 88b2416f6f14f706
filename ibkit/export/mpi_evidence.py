"""In which order people read the lines that an answer stands on, which of many are quoted, which run's they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ibkit.export.mpi_sentence import has_runs
from ibkit.model.mpi import Evidence, Layer
from ibkit.transport.words import RDMA


def telling_first(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Of several transports between hosts the rare ones first, as what differs is looked for; then what tells of none;
    then the usual transport, and shared memory. Else in the order of their numbers.
    """
    counts = Counter(item.transport for item in evidence if item.transport)
    between = sorted(counts.keys() - {"shm"}, key=lambda word: (counts[word], word in RDMA, word))
    if len(between) < 2:
        return list(evidence)
    order = {word: place for place, word in enumerate([*between[:-1], None, between[-1], "shm"])}
    return sorted(evidence, key=lambda item: order[item.transport])


def quoted(evidence: Sequence[Evidence], most: int) -> list[Evidence]:
    """So many of these, in their order: each kind of line has one at least, as far as there is room."""
    kinds: dict[tuple[str, str | None], int] = {}
    for place, item in enumerate(evidence):
        kinds.setdefault((item.evidence_class, item.transport), place)
    first = set(kinds.values())
    chosen = [*kinds.values(), *(place for place in range(len(evidence)) if place not in first)][:most]
    return [evidence[place] for place in sorted(chosen)]


def evidence_of(layer: Layer) -> tuple[int, ...]:
    """The numbers of all that a layer stands on, in order."""
    pairs = [id for pair in layer.pairs for id in pair.evidence]
    reasons = [id for reason in (*layer.reasons, *layer.remarks) for id in reason.evidence]
    return tuple(sorted({*layer.evidence, *pairs, *reasons}))


def owners(layers: Sequence[Layer]) -> dict[int, Layer]:
    """By the numbers of evidence the layer that stands on it, where that is one."""
    found: dict[int, Layer | None] = {}
    for layer in layers:
        for id in evidence_of(layer):
            found[id] = None if id in found else layer
    return {id: layer for id, layer in found.items() if layer is not None}


def names_of_runs(layers: Sequence[Layer]) -> dict[int, str]:
    """By the numbers of evidence whose run it is of, where there are several: ``run 2``, ``nccl run 2`` beside other
    layers, ``job pid:4711`` of running ones.
    """
    has_others = len({layer.layer for layer in layers}) > 1

    def name(layer: Layer) -> str | None:
        if layer.process is not None:
            return f"job {layer.process}" if len(layers) > 1 else None
        return f"{f'{layer.layer} ' if has_others else ''}run {layer.job}" if has_runs(layer, layers) else None

    return {id: told for id, layer in owners(layers).items() if (told := name(layer))}
