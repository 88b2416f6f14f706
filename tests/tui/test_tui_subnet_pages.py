"""Partitions as a matrix, and what forwarding tables say: the views, then the pages over captures of known truth."""

from __future__ import annotations

import pytest
from support.made_fabric import end, fabric, guid
from support.tui_captures import FAT_TREE, MULTIRAIL, TWO_SUBNETS, showing
from support.tui_pilot import SIZES, running

from ibkit.model.fabric import End, Fabric
from ibkit.model.ids import Guid, PKey
from ibkit.model.partitions import Partitions, PortKeys
from ibkit.model.routes import NO_EXIT, ForwardingTable, Routes
from ibkit.tui.view.level import CRITICAL, OK, UNKNOWN
from ibkit.tui.view.lines import plain
from ibkit.tui.view.partitions import MOST_COLUMNS, PartitionsView, Unread, group_page
from ibkit.tui.view.routing import RoutesView, ranges
from ibkit.tui.view.subnet import SubnetView


def keys(name: str, *pkeys: int, whole: bool = True) -> PortKeys:
    where = end(f"{name}[1]")
    return PortKeys(where.guid, 1, tuple(map(PKey, pkeys)), name=name, whole=whole)


def with_lids(cables: str, **lids: int) -> Fabric:
    """A fabric with these LIDs: of a switch its own, of an adapter its first port's."""
    made = fabric(*cables.split(", "))
    nodes = dict(made.nodes)
    for name, lid in lids.items():
        node = nodes[guid(name)]
        ports = node.ports if name[0] == "s" else (node.ports[0]._replace(lid=lid), *node.ports[1:])
        nodes[guid(name)] = node._replace(lid=lid if name[0] == "s" else None, ports=ports)
    return made._replace(nodes=nodes)


def matrix(*ports: PortKeys, cables: Fabric | None = None) -> list[tuple[object, ...]]:
    return [row.values for row in PartitionsView(Partitions(ports), cables).matrix().rows]


def test_full_limited_and_absent() -> None:
    ports = (keys("h1", 0xFFFF, 0x8005), keys("h2", 0x7FFF, 0x0005), keys("h3", 0x7FFF), keys("h4", 0x7FFF))
    view = PartitionsView(Partitions(ports), None)
    table = view.matrix()
    assert [column.title for column in table.columns] == ["Ports", "Who", "0x0005", "0x7fff"]
    assert [row.values for row in table.rows] == [
        (2, "h[3-4]", "-", "limited"), (1, "h2", "limited", "limited"), (1, "h1", "full", "full"),
    ]  # fmt: skip


def test_both_keys_of_a_partition() -> None:
    assert matrix(keys("h1", 0xFFFF, 0x7FFF)) == [(1, "h1", "full+limited")]


def test_what_a_torn_table_does_not_show_is_unknown_and_not_absent() -> None:
    ports = (keys("h1", 0x8005), keys("h2", 0xFFFF, whole=False))
    view = PartitionsView(Partitions(ports), None)
    rows = view.matrix().rows
    assert [(row.level, row.values) for row in rows] == [
        (OK, (1, "h1", "full", "-")), (UNKNOWN, (1, "h2", None, "full")),
    ]  # fmt: skip


def test_ports_whose_tables_were_not_read_are_a_row_of_their_own() -> None:
    cables = with_lids("h1[1]-s1[1] 4x HDR, h2[1]-s1[2] 4x HDR", h1=1, h2=2)
    view = PartitionsView(Partitions((keys("h1", 0xFFFF),)), cables)
    rows = view.matrix().rows
    assert rows[-1].key == Unread((cables.nodes[guid("h2")].name,))
    assert (rows[-1].level, rows[-1].values[0], rows[-1].values[2]) == (UNKNOWN, 1, None)
    assert "smpquery pkeys" in "\n".join(map(plain, group_page(view, rows[-1].key)))


def test_more_partitions_than_columns() -> None:
    ports = [keys(f"h{number}", 0xFFFF, 0x8000 | number) for number in range(1, MOST_COLUMNS + 20)]
    view = PartitionsView(Partitions(tuple(ports)), None)
    assert len(view.matrix().columns) == MOST_COLUMNS + 2
    assert "0x7fff" in [column.title for column in view.matrix().columns], "the largest are shown"
    assert len(view.listed().rows) == MOST_COLUMNS + 20
    assert "V lists all" in "\n".join(map(plain, view.head()))


def test_the_pages_of_rows() -> None:
    view = PartitionsView(Partitions((keys("h1", 0xFFFF), keys("h2", 0x7FFF, whole=False))), None)
    group = "\n".join(map(plain, group_page(view, view.groups[0])))
    assert "0x7fff full" in group
    assert "h1" in group
    assert "a part of the table is missing" in "\n".join(map(plain, group_page(view, view.torn[0])))
    assert "1 limited member" in "\n".join(map(plain, group_page(view, view.found[0])))


# -- routes


def table(switch: str, exits: dict[int, int], last: int) -> ForwardingTable:
    known = bytes(exits.get(lid, NO_EXIT) for lid in range(last + 1))
    return ForwardingTable(guid(switch), known, ((0, last),), f"ibroute {switch}")


CABLES = with_lids("h1[1]-s1[1] 4x HDR, h2[1]-s1[2] 4x HDR, h3[1]-s2[1] 4x HDR, s1[9]-s2[9] 4x HDR", s1=10, s2=11, h1=1,
                   h2=2, h3=3)  # fmt: skip


