"""A job's verdict as a document: schema ibkit.mpi/1, and one CSV row per pair. See docs/json.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ibkit.export.mpi_evidence import evidence_of, owners
from ibkit.export.mpi_steps import layer_step
from ibkit.model.mpi import Evidence, JobVerdict, Layer, Pair, Reason

SCHEMA = "ibkit.mpi/1"

COLUMNS = (
    "target", "job", "layer", "runtime", "version", "verdict", "status", "a", "b", "transport", "ranks", "evidence",
    "reasons",
)  # fmt: skip


def mpi_document(answer: JobVerdict, require: tuple[str, bool | None] | None = None) -> dict[str, Any]:
    """The answer as JSON-like data; ``require``: what was required, and whether it is met."""
    steps = [layer_step(layer) for layer in answer.layers]
    owner = owners(answer.layers)
    return {
        "schema": SCHEMA,
        "target": answer.target,
        "verdict": answer.verdict,
        "status": answer.status,
        "layers": [_layer(layer, step) for layer, step in zip(answer.layers, steps, strict=True)],
        "evidence": [_evidence(evidence, owner.get(evidence.id)) for evidence in answer.evidence],
        "next_step": answer.next_step or next(filter(None, steps), None),
        "require": {"wanted": require[0], "met": require[1]} if require else None,
        "problems": [problem._asdict() for problem in answer.problems],
    }


def _layer(layer: Layer, next_step: str | None) -> dict[str, Any]:
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
        "reasons": [_reason(reason) for reason in layer.reasons],
        "remarks": [_reason(remark) for remark in layer.remarks],
        "next_step": next_step,
        "evidence": list(evidence_of(layer)),
    }


def _reason(reason: Reason) -> dict[str, Any]:
    return {
        "id": reason.id,
        "text": reason.text,
        "evidence": list(reason.evidence),
        "fix": reason.fix,
        "hosts": list(reason.hosts),
        "ranks": list(reason.ranks),
    }


def _evidence(evidence: Evidence, owner: Layer | None) -> dict[str, Any]:
    return {
        "id": evidence.id,
        "class": evidence.evidence_class,
        "file": evidence.file,
        "line": evidence.line or None,
        "host": evidence.host,
        "rank": evidence.rank,
        "transport": evidence.transport,
        "text": evidence.text,
        "layer": owner.layer if owner else None,
        "job": owner.job if owner else None,
    }


def mpi_rows(answer: JobVerdict) -> Iterator[list[Any]]:
    """One row for each pair; a layer without pairs, and an answer without layers, has one row without hosts."""
    places = {evidence.id: _quoted(evidence.place) for evidence in answer.evidence}
    if not answer.layers:
        yield [answer.target, *[None] * 4, answer.verdict, answer.status, *[None] * 6]
    for layer in answer.layers:
        head = [answer.target, layer.job, layer.layer, layer.runtime, layer.version, layer.verdict, layer.status]
        why = " ".join(reason.id for reason in layer.reasons)
        for pair in layer.pairs:
            lines = " ".join(places[id] for id in pair.evidence)
            yield [*head, pair.a, pair.b, pair.transport, _ranks(pair), lines, why]
        if not layer.pairs:
            yield [*head, None, None, None, None, None, why]


def _quoted(place: str) -> str:
    """A place among others, between which there are blanks: in double quotes where it has blanks or quotes itself, so
    that a shell's rules take them apart again.
    """
    if not re.search(r"[\s\"'\\]", place):
        return place
    return '"' + re.sub(r'(["\\])', r"\\\1", place) + '"'


def _ranks(pair: Pair) -> str:
    return " ".join(f"{a}-{b}" for a, b in pair.ranks)
