"""What is typed and pasted: keys wait for each other, and a text is one line without controls."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from textual.app import ScreenStackError
from textual.message import Message

from ibkit.display import clean

if TYPE_CHECKING:
    from textual.app import App
    from textual.events import Key

#: What is pasted is cut there: each key in an input costs as much as the input holds (characters).
MOST_PASTED = 16_384
#: How many places a key may lead to, one after the other, and how long the next key waits for each (seconds).
MOST_PLACES, PATIENCE_SECONDS = 4, 0.5


class Arrived(Message):
    """Follows a key through all queues; the application sets its event."""

    def __init__(self) -> None:
        super().__init__()
        self.event = asyncio.Event()


class Typed:
    """The keys that were typed and not obeyed yet, one after the other: what is typed fast behind a key that opens a
    screen or an input is meant for that.

    A key goes from the widget up to the application through the queue of each; a message that follows it tells
    that it has arrived. Where it has led elsewhere, that place is waited for, too.
    """

    def __init__(
        self, app: App[None], obey: Callable[[Key], Awaitable[None]], failed: Callable[[Exception], None]
    ) -> None:
        """``obey`` hands a key on to the widgets; ``failed`` is told what a key broke."""
        self._app = app
        self._obey = obey
        self._failed = failed
        self._keys: deque[Key] = deque()
        self._task: asyncio.Task[None] | None = None

    def add(self, key: Key) -> None:
        """Obey it when its turn comes."""
        self._keys.append(key)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work_off())

    @property
    def is_idle(self) -> bool:
        """Whether all of them were obeyed."""
        return not self._keys and (self._task is None or self._task.done())

    async def _work_off(self) -> None:
        try:
            while self._keys and self._app.is_running:
                await self._obey_one(self._keys.popleft())
        except ScreenStackError:  # the application has ended
            self._keys.clear()
        except Exception as error:  # a task's own is told to nobody
            self._failed(error)

    async def _obey_one(self, key: Key) -> None:
        app = self._app
        before = app.focused or app.screen
        await self._obey(key)
        for _ in range(MOST_PLACES):
            place = app.focused or app.screen
            arrived = Arrived()
            if place.post_message(arrived):
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(arrived.event.wait(), PATIENCE_SECONDS)
            if place is before:
                break
            before = place


def pasted(text: str) -> str:
    """One line of what was pasted, without controls; several lines become words."""
    return clean(" ".join(text[:MOST_PASTED].expandtabs(1).splitlines()).strip(), MOST_PASTED)
