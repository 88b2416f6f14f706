"""ibdiagnet2.db_csv: sections, odd rows, cut and hostile text. Truth: the fixture's README."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibdiagnet_csv import Section, parse

SMALL = (Path(__file__).parents[2] / "fixtures/tools/ibdiagnet2.db_csv/small.txt").read_text()


def section_of(text: str, name: str) -> Section:
    (section,) = (section for section in parse(text).value if section.name == name)
    return section


def test_sections() -> None:
    parsed = parse(SMALL)
    assert (parsed.complete, parsed.problems) == (None, ())
    assert [(section.name, len(section.rows), section.complete) for section in parsed.value] == [
        ("NODES", 3, True), ("PORTS", 8, True), ("LINKS", 2, True), ("SYSTEM_GENERAL_INFORMATION", 1, True),
    ]  # fmt: skip
    links = section_of(SMALL, "LINKS")
    assert links.columns == ("NodeGuid1", "PortNum1", "NodeGuid2", "PortNum2")
    assert links.rows[0].values == ("0xb000000000001000", "1", "0xa000000000001000", "1")
    assert SMALL.split("\n")[links.rows[0].line - 1] == "0xb000000000001000,1,0xa000000000001000,1"
    assert section_of(SMALL, "SYSTEM_GENERAL_INFORMATION").rows[0].values[-1] == "Jaguar Unmng IB 200"
    assert section_of(SMALL, "PORTS").rows[0].values[-1] is None


def test_only_what_is_wanted() -> None:
    parsed = parse(SMALL, sections=("LINKS", "NO_SUCH"))
    assert [section.name for section in parsed.value] == ["LINKS"]
    assert parse(SMALL, sections=()).value == ()


def test_columns_by_any_spelling() -> None:
    links = section_of(SMALL, "LINKS")
    assert links.column("nodeguid2") == 2
    assert links.column("PortNumber1", "PortNum1") == 1
    assert links.column("NodeGUID") is None


@pytest.mark.parametrize("name", ["", ",", '"', 'a"b', '",', ",,,", "x, y: z", "START_PORTS", "\u00e9\u4e2d"])
def test_names_with_anything(name: str) -> None:
    section = section_of(SMALL.replace("host1 mlx5_0", name), "NODES")
    assert section.rows[1].values[:3] == (name, "1", "1")
    assert section.rows[1].values[-1] == "1"


def test_a_bad_row_costs_itself() -> None:
    parsed = parse(SMALL.replace("0xb000000000001000,1,0xa000000000001000,1\n", "0xb000000000001000,1,0xa0\n"))
    links = next(section for section in parsed.value if section.name == "LINKS")
    assert (len(links.rows), links.complete, parsed.complete) == (1, False, False)
    assert [problem.kind for problem in parsed.problems] == ["bad-line"]


def test_a_cut_file() -> None:
    parsed = parse(SMALL[: SMALL.index("END_LINKS")])
    assert [section.complete for section in parsed.value] == [True, True, False]
    assert (parsed.complete, parsed.problems[0].kind) == (False, "cut-section")


def test_an_end_whose_start_is_lost() -> None:
    parsed = parse(SMALL.replace("START_LINKS\n", ""))
    assert "LINKS" not in [section.name for section in parsed.value]
    assert "bad-line" in [problem.kind for problem in parsed.problems]


@pytest.mark.parametrize("text", ["", "hello\n", "START_\n", "END_NODES\n", "start_nodes\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


PIECES = [*SMALL.split("\n"), '"', '",', "START_X", "END_X", "a,b"]


@given(st.lists(st.one_of(st.text(max_size=50), st.sampled_from(PIECES)), max_size=40).map("\n".join))
def test_never_raises(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    for section in parsed.value:
        assert all(len(row.values) == len(section.columns) for row in section.rows)


@pytest.mark.parametrize("line", ['"' * 60_000, ",".join(['"a,"'] * 12_000), ' "' * 30_000, '"' + "a," * 30_000])
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(SMALL.replace("END_NODES", f"{line}\n" * 10 + "END_NODES"))
    assert time.process_time() - started < 2