def test_holes_and_what_is_not_known() -> None:
    routes = Routes({guid("s1"): (table("s1", {10: 0, 1: 1, 2: 2, 11: 9}, 5)._replace(),)}, False)
    view = RoutesView(routes, SubnetView(CABLES))
    assert view.lids == [1, 2, 3, 10, 11]
    by_name = {row.key: row for row in view.table.rows}
    # The table of s1 ends at LID 5: LID 3 has no exit, and of 10 and 11 it says nothing.
    assert by_name[guid("s1")].values[2:6] == (2, 1, 2, 2)
    assert by_name[guid("s1")].level == CRITICAL
    assert by_name[guid("s2")].values[2:5] == (None, None, 5)
    assert by_name[guid("s2")].level == UNKNOWN
    assert "tables of 1 switch (not of all switches), 5 LIDs" in plain(view.head()[0])


def test_exits_lead_to_their_neighbours_and_holes_come_first() -> None:
    routes = Routes({guid("s1"): (table("s1", {10: 0, 1: 1, 2: 7, 11: 9}, 20),)}, True)
    rows = RoutesView(routes, SubnetView(CABLES)).exit_table(guid("s1")).rows
    assert (rows[0].key, rows[0].level, rows[0].values[4:]) == (NO_EXIT, CRITICAL, (1, "3"))
    assert (rows[1].key, rows[1].level) == (end("s1[7]"), UNKNOWN), "nothing is known to be at port 7"
    assert [row.values[0] for row in rows[2:]] == [0, 1, 9]
    assert rows[2].values[1] == "the switch itself"
    assert rows[4].values[1:4] == (CABLES.nodes[guid("s2")].name, 9, "switch")


def test_a_second_source_fills_what_the_first_leaves_open() -> None:
    parts = (table("s1", {1: 1, 2: 2}, 2), table("s1", {1: 1, 3: 9, 10: 0, 11: 9}, 20))
    view = RoutesView(Routes({guid("s1"): parts}, True), SubnetView(CABLES))
    assert next(row for row in view.table.rows if row.key == guid("s1")).values[2:5] == (5, 0, 0)


def test_ranges() -> None:
    assert ranges([1, 2, 3, 5, 7, 8]) == "1-3, 5, 7-8"
    assert ranges([]) == ""
    assert ranges(list(range(0, 200, 2))).endswith("and 60 ranges more")


# -- the pages


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_partitions_of_two(size: tuple[int, int]) -> None:
    """tests/support/two_subnets.py: storage has hostA1, hostA2 and the router; only the manager's host is a full member
    of the default partition.
    """
    async with showing(TWO_SUBNETS, "subnet", size) as tui:
        assert "K P_Keys" in tui.lines[-1]
        await tui.press("K")
        assert tui.title.startswith("Subnet > Partitions   3 groups")
        rows = tui.app.screen.table.table.rows
        assert [row.values[0] for row in rows] == [3, 2, 1]
        assert [row.values[2:] for row in rows] == [("-", "limited"), ("full", "limited"), ("full", "full")]
        assert rows[2].values[1] == "hostA1 mlx5_0"
        assert "share partitions only as limited members" in tui.words
        await tui.press("enter")
        assert tui.title.endswith("> group")
        assert "hostA3 mlx5_0" in tui.screen
        await tui.press("escape", "V")
        assert tui.title.startswith("Subnet > Partitions   2 partitions")
        assert tui.row[:4] == ("0x0001", None, 3, 0)
        await tui.press("enter")
        assert "3 full members" in tui.screen
        assert len(tui.lines) == size[1]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_routes_of_the_fat_tree(size: tuple[int, int]) -> None:
    async with showing(FAT_TREE, "subnet", size) as tui:
        await tui.press("R")
        assert tui.title.startswith("Subnet > Routes   15 switches")
        assert "tables of 15 switches (of all switches), 123 LIDs that ports have" in tui.screen
        assert all(row.values[2:5] == (123, 0, 0) for row in tui.app.screen.table.table.rows)
        await tui.press("enter")
        assert tui.title.startswith("Subnet > Routes > MF0;swib-l001")
        exits = {row.key: row.values for row in tui.app.screen.table.table.rows}
        assert exits[End(Guid(0xB8599F0300000000), 4)][1:] == ("c004 mlx5_0", 1, "HCA", 1, "37")
        assert sum(values[4] for values in exits.values()) == 123
        await tui.press("down", "enter")
        assert "swib-l001" in tui.title


@pytest.mark.parametrize(
    ("key", "missing"), [("K", "the P_Key tables of the ports"), ("R", "the topology of the fabric")]
)
async def test_what_is_missing_is_said(key: str, missing: str) -> None:
    async with showing(MULTIRAIL, "subnet") as tui:
        await tui.press(key)
        assert f"no record of {missing}" in tui.words or missing in tui.words
        assert "`ibkit capture`" in tui.words


async def test_before_anything_is_read() -> None:
    async with running("subnet") as tui:
        for key in ("K", "R"):
            await tui.press(key)
            assert "reading" in tui.words
            await tui.press("escape")


async def test_the_router_is_a_member_by_its_name() -> None:
    async with showing(TWO_SUBNETS, "subnet") as tui:
        await tui.press("K")
        assert any("ibrouter swid A" in str(row.values[1]) for row in tui.app.screen.table.table.rows)
