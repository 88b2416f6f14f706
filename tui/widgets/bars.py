"""One-line bars: banner, title, tabs, keys."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from ibkit.tui.view.lines import Line
from ibkit.tui.widgets.painting import Painter, fitted


class Bar(Painter):
    """One line; what does not fit is cut."""

    DEFAULT_CSS = "Bar { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._line: Line = ()

    def show(self, line: Line) -> None:
        """Show another line."""
        if line != self._line:
            self._line = line
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line."""
        return Strip(fitted(self.segments(self._line), self.size.width))


class ActionBar(Painter):
    """One line of words, each of which does something when it is clicked."""

    DEFAULT_CSS = "ActionBar { height: 1; width: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._items: list[tuple[Line, str]] = []

    def show(self, items: list[tuple[Line, str]]) -> None:
        """Show ``(line, action)`` pairs."""
        if items != self._items:
            self._items = items
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The words, with their actions."""
        segments = [
            Segment(text, (style or Style.null()) + Style.from_meta({"@click": action}))
            for line, action in self._items
            for text, style, _ in self.segments(line)
        ]
        return Strip(fitted(segments, self.size.width))
