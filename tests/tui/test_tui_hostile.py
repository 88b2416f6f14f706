"""Whatever a fabric says its nodes are called, the screen shows it literally, and nothing breaks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style
from support.tui_pilot import running
from support.tui_scenes import HCAS, LEAVES, fabric_of, small_host, small_job, small_links, small_names, snapshot

from ibkit.display import clean
from ibkit.model.fabric import End, Fabric, Link
from ibkit.model.ids import Guid
from ibkit.model.mpi import Evidence
from ibkit.parsers.base import Problem
from ibkit.tui.help import help_lines
from ibkit.tui.pages import NAMES
from ibkit.tui.plain import report
from ibkit.tui.view.level import OK
from ibkit.tui.view.lines import facts, line, plain, span
from ibkit.tui.view.table import Column, Row, Table
from ibkit.tui.widgets.painting import cell, fitted

#: Each of these broke, or vanished from, a screen that took names as markup (measured with textual's own widgets).
NAMES_FROM_OUTSIDE = [
    "sw[/U1]", "[red]x", "a[b=c]", "[/]", "[@click=app.quit]q[/]", "node[1-16]", "\x1b[31mred", "[bold", "]][[", "\\[",
    "$error", "{0}", "%s", "tab\there", "nul\x00", "bell\x07", "\x9b31m", "\u202eevil", "\ud800", "日本語",
    "\u061czero\u200bwidth", "e\u0301", "👩\u200d👩\u200d👧", "x" * 300, " blank ", "a\nb", "a\r\nb", "\u2028",
]  # fmt: skip
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff]")


def named(name: str) -> Fabric:
    """The small fabric with this name on a leaf and on an HCA."""
    return fabric_of(small_links(), {**small_names(), LEAVES[0]: name, HCAS[0]: name})


async def test_all_hostile_names_at_once() -> None:
    hcas = [Guid(0x1000 + 16 * i) for i in range(len(NAMES_FROM_OUTSIDE))]
    links = [Link(End(hca, 1), End(LEAVES[0], i + 1), "4x", "HDR") for i, hca in enumerate(hcas)]
    names: dict[Guid, str | None] = {LEAVES[0]: "leaf", **dict(zip(hcas, NAMES_FROM_OUTSIDE, strict=True))}
    async with running("fabric", (200, 60), fabric=fabric_of(links, names)) as tui:
        for keys in ((), ("G",), ("0",), ("enter",), ("escape", "2", "g", "enter")):  # nodes, links, an HCA, the leaf
            await tui.press(*keys)
            assert not CONTROLS.search("".join(tui.lines))
            if "mlx" not in tui.title and "Links >" not in tui.title:
                for name in NAMES_FROM_OUTSIDE:
                    assert clean(name).strip(" ")[:40] in tui.screen, (keys, name)


@pytest.mark.parametrize("name", ["sw[/U1]", "[@click=app.quit]q[/]", "\x1b[31mred", "日本語"], ids=ascii)
async def test_a_hostile_name_is_shown_literally_on_every_page(name: str) -> None:
    shown = clean(name).strip(" ")[:40]
    job = small_job()
    evidence = (Evidence(1, "path", name, 1, name, name, 0, name),)
    job = job._replace(target=name, evidence=evidence, next_step=name)
    host = small_host(name)
    fabric = named(name)._replace(problems=(Problem("bad-line", name, 7, name),))
    async with running("fabric", (200, 50), fabric=fabric, job=job, host=host) as tui:
        assert shown in tui.screen
        tui.app.screen.table.go_to(LEAVES[0])
        assert tui.row[1] == (name.strip(" ") or str(LEAVES[0]))
        await tui.press("enter")
        assert shown in tui.screen
        for key in "1234567":
            await tui.press(key)
            assert not CONTROLS.search("".join(tui.lines)), key
            assert max(map(cell_len, tui.lines)) <= 200
        assert shown in tui.screen, "as a problem's sentence"
        await tui.press("y")
        await tui.press("colon")
        await tui.type("node")
        await tui.quiet()
        assert tui.app.is_running
        assert tui.app.crash is None


def test_the_palette_of_a_hostile_fabric_shows_names_literally() -> None:
    """textual reads a hit that is a str as markup; a Text it takes as it is."""
    import asyncio

    from rich.text import Text

    from ibkit.tui.palette import NodeCommands

    async def hits() -> list[Any]:
        async with running(fabric=named("[@click=app.quit]q[/]")) as tui:
            return [hit async for hit in NodeCommands(tui.app.screen).search("click")]

    found = asyncio.run(hits())
    assert [hit.match_display.plain for hit in found] == ["Node [@click=app.quit]q[/]"] * 2
    assert all(isinstance(hit.match_display, Text) for hit in found)
    assert all("[" not in (hit.help or "") for hit in found)


@given(st.text(), st.integers(0, 60), st.booleans())
@example("日本", 3, False)
@example("e\u0301" * 9, 4, True)
@example("👩\u200d👩\u200d👧", 1, False)
@example("\x1b[31m", 10, False)
def test_a_cell_is_as_wide_as_asked_and_safe(text: str, width: int, right: bool) -> None:
    segment = cell(text, width, right, Style.null())
    assert cell_len(segment.text) == width
    assert not CONTROLS.search(segment.text)


@given(st.lists(st.text(max_size=20), max_size=6), st.integers(0, 40))
def test_a_line_never_goes_over_its_width(texts: list[str], width: int) -> None:
    from rich.segment import Segment

    segments = fitted([Segment(clean(text), Style.null()) for text in texts], width)
    assert sum(cell_len(segment.text) for segment in segments) <= width


@given(st.text())
@example("[red]x")
@example("sw[/U1]")
@example("\x1b]52;c;aGFjaw==\x07")
def test_spans_and_cells_keep_the_text_but_for_controls(text: str) -> None:
    assert span(text).text == clean(text, 2000)
    assert not CONTROLS.search(span(text).text)
    table = Table("x", [Column("V")], [Row(0, OK, (text,))])
    assert table.cells()[0] == (clean(text, 200),)
    assert plain(line(span(text))) == clean(text, 2000)
    assert not CONTROLS.search(plain(facts([("name", text)])[0]))


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_the_text_report_holds_no_control_character(name: str, text: str, source: str) -> None:
    fabric = named(name)._replace(problems=(Problem(text, text, 1, source),), complete=None)
    job = small_job()._replace(target=text, next_step=source)
    for page in NAMES:
        for written in report(snapshot(fabric=fabric, job=job, host=small_host(name)), page):
            assert not CONTROLS.search(written)


@given(st.lists(st.one_of(st.none(), st.text(max_size=30)), min_size=8, max_size=8))
def test_any_names_make_a_fabric_that_can_be_shown(names: Sequence[str | None]) -> None:
    from ibkit.tui.view.subnet import SubnetView

    given_names: dict[Guid, str | None] = {**small_names(), **dict(zip(HCAS, names, strict=True))}
    view = SubnetView(fabric_of(small_links(), given_names))
    assert len(view.nodes.rows) == 12
    assert all(row.values[1] for row in view.nodes.rows)


async def test_help_is_of_our_own_words() -> None:
    async with running("fabric", fabric=named("[red]x")) as tui:
        assert "[red]" not in "".join(map(plain, help_lines(tui.app.screen)))
