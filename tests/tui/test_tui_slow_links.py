"""Over a slow link: a refresh that changes nothing writes the age of what is shown, and no row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.tui_pilot import Driver
from support.tui_scenes import site, tasks
from textual.drivers.headless_driver import HeadlessDriver

from ibkit.tui.app import IbkitApp
from ibkit.tui.snapshot import Reading

#: A line of 120 columns with its colours: the banner with the age.
LINE_BYTES = 700


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is written to the terminal."""
    texts: list[str] = []
    monkeypatch.setattr("ibkit.tui.app.HEARTBEAT_SECONDS", 3600.0)  # no beat of its own: the tests beat
    monkeypatch.setattr(HeadlessDriver, "write", lambda self, data: texts.append(data))
    monkeypatch.setattr(HeadlessDriver, "is_headless", False)  # else textual does not even paint
    yield texts


@pytest.mark.parametrize("page", ["overview", "host", "links"])
async def test_a_refresh_without_news_writes_one_line(page: str, written: list[str]) -> None:
    app = IbkitApp(site("live"), page=page, tasks=tasks(), interval_seconds=0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        tui = Driver(app, pilot)
        await tui.settled()
        assert len("".join(written)) > 2_000, "the first frame"
        before = {part: reading.taken for part, reading in app.snapshot.readings.items()}
        written.clear()
        await tui.press("r")
        await tui.wait_for(lambda: all(app.snapshot.readings[part].taken != taken for part, taken in before.items()))
        await tui.quiet()
        text = "".join(written)
        assert len(text) <= len(before) * LINE_BYTES, text
        assert "mlx5" not in text, "no row is written again"
    app.collecting.stop()


async def test_a_beat_of_the_clock_that_changes_no_word_writes_nothing(written: list[str]) -> None:
    app = IbkitApp(site("live"), page="links", tasks=tasks(), interval_seconds=0.0)
    async with app.run_test(size=(120, 40)) as pilot:
        tui = Driver(app, pilot)
        await tui.settled()
        for part, reading in app.snapshot.readings.items():  # an age that stays the same for minutes
            app.snapshot.readings[part] = Reading(reading.value, None, (reading.taken or 0.0) - 7_230.0)
        app._heartbeat()
        await tui.quiet()
        written.clear()
        for _ in range(3):
            app._heartbeat()
            await tui.quiet()
        assert "".join(written) == "", "nothing changed, nothing is written"
    app.collecting.stop()
