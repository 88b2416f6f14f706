"""The palette's nodes: go to any node by a piece of its name or GUID."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual.command import Hit, Hits, Provider

from ibkit.display import clean
from ibkit.model.ids import Guid
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
