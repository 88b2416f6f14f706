"""What changed since then: of frames of a recording, of a capture, of the first sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tui_pilot import SIZES, Driver
from support.tui_scenes import site, small_fabric, small_links, tasks
from textual import events

from ibkit.comparison.change import Change, Comparison, Where
from ibkit.comparison.change import Part as ComparedPart
from ibkit.errors import IbkitError
from ibkit.model.findings import Diagnosis
from ibkit.rules.evidence import Collected
from ibkit.sources.opening import open_site
from ibkit.tui.app import IbkitApp
from ibkit.tui.comparing import compare_with_then
from ibkit.tui.diagnosing import Diagnosed
from ibkit.tui.snapshot import CHECK, FIRST, Reading, Task
from ibkit.tui.view import changes
from ibkit.tui.view.level import OK, UNKNOWN
from ibkit.tui.view.lines import plain
from ibkit.tui.view.notices import PartLine

FAT_TREE = Path(__file__).parents[2] / "fixtures" / "fat-tree"
NOTHING = Diagnosis((), (), ())


def sample(first: bool = True) -> Diagnosed:
    """The first sample had the small fabric; now one of its links runs slower."""
    before = small_fabric()
    links = tuple(link._replace(speed="EDR") if link == small_links()[0] else link for link in before.links)
    now = Collected(fabric=before._replace(links=links))
    return Diagnosed(now, NOTHING, first=Collected(fabric=before) if first else None)


def test_a_link_that_became_slower_since_the_first_sample() -> None:
    found = compare_with_then(FIRST, Reading(sample()))
    rows = changes.table(found).rows
    assert any("EDR" in str(row.values[1]) and "HDR" in str(row.values[1]) for row in rows), rows
    assert "1 difference of fabric" in "\n".join(map(plain, changes.head(found, FIRST)))


def test_without_an_earlier_sample_nothing_is_compared() -> None:
    with pytest.raises(IbkitError, match="no sample before this one"):
        compare_with_then(FIRST, Reading(sample(first=False)))
    with pytest.raises(IbkitError, match="nothing is read yet"):
        compare_with_then(FIRST, Reading())


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_capture_is_asked_for_and_a_bad_one_is_told(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "then").symlink_to(FAT_TREE)
    monkeypatch.chdir(tmp_path)
    app = IbkitApp(open_site(str(FAT_TREE)))
    async with app.run_test(size=size) as pilot:
        tui = Driver(app, pilot)
        await tui.settled()
        await tui.press("T")
        await tui.type("then")
        await tui.press("enter")
        await tui.until("0 differences of fabric, subnet managers, partitions, hosts")
        assert tui.title.startswith("Overview > Changes")
        await tui.press("escape", "T")
        await tui.type("gone")
        await tui.press("enter")
        await tui.until("what changed since gone could not be read")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_overview_says_that_it_is_compared_and_what_changed(size: tuple[int, int]) -> None:
    app = IbkitApp(site("live"), tasks=[*tasks(), Task(CHECK, sample)], interval_seconds=0.0)
    async with app.run_test(size=size) as pilot:
        tui = Driver(app, pilot)
        await tui.settled()
        assert "changes" not in tui.words
        await tui.press("T")
        await tui.press("enter")  # what stands there: the first sample
        await tui.settled()
        assert tui.title.startswith("Overview > Changes   1 difference")
        await tui.press("escape")
        assert "i changes since first: 1 difference: 1 " in tui.words
        notice = next(row.key for row in app.screen.table.table.rows if row.values[1] == "since first")
        assert notice.what.startswith("changed: ")
        app.screen.table.go_to(notice)
        await tui.press("enter")
        assert tui.title.startswith("Overview > Changes")
        before = app.snapshot.changes
        await tui.press("escape", "r")
        await tui.wait_for(lambda: app.snapshot.changes != before)
        assert "since first: 1 difference" in tui.words, "and so after each refresh"
    app.collecting.stop()


async def test_what_is_typed_takes_the_place_of_what_is_proposed() -> None:
    app = IbkitApp(site("live"), tasks=tasks(), interval_seconds=0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        tui = Driver(app, pilot)
        for key in "T/n":  # in one go: none of them is taken for the choice of all
            app.post_message(events.Key({"/": "slash"}.get(key, key), key))
        await tui.quiet()
        assert app.focused.value == "/n"
    app.collecting.stop()


def test_what_cannot_be_compared_is_no_silence() -> None:
    nothing = Comparison((), (), (ComparedPart("fabric", False, "it is not in the capture"),))
    assert changes.line_of(nothing, "x") == PartLine("changes", UNKNOWN, "since x: no difference; not compared: fabric")
    whole = Comparison((), (), (ComparedPart("fabric", True),))
    assert changes.line_of(whole, "x").level == OK
    many = Comparison(tuple(Change(f"k{n}", Where(), 1, 2, f"text {n}") for n in range(5)), (), whole.parts)
    assert changes.line_of(many, "x").text == "since x: 5 differences: 1 k0, 1 k1, 1 k2 and 2 kinds more"
    assert [one.what for one in changes.notices(many, "x")][-1] == "changed: 2 things more"
