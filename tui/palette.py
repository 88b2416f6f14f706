"""The palette: all that can be done here, and any node by a piece of its name or GUID."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from rich.text import Text
from textual.app import SystemCommand
from textual.command import Hit, Hits, Provider
from textual.screen import Screen

from ibkit.display import clean
from ibkit.model.ids import Guid
from ibkit.tui import themes
from ibkit.tui.pages import PAGES
from ibkit.tui.screen import EXPORTS, PageScreen
from ibkit.tui.view.notices import Target

if TYPE_CHECKING:
    from ibkit.tui.app import IbkitApp

#: As many as one wants to choose from.
MOST_HITS = 20


class NodeCommands(Provider):
    """Finds nodes by plain text: 11,000 names are searched on each key."""

    async def search(self, query: str) -> Hits:
        """The nodes whose name, GUID or LID holds the text."""
        app = cast("IbkitApp", self.app)
        view = app.snapshot.fabric.value
        if view is None:
            return
        wanted = query.lower()
        hits = (i for i, text in enumerate(view.nodes.haystack()) if wanted in text)
        for _, index in zip(range(MOST_HITS), hits, strict=False):
            guid = cast(Guid, view.nodes.rows[index].key)
            name = clean(view.name(guid))
            yield Hit(
                0.5,
                Text(f"Node {name}"),  # a Text is no markup
                partial(app.go_to, Target("fabric", guid)),
                text=name,
                help=str(guid),
            )


def commands(app: IbkitApp, screen: Screen[Any]) -> Iterator[SystemCommand]:
    """What can be done on this screen, with the key of each."""
    for digit, page in enumerate(PAGES, 1):
        yield SystemCommand(f"Go to {page.title}", f"key {digit % 10}", partial(app.run_action, f"page({page.name!r})"))
    if isinstance(screen, PageScreen):
        if not app.is_read_only:
            for kind, what in EXPORTS.items():
                yield SystemCommand(f"Export {kind.upper()}", f"key e: {what}", partial(screen.export_chosen, kind))
        yield SystemCommand("Copy the row", "key y: to the clipboard", screen.action_copy)
        yield SystemCommand("Copy a cell", "key c: to the clipboard", screen.action_copy_cell)
        yield SystemCommand("Faults only", "key f: hide what is well", screen.table.action_faults)
        yield SystemCommand("All columns", "key w: or those that fit", screen.table.action_wide)
    if app.site.origin.kind == "live":
        yield SystemCommand("Refresh", "key r: read everything anew", app.action_refresh_now)
        yield SystemCommand("Pause", "key p: freeze what is shown", app.action_pause)
    for theme in themes.NAMES:
        choose = partial(setattr, app, "theme", f"ibkit-{theme}")
        yield SystemCommand(f"Colours: {theme}", "key t: the next", choose)
    yield SystemCommand("Keys", "key ?: all keys of this screen", app.action_help)
    yield SystemCommand("Quit", "key q", app.action_quit)
