"""The shipped JSON Schemas, as strict as the tests need them.

As shipped they let keys pass that they do not name, for new ones may come at any time. What ibkit writes today has only
keys that are named, and so documented.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs/schemas"


def strict(name: str) -> Any:
    """The schema of this name; each object in it has the named keys and no others."""
    return _closed(json.loads((FOLDER / f"{name}.json").read_text()))


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        closed.setdefault("additionalProperties", False)
    return closed
