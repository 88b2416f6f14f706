"""Nodes under the names that a site gives them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ibkit.model.fabric import Fabric


def renamed(fabric: Fabric, names: Mapping[int, str]) -> Fabric:
    """The fabric with the names of a map, by the nodes' GUIDs; a node that is not in it keeps its description."""
    if not names:
        return fabric
    nodes = {guid: node._replace(name=names.get(guid, node.name)) for guid, node in fabric.nodes.items()}
    return fabric._replace(nodes=nodes)
