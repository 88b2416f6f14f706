"""Taking along what is seen: rows as CSV and JSON, the screen as a picture, a row or a cell to the clipboard."""

from __future__ import annotations

import csv
import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.schemas import strict
from support.tui_pilot import Driver, running
from support.tui_scenes import HCAS, LEAVES, SPINES, fabric_of, small_links, small_names

from ibkit.tui import exporting
from ibkit.tui.choosing import LETTERS
from ibkit.tui.pages import NAMES
from ibkit.tui.pages.page import DetailPage
from ibkit.tui.view.level import OK
from ibkit.tui.view.lines import line
from ibkit.tui.view.table import Column, Row, Table


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files are written into the current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def exported(tui: Driver, key: str, said: str) -> Path:
    await tui.press("e")
    assert "Write to a file in the current folder" in tui.screen
    await tui.press(key)
    await tui.until(said)
    (path,) = Path().glob("ibkit-*")
    return path


async def test_csv_holds_the_rows_that_are_seen() -> None:
    async with running("links", size=(80, 24)) as tui:
        await tui.press("f")
        path = await exported(tui, "c", "2 rows written to")
    assert re.fullmatch(r"ibkit-links-\d{8}-\d{6}\.csv", path.name)
    header, *rows = csv.reader(path.read_text().splitlines())
    assert header == ["level", "From", "Port", "To", "Port", "Rate", "Gb/s", "Remark", "From GUID", "To GUID"]
    assert [row[:6] for row in rows] == [
        ["warning", "S-0", "2", "L-1", "21", "4x EDR"],
        ["warning", "S-1", "1", "L-0", "22", "1x HDR"],
    ]


async def test_json_holds_them_with_their_values() -> None:
    async with running("links", size=(80, 24)) as tui:
        await tui.press("f", "s", "S")
        path = await exported(tui, "j", "2 rows written to")
    made = json.loads(path.read_text())
    jsonschema.validate(made, strict("screen"))
    rows = made.pop("rows")
    assert made == {
        "schema": "ibkit.screen/1", "page": "links",
        "of": {"kind": "capture", "label": "small-tree", "time": "2026-12-01T20:53:07+00:00"},
        "filter": "", "faults_only": True, "sorted_by": "From", "descending": True, "total": 12,
        "columns": ["From", "Port", "To", "Port", "Rate", "Gb/s", "Remark", "From GUID", "To GUID"],
    }  # fmt: skip
    assert [row["level"] for row in rows] == ["warning", "warning"]
    assert rows[0]["values"][:6] == ["S-1", 1, "L-0", 22, "1x HDR", 50.0]
    assert rows[0]["values"][7:] == [f"{SPINES[1]:#018x}", f"{LEAVES[0]:#018x}"]


@pytest.mark.parametrize("name", NAMES)
async def test_json_of_every_page_with_rows_fits_the_schema(name: str) -> None:
    async with running(name) as tui:
        table = tui.app.screen.table  # type: ignore[attr-defined]
        if table.table is None:
            return
        text = exporting.json_text(name, tui.app.snapshot.origin, tui.app.screen._shown, table.shown)  # type: ignore[attr-defined]
    made = json.loads(text)
    jsonschema.validate(made, strict("screen"))
    assert len(made["rows"]) == made["total"] == len(table.table.rows)


async def test_an_unknown_value_is_null_and_a_name_is_raw(folder: Path) -> None:
    hostile = "a\x1b[31m\nb"
    fabric = fabric_of(small_links(), {**small_names(), HCAS[0]: hostile, HCAS[1]: None})
    async with running("fabric", fabric=fabric) as tui:
        path = await exported(tui, "j", "12 rows written to")
        text = path.read_text()
        path.unlink()
        rows = [dict(zip(("type", "name", "lid"), row["values"], strict=False)) for row in json.loads(text)["rows"]]
        assert "\x1b" not in text, "escaped"
        assert {"type": "HCA", "name": hostile, "lid": 5} in [{**row, "lid": 5} for row in rows]
        tui.app.clear_notifications()
        path = await exported(tui, "c", "12 rows written to")
        assert "\x1b" not in path.read_text(), "a spreadsheet or a terminal shows it"


def test_titles_and_cells_of_a_csv_are_no_formulas_and_hold_no_controls() -> None:
    """A matrix has a column for each host."""
    table = Table(
        "host", (Column("n\x1b1"), Column("=1+1"), Column("dB", decimals=1)), (Row("a", OK, ("@SUM(1)", None, -2.5)),)
    )
    assert exporting.csv_text(table, [0]).splitlines() == [r"level,n\x1b1,'=1+1,dB", "ok,'@SUM(1),,-2.5"]


async def test_a_page_without_a_table_offers_its_picture_alone() -> None:
    async with running("fabric") as tui:
        tui.app.push(DetailPage("One thing", [line("in full")]), ("Fabric",))
        await tui.until("Fabric > One thing")
        await tui.press("e")
        assert "as an SVG picture" in tui.screen
        assert "as CSV" not in tui.screen
        await tui.press("c")
        assert list(Path().iterdir()) == []
        await tui.press("escape")
        assert tui.title.startswith("Fabric > One thing")


