"""The way between two ports as a document for other programs (schema ibkit.path/1) and as rows. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ibkit.collectors.path import Path
from ibkit.export.resolve import step_document
from ibkit.model.counters import PortCounters
from ibkit.model.ends import EndPort
from ibkit.model.fabric import End, Fabric
from ibkit.model.ids import Gid
from ibkit.model.rates import rate_gbps, width_speed
from ibkit.model.resolution import Step
from ibkit.model.routes import Hop, Route, describe
from ibkit.model.talk import NO, UNKNOWN, TalkCheck, can_talk, least_mtu_bytes, least_rate_gbps, port_at, same_way

SCHEMA = "ibkit.path/1"

HOP_COLUMNS = (
    "direction", "hop", "guid", "name", "port", "label", "state", "errors", "peer_guid", "peer_name", "peer_port",
    "peer_label", "peer_state", "peer_errors", "width", "speed", "rate_gbps", "mtu_bytes",
)  # fmt: skip
CHECK_COLUMNS = ("check", "answer", "what was seen")
STEP_COLUMNS = ("#", "out of", "port", "into", "port", "link", "MTU", "state", "errors out", "errors in")


def path_document(path: Path, routed: Sequence[Step] = ()) -> dict[str, Any]:
    """All of it, ``routed`` the tests of a path across a router. ``hops`` leads from A to B, ``back`` from B to A."""
    pair = path.pair
    return {
        "schema": SCHEMA,
        "can_talk": can_talk(path.checks),
        "a": _end(pair.a),
        "b": _end(pair.b),
        "lid": path.lid,
        "router": None if pair.router is None else _end(pair.router),
        "same_way": same_way(pair),
        "checks": [_check(check) for check in path.checks],
        "route": _route(pair.fabric, pair.there),
        "hops": _hops(path, pair.there),
        "route_back": _route(pair.fabric, pair.back),
        "back": _hops(path, pair.back),
        "routed": [step_document(step) for step in routed],
        "problems": [problem._asdict() for problem in path.problems],
    }


def hop_rows(path: Path) -> Iterator[list[Any]]:
    """One row for each hop of both directions in the order of HOP_COLUMNS; errors are ``NAME=COUNT`` words, ``none``
    where it is known that there are none.
    """
    for direction, route in (("there", path.pair.there), ("back", path.pair.back)):
        for number, hop in enumerate(_hops(path, route), 1):
            cells = {**hop, "errors": _words(hop["errors"]), "peer_errors": _words(hop["peer_errors"])}
            yield [direction, number, *(cells[column] for column in HOP_COLUMNS[2:])]


def check_rows(path: Path) -> Iterator[list[str]]:
    """One row for each check in the order of CHECK_COLUMNS."""
    for check in path.checks:
        yield [check.id.replace("_", " "), check.answer, check.text]


def step_rows(path: Path, route: Route) -> Iterator[list[Any]]:
    """A way for people, in the order of STEP_COLUMNS. The panel's label stands beside the port's number."""
    fabric = path.pair.fabric
    for number, hop in enumerate(route.hops, 1):
        out, into = port_at(fabric, hop.exit), port_at(fabric, hop.entry)
        states = list(dict.fromkeys((out.state, into.state)))
        yield [
            number, _name(fabric, hop.exit), _number(out.number, out.label), _name(fabric, hop.entry),
            _number(into.number, into.label), width_speed(out.width, out.speed), out.mtu_bytes,
            None if None in states else "/".join(map(str, states)), _shown(path, hop.exit), _shown(path, hop.entry),
        ]  # fmt: skip


def sentence(path: Path) -> str:
    """The verdict for people, with the checks that decide it."""
    a, b = ((one.name or "").strip() or one.given for one in path.pair.ends)
    verdict = can_talk(path.checks)
    if verdict:
        return f"{a} can talk to {b}"
    deciding = NO if verdict is False else UNKNOWN
    names = ", ".join(check.id.replace("_", " ") for check in path.checks if check.answer == deciding)
    if verdict is False:
        return f"{a} cannot talk to {b}: {names}"
    return f"whether {a} can talk to {b} is not settled: {names}"


def end_row(one: EndPort) -> list[Any]:
    """Name, port, LIDs and port GUID of an end."""
    lids = None if not one.lid else str(one.lid) if len(one.lids) == 1 else f"{one.lids[0]}-{one.lids[-1]}"
    return [one.name or one.given, one.end.port if one.end else None, lids, one.port_guid, one.type]


def _end(one: EndPort) -> dict[str, Any]:
    return {
        "given": one.given,
        "guid": None if one.end is None else str(one.end.guid),
        "port": None if one.end is None else one.end.port,
        "port_guid": None if one.port_guid is None else str(one.port_guid),
        "lid": one.lid,
        "lmc": one.lmc,
        "name": one.name,
        "type": one.type,
        "subnet_prefix": None if one.subnet_prefix is None else str(Gid(one.subnet_prefix << 64))[:19],
    }


def _check(check: TalkCheck) -> dict[str, Any]:
    return {
        "id": check.id,
        "answer": check.answer,
        "text": check.text,
        "evidence": [{"text": fact.text, "source": fact.source, "line": fact.line} for fact in check.evidence],
    }


def _route(fabric: Fabric, route: Route | None) -> dict[str, Any] | None:
    if route is None:
        return None
    return {
        "result": route.result,
        "text": describe(fabric, route),
        "at": {"guid": str(route.at.guid), "port": route.at.port},
        "exit_port": route.exit_port,
        "mtu_bytes": least_mtu_bytes(fabric, route),
        "rate_gbps": least_rate_gbps(fabric, route),
    }


def _hops(path: Path, route: Route | None) -> list[dict[str, Any]]:
    return [] if route is None else [_hop(path, hop) for hop in route.hops]


def _hop(path: Path, hop: Hop) -> dict[str, Any]:
    fabric = path.pair.fabric
    out = port_at(fabric, hop.exit)
    return {
        **_side(path, hop.exit, ""),
        **_side(path, hop.entry, "peer_"),
        "width": out.width,
        "speed": out.speed,
        "rate_gbps": rate_gbps(out.width, out.speed),
        "mtu_bytes": out.mtu_bytes,
    }


def _side(path: Path, end: End, prefix: str) -> dict[str, Any]:
    fabric = path.pair.fabric
    port = port_at(fabric, end)
    node = fabric.nodes.get(end.guid)
    return {
        f"{prefix}guid": str(end.guid),
        f"{prefix}name": node.name if node else None,
        f"{prefix}type": node.type if node else None,
        f"{prefix}port": end.port,
        f"{prefix}label": port.label,
        f"{prefix}state": port.state,
        f"{prefix}errors": _errors(path.counters.get(end)),
    }


def _errors(counters: PortCounters | None) -> dict[str, int | None] | None:
    """The error counters above zero, null for one that is and whose value is lost; None where nothing is known."""
    if counters is None:
        return None
    return {**counters.errors, **dict.fromkeys(counters.unread)}


def _words(errors: dict[str, int | None] | None) -> str | None:
    words = (f"{name}={'?' if n is None else n}" for name, n in (errors or {}).items())
    return None if errors is None else " ".join(words) or "none"


def _shown(path: Path, end: End) -> str | None:
    return _words(_errors(path.counters.get(end)))


def _name(fabric: Fabric, end: End) -> str:
    node = fabric.nodes.get(end.guid)
    return ((node.name or "").strip() if node else "") or str(end.guid)


def _number(number: int, label: str | None) -> str:
    return f"{number} ({label})" if label else str(number)
