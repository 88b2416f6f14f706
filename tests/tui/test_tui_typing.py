"""Keys typed in one go are obeyed in their order, what is pasted is text, a terminal that goes away ends the screen."""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.tui_pilot import PATIENCE_SECONDS, Driver, running
from support.tui_scenes import MASTER, site, tasks
from textual import events

from ibkit.cli import tui as command
from ibkit.display import clean
from ibkit.model.resolution import Answer, Resolution
from ibkit.tui.app import IbkitApp, another_interval, has_hung_up
from ibkit.tui.snapshot import MANAGERS, RESOLVE, Part, Reading
from ibkit.tui.typed import MOST_PASTED, pasted

ROOT = Path(__file__).parents[2]
FAT_TREE = ROOT / "fixtures" / "fat-tree"


async def typed(tui: Driver, text: str) -> str:
    """All keys at once, as a slow link delivers them, or a paste without brackets."""
    for letter in text:
        tui.app.post_message(events.Key({"/": "slash", "\n": "enter"}.get(letter, letter), letter))
    return await tui.quiet()


async def test_a_filter_typed_in_one_go_is_a_filter() -> None:
    async with running() as tui:
        await typed(tui, "2/leafx")
        assert tui.app.screen.table.filter_text == "leafx"  # type: ignore[attr-defined]
        assert tui.app.current_mode == "fabric"
        assert not tui.app.screen.table.faults_only, "f and x of the word are no keys"  # type: ignore[attr-defined]


@pytest.mark.parametrize(("keys", "value"), [("6a10.1.2.3", "10.1.2.3"), ("7o2nope", "2nope")])
async def test_what_is_typed_behind_a_key_that_asks_is_the_answer(keys: str, value: str) -> None:
    async with running() as tui:
        await typed(tui, keys)
        assert tui.app.focused is not None
        assert (tui.app.focused.id, tui.app.focused.value) == ("ask", value)  # type: ignore[attr-defined]


async def test_pages_and_rows_in_one_go_end_where_they_lead() -> None:
    async with running() as tui:
        await typed(tui, "1" + "2" + "jjj" + "\n")
        assert tui.title.startswith("Fabric > ")
        await typed(tui, "0/1x\n\n")
        assert tui.title.startswith("Links > "), tui.screen


@pytest.mark.parametrize("key", ["slash", "colon"])
async def test_what_is_pasted_is_shown_as_text(key: str) -> None:
    async with running("fabric") as tui:
        await tui.press(key)
        tui.app.post_message(events.Paste("\x1b]52;c;aGFjaw==\x07 leaf\n\x00two\t" + "x" * 100_000))
        await tui.quiet()
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in "".join(tui.lines))
        held = tui.app.focused.value  # type: ignore[union-attr]
        assert held.startswith("\\x1b]52;c;aGFjaw==\\x07 leaf \\x00two x")
        assert len(held) <= 4 * MOST_PASTED


@given(st.text())
@example("")
@example("\n")
@example("a\nb\r\nc")
@example("\x1b[201~")
def test_pasted_text_is_one_clean_line(text: str) -> None:
    made = pasted(text)
    assert made == clean(made, len(made) + 1)
    assert pasted("n01\nn02\n") == "n01 n02"


def live(interval_seconds: float = 0.0) -> IbkitApp:
    return IbkitApp(site("live"), page="resolve", tasks=tasks(), interval_seconds=interval_seconds)


async def test_what_is_asked_while_the_display_is_frozen_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer("10.1.2.3", "ip", "unknown")
    monkeypatch.setattr("ibkit.tui.app._resolve", lambda _site, _text: Resolution((answer,)))
    app = live()
    async with app.run_test(size=(100, 30)) as pilot:
        tui = Driver(app, pilot)
        await tui.until("s ago")
        await tui.press("p")
        app.resolve("10.1.2.3")
        await tui.wait_for(lambda: not app.snapshot.readings[Part(RESOLVE, "10.1.2.3")].is_waiting)
        assert app.is_paused
        assert app.snapshot.resolutions[0].value == Resolution((answer,))
        await tui.until("1 answer")


async def test_the_age_is_of_what_is_shown() -> None:
    app = live()
    async with app.run_test(size=(100, 30)) as pilot:
        tui = Driver(app, pilot)
        await tui.until("s ago")
        old = Reading(Resolution(()), taken=time.monotonic() - 3000)
        app.snapshot = app.snapshot.with_reading(Part(RESOLVE, "x"), old)
        await tui.press("5")
        assert "50 min" not in tui.lines[0], "the answer is not on this page"
        await tui.press("6")
        assert "50 min ago" in tui.lines[0]


