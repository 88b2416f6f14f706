"""Drives the application by keys and mouse, and reads its screen as plain lines."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from support import tui_scenes
from textual.pilot import Pilot

from ibkit.tui.app import IbkitApp
from quiet_app import press, quiet

SIZES = [(80, 24), (120, 40), (200, 60)]
#: How long something that comes for certain may take on a machine that is busy with much else (seconds).
PATIENCE_SECONDS = 120.0


class Driver:
    """An application that runs, and the hands and eyes of its user."""

    def __init__(self, app: IbkitApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot
        #: All short messages so far: on the screen each stands for some seconds only.
        self.said: list[str] = []
        notify = app.notify

        def keep(message: str, **more: Any) -> None:
            self.said.append(message)
            notify(message, **more)

        app.notify = keep  # type: ignore[method-assign,assignment]

    async def quiet(self) -> str:
        """Wait until all that was begun is done; answer the screen that follows."""
        await quiet(self.app)
        return self.screen if self.app.is_running else ""

    async def press(self, *keys: str) -> str:
        """Press keys, a text by its letters; answer the screen that follows."""
        for key in keys:
            await press(self.app, key)
        return await self.quiet()

    async def type(self, text: str) -> str:
        """Type a text."""
        names = {
            "!": "exclamation_mark",
            " ": "space",
            "/": "slash",
            "-": "minus",
            "[": "left_square_bracket",
            "~": "tilde",
        }
        return await self.press(*(names.get(letter, letter) for letter in text))

    async def click(self, text: str, times: int = 1, line_from: int = 0) -> str:
        """Click on the first letter of a text that is on the screen, at this line or below."""
        for y, line in enumerate(self.lines):
            if text in line and y >= line_from:
                return await self.click_at(line.index(text), y, times)
        raise AssertionError(f"{text!r} is not on the screen:\n{self.screen}")

    async def click_at(self, x: int, y: int, times: int = 1) -> str:
        """Click on a place of the screen."""
        await self.pilot.click(offset=(x, y), times=times)
        return await self.quiet()

    async def resize(self, width: int, height: int) -> str:
        """Give the terminal another size."""
        await self.pilot.resize_terminal(width, height)
        return await self.quiet()

    async def until(self, text: str) -> str:
        """Wait until a text is on the screen, however it is broken into lines, or was said in a short message."""
        await self.wait_for(
            lambda: text in self.words or any(text in one for one in self.said),
            lambda: f"{text!r} does not come:\n{self.screen}\n{self.said}",
        )
        return await self.quiet()

    async def wait_for(self, is_so: Callable[[], object], why: Callable[[], str] = lambda: "it does not come") -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < deadline, why()
            await asyncio.sleep(0.01)
            await quiet(self.app)

    async def settled(self) -> str:
        """Wait until everything that was asked for is there."""
        await self.wait_for(lambda: not self.app.snapshot.waiting, lambda: f"no answer of {self.app.snapshot.waiting}")
        return await self.quiet()

    @property
    def screen(self) -> str:
        """The screen as text."""
        return tui_scenes.screen_text(self.app)

    @property
    def words(self) -> str:
        """The screen's words, one blank between two."""
        return " ".join(self.screen.split())

    @property
    def lines(self) -> list[str]:
        """The screen's lines."""
        return self.screen.split("\n")

    @property
    def title(self) -> str:
        """The line that says where one is."""
        return self.lines[2].strip()

    @property
    def row(self) -> tuple[Any, ...]:
        """The values of the row under the cursor."""
        row = self.app.screen.table.row  # type: ignore[attr-defined]
        return () if row is None else row.values


@asynccontextmanager
async def running(
    page: str = "overview",
    size: tuple[int, int] = (120, 40),
    kind: str = "capture",
    *,
    wait: bool = True,
    gate: threading.Event | None = None,
    **changed: Any,
) -> AsyncIterator[Driver]:
    """The application over the scene, with everything read unless ``wait`` is False."""
    tasks = tui_scenes.tasks(gate, **changed)
    app = IbkitApp(tui_scenes.site(kind), page=page, tasks=tasks, interval_seconds=0.0)
    async with app.run_test(size=size, notifications=True) as pilot:
        driver = Driver(app, pilot)
        await (driver.settled() if wait else driver.quiet())
        yield driver
    app.collecting.stop()
