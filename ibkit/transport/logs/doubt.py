"""A log's last line that has no end: it may be whole, and it may be cut. A script's command among several: it may have
written the log, and it may not. The answer is what stands either way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ibkit.model.mpi import Evidence, Layer
from ibkit.transport import words
from ibkit.transport.evidence import Book

_SCRIPT_STEP = (
    "{place} sets what another command of that file does not: look which of them wrote this log, or keep each one's "
    "output in a file of its own, with its command line in front (set -x)"
)
_STEP = "the log's last line has no end, and what it tells depends on that: give the whole log"


def agreed(layers: Sequence[Layer], others: Sequence[Layer]) -> Iterator[Layer]:
    """The layers without what the last line tells if it is whole, as far as those with it do not differ."""
    by_name = {(other.layer, other.job): other for other in others}
    for layer in layers:
        other = by_name.pop((layer.layer, layer.job), None)
        word = "unknown" if other is None else common(layer.verdict, other.verdict)
        yield layer if word == layer.verdict else _weaker(layer, word)
    yield from (_weaker(other, "unknown") for other in by_name.values())


def settled(layers: Sequence[Layer], book: Book, others: Sequence[Layer], others_book: Book) -> Iterator[Layer]:
    """The layers, judged by what one of a script's commands sets, as far as those by another one's say the same."""
    by_name = {(other.layer, other.job): other for other in others}
    for layer in layers:
        other = by_name.get((layer.layer, layer.job), layer)
        if (layer.verdict, layer.status) == (other.verdict, other.status):
            yield layer
            continue
        common_ids = {reason.id for reason in layer.reasons} & {reason.id for reason in other.reasons}
        lines = [*_settings(layer, book, common_ids), *_settings(other, others_book, common_ids)]
        step = _SCRIPT_STEP.format(place=f"{lines[0].file}:{lines[0].line}") if lines else layer.next_step
        layer = layer if layer.verdict == other.verdict else _weaker(layer, "unknown")
        yield layer._replace(
            status=layer.status if layer.status == "aborted" else "undecided",
            reasons=tuple(reason for reason in layer.reasons if reason.id in common_ids),
            next_step=step,
        )


def _settings(layer: Layer, book: Book, but: Collection[str]) -> Iterator[Evidence]:
    """The settings that prove reasons of a layer, ``but`` these."""
    for reason in layer.reasons:
        for number in reason.evidence if reason.id not in but else ():
            if (line := book.evidence[number - 1]).evidence_class == "configuration":
                yield line


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
