"""A job's verdict as a document: schema ibkit.mpi/1, and one CSV row per pair. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ibkit.model.mpi import Evidence, JobVerdict, Layer, Pair

SCHEMA = "ibkit.mpi/1"

COLUMNS = (
    "target", "job", "layer", "runtime", "version", "verdict", "status", "a", "b", "transport", "ranks", "evidence",
)  # fmt: skip


def mpi_document(answer: JobVerdict) -> dict[str, Any]:
    """The answer as JSON-like data."""
    return {
        "schema": SCHEMA,
        "target": answer.target,
        "verdict": answer.verdict,
        "status": answer.status,
        "layers": [_layer(layer) for layer in answer.layers],
        "evidence": [_evidence(evidence) for evidence in answer.evidence],
        "next_step": answer.next_step,
        "problems": [problem._asdict() for problem in answer.problems],
    }


def _layer(layer: Layer) -> dict[str, Any]:
    return {
        "layer": layer.layer,
        "job": layer.job,
        "runtime": layer.runtime,
        "version": layer.version,
        "verdict": layer.verdict,
        "status": layer.status,
        "hosts": list(layer.hosts),
        "ranks": layer.ranks,
        "pairs": [
            {
                "a": pair.a,
                "b": pair.b,
                "ranks": [list(ranks) for ranks in pair.ranks],
                "transport": pair.transport,
                "evidence": list(pair.evidence),
            }
            for pair in layer.pairs
        ],
        "reasons": [
            {"id": reason.id, "text": reason.text, "evidence": list(reason.evidence), "fix": reason.fix}
            for reason in layer.reasons
        ],
        "next_step": layer.next_step,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "id": evidence.id,
        "class": evidence.evidence_class,
        "file": evidence.file,
        "line": evidence.line,
        "host": evidence.host,
        "rank": evidence.rank,
        "transport": evidence.transport,
        "text": evidence.text,
    }


def mpi_rows(answer: JobVerdict) -> Iterator[list[Any]]:
    """One row for each pair; a layer without pairs has one row without hosts."""
    places = {evidence.id: f"{evidence.file}:{evidence.line}" for evidence in answer.evidence}
    for layer in answer.layers:
        head = [answer.target, layer.job, layer.layer, layer.runtime, layer.version, layer.verdict, layer.status]
        for pair in layer.pairs:
            yield [*head, pair.a, pair.b, pair.transport, _ranks(pair), " ".join(places[id] for id in pair.evidence)]
        if not layer.pairs:
            yield [*head, None, None, None, None, None]


def _ranks(pair: Pair) -> str:
    return " ".join(f"{a}-{b}" for a, b in pair.ranks)
