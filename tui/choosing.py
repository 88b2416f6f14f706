"""A short list to choose from, over the page: a key of its own for each choice, or a click."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ibkit.tui.view.lines import BLANK, Line, facts, heading, line, span
from ibkit.tui.widgets.lines import LinePane

#: The keys of choices that have no letter of their own.
LETTERS = "123456789abcdefghijklmnopqrstuvwxyz"


class Choice(NamedTuple):
    """What one key stands for; ``name`` is the answer."""

    key: str
    name: str
    text: str


class ChooseScreen(ModalScreen[str]):
    """Asks for one of a few things; dismissed with the name of the choice, or with nothing."""

    DEFAULT_CSS = """
    ChooseScreen { align: center middle; }
    ChooseScreen LinePane { width: 76; height: auto; max-height: 95%; border: solid $primary; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False, id="choose.cancel", tooltip="choose nothing"),
    ]

    def __init__(self, title: str, choices: list[Choice]) -> None:
        super().__init__()
        self._choices = choices
        self._lines: list[Line] = [
            heading(f" {title}"),
            *facts([(choice.key, choice.text) for choice in choices], role="key"),
            BLANK,
            line(span(" a key or a click chooses, esc leaves it", "dim")),
        ]

    def compose(self) -> ComposeResult:
        """One pane."""
        yield LinePane(id="choices")

    def on_mount(self) -> None:
        """Fill it."""
        pane = self.query_one(LinePane)
        pane.can_focus = False  # its keys are choices here
        pane.show(self._lines)

    def on_key(self, event: events.Key) -> None:
        """A letter chooses, whatever it does elsewhere."""
        for choice in self._choices:
            if choice.key == event.character:
                event.stop()
                self.dismiss(choice.name)
                return

    @on(LinePane.Clicked)
    def _clicked(self, event: LinePane.Clicked) -> None:
        if 1 <= event.line <= len(self._choices):
            self.dismiss(self._choices[event.line - 1].name)

    def on_click(self, event: events.Click) -> None:
        """Beside the list: nothing is chosen."""
        if self.get_widget_at(*event.screen_offset)[0] is self:
            self.action_cancel()

    def action_cancel(self) -> None:
        """Leave without a choice."""
        self.dismiss("")
