"""`ibkit.open`: tables with the types and the unknowns that docs/notebooks.md promises, and its examples."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

import ibkit
from ibkit.errors import IbkitError
from ibkit.notebook import COUNTER_COLUMNS, LINK_COLUMNS, NODE_COLUMNS, PORT_COLUMNS, FabricTables

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "fixtures/tools"


@pytest.fixture(scope="module")
def fat_tree() -> FabricTables:
    return ibkit.open(str(ROOT / "fixtures/fat-tree")).fabric


def test_the_examples_of_the_guide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs/notebooks.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    test = doctest.DocTestParser().get_doctest("".join(blocks), {}, "notebooks.md", "docs/notebooks.md", 0)
    told: list[str] = []
    result = doctest.DocTestRunner().run(test, out=told.append)
    assert (result.failed, result.attempted) == (0, 16), "".join(told)


def test_the_guide_names_all_columns() -> None:
    text = (ROOT / "docs/notebooks.md").read_text()
    for table, columns in (("nodes", NODE_COLUMNS), ("links", LINK_COLUMNS), ("ports", PORT_COLUMNS)):
        assert f"| `{table}` | a {table[:-1]} | {', '.join(columns)} |" in text
    assert ", ".join(COUNTER_COLUMNS) in text


def test_columns_and_types(fat_tree: FabricTables) -> None:
    tables = (fat_tree.nodes, NODE_COLUMNS), (fat_tree.links, LINK_COLUMNS), (fat_tree.ports, PORT_COLUMNS)
    for table, columns in tables:
        assert {name: str(kind) for name, kind in table.dtypes.items()} == columns
        assert table.attrs == {"source": "ibnetdiscover", "complete": True, "problems": []}
    kinds = {name: str(kind) for name, kind in fat_tree.counters.dtypes.items()}
    assert {name: kinds[name] for name in COUNTER_COLUMNS} == COUNTER_COLUMNS
    assert kinds["PortXmitData"] == kinds["VL15Dropped"] == "UInt64"


def test_the_truth_of_the_fat_tree(fat_tree: FabricTables) -> None:
    nodes, links, counters = fat_tree.nodes, fat_tree.links, fat_tree.counters
    assert nodes.type.value_counts().to_dict() == {"channel_adapter": 108, "switch": 15}
    assert links.verdict.value_counts().to_dict() == {"ok": 211, "slow": 2, "suspected": 1}
    assert links.rate_gbps.value_counts().to_dict() == {200.0: 211, 50.0: 1, 100.0: 1, 40.0: 1}
    leaf = counters[(counters.guid == "0xb8599f0300000000") & (counters.port == 4)].iloc[0]
    assert (leaf.SymbolErrorCounter, leaf.LinkDownedCounter) == (4711, 3)
    assert counters.PortRcvErrors.sum() == 12


def test_what_is_not_known_is_na() -> None:
    fabric = ibkit.open(str(TOOLS / "ibnetdiscover/short-rows.txt")).fabric
    assert fabric.links.speed.isna().tolist() == [True, False, False]  # nothing, QDR, ???
    assert fabric.links.rate_gbps.isna().tolist() == [True, False, True]
    assert (fabric.ports.state.isna()).all()
    pages = ibkit.open(str(TOOLS / "perfquery/loop.txt"))
    counters = pages.fabric.counters
    assert counters.guid.isna().all()
    assert counters.QP1Dropped.isna().all()
    assert counters.unsupported.tolist() == ["QP1Dropped"] * 9
    assert counters.PortXmitWait.tolist()[7] == 4294967295


def test_nothing_seen_is_empty_tables_with_the_reason() -> None:
    text = TOOLS / "ibnetdiscover/no-device.txt"
    fabric = ibkit.open(str(text)).fabric
    for table, columns in ((fabric.nodes, NODE_COLUMNS), (fabric.links, LINK_COLUMNS), (fabric.ports, PORT_COLUMNS)):
        assert table.empty
        assert {name: str(kind) for name, kind in table.dtypes.items()} == columns
        assert table.attrs["complete"] is None
        assert table.attrs["problems"]


def test_a_full_64_bit_counter_is_kept() -> None:
    table = ibkit.open(str(TOOLS / "perfquery/loop-extended.txt")).fabric.counters
    assert table.PortXmitData.dtype == pandas.UInt64Dtype()
    assert int(table.PortXmitData.max()) <= 2**64 - 1


def test_names_are_raw(tmp_path: Path) -> None:
    evil = "\x1b[2Jleaf\u202e"
    text = (TOOLS / "ibnetdiscover/tree.txt").read_text().replace("MF0;swib-l001:MQM8700/U1", evil)
    (tmp_path / "t").write_text(text)
    assert evil in set(ibkit.open(str(tmp_path / "t")).fabric.nodes.name)


def test_a_file_that_is_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("hello\n")
    with pytest.raises(IbkitError, match="no known format"):
        ibkit.open(str(tmp_path / "t"))


def test_importing_ibkit_imports_nothing_of_it() -> None:
    code = "import sys, ibkit; print(sorted(name for name in sys.modules if name.startswith(('ibkit', 'pandas'))))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['ibkit']\n"
