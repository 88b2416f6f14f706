"""Port counters as documents: schema ibkit.counters/1 and one CSV row per port. See docs/json.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ibkit.model.counters import DETAILS, WIDTHS, FabricCounters, PortCounters

SCHEMA = "ibkit.counters/1"

_PORT_COLUMNS = ("guid", "port_guid", "lid", "port", "node", "saturated")
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
        "ports": [_port(port) for port in fabric.ports],
        "problems": [problem._asdict() for problem in fabric.problems],
    }


def counters_columns(fabric: FabricCounters) -> tuple[str, ...]:
    """The CSV's header: the port, then each counter that some port has."""
    return (*_PORT_COLUMNS, *_in_order({name: None for port in fabric.ports for name in port.counters}))


def counters_rows(fabric: FabricCounters, columns: Sequence[str]) -> Iterator[list[Any]]:
    """One row per port, in the order of ``columns``."""
    for port in fabric.ports:
        values = {**_port(port), **port.counters, "saturated": " ".join(port.saturated) or None}
        yield [values.get(column) for column in columns]


def _port(port: PortCounters) -> dict[str, Any]:
    return {
        "guid": None if port.guid is None else str(port.guid),
        "port_guid": None if port.port_guid is None else str(port.port_guid),
        "lid": port.lid,
        "port": port.port,
        "node": port.node_name,
        "counters": _in_order(port.counters),
        "saturated": list(port.saturated),
    }


def _in_order(counters: dict[str, int | None]) -> dict[str, int | None]:
    """The same, those with a place in the order first."""
    known = {name: counters[name] for name in _ORDER if name in counters}
    return known | {name: value for name, value in counters.items() if name not in known}