async def test_a_part_that_is_old_is_told_on_each_page() -> None:
    app = live()
    async with app.run_test(size=(100, 30)) as pilot:
        tui = Driver(app, pilot)
        await tui.until("s ago")
        app.snapshot = app.snapshot.with_reading(MANAGERS, Reading(MASTER, taken=time.monotonic() - 3000))
        await tui.until("50 min ago")


@pytest.mark.parametrize(
    ("now", "factor", "then"),
    [(30, 0.5, 15), (8, 0.5, 5), (5, 0.5, 5), (1, 0.5, 1), (1, 2, 2), (2000, 2, 3600), (3600, 2, 3600),
     (86_400, 2, 86_400), (86_400, 0.5, 43_200)],
)  # fmt: skip
def test_an_interval_never_goes_the_other_way(now: float, factor: float, then: float) -> None:
    assert another_interval(now, factor) == then


async def test_where_there_is_no_interval_the_keys_say_so() -> None:
    app = live()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        tui = Driver(app, pilot)
        await tui.until("s ago")
        await tui.press("plus")
        await tui.until("by r only")


def test_a_terminal_that_is_gone_is_noticed() -> None:
    ours, theirs = pty.openpty()
    try:
        assert not has_hung_up(theirs)
        os.close(ours)
        assert has_hung_up(theirs)
    finally:
        os.close(theirs)


def started(theirs: int, *, leads: bool) -> subprocess.Popen[bytes]:
    """The screen on a terminal; only one that it leads would be told of its end by SIGHUP."""
    return subprocess.Popen(
        [sys.executable, "-m", "ibkit", "tui", "--from", FAT_TREE], cwd=ROOT,
        stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color"}, start_new_session=True,
        preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if leads else None,
    )  # fmt: skip


def read_until(ours: int, is_enough: Callable[[bytes], bool]) -> bytes:
    """What the terminal gets until that is enough, and what came with it."""
    deadline, seen = time.monotonic() + PATIENCE_SECONDS, b""
    while not is_enough(seen):
        assert time.monotonic() < deadline, seen[-300:]
        if select.select([ours], [], [], 0.1)[0]:
            seen += os.read(ours, 65_536)
    return seen


def read_to_the_end(ours: int, screen: subprocess.Popen[bytes]) -> bytes:
    """All that the terminal gets of a program that is ending, in however many pieces."""
    seen = read_until(ours, lambda _: screen.poll() is not None)
    while select.select([ours], [], [], 0)[0]:
        seen += os.read(ours, 65_536)
    return seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_first_moment_leaves_the_terminal_as_it_was(number: signal.Signals) -> None:
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    screen = started(theirs, leads=True)
    try:
        seen = read_until(ours, lambda seen: b"\x1b[?1049h" in seen)
        screen.send_signal(number)
        seen += read_to_the_end(ours, screen)
        assert screen.returncode == 128 + number
        assert b"\x1b[?1049l" in seen
        assert termios.tcgetattr(theirs) == before
        for mode in (b"1000", b"1003", b"1004", b"2004"):
            assert seen.rfind(b"\x1b[?%bh" % mode) <= seen.rfind(b"\x1b[?%bl" % mode), mode
        assert b"broke" not in seen
    finally:
        screen.kill()
        screen.wait(10)
        os.close(ours)
        os.close(theirs)


def test_without_its_terminal_it_ends_though_nobody_tells_it() -> None:
    ours, theirs = pty.openpty()
    screen = started(theirs, leads=False)
    os.close(theirs)
    try:
        read_until(ours, lambda seen: b"Overview" in seen)
        os.close(ours)
        assert screen.wait(PATIENCE_SECONDS) == 128 + signal.SIGHUP
    finally:
        screen.kill()
        screen.wait(10)


def test_a_visitor_gets_each_option_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ibkit.tui import serving

    file = tmp_path / "expectations.toml"
    file.write_text('format = "ibkit-expect/1"\n')
    given_options: list[list[str]] = []
    monkeypatch.setattr(serving, "screen_command", lambda options: given_options.append(list(options)))
    monkeypatch.setattr(serving, "serve", lambda *_: None)
    args = argparse.ArgumentParser()
    command.add_arguments(args)
    parsed = args.parse_args(["--serve", "--expect", str(file)])
    parsed.from_path = None
    assert command.run(parsed) == 0
    assert given_options[0].count("--expect") == 1


async def test_a_key_that_breaks_is_a_crash_of_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    async def defect(self: IbkitApp, name: str) -> None:
        raise RuntimeError(name)

    monkeypatch.setattr(IbkitApp, "action_page", defect)
    with pytest.raises(RuntimeError, match="fabric"):
        async with running() as tui:
            tui.app.post_message(events.Key("2", "2"))
            await tui.quiet()
