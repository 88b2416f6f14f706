"""A site's node-name map, which the user names: the file that the infiniband-diags take with ``--node-name-map``."""

from __future__ import annotations

from ibkit.errors import UnreadableInput
from ibkit.parsers import node_name_map
from ibkit.parsers.base import NotThisFormat, Problem
from ibkit.sources.base import to_text
from ibkit.sources.raw import read_raw


def read_names(path: str) -> tuple[dict[int, str], tuple[Problem, ...]]:
    """The names by node GUID, and what of the file could not be read. Raises UnreadableInput if it is no map."""
    try:
        parsed = node_name_map.parse(to_text(read_raw(path)), source=path)
    except NotThisFormat as error:
        raise UnreadableInput(str(error)) from error
    return {entry.guid: entry.name for entry in parsed.value}, parsed.problems
