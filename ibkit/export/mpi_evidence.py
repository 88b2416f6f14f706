"""In which order people read the lines that an answer stands on, and which of many are quoted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ibkit.model.mpi import Evidence
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
