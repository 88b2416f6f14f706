"""Fabric, links, node and path pages, key by key, over captures whose truth is in their README."""

from __future__ import annotations

import pytest
from support.answers import Answers
from support.tui_captures import FAT_TREE, MULTIRAIL, ROCE, TWO_SUBNETS, settled, showing
from support.tui_pilot import SIZES, Driver, running
from support.tui_scenes import HCAS, LEAVES, small_fabric

from ibkit.model.fabric import End
from ibkit.tui.view.fabric_tree import Behind
from ibkit.tui.view.level import WARNING

#: swib-l001, its port without a cable, the 1x port, and c004 at that (fixtures/fat-tree/README.md).
LEAF = 0xB8599F0300000000
FREE = End(LEAF, 21)
NARROW = End(LEAF, 4)


def keys(tui) -> list[object]:
    table = tui.app.screen.table
    return [table.table.rows[index].key for index in table.shown]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_three_views_of_the_fabric(size: tuple[int, int]) -> None:
    async with showing(FAT_TREE, "fabric", size) as tui:
        assert tui.title.startswith("Fabric   123 nodes")
        assert "V view" in tui.lines[-1]
        assert "? help" in tui.lines[-1]
        await tui.press("V")
        # 15 switches of 36 ports and 108 adapters of one.
        assert tui.title.startswith("Fabric ports   648 ports")
        await tui.press("V")
        assert tui.title.startswith("Fabric tree   15 lines"), "all adapters are behind switches"
        await tui.press("V")
        assert tui.title.startswith("Fabric   123 nodes")
        assert max(map(len, tui.lines)) <= size[0]


async def test_the_tree_unfolds_and_folds_by_key() -> None:
    async with showing(FAT_TREE, "fabric") as tui:
        await tui.press("V", "V", "space")
        assert tui.title.startswith("Fabric tree   51 lines"), "36 ports below the first switch"
        assert keys(tui)[:3] == [LEAF, End(LEAF, 1), End(LEAF, 2)]
        await tui.press("down", "space")
        assert keys(tui)[:4] == [LEAF, End(LEAF, 1), Behind(End(LEAF, 1)), End(LEAF, 2)]
        assert tui.app.screen.table.key == End(LEAF, 1), "the cursor stays"
        await tui.press("down")
        assert tui.row[0].strip() == "c001 mlx5_0 port 1"
        await tui.press("enter")
        assert tui.title.startswith("Fabric tree > c001 mlx5_0   1 port")
        await tui.press("escape", "up", "up", "space")
        assert tui.title.startswith("Fabric tree   15 lines")
        await tui.press("space")
        assert tui.title.startswith("Fabric tree   52 lines"), "what was unfolded below is still so"


async def test_the_tree_unfolds_by_a_click_on_its_mark_and_opens_by_two_elsewhere() -> None:
    async with showing(FAT_TREE, "fabric") as tui:
        await tui.press("V", "V")
        await tui.click("▸")
        assert tui.title.startswith("Fabric tree   51 lines")
        await tui.click("▾")
        assert tui.title.startswith("Fabric tree   15 lines")
        await tui.click("MF0;swib-l003", times=2)
        assert tui.title.startswith("Fabric tree > MF0;swib-l003")


async def test_space_says_where_rows_unfold() -> None:
    async with showing(FAT_TREE, "fabric") as tui:
        await tui.press("space")
        await tui.until("V shows the fabric as a tree")


async def test_a_filter_finds_what_is_folded_and_unfolds_it() -> None:
    async with showing(FAT_TREE, "fabric") as tui:
        await tui.press("V", "V", "slash")
        await tui.type("c004")
        await tui.press("enter")
        assert keys(tui) == [LEAF, NARROW]
        await tui.press("escape")
        assert len(keys(tui)) == 15


async def test_the_tree_sorts_siblings_and_keeps_them_below_their_parent() -> None:
    async with showing(FAT_TREE, "fabric") as tui:
        await tui.press("V", "V", "space", "s", "S")
        assert "by Node, port down" in tui.title
        rows = [row.values[0].strip() for row in tui.app.screen.table.table.rows]
        assert rows[0].endswith("swib-s009:MQM8700/U1")
        leaf = next(i for i, row in enumerate(rows) if "swib-l001" in row)
        assert [row.split()[-1] for row in rows[leaf + 1 : leaf + 4]] == ["36", "35", "34"]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_only_down(size: tuple[int, int]) -> None:
    """Of 648 ports 428 are ends of the 214 links; two of the free ones lost their cables."""
    async with showing(FAT_TREE, "fabric", size) as tui:
        await tui.press("D")
        assert tui.title.startswith("Fabric: only down   220 ports")
        assert "220 of 648 ports have no link" in tui.screen
        assert FREE in keys(tui)
        await tui.press("slash")
        await tui.type("l006")
        await tui.press("enter")
        # swib-l006 has all of its 36 ports in use but the one whose cable is missing.
        assert [key.port for key in keys(tui)] == [36]
        assert tui.title.startswith("Fabric: only down   1 of 220 ports   filter: l006")
        await tui.press("D")
        assert tui.title.startswith("Fabric   ")
        assert "only down" not in tui.title


