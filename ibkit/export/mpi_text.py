"""A job's verdict for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ibkit.display import clean
from ibkit.export.mpi_sentence import LAYERS, sentence
from ibkit.model.mpi import Evidence, JobVerdict, Layer, Pair

#: So many pairs, and lines of evidence, are shown to people; --json has all.
_SHOWN_PAIRS = 12
_SHOWN_EVIDENCE = 12


def lines(answer: JobVerdict) -> Iterator[str]:
    """The answer for people: the verdict in one sentence first."""
    yield f"{clean(answer.target)}: {sentence(answer)}"
    evidence = {item.id: item for item in answer.evidence}
    for layer in answer.layers:
        yield ""
        yield _heading(layer)
        yield from _pairs(layer)
        for reason in layer.reasons:
            yield f"  reason {reason.id}: {reason.text}"
            yield f"    fix: {reason.fix}"
            yield from (f"    {place(evidence[id])}" for id in reason.evidence[:2] if id in evidence)
        if layer.next_step and layer.status == "undecided":
            yield f"  next step: {clean(layer.next_step, 600)}"
    if answer.evidence:
        yield ""
        yield "evidence:"
        for item in answer.evidence[:_SHOWN_EVIDENCE]:
            yield f"  [{item.evidence_class}] {place(item)}"
        if len(answer.evidence) > _SHOWN_EVIDENCE:
            yield f"  ... and {len(answer.evidence) - _SHOWN_EVIDENCE} more lines; --json lists all"
    if answer.next_step and not any(layer.next_step == answer.next_step for layer in answer.layers):
        yield ""
        yield f"next step: {clean(answer.next_step, 600)}"


def _heading(layer: Layer) -> str:
    runtime = clean(" ".join(word for word in (layer.runtime, layer.version) if word))
    name = runtime or LAYERS.get(layer.layer, layer.layer)
    run = f" run {layer.job}" if layer.job > 1 else ""
    ranks = "ranks not known" if layer.ranks is None else f"{layer.ranks} rank{'s' if layer.ranks != 1 else ''}"
    hosts = ", ".join(clean(host) for host in layer.hosts[:6]) or "hosts not known"
    if len(layer.hosts) > 6:
        hosts += f" and {len(layer.hosts) - 6} more"
    return f"{name}{run} ({ranks}; {hosts}): {layer.verdict}, {layer.status}"


def _pairs(layer: Layer) -> Iterator[str]:
    """Between hosts first, and of these the rarest transports: what differs is what is looked for."""
    counts = Counter(pair.transport for pair in layer.pairs if pair.a != pair.b)
    pairs = sorted(layer.pairs, key=lambda pair: (pair.a == pair.b, counts[pair.transport]))
    for pair in pairs[:_SHOWN_PAIRS]:
        yield f"  {_pair(pair)}"
    if len(pairs) > _SHOWN_PAIRS:
        rest = Counter(pair.transport for pair in pairs[_SHOWN_PAIRS:])
        told = ", ".join(f"{count} {transport}" for transport, count in sorted(rest.items()))
        yield f"  ... and {len(pairs) - _SHOWN_PAIRS} more pairs: {told}"


def _pair(pair: Pair) -> str:
    where = f"{clean(pair.a)} - {clean(pair.b)}" if pair.a != pair.b else f"on {clean(pair.a)}"
    ranks = " ".join(f"{a}-{b}" for a, b in pair.ranks[:8])
    more = f" and {len(pair.ranks) - 8} more" if len(pair.ranks) > 8 else ""
    return f"{where}: {pair.transport}" + (f" (ranks {ranks}{more})" if ranks else "")


def place(evidence: Evidence) -> str:
    """``file:line: text``."""
    return f"{clean(evidence.file)}:{evidence.line}: {clean(evidence.text.strip(), 160)}"
