"""A recording in the application: step, play, jump; each frame is compared with the one before."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from support.tui_pilot import Driver

from ibkit.sources.base import CommandAnswer
from ibkit.sources.recording import RecordingSource
from ibkit.sources.recording_file import append
from ibkit.sources.writer import Recorded
from ibkit.tui.app import IbkitApp
from ibkit.tui.timeline import Timeline

#: perfquery's own form (infiniband-diags); data counters count units of 4 octets (IBTA volume 1, 16.1.3.5).
PERFQUERY = """# Port extended counters: Lid 5 port 1 (CapMask: 0x5300)
PortSelect:......................1
CounterSelect:...................0x0000
PortXmitData:....................{data}
PortRcvData:.....................0
SymbolErrorCounter:..............{errors}
"""
COUNTS = ((0, 0), (375_000_000, 7), (750_000_000, 7))


class Says:
    """A host whose only tool is perfquery."""

    def __init__(self, text: str) -> None:
        self._text = text

    def run(self, argv, *, deadline_seconds=60.0):
        return CommandAnswer(tuple(argv), self._text.encode(), b"", 0, 0.1)


@pytest.fixture
def recording(tmp_path: Path) -> str:
    path = str(tmp_path / "x.ibr")
    for minute, (data, errors) in enumerate(COUNTS):
        source = RecordingSource(Says(PERFQUERY.format(data=data, errors=errors)))
        source.run(("perfquery", "-x"))
        append(path, Recorded("n01", f"2026-12-01T10:0{minute}:00+00:00", (), source), 1 << 30)
    return path


@asynccontextmanager
async def showing(recording: str, which: str = "last"):
    timeline = Timeline(recording, which)
    app = IbkitApp(timeline.site(), timeline=timeline)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        tui = Driver(app, pilot)
        await settled(tui)
        yield tui


async def settled(tui: Driver) -> None:
    await tui.settled()


async def test_steps_to_both_ends_and_says_where_it_is(recording: str) -> None:
    async with showing(recording) as tui:
        assert "frame 3, recorded 2026-12-01 10:02:00" in tui.lines[0]
        assert "frame 3 of 3" in tui.lines[0]
        for number in (2, 1, 1):
            await tui.press("left_square_bracket")
            await settled(tui)
            assert f"frame {number} of 3" in tui.lines[0]
            assert f"10:0{number - 1}:00" in tui.lines[0]
        await tui.until("this is the first frame")
        await tui.press("right_square_bracket")
        await settled(tui)
        assert "frame 2 of 3" in tui.lines[0]


async def test_plays_to_the_end(recording: str) -> None:
    async with showing(recording, "first") as tui:
        await tui.press("P")
        await tui.until("frame 3 of 3")
        await settled(tui)
        await tui.until("recorded 2026-12-01 10:02:00 +00:00: frame 3 of 3")
        assert not tui.app.is_playing


async def test_jumps_by_number_and_time_and_tells_what_is_not_there(recording: str) -> None:
    async with showing(recording) as tui:
        for typed, number in (("1", 1), ("last", 3), ("2026-12-01T10:01:30", 2)):
            await tui.press("J")
            await tui.type(typed)
            await tui.press("enter")
            await settled(tui)
            assert f"frame {number} of 3" in tui.lines[0], typed
        await tui.press("J", "9", "enter")
        await tui.until("no frame @9")
        assert "frame 2 of 3" in tui.lines[0]


async def test_a_recording_that_grows_has_more_frames(recording: str) -> None:
    async with showing(recording) as tui:
        source = RecordingSource(Says(PERFQUERY.format(data=1, errors=8)))
        source.run(("perfquery", "-x"))
        append(recording, Recorded("n01", "2026-12-01T10:03:00+00:00", (), source), 1 << 30)
        await tui.press("right_square_bracket")
        await settled(tui)
        assert "frame 4 of 4" in tui.lines[0]


async def test_without_a_recording_there_is_nothing_to_step(recording: str) -> None:
    app = IbkitApp(Timeline(recording).site())
    assert not app.check_action("step", (1,))