async def test_only_slow_as_the_command_has_it() -> None:
    async with showing(FAT_TREE, "fabric") as tui:
        await tui.press("L")
        # Three links with two ends each.
        assert tui.title.startswith("Fabric: only slow   6 ports")
        assert NARROW in keys(tui)
        assert "of 214 links 2 are slow, 1 are suspected to be" in tui.screen
        await tui.press("0", "L")
        assert tui.title.startswith("Links: only slow   3 links")
        assert {row.values[4] for row in tui.app.screen.table.table.rows} == {"1x HDR", "4x EDR", "4x QDR"}
        await tui.press("L")
        assert tui.title.startswith("Links   214 links")


async def test_only_erroring() -> None:
    async with showing(FAT_TREE, "fabric") as tui:
        await tui.press("E")
        assert tui.title.startswith("Fabric: only erroring   2 ports")
        assert set(keys(tui)) == {NARROW, End(LEAF + 0x200, 22)}
        assert "2 ports with errors since the counters were last cleared" in tui.screen
        await tui.press("V", "V")
        assert tui.title.startswith("Fabric tree: only erroring   4 lines")
        await tui.press("0", "E")
        assert tui.title.startswith("Links: only erroring   2 links")


async def test_erroring_without_counters_says_so_and_shows_no_empty_list() -> None:
    async with running("fabric") as tui:
        await tui.press("E")
        assert tui.title == "Fabric: only erroring"
        assert "the counters were not read" in tui.screen
        assert "0 ports" not in tui.screen


async def test_a_quick_view_that_leaves_nothing_says_so() -> None:
    async with showing(TWO_SUBNETS, "links") as tui:
        await tui.press("E")
        assert "no link is erroring; its key again shows all" in tui.words


@pytest.mark.parametrize("name", [MULTIRAIL, ROCE])
async def test_without_a_fabric_each_view_says_why(name: str) -> None:
    async with showing(name, "fabric") as tui:
        for key in ("V", "V", "V", "D", "L", "E", "m", "space"):
            await tui.press(key)
            assert "nothing was seen of the fabric" in tui.screen, key
        await tui.until("there is no port here to mark")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_node_page_tells_of_counters_keys_and_findings(size: tuple[int, int]) -> None:
    async with showing(FAT_TREE, "fabric", size) as tui:
        await tui.press("enter")
        assert "LID 2   LMC 0" in tui.screen
        assert "P_Keys" in tui.screen
        assert "R13" in tui.screen
        tui.app.screen.table.go_to(NARROW)
        await tui.quiet()
        assert tui.row[6] == 4711 + 3, "SymbolErrorCounter and LinkDownedCounter"
        assert "SymbolErrorCounter 4711" in tui.words
        assert "c004 mlx5_0 port 1 HCA LID 37" in tui.words
        assert len(tui.lines) == size[1]


async def test_all_of_a_port() -> None:
    async with showing(FAT_TREE, "fabric", (120, 60)) as tui:
        await tui.press("enter")
        tui.app.screen.table.go_to(NARROW)
        await tui.press("i")
        assert tui.title.endswith("> port 4")
        words = tui.words
        assert "1x HDR 50 Gb/s one lane only" in words
        assert "state Active, physical LinkUp" in words
        assert "enabled 1x" in words
        assert "LID 2, that of the switch" in words
        assert "P_Keys 0x7fff full (a filter of the switch's)" in words
        assert "cable not known: there is no record of modules and switches" in words
        assert "R20 SymbolErrorCounter 4711" in words
        assert "next:" in words
        await tui.press("escape", "enter", "i")
        assert "LID 37 LMC 0 SM LID 1" in tui.words
        assert "P_Keys 0x7fff full counted" in tui.words


async def test_the_node_page_without_what_the_rules_read() -> None:
    async with running("fabric") as tui:
        await tui.press("enter")
        assert tui.title.startswith("Fabric > L-0   40 ports")
        assert "counted the counters were not read" in tui.words
        await tui.press("i")
        assert "P_Keys the counters were not read" in tui.words
        assert "can do not known" in tui.words


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_path_between_two_marked_nodes(size: tuple[int, int]) -> None:
    async with showing(FAT_TREE, "fabric", size) as tui:
        await tui.press("X")
        await tui.until("mark two ports with m first")
        tui.app.screen.table.go_to(0x0C42A10300000000)
        await tui.press("m")
        assert "marked  c001 mlx5_0 port 1   m on another one" in tui.screen
        await tui.press("X")
        await tui.until("mark one more port with m")
        await tui.press("0", "slash")
        await tui.type("c108")
        await tui.press("enter", "m")
        assert "c001 mlx5_0 port 1 and c108 mlx5_0 port 1" in tui.screen, "of a link the adapter's end is marked"
        await tui.press("X")
        await settled(tui)
        assert "c001 mlx5_0 can talk to c108 mlx5_0" in tui.screen
        # Leaf, spine, leaf: four links in each direction, over different spines.
        rows = tui.app.screen.table.table.rows
        assert [row.values[0] for row in rows] == ["there"] * 4 + ["back"] * 4
        assert [rows[0].values[2], rows[3].values[4]] == ["c001 mlx5_0", "c108 mlx5_0"]
        assert [rows[4].values[2], rows[7].values[4]] == ["c108 mlx5_0", "c001 mlx5_0"]
        assert "out of" in tui.screen
        await tui.press("enter")
        assert "swib-l001" in tui.lines[2]


