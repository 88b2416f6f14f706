"""Port counters as documents: schemas ibkit.counters/1 and ibkit.counter_rates/1, and CSV rows. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ibkit.model.counters import DETAILS, WIDTHS, FabricChange, FabricCounters, PortChange, PortCounters

SCHEMA = "ibkit.counters/1"
RATES_SCHEMA = "ibkit.counter_rates/1"

_PORT_COLUMNS = ("guid", "port_guid", "lid", "port", "node", "saturated", "unsupported")
_CHANGE_COLUMNS = (
    "interval", "seconds", "guid", "port_guid", "lid", "port", "node", "at_least", "cleared", "full", "unsupported",
    "congestion_ratio", "congestion_lost_bytes", "congestion_at_least", "congestion_unknown",
)  # fmt: skip
#: The order of the columns; counters that no port has make none.
_ORDER = (
    *WIDTHS,
    "PortUnicastXmitPkts",
    "PortUnicastRcvPkts",
    "PortMulticastXmitPkts",
    "PortMulticastRcvPkts",
    *DETAILS,
)


def counters_document(fabric: FabricCounters) -> dict[str, Any]:
    """All of it. Nothing in it depends on when it was read, except the counters."""
    return {
        "schema": SCHEMA,
        "source": fabric.source,
        "complete": fabric.complete,
        "sweeps": [sweep._asdict() | {"hidden": list(sweep.hidden)} for sweep in fabric.sweeps],
        "ports": [_port(port) for port in fabric.ports],
        "problems": [problem._asdict() for problem in fabric.problems],
    }


def counters_columns(fabric: FabricCounters) -> tuple[str, ...]:
    """The CSV's header: the port, then each counter that some port has."""
    return (*_PORT_COLUMNS, *_in_order({name: None for port in fabric.ports for name in port.counters}))


def counters_rows(fabric: FabricCounters, columns: Sequence[str]) -> Iterator[list[Any]]:
    """One row per port, in the order of ``columns``."""
    for port in fabric.ports:
        lists = {"saturated": port.saturated, "unsupported": port.unsupported}
        values = {**_port(port), **port.counters, **_joined(lists)}
        yield [values.get(column) for column in columns]


def rates_document(changes: Sequence[FabricChange]) -> dict[str, Any]:
    """All intervals. The problems of each are those of its two samples."""
    problems = dict.fromkeys(problem for change in changes for problem in change.problems)
    return {
        "schema": RATES_SCHEMA,
        "source": changes[0].source if changes else None,
        "intervals": [
            {
                "seconds": round(change.seconds, 3),
                "complete": change.complete,
                "ports": [_change(port) for port in change.ports],
            }
            for change in changes
        ],
        "problems": [problem._asdict() for problem in problems],
    }


def rates_columns(changes: Sequence[FabricChange]) -> tuple[str, ...]:
    """The CSV's header: interval and port, then each counter that some port has."""
    names = {name: None for change in changes for port in change.ports for name in port.counters}
    return (*_CHANGE_COLUMNS, *_in_order(names))


def rates_rows(changes: Sequence[FabricChange], columns: Sequence[str]) -> Iterator[list[Any]]:
    """One row per interval and port, in the order of ``columns``."""
    for number, change in enumerate(changes, 1):
        for port in change.ports:
            lists = {
                "at_least": port.at_least, "cleared": port.cleared, "full": port.full,
                "unsupported": port.port.unsupported,
            }  # fmt: skip
            congestion = port.congestion._asdict() if port.congestion else {}
            values = {
                **_whose(port.port), **port.counters, "interval": number, "seconds": round(change.seconds, 3),
                **_joined(lists), **{f"congestion_{name}": value for name, value in congestion.items()},
            }  # fmt: skip
            yield [values.get(column) for column in columns]


def _port(port: PortCounters) -> dict[str, Any]:
    return {
        **_whose(port),
        "counters": _in_order(port.counters),
        "saturated": list(port.saturated),
        "unread_errors": port.unread_errors,
        "unsupported": list(port.unsupported),
    }


def _change(change: PortChange) -> dict[str, Any]:
    return {
        **_whose(change.port),
        "changes": _in_order(change.counters),
        "at_least": list(change.at_least),
        "cleared": list(change.cleared),
        "full": list(change.full),
        "unsupported": list(change.port.unsupported),
        "congestion": None if change.congestion is None else change.congestion._asdict(),
    }


def _whose(port: PortCounters) -> dict[str, Any]:
    return {
        "guid": None if port.guid is None else str(port.guid),
        "port_guid": None if port.port_guid is None else str(port.port_guid),
        "lid": port.lid,
        "port": port.port,
        "node": port.node_name,
    }


def _joined(lists: Mapping[str, Sequence[str]]) -> dict[str, str | None]:
    """Names in one cell, with blanks between them."""
    return {column: " ".join(names) or None for column, names in lists.items()}


def _in_order(counters: Mapping[str, int | None]) -> dict[str, int | None]:
    """The same, those with a place in the order first."""
    known = {name: counters[name] for name in _ORDER if name in counters}
    return known | {name: value for name, value in counters.items() if name not in known}
