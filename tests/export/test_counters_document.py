"""ibkit.counters/1: its schema, and that it holds what was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.schemas import strict

from ibkit.collectors.counters import collect_counters
from ibkit.export.counters import (
    counters_columns,
    counters_document,
    counters_rows,
    rates_columns,
    rates_document,
    rates_rows,
)
from ibkit.model.counters import FabricCounters, change_between, highest_first, with_errors
from ibkit.sources.opening import open_site

ROOT = Path(__file__).parents[2]
SCHEMA = strict("counters")
SAMPLES = sorted(
    path
    for tool in ("ibqueryerrors", "perfquery")
    for path in (ROOT / "fixtures/tools" / tool).glob("*.txt")
    if "stderr" not in path.name
)


def of_file(path: Path) -> FabricCounters:
    return collect_counters(open_site(str(path)).subnet)


def document(fabric: FabricCounters) -> dict[str, Any]:
    """Checked against the schema, after a trip through JSON text."""
    made = json.loads(json.dumps(counters_document(fabric)))
    jsonschema.validate(made, SCHEMA)
    return made


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_sample_fits_the_schema(path: Path) -> None:
    fabric = of_file(path)
    made = document(fabric)
    assert len(made["ports"]) == len(fabric.ports)


def test_a_port_of_perfquery() -> None:
    made = document(of_file(ROOT / "fixtures/tools/perfquery/loop.txt"))
    assert made["complete"] is None
    two = made["ports"][2]
    assert (two["guid"], two["port_guid"], two["lid"], two["port"], two["node"]) == (None, None, 3, 2, None)
    assert two["counters"] == {
        "SymbolErrorCounter": 35,
        "LinkErrorRecoveryCounter": 0,
        "LinkDownedCounter": 0,
        "PortRcvErrors": 0,
        "PortRcvRemotePhysicalErrors": 0,
        "PortRcvSwitchRelayErrors": 0,
        "PortXmitDiscards": 0,
        "PortXmitConstraintErrors": 0,
        "PortRcvConstraintErrors": 0,
        "LocalLinkIntegrityErrors": 0,
        "ExcessiveBufferOverrunErrors": 0,
        "QP1Dropped": None,
        "VL15Dropped": 0,
        "PortXmitWait": 10,
        "PortXmitData": 3240,
        "PortRcvData": 3240,
        "PortXmitPkts": 45,
        "PortRcvPkts": 45,
    }
    assert made["ports"][7]["saturated"] == ["LocalLinkIntegrityErrors", "PortXmitData", "PortXmitWait"]


def test_a_port_of_ibqueryerrors() -> None:
    made = document(of_file(ROOT / "fixtures/tools/ibqueryerrors/details.txt"))
    assert made["complete"] is True
    host = made["ports"][0]
    assert (host["guid"], host["lid"], host["port"], host["node"]) == ("0x00000000a0001001", None, 1, "host1 mlx5_0")
    assert host["counters"]["VL15Dropped"] == 3


def test_rows_have_a_column_for_each_counter_that_some_port_has() -> None:
    fabric = of_file(ROOT / "fixtures/tools/ibqueryerrors/details.txt")
    columns = counters_columns(fabric)
    assert columns[:6] == ("guid", "port_guid", "lid", "port", "node", "saturated")
    assert "PortNeighborMTUDiscards" in columns
    assert "PortXmitData" not in columns
    rows = [dict(zip(columns, row, strict=True)) for row in counters_rows(fabric, columns)]
    assert rows[0]["saturated"] == "SymbolErrorCounter LinkDownedCounter"
    assert (rows[1]["PortInactiveDiscards"], rows[1]["PortNeighborMTUDiscards"]) == (8, None)


def test_orders() -> None:
    ports = of_file(ROOT / "fixtures/tools/perfquery/loop.txt").ports
    assert [port.port for port in with_errors(ports)] == [2, 7]
    assert [port.port for port in highest_first(ports)[:3]] == [2, 7, 0]  # 35 errors, 6 + 10 + 15, none
    assert [port.port for port in highest_first(ports, "PortXmitWait")[:3]] == [7, 2, 0]
    assert [port.port for port in highest_first(ports, "QP1Dropped")[:2]] == [0, 1]  # unknown: their old order


def test_changes_fit_their_schema() -> None:
    before = of_file(ROOT / "fixtures/tools/perfquery/loop.txt")
    lower = [port._replace(counters={**port.counters, "SymbolErrorCounter": 0}) for port in before.ports]
    change = change_between(before, before._replace(ports=tuple(lower)), 2.0004)
    made = json.loads(json.dumps(rates_document([change, change])))
    jsonschema.validate(made, strict("counter_rates"))
    (first, _) = made["intervals"]
    assert (first["seconds"], first["complete"]) == (2.0, None)
    two = first["ports"][2]
    assert (two["changes"]["SymbolErrorCounter"], two["cleared"], two["at_least"]) == (
        0, ["SymbolErrorCounter"], ["SymbolErrorCounter"],
    )  # fmt: skip
    assert two["changes"]["QP1Dropped"] is None
    columns = rates_columns([change])
    rows = [dict(zip(columns, row, strict=True)) for row in rates_rows([change, change], columns)]
    assert [row["interval"] for row in rows] == [1] * 9 + [2] * 9
    assert (rows[2]["cleared"], rows[2]["PortXmitWait"]) == ("SymbolErrorCounter", 0)