async def test_svg_is_the_screen_and_asks_nobody_for_a_font() -> None:
    names = {**small_names(), LEAVES[0]: "<script>&\x1b[31m"}
    async with running("fabric", fabric=fabric_of(small_links(), names)) as tui:
        path = await exported(tui, "s", "the screen written to")
        lines = tui.lines
    text = path.read_text()
    assert path.suffix == ".svg"
    assert "\x1b" not in text
    assert re.findall(r"https?://[^\"' )<]+", text) == ["http://www.w3.org/2000/svg", "https://www.textualize.io"]
    assert "font-face" not in text
    seen = " ".join("".join(ET.fromstring(text).itertext()).replace("\xa0", " ").split())
    assert "<script>&\\x1b[31m" in seen
    assert "Write to a file" not in seen, "the list of choices is gone from the picture"
    assert " ".join(lines[0].split()) in seen


async def test_the_mouse_does_the_same() -> None:
    async with running("links") as tui:
        await tui.click("? help")
        await tui.click("the rows that are shown, or the screen")
        await tui.click("as JSON")
        await tui.until("12 rows written to")
    assert [path.suffix for path in Path().iterdir()] == [".json"]


async def test_a_click_beside_leaves_it() -> None:
    async with running("links") as tui:
        for key in ("e", "question_mark", "c"):
            await tui.press(key)
            assert len(tui.app.screen_stack) == 2
            await tui.click_at(1, 1)
            assert len(tui.app.screen_stack) == 1
    assert list(Path().iterdir()) == []


async def test_the_help_tells_each_key_of_a_line_apart() -> None:
    async with running("fabric") as tui:
        assert tui.row[1] == "L-0"
        await tui.press("question_mark")
        y, keys = next((y, text) for y, text in enumerate(tui.lines) if "sort by another column" in text)
        await tui.click_at(keys.index(">"), y)
        assert "by Type" in tui.title
        await tui.press("question_mark")
        await tui.click_at(keys.index("<"), y)
        assert "by Type" not in tui.title, "one back"


async def test_a_full_disk_is_told_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")  # a write knows no name

    monkeypatch.setattr(os, "fsync", full)
    async with running("links") as tui:
        await tui.press("e", "c")
        await tui.until("not written: No space left on device (.)")
    assert list(folder.iterdir()) == []


async def test_what_cannot_be_written_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    async with running("links") as tui:
        await tui.press("e", "c")
        await tui.until("not written: No such file or directory")


async def test_copy_takes_the_row_or_a_cell() -> None:
    async with running("fabric") as tui:
        await tui.press("y")
        assert tui.app.clipboard == "switch  L-0  3  6  40  0xb8599f0400000000  port 22 at 1x HDR, one lane only"
        await tui.until("copied: switch L-0")
        screen = await tui.press("c")
        assert re.search(r" 6  GUID +0xb8599f0400000000", screen)
        await tui.press("6")
        assert tui.app.clipboard == "0xb8599f0400000000"
        await tui.press("c")
        await tui.click("port 22 at 1x HDR", line_from=10)
        assert tui.app.clipboard == "port 22 at 1x HDR, one lane only"


async def test_read_only_offers_no_file() -> None:
    async with running("links") as tui:
        tui.app.is_read_only = True
        await tui.press("e")
        assert len(tui.app.screen_stack) == 1
        assert "to a file" not in await tui.press("question_mark")
        await tui.press("escape")
        assert not [c for c in tui.app.get_system_commands(tui.app.screen) if "Export" in c.title]
        tui.app.export("links", "csv", "x", "it")
    assert list(Path().iterdir()) == []


# Files


def test_nothing_is_written_over(folder: Path) -> None:
    first, second = (exporting.write_new("links", "csv", text, now=lambda: 0.0) for text in ("1", "2"))
    assert (Path(first).read_text(), Path(second).read_text()) == ("1", "2")
    assert second.endswith("-2.csv")
    assert len(list(folder.iterdir())) == 2, "no part is left"


def test_a_file_system_without_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    test_nothing_is_written_over(folder)


def test_a_link_in_the_way_is_not_followed(folder: Path) -> None:
    (folder / "precious").write_text("mine")
    path = exporting.write_new("links", "csv", "1", now=lambda: 0.0)
    os.unlink(path)
    os.symlink(folder / "precious", path)
    assert exporting.write_new("links", "csv", "2", now=lambda: 0.0) != path
    assert (folder / "precious").read_text() == "mine"


def test_a_write_that_fails_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device", "part")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        exporting.write_new("links", "csv", "1")
    assert list(folder.iterdir()) == []


def test_there_are_letters_for_all_columns() -> None:
    assert len(set(LETTERS)) == len(LETTERS) >= 30
