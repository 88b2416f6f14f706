"""LIDs of a fabric: ports in use without one, and LIDs that two ports have; a healthy fabric has no such problem.

The small net: Switch2 LID 3, Switch1 LID 2; Hca2's ports LIDs 5 and 6, Hca1's 1 and 4.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fattree import two_levels

from ibkit.cli.main import main
from ibkit.collectors.lids import Shared, shared_lids
from ibkit.collectors.topology import assemble
from ibkit.model.fabric import Fabric
from ibkit.parsers.base import Problem
from ibkit.parsers.ibnetdiscover import parse

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
NET = (TOOLS / "ibnetdiscover/two-port-hcas.txt").read_text()
HEALTHY = [
    "tree.txt", "tree-ports.txt", "two-port-hcas.txt", "two-port-hcas-ports.txt", "tree-option-g.txt", "topology.txt",
]  # fmt: skip


def fabric_of(text: str, *, swept_clean: bool | None = True) -> Fabric:
    return assemble(parse(text, source="x"), source="x", swept_clean=swept_clean)


def problems(text: str, *, swept_clean: bool | None = True) -> list[Problem]:
    return [p for p in fabric_of(text, swept_clean=swept_clean).problems if p.kind in ("no-lid", "duplicate-lid")]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_fabric(name: str) -> None:
    assert problems((TOOLS / "ibnetdiscover" / name).read_text()) == []


@pytest.mark.parametrize("lid", [0, 65535])
def test_without_a_manager_it_is_one_problem(lid: int) -> None:
    """Two switches and four ports of HCAs: each has a LID of its own."""
    text = NET
    for number in range(1, 7):
        text = text.replace(f" lid {number} ", f" lid {lid} ")
    (problem,) = problems(text)
    assert problem.kind == "no-lid"
    assert problem.text == ("none of the 6 ports in use has a LID: no subnet manager has configured this subnet")
    assert problem.line == 39


def test_some_ports_without_one() -> None:
    (problem,) = problems(NET.replace("lid 5 ", "lid 65535 ").replace("lid 4 ", "lid 65535 "))
    assert problem == Problem(
        "no-lid",
        "2 of 6 ports in use have no LID, the first is 0x0000000000100000[2]: not configured by a subnet manager",
        40, "x",
    )  # fmt: skip


@pytest.mark.parametrize(("clean", "told"), [(True, 1), (None, 1), (False, 0)])
def test_a_zero_of_a_port_that_did_not_answer(clean: bool | None, told: int) -> None:
    """The tool prints 0 of it too; where the sweep is known to have lost answers, that proves nothing."""
    found = problems(NET.replace("lid 5 ", "lid 0 "), swept_clean=clean)
    assert len(found) == told
    assert [("no answer" in problem.text) for problem in found] == [clean is None] * told


def test_a_lid_of_a_port_that_is_not_in_use_counts_for_nothing() -> None:
    """A ports report lists ports that are down, with whatever LID they had."""
    text = (TOOLS / "ibnetdiscover/two-port-hcas-ports.txt").read_text()
    row = next(line for line in text.splitlines() if line.startswith("CA"))
    lid, guid = row.split()[1], row.split()[3]
    stale = row.split(" - ")[0].replace(guid, "0x00000000009999aa").replace(f" {lid} ", " 2 ", 1)
    assert problems(text + stale + " 'old'\n") == []


def test_a_switch_and_an_hca_with_one_lid() -> None:
    (problem,) = problems(NET.replace("lid 5 ", "lid 2 "))
    text = "0x0000000000200000[0] and 0x0000000000100003[1] both have the LID 2"
    assert problem == Problem("duplicate-lid", text, 31, "x")


def test_two_ports_of_one_hca_with_one_lid() -> None:
    assert [problem.kind for problem in problems(NET.replace("lid 6 ", "lid 5 "))] == ["duplicate-lid"]


def test_ranges_that_overlap() -> None:
    """LMC 1 gives Hca2's first port the LIDs 5 and 6; the second has 6."""
    assert [problem.kind for problem in problems(NET.replace("lid 5 lmc 0", "lid 5 lmc 1"))] == ["duplicate-lid"]
    assert problems(NET.replace("lid 6 lmc 0", "lid 6 lmc 1")) == []


def test_two_subnets_in_one_text() -> None:
    """Each counts from 1; no switch of one is linked to one of the other."""
    other = NET.replace("0000000000", "00000000aa").replace("=0x", "=0xaa00000").replace("(10", "(aa0000010")
    assert len(fabric_of(NET + other).nodes) == 8
    assert problems(NET + other) == []


def test_planes_of_one_xdr_link() -> None:
    """They may have one LID, as ports of one device; of two devices they may not."""
    text = NET.replace("4xSDR", "1xXDR").replace("lid 6 ", "lid 5 ")
    assert problems(text) == []
    assert [problem.kind for problem in problems(text.replace("lid 5 ", "lid 1 "))] == ["duplicate-lid"] * 2


def test_a_tree_that_nobody_configured() -> None:
    (problem,) = problems(two_levels(8, 4).netlist())
    assert problem.text.startswith("none of the 22 ports in use has a LID"), "16 HCAs, 4 leaves, 2 spines"


def test_shared_lids() -> None:
    assert shared_lids({}, {}) == []
    assert shared_lids({1: 4, 2: 8, 3: 12}, {1: 2, 2: 2, 3: 2}) == []
    assert shared_lids({1: 4, 2: 7, 3: 12}, {1: 2}) == [Shared(7, 1, 2)]
    assert shared_lids({1: 4, 2: 5}, {1: 99}) == [], "an LMC has three bits; a larger one is no number"


@pytest.mark.parametrize(("old", "new"), [("lid 5 ", "lid 2 "), ("lid 5 ", "lid 65535 ")])
def test_both_are_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str) -> None:
    (tmp_path / "t").write_text(NET.replace(old, new))
    assert main(["fabric", "--from", str(tmp_path / "t")]) == 1
    assert main(["tui", "--from", str(tmp_path / "t")]) == 0
    assert " x   " in capsys.readouterr().out, "and critical on the screen"
