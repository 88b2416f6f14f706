"""A log's last line that has no end: it may be whole, and it may be cut. The answer is what stands either way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ibkit.model.mpi import Layer
from ibkit.transport import words

_STEP = "the log's last line has no end, and what it tells depends on that: give the whole log"


def agreed(layers: Sequence[Layer], others: Sequence[Layer]) -> Iterator[Layer]:
    """The layers without what the last line tells if it is whole, as far as those with it do not differ."""
    by_name = {(other.layer, other.job): other for other in others}
    for layer in layers:
        other = by_name.pop((layer.layer, layer.job), None)
        word = "unknown" if other is None else common(layer.verdict, other.verdict)
        yield layer if word == layer.verdict else _weaker(layer, word)
    yield from (_weaker(other, "unknown") for other in by_name.values())


def common(one: str, other: str) -> str:
    """The word that is right for both: the more general one of two."""
    if one == other:
        return one
    found = words.combine((one, other)) if not {one, other} & {"shm", "none", "mixed"} else "unknown"
    return "unknown" if found == "mixed" else found


def _weaker(layer: Layer, word: str) -> Layer:
    if word != "unknown":
        return layer._replace(verdict=word)
    status = layer.status if layer.status == "aborted" else "undecided"
    return layer._replace(
        verdict=word, status=status, pairs=(), reasons=(), remarks=(), next_step=None if status == "aborted" else _STEP
    )
