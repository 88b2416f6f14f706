"""Lines of text in a pane: wrapped to its width, scrolled by keys."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ibkit.tui.view.lines import CAPTION, Line
from ibkit.tui.widgets.painting import Painter

#: A caption wider than this share of the pane does not indent the lines that follow it.
MAX_INDENT_SHARE = 0.5
SCROLL = "scroll"


class LinePane(ScrollView, Painter, can_focus=True):
    """Shows lines. A line that is too long goes on below its own text, so that marks and captions stay columns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False, id="pane.up", tooltip=SCROLL),
        Binding("down,j", "move(1)", show=False, id="pane.down", tooltip=SCROLL),
        Binding("pageup", "move(-10)", show=False, id="pane.page-up", tooltip=SCROLL),
        Binding("pagedown,space", "move(10)", show=False, id="pane.page-down", tooltip=SCROLL),
        Binding("home,g", "move(-1000000)", show=False, id="pane.first", tooltip=SCROLL),
        Binding("end,G", "move(1000000)", show=False, id="pane.last", tooltip=SCROLL),
    ]

    class Clicked(Message):
        """A click on a line: its number, and how many columns into it."""

        def __init__(self, line: int, column: int) -> None:
            super().__init__()
            self.line = line
            self.column = column

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._strips: list[Strip] = []
        #: Which line each strip is a piece of.
        self._origins: list[int] = []
        self._wrapped_to = 0
        self._about: Hashable = None

    def show(self, lines: Sequence[Line], about: Hashable = None) -> None:
        """Show these lines. The place is kept where they are ``about`` the same thing, read anew."""
        if about != self._about:
            self._about = about
            self.scroll_to(y=0, animate=False)
        if lines != self._lines:
            self._lines = lines
            self._wrapped_to = 0
            self._wrap(self.size.width)
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """How many lines it takes at this width."""
        self._wrap(width)
        return len(self._strips)

    def on_resize(self, event: events.Resize) -> None:
        """Another width: other breaks."""
        self._wrap(event.size.width)

    def notify_style_update(self) -> None:
        """Another theme."""
        super().notify_style_update()
        self._wrapped_to = 0
        self._wrap(self.size.width)

    def _wrap(self, width: int) -> None:
        """Break the lines; before the first layout there is no width and no style to do it with."""
        if width == self._wrapped_to or width <= 1:
            return
        self._wrapped_to = width
        pieces = [(strip, i) for i, line in enumerate(self._lines) for strip in self._pieces(line, width - 1)]
        self._strips, self._origins = [strip for strip, _ in pieces], [origin for _, origin in pieces]
        self.virtual_size = Size(width - 1, len(self._strips))
        self.refresh()

    def _pieces(self, line: Line, width: int) -> list[Strip]:
        """A line as one or several lines of at most ``width`` columns."""
        segments = self.segments(line)
        strip = Strip(segments)
        if strip.cell_length <= width:
            return [strip]
        first = self._lead(line)
        indent = sum(segment.cell_length for segment in segments[:first])
        if first == len(segments) or indent > width * MAX_INDENT_SHARE:
            first = indent = 0
        rest = Text.assemble(*((text, style or "") for text, style, _ in segments[first:]), end="")
        pieces = rest.wrap(self.app.console, width - indent, overflow="fold")
        blank = Segment(" " * indent, self.rich_style)
        strips = []
        for number, piece in enumerate(pieces):
            piece.rstrip()
            lead = segments[:first] if number == 0 else [blank]
            strips.append(Strip([*lead, *piece.render(self.app.console)]))
        return strips

    @staticmethod
    def _lead(line: Line) -> int:
        """How many spans stand before the text: those up to the caption, or the mark alone."""
        captions = [number for number, part in enumerate(line) if part.role == CAPTION]
        return captions[-1] + 1 if captions else 1

    def action_move(self, lines: int) -> None:
        """Scroll."""
        self.scroll_to(y=round(self.scroll_y) + lines, animate=False)

    def on_click(self, event: events.Click) -> None:
        """Tell which line it was."""
        place = event.get_content_offset_capture(self)
        row = place.y + round(self.scroll_y)
        if 0 <= row < len(self._origins):
            self.post_message(self.Clicked(self._origins[row], place.x))

    def render_line(self, y: int) -> Strip:
        """A line of the wrapped text."""
        place = y + round(self.scroll_y)
        if place >= len(self._strips):
            return Strip([])
        return self._strips[place].crop(0, self.scrollable_content_region.width)
