"""A line to type an address into, over the page."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input


class AskScreen(ModalScreen[str]):
    """Asks for one text; dismissed with it, or with nothing."""

    DEFAULT_CSS = """
    AskScreen { align: center middle; }
    AskScreen Input { width: 72; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", show=False, id="ask.cancel", tooltip="ask nothing"),
    ]

    def __init__(self, hint: str) -> None:
        super().__init__()
        self._hint = hint

    def compose(self) -> ComposeResult:
        """One line."""
        yield Input(placeholder=self._hint, id="ask")

    @on(Input.Submitted)
    def _given(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def action_cancel(self) -> None:
        """Leave without an answer."""
        self.dismiss("")
