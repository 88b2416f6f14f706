"""Answers as a document for other programs (schema ibkit.resolve/1) and as rows. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterator

from ibkit.model.path_record import PathRecord
from ibkit.model.resolution import Answer, Claim, Resolution, RoceChoice, SourcePort, Step
from ibkit.parsers.erased import Any

SCHEMA = "ibkit.resolve/1"

COLUMNS = (
    "query", "status", "gid", "pkey", "dlid", "sl", "mtu_bytes", "rate_gbps", "hop_limit", "name", "via", "age_seconds",
    "slid", "sgid",
)  # fmt: skip


def resolve_document(resolution: Resolution) -> dict[str, Any]:
    """All answers in the order of the queries."""
    return {
        "schema": SCHEMA,
        "answers": [_answer(answer) for answer in resolution.answers],
        "problems": [problem._asdict() for problem in resolution.problems],
    }


def resolve_rows(resolution: Resolution) -> Iterator[list[Any]]:
    """One row per answer in the order of COLUMNS."""
    for answer in resolution.answers:
        path = answer.path or PathRecord()
        yield [
            answer.query, answer.status, answer.gid, answer.pkey, path.dlid, path.sl, path.mtu_bytes,
            number(path.rate_gbps), path.hop_limit, answer.name, " ".join(answer.told_by) or None, answer.age_seconds,
            path.slid, path.sgid,
        ]  # fmt: skip


def number(value: float | None) -> float | int | None:
    """A whole number without a point."""
    return int(value) if value is not None and value == int(value) else value


def path_document(path: PathRecord | None) -> dict[str, Any] | None:
    """A path record."""
    if path is None:
        return None
    return {
        "sgid": text(path.sgid),
        "dgid": text(path.dgid),
        "slid": path.slid,
        "dlid": path.dlid,
        "pkey": text(path.pkey),
        "sl": path.sl,
        "mtu_bytes": path.mtu_bytes,
        "rate_gbps": number(path.rate_gbps),
        "hop_limit": path.hop_limit,
        "life_seconds": path.life_seconds,
        "flow_label": path.flow_label,
        "traffic_class": path.traffic_class,
        "reversible": path.reversible,
        "needs_grh": path.is_routed,
    }


def text(value: object) -> str | None:
    """The canonical text of a GID, a GUID or a P_Key."""
    return None if value is None else str(value)


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "query": answer.query,
        "kind": answer.kind,
        "status": answer.status,
        "gid": text(answer.gid),
        "pkey": text(answer.pkey),
        "guid": text(answer.guid),
        "lid": answer.lid,
        "name": answer.name,
        "path": path_document(answer.path),
        "source_port": _source_port(answer.source_port),
        "roce": _roce(answer.roce),
        "routed": [step_document(step) for step in answer.routed] or None,
        "sources": [_claim(claim) for claim in answer.claims],
        "problems": [problem._asdict() for problem in answer.problems],
    }


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "via": claim.via,
        "age_seconds": claim.age_seconds,
        "detail": claim.detail,
        "gid": text(claim.gid),
        "pkey": text(claim.pkey),
        "state": claim.state,
        "old": claim.is_old,
        "path": path_document(claim.path),
        "source": claim.source,
        "line": claim.line,
    }


def _source_port(port: SourcePort | None) -> dict[str, Any] | None:
    if port is None:
        return None
    return {
        "device": port.device or None,
        "port": port.port or None,
        "transport": port.transport,
        "gid": text(port.gid),
        "gid_index": port.gid_index,
        "lid": port.lid,
    }


def _roce(choice: RoceChoice | None) -> dict[str, Any] | None:
    if choice is None:
        return None
    return {
        "gid_index": choice.gid_index,
        "gid": text(choice.gid),
        "type": choice.type,
        "why": choice.why,
        "libraries": [
            {"library": pick.runtime, "takes": pick.gid_index, "setting": pick.setting, "why": pick.why}
            for pick in choice.picks
        ],
    }


def step_document(step: Step) -> dict[str, Any]:
    """One of the tests of a path across a router."""
    return {"step": step.number, "what": step.what, "state": step.state, "text": step.text, "needs": step.needs}
