"""The keys that mean the same on every page. What a page adds is in ibkit.tui.screen and ibkit.tui.pages."""

from __future__ import annotations

from textual.binding import Binding

from ibkit.tui.pages import PAGES

PAGE_KEYS = "the pages of the second line"

BINDINGS = [
    Binding("question_mark", "help", "help", key_display="?", id="app.help", tooltip="all keys of this screen"),
    Binding("q", "quit", "quit", id="app.quit", tooltip="leave"),
    Binding("ctrl+c", "quit", show=False, priority=True, id="app.interrupt", tooltip="leave, whatever is going on"),
    Binding("colon,ctrl+p", "command_palette", show=False, id="app.palette", tooltip="find a node, or do anything"),
    *(
        # With priority, so that keys that are typed fast are obeyed in their order.
        Binding(
            str(digit % 10),
            f"page({page.name!r})",
            show=False,
            priority=True,
            id=f"app.{page.name}",
            tooltip=PAGE_KEYS,
        )
        for digit, page in enumerate(PAGES, 1)
    ),
    Binding("r", "refresh_now", "refresh", id="app.refresh", tooltip="read everything anew"),
    Binding("p", "pause", show=False, id="app.pause", tooltip="freeze what is shown, or go on"),
    Binding("plus", "interval(0.5)", show=False, id="app.faster", tooltip="refresh twice as often"),
    Binding("minus", "interval(2)", show=False, id="app.slower", tooltip="refresh half as often"),
    Binding(
        "left_square_bracket",
        "step(-1)",
        show=False,
        key_display="[",
        id="app.back-in-time",
        tooltip="the frame before, or after, of a recording",
    ),
    Binding(
        "right_square_bracket",
        "step(1)",
        show=False,
        key_display="]",
        id="app.on-in-time",
        tooltip="the frame before, or after, of a recording",
    ),
    Binding("P", "play", show=False, id="app.play", tooltip="play a recording from here, or stop"),
    Binding("J", "jump", show=False, id="app.jump", tooltip="jump to a frame by its number or time"),
    Binding("T", "then", show=False, id="app.then", tooltip="what changed since a frame, a capture, the start"),
    Binding("t", "theme", show=False, id="app.theme", tooltip="other colours"),
]
