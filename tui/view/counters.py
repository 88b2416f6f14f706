"""What the ports count: rates between two samples, or what has come together since somebody cleared them."""

from __future__ import annotations

from collections.abc import Sequence

from ibkit.model.counters import OCTETS_PER_DATA_UNIT, PortChange, PortCounters
from ibkit.model.fabric import End
from ibkit.tui.diagnosing import Diagnosed, Sample
from ibkit.tui.view.level import OK, UNKNOWN, WARNING
from ibkit.tui.view.lines import BLANK, Line, facts, line, span
from ibkit.tui.view.subnet import SubnetView
from ibkit.tui.view.table import Column, Row, Table

_WHO = (Column("Node", flexible=True, least=18), Column("Port", right=True))
_WHAT = (
    Column("Errors", right=True, tinted=True),
    Column("Symbol", right=True, drop=3, unknown="-"),
    Column("Downed", right=True, drop=2, unknown="-"),
    Column("RcvErr", right=True, drop=4, unknown="-"),
    Column("Discards", right=True, drop=5, unknown="-"),
)
_RATES = (Column("Sent Gb/s", right=True), Column("Got Gb/s", right=True), Column("Waits %", right=True, drop=1))
_TOTALS = (Column("Sent GB", right=True, drop=1), Column("Got GB", right=True, drop=1))
_LAST = (Column("Neighbour", flexible=True, least=16, turn=1, drop=6, unknown=""),)
_SHOWN = ("SymbolErrorCounter", "LinkDownedCounter", "PortRcvErrors", "PortXmitDiscards")
#: Eight heights of a line of the past; the lowest is zero.
_HEIGHTS = "▁▂▃▄▅▆▇█"


def head(value: Diagnosed) -> list[Line]:
    """What the numbers are, and the fabric's past."""
    change, counters = value.collected.change, value.collected.counters
    if change is not None:
        text = f"between two samples, {change.seconds:.0f} s apart"
        lines = [line(" ", span(text, "heading"))]
    elif counters is not None:
        text = "since the counters were last cleared, nobody knows when"
        lines = [line(" ", span(text, "heading"), span("; a second sample makes rates", "dim"))]
    else:
        lines = []
    return [*lines, *_past_lines(value.past), *([BLANK] if lines else [])]


def table(value: Diagnosed, view: SubnetView | None) -> Table | None:
    """A row for each port, those with the most errors first, then those that send the most."""
    change, counters = value.collected.change, value.collected.counters
    if change is not None:
        rows = [_rate_row(port, change.seconds, view) for port in change.ports]
        rows.sort(key=lambda row: (-row.level, -(row.values[2] or 0), -float(row.values[7] or 0)))
        return Table("port", (*_WHO, *_WHAT, *_RATES, *_LAST), rows)
    if counters is None:
        return None
    rows = [_total_row(port, view) for port in counters.ports]
    rows.sort(key=lambda row: (-row.level, -(row.values[2] or 0), -float(row.values[7] or 0)))
    return Table("port", (*_WHO, *_WHAT, *_TOTALS, *_LAST), rows)


def port_lines(value: Diagnosed, end: End) -> list[Line]:
    """All counters of one port that are not zero, and how they are to be read."""
    counters = value.collected.counters
    port = next((one for one in counters.ports if _end(one) == end), None) if counters else None
    if port is None:
        return []
    parts = []
    for name, count in port.counters.items():
        if count:
            parts.append(f"{name} {'>=' if name in port.saturated else ''}{count}")
    missing = [name for name, count in port.counters.items() if count is None]
    lines = facts([("counted", ", ".join(parts) or "nothing")], " ")
    if missing:
        lines += facts([("not known", ", ".join(missing))], " ")
    return lines


def _rate_row(port: PortChange, seconds: float, view: SubnetView | None) -> Row:
    errors = sum(port.errors.values())
    level = WARNING if errors else OK
    congestion = port.congestion
    waits = f"{congestion.ratio * 100:.1f}" if congestion is not None and congestion.ratio is not None else None
    sent, got = (_gbps(port.counters.get(name), seconds) for name in ("PortXmitData", "PortRcvData"))
    shown = tuple(port.counters.get(name) for name in _SHOWN)
    end = _end(port.port)
    values = (_name(port.port, view), port.port.port, errors, *shown, sent, got, waits, _neighbour(end, view))
    return Row(end, level, values)


def _total_row(port: PortCounters, view: SubnetView | None) -> Row:
    errors = sum(port.errors.values())
    level = UNKNOWN if port.unread_errors else WARNING if errors else OK
    sent, got = (_gigabytes(port.counters.get(name)) for name in ("PortXmitData", "PortRcvData"))
    shown = tuple(port.counters.get(name) for name in _SHOWN)
    end = _end(port)
    return Row(end, level, (_name(port, view), port.port, errors, *shown, sent, got, _neighbour(end, view)))


def _end(port: PortCounters) -> End | None:
    guid = port.guid or port.port_guid
    return End(guid, port.port) if guid is not None else None


def _name(port: PortCounters, view: SubnetView | None) -> str | None:
    if port.node_name is not None:
        return port.node_name
    if port.guid is None:
        return None
    return view.name(port.guid) if view is not None else str(port.guid)


def _neighbour(end: End | None, view: SubnetView | None) -> str | None:
    other = view.peer_of(end) if view is not None and end is not None else None
    return f"{view.name(other.guid)} port {other.port}" if view is not None and other is not None else None


def _gbps(units: int | None, seconds: float) -> str | None:
    return None if units is None or seconds <= 0 else f"{units * OCTETS_PER_DATA_UNIT * 8 / 1e9 / seconds:.2f}"


def _gigabytes(units: int | None) -> str | None:
    return None if units is None else f"{units * OCTETS_PER_DATA_UNIT / 1e9:.1f}"


def _past_lines(past: Sequence[Sample]) -> list[Line]:
    """Traffic and errors of the whole fabric over the last samples, each from zero to the stated most."""
    if len(past) < 2:
        return []
    traffic = [sample.gbps or 0.0 for sample in past]
    errors = [float(sample.errors) for sample in past]
    return facts(
        [
            ("traffic", f"{_spark(traffic)}  0 to {max(traffic):.1f} Gb/s, sent by all ports; {len(past)} samples"),
            ("errors", f"{_spark(errors)}  0 to {max(errors):.0f} a sample"),
        ],
        " ",
    )


def _spark(values: Sequence[float]) -> str:
    most = max(values)
    return "".join(_HEIGHTS[round(value / most * (len(_HEIGHTS) - 1))] if most else _HEIGHTS[0] for value in values)
