"""Waits until a textual application has nothing left to do, for tests and pictures.

textual's own pilot waits until the process uses little processor time. On a busy machine a process that gets none looks
just so, and what it has not done yet is missed. Here no clock is asked: each widget tells when it has worked off what
was in its queue, and as long as that led to something new all of them are asked again.
"""

from __future__ import annotations

import asyncio
import contextlib
import unicodedata
from typing import Any

from textual.app import App
from textual.events import Key
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.message_pump import MessagePump
from textual.screen import Screen

#: How often in a row nothing may be left: what a task of asyncio's still has to post takes a turn or two.
QUIET_TURNS = 4
#: How long one turn waits for the widgets before it looks whether they are still there (seconds).
TURN_SECONDS = 0.05


async def quiet(app: App[Any]) -> None:
    """Return when no key, message, callback, layout or repaint is left, or when the application has ended."""
    turns = 0
    while turns < QUIET_TURNS and _is_running(app):
        pumps = _pumps(app)
        await _worked_off(app, pumps)
        await asyncio.sleep(0)
        if not _is_running(app):
            return
        with contextlib.suppress(Exception):  # a screen that was left meanwhile
            app.screen._on_timer_update()  # paints now what a timer would paint
        turns = turns + 1 if _is_idle(app) and _pumps(app) == pumps else 0


async def press(app: App[Any], key: str) -> None:
    """Press a key by textual's name of it, and return when all that it leads to is done."""
    if len(key) == 1 and not key.isalnum():
        key = _character_to_key(key)
    try:
        character: str | None = unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(key, key)))
    except KeyError:
        character = key if len(key) == 1 else None
    app.post_message(Key(key, character))
    await quiet(app)


def _is_running(app: App[Any]) -> bool:
    return app.is_running and not app._exit and app._exception is None


def _screens(app: App[Any]) -> list[Screen[Any]]:
    return [screen for stack in app._screen_stacks.values() for screen in stack]


def _pumps(app: App[Any]) -> list[MessagePump]:
    found: list[MessagePump] = [app]
    for screen in _screens(app):
        found += screen.walk_children(with_self=True)
    return found


async def _worked_off(app: App[Any], pumps: list[MessagePump]) -> None:
    """Wait until each of them has worked off what was in its queue, or has ended."""
    done: set[int] = set()
    told = asyncio.Event()

    def tell(number: int) -> None:
        done.add(number)
        told.set()

    asked = [pump for pump in pumps if pump.call_later(tell, id(pump))]
    while any(id(pump) not in done and not (pump._closing or pump._closed) for pump in asked) and _is_running(app):
        told.clear()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(told.wait(), TURN_SECONDS)


def _is_idle(app: App[Any]) -> bool:
    """Whether nobody has anything left. Keys that are typed wait in ibkit.tui.typed."""
    typed = getattr(app, "typed", None)
    if typed is not None and not typed.is_idle:
        return False
    if any(pump.message_queue_size or pump._next_callbacks for pump in _pumps(app)):
        return False
    try:
        screen = app.screen
    except Exception:
        return False
    needs = (screen._layout_required, screen._scroll_required, screen._repaint_required, screen._recompose_required)
    return not (any(needs) or screen._dirty_widgets or screen._callbacks)
