"""Help: the keys of a screen, from the same bindings that the keys run through."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen

from ibkit.tui.view.lines import BLANK, Line, facts, heading, line, plain, span
from ibkit.tui.widgets.lines import LinePane

#: What the levels' marks mean, in the help of every screen.
MARKS = [
    ("x", "critical: broken, or a job that lost InfiniBand"),
    ("!", "warning: to be looked at"),
    ("?", "unknown: the evidence is missing; not the same as well"),
    ("i", "information"),
]
#: How much of a line the keys take (cells).
KEYS_WIDTH = 14
_WORDS = re.compile(r"\S+")


class HelpScreen(ModalScreen[None]):
    """The keys of the screen below."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen LinePane { width: 76; height: auto; max-height: 95%; border: solid $primary; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,enter", "dismiss", show=False, id="help.close", tooltip="close the help"),
        Binding("q", "app.quit", show=False, id="help.quit", tooltip="leave"),
    ]

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._lines = help_lines(about)
        self._keys = keys_by_name(about)

    def compose(self) -> ComposeResult:
        """One pane."""
        yield LinePane(id="help")

    def on_mount(self) -> None:
        """Fill it."""
        pane = self.query_one(LinePane)
        pane.show(self._lines)
        pane.focus()

    @on(LinePane.Clicked)
    def _clicked(self, event: LinePane.Clicked) -> None:
        """A click on a key is the key; beside the keys of a line it is the first of them."""
        names = [
            (found.start(), found.end(), found.group()) for found in _WORDS.finditer(plain(self._lines[event.line]))
        ]
        keys = [name for name in names if name[0] < KEYS_WIDTH + 2 and name[2] in self._keys]
        if keys and names[0] == keys[0]:
            under = next((name for begin, end, name in keys if begin <= event.column < end), keys[0][2])
            self.dismiss()
            self.app.call_later(self.app.simulate_key, self._keys[under])

    def on_click(self, event: events.Click) -> None:
        """Beside the help: it closes."""
        if self.get_widget_at(*event.screen_offset)[0] is self:
            self.dismiss()


def keys_by_name(about: Screen[Any]) -> dict[str, str]:
    """The keys that work on a screen, by the names that the help gives them."""
    return {
        key_name(about.app, active.binding): active.binding.key
        for active in about.active_bindings.values()
        if active.enabled and active.binding.id and active.binding.tooltip
    }


def _rows(names: list[str], what: str) -> Iterator[tuple[str, str]]:
    """The keys that do one thing, in as many rows as they need; what they do stands in the first."""
    row = ""
    for name in names:
        if row and len(row) + 1 + len(name) > KEYS_WIDTH:
            yield row, what
            row, what = "", ""
        row = f"{row} {name}".lstrip()
    yield row, what


def key_name(app: App[Any], binding: Binding) -> str:
    """A key as it is written on keyboards and in this house's documents."""
    name = app.get_key_display(binding)
    return f"ctrl+{name[1:]}" if len(name) == 2 and name[0] == "^" else name


def help_lines(about: Screen[Any]) -> list[Line]:
    """All keys that work on a screen, by where they come from."""
    groups: dict[str, dict[str, list[str]]] = {"here": {}, "everywhere": {}}
    for active in about.active_bindings.values():
        binding = active.binding
        if active.enabled and binding.id and binding.tooltip:  # those without an id are textual's own
            group = groups["everywhere" if active.node is about.app else "here"]
            group.setdefault(binding.tooltip, []).append(key_name(about.app, binding))
    lines: list[Line] = []
    for title, keys in groups.items():
        lines.append(heading(f" Keys {title}"))
        lines += facts((row for what, names in keys.items() for row in _rows(names, what)), role="key")
        lines.append(BLANK)
    lines.append(heading(" Marks"))
    lines += facts(MARKS, role="key")
    lines += [BLANK, line(span(" esc closes this, arrows scroll, a click on a key is the key", "dim"))]
    return lines
