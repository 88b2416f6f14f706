"""Colours. State is told by marks and words, so a theme may do without any."""

from __future__ import annotations

from rich.style import Style
from textual.theme import Theme

#: Levels by hue: green, blue, violet, amber, red.
DARK = Theme(
    name="ibkit-dark", dark=True,
    primary="#5fafd7", secondary="#5f87af", accent="#5fafd7", foreground="#d0d0d0",
    background="#101216", surface="#101216", panel="#1c2128",
    success="#5fd787", warning="#ffaf00", error="#ff5f5f",
    variables={"info": "#5fafff", "unknown": "#d787ff", "faint": "#8a8f98", "strong-text": "#101216",
               "cursor": "#264f78", "cursor-idle": "#2a2f36"},
)  # fmt: skip
LIGHT = Theme(
    name="ibkit-light", dark=False,
    primary="#005f87", secondary="#5f87af", accent="#005f87", foreground="#1c1c1c",
    background="#fafafa", surface="#fafafa", panel="#e4e8ec",
    success="#00702a", warning="#8a5a00", error="#c00000",
    variables={"info": "#0050b0", "unknown": "#8000a0", "faint": "#606060", "strong-text": "#ffffff",
               "cursor": "#b5d3ef", "cursor-idle": "#dde3e9"},
)  # fmt: skip
#: Blue to orange, apart by lightness too: for eyes that do not part red from green.
COLOUR_BLIND = Theme(
    name="ibkit-colour-blind", dark=True,
    primary="#56b4e9", secondary="#0072b2", accent="#56b4e9", foreground="#d8d8d8",
    background="#101216", surface="#101216", panel="#1c2128",
    success="#56b4e9", warning="#e69f00", error="#ff7f2a",
    variables={"info": "#b0b8c0", "unknown": "#f0e442", "faint": "#8a8f98", "strong-text": "#101216",
               "cursor": "#264f78", "cursor-idle": "#2a2f36"},
)  # fmt: skip
#: Greys only: for NO_COLOR and for paper.
MONO = Theme(
    name="ibkit-mono", dark=True,
    primary="#ffffff", secondary="#c0c0c0", accent="#ffffff", foreground="#d0d0d0",
    background="#000000", surface="#000000", panel="#262626",
    success="#d0d0d0", warning="#ffffff", error="#ffffff",
    variables={"info": "#d0d0d0", "unknown": "#ffffff", "faint": "#909090", "strong-text": "#000000",
               "cursor": "#585858", "cursor-idle": "#303030"},
)  # fmt: skip
THEMES = (DARK, LIGHT, COLOUR_BLIND, MONO)
NAMES = tuple(theme.name.removeprefix("ibkit-") for theme in THEMES)

STYLE = """
Screen { background: $background; color: $foreground; }
Bar, ActionBar, LineTable, LinePane { background: $background; }
#banner { background: $panel; }
#keys { background: $panel; }
#head { height: auto; max-height: 60%; }
#detail { height: 1fr; border-top: solid $panel; }
.-empty, .-without-detail #detail { display: none; }
#table { height: 1fr; min-height: 3; }
#too-small { display: none; }
#filter { display: none; height: 1; border: none; padding: 0; background: $panel; color: $foreground; }
#filter:focus { border: none; }
#filter-caption { display: none; height: 1; width: 9; }
.-filtering #title { display: none; }
.-filtering #filter, .-filtering #filter-caption { display: block; }
#title-row { height: 1; }
.-without-table #table { display: none; }
.-without-table #head { height: 1fr; max-height: 100%; }
#body { height: 1fr; }
.-with-detail #table { height: auto; max-height: 50%; }
.-without-table #body { display: none; }
.-beside #body { layout: horizontal; }
.-beside #table { width: 2fr; height: 1fr; max-height: 100%; }
.-beside #detail { width: 1fr; height: 1fr; border-top: none; border-left: solid $panel; }
.-too-small > * { display: none !important; }
.-too-small > #too-small { display: block !important; }
LineTable, LinePane { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; overflow-x: auto; }
LinePane { overflow-x: hidden; }
"""

#: The styles of spans and rows: attributes, and the theme's colours by name, as in ``bold panel on error``.
ROLES = {
    "ok": "success",
    "info": "info",
    "unknown": "unknown",
    "warning": "warning",
    "critical": "bold error",
    "ok-strong": "bold success",
    "unknown-strong": "bold unknown",
    "warning-strong": "bold warning",
    "critical-strong": "bold strong-text on error",
    "caption": "faint",
    "dim": "faint",
    "heading": "bold",
    "fix": "primary",
    "banner": "foreground",
    "live": "bold strong-text on success",
    "paused": "bold strong-text on warning",
    "replay": "bold strong-text on warning",
    "key": "bold primary",
    "tab": "foreground",
    "tab-current": "bold reverse",
    "header": "bold faint",
    "sorted": "bold primary",
    "cursor": "bold foreground on cursor",
    "cursor-idle": "foreground on cursor-idle",
}


def role_styles(theme: Theme) -> dict[str, Style]:
    """The style of each role in this theme. As component classes of each widget they would double the start-up."""
    named = {"foreground", "success", "warning", "error", "primary"}
    colours = {name: str(getattr(theme, name)) for name in named} | theme.variables
    return {
        role: Style.parse(" ".join(colours.get(word, word) for word in words.split())) for role, words in ROLES.items()
    }
