"""Time: the first frame, collectors that are slow, fail or hang, refresh, pause, the ends of the application."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from support.tui_pilot import PATIENCE_SECONDS, Driver, running
from support.tui_scenes import MASTER, site, small_job, tasks

from ibkit.model.subnet_manager import SubnetManager, SubnetManagers
from ibkit.sources.live import LiveSource
from ibkit.tui.app import IbkitApp
from ibkit.tui.collecting import Collecting
from ibkit.tui.pages import NAMES
from ibkit.tui.pages.jobs import LinePage
from ibkit.tui.screen import PageScreen
from ibkit.tui.snapshot import FABRIC, JOB, MANAGERS, Part, Reading, Task
from ibkit.tui.view.excerpt import Excerpt


async def test_the_first_frame_comes_before_any_collector_answers() -> None:
    answer = threading.Event()
    async with running(wait=False, gate=answer) as tui:
        assert tui.lines[0].startswith(" REPLAY  of small-tree")
        assert "...  reading" in tui.words or "... reading" in tui.words
        assert "reading ..." in tui.screen
        assert "ok" not in tui.words.replace("book", "")
        for digit in range(1, len(NAMES) + 1):  # keys do not wait for collectors
            await tui.press(str(digit % 10))
            assert tui.title.lower().startswith(NAMES[digit - 1])
        answer.set()
        await tui.press("1")
        await tui.until("1 critical, 3 warnings")


async def test_a_collector_that_fails_is_shown_in_its_place_and_the_rest_goes_on() -> None:
    failure = RuntimeError("[red]boom[/red] \x1b[31m")
    async with running("fabric", subnet_managers=failure) as tui:
        assert tui.title.startswith("Fabric   12 nodes")
        await tui.press("5")
        assert "the subnet managers could not be read: RuntimeError: [red]boom[/red] \\x1b[31m" in tui.screen
        await tui.press("1")
        assert "? subnet manager could not be read: RuntimeError: [red]boom[/red]" in tui.words
        await tui.press("9")
        assert tui.row[0] == "subnet managers"
        assert tui.row[3] == "collector-failed"


@pytest.mark.parametrize("kind", ["host", "fabric", "job", "doctor"])
async def test_any_collector_may_fail(kind: str) -> None:
    changed: dict[str, Any] = {kind: ValueError("broken")}
    if kind == "fabric":
        broken = tasks()
        broken[2] = Task(FABRIC, lambda: 1 / 0)
        app = IbkitApp(site(), tasks=broken)
        async with app.run_test(size=(120, 40)) as pilot:
            tui = Driver(app, pilot)
            await tui.until("could not be read: ZeroDivisionError")
            for digit in range(1, 8):
                await tui.press(str(digit))
            assert app.crash is None
        return
    async with running(**changed) as tui:
        assert "could not be read: ValueError: broken" in tui.words
        for digit in range(1, 8):
            await tui.press(str(digit))
        assert tui.app.crash is None


def answers_in_turn(*values: Any) -> Callable[[], Any]:
    """Gives the values one after the other, the last one for ever."""
    left = list(values)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def live(managers: Callable[[], Any], interval_seconds: float = 0.0) -> IbkitApp:
    parts = [task for task in tasks() if task.part != MANAGERS]
    return IbkitApp(
        site("live"), page="subnet", tasks=[*parts, Task(MANAGERS, managers)], interval_seconds=interval_seconds
    )


SECOND = SubnetManagers((SubnetManager(state="standby", priority=3), *MASTER.managers))


async def test_live_is_said_with_its_age() -> None:
    app = live(lambda: MASTER)
    async with app.run_test(size=(100, 30)) as pilot:
        tui = Driver(app, pilot)
        await tui.until("s ago")
        assert re.match(r" LIVE  n00, read \d+ s ago", tui.lines[0])
        assert "r refresh" in tui.lines[-1]


async def test_refresh_reads_anew_and_the_cursor_stays() -> None:
    app = live(answers_in_turn(SECOND, SECOND, MASTER))
    async with app.run_test(size=(100, 30)) as pilot:
        tui = Driver(app, pilot)
        await tui.until("2 subnet managers")
        await tui.press("r")
        await tui.until("2 subnet managers")
        await tui.press("r")
        await tui.until("1 subnet manager")
        assert tui.row[0] == "master"


async def test_a_replay_does_not_offer_what_has_no_meaning() -> None:
    async with running() as tui:
        assert "refresh" not in tui.lines[-1]
        screen = await tui.press("question_mark")
        assert "read everything anew" not in screen
        await tui.press("escape", "r", "p", "plus")
        assert tui.lines[0].startswith(" REPLAY")


async def test_pause_freezes_the_display_and_says_so() -> None:
    app = live(answers_in_turn(MASTER, SECOND))
    async with app.run_test(size=(100, 30)) as pilot:
        tui = Driver(app, pilot)
        await tui.until("1 subnet manager")
        await tui.press("p")
        assert tui.lines[0].startswith(" PAUSED  n00")
        await tui.press("r")
        await tui.wait_for(lambda: MANAGERS in app._held)
        assert "1 subnet manager" in tui.title, "what came in is held"
        await tui.press("p")
        assert tui.lines[0].startswith(" LIVE  n00")
        assert "2 subnet managers" in tui.title


async def test_refresh_by_the_clock_rests_ten_times_as_long_as_reading_takes() -> None:
    app = live(lambda: MASTER, interval_seconds=30.0)
    async with app.run_test(size=(100, 30)) as pilot:
        tui = Driver(app, pilot)
        await tui.until("ago, every 30 s")
        now = app.snapshot.readings[MANAGERS].taken
        assert now is not None
        assert not app._is_due(MANAGERS, now + 29.0)
        assert app._is_due(MANAGERS, now + 31.0)
        app._asked[MANAGERS] = now - 60.0  # it took a minute
        assert not app._is_due(MANAGERS, now + 599.0)
        assert app._is_due(MANAGERS, now + 601.0)
        await tui.press("minus")
        assert "every 60 s" in tui.lines[0]
        await tui.press("plus", "plus", "plus", "plus", "plus")
        assert "every 5 s" in tui.lines[0]


def test_a_tool_that_runs_is_named_and_killed_at_the_end() -> None:
    """As it happens: a collector's thread waits for a tool of the live source when the user presses q."""
    collecting = Collecting()
    source = LiveSource(tick=collecting.tick)
    delivered: list[Part] = []
    task = Task(FABRIC, lambda: source.run(["sleep", "600"], deadline_seconds=600.0))
    collecting.start([task], lambda part, reading: delivered.append(part))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while "sleep 600" not in collecting.running().get(FABRIC, ""):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "fabric"]
    assert thread.daemon
    collecting.stop(PATIENCE_SECONDS)
    assert not thread.is_alive(), "a tool that was not killed runs for ten minutes"
    assert delivered == []


