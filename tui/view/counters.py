"""What the ports count: rates between two samples, or what has come together since somebody cleared them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ibkit.model import congestion as congested
from ibkit.model.counters import OCTETS_PER_DATA_UNIT, PortChange, PortCounters
from ibkit.model.fabric import End
from ibkit.tui.view.history import History, error_sum, sent_gbps, spark
from ibkit.tui.view.level import OK, UNKNOWN, WARNING
from ibkit.tui.view.lines import BLANK, Line, facts, line, span
from ibkit.tui.view.subnet import SubnetView
from ibkit.tui.view.table import Column, Row, Table

if TYPE_CHECKING:
    from ibkit.tui.diagnosing import Diagnosed, Sample
    from ibkit.tui.view.port_facts import PortFacts

#: The columns that keys of the page sort by: what a port sends, and how long it waits.
SENT, SENT_TOTAL, WAITS = "Sent Gb/s", "Sent GB", "Waits %"
_WHO = (Column("Node", flexible=True, least=18), Column("Port", right=True))
_WHAT = (
    Column("Errors", right=True, tinted=True),
    Column("Symbol", right=True, drop=3, unknown="-"),
    Column("Downed", right=True, drop=2, unknown="-"),
    Column("RcvErr", right=True, drop=4, unknown="-"),
    Column("Discards", right=True, drop=5, unknown="-"),
)
_RATES = (
    Column(SENT, right=True, decimals=2),
    Column("Got Gb/s", right=True, decimals=2),
    Column(WAITS, right=True, drop=1, decimals=1),
    Column("Sent, last samples", drop=7, unknown=""),
)
_TOTALS = (
    Column(SENT_TOTAL, right=True, drop=1, decimals=1),
    Column("Got GB", right=True, drop=1, decimals=1),
    Column("Wait ticks", right=True, drop=7, unknown="-"),
)
_LAST = (Column("Neighbour", flexible=True, least=16, turn=1, drop=6, unknown=""),)
_SHOWN = ("SymbolErrorCounter", "LinkDownedCounter", "PortRcvErrors", "PortXmitDiscards")
#: So many rows, the first ones, show their past: of all 73,520 ports nobody looks at it.
MOST_SPARKS = 500
#: And so many samples of it.
SHORT_PAST = 20


#: Why the congestion of a port is not known.
_WHY = {
    congested.NO_TOPOLOGY: "the topology does not show the port",
    congested.UNKNOWN_CHIP: "nobody tells in what unit this chip counts",
    congested.NO_RATE: "the rate of the link is not known",
    congested.NOT_COUNTED: "the port does not count it",
    congested.NO_CHANGE: "one of the two samples lacks PortXmitWait",
    congested.IMPLAUSIBLE: "more ticks than the time that there was",
}


class Unplaced(NamedTuple):
    """A port of which the counters tell no GUID that the fabric knows."""

    lid: int | None
    port: int


def head(sample: Diagnosed, history: History | None = None) -> list[Line]:
    """What the numbers are, and the fabric's past."""
    change, counters = sample.collected.change, sample.collected.counters
    if change is not None:
        text = f"between two samples, {change.seconds:.0f} s apart"
        scale = f"; lines of the past: 0 to {history.most_gbps():.1f} Gb/s" if history is not None else ""
        lines = [line(" ", span(text, "heading"), span(scale, "dim"))]
    elif counters is not None:
        text = "since the counters were last cleared, nobody knows when"
        lines = [line(" ", span(text, "heading"), span("; a second sample makes rates", "dim"))]
    else:
        lines = []
    return [*lines, *_past_lines(sample.past), *([BLANK] if lines else [])]


def table(known: PortFacts, history: History, view: SubnetView | None) -> Table | None:
    """A row for each port, those with the most errors first, then those that send the most."""
    if known.change is not None:
        seconds = known.change.seconds
        rows = [_rate_row(known.end_of(port.port), port, seconds, view) for port in known.change.ports]
        rows.sort(key=lambda row: (-row.level, -(row.values[2] or 0), -(row.values[7] or 0)))
        most = history.most_gbps()
        rows[:MOST_SPARKS] = [_with_past(row, history, most) for row in rows[:MOST_SPARKS]]
        return Table("port", (*_WHO, *_WHAT, *_RATES, *_LAST), rows)
    if known.all_counters is None:
        return None
    rows = [_total_row(known.end_of(port), port, view) for port in known.all_counters.ports]
    rows.sort(key=lambda row: (-row.level, -(row.values[2] or 0), -(row.values[7] or 0)))
    return Table("port", (*_WHO, *_WHAT, *_TOTALS, *_LAST), rows)


def port_lines(known: PortFacts, history: History, end: End) -> list[Line]:
    """All counters of one port that are not zero, how they grew, and the port's past."""
    return facts([*counter_facts(known, end), *past_facts(history, end)], " ")


