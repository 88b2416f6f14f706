"""Whether a verdict meets what was required (``--require``).

``rdma`` is verbs of any kind: InfiniBand, RoCE, iWARP. Omni-Path, EFA and Slingshot have words of their own and meet
only those; IPoIB is TCP and meets none. A job that moved nothing between hosts shows nothing of the network, so that it
cannot be decided; one that was aborted before it moved anything fails.
"""

from __future__ import annotations

from ibkit.model.mpi import JobVerdict, Layer
from ibkit.transport.answer import is_carrier
from ibkit.transport.words import LINK_LAYERS

#: What can be required.
WORDS = ("ib", "roce", "iwarp", "rdma", "opa", "efa", "slingshot")


def met(answer: JobVerdict, wanted: str) -> bool | None:
    """Whether each layer and run that moved data between hosts did it by ``wanted``; None where that is not known.

    Gloo beside NCCL or MPI coordinates the ranks and is not asked.
    """
    carriers = [layer for layer in answer.layers if layer.layer != "gloo"] or list(answer.layers)
    between = [layer for layer in carriers if layer.verdict != "shm"]
    answers = {_layer_meets(layer, wanted) if is_carrier(layer) else None for layer in between}
    if False in answers:
        return False
    return None if None in answers or not answers else True


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
