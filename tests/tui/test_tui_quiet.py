"""What the tests wait with: it sees all of what a key leads to, however long that takes."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from quiet_app import press, quiet


class Slow(App[None]):
    """Each step hands on to the next one only after it was idle: to a pilot it looks done."""

    BINDINGS: ClassVar[list[BindingType]] = [("a", "begin", ""), ("q", "quit", "")]

    def compose(self) -> ComposeResult:
        yield Static("before", id="told")

    async def action_begin(self) -> None:
        await asyncio.sleep(0.2)
        self.query_one("#told").call_later(self.go_on)

    async def go_on(self) -> None:
        await asyncio.sleep(0.2)
        self.call_after_refresh(self.end)
        self.refresh(layout=True)

    async def end(self) -> None:
        await asyncio.sleep(0.2)
        await self.mount(Static("after", id="after"))


async def test_it_waits_for_all_that_a_key_leads_to() -> None:
    app = Slow()
    async with app.run_test():
        await press(app, "a")
        assert app.query_one("#after", Static).region.height == 1, "mounted and laid out"


async def test_an_application_that_has_ended_is_not_waited_for() -> None:
    app = Slow()
    async with app.run_test():
        await press(app, "q")
        assert not app.is_running
    await quiet(app)