def counter_facts(known: PortFacts, end: End) -> list[tuple[str, object]]:
    """What a port counted: the total, behind it what came between the two samples."""
    if known.counters is None:
        lack = known.lack_of_counters()
        return [("counted", f"not known: {lack.missing}; {lack.get}")]
    port = known.counters.get(end)
    change = known.changes.get(end) if known.changes is not None else None
    if port is None:
        return [("counted", "no counters of this port were read")]
    told = [_spell(name, count, port, change) for name, count in port.counters.items() if count]
    pairs: list[tuple[str, object]] = [("counted", ", ".join(told) or "nothing")]
    if change is not None and change.congestion is not None and change.congestion.unknown is not None:
        pairs.append(("waits", f"not known: {_WHY.get(change.congestion.unknown, change.congestion.unknown)}"))
    missing = [name for name, count in port.counters.items() if count is None and name not in port.unsupported]
    if missing:
        pairs.append(("not known", ", ".join(missing)))
    return pairs


def past_facts(history: History, end: End) -> list[tuple[str, object]]:
    """What a port did in the last samples, each line with its scale."""
    if len(history) < 2:
        return []
    apart = sum(history.seconds) / len(history)
    sent, errors, waited = history.sent(end), history.errors(end), history.waited(end)
    pairs: list[tuple[str, object]] = []
    if any(value is not None for value in sent):
        scale = f"0 to {max(value for value in sent if value is not None):.1f} Gb/s"
        pairs.append(("sent", f"{spark(sent)}  {scale}; {len(history)} samples, {apart:.0f} s apart"))
    if any(value is not None for value in errors):
        most = max(value for value in errors if value is not None)
        pairs.append(("errors", f"{spark(errors)}  0 to {most:.0f} a sample"))
    if any(value is not None for value in waited):
        pairs.append(("waited", f"{spark(waited, 100.0)}  0 to 100 % of the time"))
    return pairs


def _spell(name: str, count: int, port: PortCounters, change: PortChange | None) -> str:
    text = f"{name} {'>=' if name in port.saturated else ''}{count}"
    grown = change.counters.get(name) if change is not None else None
    if change is None or not grown:
        return f"{text} (full)" if change is not None and name in change.full else text
    cleared = ", cleared" if name in change.cleared else ""
    return f"{text} (+{'>=' if name in change.at_least else ''}{grown}{cleared})"


def _rate_row(end: End | None, change: PortChange, seconds: float, view: SubnetView | None) -> Row:
    port = change.port
    errors = error_sum(change)
    level = UNKNOWN if errors is None else WARNING if errors else OK
    congestion = change.congestion
    waits = congestion.ratio * 100 if congestion is not None and congestion.ratio is not None else None
    sent, got = (sent_gbps(change, seconds, name) for name in ("PortXmitData", "PortRcvData"))
    shown = tuple(change.counters.get(name) for name in _SHOWN)
    values = (_name(port, view), port.port, errors, *shown, sent, got, waits, None, _neighbour(end, view))
    return Row(end or Unplaced(port.lid, port.port), level, values)


def _with_past(row: Row, history: History, most: float) -> Row:
    """The row with its own past, on the scale that all share."""
    if not isinstance(row.key, End) or len(history) < 2:
        return row
    past = spark(history.sent(row.key)[-SHORT_PAST:], most)
    return row._replace(values=(*row.values[:10], past, *row.values[11:]))


def _total_row(end: End | None, port: PortCounters, view: SubnetView | None) -> Row:
    errors = error_sum(port)
    level = UNKNOWN if errors is None or port.unread_errors else WARNING if errors else OK
    sent, got = (_gigabytes(port.counters.get(name)) for name in ("PortXmitData", "PortRcvData"))
    shown = tuple(port.counters.get(name) for name in _SHOWN)
    waits = port.counters.get("PortXmitWait")
    values = (_name(port, view), port.port, errors, *shown, sent, got, waits, _neighbour(end, view))
    return Row(end or Unplaced(port.lid, port.port), level, values)


def _name(port: PortCounters, view: SubnetView | None) -> str | None:
    if port.node_name is not None:
        return port.node_name
    if port.guid is None:
        return f"LID {port.lid}" if port.lid is not None else None
    return view.name(port.guid) if view is not None else str(port.guid)


def _neighbour(end: End | None, view: SubnetView | None) -> str | None:
    other = view.peer_of(end) if view is not None and end is not None else None
    return f"{view.name(other.guid)} port {other.port}" if view is not None and other is not None else None


def _gigabytes(units: int | None) -> float | None:
    return None if units is None else units * OCTETS_PER_DATA_UNIT / 1e9


def _past_lines(past: Sequence[Sample]) -> list[Line]:
    """Traffic and errors of the whole fabric over the last samples, each from zero to the stated most."""
    if len(past) < 2:
        return []
    traffic = [sample.gbps for sample in past]
    errors = [float(sample.errors) for sample in past]
    most = max((gbps for gbps in traffic if gbps is not None), default=0.0)
    return facts(
        [
            ("traffic", f"{spark(traffic)}  0 to {most:.1f} Gb/s, sent by all ports; {len(past)} samples"),
            ("errors", f"{spark(errors)}  0 to {max(errors):.0f} a sample"),
        ],
        " ",
    )
