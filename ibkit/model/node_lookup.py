"""Which nodes of a fabric a person means by a GUID or a name. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ibkit.model.fabric import Fabric, Node
from ibkit.model.ids import Guid

#: A shorter part of a name would be in too many.
FEWEST_LETTERS = 3

_GUID = re.compile(r"(?:0[xX][0-9a-fA-F]{5,16}|[0-9a-fA-F]{16})\Z")


def nodes_meant(fabric: Fabric, text: str) -> list[Node]:
    """The nodes with this GUID, or else with this name."""
    text = text.strip()
    node = fabric.nodes.get(Guid.parse(text)) if _GUID.match(text) else None
    return [node] if node else nodes_named(fabric.nodes.values(), text)


def nodes_named(nodes: Iterable[Node], text: str) -> list[Node]:
    """The nodes with this name; else those with this as its first word (``c001`` of ``c001 mlx5_0``); else those that
    have it somewhere (``leaf1`` of ``MF0;leaf1:MQM8700/U1``), as a whole word before as a part of one.
    """
    named = [(node, node.name.strip()) for node in nodes if node.name]
    if exact := [node for node, name in named if name == text]:
        return exact
    if first := [node for node, name in named if name.split(None, 1)[:1] == [text]]:
        return first
    if len(text) < FEWEST_LETTERS:
        return []
    lower = text.lower()
    parts = [(node, name.lower()) for node, name in named if lower in name.lower()]
    word = re.compile(rf"(?<![a-z0-9]){re.escape(lower)}(?![a-z0-9])")
    return [node for node, name in parts if word.search(name)] or [node for node, _ in parts]