def test_a_collector_that_hangs_does_not_hold_the_exit() -> None:
    collecting = Collecting()
    never = threading.Event()
    collecting.start([Task(FABRIC, never.wait), Task(MANAGERS, never.wait)], lambda part, reading: None)
    threads = [thread for thread in threading.enumerate() if thread.name in (FABRIC.title, MANAGERS.title)]
    collecting.stop(0.2)
    assert [thread.is_alive() for thread in threads] == [True, True], "they wait for what never comes"
    never.set()


def test_a_task_that_runs_is_not_started_again() -> None:
    collecting = Collecting()
    gate = threading.Event()
    calls: list[int] = []
    answered = threading.Event()

    def work() -> int:
        calls.append(1)
        gate.wait(PATIENCE_SECONDS)
        return 1

    task = Task(JOB, work)
    collecting.start([task, task], lambda part, reading: answered.set())
    collecting.start([task], lambda part, reading: None)
    gate.set()
    assert answered.wait(PATIENCE_SECONDS)
    assert calls == [1]
    collecting.stop()


async def test_what_comes_after_the_end_is_ignored() -> None:
    app = live(lambda: MASTER)
    async with app.run_test(size=(100, 30)) as pilot:
        await Driver(app, pilot).quiet()
    app._deliver(app.collecting, MANAGERS, Reading(SECOND))
    await asyncio.sleep(0)


async def test_an_error_of_ours_is_kept_and_nothing_is_printed() -> None:
    error = RuntimeError("a defect")

    def broken() -> None:
        raise error

    with pytest.raises(RuntimeError, match="a defect"):
        async with running("fabric") as tui:
            tui.app.call_later(broken)
            await tui.quiet()
    assert tui.app.crash is error
    assert tui.app._exit_renderables == []
    assert tui.app.return_code == 1


async def test_the_clock_may_tick_while_the_application_is_taken_down() -> None:
    async with running() as tui:
        await tui.press("q")
    tui.app._heartbeat()
    assert tui.app.page_screen is None
    assert not tui.app.check_action("page", ("fabric",))


async def test_an_answer_that_comes_while_its_page_is_being_mounted_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector may be faster than textual, which calls a screen mounted only when on_mount has ended."""
    page = LinePage(JOB, small_job().evidence[0])
    answer = Excerpt(17, ("the very line",), 17)
    mount = PageScreen.on_mount

    def mounted_and_answered(screen: PageScreen) -> None:
        mount(screen)
        if screen.page is page:
            assert not screen.is_mounted
            screen.app._take({page.task(screen.app.site).part: Reading(answer, taken=0.0)})

    monkeypatch.setattr(PageScreen, "on_mount", mounted_and_answered)
    async with running("jobs") as tui:
        monkeypatch.setattr(tui.app.collecting, "start", lambda *_: None)
        tui.app.push(page, ())
        await tui.until("the very line")
