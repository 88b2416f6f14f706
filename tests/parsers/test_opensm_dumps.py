"""OpenSM's dumps. Truth: of two fabrics, what the switches themselves answered to dump_fts, and counts by hand."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibkit.parsers import guid2lid, opensm_dumps, opensm_sa
from ibkit.parsers.base import NotThisFormat
from ibkit.parsers.ibroute import NO_PORT, ForwardingTable, Tables

TOOLS = Path(__file__).parents[2] / "fixtures/tools"
#: What dump_fts read of the three switches of ft12, from LID 1 to 15.
FT12 = {
    0xB8599F0300000000: [1, 0, 19, 28, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    0xB8599F0300000100: [1, 6, 0, 6, 2, 3, 4, 6, 7, 8, 9, 1, 2, 3, 4],
    0xB8599F0300000200: [1, 4, 4, 0, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3],
}
#: The same of the switch of a fabric with LMC 2: h1 has LIDs 4 to 7, the switch 8, h2 12 to 15, h3 16 to 19.
LMC2 = [NO_PORT] * 3 + [1] * 4 + [0] + [NO_PORT] * 3 + [2] * 4 + [3] * 4


def text_of(name: str) -> str:
    return (TOOLS / f"{name}.txt").read_text()


def tables_of(text: str) -> Tables:
    return opensm_dumps.parse(text).value


def row_of(table: ForwardingTable) -> list[int]:
    return list(table.exits)[1:]


@pytest.mark.parametrize("form", ["opensm-lfts.dump", "opensm.fdbs"])
def test_tables_of_a_tree(form: str) -> None:
    parsed = opensm_dumps.parse(text_of(f"{form}/ft12"))
    assert {table.guid: row_of(table) for table in parsed.value.tables} == FT12
    assert all(table.complete and table.last == 15 for table in parsed.value.tables)
    assert (parsed.complete, parsed.problems) == (True if form == "opensm-lfts.dump" else None, ())


@pytest.mark.parametrize("form", ["opensm-lfts.dump", "opensm.fdbs"])
def test_lids_without_an_exit_and_ports_with_several_lids(form: str) -> None:
    """The number at the end of a table is its highest LID: 13 rows, ``19 lids dumped``."""
    (table,) = tables_of(text_of(f"{form}/lmc2")).tables
    assert (table.guid, row_of(table), table.complete) == (0xB0001000, LMC2, True)


def test_who_has_the_lids() -> None:
    value = tables_of(text_of("opensm-lfts.dump/ft12"))
    assert [(table.name, table.lid) for table in value.tables] == [
        ("MF0;swib-l001:MQM8700/U1", 2), ("MF0;swib-s001:MQM8700/U1", 3), ("MF0;swib-s002:MQM8700/U1", 4),
    ]  # fmt: skip
    assert value.destinations[15] == ("Channel Adapter", 0x0C42A103000000B1, "c001-006 mlx5_1")
    assert value.destinations[4] == ("Switch", 0xB8599F0300000200, "MF0;swib-s002:MQM8700/U1")
    assert len(value.destinations) == 15


def test_multicast() -> None:
    parsed = opensm_dumps.parse(text_of("opensm.mcfdbs/written"))
    assert [(table.guid, table.groups) for table in parsed.value.tables] == [
        (0xB000000000001000, {0xC000: (0, 1, 18), 0xC001: (1,)}), (0xB000000000002000, {0xC000: (40,)}),
    ]  # fmt: skip
    assert parsed.complete is None


def test_words_of_routes_that_are_not_the_best() -> None:
    text = (
        "dump_ucast_routes: Switch 0x1\nLID    : Port : Hops : Optimal\n0x0001 : 003  : 04   : No 2 hop path possible"
    )
    text += " via port 7!\n0x0002 : 005  : HOPS UNKNOWN\n0x0003 : UNREACHABLE\n"
    (table,) = tables_of(text).tables
    assert row_of(table) == [3, 5, NO_PORT]


def test_ibdiagnets_heading() -> None:
    text = text_of("opensm.fdbs/ft12").replace("dump_ucast_routes", "osm_ucast_mgr_dump_ucast_routes")
    assert {table.guid: row_of(table) for table in tables_of(text).tables} == FT12


@pytest.mark.parametrize("form", ["opensm-lfts.dump", "opensm.fdbs"])
def test_a_damaged_row_makes_its_table_incomplete(form: str) -> None:
    text = text_of(f"{form}/ft12").replace("0x0007", "0x00x7", 1)
    parsed = opensm_dumps.parse(text)
    first, *others = parsed.value.tables
    assert (first.complete, first.exits[7]) == (False, NO_PORT)
    assert all(table.complete for table in others)
    assert parsed.complete is False
    assert "bad-line" in [problem.kind for problem in parsed.problems]


def test_rows_that_are_lost() -> None:
    text = text_of("opensm.fdbs/ft12").replace("0x0007 : 004  : 01   : yes\n", "", 1)
    parsed = opensm_dumps.parse(text)
    assert [table.complete for table in parsed.value.tables] == [False, True, True]
    assert parsed.complete is False


@pytest.mark.parametrize("form", ["opensm-lfts.dump/ft12", "opensm.fdbs/ft12", "opensm.fdbs/lmc2"])
def test_every_cut_covers_only_what_is_there(form: str) -> None:
    text = text_of(form)
    whole = {table.guid: table for table in tables_of(text).tables}
    for end in range(150, len(text) - 1, 13):
        with suppress(NotThisFormat):
            for table in tables_of(text[:end]).tables:
                full = whole[table.guid]
                assert full.exits.startswith(table.exits)
                assert not table.complete or table.exits[1:] == full.exits[1 : table.last + 1]


def test_an_end_that_does_not_fit() -> None:
    text = text_of("opensm-lfts.dump/ft12")
    assert not tables_of(text.replace("15 lids dumped", "14 lids dumped", 1)).tables[0].complete
    assert opensm_dumps.parse(text.replace("15 lids dumped\n", "", 1)).complete is False
    assert opensm_dumps.parse(f"3 lids dumped\n{text}").complete is False


# guid2lid


def test_lids_of_ports() -> None:
    ranges = guid2lid.parse(text_of("guid2lid/ft12")).value
    assert len(ranges) == 15
    assert {entry.first_lid for entry in ranges} == {*range(1, 16)}
    assert all(entry.first_lid == entry.last_lid for entry in ranges)
    assert {entry[:3] for entry in guid2lid.parse(text_of("guid2lid/lmc2")).value} == {
        (0xA0001001, 4, 7), (0xB0001000, 8, 8), (0xA0002001, 12, 15), (0xA0003001, 16, 19),
    }  # fmt: skip


@pytest.mark.parametrize(
    "row",
    ["0x00000000a0001001 0x0007 0x0004", "0x00000000a0001001 0x0000 0x0000", "0x00000000a0001001 0xc000 0xc000",
     "0x00000000a0001001 0x0004", "0x00000000a0001001 0x0004 0x00"],
)  # fmt: skip
def test_lids_that_cannot_be(row: str) -> None:
    parsed = guid2lid.parse(f"0x00000000b0001000 0x0008 0x0008\n{row}\n")
    assert len(parsed.value) == 1
    assert (parsed.complete, [problem.kind for problem in parsed.problems]) == (False, ["bad-line"])


# opensm-sa.dump


def test_groups_of_a_manager() -> None:
    records = opensm_sa.parse(text_of("opensm-sa.dump/groups")).value
    assert [(record.type, record.fields["mlid"], record.fields["pkey"]) for record in records] == [
        ("MulticastGroup", "0xc001", "0x8001"), ("MulticastGroup", "0xc000", "0xffff"),
    ]  # fmt: skip


def test_all_records() -> None:
    parsed = opensm_sa.parse(text_of("opensm-sa.dump/written"))
    assert (parsed.complete, parsed.problems) == (None, ())
    records = parsed.value
    assert [record.type for record in records] == [
        "GUIDInfo", "MulticastGroup", "MulticastMember", "MulticastMember", "MulticastGroup", "MulticastMember",
        "InformInfo", "Service",
    ]  # fmt: skip
    assert records[0].fields["guid1"] == "0xa0000000000010f1"
    ipv4, ipv6 = "0xff12401bffff0000:0x00000000ffffffff", "0xff12601bffff0000:0x0000000000000001"
    assert [(record.mgid, record.fields["port_gid"]) for record in records if record.type == "MulticastMember"] == [
        (ipv4, "0xfe80000000000000:0xa000000000001001"), (ipv4, "0xfe80000000000000:0xa000000000002001"),
        (ipv6, "0xfe80000000000000:0xa000000000002001"),
    ]  # fmt: skip
    assert (records[6].fields["trap_num"], records[6].fields["lid"]) == ("0x41", "0x0004")
    service = records[7].fields
    assert (service["name"], service["pkey"]) == ("odd name='x' pkey=0x1", "0xffff"), "a name is no field"


def test_a_cut_record() -> None:
    text = text_of("opensm-sa.dump/written").replace(" scope_state=0x21 proxy_join=0x0", "", 1)
    parsed = opensm_sa.parse(text)
    assert parsed.complete is False
    assert [record.mgid for record in parsed.value if record.type == "MulticastMember"][:2] == [None, None]


# All of them


PARSERS = (opensm_dumps.parse, guid2lid.parse, opensm_sa.parse)


@pytest.mark.parametrize("parse", PARSERS, ids=["dumps", "guid2lid", "sa"])
@pytest.mark.parametrize("text", ["", "\n", "0x0001 001 # x\n", "Switch 36\n", "0x0001 : UNREACHABLE\n"])
def test_other_texts(parse, text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotThisFormat, match=r"^f: not "):
        parse(text, source="f")


PIECES = st.sampled_from([
    "Unicast lids [0-15] of switch Lid 2 guid 0x1 ('a'):\n", "0x0001 001 # x\n", "0x0001 : UNREACHABLE\n", "0x", "\n",
    "dump_ucast_routes: Switch 0x1\n", "Switch 0x2\n", "0xC000 : 0x001 \n", "15 lids dumped\n", "9" * 5000, "\x00",
    "0x0002 : 255  : 01   : yes\n", "0xffff 255 # Switch portguid 0x1: ''\n", "MC Group 0x", "mgid=0x1", "name='",
    "\ud800", "0x00000000a0001001 0x0004 0x0004\n", "mcm_port: port_gid=0x1:0x2 proxy_join=0x0\n",
])  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=20), max_size=30))
def test_they_never_raise_anything_else(pieces: list[str]) -> None:
    for parse in PARSERS:
        with suppress(NotThisFormat):
            parse("".join(pieces))


def test_linear_time() -> None:
    start = time.process_time()
    for line in (
        "Unicast lids [0-15] of switch Lid 2 guid 0x1 ('" + "'):" * 20_000,
        "Service Record: id=0x1 " + "name='" * 9000,
        "MC Group 0xc000 " + "a=0x1" * 12_000,
        "0xC000 :" + " 0x001" * 9000 + "x",
    ):
        for parse in PARSERS:
            with suppress(NotThisFormat):
                parse(f"Switch 0x1\n{line}\n" * 100)
    assert time.process_time() - start < 10
