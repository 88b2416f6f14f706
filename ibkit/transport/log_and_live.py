"""What a job's own output says, and what its ranks were seen to move: one answer.

The output names what each rank chose, so it is the stronger one. What was seen settles what it leaves open, and is
cited beside it where both agree. Where they contradict each other nobody guesses: the output stands if a line of it
names the path or the choice, and the contradiction is told; else it is not decided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ibkit.model.mpi import Evidence, JobVerdict, Layer, Reason
from ibkit.parsers.base import Problem
from ibkit.transport import words
from ibkit.transport.answer import beside, combine, is_carrier
from ibkit.transport.evidence import Book, Mark

_OPEN = ("unknown", "none")
_OWN = {"tasks": "mpi"}
_DECIDING = ("path", "selection")
#: The process that has printed a line of Open MPI (``[n01:4711]``), UCX (``[17...] [n01:4711:0]``) or NCCL
#: (``n01:4711:4720 [0]``).
_PROCESS = re.compile(r"(?:\[\d{1,12}\.\d{1,9}\] )?\[?[\w.-]{1,253}:(\d{1,10})(?:\]| {0,8}:\d{1,10}[\] ])")
_CONTRADICTION = (
    "its output says {told}, but what moved in a window of time was {seen}: look at the running job itself "
    "(ibkit check-mpi-transport pid:N), and at which lines of the output are this job's"
)


def joined(
    told: JobVerdict, seen: Sequence[JobVerdict], ranks: Mapping[str, frozenset[int]] = MappingProxyType({})
) -> JobVerdict:
    """The answer from the output with what the looks at the running job add to it.

    ``ranks`` are the processes of each run that was seen, by its layer's ``process``.
    """
    runs, problems = _by_run(seen)
    if not runs:
        if told.status == "undecided":
            problems += [problem for one in seen for problem in one.problems]
        return told._replace(problems=(*told.problems, *dict.fromkeys(problems)))
    book = Book()
    _cite(told, book)
    layers = list(told.layers)
    for live in runs:
        (layer,) = live.layers
        # A program that MPI is linked into has no library of it.
        same = [n for n, one in enumerate(told.layers) if one.layer in (layer.layer, _OWN.get(layer.layer))]
        if len(same) > 1 or (not same and any(one.verdict not in _OPEN and is_carrier(one) for one in told.layers)):
            return told  # which of the runs was seen, or whether the layers are two, is not known
        if same and len(runs) > 1 and layers[same[0]].verdict in _OPEN:
            said = ", then ".join(one.verdict for one in runs)
            problems = [Problem("contradiction", f"looks at the running job saw {said}, of several runs: not used")]
            return told._replace(problems=(*told.problems, *problems))
        layer = _renumbered(layer, _cite(live, book))
        if not same:
            layers.append(layer._replace(job=len(layers) + 1) if len(runs) > 1 else layer)
            continue
        settled, contradiction = _settled(layers[same[0]], layer, told.evidence)
        if contradiction and _is_another_run(layers[same[0]], told.evidence, ranks.get(layer.process or "")):
            layers.append(layer._replace(job=len(layers) + 1))
        else:
            layers[same[0]] = settled._replace(evidence=tuple(dict.fromkeys((*settled.evidence, *layer.evidence))))
            problems += contradiction
    layers = [beside(layer, layers) for layer in layers]
    return combine(told.target, layers, book, [*told.problems, *problems])


def _by_run(seen: Sequence[JobVerdict]) -> tuple[list[JobVerdict], list[Problem]]:
    """Of each run the last look that decides, if no other one says something else; of runs that agree one. That nothing
    moved is not against it.
    """
    looks: dict[str | None, list[JobVerdict]] = {}
    for one in seen:
        if len(one.layers) == 1 and one.layers[0].verdict not in _OPEN:
            looks.setdefault(one.layers[0].process, []).append(one)
    found = []
    for deciding in looks.values():
        moved = [one for one in deciding if one.verdict != "shm"] or deciding
        if len({one.verdict for one in moved}) > 1:
            said = ", then ".join(one.verdict for one in moved)
            return [], [Problem("contradiction", f"looks at the running job saw {said}: they are not used")]
        found.append(moved[-1])
    return found if len({one.verdict for one in found}) > 1 else found[-1:], []


def _is_another_run(layer: Layer, evidence: Sequence[Evidence], ranks: frozenset[int] | None) -> bool:
    """Whether the lines that decide the layer are of processes that the run which was seen does not have: a script may
    have started several, and shown the output of one.
    """
    lines = [one.text for one in evidence if one.evidence_class in _DECIDING and one.transport == layer.verdict]
    found = [_PROCESS.match(line) for line in lines]
    return bool(ranks and lines) and all(one is not None and int(one[1]) not in (ranks or ()) for one in found)


def _settled(told: Layer, seen: Layer, evidence: Sequence[Evidence]) -> tuple[Layer, list[Problem]]:
    if told.verdict in _OPEN:
        kept = told._replace(
            verdict=seen.verdict, hosts=told.hosts or seen.hosts, ranks=told.ranks or seen.ranks,
            pairs=told.pairs or seen.pairs, next_step=None,
        )  # fmt: skip
        if told.status == "aborted":  # the verdict is what it used until then
            return kept, []
        return kept._replace(status=seen.status, reasons=told.reasons or seen.reasons), []
    if not is_carrier(told) and told.verdict == seen.verdict:
        return told._replace(status=seen.status, reasons=told.reasons or seen.reasons, next_step=None), []
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
        reasons=tuple(_cited(reason, ids) for reason in layer.reasons),
        remarks=tuple(_cited(remark, ids) for remark in layer.remarks),
        evidence=tuple(ids[id] for id in layer.evidence),
    )


def _cited(reason: Reason, ids: Mapping[int, int]) -> Reason:
    return reason._replace(evidence=tuple(ids[id] for id in reason.evidence))
