"""From spans to what textual paints. Nothing here parses markup, and no control character gets through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.widget import Widget

from ibkit.display import clean
from ibkit.tui.view.lines import Line

if TYPE_CHECKING:
    from ibkit.tui.app import IbkitApp

#: No text on the screen is longer: more than any terminal is wide (characters).
MAX_CHARS = 4000


class Painter(Widget):
    """A widget that paints spans: it knows a style for each role."""

    app: IbkitApp

    def style_of(self, role: str, base: Style | None = None) -> Style:
        """The style of a role over ``base`` (the widget's own)."""
        base = self.rich_style if base is None else base
        return base + self.app.role_styles[role] if role else base

    def segments(self, line: Line) -> list[Segment]:
        """The spans of a line as segments."""
        return [Segment(clean(part.text, MAX_CHARS), self.style_of(part.role)) for part in line]


def cell(text: str, width: int, right: bool, style: Style) -> Segment:
    """A cell of exactly ``width`` columns; what does not fit ends in an ellipsis."""
    text = clean(text, MAX_CHARS)
    length = cell_len(text)
    if length > width:
        text = cut(text, width)
    elif right:
        text = " " * (width - length) + text
    else:
        text += " " * (width - length)
    return Segment(text, style)


def cut(text: str, width: int) -> str:
    """A text that is too long, cut to ``width`` columns, the last of them an ellipsis."""
    return set_cell_size(text, width - 1) + "…" if width > 0 else ""


def fitted(segments: list[Segment], width: int) -> list[Segment]:
    """Segments cut to ``width`` columns, with an ellipsis where something is lost."""
    fitting = []
    left = width
    for segment in segments:
        length = cell_len(segment.text)
        if length > left:
            fitting.append(Segment(cut(segment.text, left), segment.style))
            break
        fitting.append(segment)
        left -= length
    return fitting
