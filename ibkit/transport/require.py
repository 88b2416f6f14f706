"""Whether a verdict meets what was required (``--require``).

``rdma`` is verbs of any kind: InfiniBand, RoCE, iWARP. Omni-Path, EFA and Slingshot have words of their own and meet
only those; IPoIB is TCP and meets none. A job that moved nothing between hosts shows nothing of the network, so that it
cannot be decided; one that was aborted fails. What was not read, and ranks that said nothing, may have used something
else: they leave open what all the rest meets, and do not save what is refuted already.
"""

from __future__ import annotations

from ibkit.model.mpi import JobVerdict, Layer
from ibkit.parsers.base import Problem
from ibkit.transport.answer import is_carrier
from ibkit.transport.words import LINK_LAYERS

#: What can be required.
WORDS = ("ib", "roce", "iwarp", "rdma", "opa", "efa", "slingshot")


#: Problems that hide no transport: what they leave out is counted, or told together.
_WHOLE = ("many-pairs", "many-channels", "many-runs")


def met(answer: JobVerdict, wanted: str) -> bool | None:
    """Whether each layer and run that moved data between hosts did it by ``wanted``; None where that is not known.

    Gloo beside NCCL or MPI coordinates the ranks and is not asked.
    """
    answers = {_carrier_meets(layer, wanted) for layer in _between(answer)}
    if answer.status == "aborted" or False in answers:
        return False
    return None if None in answers or not answers or hidden(answer) else True


def undecided(answer: JobVerdict, wanted: str) -> tuple[Layer, ...]:
    """The layers and runs of which it is not known whether they meet ``wanted``."""
    return tuple(layer for layer in _between(answer) if _carrier_meets(layer, wanted) is None)


def hidden(answer: JobVerdict) -> tuple[Problem, ...]:
    """The problems behind which another transport may be: something was not read, or not all ranks spoke.

    One of two ranks that says what is between their hosts says it for the other one, too.
    """
    is_of_two = all(layer.ranks == 2 and any(pair.a != pair.b for pair in layer.pairs) for layer in answer.layers)
    return tuple(
        problem
        for problem in answer.problems
        if problem.kind not in _WHOLE and not (problem.kind == "silent-ranks" and is_of_two)
    )


def _between(answer: JobVerdict) -> list[Layer]:
    """What carried data, but within a host."""
    carriers = [layer for layer in answer.layers if layer.layer != "gloo"] or list(answer.layers)
    return [layer for layer in carriers if layer.verdict != "shm"]


def _carrier_meets(layer: Layer, wanted: str) -> bool | None:
    return _layer_meets(layer, wanted) if is_carrier(layer) else None


def _layer_meets(layer: Layer, wanted: str) -> bool | None:
    if layer.verdict != "mixed":
        return _word_meets(layer.verdict, wanted)
    words = {pair.transport for pair in layer.pairs if pair.a != pair.b} - {"shm"}
    answers = {_word_meets(word, wanted) for word in words}
    if False in answers or wanted != "rdma":
        return False  # of several transports at most one is the one that is wanted
    return True if answers == {True} and len(words) > 1 else None


def _word_meets(word: str, wanted: str) -> bool | None:
    if word == wanted or (wanted == "rdma" and word in LINK_LAYERS):
        return True
    if word == "unknown" or (word == "rdma" and wanted in LINK_LAYERS):
        return None
    return False
