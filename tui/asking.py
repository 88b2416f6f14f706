"""A line to type an address into, over the page."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input
from textual.widgets.input import Selection

from ibkit.display import clean


class AskScreen(ModalScreen[str]):
    """Asks for one text; dismissed with it, or with nothing."""

    DEFAULT_CSS = """
    AskScreen { align: center middle; }
    AskScreen Input { width: 72; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False, id="ask.cancel", tooltip="ask nothing"),
    ]

    def __init__(self, hint: str, value: str = "") -> None:
        super().__init__()
        self._hint = hint
        self._value = value

    def compose(self) -> ComposeResult:
        """One line."""
        line = Input(self._value, placeholder=self._hint, id="ask", select_on_focus=False)
        if self._value:
            line.border_title = Text(clean(self._hint, 64))  # a placeholder is only seen where nothing stands
        yield line

    def on_mount(self) -> None:
        """What stands there is chosen, so that what is typed takes its place. By the focus, which comes a little later,
        letters would be chosen that were typed meanwhile.
        """
        self.query_one(Input).selection = Selection(0, len(self._value))

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def on_click(self, event: events.Click) -> None:
        """Beside the line: nothing is asked."""
        if self.get_widget_at(*event.screen_offset)[0] is self:
            self.action_cancel()

    def action_cancel(self) -> None:
        """Leave without an answer."""
        self.dismiss("")
