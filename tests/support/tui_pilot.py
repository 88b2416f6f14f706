"""Drives the application by keys and mouse, and reads its screen as plain lines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support import tui_scenes
from textual.pilot import Pilot

from ibkit.tui.app import IbkitApp

SIZES = [(80, 24), (120, 40), (200, 60)]


class Driver:
    """An application that runs, and the hands and eyes of its user."""

    def __init__(self, app: IbkitApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> str:
        """Press keys, a text by its letters; answer the screen that follows."""
        for key in keys:
            await self.pilot.press(key)
        await self.pilot.pause()
        return self.screen

    async def type(self, text: str) -> str:
        """Type a text."""
        names = {"!": "exclamation_mark", " ": "space", "/": "slash", "-": "minus", "[": "left_square_bracket"}
        return await self.press(*(names.get(letter, letter) for letter in text))

    async def click(self, text: str, times: int = 1, line_from: int = 0) -> str:
        """Click on the first letter of a text that is on the screen, at this line or below."""
        for y, line in enumerate(self.lines):
            if text in line and y >= line_from:
                await self.pilot.click(offset=(line.index(text), y), times=times)
                await self.pilot.pause()
                return self.screen
        raise AssertionError(f"{text!r} is not on the screen:\n{self.screen}")

    async def until(self, text: str, seconds: float = 5.0) -> str:
        """Wait until a text is on the screen, however it is broken into lines."""
        for _ in range(int(seconds / 0.02)):
            if text in self.words:
                return self.screen
            await self.pilot.pause(0.02)
        raise AssertionError(f"{text!r} does not come:\n{self.screen}")

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
    delay_seconds: float = 0.0,
    **changed: Any,
) -> AsyncIterator[Driver]:
    """The application over the scene, with everything read unless ``wait`` is False."""
    tasks = tui_scenes.tasks(delay_seconds, **changed)
    app = IbkitApp(tui_scenes.site(kind), page=page, tasks=tasks, interval_seconds=0.0)
    async with app.run_test(size=size, notifications=True) as pilot:
        driver = Driver(app, pilot)
        while wait and app.snapshot.waiting:
            await pilot.pause(0.01)
        await pilot.pause()
        yield driver
    app.collecting.stop()
