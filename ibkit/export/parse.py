"""``ibkit.parse/1``: what a parser made of a text, as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ibkit.model.ids import Gid
from ibkit.parsers.base import Parsed

#: Fields that hold a GUID, besides those whose name ends so.
GUIDS = ("guid", "from_node", "from_port")


def parse_document(tool: str, parsed: Parsed[Any]) -> dict[str, Any]:
    """The parser's value with the names of its own fields, and its problems."""
    return {
        "schema": "ibkit.parse/1",
        "tool": tool,
        "complete": parsed.complete,
        "value": plain(parsed.value),
        "problems": [plain(problem) for problem in parsed.problems],
    }


def plain(value: Any) -> Any:
    """Records as dictionaries, sequences (bytes too) as lists, GUIDs and GIDs as the text that all of ibkit gives them
    (64 bits are more than many a reader of JSON keeps); other numbers and texts stay, but lose their own types.
    """
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {field: _field(field, part) for field, part in zip(value._fields, value, strict=True)}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset | bytes):
        return [plain(part) for part in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a parser's value holds a {type(value).__name__}")


def _field(name: str, value: Any) -> Any:
    if isinstance(value, int) and (name in GUIDS or name.endswith("_guid")):
        return f"0x{value:016x}"
    if name == "guids":
        return [f"0x{guid:016x}" for guid in value]
    if name == "gid" and isinstance(value, int):
        return str(Gid(value))
    return plain(value)


def lines(value: Any, indent: str = "") -> Iterator[str]:
    """A plain value for people: a line for each thing that is known, a dash before each member of a list."""
    if isinstance(value, dict):
        for key, part in value.items():
            if isinstance(part, dict | list) and part:
                yield f"{indent}{key}:"
                yield from lines(part, f"{indent}  ")
            elif part not in (None, [], {}):
                yield f"{indent}{key}: {part}"
    elif isinstance(value, list):
        for part in value:
            first, *rest = [*lines(part)] or [""]
            yield f"{indent}- {first}"
            yield from (f"{indent}  {line}" for line in rest)
    else:
        yield f"{indent}{value}"
