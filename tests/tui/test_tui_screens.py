"""The application, driven by keys and mouse and read as text, at three sizes."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from support.tui_pilot import SIZES, Driver, running
from support.tui_scenes import problem, small_fabric
from textual import events
from textual.binding import Binding
from textual.command import CommandList

from ibkit.model.fabric import Link
from ibkit.sources.opening import open_site
from ibkit.tui import pages
from ibkit.tui.app import IbkitApp
from ibkit.tui.help import help_lines, key_name
from ibkit.tui.pages import NAMES
from ibkit.tui.pages.page import Page
from ibkit.tui.view.lines import plain

TIME_KEYS = [
    (binding.key_display or binding.key, binding.action, binding.tooltip)
    for binding in IbkitApp.BINDINGS
    if isinstance(binding, Binding) and binding.action.split("(")[0] in ("step", "play", "jump")
]
FAT_TREE = Path(__file__).parent.parent.parent / "fixtures" / "fat-tree"
TABS = (
    "1 Overview", "2 Fabric", "3 Counters", "4 Host", "5 Subnet", "6 Resolve", "7 Jobs", "8 Findings", "9 Problems",
    "0 Links",
)  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_overview_answers_at_a_glance(size: tuple[int, int]) -> None:
    async with running(size=size) as tui:
        lines = tui.lines
        assert lines[0] == " REPLAY  of small-tree, recorded 2026-12-01 20:53:07 +00:00: two faults"
        assert " ".join(lines[1].split()) == " ".join(TABS[: 8 if size[0] < 90 else 10])
        assert lines[3] == " x   1 critical, 3 warnings"
        assert "4 switches, 8 HCAs, 12 links; all was reached" in tui.screen
        assert "TCP, not RDMA: a fall-back" in tui.screen
        assert "enter open" in lines[-1]
        assert "q quit" in lines[-1]
        assert max(map(len, lines)) <= size[0]
        assert len(lines) == size[1]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", NAMES)
async def test_every_page_keeps_its_banner_and_its_keys(name: str, size: tuple[int, int]) -> None:
    async with running(name, size) as tui:
        assert tui.lines[0].startswith(" REPLAY  of small-tree, recorded 2026-12-01 20:53:07")
        assert tui.title.lower().startswith(name)
        assert "? help" in tui.lines[-1]
        assert max(map(len, tui.lines)) <= size[0]


async def test_the_digits_and_a_click_switch_the_pages() -> None:
    async with running() as tui:
        for digit, name in enumerate(NAMES, 1):
            await tui.press(str(digit % 10))
            assert tui.title.lower().startswith(name), digit
        await tui.press("0")
        assert tui.title.startswith("Links   12 links")


async def test_links_filter_with_text_and_its_negation() -> None:
    async with running("links") as tui:
        await tui.press("slash")
        await tui.type("hdr")
        assert "filter  hdr" in tui.lines[2]
        await tui.press("enter")
        assert tui.title.startswith("Links   11 of 12 links   filter: hdr"), "4x EDR is hidden"
        await tui.press("slash")
        await tui.type("hdr !n0")  # what is typed replaces what was there
        screen = await tui.press("enter")
        assert tui.title.startswith("Links   3 of 12 links   filter: hdr !n0")
        assert "n00 mlx5_0" not in screen
        await tui.press("escape")
        assert tui.title.startswith("Links   12 links")


async def test_a_filter_that_admits_nothing_says_so() -> None:
    async with running("fabric") as tui:
        await tui.press("slash")
        screen = await tui.type("nowhere")
        assert "no node is left by the filter" in screen
        await tui.press("escape")
        assert tui.title.startswith("Fabric   12 nodes")


async def test_digits_and_letters_are_text_in_the_filter() -> None:
    async with running("fabric") as tui:
        await tui.press("slash")
        await tui.type("n03 q?/")
        assert "filter  n03 q?/" in tui.lines[2]
        assert tui.app.is_running


async def test_keys_typed_fast_are_obeyed_in_their_order() -> None:
    """Each of the first three keys changes what the next one means; none may overtake another."""
    async with running() as tui:
        for key in ("0", "slash", "n", "0", "4"):
            tui.app.post_message(events.Key(key, "/" if key == "slash" else key))
        await tui.quiet()
        assert "filter  n04" in tui.lines[2]
        assert tui.row[0] == "n04 mlx5_0"


async def test_sort_by_keys_and_by_the_header() -> None:
    async with running("fabric") as tui:
        screen = await tui.press("s", "s")
        assert "Name▲" in screen
        assert "by Name" in tui.title
        assert tui.row[1] == "L-0"
        screen = await tui.press("S")
        assert "Name▼" in screen
        assert tui.row[1] == "S-1"
        screen = await tui.press("greater_than_sign")
        assert "LID▲" in screen
        assert tui.row[2] == 1
        screen = await tui.press("less_than_sign", "less_than_sign")
        assert "Type▲" in screen
        await tui.click("Links", line_from=3)
        assert "by Links" in tui.title
        assert tui.row[3] == 1
        await tui.click("Links▲", line_from=3)
        assert "by Links down" in tui.title
        assert tui.row[3] == 6


async def test_faults_only() -> None:
    async with running("links") as tui:
        await tui.press("f")
        assert tui.title.startswith("Links   2 of 12 links   faults only")
        await tui.press("f")
        assert tui.title.startswith("Links   12 links")


async def test_from_node_to_neighbour_and_back() -> None:
    async with running("fabric") as tui:
        assert tui.row[1] == "L-0"
        screen = await tui.press("enter")
        assert tui.title.startswith("Fabric > L-0   40 ports")
        assert "switch, 6 of 40 ports linked" in screen
        await tui.press("slash")
        await tui.type("s-1")
        await tui.press("enter")
        assert tui.row[:5] == (22, "up", "1x HDR", "S-1", 1)
        await tui.press("enter")
        assert tui.title.startswith("Fabric > L-0 > S-1   40 ports")
        assert tui.row[:5] == (1, "up", "1x HDR", "L-0", 22), "the cursor is on the other end of the same link"
        await tui.press("escape")
        assert tui.title.startswith("Fabric > L-0   1 of 40 ports   filter: s-1"), "as it was left"
        await tui.press("escape", "escape")
        assert tui.title.startswith("Fabric   12 nodes")
        assert tui.row[1] == "L-0"
        await tui.press("escape")
        assert tui.title.startswith("Fabric"), "there is nothing above"


async def test_enter_on_a_free_port_goes_nowhere() -> None:
    async with running("fabric") as tui:
        await tui.press("enter", "G", "enter")
        assert tui.title.startswith("Fabric > L-0   40 ports")


async def test_a_page_is_kept_while_another_is_in_front_and_its_digit_leads_home() -> None:
    async with running("fabric") as tui:
        await tui.press("enter", "3", "2")
        assert tui.title.startswith("Fabric > L-0")
        await tui.press("2")
        assert tui.title.startswith("Fabric   12 nodes")


async def test_the_mouse_selects_and_opens() -> None:
    async with running("fabric") as tui:
        await tui.click("n05 mlx5_0")
        assert tui.row[1] == "n05 mlx5_0"
        await tui.click("n05 mlx5_0", times=2)
        assert tui.title.startswith("Fabric > n05 mlx5_0   1 port")


async def test_a_link_opens_at_its_first_end() -> None:
    async with running("links") as tui:
        await tui.press("down", "enter")
        assert tui.title.startswith("Links > S-1   40 ports")
        assert tui.row[:5] == (1, "up", "1x HDR", "L-0", 22)


async def test_a_notice_leads_to_its_place() -> None:
    async with running() as tui:
        await tui.press("enter")
        assert tui.title.startswith("Jobs   2 pieces of evidence")
        await tui.press("1", "down", "enter")
        assert tui.title.startswith("Host   3 ports")
        await tui.press("1", "down", "enter")
        assert tui.title.startswith("Links > S-1   40 ports")


async def test_a_notice_about_a_crowd_leads_to_the_faults() -> None:
    fabric = small_fabric()
    links = tuple(link._replace(width="1x") for link in fabric.links)
    async with running(fabric=fabric._replace(links=links)) as tui:
        await tui.press("slash")
        await tui.type("12 links")
        await tui.press("enter", "enter")
        assert tui.title.startswith("Links   12 links   faults only")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_host_page_tells_all_of_the_port_under_the_cursor(size: tuple[int, int]) -> None:
    async with running("host", size) as tui:
        assert re.search(r"mlx5_0/1 +Active", tui.screen)
        assert re.search(r"! mlx5_2/1 +Initializing", tui.screen), "the state is told by mark and word"
        assert re.search(r"i mlx5_1/1 +Down", tui.screen)
        assert "0  fe80:0000:0000:0000:0c42:a103:0000:0001  IB" in tui.screen
        screen = await tui.press("tab", "end")
        assert "0x0005  limited member" in screen
        await tui.press("shift+tab", "down", "down")
        assert "no subnet manager has configured the port" in tui.words


async def test_the_doctor_is_at_the_host() -> None:
    async with running("host") as tui:
        assert "d doctor" in tui.lines[-1]
        assert "enter open" not in tui.lines[-1], "it leads nowhere here"
        screen = await tui.press("d")
        assert tui.title.startswith("Host > Doctor   2 checks")
        assert tui.row[:2] == ("umad", "denied"), "what is to be mended comes first"
        assert "usermod -aG rdma $USER" in screen
        await tui.press("escape", "2")
        assert "doctor" not in tui.lines[-1]


async def test_the_subnet_manager_leads_to_its_node() -> None:
    async with running("subnet") as tui:
        assert tui.row == ("master", 5, 14, 4711, 0x0C42A10300000001, "n00 mlx5_0")
        await tui.press("enter")
        assert tui.title.startswith("Subnet > n00 mlx5_0")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_verdict_of_a_job(size: tuple[int, int]) -> None:
    async with running("jobs", size) as tui:
        screen = tui.screen
        for text in (
            "x  TCP, not RDMA: a fall-back", "Open MPI 4.1.4", "tcp | shm*",
            "locked memory is limited to 64 KiB (memlock)", "evidence #2", "LimitMEMLOCK=infinity for slurmd",
            "add --mca btl_base_verbose 30", "job.out:17",
        ):  # fmt: skip
            assert text in screen, text
        await tui.press("down", "enter")
        assert tui.title.startswith("Jobs > job.out:9")
        await tui.until("job.out: not readable up to line 9: it has 0 lines")  # the scene's log is empty
        await tui.press("escape")
        assert tui.title.startswith("Jobs   2 pieces")


async def test_problems_are_listed_with_their_place() -> None:
    async with running("problems", fabric=small_fabric(problems=(problem(), problem("another", None)))) as tui:
        assert tui.title.startswith("Problems   2 problems")
        assert tui.row[:3] == ("fabric", "line 7 holds no link", "ibnetdiscover:7")
        screen = await tui.press("enter")
        assert tui.title.startswith("Problems > problem")
        assert "bad-line" in screen


async def test_without_a_problem_the_page_says_so() -> None:
    async with running("problems") as tui:
        assert "all that was asked for could be read" in tui.screen


@pytest.mark.parametrize("size", [(79, 24), (80, 21), (40, 10), (20, 3)], ids=str)
async def test_below_the_least_size_one_line_says_so(size: tuple[int, int]) -> None:
    async with running(size=size) as tui:
        assert tui.lines[0].rstrip() == f"needs 80x22, is {size[0]}x{size[1]}"
        assert set("".join(tui.lines[1:])) <= {" "}


async def test_a_terminal_that_grows_gets_its_screen() -> None:
    async with running("links", size=(60, 15)) as tui:
        await tui.resize(80, 24)
        assert tui.title.startswith("Links   12 links")
        assert "From GUID" not in tui.lines[3]
        await tui.resize(160, 24)
        assert "From GUID" in tui.lines[3], "more room, more columns"


async def test_the_detail_is_beside_the_table_where_there_is_room() -> None:
    async with running("host", size=(120, 40)) as tui:
        row = next(line for line in tui.lines if "mlx5_0/1" in line)
        assert "fe80:" not in row
        await tui.resize(200, 60)
        beside = [line for line in tui.lines if "mlx5_" in line or "HCA" in line]
        assert any(len(line) > 140 for line in beside), tui.screen
        await tui.resize(120, 40)
        assert max(map(len, tui.lines)) <= 120


async def test_wide_shows_all_columns_and_scrolls_sideways() -> None:
    async with running("links", size=(80, 24)) as tui:
        assert "w: " in tui.title
        await tui.press("w")
        assert "w: " not in tui.title
        screen = await tui.press(*["right"] * 10)
        assert "0xb8599f0400000000" in screen
        await tui.press("w")
        assert "w: " in tui.title


async def test_moving_by_pages_and_ends() -> None:
    async with running("fabric", size=(80, 22)) as tui:
        await tui.press("enter")  # 40 ports
        await tui.press("G")
        assert tui.row[0] == 40
        assert any(line.split()[:3] == ["40", "no", "link"] for line in tui.lines), "the last row is in sight"
        await tui.press("g")
        assert tui.row[0] == 1
        await tui.press("j", "j", "k")
        assert tui.row[0] == 2
        await tui.press("pagedown", "pagedown")
        assert tui.row[0] > 10
        await tui.press("pageup", "pageup", "pageup")
        assert tui.row[0] == 1


async def test_help_comes_from_the_bindings() -> None:
    async with running("host") as tui:
        told = [plain(line) for line in help_lines(tui.app.screen)]
        screen = await tui.press("question_mark")
        for key, what in {
            "/": "show rows that hold these words; !word hides them",
            "f": "only what is not known to be well, or all",
            "d": "what ibkit can see on the host",
            "q": "leave",
        }.items():
            assert any(re.match(rf" +{re.escape(key)} +{re.escape(what)}", line) for line in told), key
        assert "Keys here" in screen
        screen = await tui.press("end")
        assert "unknown: the evidence is missing" in screen
        await tui.press("escape")
        assert tui.title.startswith("Host")


async def test_help_and_then_q_quits() -> None:
    async with running() as tui:
        await tui.press("question_mark", "q")
        assert not tui.app.is_running


@pytest.mark.parametrize(
    "keys", [("q",), ("ctrl+c",), ("slash", "x", "ctrl+c"), ("colon", "ctrl+c"), ("2", "enter", "q")]
)
async def test_ways_out(keys: tuple[str, ...]) -> None:
    async with running() as tui:
        await tui.press(*keys)
        assert not tui.app.is_running


async def choose(tui: Driver, key: str, typed: str, hit: str) -> None:
    """Open the palette, type, and choose the first hit once it is there and highlighted."""
    await tui.press(key)
    await tui.type(typed)
    await tui.until(hit)
    await tui.wait_for(lambda: tui.app.screen.query_one(CommandList).highlighted is not None)
    await tui.press("enter")


@pytest.mark.parametrize("key", ["colon", "ctrl+p"])
async def test_the_palette_finds_pages_and_nodes(key: str) -> None:
    async with running() as tui:
        await choose(tui, key, "n06", "Node n06 mlx5_0")
        await tui.until("Fabric > n06 mlx5_0 1 port")
        await choose(tui, key, "problems", "Go to Problems")
        await tui.until("all that was asked for")


async def test_themes_go_round_and_no_theme_loses_a_word() -> None:
    async with running("links") as tui:
        before = tui.screen
        seen = set()
        for _ in range(4):
            await tui.press("t")
            seen.add(tui.app.theme)
        tui.app.clear_notifications()
        await tui.quiet()
        assert tui.screen == before
        assert len(seen) == 4


async def test_no_color_chooses_greys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with running("links") as tui:
        assert tui.app.theme == "ibkit-mono"
        colours = set()
        for strip in tui.app.screen._compositor.render_strips():
            for segment in strip:
                for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    if colour is not None and colour.triplet is not None:
                        colours.add(colour.triplet)
        assert colours
        assert all(max(colour) - min(colour) <= 2 for colour in colours), "greys"


async def test_nothing_moves() -> None:
    async with running() as tui:
        assert tui.app.animation_level == "none"


def test_links_are_hashable_keys() -> None:
    """The cursor stays on its link when the fabric is read anew: the key must compare by value."""
    links = small_fabric().links
    assert {links[0], Link(*links[0])} == {links[0]}


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_shipped_capture_with_its_known_truth(size: tuple[int, int]) -> None:
    """fixtures/fat-tree/README.md: which links are slow, that two are missing, how the job went."""
    app = IbkitApp(open_site(str(FAT_TREE)))
    async with app.run_test(size=size) as pilot:
        tui = Driver(app, pilot)
        await tui.settled()
        assert tui.lines[0].startswith(" REPLAY  of fat-tree, recorded 2026-")
        assert tui.lines[3].startswith(" x   1 critical, 4 warnings")
        assert "15 switches, 108 HCAs, 214 links; all was reached" in tui.screen
        await tui.press("0", "f")
        assert tui.title.startswith("Links   3 of 214 links   faults only")
        found = {table.texts(row)[4] for table in [app.screen.table.table] for row in table.rows[:3]}
        assert found == {"1x HDR", "4x QDR", "4x EDR"}
        await tui.press("2", "slash")
        await tui.type("l001")
        await tui.press("enter", "enter", "slash")
        await tui.type("no link")
        await tui.press("enter")
        assert tui.row[:2] == (21, "no link"), "the missing cable"
        await tui.press("7")
        assert "TCP, not RDMA: a fall-back" in tui.screen
        assert "memlock" in tui.screen
        assert "job.log:" in tui.screen
    app.collecting.stop()


def all_pages() -> list[type[Page]]:
    for module in pkgutil.iter_modules(pages.__path__, f"{pages.__name__}."):
        importlib.import_module(module.name)
    found = Page.__subclasses__()
    for page in found:
        found += page.__subclasses__()
    return found


async def test_the_document_lists_the_keys_as_the_help_does() -> None:
    told: dict[str, str] = {}
    for page, kind in (("host", "live"), *((page, "capture") for page in ("fabric", "counters", "subnet", "resolve"))):
        async with running(page, kind=kind) as tui:
            for active in tui.app.screen.active_bindings.values():
                if active.binding.id and active.binding.tooltip:
                    told[key_name(tui.app, active.binding)] = active.binding.tooltip
    told |= {own.key: own.help for page in all_pages() for own in page.keys}
    for name, _, what in TIME_KEYS:  # a recording has them
        told[name] = what
    document = (FAT_TREE.parent.parent / "docs" / "tui.md").read_text()
    table = document.split("## Keys")[1].split("## Live")[0]
    written = {}
    for keys, what in re.findall(r"^\| ((?:`[^`]+` ?)+) \| (.+) \|$", table, re.MULTILINE):
        written |= dict.fromkeys(re.findall(r"`([^`]+)`", keys), what)
    assert written == told
