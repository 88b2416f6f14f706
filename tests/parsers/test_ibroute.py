"""ibroute and dump_fts: recorded tables, their end marks, multicast, damaged and hostile text."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibroute import NO_PORT, Destination, parse

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "tools", "ibroute")
#: Of the switch at LID 4, by hand from its table: exit ports of LIDs 0 to 15.
EXITS = bytes([255, 1, 4, 4, 0, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3])

MULTICAST = """Multicast mlids [0xc000-0xc3ff] of switch Lid 3 guid 0x0000000000200001 (Switch2):
            0                   1     
     Ports: 0 1 2 3 4 5 6 7 8 9 0 1 2 
 MLid
0xc000      x   x               x     
0xc003                              x 
2 valid mlids dumped 
"""  # noqa: W291
MASKS = """Multicast mlids [0xc000-0xc3ff] of switch DR path slid 0; dlid 0; 0,1,28 guid 0x200001 (a (b): c):
 MLid       Port Mask
0xc000      01050001
1 valid mlids dumped 
"""  # noqa: W291


def fixture(name: str) -> str:
    with open(os.path.join(FIXTURES, name)) as file:
        return file.read()


def test_all_tables_of_a_fabric() -> None:
    parsed = parse(fixture("ft12/dump-fts.txt"))
    assert (parsed.complete, parsed.problems) == (True, ())
    first, second, third = parsed.value.tables
    assert (first.guid, first.name, first.lid) == (0xB8599F0300000200, "MF0;swib-s002:MQM8700/U1", None)
    assert (first.address, first.first, first.last) == ("DR path slid 0; dlid 0; 0,1,28", 0, 15)
    assert first.exits == EXITS
    assert {table.guid for table in (second, third)} == {0xB8599F0300000100, 0xB8599F0300000000}
    assert len(parsed.value.destinations) == 15
    assert parsed.value.destinations[1] == Destination("Channel Adapter", 0x0C42A10300000001, "c001-001 mlx5_0")
    assert parsed.value.destinations[2].type == "Switch"


@pytest.mark.parametrize("name", ["numbers.txt", "all.txt"])
def test_forms_of_one_table(name: str) -> None:
    parsed = parse(fixture(f"ft12/{name}"))
    (table,) = parsed.value.tables
    assert (table.lid, table.exits, table.complete) == (4, EXITS, True)
    assert table.exits[0] == NO_PORT


def test_lids_of_one_port() -> None:
    text = fixture("ft12/numbers.txt").replace("0x0002 004 \n", "0x0002 004 : (path #2 out of 4: portguid 0x1)\n")
    parsed = parse(text)
    assert (parsed.complete, parsed.value.destinations) == (True, {})


def test_multicast_tables() -> None:
    parsed = parse(MULTICAST)
    assert (parsed.complete, parsed.problems) == (True, ())
    (table,) = parsed.value.tables
    assert (table.groups, table.exits) == ({0xC000: (0, 2, 10), 0xC003: (12,)}, b"")


def test_multicast_masks() -> None:
    (table,) = parse(MASKS).value.tables
    assert (table.name, table.guid) == ("a (b): c", 0x200001)
    assert table.groups == {0xC000: (0, 2, 8, 16)}


def test_a_table_without_its_end() -> None:
    lines = fixture("ft12/dump-fts.txt").split("\n")
    end = next(index for index, line in enumerate(lines) if "dumped" in line)
    text = "\n".join([*lines[: end - 3], "SubnGet(LFT) failed on switch; MAD status 0x6e AM 0x0", *lines[end + 1 :]])
    parsed = parse(text)
    assert parsed.complete is False
    assert [table.complete for table in parsed.value.tables] == [False, True, True]
    assert {problem.kind for problem in parsed.problems} == {"no-answer", "incomplete"}


def test_a_lost_row_is_noticed() -> None:
    lines = fixture("ft12/numbers.txt").split("\n")
    parsed = parse("\n".join(lines[:6] + lines[7:]))
    assert parsed.complete is False
    assert "14 rows" in parsed.problems[0].text
    assert parsed.value.tables[0].exits[4] == NO_PORT


def test_cut_in_a_row() -> None:
    text = fixture("ft12/numbers.txt")
    parsed = parse(text[: text.index("0x000a 007") + 8])
    assert parsed.complete is False
    assert len(parsed.value.tables[0].exits) == 10


def test_a_node_that_is_no_switch() -> None:
    parsed = parse("ibroute: iberror: failed: dump tables: not a switch\n")
    assert (parsed.value.tables, parsed.complete) == ((), False)


@pytest.mark.parametrize("text", ["", "hello\n", "0x0001 001 : (x)\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(NotThisFormat):
        parse(text)


PIECES = [*fixture("ft12/all.txt").split("\n"), *MULTICAST.split("\n"), *MASKS.split("\n"), "0xffff 999", "0xbfff 255"]


@given(st.lists(st.one_of(st.text(max_size=50), st.sampled_from(PIECES)), max_size=40).map("\n".join))
def test_never_raises(text: str) -> None:
    try:
        parsed = parse(text)
    except NotThisFormat:
        return
    for table in parsed.value.tables:
        assert len(table.exits) <= 0xC000
        assert all(lid >= 0xC000 for lid in table.groups)


@pytest.mark.parametrize(
    "line",
    [
        "Unicast lids [0x0-0xf] of switch Lid 4" + " guid 0x1 (" * 6_000,
        "0x0001 001 : (Switch portguid 0x1: '" + "'" * 60_000,
        "0xc000      " + "x " * 30_000 + "y",
        "1 " * 30_000,
    ],
    ids=lambda line: line[:12],
)
def test_linear_time(line: str) -> None:
    started = time.process_time()
    parse(MULTICAST + fixture("ft12/all.txt").split("dumped")[0] + f"\n{line}\n" * 10)
    assert time.process_time() - started < 2
