"""Colours. State is told by marks and words, so a theme may do without any."""

from __future__ import annotations

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
#table { height: 1fr; }
#too-small { display: none; }
#filter { display: none; height: 1; border: none; padding: 0; background: $panel; color: $foreground; }
#filter:focus { border: none; }
#filter-caption { display: none; height: 1; width: 9; }
.-filtering #title { display: none; }
.-filtering #filter, .-filtering #filter-caption { display: block; }
#title-row { height: 1; }
.-without-table #table { display: none; }
.-without-table #head { height: 1fr; max-height: 100%; }
.-with-detail #table { height: auto; max-height: 50%; }
.-too-small > * { display: none; }
.-too-small > #too-small { display: block; }
LineTable, LinePane { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; overflow-x: auto; }
LinePane { overflow-x: hidden; }

.role--ok { color: $success; }
.role--info { color: $info; }
.role--unknown { color: $unknown; }
.role--warning { color: $warning; }
.role--critical { color: $error; text-style: bold; }
.role--ok-strong { color: $success; text-style: bold; }
.role--unknown-strong { color: $unknown; text-style: bold; }
.role--warning-strong { color: $warning; text-style: bold; }
.role--critical-strong { color: $strong-text; background: $error; text-style: bold; }
.role--caption { color: $faint; }
.role--dim { color: $faint; }
.role--heading { text-style: bold; }
.role--fix { color: $primary; }
.role--live { color: $strong-text; background: $success; text-style: bold; }
.role--paused { color: $strong-text; background: $warning; text-style: bold; }
.role--replay { color: $strong-text; background: $warning; text-style: bold; }
.role--key { color: $primary; text-style: bold; }
.role--tab-current { text-style: bold reverse; }
.role--tab { color: $foreground; }
.table--header { color: $faint; text-style: bold; }
.table--sorted { color: $primary; text-style: bold; }
.table--cursor { background: $cursor; color: $foreground; text-style: bold; }
.table--cursor-idle { background: $cursor-idle; }
"""
