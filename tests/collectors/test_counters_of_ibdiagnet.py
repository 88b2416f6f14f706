"""Counters from ibdiagnet's tables. Truth: the fixture's README, read off its rows by hand."""

from __future__ import annotations

from pathlib import Path

from ibkit.collectors.counters import collect_counters
from ibkit.model.counters import FabricCounters
from ibkit.sources.opening import open_site

TABLES = (Path(__file__).parents[2] / "fixtures/tools/ibdiagnet2.db_csv/counters.txt").read_text()
LEAF, HOST, SLOT = 0xB000000000001000, 0xA000000000001000, 0xA000000000002000
LEAF_NAME = "MF0;leaf1:MQM8700/U1"


def counters_of(tmp_path: Path, text: str) -> FabricCounters:
    file = tmp_path / "tables.txt"
    file.write_text(text)
    return collect_counters(open_site(str(file)).subnet)


def kinds(fabric: FabricCounters) -> list[str]:
    return [problem.kind for problem in fabric.problems]


def test_ports_with_names_and_lids(tmp_path: Path) -> None:
    fabric = counters_of(tmp_path, TABLES)
    assert (fabric.complete, fabric.problems, fabric.sweeps) == (None, (), ())
    assert [(port.guid, port.port, port.lid, port.node_name) for port in fabric.ports] == [
        (HOST, 1, 1, "host1 mlx5_0"),
        (LEAF, 1, 2, LEAF_NAME), (LEAF, 2, 2, LEAF_NAME), (LEAF, 5, 2, LEAF_NAME),
        (SLOT, 1, 3, "rack 7, slot 2"),
    ]  # fmt: skip
    host, wide, narrow, _, _ = fabric.ports
    assert host.port_guid == HOST + 1
    assert (wide.errors, wide.saturated) == ({"SymbolErrorCounter": 70_000, "LinkDownedCounter": 300}, ())
    assert narrow.saturated == ("LocalLinkIntegrityErrors",)
    assert narrow.errors == {
        "SymbolErrorCounter": 3, "LinkDownedCounter": 1, "PortRcvErrors": 4, "PortXmitDiscards": 5,
        "LocalLinkIntegrityErrors": 15, "PortMalformedPktErrors": 4, "PortInactiveDiscards": 5,
    }  # fmt: skip
    assert TABLES.split("\n")[(wide.line or 0) - 1].startswith("0xb000000000001000,0xb000000000001000,1,42949")
    assert wide.source == fabric.source == str(tmp_path / "tables.txt")


def test_a_port_with_a_link_and_without_a_row_is_missed(tmp_path: Path) -> None:
    lines = [
        line for line in TABLES.split("\n") if not line.startswith("0xb000000000001000,0xb000000000001000,5,0,0,0,")
    ]
    fabric = counters_of(tmp_path, "\n".join(lines))
    assert (len(fabric.ports), fabric.complete, kinds(fabric)) == (4, False, ["no-counters"])
    assert (
        "1 ports have a link and no counters here, the first is MF0;leaf1:MQM8700/U1 port 5" in fabric.problems[0].text
    )


def test_a_cut_file_and_one_without_counters(tmp_path: Path) -> None:
    cut = counters_of(tmp_path, TABLES[: TABLES.index("0xa000000000001000,0xa000000000001001,1,8,9")])
    assert (len(cut.ports), cut.complete) == (3, False)
    assert "cut-section" in kinds(cut)
    without = counters_of(tmp_path, TABLES[: TABLES.index("START_PM_INFO")])
    assert (without.ports, without.complete, kinds(without)) == ((), False, ["no-counters"])


def test_counters_alone_have_no_names(tmp_path: Path) -> None:
    start, end = TABLES.index("START_PM_INFO"), TABLES.index("START_CABLE_INFO")
    fabric = counters_of(tmp_path, TABLES[start:end])
    assert {(port.node_name, port.lid) for port in fabric.ports} == {(None, None)}
    assert (len(fabric.ports), fabric.complete, fabric.problems) == (5, None, ())


def test_a_port_that_stands_twice(tmp_path: Path) -> None:
    row = next(line for line in TABLES.split("\n") if line.startswith("0xa000000000002000,0xa000000000002001,1,20,10"))
    fabric = counters_of(tmp_path, TABLES.replace(row, f"{row}\n{row.replace(',1,20,10,', ',1,77,10,')}"))
    assert (len(fabric.ports), kinds(fabric)) == (5, ["repeated"])
    assert fabric.ports[-1].counters["PortXmitData"] == 20


def test_a_port_that_cannot_be(tmp_path: Path) -> None:
    text = TABLES.replace(
        "0xa000000000002000,0xa000000000002001,1,20,10", "0xa000000000002000,0xa000000000002001,999,20,10"
    )
    fabric = counters_of(tmp_path, text)
    assert (len(fabric.ports), fabric.complete) == (4, False)
    assert kinds(fabric) == ["bad-line", "no-counters"]
