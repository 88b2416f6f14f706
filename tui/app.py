"""The application: holds the snapshot, starts the collectors, switches between the pages."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.style import Style
from textual import events
from textual.app import App, ScreenStackError, SystemCommand
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from ibkit.display import clean
from ibkit.errors import IbkitError
from ibkit.sources.site import Site
from ibkit.tui import keys, themes
from ibkit.tui.collecting import Collecting
from ibkit.tui.pages import PAGES, Entry
from ibkit.tui.pages.page import Page
from ibkit.tui.screen import PageScreen
from ibkit.tui.snapshot import (
    CHANGES,
    CHECK,
    FIRST,
    ON_REQUEST,
    RESOLVE,
    Mark,
    Part,
    Reading,
    Snapshot,
    Task,
    changes_task,
    path_task,
    tasks_of,
)
from ibkit.tui.typed import Arrived, Typed, pasted
from ibkit.tui.view.banner import Clock, banner
from ibkit.tui.view.lines import Line
from ibkit.tui.view.notices import Target

if TYPE_CHECKING:
    from textual.command import Provider

    from ibkit.model.resolution import Resolution
    from ibkit.rules.waiving import Addition
    from ibkit.tui.timeline import Timeline

#: How often the age in the banner and the refreshes are looked after (seconds).
HEARTBEAT_SECONDS = 1.0
#: A part is not asked again before this many times the time that it took: a sweep of a large fabric is load.
REST_FACTOR = 10
#: Between these the keys move the interval (seconds); one that was given beyond them stays.
FASTEST_SECONDS, SLOWEST_SECONDS = 5.0, 3600.0
#: Where the notice of a change leads, see :mod:`ibkit.tui.view.changes`.
CHANGES_PAGE = "changes"


def _resolve(site: Site, text: str) -> Resolution:
    from ibkit.tui.resolving import resolve

    return resolve(site, text)


def _first_screen(entry: Entry) -> PageScreen:
    return PageScreen(entry.page())


def _node_commands() -> type[Provider]:
    from ibkit.tui.palette import NodeCommands

    return NodeCommands


class IbkitApp(App[None]):
    """The screen an admin keeps open."""

    CSS = themes.STYLE
    TITLE = "ibkit"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS = App.COMMANDS | {_node_commands}
    MODES: ClassVar[dict[str, Any]] = {page.name: partial(_first_screen, page) for page in PAGES}
    DEFAULT_MODE = PAGES[0].name
    BINDINGS: ClassVar[list[BindingType]] = [*keys.BINDINGS]

    class Delivered(Message):
        """A collector has answered."""

        def __init__(self, part: Part, reading: Reading[Any]) -> None:
            super().__init__()
            self.part = part
            self.reading = reading

    def __init__(
        self,
        site: Site,
        collecting: Collecting | None = None,
        *,
        page: str = DEFAULT_MODE,
        interval_seconds: float = 30.0,
        theme: str = "dark",
        tasks: Sequence[Task] | None = None,
        timeline: Timeline | None = None,
        read_only: bool = False,
        expect: str | None = None,
    ) -> None:
        super().__init__()
        #: The file of expectations; a waiver that is written may make it.
        self.expect = expect
        #: Whether all that writes a file stays away: others look on.
        self.is_read_only = read_only
        self.site = site
        self.timeline = timeline
        self.is_playing = False
        self.collecting = collecting or Collecting()
        earlier = timeline.site_before() if timeline else None
        self.tasks = list(self._tasks_of(site, earlier) if tasks is None else tasks)
        self.snapshot = Snapshot(site.origin, {task.part: Reading() for task in self.tasks})
        self.interval_seconds = interval_seconds if site.origin.kind == "live" else 0.0
        self.is_paused = False
        #: What ended the application, where it was not the user.
        self.crash: Exception | None = None
        self._server = os.getppid()
        self._first_page = page
        self.typed = Typed(self, super().on_event, self._handle_exception)
        self._held: dict[Part, Reading[Any]] = {}
        self._asked: dict[Part, float] = {}
        # Nothing here is better for moving, and over a slow link it is worse.
        self.animation_level = "none"
        for each in themes.THEMES:
            self.register_theme(each)
        self.theme = f"ibkit-{'mono' if self.no_color else theme}"
        self.stylesheet.set_variables(self.get_css_variables())
        self._is_painted = False
        self._role_styles: tuple[str, dict[str, Style]] = ("", {})

    @property
    def role_styles(self) -> dict[str, Style]:
        """The styles of spans and rows in the current theme."""
        if self._role_styles[0] != self.theme:
            self._role_styles = self.theme, themes.role_styles(self.current_theme)
        return self._role_styles[1]

    def _tasks_of(self, site: Site, earlier: Site | None) -> list[Task]:
        return tasks_of(site, earlier, lambda: self.expect)

    # -- life

    def on_load(self) -> None:
        """Before the terminal is touched: from then on a signal leaves it as it was."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self.exit, None, 128 + number)

    async def on_mount(self) -> None:
        """The collectors start when the first frame is painted: they would share its core."""
        self.set_interval(HEARTBEAT_SECONDS, self._heartbeat)
        if self._first_page != self.current_mode:
            await self.switch_mode(self._first_page)
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        self._is_painted = True
        self._collect(self.tasks)

    def refresh_css(self, animate: bool = True) -> None:
        """Style all anew, but not at the start: the first rule is read with the theme's colours, and what textual does
        once more for a theme that was set, and for a first screen that is a mode's, takes a tenth of the first frame.
        """
        if self._is_painted:
            super().refresh_css(animate)

    def _handle_exception(self, error: Exception) -> None:
        """Keep the error for ibkit.tui.start, where textual would print a traceback with all local variables.

        Who leaves before the first frame finds textual mounting what is not there any more: that is no crash.
        """
        if self._exit:
            self._close_messages_no_wait()
            return
        if self.crash is None:
            self.crash = error
        self._return_code = 1
        if self._exception is None:  # what a test's pilot raises
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    def _collect(self, tasks: Iterable[Task]) -> None:
        chosen = list(tasks)
        self._asked.update({task.part: time.monotonic() for task in chosen})
        self.collecting.start(chosen, partial(self._deliver, self.collecting))

    def _deliver(self, by: Collecting, part: Part, reading: Reading[Any]) -> None:
        """Called in a collector's thread. What a frame that is not shown any more says comes too late."""
        with contextlib.suppress(RuntimeError):  # the event loop has ended
            if by is self.collecting:
                self.post_message(self.Delivered(part, reading))

    def on_ibkit_app_delivered(self, message: Delivered) -> None:
        """Show what came in, or hold it while the display is frozen; what somebody asks for meanwhile is shown."""
        if self.is_paused and message.part.kind not in ON_REQUEST:
            self._held[message.part] = message.reading
        else:
            self._take({message.part: message.reading})

    def _take(self, readings: dict[Part, Reading[Any]]) -> None:
        for part, reading in readings.items():
            self.snapshot = self.snapshot.with_reading(part, reading)
        for mode in list(self._screen_stacks):
            for screen in self.get_screen_stack(mode):
                # One that is only being mounted has drawn already, and may have asked for what has come.
                if isinstance(screen, PageScreen):
                    screen.snapshot_changed()

    def _heartbeat(self) -> None:
        if self.is_web and os.getppid() != self._server:
            self.exit()  # the server was killed, and nobody looks on
        if not (self.is_headless or self.is_web) and has_hung_up(0):
            self.exit(return_code=128 + signal.SIGHUP)
        now = time.monotonic()
        if self.is_playing and self.timeline is not None and not self.snapshot.waiting:
            if self.timeline.is_last:
                self.is_playing = False
            else:
                self._go_in_time(lambda timeline: timeline.step(1))
        if self.interval_seconds and not self.is_paused:
            self._collect(task for task in self.tasks if self._is_due(task.part, now))
        if self.page_screen is not None:
            self.page_screen.refresh_banner()

    def _is_due(self, part: Part, now: float) -> bool:
        taken = self.snapshot.readings[part].taken
        if taken is None or part in self.collecting.running():
            return False
        return now - taken >= max(self.interval_seconds, REST_FACTOR * (taken - self._asked.get(part, taken)))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Digits are text in an input; what has no meaning for a replay is not offered there."""
        if action in ("step", "play", "jump"):
            return self.timeline is not None and self.page_screen is not None and not isinstance(self.focused, Input)
        if action == "then":
            return not self.is_read_only and self.page_screen is not None and not isinstance(self.focused, Input)
        if action == "page":
            return self.page_screen is not None and not isinstance(self.focused, Input)
        return self.site.origin.kind == "live" or action not in ("refresh_now", "pause", "interval")

    def banner(self) -> Line:
        """Live or replay, and how old."""
        shown = self.page_screen.page.shows if self.page_screen else ()
        taken = [
            reading.taken
            for part, reading in self.snapshot.readings.items()
            if reading.taken is not None and (part.kind not in ON_REQUEST or part.kind in shown)
        ]
        age = time.monotonic() - min(taken) if taken else None
        running = [text for text in self.collecting.running().values() if text]
        if self.timeline is not None:
            playing = "playing, " if self.is_playing else ""
            return banner(self.site.origin._replace(note=f"{playing}{self.timeline.text}"))
        return banner(self.site.origin, Clock(age, self.interval_seconds, self.is_paused, tuple(running)))

    # -- pages

    @property
    def page_screen(self) -> PageScreen | None:
        """The page in front; None under the help or the palette, and while the application is being taken down."""
        try:
            screen = self.screen
        except ScreenStackError:
            return None
        return screen if isinstance(screen, PageScreen) else None

    async def action_page(self, name: str) -> None:
        """Show a page; its digit again goes back to its beginning."""
        if name == self.current_mode:
            while len(self.screen_stack) > 1:
                await self.pop_screen()
        else:
            await self.switch_mode(name)

    def push(self, page: Page, above: tuple[str, ...]) -> None:
        """Open a page on top of this one."""
        self.push_screen(PageScreen(page, above))

    async def go_to(self, target: Target) -> None:
        """Go where a notice leads."""
        if target.screen == "doctor":
            from ibkit.tui.pages.host import DoctorPage, HostPage

            await self.go_to(Target(HostPage.name))
            self.push(DoctorPage(), (HostPage.title,))
            return
        if target.screen == CHANGES_PAGE and self.snapshot.then is not None:
            from ibkit.tui.pages.changes import ChangesPage

            above = self.page_screen
            self.push(ChangesPage(self.snapshot.then), (above.page.title,) if above else ())
            return
        await self.action_page(target.screen)
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        screen = self.page_screen
        if screen is None:
            return
        if target.node is not None:
            from ibkit.tui.pages.node import NodePage

            self.push(NodePage(target.node, target.port), (screen.page.title,))
        elif target.faults_only and not screen.table.faults_only:
            screen.table.action_faults()

    def resolve(self, text: str) -> None:
        """Find out what was typed; the answer comes when it is there."""
        self.read(Task(Part(RESOLVE, text), partial(_resolve, self.site, text)))

    def want(self, page: Page, *, again: bool = False) -> None:
        """Read what a page waits for, where it is not there, or ``again``."""
        task = page.task(self.site)
        if task is not None and (again or task.part not in self.snapshot.readings):
            self.read(task)

    def read(self, task: Task) -> None:
        """Read something that was asked for, now; of its kind the last one asked is the first one that is shown."""
        readings = {old: reading for old, reading in self.snapshot.readings.items() if old != task.part}
        self.snapshot = self.snapshot._replace(readings=readings)
        self._take({task.part: Reading()})
        self.collecting.start([task], partial(self._deliver, self.collecting))

    async def waive(self, addition: Addition) -> None:
        """Write waivers, and judge anew what was collected already."""
        from ibkit.rules.waiving import write
        from ibkit.tui.diagnosing import judged

        if self.is_read_only:
            return
        try:
            write(addition)
        except IbkitError as error:
            self.tell(str(error), seconds=10)
            return
        self.expect = addition.path
        await self.go_to(Target("findings"))
        self.tell(f"written to {addition.path}")
        sample = self.snapshot.check.value if self.snapshot.check else None
        if sample is not None:
            task = Task(CHECK, partial(judged, sample, self.expect))
            self.collecting.start([task], partial(self._deliver, self.collecting))

    def mark(self, mark: Mark) -> None:
        """Keep a port for the way between two; one that is marked already is let go."""
        marks = self.snapshot.marks
        kept = tuple(one for one in marks if one != mark) if mark in marks else (*marks, mark)[-2:]
        self.snapshot = self.snapshot._replace(marks=kept)
        self._take({})

    def show_path(self, a: Mark, b: Mark) -> None:
        """Open the way between two ports; it is followed meanwhile."""
        from ibkit.tui.pages.path import PathPage

        task = path_task(self.site, a, b)
        self._take({task.part: Reading()})
        self.collecting.start([task], partial(self._deliver, self.collecting))
        above = self.page_screen
        self.push(PathPage(a, b), (*above.above, above.page.title) if above else ())

    def action_help(self) -> None:
        """All keys of this screen."""
        from ibkit.tui.help import HelpScreen

        self.push_screen(HelpScreen(self.screen))

    def ask(self, hint: str, then: Callable[[str | None], Any], value: str = "") -> None:
        """Ask for a text; ``then`` gets it, or nothing. ``value`` stands there at first."""
        from ibkit.tui.asking import AskScreen

        self.push_screen(AskScreen(hint, value), then)

    async def on_event(self, event: events.Event) -> None:
        """What is pasted is drawn by the input as it is: no control character gets there. Keys wait for each other."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.typed.add(event)
            return
        if isinstance(event, events.Paste):
            event.text = pasted(event.text)
        await super().on_event(event)

    def on_arrived(self, message: Arrived) -> None:
        """All that was typed before it was obeyed."""
        message.event.set()

    # -- time

    def action_refresh_now(self) -> None:
        """Read everything anew."""
        self._collect(self.tasks)

    def action_pause(self) -> None:
        """Freeze what is shown, or show what came in the meantime."""
        self.is_paused = not self.is_paused
        if not self.is_paused:
            held, self._held = self._held, {}
            self._take(held)
        self._heartbeat()

    def action_interval(self, factor: float) -> None:
        """Refresh more often or less."""
        if not self.interval_seconds:
            self.tell("it is read anew by r only (--interval 0)")
            return
        self.interval_seconds = another_interval(self.interval_seconds, factor)
        self._heartbeat()

    def action_step(self, by: int) -> None:
        """Another frame of the recording."""
        self.is_playing = False
        self._go_in_time(lambda timeline: timeline.step(by))

    def action_play(self) -> None:
        """A frame each second, to the end; or stop."""
        self.is_playing = not self.is_playing
        self._heartbeat()

    def action_jump(self) -> None:
        """Type the number or the time of a frame."""
        self.ask("number of a frame, first, last, or a time such as 2026-12-01T14:00", self._jump)

    def _jump(self, which: str | None) -> None:
        if which:
            self._go_in_time(lambda timeline: timeline.jump(which))

    def action_then(self) -> None:
        """Type what to compare with."""
        if self.timeline is not None:
            self.ask("compare with frame: number, first, time; or a capture", self._compare, FIRST)
        else:
            start = FIRST if self.site.origin.kind == "live" else ""
            self.ask("compare with a capture, or frame cluster.ibr@7", self._compare, start)

    def _compare(self, then: str | None) -> None:
        above = self.page_screen
        if not then or above is None:
            return
        then = os.path.expanduser(then)
        if self.timeline is not None and not os.path.exists(then) and "@" not in then:
            then = self.timeline.named(then)
        from ibkit.tui.pages.changes import ChangesPage

        # From now on with each refresh and each frame, so that the overview can tell of it.
        self.snapshot = self.snapshot._replace(then=then)
        self.tasks = [task for task in self.tasks if task.part.kind != CHANGES] + [changes_task(then)]
        self.read(self.tasks[-1])
        self.push(ChangesPage(then), (*above.above, above.page.title))

    def _go_in_time(self, move: Callable[[Timeline], object]) -> None:
        """Show another frame: nothing of the one before stays on the screen as if it were of this one."""
        if self.timeline is None:
            return
        try:
            if move(self.timeline) is False:
                self.tell("no frame follows" if self.timeline.is_last else "this is the first frame")
                return
            site, earlier = self.timeline.site(), self.timeline.site_before()
        except IbkitError as error:
            self.is_playing = False
            self.tell(str(error))
            return
        self.collecting.stop(0.0)
        self.collecting = Collecting()
        self.site, self.tasks = site, self._tasks_of(site, earlier)
        then = self.snapshot.then
        self.tasks += [changes_task(then)] if then is not None else []
        readings = {task.part: Reading[Any]() for task in self.tasks}
        self.snapshot = Snapshot(site.origin, readings, self.snapshot.marks, then)
        self._collect(self.tasks)
        self._take({})  # pages that need one of these wait for it

    # -- the rest

    def action_theme(self) -> None:
        """The next theme."""
        names = [theme.name for theme in themes.THEMES]
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]
        self.tell(f"colours: {self.theme.removeprefix('ibkit-')}")

    def export(self, name: str, ending: str, text: str, what: str) -> None:
        """Write a text to a new file in the current folder."""
        if self.is_read_only:
            return
        from ibkit.tui.exporting import write_new

        try:
            path = write_new(name, ending, text)
        except OSError as error:
            self.tell(f"not written: {error.strerror} ({error.filename or os.curdir})", seconds=10)
        else:
            self.tell(f"{what} written to {path}")

    def tell(self, text: str, seconds: float = 4) -> None:
        """A short message. It may hold text from outside, so it is no markup."""
        self.notify(clean(text), markup=False, timeout=seconds)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the palette offers."""
        from ibkit.tui.palette import commands

        return commands(self, screen)


def another_interval(seconds: float, factor: float) -> float:
    """The interval times the factor, within the bounds; it never goes the other way."""
    if factor < 1:
        return max(seconds * factor, min(seconds, FASTEST_SECONDS))
    return min(seconds * factor, max(seconds, SLOWEST_SECONDS))


def has_hung_up(descriptor: int) -> bool:
    """Whether the terminal is gone. Where no SIGHUP tells so (a container's), reading it would be endless work."""
    look = select.poll()
    look.register(descriptor, 0)
    return bool(look.poll(0))
