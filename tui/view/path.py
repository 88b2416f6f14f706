"""The way between two ports: the verdict with what decides it, and the hops of both directions."""

from __future__ import annotations

from typing import NamedTuple

from ibkit.collectors.path import Path
from ibkit.export.path import sentence, step_rows
from ibkit.model.fabric import End
from ibkit.model.routes import Hop, Route, describe
from ibkit.model.talk import NO, YES, can_talk, least_mtu_bytes, least_rate_gbps, port_at, same_way
from ibkit.tui.view.level import CRITICAL, OK, UNKNOWN, WARNING, word
from ibkit.tui.view.lines import BLANK, Line, facts, line, marked, span
from ibkit.tui.view.remarks import Remark
from ibkit.tui.view.subnet import SubnetView
from ibkit.tui.view.table import Column, Row, Table

COLUMNS = (
    Column("Way", drop=1),
    Column("#", right=True),
    Column("Out of", flexible=True, least=16),
    Column("Port", right=True),
    Column("Into", flexible=True, least=16),
    Column("Port", right=True),
    Column("Link", tinted=True),
    Column("MTU", right=True, drop=3),
    Column("State", drop=2),
    Column("Errors out", flexible=True, least=8, drop=4, tinted=True),
    Column("Errors in", flexible=True, least=8, drop=5, tinted=True),
    Column("Remark", flexible=True, least=20, drop=4, tinted=True, unknown=""),
)
_LEVELS = {True: OK, False: CRITICAL, None: UNKNOWN}


class HopKey(NamedTuple):
    """A hop of one of the two directions."""

    way: str
    hop: Hop


def head(path: Path) -> list[Line]:
    """Whether they can talk, what speaks against it or is not known, and how each way ends."""
    verdict = can_talk(path.checks)
    lines = [marked(_LEVELS[verdict], span(sentence(path), word(_LEVELS[verdict])))]
    held = [check.id.replace("_", " ") for check in path.checks if check.answer == YES]
    pairs: list[tuple[str, object]] = []
    for check in path.checks:
        if check.answer != YES:
            level = CRITICAL if check.answer == NO else UNKNOWN
            pairs.append((check.id.replace("_", " "), (span(f"{check.answer}: {check.text}", word(level)),)))
    if held:
        pairs.append(("holds", ", ".join(held)))
    pairs.append(("there", _way(path, path.pair.there)))
    back = "over the same cables" if same_way(path.pair) else _way(path, path.pair.back)
    pairs.append(("back", back))
    return [*lines, *facts(pairs, " "), BLANK]


def hop_table(path: Path, view: SubnetView | None = None) -> Table:
    """A row for each hop there, then for each back, where that is another way. One over a link with a remark, such as
    one that is slower than its ends can do, is marked as that link is elsewhere.
    """
    ways = [("there", path.pair.there)]
    if not same_way(path.pair):
        ways.append(("back", path.pair.back))
    rows = []
    for name, route in ways:
        if route is None:
            continue
        for hop, cells in zip(route.hops, step_rows(path, route), strict=True):
            has_errors = any(path.counters[end].errors for end in hop if end in path.counters)
            remark = _remark(view, hop)
            level = max(WARNING if has_errors else OK, remark.level if remark else OK)
            rows.append(Row(HopKey(name, hop), level, (name, *cells, remark and remark.text)))
    return Table("hop", COLUMNS, rows)


def hop_lines(path: Path, hop: Hop, view: SubnetView | None = None) -> list[Line]:
    """Both ends of a hop in full, and what is to be said of its link."""
    remark = _remark(view, hop)
    told: list[tuple[str, object]] = [("link", (span(remark.text, word(remark.level)),))] if remark else []
    return facts([*told, ("out of", _end(path, hop.exit)), ("into", _end(path, hop.entry))], " ")


def _remark(view: SubnetView | None, hop: Hop) -> Remark | None:
    """What is odd about the link of a hop."""
    link = view.link_at.get(hop.exit) if view is not None else None
    return view.remarks.of_link.get(link) if view is not None and link is not None else None


def _end(path: Path, end: End) -> str:
    fabric = path.pair.fabric
    node, port = fabric.nodes.get(end.guid), port_at(fabric, end)
    name = ((node.name or "").strip() if node else "") or "name not known"
    counted = path.counters.get(end)
    errors = "errors not known" if counted is None else _errors(counted.errors)
    label = f" ({port.label})" if port.label else ""
    return f"{name} port {end.port}{label}   {end.guid}   {port.state or 'state not known'}   {errors}"


def _errors(errors: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in errors.items()) or "no errors"


def _way(path: Path, route: Route | None) -> Line | str:
    if route is None:
        return line(span("cannot be followed", "dim"))
    fabric = path.pair.fabric
    parts = [describe(fabric, route)]
    rate, mtu = least_rate_gbps(fabric, route), least_mtu_bytes(fabric, route)
    parts += [f"{rate:g} Gb/s at the narrowest"] if rate is not None else []
    parts += [f"MTU {mtu}"] if mtu is not None else []
    return ", ".join(parts)