async def test_a_slow_hop_of_a_path_is_marked_and_says_why() -> None:
    """fixtures/fat-tree/README.md: the link of c004 runs at 1x HDR."""
    async with showing(FAT_TREE, "fabric", (120, 40)) as tui:
        for guid in (0x0C42A10300000000, 0x0C42A10300000030):
            tui.app.screen.table.go_to(guid)
            await tui.press("m")
        await tui.press("X")
        await settled(tui)
        rows = tui.app.screen.table.table.rows
        slow = [row for row in rows if "1x HDR" in row.values]
        assert slow, tui.screen
        assert {row.level for row in slow} == {WARNING}
        assert all("one lane only" in row.values[-1] for row in slow)
        assert any(line.startswith("!") and "1x HDR" in line for line in tui.lines), tui.screen
        await tui.press("f")
        assert "one lane only" in tui.words, "the detail says it in full, whatever columns there is room for"


async def test_marks_are_let_go_and_the_last_two_count() -> None:
    async with showing(FAT_TREE, "fabric") as tui:
        for guid in (0x0C42A10300000000, 0x0C42A10300000010, 0x0C42A10300000020):
            tui.app.screen.table.go_to(guid)
            await tui.press("m")
        assert [mark.name for mark in tui.app.snapshot.marks] == ["c002 mlx5_0 port 1", "c003 mlx5_0 port 1"]
        await tui.press("m")
        assert [mark.name for mark in tui.app.snapshot.marks] == ["c002 mlx5_0 port 1"]
        await tui.press("enter", "m")
        assert "c003 mlx5_0 port 1" in tui.screen, "marked on its own page"


async def test_a_path_in_a_partition_of_limited_members_is_no() -> None:
    """hostA2 and hostA3 share 0x7fff alone, and both are limited in it (tests/support/two_subnets.py)."""
    async with showing(TWO_SUBNETS, "fabric") as tui:
        for number in (2, 3):
            tui.app.screen.table.go_to(0x00A1000000000000 + number * 16)
            await tui.press("m")
        await tui.press("X")
        await settled(tui)
        assert "hostA2 mlx5_0 cannot talk to hostA3 mlx5_0: pkey" in tui.words
        assert "no: both are limited members of all that they share: 0x7fff" in tui.words


async def ask_for_a_path(tui: Driver) -> None:
    """Between two marked HCAs, of a subnet that answers nothing."""
    tui.app.site = tui.app.site._replace(subnet=Answers({}))
    for guid in (HCAS[0], HCAS[7]):
        tui.app.screen.table.go_to(guid)
        await tui.press("m")
    await tui.press("X")
    await settled(tui)


async def test_a_path_without_forwarding_tables_says_how_to_have_them() -> None:
    """The small fabric's capture has nothing but the topology."""
    async with running("fabric") as tui:
        await ask_for_a_path(tui)
        assert "is not settled" in tui.words
        assert "ibroute" in tui.words


async def test_a_node_with_several_ports_is_asked_for_one() -> None:
    fabric = small_fabric()
    node = fabric.nodes[HCAS[0]]
    second = node.ports[0]._replace(number=2, lid=99, guid=None)
    fabric = fabric._replace(
        nodes={**fabric.nodes, HCAS[0]: node._replace(ports=(node.ports[0], second), port_count=2)}
    )
    fabric = fabric._replace(links=fabric.links[:4] + fabric.links[5:])
    async with running("fabric", fabric=fabric) as tui:
        await ask_for_a_path(tui)
        assert "is more than one port" in tui.words
        assert "on a row of the node's own page marks one port" in tui.words


async def test_leaves_keep_their_place_when_the_fabric_is_read_anew() -> None:
    async with running("fabric") as tui:
        await tui.press("V", "V", "space", "G")
        before = tui.app.screen.table.key
        tui.app.screen.snapshot_changed()
        await tui.quiet()
        assert tui.app.screen.table.key == before
        assert LEAVES[0] in keys(tui)


async def test_another_frame_was_not_asked_for_the_way() -> None:
    async with showing(FAT_TREE, "fabric") as tui:
        for guid in (0x0C42A10300000000, 0x0C42A10300000010):
            tui.app.screen.table.go_to(guid)
            await tui.press("m")
        await tui.press("X")
        await settled(tui)
        readings = {part: reading for part, reading in tui.app.snapshot.readings.items() if part.kind != "path"}
        tui.app.snapshot = tui.app.snapshot._replace(readings=readings)
        tui.app._take({})
        await tui.quiet()
        assert "esc, then X asks it" in tui.words
        await tui.press("escape", "X")
        await settled(tui)
        assert "c001 mlx5_0 can talk to c002 mlx5_0" in tui.words
