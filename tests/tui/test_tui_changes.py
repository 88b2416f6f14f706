"""What changed since then: of frames of a recording, of a capture, of the first sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tui_pilot import SIZES, Driver
from support.tui_scenes import small_fabric, small_links

from ibkit.errors import IbkitError
from ibkit.model.findings import Diagnosis
from ibkit.rules.evidence import Collected
from ibkit.sources.opening import open_site
from ibkit.tui.app import IbkitApp
from ibkit.tui.comparing import compare_with_then
from ibkit.tui.diagnosing import Diagnosed
from ibkit.tui.snapshot import FIRST, Reading
from ibkit.tui.view import changes
from ibkit.tui.view.lines import plain

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
