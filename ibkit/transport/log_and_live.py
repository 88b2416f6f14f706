"""What a job's own output says, and what its ranks were seen to move: one answer.

The output names what each rank chose, so it is the stronger one. What was seen settles what it leaves open, and is
cited beside it where both agree. Where they contradict each other nobody guesses: the output stands if a line of it
names the path or the choice, and the contradiction is told; else it is not decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ibkit.model.mpi import Evidence, JobVerdict, Layer
from ibkit.parsers.base import Problem
from ibkit.transport import words
from ibkit.transport.answer import combine
from ibkit.transport.evidence import Book, Mark

_OPEN = ("unknown", "none")
_DECIDING = ("path", "selection")
_CONTRADICTION = (
    "its output says {told}, but what moved in a window of time was {seen}: look at the running job itself "
    "(ibkit check-mpi-transport pid:N), and at which lines of the output are this job's"
)


def joined(told: JobVerdict, seen: Sequence[JobVerdict]) -> JobVerdict:
    """The answer from the output with what the looks at the running job add to it."""
    live, problems = _agreed(seen)
    if live is None:
        if told.status == "undecided":
            problems += [problem for one in seen for problem in one.problems]
        return told._replace(problems=(*told.problems, *dict.fromkeys(problems)))
    book = Book()
    _cite(told, book)
    (layer,) = live.layers
    layer = _renumbered(layer, _cite(live, book))
    same = [number for number, one in enumerate(told.layers) if one.layer == layer.layer]
    if len(same) > 1 or (not same and any(one.verdict not in _OPEN for one in told.layers)):
        return told  # which of the runs was seen, or whether the layers are two, is not known
    layers = list(told.layers)
    if same:
        layers[same[0]], contradiction = _settled(layers[same[0]], layer, told.evidence)
        problems += contradiction
    else:
        layers.append(layer)
    return combine(told.target, layers, book, [*told.problems, *problems])


def _agreed(seen: Sequence[JobVerdict]) -> tuple[JobVerdict | None, list[Problem]]:
    """The last look that decides, if no other one says something else. That nothing moved is not against it."""
    deciding = [one for one in seen if len(one.layers) == 1 and one.layers[0].verdict not in _OPEN]
    moved = [one for one in deciding if one.verdict != "shm"] or deciding
    if len({one.verdict for one in moved}) > 1:
        said = ", then ".join(one.verdict for one in moved)
        return None, [Problem("contradiction", f"looks at the running job saw {said}: they are not used")]
    return (moved[-1] if moved else None), []


def _settled(told: Layer, seen: Layer, evidence: Sequence[Evidence]) -> tuple[Layer, list[Problem]]:
    if told.verdict in _OPEN:
        kept = told._replace(
            verdict=seen.verdict, hosts=told.hosts or seen.hosts, ranks=told.ranks or seen.ranks,
            pairs=told.pairs or seen.pairs, next_step=None,
        )  # fmt: skip
        if told.status == "aborted":  # the verdict is what it used until then
            return kept, []
        return kept._replace(status=seen.status, reasons=told.reasons or seen.reasons), []
    if told.verdict in ("mixed", seen.verdict):
        return told, []
    if seen.verdict != "shm" and words.combine((told.verdict, seen.verdict)) == told.verdict:
        return (_refined(told, seen.verdict) if {*told.hosts} <= {*seen.hosts} else told), []
    problem = Problem("contradiction", _CONTRADICTION.format(told=told.verdict, seen=seen.verdict))
    if any(one.evidence_class in _DECIDING and one.transport == told.verdict for one in evidence):
        return told, [problem]
    open_again = told._replace(verdict="unknown", status="undecided", pairs=(), reasons=(), next_step=problem.text)
    return open_again, [problem]


def _refined(told: Layer, word: str) -> Layer:
    """With the link layer, which the output does not tell."""
    pairs = (pair._replace(transport=word) if pair.transport == told.verdict else pair for pair in told.pairs)
    return told._replace(verdict=word, pairs=tuple(pairs))


def _cite(answer: JobVerdict, book: Book) -> dict[int, int]:
    """Its evidence with the numbers that it has there."""
    return {
        one.id: book.cite(
            Mark(0, one.line, one.file, one.text, one.host, one.rank), one.evidence_class, one.transport
        )
        for one in answer.evidence
    }  # fmt: skip


def _renumbered(layer: Layer, ids: Mapping[int, int]) -> Layer:
    return layer._replace(
        pairs=tuple(pair._replace(evidence=tuple(ids[id] for id in pair.evidence)) for pair in layer.pairs),
        reasons=tuple(reason._replace(evidence=tuple(ids[id] for id in reason.evidence)) for reason in layer.reasons),
    )
